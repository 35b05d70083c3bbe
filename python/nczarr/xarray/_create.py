"""New datasets: formats by netCDF4's names, and creation when the first definition comes."""
import io

import nczarr

from .._handle import Handle
from .._location import local_path, with_storage_options
from .._mount import Mounted

#: The library's kinds by netCDF4's names of formats.
KINDS = {
    "NETCDF4": "netcdf4", "NETCDF4_CLASSIC": "netcdf4-classic", "NETCDF3_CLASSIC": "cdf1", "NETCDF3_64BIT": "cdf2",
    "NETCDF3_64BIT_OFFSET": "cdf2", "NETCDF3_64BIT_DATA": "cdf5",
}
_NAMES = {1: "NETCDF3_CLASSIC", 2: "NETCDF3_64BIT", 5: "NETCDF3_64BIT_DATA", 3: "NETCDF4", 4: "NETCDF4_CLASSIC"}


def format_name(file):
    """Returns netCDF4's name for the format of an open dataset; ``ZARR`` for those in Zarr."""
    info = file.info()
    return "ZARR" if info["driver"] == "nczarr" else _NAMES.get(info["format"], "NETCDF4")


def exists(place, storage_options):
    """Whether there is a dataset at the place."""
    import os

    path = local_path(place)
    if path is not None:
        return os.path.exists(path) and not (os.path.isdir(path) and not os.listdir(path))
    if not isinstance(place, (str, Mounted)):
        return False
    try:
        nczarr.open(with_storage_options(place, storage_options)).close()
    except FileNotFoundError:
        return False
    return True


class NewHandle(Handle):
    """A dataset that is created when it is needed first. Its copies in other processes open it to write."""

    def __init__(self, place, kind, clobber, options, storage_options, sink=None):
        super().__init__(place, "a", options, storage_options)
        self._kind, self._clobber, self._sink, self._is_made = kind, clobber, sink, False

    def open(self):
        if self._is_made:
            return super().open()
        place, options = with_storage_options(self.place, self.storage_options), dict(self.options)
        for name in ("missing_chunks", "growing"):
            options.pop(name, None)
        if isinstance(place, Mounted) and not place.map._abilities()["conditional"]:
            # Nobody else knows the new dataset. Tasks of other processes open it again, without this.
            options["exclusive"] = True
        file = nczarr.create(place, self._kind, clobber=self._clobber, in_memory=self._sink is not None, **options)
        self._is_made = True
        return file

    def detach(self):
        if self._sink is None:
            super().detach()

    def close(self):
        file = self._file
        if self._sink is None or file is None or file.closed:
            return super().close()
        self._file, self._variables = None, {}
        self._sink(file.close_to_bytes())


def handle_to_create(place, format, kind, clobber, options, storage_options):
    """Returns the handle of a new dataset. ``place`` may also be a file object, or xarray's object for bytes.

    :raises ValueError: for a format that does not exist.
    """
    if kind is None and (format is not None or not _names_kind(place)):
        try:
            kind = KINDS[(format or "NETCDF4").upper()]
        except KeyError:
            raise ValueError(f"format={format!r}: expected one of {', '.join(KINDS)}") from None
    sink = None
    if not isinstance(place, (str, Mounted)):
        sink, place = _sink_of(place), "xarray.nc"
    return NewHandle(place, kind, clobber, options, storage_options, sink)


def _names_kind(place):
    """Whether the fragment of a URL names a format."""
    if isinstance(place, Mounted):
        return bool(place.modes)
    return isinstance(place, str) and "://" in place and "mode=" in place.partition("#")[2]


def _sink_of(target):
    """Returns the function that takes the bytes of a dataset."""
    if isinstance(target, io.IOBase) or hasattr(target, "write"):
        return target.write
    if not hasattr(target, "getvalue"):
        raise TypeError(f"a dataset is written to a path, a URL or a file object, found {target!r}")

    def keep(content):
        target.getvalue = _Value(memoryview(content))

    return keep


class _Value:
    """A function that returns a value."""

    def __init__(self, value):
        self.value = value

    def __call__(self):
        return self.value
