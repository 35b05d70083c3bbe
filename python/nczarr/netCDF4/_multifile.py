"""Several datasets as one, joined along one dimension."""
import datetime
import glob

import numpy as np

from ._dataset import Dataset
from ._index import axes
from ._time import date2num


class MFDataset(Dataset):
    """Reads several datasets as one. They are joined along an unlimited dimension, or along ``aggdim``.

    :param files: paths in the order of joining, or a pattern.
    :param check: refuse datasets whose variables differ.
    :param exclude: names of variables that are not joined.
    :param master_file: the dataset that gives attributes and other variables; the first by default.
    """

    def __init__(self, files, check=False, aggdim=None, exclude=(), master_file=None):
        if isinstance(files, str):
            if files.startswith("http"):
                raise ValueError("cannot using file globbing for remote datasets")
            files = sorted(glob.glob(files))
        if not files:
            raise OSError("no files specified (file list is empty)")
        if master_file is not None and master_file not in files:
            raise ValueError("master_file not in files list")
        master = files[0] if master_file is None else master_file
        parts = []
        try:
            self._join(files, master, parts, check, aggdim, exclude)
        except BaseException:
            for part in parts:
                part.close()
            raise

    def _join(self, files, master, parts, check, aggdim, exclude):
        for file in files:
            parts.append(Dataset(file))
        first = parts[list(files).index(master)]
        models = [part.data_model for part in parts]
        if "NETCDF4" in models:
            raise ValueError("MFNetCDF4 only works with NETCDF3_* and NETCDF4_CLASSIC formatted files, not NETCDF4")
        along = _joined_dimension(first, aggdim, master)
        joined = [name for name, variable in first.variables.items()
                  if name not in exclude and variable.dimensions[:1] == (along,)]
        if not joined:
            raise OSError(f"master dataset {master} does not have any variables to aggregate")
        lengths = [len(part.dimensions[along]) for part in parts]
        for name in joined if check else ():
            for file, part in zip(files, parts):
                _check_same(name, first.variables[name], part, master, file)
        dimensions, variables = dict(first.dimensions), dict(first.variables)
        dimensions[along] = _Dimension(along, lengths)
        self._init(dimensions=dimensions, variables=variables, groups=first.groups, path="/", parent=None,
                   file_format=models, data_model=models, disk_format=[part.disk_format for part in parts],
                   keepweakref=False, _ncstring_attrs__=False, auto_complex=False, _native=first._native,
                   _opened=first._opened, _place=first._place)
        self._init(_cdf=parts, _files=list(files), _cdfVLen=lengths)
        for name in joined:
            members = [part.variables.get(name) for part in parts]
            missing = [file for file, member in zip(files, members) if member is None]
            if missing:
                raise KeyError(f"variable {name!r} is missing in {missing[0]}")
            variables[name] = _Variable(self, name, first.variables[name], members, lengths, along)

    @property
    def __dict__(self):
        """The attributes of the master."""
        return self._attributes()

    def ncattrs(self):
        """Returns the names of the master's attributes."""
        return list(self._attributes())

    def close(self):
        """Closes all datasets."""
        for part in self._cdf:
            part.close()

    def isopen(self):
        """Returns whether all datasets are open."""
        return all(part.isopen() for part in self._cdf)

    def __del__(self):
        """The parts close themselves."""

    def __repr__(self):
        lines = [repr(type(self)),
                 f"root group ({self.data_model[0]} data model, file format {self.disk_format[0]}):"]
        lines += [f"    {name}: {value}" for name, value in self._attributes().items()]
        for word in ("dimensions", "variables"):
            lines.append(f"    {word} = {tuple(getattr(self, word))}")
        return "\n".join([*lines, "    groups = ()"])

    __str__ = __repr__


def _joined_dimension(first, aggdim, master):
    """Returns the name of the dimension of joining."""
    if aggdim is not None and aggdim in first.dimensions:
        return aggdim
    unlimited = [name for name, dimension in first.dimensions.items() if aggdim is None and dimension.isunlimited()]
    if not unlimited:
        raise OSError(f"master dataset {master} does not have a aggregation dimension")
    return unlimited[-1]


def _check_same(name, wanted, part, master, file):
    """Checks that a dataset has a variable like that of the master."""
    if name not in part.variables:
        raise OSError(f"aggregation variable {name} not defined in {file}")
    found = part.variables[name]
    facts = (
        ("dimensions", wanted.dimensions, found.dimensions), ("rank", wanted.ndim, found.ndim),
        ("shape", wanted.shape[1:], found.shape[1:]), ("data type", wanted.dtype, found.dtype),
    )
    for fact, expected, actual in facts:
        if expected != actual:
            raise OSError(f"variable {name} : {fact} mismatch between master {master} ({expected}) and extension "
                          f"{file} ({actual})")


