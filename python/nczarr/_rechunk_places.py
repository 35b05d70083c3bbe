"""Places of ``rechunk``: open datasets and storages of Python. Tasks open them again, in any process.

The program ``ncz`` copies metadata and small variables between paths. It cannot see a storage of Python, so such a
source or target has a local twin without the large variables' chunks.
"""
import contextlib
import os
import posixpath
import tempfile
from urllib.parse import quote

from . import _tool
from ._file import File, _one_file, delete
from ._group import Group
from ._location import normalize
from ._mount import Mounted, mount
from ._variable import Variable

#: Names of objects with metadata.
_METADATA = (
    "zarr.json", ".zarray", ".zattrs", ".zgroup", ".zmetadata", ".nczarr", ".nczarray", ".nczattr", ".nczgroup",
)


class Source:
    """A dataset, or a group or variable of it."""

    def __init__(self, source):
        #: Arguments of ``nczarr.copy`` that select the part.
        self.selection = {}
        self._part = None
        if isinstance(source, (Group, Variable)):
            self._part = source.path
            if isinstance(source, Variable):
                self.selection = {"variables": [source.path]}
            elif source.path != "/":
                self.selection = {"groups": [group.path for group in _groups(source)]}
            source = _place_of(source.file)
        #: The place, as a task opens it.
        self.place = normalize(mount(source) if not isinstance(source, os.PathLike) else source)
        is_path = isinstance(self.place, str) and not self.place.startswith("memory:")
        if not (is_path or isinstance(self.place, Mounted)):
            raise TypeError("rechunk: tasks cannot open a dataset in memory again: store it first")

    def variables(self, file):
        """Yields the variables of the part."""
        if self._part is None or self._part == "/":
            yield from _variables(file)
            return
        found = file[self._part]
        yield from (found,) if isinstance(found, Variable) else _variables(found)

    @contextlib.contextmanager
    def twin(self, large):
        """Makes the path or URL that ``ncz`` copies from.

        :param large: paths of variables whose chunks are left out.
        """
        if not isinstance(self.place, Mounted):
            yield self.place
            return
        with tempfile.TemporaryDirectory(prefix="nczarr-rechunk-") as folder:
            map, content = self.place.map, _one_file(self.place)
            if content is not None:
                path = os.path.join(folder, "source")
                with open(path, "wb") as file:
                    file.write(content)
            else:
                path = os.path.join(folder, "source.zarr")
                _download(map, path, [f"{name.strip('/')}/" for name in large])
            yield _url(path, self.place.modes)


class Target:
    """A new dataset."""

    def __init__(self, target, kind, clobber):
        if isinstance(target, (Group, Variable)):
            raise TypeError("rechunk makes a new dataset: the target is a path, a URL or a storage")
        self.place = mount(target)
        self._kind, self._clobber = kind, clobber
        #: Options of the tasks that write.
        self.options = {}
        #: Whether tasks may write parts of one object.
        self.shares_objects = True
        if isinstance(self.place, Mounted):
            self._check(self.place.map)
        else:
            self.place = os.fspath(self.place)
            if self.place.startswith("memory:"):
                raise TypeError("rechunk: tasks cannot open a target in memory: give a path, a URL or a storage")

    def _check(self, map):
        able = map._abilities()
        if not (able["write"] and able["list"]):
            raise TypeError(f"{self.place.name}: a target needs the methods write and list")
        if self._kind is None and not self.place.modes:
            self._kind = "zarr-v3"
        if (self._kind or "").startswith(("netcdf", "cdf")):
            raise ValueError(f"kind={self._kind!r}: a storage of Python has datasets of Zarr only")
        if not able["conditional"]:
            # No two tasks write one object, and nobody else knows the new dataset.
            self.options, self.shares_objects = {"exclusive": True}, False

    def create(self, source, **options):
        """Copies metadata and small variables from a path or URL. Returns the place as a task opens it.

        :raises FileExistsError: if the target exists, without ``clobber``.
        """
        if not isinstance(self.place, Mounted):
            _tool.copy(source, self.place, kind=self._kind, clobber=self._clobber, **options)
            return normalize(self.place)
        map = self.place.map
        if any(map.children("")):
            if not self._clobber:
                raise FileExistsError(f"{self.place.name}: the storage is not empty")
            delete(self.place)
        with tempfile.TemporaryDirectory(prefix="nczarr-rechunk-") as folder:
            path = os.path.join(folder, "target.zarr")
            twin = path if self._kind else _url(path, self.place.modes)
            _tool.copy(source, twin, kind=self._kind, **options)
            _upload(path, map)
        return self.place


def _place_of(file):
    """Returns the place of an open dataset; stores what was written to it.

    :raises TypeError: if nobody can open it again.
    """
    if file.closed:
        raise ValueError("rechunk: the dataset is closed")
    if file._place is None:
        raise TypeError("rechunk: tasks cannot open a dataset in memory again: store it first")
    if file.writable:
        file.sync()
    return file._place


def _groups(group):
    yield group
    for child in group.groups.values():
        yield from _groups(child)


def _variables(group):
    for one in _groups(group):
        yield from one.variables.values()


def _url(path, modes):
    return f"file://{quote(path)}#mode={','.join(modes)}" if modes else path


def _download(map, folder, without):
    """Copies the objects of a map, except the chunks below some prefixes."""
    if not map._abilities()["list"]:
        raise TypeError(f"{map.name}: a source needs the method list")
    for key in map.list(""):
        if key.startswith(tuple(without)) and posixpath.basename(key) not in _METADATA:
            continue
        data = map.read(key, 0, None)
        if data is None:
            # It was deleted after the listing.
            continue
        path = os.path.join(folder, *key.split("/"))
        if not os.path.realpath(path).startswith(os.path.realpath(folder) + os.sep):
            raise ValueError(f"{map.name}: key {key!r} is no path")
        os.makedirs(os.path.dirname(path), exist_ok=True)
        with open(path, "wb") as file:
            file.write(data)


def _upload(folder, map):
    """Copies the files of a folder into a map: the root's metadata last, so that no reader sees a part."""
    found = []
    for place, _, names in os.walk(folder):
        relative = os.path.relpath(place, folder).replace(os.sep, "/")
        found += [name if relative == "." else f"{relative}/{name}" for name in names if not name.endswith("-lock")]
    for key in sorted(found, key=lambda key: (-key.count("/"), key)):
        with open(os.path.join(folder, *key.split("/")), "rb") as file:
            map.write(key, file.read())
