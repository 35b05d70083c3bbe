"""Attributes as members of datasets, groups and variables, with the types that netCDF4 gives them."""
import numpy as np

from .._attributes import value_of
from ._errors import translated
from ._settings import PRIMITIVE

#: Members of Python objects that are never attributes of the file.
RESERVED = frozenset((
    "_grpid _grp _varid groups dimensions variables dtype data_model disk_format _nunlimdim path parent ndim mask "
    "scale cmptypes vltypes enumtypes _isprimitive file_format _isvlen _isenum _iscompound _cmptype _vltype _enumtype "
    "name __orthogoral_indexing__ keepweakref _has_lsd always_mask _buffer chartostring _use_get_vars "
    "_ncstring_attrs__ auto_complex _native _core _handle _opened _isopen _inmemory _cache"
).split())


def read_value(name, described, payload, encoding="utf-8"):
    """Returns the value of an attribute: ``str``, a list of ``str``, a numpy scalar or an array."""
    if described == "S1":
        if name == "_FillValue":
            return payload
        return payload.decode(encoding, errors="replace").replace("\0", "")
    if described == "str":
        texts = [text if isinstance(text, str) else text.decode(encoding, errors="replace") for text in payload]
        texts = [text.replace("\0", "") for text in texts]
        return texts[0] if len(texts) == 1 else texts
    value = value_of(described, payload)
    return _as_strings(value) if described[0] == "compound" else value


def _as_strings(value):
    """Returns structures with arrays of characters as strings."""
    from ._types import aligned, with_strings

    if value.dtype.hasobject:
        return value
    inner = aligned(value.dtype)
    values = np.atleast_1d(value).astype(inner).view(with_strings(inner))
    return values if np.ndim(value) else values[0]


def write_value(native, group, name, value, force_string=False):
    """Writes an attribute with the type that netCDF4 chooses for its value.

    :raises TypeError: if netCDF has no type for it.
    """
    array = np.array(value)
    if array.ndim > 1:
        raise ValueError("multi-dimensional array attributes not supported")
    classic = group.data_model != "NETCDF4"
    if array.dtype.kind in "SU":
        code, payload = _text(array, classic, force_string)
    elif array.dtype.kind == "V":
        code, payload = _compound(array, group)
    else:
        code, payload = _numbers(name, array, classic and group.data_model != "NETCDF3_64BIT_DATA")
    with translated(AttributeError):
        native.put_attribute(name, code, payload)


def _text(array, classic, force_string):
    if array.size > 1 and classic:
        raise OSError("array string attributes can only be written with NETCDF4")
    if array.size > 1:
        return "str", array.ravel().tolist()
    text = array.item() if array.size else ""
    encoded = text.encode("utf-8") if isinstance(text, str) else text
    if not classic and (force_string or isinstance(text, str) and not text.isascii()):
        return "str", [encoded]
    # The C library has no text of length 0 here: it becomes one null byte.
    return "S1", encoded or b"\0"


def _numbers(name, array, only_32_bits):
    code = array.dtype.str[1:]
    if code not in PRIMITIVE:
        raise TypeError(f"illegal data type for attribute {name!r}, must be one of {PRIMITIVE}, got {code}")
    if code == "i8" and only_32_bits:
        if array.size and not (-(2**31) <= array.min() and array.max() < 2**31):
            raise OverflowError(f"attribute {name!r}: {value_text(array)} does not fit the 32 bits of the format")
        code = "i4"
    return code, np.ascontiguousarray(array, code).tobytes()


def value_text(array):
    """Returns the values of a short array as text."""
    return np.array2string(array, threshold=10)


def _compound(array, group):
    from ._types import find_compound

    kind = find_compound(group, array.dtype)
    return kind.name, kind.to_items(array.ravel())


class Attributed:
    """Makes the attributes of ``_native`` members of the object."""

    __slots__ = ()

    def _attribute_group(self):
        raise NotImplementedError

    def _put_attribute(self, name, value, force_string):
        write_value(self._native, self._attribute_group(), name, value, force_string)

    def ncattrs(self):
        """Returns the names of the attributes in a list."""
        with translated(AttributeError):
            return [name for name, _, _ in self._native.attributes()]

    def getncattr(self, name, encoding="utf-8"):
        """Returns an attribute. ``encoding`` is that of its text."""
        with translated(AttributeError):
            attributes = self._native.attributes()
        for found, described, payload in attributes:
            if found == name:
                return read_value(name, described, payload, encoding)
        raise AttributeError(f"NetCDF: Attribute not found: {name!r}")

    def _attributes(self):
        """Returns all attributes as a ``dict``."""
        with translated(AttributeError):
            return {name: read_value(name, *pair) for name, *pair in self._native.attributes()}

    def setncattr(self, name, value):
        """Sets an attribute, also one whose name is that of a Python member."""
        self._put_attribute(name, value, self._ncstring_attrs__)

    def setncattr_string(self, name, value):
        """Sets an attribute of strings rather than of characters."""
        if self._attribute_group().data_model != "NETCDF4":
            raise OSError("file format does not support NC_STRING attributes")
        self._put_attribute(name, value, True)

    def setncatts(self, attdict):
        """Sets all attributes of a ``dict``."""
        for name, value in attdict.items():
            self._put_attribute(name, value, False)

    def delncattr(self, name):
        """Deletes an attribute."""
        with translated():
            self._native.delete_attribute(name)

    def renameAttribute(self, oldname, newname):
        """Renames an attribute."""
        with translated():
            self._native.rename_attribute(oldname, newname)

    def set_ncstring_attrs(self, value):
        """Sets whether text attributes are written as strings rather than as characters."""
        self._init(_ncstring_attrs__=bool(value))

    def _init(self, **members):
        """Sets Python members, past ``__setattr__``."""
        for name, value in members.items():
            object.__setattr__(self, name, value)

    def __getattr__(self, name):
        if name in RESERVED or name.startswith("__") and name.endswith("__"):
            raise AttributeError(name)
        return self.getncattr(name)

    def __setattr__(self, name, value):
        if name in RESERVED:
            raise AttributeError(f"{name!r} is one of the reserved attributes, cannot rebind. Use setncattr instead.")
        if not (name.startswith("__") and name.endswith("__")):
            self.setncattr(name, value)

    def __delattr__(self, name):
        if name in RESERVED:
            raise AttributeError(f"{name!r} is one of the reserved attributes, cannot delete. Use delncattr instead.")
        self.delncattr(name)

    def __reduce__(self):
        raise NotImplementedError(f"{type(self).__name__} is not picklable")
