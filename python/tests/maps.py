"""Maps for the tests. They are in a module of their own, so that other processes can unpickle them."""
import os
import threading
import zlib
from pathlib import Path

import nczarr


class ReadOnly(nczarr.Map):
    """Objects in memory, with a log of all calls."""

    def __init__(self, objects=()):
        self.objects, self.calls = dict(objects), []

    def size(self, key):
        self.calls.append(("size", key))
        return len(self.objects[key]) if key in self.objects else None

    def read(self, key, start, stop):
        self.calls.append(("read", key))
        return self.objects[key][start:stop] if key in self.objects else None

    def list(self, prefix):
        return [key for key in self.objects if key.startswith(prefix and f"{prefix}/")]


class Writable(ReadOnly):
    """Without conditional writes."""

    def write(self, key, data):
        self.objects[key] = data

    def delete(self, key):
        return self.objects.pop(key, None) is not None


class Shared(Writable):
    """With conditional writes."""

    def __init__(self, objects=()):
        super().__init__(objects)
        self.lock = threading.Lock()

    def read_versioned(self, key):
        with self.lock:
            return (self.objects[key], zlib.crc32(self.objects[key])) if key in self.objects else None

    def write_if(self, key, data, version):
        with self.lock:
            found = zlib.crc32(self.objects[key]) if key in self.objects else None
            if found != version:
                return False
            self.objects[key] = data
            return True


class Folder(nczarr.Map):
    """A directory. Its copies in other processes open the same one."""

    def __init__(self, path):
        self.path = os.fspath(path)

    def _path(self, key):
        return Path(self.path, *key.split("/"))

    def size(self, key):
        path = self._path(key)
        return path.stat().st_size if path.is_file() else None

    def read(self, key, start, stop):
        path = self._path(key)
        return path.read_bytes()[start:stop] if path.is_file() else None

    def list(self, prefix):
        return [str(path.relative_to(self.path)) for path in self._path(prefix).rglob("*") if path.is_file()]

    def write(self, key, data):
        path = self._path(key)
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(data)

    def delete(self, key):
        found = self._path(key).is_file()
        self._path(key).unlink(missing_ok=True)
        return found
