"""Definitions inside of a group, and settings for all its variables."""
import posixpath
import warnings
import weakref

import numpy as np

from ._attributes import Attributed
from ._dimension import Dimension, find_dimension
from ._errors import translated
from ._types import CompoundType, EnumType, VLType, of_description


def each_group(group):
    """Yields a group and all groups below it."""
    yield group
    for child in group.groups.values():
        yield from each_group(child)


class GroupMethods(Attributed):
    """The methods that datasets and groups share."""

    __slots__ = ()

    def _attribute_group(self):
        return self

    def _read_content(self):
        """Makes the Python objects for what is in the file."""
        from ._variable import variable_of

        with translated():
            dimensions, types = self._native.dimensions(), self._native.types()
            variables, groups = self._native.variables(), self._native.groups()
        for native in dimensions:
            name = native.describe()[0]
            self.dimensions[name] = Dimension(self, name, id=native)
        for described in types:
            kind = of_description(self, described)
            if kind is None:
                warnings.warn(f"the type {described[1]!r} is unsupported, skipping it", stacklevel=4)
                continue
            table = {CompoundType: self.cmptypes, VLType: self.vltypes, EnumType: self.enumtypes}[type(kind)]
            table[described[1]] = kind
        for native in variables:
            variable = variable_of(self, native)
            if variable is None:
                warnings.warn(f"variable {native.name()!r} has an unsupported type, skipping it", stacklevel=4)
                continue
            self.variables[native.name()] = variable
        for native in groups:
            self.groups[native.name()] = self._child(native.name(), id=native)

    @property
    def name(self):
        """Its name; ``/`` for a dataset."""
        with translated():
            return self._native.name()

    @name.setter
    def name(self, value):
        raise AttributeError("name cannot be altered")

    def __getitem__(self, elem):
        elem = posixpath.normpath(elem)
        dirname, lastname = posixpath.split(elem)
        group = self
        for part in dirname.split("/"):
            if part:
                group = group.groups[part]
        if lastname in group.groups:
            return group.groups[lastname]
        if lastname in group.variables:
            return group.variables[lastname]
        raise IndexError(f"{lastname} not found in {group.path}")

    def __iter__(self):
        raise TypeError("Dataset is not iterable. Consider iterating on Dataset.variables.")

    def __contains__(self, key):
        raise TypeError(
            "Dataset does not support membership operations. Perhaps try 'varname in dataset.variables' or "
            "'dimname in dataset.dimensions'."
        )

    def createDimension(self, dimname, size=None):
        """Creates a dimension; without a size it is unlimited."""
        self.dimensions[dimname] = Dimension(self, dimname, size=size)
        return self.dimensions[dimname]

    def renameDimension(self, oldname, newname):
        """Renames a dimension."""
        self._rename(self.dimensions, oldname, newname, "dimension")

    def renameVariable(self, oldname, newname):
        """Renames a variable."""
        self._rename(self.variables, oldname, newname, "variable")

    def renameGroup(self, oldname, newname):
        """Renames a group."""
        self._rename(self.groups, oldname, newname, "group")

    def _rename(self, table, oldname, newname, kind):
        if oldname not in table:
            raise KeyError(f"{oldname} not a valid {kind} name")
        with translated():
            table[oldname]._native.rename(newname)
        table[newname] = table.pop(oldname)

    def createCompoundType(self, datatype, datatype_name):
        """Creates a compound type with the fields of a structured numpy type."""
        self.cmptypes[datatype_name] = CompoundType(self, datatype, datatype_name)
        return self.cmptypes[datatype_name]

    def createVLType(self, datatype, datatype_name):
        """Creates a type of sequences of any length."""
        self.vltypes[datatype_name] = VLType(self, datatype, datatype_name)
        return self.vltypes[datatype_name]

    def createEnumType(self, datatype, datatype_name, enum_dict):
        """Creates a type of integers with names."""
        self.enumtypes[datatype_name] = EnumType(self, datatype, datatype_name, enum_dict)
        return self.enumtypes[datatype_name]

    def createGroup(self, groupname):
        """Creates a group, and the groups on the path to it; returns one that exists already."""
        group = self
        for part in posixpath.normpath(groupname).split("/"):
            if part:
                if part not in group.groups:
                    group.groups[part] = group._child(part)
                group = group.groups[part]
        return group

    def createVariable(self, varname, datatype, dimensions=(), compression=None, zlib=False, complevel=4, shuffle=True,
                       szip_coding="nn", szip_pixels_per_block=8, blosc_shuffle=1, fletcher32=False, contiguous=False,
                       chunksizes=None, endian="native", least_significant_digit=None, significant_digits=None,
                       quantize_mode="BitGroom", fill_value=None, chunk_cache=None):
        """Creates a variable, and the groups on the path to it. ``Variable`` describes the arguments."""
        from ._variable import Variable

        dirname, varname = posixpath.split(posixpath.normpath(varname))
        group = self.createGroup(dirname) if dirname else self
        if isinstance(dimensions, (str, bytes, Dimension)):
            dimensions = (dimensions,)
        dimensions = tuple(_dimension(group, dimension) for dimension in dimensions)
        group.variables[varname] = Variable(
            group, varname, datatype, dimensions, compression=compression, zlib=zlib, complevel=complevel,
            shuffle=shuffle, szip_coding=szip_coding, szip_pixels_per_block=szip_pixels_per_block,
            blosc_shuffle=blosc_shuffle, fletcher32=fletcher32, contiguous=contiguous, chunksizes=chunksizes,
            endian=endian, least_significant_digit=least_significant_digit, significant_digits=significant_digits,
            quantize_mode=quantize_mode, fill_value=fill_value, chunk_cache=chunk_cache,
        )
        return group.variables[varname]

    def set_auto_chartostring(self, value):
        """Sets ``Variable.set_auto_chartostring`` for all variables of all groups."""
        self._set_all("set_auto_chartostring", value)

    def set_auto_maskandscale(self, value):
        """Sets ``Variable.set_auto_maskandscale`` for all variables of all groups."""
        self._set_all("set_auto_maskandscale", value)

    def set_auto_mask(self, value):
        """Sets ``Variable.set_auto_mask`` for all variables of all groups."""
        self._set_all("set_auto_mask", value)

    def set_auto_scale(self, value):
        """Sets ``Variable.set_auto_scale`` for all variables of all groups."""
        self._set_all("set_auto_scale", value)

    def set_always_mask(self, value):
        """Sets ``Variable.set_always_mask`` for all variables of all groups."""
        self._set_all("set_always_mask", value)

    def set_ncstring_attrs(self, value):
        """Sets whether text attributes of all groups and variables are written as strings."""
        for group in each_group(self):
            group._init(_ncstring_attrs__=bool(value))
            for variable in group.variables.values():
                variable.set_ncstring_attrs(value)

    def _set_all(self, method, value):
        for group in each_group(self):
            for variable in group.variables.values():
                getattr(variable, method)(value)

    def get_variables_by_attributes(self, **kwargs):
        """Returns the variables whose attributes have the given values, or pass the given functions."""
        return [variable for variable in self.variables.values() if kwargs and all(
            _matches(variable, name, wanted) for name, wanted in kwargs.items())]


def _matches(variable, name, wanted):
    if callable(wanted):
        return bool(wanted(getattr(variable, name, None)))
    return hasattr(variable, name) and np.array_equal(getattr(variable, name), wanted)


def _dimension(group, dimension):
    if isinstance(dimension, bytes):
        dimension = dimension.decode()
    return find_dimension(group, dimension) if isinstance(dimension, str) else dimension


def reference(group):
    """Returns the group itself, or a weak reference where the dataset asks for those."""
    if group.keepweakref and not isinstance(group, weakref.ProxyType):
        return weakref.proxy(group)
    return group
