"""Datasets: opening and creating them, and their root groups."""
import os
import warnings

from . import _native
from ._group import Group
from ._mount import Mounted, mount
from .errors import NczarrError, absent


class File(Group):
    """An open dataset, and its root group. Use it in a ``with`` statement, or call ``close``."""

    def __init__(self, native, writable, place=None):
        #: The place of opening; ``None`` if nobody can open it again.
        self._place = place
        # No reference to itself: a forgotten dataset is closed at once, not by the garbage collector.
        self._native, self._handle, self._writable = native.root(), native, writable

    @property
    def _file(self):
        return self

    @property
    def location(self):
        """The path or URL of opening."""
        return self._handle.path()

    @property
    def writable(self):
        return self._writable

    @property
    def closed(self):
        return self._handle.is_closed()

    def info(self):
        """Returns the format, the storage and the notes of opening, as a ``dict``."""
        return self._handle.info()

    def sync(self):
        """Stores all that was written."""
        self._handle.sync()

    def set_fill(self, fill):
        """Sets whether elements of new variables start as fill values."""
        self._handle.set_fill(fill)

    def close(self):
        """Stores all that was written, and closes the dataset. Closing twice does nothing."""
        self._handle.close()

    def close_to_bytes(self):
        """Closes a dataset in memory and returns its bytes."""
        return self._handle.close_to_bytes()

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self.close()

    def __del__(self):
        handle = getattr(self, "_handle", None)
        if handle is not None and self._writable and not handle.is_closed():
            warnings.warn(f"the dataset {handle.path()} was not closed", ResourceWarning, source=self, stacklevel=2)
            handle.close()

    def __hash__(self):
        return id(self)

    def __eq__(self, other):
        return self is other

    def __repr__(self):
        state = "closed" if self.closed else f"{', '.join(self) or 'empty'}"
        return f"<nczarr.File: {state}>"


def _options(threads, cache_bytes, missing_chunks, exclusive, durability, growing=()):
    return {
        "threads": threads, "cache_bytes": cache_bytes, "missing_chunks": missing_chunks, "exclusive": bool(exclusive),
        "durability": durability, "growing": list(growing),
    }


def _place(place):
    place = mount(place)
    return place if isinstance(place, (str, os.PathLike, Mounted)) else os.fspath(place)


def open(place, mode="r", *, threads=None, cache_bytes=None, missing_chunks=None, exclusive=False, durability=None,
         growing=()):
    """Opens a dataset.

    :param place: a path, or a URL such as ``s3://bucket/x.zarr`` or ``file:///x.zarr#mode=zarr``. A path object is
        always a path. ``bytes`` are the content of a dataset of one file. Also a ``Map``, a store or filesystem of
        fsspec, obstore or zarr, or a mapping of keys to bytes.
    :param mode: ``"r"`` to read, ``"a"`` to read and write an existing dataset.
    :param threads: the number of threads of a transfer; the default is the number of processors.
    :param cache_bytes: the size of the chunk cache of each variable.
    :param missing_chunks: ``"fill"`` (the default), ``"warn"`` or ``"error"``.
    :param exclusive: no other process writes the dataset meanwhile.
    :param durability: ``"rename"`` (the default) or ``"fsync"``.
    :param growing: dimensions of plain Zarr that are unlimited, although nothing in the dataset says so.
    """
    if mode not in ("r", "a", "r+"):
        raise ValueError(f"mode={mode!r}: expected 'r', 'a' or 'r+'; nczarr.create makes a new dataset")
    options = _options(threads, cache_bytes, missing_chunks, exclusive, durability, growing)
    if isinstance(place, (bytes, bytearray, memoryview)):
        if mode != "r":
            raise ValueError(f"mode={mode!r}: bytes can only be read")
        return File(_native.open_bytes("memory", bytes(place), options), False)
    place = _place(place)
    try:
        return File(_native.open(place, mode != "r", options), mode != "r", place)
    except NczarrError as error:
        content = _one_file(place) if mode == "r" else None
        if content is None:
            _check_not_empty(place, error)
            raise
    return File(_native.open_bytes(place.name, content, options), False, place)


def _check_not_empty(place, error):
    """Raises another error if the storage of Python has no object at all.

    :raises FileNotFoundError: then.
    """
    if isinstance(place, Mounted) and error.name in ("NC_ENOTNC", "NC_ENOTZARR") and not list(place.map.children("")):
        raise absent(f"{place.name}: no dataset: the storage is empty", place.name) from error


def _one_file(place):
    """Returns the bytes of a place that is one file of an fsspec filesystem; ``None`` otherwise."""
    if isinstance(place, Mounted) and hasattr(place.map, "is_file") and place.map.is_file():
        return place.map.read("", 0, None)
    return None


def create(place, kind=None, *, clobber=True, in_memory=False, threads=None, cache_bytes=None, exclusive=False,
           durability=None):
    """Creates a dataset.

    :param kind: ``"nczarr-v2"``, ``"nczarr-v3"``, ``"zarr-v2"``, ``"zarr-v3"``, ``"netcdf4"``,
        ``"netcdf4-classic"``, ``"cdf1"``, ``"cdf2"`` or ``"cdf5"``. By default the path decides.
    :param clobber: replace an existing dataset; otherwise it is an error.
    :param in_memory: keep it in memory; ``File.close_to_bytes`` returns its content.
    """
    options = _options(threads, cache_bytes, None, exclusive, durability)
    place = _place(place)
    return File(_native.create(place, clobber, kind, in_memory, options), True, None if in_memory else place)


def delete(place):
    """Deletes a dataset; refuses anything else."""
    _native.delete(_place(place))


def info(place):
    """Returns the format, the storage and the notes of a dataset, as a ``dict``."""
    with open(place) as file:
        return file.info()
