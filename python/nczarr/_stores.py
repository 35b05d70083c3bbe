"""Maps over storages of other packages: fsspec, obstore, zarr, and mappings of keys to bytes."""
import contextlib
import posixpath
import threading

from ._map import Map


def _past_end(store, key, start):
    """Whether a read begins at or behind the end of an object: some storages have no empty range."""
    size = store.size(key) if start else None
    return size is not None and start >= size


class FsspecMap(Map):
    """A folder of an fsspec filesystem. Its writes of parts of chunks need ``exclusive=True``."""

    def __init__(self, fs, root):
        self.fs, self.root = fs, root.rstrip("/")

    @property
    def name(self):
        protocol = self.fs.protocol if isinstance(self.fs.protocol, str) else self.fs.protocol[0]
        # Roots of chained filesystems may be URLs with passwords.
        return f"{type(self.fs).__name__}({protocol}: {self.root.rpartition('@')[2]})"

    @property
    def identity(self):
        return self.fs, self.root

    def _path(self, key):
        return posixpath.join(self.root, key) if self.root and key else self.root or key

    def _forget(self, key):
        # A listing of the past lacks the objects of other writers.
        self.fs.invalidate_cache(self.fs._parent(self._path(key)))

    def is_file(self):
        """Whether the place is one file."""
        return bool(self.root) and self.fs.isfile(self.root)

    def size(self, key):
        self._forget(key)
        try:
            found = self.fs.info(self._path(key))
        except (FileNotFoundError, NotADirectoryError):
            return None
        if found["type"] == "directory":
            return None
        if found.get("size") is None:
            return len(self.fs.cat_file(self._path(key)))
        return found["size"]

    def read(self, key, start, stop):
        try:
            return self.fs.cat_file(self._path(key), start=start or None, end=stop)
        except (FileNotFoundError, IsADirectoryError, NotADirectoryError):
            return None
        except Exception:
            if _past_end(self, key, start):
                return b""
            raise

    def list(self, prefix):
        self.fs.invalidate_cache(self._path(prefix))
        with contextlib.suppress(FileNotFoundError, NotADirectoryError):
            return [self._relative(path) for path in self.fs.find(self._path(prefix))]
        return []

    def _relative(self, path):
        root = self.fs._strip_protocol(self.root).strip("/")
        path = path.strip("/")
        return path[len(root) + 1:] if root else path

    def children(self, prefix):
        self.fs.invalidate_cache(self._path(prefix))
        with contextlib.suppress(FileNotFoundError, NotADirectoryError):
            own = self._relative(self._path(prefix)) if self.root else prefix
            found = (self._relative(path) for path in self.fs.ls(self._path(prefix), detail=False))
            return [key.rpartition("/")[2] for key in found if key and key != own]
        return []

    def write(self, key, data):
        path = self._path(key)
        try:
            self.fs.pipe_file(path, data)
        except FileNotFoundError:
            self.fs.makedirs(self.fs._parent(path), exist_ok=True)
            self.fs.pipe_file(path, data)

    def delete(self, key):
        try:
            self.fs.rm_file(self._path(key))
        except FileNotFoundError:
            return False
        return True


class ObstoreMap(Map):
    """A store of obstore. Several writers may share it, if its kind has conditional writes."""

    _CONDITIONAL = ("MemoryStore", "S3Store", "GCSStore", "AzureStore")

    def __init__(self, store):
        import obstore

        self.store, self._obstore = store, obstore

    @property
    def name(self):
        prefix = getattr(self.store, "prefix", None)
        return f"{type(self.store).__name__}({prefix or ''})"

    @property
    def identity(self):
        return id(self.store)

    def size(self, key):
        try:
            return self._obstore.head(self.store, key)["size"]
        except FileNotFoundError:
            return None

    def read(self, key, start, stop):
        try:
            if stop is None and not start:
                return self._obstore.get(self.store, key).bytes()
            if stop is None:
                return self._obstore.get(self.store, key, options={"range": {"offset": start}}).bytes()
            return self._obstore.get_range(self.store, key, start=start, end=stop)
        except FileNotFoundError:
            return None
        except Exception:
            if _past_end(self, key, start) or self.size(key) == 0:
                return b""
            raise

    def list(self, prefix):
        return [found["path"] for found in self._listed(prefix)]

    def _listed(self, prefix):
        for batch in self._obstore.list(self.store, prefix or None):
            yield from batch

    def children(self, prefix):
        found = self._obstore.list_with_delimiter(self.store, prefix or None)
        paths = [*found["common_prefixes"], *(entry["path"] for entry in found["objects"])]
        return [path.rstrip("/").rpartition("/")[2] for path in paths if path.rstrip("/") != prefix]

    def write(self, key, data):
        self._obstore.put(self.store, key, data)

    def delete(self, key):
        if self.size(key) is None:
            return False
        self._obstore.delete(self.store, key)
        return True

    def read_versioned(self, key):
        try:
            found = self._obstore.get(self.store, key)
        except FileNotFoundError:
            return None
        version = {name: found.meta[name] for name in ("e_tag", "version") if found.meta[name] is not None}
        return found.bytes(), version

    def write_if(self, key, data, version):
        from obstore.exceptions import AlreadyExistsError, PreconditionError

        try:
            self._obstore.put(self.store, key, data, mode="create" if version is None else version)
        except (AlreadyExistsError, PreconditionError, FileNotFoundError):
            return False
        return True

    def _abilities(self):
        able = super()._abilities()
        able["conditional"] = type(self.store).__name__ in self._CONDITIONAL
        able["write"] = able["delete"] = type(self.store).__name__ != "HTTPStore"
        return able

    def __reduce__(self):
        return type(self), (self.store,)


