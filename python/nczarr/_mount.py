"""Places of datasets: paths, URLs, and storages of Python."""
import os
import sys
from collections.abc import MutableMapping

from ._map import Map

#: The schemes of URLs that the library opens by itself. fsspec opens others.
_NATIVE = ("file", "s3", "gs3", "http", "https", "memory")


class Mounted:
    """A map as the place of a dataset, with words of ``mode``."""

    def __init__(self, map, modes=()):
        self.map, self.modes = map, list(modes)

    @property
    def name(self):
        return self.map.name

    def with_modes(self, words):
        """Returns the same map with more words."""
        return Mounted(self.map, [*self.modes, *words])

    def __repr__(self):
        return self.name


def mount(place, storage_options=None):
    """Returns a storage of Python as a ``Mounted``, or a path if it is local; any other place unchanged.

    :raises ImportError: for a URL of fsspec, without fsspec.
    """
    if isinstance(place, str):
        return _of_url(place, storage_options)
    if isinstance(place, (Mounted, bytes, bytearray, memoryview, os.PathLike)):
        return place
    if isinstance(place, Map):
        return Mounted(place)
    found = _of_fsspec(place) or _of_obstore(place) or _of_zarr(place)
    if found is None and isinstance(place, MutableMapping):
        from ._stores import MappingMap

        found = Mounted(MappingMap(place))
    return place if found is None else found


def is_foreign(url):
    """Whether fsspec opens a URL: its scheme is not the library's, or it is a chain."""
    scheme, mark, rest = url.partition("://")
    return bool(mark) and (scheme not in _NATIVE or "::" in url.partition("#")[0]) and "/" not in scheme


def _of_url(url, storage_options):
    if not is_foreign(url):
        return url
    from fsspec.core import url_to_fs

    base, _, fragment = url.partition("#")
    found = _of_filesystem(*url_to_fs(base, **(storage_options or {})))
    words = [word for part in fragment.split("&") for word in part.removeprefix("mode=").split(",") if word]
    return found.with_modes(words) if isinstance(found, Mounted) else found


def _class_in(package, path):
    """Returns a class of a package that is imported already: else no object is of this class."""
    module = sys.modules.get(package)
    for name in path.split("."):
        module = getattr(module, name, None)
    return module or ()


def _of_fsspec(place):
    if isinstance(place, _class_in("fsspec.mapping", "FSMap")):
        return _of_filesystem(place.fs, place.root)
    if isinstance(place, _class_in("fsspec.spec", "AbstractFileSystem")):
        return _of_filesystem(place, "")
    return None


def _of_filesystem(fs, root):
    from fsspec.implementations.dirfs import DirFileSystem
    from fsspec.implementations.local import LocalFileSystem

    from ._stores import FsspecMap

    if isinstance(fs, DirFileSystem) and isinstance(fs.fs, LocalFileSystem):
        fs, root = fs.fs, os.path.join(fs.path, root) if root else fs.path
    if isinstance(fs, LocalFileSystem):
        # The library's own storage replaces whole files, and lets several writers share them.
        return _path(fs._strip_protocol(root or "."))
    return Mounted(FsspecMap(fs, root))


def _of_obstore(place):
    methods = _class_in("obstore.store", "ObjectStoreMethods")
    if not isinstance(place, methods):
        return None
    if isinstance(place, _class_in("obstore.store", "LocalStore")) and place.prefix is not None:
        return _path(place.prefix)
    from ._object_stores import ObstoreMap

    return Mounted(ObstoreMap(place))


def _of_zarr(place):
    root = ""
    if isinstance(place, _class_in("zarr.storage", "StorePath")):
        place, root = place.store, place.path
    if not isinstance(place, _class_in("zarr.abc.store", "Store")):
        return None
    if isinstance(place, _class_in("zarr.storage", "LocalStore")):
        return _path(os.path.join(place.root, root))
    if isinstance(place, _class_in("zarr.storage", "ObjectStore")) and not root:
        return _of_obstore(place.store)
    from ._object_stores import ZarrMap

    return Mounted(ZarrMap(place, root))


def _path(text):
    from pathlib import Path

    return Path(text)
