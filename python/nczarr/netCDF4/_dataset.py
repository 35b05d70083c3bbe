"""Datasets and groups."""
import posixpath

from ._cdl import from_cdl, to_cdl
from ._errors import translated
from ._group import GroupMethods, reference
from ._open import open_dataset, place_text
from ._settings import __has_parallel_support__

_SLOTS = (
    "_native", "_opened", "_place", "dimensions", "variables", "groups", "cmptypes", "vltypes", "enumtypes", "path",
    "parent", "data_model", "file_format", "disk_format", "keepweakref", "_ncstring_attrs__", "auto_complex",
    "__weakref__",
)


class Dataset(GroupMethods):
    """An open dataset, and its root group.

    :param filename: a path, or a URL of any storage of the engine.
    :param mode: ``r`` reads, ``w`` creates, ``x`` creates and never replaces, ``a`` and ``r+`` read and write.
        A further ``s`` changes nothing: the engine has no buffer that it would switch off.
    :param clobber: ``w`` replaces an existing dataset.
    :param format: the format of a new dataset, or the name of a kind of the engine such as ``zarr-v3``.
    :param diskless: keep the dataset in memory; ``persist`` writes it to its path when it is closed.
    :param memory: the content of a dataset to read; with ``w`` any number, and ``close`` returns the content.
    :param keepweakref: dimensions and variables do not keep the dataset open.
    :param encoding: the encoding of a file name of bytes.
    :param auto_complex: pairs of numbers are complex numbers.
    """

    __slots__ = _SLOTS
    __orthogonal_indexing__ = True

    def __init__(self, filename, mode="r", clobber=True, format="NETCDF4", diskless=False, persist=False,
                 keepweakref=False, memory=None, encoding=None, parallel=False, comm=None, info=None,
                 auto_complex=False, **kwargs):
        if kwargs:
            raise TypeError(f"Dataset: unknown arguments {', '.join(map(repr, kwargs))}")
        if parallel and not __has_parallel_support__:
            raise ValueError("parallel mode requires MPI; several processes may open the dataset without it")
        place = place_text(filename, encoding)
        opened = open_dataset(place, mode, clobber, format, diskless, persist, memory)
        self._init(_opened=opened, _place=place, _native=opened.handle.root(), path="/", parent=None,
                   data_model=opened.data_model, file_format=opened.data_model, disk_format=opened.disk_format,
                   keepweakref=keepweakref, _ncstring_attrs__=False, auto_complex=auto_complex)
        self._init(dimensions={}, variables={}, groups={}, cmptypes={}, vltypes={}, enumtypes={})
        self._read_content()

    @property
    def __dict__(self):
        """The attributes of the file by name."""
        return self._attributes()

    def _child(self, name, **kwargs):
        return Group(self, name, **kwargs)

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self.close()

    def __del__(self):
        # An error of opening leaves no handle.
        try:
            opened = object.__getattribute__(self, "_opened")
        except AttributeError:
            return
        if not isinstance(self, Group):
            opened.close()

    def filepath(self, encoding=None):
        """Returns the path or URL of opening."""
        return self._place

    def isopen(self):
        """Returns whether it is open."""
        return not self._opened.handle.is_closed()

    def close(self):
        """Stores all that was written, and closes it. Returns the content if it was created with ``memory``."""
        if not self.isopen():
            raise RuntimeError("NetCDF: Not a valid ID: the dataset is closed")
        with translated():
            return self._opened.close()

    def sync(self):
        """Stores all that was written."""
        with translated():
            self._opened.handle.sync()

    def set_fill_on(self):
        """Elements of new variables start as fill values."""
        with translated():
            self._opened.handle.set_fill(True)

    def set_fill_off(self):
        """Elements of new variables start undefined."""
        with translated():
            self._opened.handle.set_fill(False)

    def has_blosc_filter(self):
        """Returns whether blosc is available."""
        return True

    def has_zstd_filter(self):
        """Returns whether zstd is available."""
        return True

    def has_bzip2_filter(self):
        """Returns whether bzip2 is available."""
        return True

    def has_szip_filter(self):
        """Returns whether szip is available."""
        return True

    @staticmethod
    def fromcdl(cdlfilename, ncfilename=None, mode="a", format="NETCDF4"):
        """Makes a dataset from CDL text, and opens it."""
        return Dataset(from_cdl(cdlfilename, ncfilename, format), mode=mode)

    def tocdl(self, coordvars=False, data=False, outfile=None):
        """Returns the dataset as CDL text, or writes the text to a file."""
        self.sync()
        return to_cdl(self.filepath(), coordvars, data, outfile)

    def __str__(self):
        lines = [repr(type(self))]
        if self.path == "/":
            lines.append(f"root group ({self.data_model} data model, file format {self.disk_format}):")
        else:
            lines.append(f"group {self.path}:")
        lines += [f"    {name}: {value}" for name, value in self._attributes().items()]
        dimensions = ", ".join(f"{name}({len(dimension)})" for name, dimension in self.dimensions.items())
        variables = ", ".join(
            f"{variable.dtype} {name}({', '.join(variable.dimensions)})" for name, variable in self.variables.items())
        lines.append(f"    dimensions(sizes): {dimensions}")
        lines.append(f"    variables(dimensions): {variables}")
        lines.append(f"    groups: {', '.join(self.groups)}")
        return "\n".join(lines)

    __repr__ = __str__


class Group(Dataset):
    """A group of a dataset. ``Dataset.createGroup`` makes it."""

    __slots__ = ()

    def __init__(self, parent, name, **kwargs):
        if "id" in kwargs:
            native = kwargs["id"]
        else:
            with translated():
                native = parent._native.add_group(name)
        self._init(_opened=parent._opened, _place=parent._place, _native=native, parent=reference(parent),
                   path=posixpath.join(parent.path, name), data_model=parent.data_model,
                   file_format=parent.file_format, disk_format=parent.disk_format, keepweakref=parent.keepweakref,
                   _ncstring_attrs__=parent._ncstring_attrs__, auto_complex=parent.auto_complex)
        self._init(dimensions={}, variables={}, groups={}, cmptypes={}, vltypes={}, enumtypes={})
        if "id" in kwargs:
            self._read_content()

    def close(self):
        """Always fails: only a dataset can be closed."""
        raise OSError("cannot close a `Group` (only applies to Dataset)")