class ZarrMap(Map):
    """A store of zarr-python, such as that of an icechunk session. It has no conditional writes."""

    def __init__(self, store, root=""):
        self.store, self.root = store, root.strip("/")

    @property
    def name(self):
        return f"{type(self.store).__name__}({self.root})"

    @property
    def identity(self):
        return id(self.store), self.root

    def _key(self, key):
        return f"{self.root}/{key}" if self.root and key else self.root or key

    @staticmethod
    def _run(coroutine):
        from zarr.core.sync import sync

        return sync(coroutine)

    def size(self, key):
        try:
            return self._run(self.store.getsize(self._key(key)))
        except FileNotFoundError:
            return None

    def read(self, key, start, stop):
        from zarr.abc.store import OffsetByteRequest, RangeByteRequest
        from zarr.core.buffer import default_buffer_prototype

        wanted = RangeByteRequest(start, stop) if stop is not None else OffsetByteRequest(start) if start else None
        try:
            found = self._run(self.store.get(self._key(key), default_buffer_prototype(), wanted))
        except Exception:
            if _past_end(self, key, start):
                return b""
            raise
        return None if found is None else found.to_bytes()

    async def _gather(self, keys):
        return [key async for key in keys]

    def list(self, prefix):
        below = self._key(prefix)
        keys = self._run(self._gather(self.store.list_prefix(f"{below}/" if below else "")))
        return [key[len(self.root) + 1:] if self.root else key for key in keys]

    def children(self, prefix):
        names = self._run(self._gather(self.store.list_dir(self._key(prefix))))
        return {name.strip("/").rpartition("/")[2] for name in names}

    def write(self, key, data):
        from zarr.core.buffer import default_buffer_prototype

        self._run(self.store.set(self._key(key), default_buffer_prototype().buffer.from_bytes(data)))

    def delete(self, key):
        if not self._run(self.store.exists(self._key(key))):
            return False
        self._run(self.store.delete(self._key(key)))
        return True

    def _abilities(self):
        able = super()._abilities()
        able["write"] = able["delete"] = not self.store.read_only
        return able


class MappingMap(Map):
    """A mapping of keys to bytes. A ``dict`` is shared by the threads of a process, and cannot be pickled."""

    #: Held while a value is compared and replaced.
    _LOCK = threading.Lock()

    def __init__(self, mapping):
        self.mapping = mapping

    @property
    def identity(self):
        return id(self.mapping)

    def size(self, key):
        value = self.mapping.get(key)
        return None if value is None else len(value)

    def read(self, key, start, stop):
        value = self.mapping.get(key)
        return None if value is None else value[start:stop]

    def list(self, prefix):
        below = f"{prefix}/" if prefix else ""
        return [key for key in list(self.mapping) if key.startswith(below)]

    def write(self, key, data):
        self.mapping[key] = data

    def delete(self, key):
        try:
            del self.mapping[key]
        except KeyError:
            return False
        return True

    def read_versioned(self, key):
        value = self.mapping.get(key)
        return None if value is None else (value, value)

    def write_if(self, key, data, version):
        with self._LOCK:
            if self.mapping.get(key) is not version:
                return False
            self.mapping[key] = data
        return True

    def _abilities(self):
        able = super()._abilities()
        # Another process may hold another kind of mapping.
        able["conditional"] = type(self.mapping) is dict
        return able

    def __reduce__(self):
        if type(self.mapping) is dict:
            raise TypeError("a dict cannot be the place of a dataset in other processes: they would write into a copy")
        return type(self), (self.mapping,)
