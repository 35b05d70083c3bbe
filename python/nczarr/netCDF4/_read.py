"""Reads: an index, then masking, scaling, and characters as strings."""
import warnings

import numpy as np

from .. import _index as core_index
from ._complex import is_compound
from ._index import axes
from ._mask import masked, unsigned
from ._strings import chartostring


def read(variable, key):
    """Returns the values of an index, as the settings of the variable ask for them."""
    selection = axes(key, variable.shape)
    data = raw(variable, selection)
    if variable._isvlen and variable.dtype is str:
        return data
    attributes = variable._attributes()
    scaled = _scales(variable, attributes)
    if is_compound(variable):
        return data
    if variable.mask and (variable._isprimitive or variable._isenum):
        data = masked(variable, attributes, data)
    elif variable.scale:
        data = unsigned(attributes, data)
    if scaled and (variable._isprimitive or variable._isvlen):
        data = _unpacked(attributes, data)
    if variable.chartostring and variable._isprimitive and variable.dtype == "S1":
        return _as_strings(variable, attributes, selection, data)
    if variable.chartostring and variable._iscompound and variable._cmptype.dtype != variable._cmptype.dtype_view:
        return data.view(variable._cmptype.dtype_view)
    return data


def raw(variable, selection):
    """Returns the stored values of a selection, in the variable's own byte order."""
    core, shape = variable._core, variable.shape
    if not shape:
        return _scalar(variable, selection)
    for axis, length, name in zip(selection, shape, variable.dimensions):
        if axis.single and axis.start >= length:
            raise IndexError(f"index {axis.start} exceeds the bounds of dimension {name!r} with size {length}")
    entries = [axis.entry for axis in selection]
    if any(isinstance(entry, np.ndarray) for entry in entries):
        values = core_index.orthogonal(entries, shape, core.chunks or shape, _reader(variable), core.dtype)
    else:
        part = core_index.Regular(entries, shape)
        values = _reader(variable)(*part.part)[part.result]
    return _in_order(variable, values)


def _reader(variable):
    """Returns the function that reads a part; strings are decoded."""
    core = variable._core
    if not (variable._isvlen and variable.dtype is str):
        return core.read
    encoding = variable._attributes().get("_Encoding", "utf-8")

    def read_strings(start, count, stride=None):
        values = core.read(start, count, stride)
        if encoding.lower().replace("-", "") != "utf8" or any(isinstance(text, bytes) for text in values.flat):
            for place, text in enumerate(values.flat):
                encoded = text.encode("utf-8") if isinstance(text, str) else text
                values.flat[place] = encoded.decode(encoding)
        return values

    return read_strings


def _scalar(variable, selection):
    value = _in_order(variable, _reader(variable)([], []))
    if variable._isvlen:
        return value[()]
    return value[()] if selection[0].single else value


def _in_order(variable, values):
    """Returns values in the type of the variable: its byte order, and its structure."""
    if variable._isvlen:
        return values
    if values.dtype != variable.dtype:
        return values.astype(variable.dtype)
    # Equal structures may differ in the mark of a C compiler's padding.
    return values.view(variable.dtype) if values.dtype.names and not values.dtype.hasobject else values


def _scales(variable, attributes):
    """Whether scaling is on, and its attributes are numbers."""
    if not variable.scale:
        return False
    try:
        for name in ("scale_factor", "add_offset"):
            float(attributes.get(name, 0))
    except (TypeError, ValueError):
        warnings.warn("invalid scale_factor or add_offset attribute, no unpacking done...", stacklevel=4)
        return False
    return True


def _unpacked(attributes, data):
    factor, offset = attributes.get("scale_factor"), attributes.get("add_offset")
    if factor is not None and offset is not None:
        if offset != 0.0 or factor != 1.0:
            return data * factor + offset
        return data.astype(factor.dtype)
    if factor is not None and factor != 1.0:
        return data * factor
    if offset is not None and offset != 0.0:
        return data + offset
    return data


def _as_strings(variable, attributes, selection, data):
    """Returns characters as strings where the whole last dimension was read and ``_Encoding`` is set."""
    encoding, shape = attributes.get("_Encoding"), variable.shape
    if encoding is None or not np.shape(data) or not shape:
        return data
    last = selection[-1]
    if last.positions is not None or last.count != shape[-1] or data.shape[-1] != shape[-1]:
        return data
    return chartostring(data, encoding=encoding)
