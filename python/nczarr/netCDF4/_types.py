"""User-defined types: compounds, sequences of any length, and enums."""
import numpy as np

from .. import _types as core_types
from ._errors import translated
from ._settings import PRIMITIVE


class _UserType:
    """A type that a group defines. ``name`` is its name in the file."""

    def __str__(self):
        return f"{type(self)!r}: name = '{self.name}', numpy dtype = {self.dtype}"

    def __repr__(self):
        return str(self)

    def __reduce__(self):
        raise NotImplementedError(f"{type(self).__name__} is not picklable")


class CompoundType(_UserType):
    """A structure. ``dtype`` has the fields; ``dtype_view`` has arrays of characters as strings."""

    def __init__(self, grp, datatype, dtype_name, **kwargs):
        self.dtype = aligned(np.dtype(datatype))
        self.dtype_view = with_strings(self.dtype)
        self.name = dtype_name
        if "typeid" not in kwargs:
            fields = [(field, *_field(grp, self.dtype.fields[field][0])) for field in self.dtype.names]
            with translated():
                grp._native.add_compound(dtype_name, fields)

    def to_items(self, array):
        """Returns the elements of an array as tuples for the native half."""
        if array.dtype == self.dtype_view:
            array = array.view(self.dtype)
        return array.astype(self.dtype).tolist()


def aligned(dtype):
    """Returns a structure with the padding of a C compiler, and strings as arrays of characters."""
    formats = []
    for name in dtype.names:
        part = dtype.fields[name][0]
        if part.subdtype is not None and part.base.names is not None:
            raise TypeError("nested structured dtype arrays not supported")
        if part.names is not None:
            part = aligned(part)
        elif part.kind == "S" and part.itemsize != 1:
            part = np.dtype(("S1", (part.itemsize,)))
        formats.append(part)
    return np.dtype({"names": dtype.names, "formats": formats}, align=True)


def with_strings(dtype):
    """Returns a structure with arrays of characters as strings."""
    formats = []
    for name in dtype.names:
        part = dtype.fields[name][0]
        if part.names is not None:
            part = with_strings(part)
        elif part.subdtype is not None and part.base.kind == "S" and len(part.shape) == 1:
            part = np.dtype(f"S{part.shape[0]}")
        formats.append(part)
    return np.dtype({"names": dtype.names, "formats": formats}, align=True)


def _field(grp, part):
    """Returns the name of a field's type, and its shape."""
    if part.names is not None:
        return find_compound(grp, part).name, []
    if part.base.str[1:] not in PRIMITIVE:
        raise ValueError(f"Unsupported compound type element: {part}")
    return core_types.code_of(part.base), list(part.shape)


def find_compound(grp, dtype):
    """Returns the type with these fields that is visible from a group."""
    group = grp
    while group is not None:
        for kind in group.cmptypes.values():
            if _same_fields(dtype, kind.dtype) or _same_fields(dtype, kind.dtype_view):
                return kind
        group = group.parent
    raise ValueError("cannot find compound type in this group or parent groups")


def _same_fields(one, other):
    """Whether two structures have equal fields, at any offsets."""
    if one.names != other.names:
        return False
    pairs = [(one.fields[name][0], other.fields[name][0]) for name in one.names]
    return all(_same_fields(a, b) if a.names and b.names else a == b for a, b in pairs)


class VLType(_UserType):
    """Sequences of any length of one number type, or strings: ``dtype`` is then ``str``."""

    def __init__(self, grp, datatype, dtype_name, **kwargs):
        self.dtype = datatype
        self.name = None if datatype is str else dtype_name
        if "typeid" in kwargs or datatype is str:
            return
        self.dtype = np.dtype(datatype)
        if self.dtype.str[1:] not in PRIMITIVE:
            raise KeyError("unsupported datatype specified for VLEN")
        with translated():
            grp._native.add_vlen(dtype_name, core_types.code_of(self.dtype))

    def __str__(self):
        return f"{type(self)!r}: string type" if self.dtype is str else super().__str__()


class EnumType(_UserType):
    """Integers with names. ``enum_dict`` has the integers by name."""

    def __init__(self, grp, datatype, dtype_name, enum_dict, **kwargs):
        self.dtype = np.dtype(datatype)
        self.name, self.enum_dict = dtype_name, enum_dict
        if "typeid" in kwargs:
            return
        if self.dtype.kind not in "iu":
            raise KeyError("unsupported datatype specified for ENUM (must be integer)")
        members = [(member, int(np.array(value, self.dtype))) for member, value in enum_dict.items()]
        with translated():
            grp._native.add_enum(dtype_name, core_types.code_of(self.dtype), members)

    def __str__(self):
        return f"{super().__str__()}, fields/values ={self.enum_dict}"


def of_description(grp, described, order="="):
    """Returns the type for a description of the native half; ``None`` for a kind that netCDF4 has not.

    ``order`` is the byte order of stored numbers.
    """
    if described == "str":
        return VLType(grp, str, None, typeid=described)
    if described[0] == "compound":
        return CompoundType(grp, core_types.dtype_of(described), described[1], typeid=described)
    if described[0] == "enum":
        return EnumType(grp, np.dtype(order + described[2]), described[1], dict(described[3]), typeid=described)
    if described[0] == "vlen" and isinstance(described[2], str) and described[2] != "str":
        return VLType(grp, np.dtype(order + described[2]), described[1], typeid=described)
    return None
