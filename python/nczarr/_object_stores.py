"""Maps over the stores of obstore and zarr-python, which are classes for many kinds of storage."""
from ._map import Map, past_end


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
            if past_end(self, key, start) or self.size(key) == 0:
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
            if past_end(self, key, start):
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
