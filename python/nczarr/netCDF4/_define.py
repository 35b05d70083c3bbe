"""Definition of variables: the type, the fill value, and attributes of the variable's type."""
import sys
import warnings

import numpy as np

from .. import _types as core_types
from . import _complex
from ._errors import translated
from ._settings import PRIMITIVE, default_fillvals
from ._types import CompoundType, EnumType, VLType

_ORDERS = {">": "big", "<": "little", "=": "native"}


def resolve(grp, datatype, endian):
    """Returns the numpy type or user-defined type for the argument ``datatype``.

    :raises TypeError: if netCDF has no type for it.
    """
    if datatype is str:
        return _string(grp)
    if isinstance(datatype, (CompoundType, VLType, EnumType)):
        return datatype
    dtype = np.dtype(datatype)
    if dtype.kind == "U" or dtype.kind == "S" and dtype.itemsize > 1:
        return _string(grp)
    if dtype.str[1:] in ("c8", "c16"):
        if not grp.auto_complex:
            raise ValueError(f"complex datatypes ({dtype}) are only supported with `auto_complex=True`")
        return dtype
    if dtype.str[1:] not in PRIMITIVE:
        raise TypeError(f"Illegal primitive data type, must be one of {PRIMITIVE}, got {dtype}")
    order = _ORDERS.get(dtype.byteorder)
    if order not in (None, endian) and not (order == "native" and endian == sys.byteorder):
        warnings.warn("endian-ness of dtype and endian kwarg do not match, using endian kwarg", stacklevel=6)
    return dtype


def _string(grp):
    if grp.data_model != "NETCDF4":
        raise ValueError("Variable length strings are only supported for the NETCDF4 format. For other formats, "
                         "consider using netCDF4.stringtochar to convert string arrays into character arrays with "
                         "an additional dimension.")
    return VLType(grp, str, None, typeid="str")


def define(variable, grp, name, dimensions, layout):
    """Creates the variable in the file, and returns the native half's handle."""
    layout.check(grp, dimensions)
    names = [dimension.name for dimension in dimensions]
    kind = variable.datatype
    if isinstance(kind, VLType) and kind.dtype is str:
        code = "str"
    elif variable._isprimitive and variable.dtype.kind == "c":
        code = None
    elif variable._isprimitive:
        code = core_types.code_of(variable.dtype)
    else:
        code = kind.name
    with translated():
        if code is None:
            native = _complex.add_variable(grp, name, variable.dtype, names)
        else:
            native = grp._native.add_variable(name, code, names)
        layout.apply(grp, native, len(native.dimensions()))
    return native


def set_fill(variable, fill_value):
    """Sets the fill value of a new variable."""
    if fill_value is None:
        return
    native = variable._native
    if fill_value is False:
        if variable._isprimitive:
            with translated():
                native.set_no_fill()
        return
    code = core_types.type_name(native.nc_type())
    if isinstance(fill_value, str) and fill_value == "default":
        if not variable._isprimitive:
            warnings.warn("there is no default fill value for this data type, so fill_value='default' does nothing",
                          stacklevel=4)
            return
        fill_value = default_fillvals[variable.dtype.str[1:]]
    with translated():
        if variable._isvlen and variable.dtype is str:
            native.set_fill("str", [str(fill_value)])
        elif variable._isenum:
            native.set_fill(code, [int(np.array(fill_value, variable.dtype))])
        elif variable._isprimitive:
            native.set_fill(code, _fill_bytes(fill_value, variable.dtype))
        else:
            raise AttributeError("cannot set _FillValue attribute for VLEN or compound variable")


def _fill_bytes(value, dtype):
    array = np.array(value, dtype.newbyteorder("="))
    if array.size != 1:
        raise ValueError(f"fill_value: expected one value, found {array.size}")
    return array.tobytes()


def in_type_of(variable, name, value):
    """Returns an attribute's value in the variable's type; unchanged, with a warning, if it does not fit."""
    given = np.array(value)
    converted = np.array(value, variable.dtype)
    if equal(given, converted):
        return converted
    warnings.warn(f"WARNING: {name} cannot be safely cast to variable dtype", stacklevel=3)
    return value


def equal(one, other):
    """Whether two arrays have equal values; NaN equals NaN."""
    try:
        same = one == other
        if one.dtype.kind in "fc":
            same = same | (np.isnan(one) & np.isnan(other))
        return bool(np.all(same))
    except (TypeError, ValueError):
        return False
