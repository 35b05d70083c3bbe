"""Maps over filesystems of fsspec, and over mappings of keys to bytes."""
import contextlib
import posixpath
import threading

from ._map import Map, past_end


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
            if past_end(self, key, start):
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