class _Dimension:
    """The dimension of joining: as long as its parts together."""

    def __init__(self, name, lengths):
        self.name = self._name = name
        self.dimlens, self.dimtotlen = lengths, sum(lengths)

    @property
    def size(self):
        return len(self)

    def __len__(self):
        return self.dimtotlen

    def isunlimited(self):
        return True

    def __repr__(self):
        return f"{type(self)!r} (unlimited): name = '{self.name}', size = {len(self)}"


class _Variable:
    """A variable that is joined along its first dimension."""

    def __init__(self, dataset, name, master, members, lengths, along):
        self._dset = self._grp = dataset
        self._name, self._mastervar, self._recVar, self._recLen = name, master, members, lengths
        self._recdimname, self.dimensions, self.dtype = along, master.dimensions, master.dtype
        for attribute, value in master._attributes().items():
            self.__dict__[attribute] = value

    name = property(lambda self: self._name)
    shape = property(lambda self: (sum(self._recLen), *self._mastervar.shape[1:]))
    ndim = property(lambda self: len(self.shape))

    def typecode(self):
        return self.dtype

    def ncattrs(self):
        return self._mastervar.ncattrs()

    def __len__(self):
        return self.shape[0]

    def __repr__(self):
        unlimited = tuple(name for name in self.dimensions if self._dset.dimensions[name].isunlimited())
        attributes = [f"    {name}: {self.__dict__[name]}" for name in self.ncattrs()]
        return "\n".join([repr(type(self)), f"{self.dtype} {self._name}{self.dimensions}", *attributes,
                          f"unlimited dimensions = {unlimited!r}", f"current size = {self.shape!r}"])

    def __getitem__(self, key):
        """Reads each part that the index touches. Without a masked element, the result is a plain array."""
        first, *rest = axes(key, self.shape)
        if any(axis.stride < 0 for axis in (first, *rest)):
            raise IndexError("negative strides not allowed when slicing MFVariable Variable instance")
        if first.single and first.start >= len(self):
            raise IndexError(f"index {first.start} exceeds dimension {self._recdimname!r} of size {len(self)}")
        entry = first.entry
        wanted = np.arange(len(self))[entry if isinstance(entry, (slice, np.ndarray)) else [entry]]
        keys = tuple(axis.entry for axis in rest)
        pieces, edges = [], np.cumsum([0, *self._recLen])
        owners = np.searchsorted(edges, wanted, side="right") - 1
        cuts = np.nonzero(np.diff(owners))[0] + 1
        for where in np.split(np.arange(len(wanted)), cuts) if len(wanted) else ():
            owner = owners[where[0]]
            pieces.append(self._recVar[owner][(wanted[where] - edges[owner], *keys)])
        values = np.ma.concatenate(pieces) if pieces else self._recVar[0][(slice(0, 0), *keys)]
        values = values[0] if first.single else values
        if not np.ma.getmaskarray(values).any():
            return np.ma.getdata(values)[()]
        if isinstance(values, np.ma.MaskedArray) and values.shape:
            values.fill_value = None
        return values


def _for_all(method):
    def call(self, value):
        for member in self._recVar:
            getattr(member, method)(value)

    call.__doc__ = f"Calls ``Variable.{method}`` of all parts."
    return call


for _method in ("set_auto_chartostring", "set_auto_maskandscale", "set_auto_mask", "set_auto_scale", "set_always_mask"):
    setattr(_Variable, _method, _for_all(_method))


class MFTime(_Variable):
    """The time of an ``MFDataset`` in one unit, though its datasets have several.

    :param units: the unit; that of the first dataset by default.
    :param calendar: the calendar, where datasets have none.
    """

    def __init__(self, time, units=None, calendar=None):
        self._time = time
        self.__dict__.update(time.__dict__)
        if calendar is None:
            found = {getattr(member, "calendar", None) for member in self._recVar}
            if None in found:
                raise ValueError("MFTime requires that the time variable in all files have a calendar attribute if no "
                                 "default calendar is provided.")
            if len(found) > 1:
                raise ValueError("MFTime requires that the same time calendar is used by all files if no default "
                                 "calendar is provided.")
            calendar = found.pop()
        self.calendar, self.units = calendar, units or time.units
        moment = datetime.datetime(1900, 1, 1)
        reference = date2num(moment, self.units, calendar)
        shifts = [reference - date2num(moment, member.units, calendar) for member in self._recVar]
        self._shift = np.repeat(np.array(shifts), self._recLen).astype(time.dtype)

    def __getitem__(self, key):
        return self._time[key] + self._shift[key]
