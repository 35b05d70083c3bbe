"""Writes: packing, filling of masked values, strings as characters, and growth of unlimited dimensions."""
import itertools
import warnings

import numpy as np

from ._index import axes
from ._settings import default_fillvals
from ._strings import stringtochar
from .utils import quantized


def write(variable, key, data):
    """Writes values to an index, as the settings of the variable ask for it."""
    attributes = variable._attributes()
    if variable._isvlen:
        single = _single_element(variable, attributes, data)
        if single is not None:
            return _write_element(variable, key, single)
        data = data.astype(object) if data.dtype.kind in "SU" else data
    elif variable._isprimitive and variable.dtype == "S1" and variable.chartostring:
        data = _characters(variable, attributes, data)
    elif variable._iscompound:
        data = _compounds(variable, data)
    data = _as_array(variable, attributes, data)
    if variable._isenum:
        data = _checked_enum(variable, data)
    selection = axes(key, variable.shape, variable._core.unlimited, data.shape)
    _check_bounds(variable, selection)
    data = _shaped(data, [axis.count for axis in selection])
    if "least_significant_digit" in attributes:
        data = quantized(data, attributes["least_significant_digit"])
    if variable.scale and variable._isprimitive:
        data = packed(variable, attributes, data)
    _put(variable, attributes, selection, data)
    return None


def _single_element(variable, attributes, data):
    """Returns data that are one element of a variable of strings or sequences; ``None`` for an array of them."""
    if variable.dtype is str:
        if not isinstance(data, np.ndarray):
            return data
        if isinstance(data, np.ma.MaskedArray) and data.dtype.kind in "SU":
            raise TypeError("masked arrays cannot be assigned by VLEN str slices")
        if data.dtype.kind not in "SUO":
            raise TypeError("only numpy string, unicode or object arrays can be assigned to VLEN str var slices")
        return None
    if isinstance(data, np.ndarray) and data.dtype.kind == "O":
        return None
    data = data if isinstance(data, np.ndarray) else np.asarray(data, variable.dtype)
    return packed(variable, attributes, data) if variable.scale else data


def _write_element(variable, key, element):
    message = "data can only be assigned to VLEN variables using integer indices"
    shape = variable.shape
    entries = () if not shape else key if isinstance(key, tuple) else (key,)
    if len(entries) != len(shape):
        raise IndexError(message)
    start = []
    for entry, length in zip(entries, shape):
        if isinstance(entry, slice) or entry is Ellipsis or np.ndim(entry) or int(entry) != entry:
            raise IndexError(message)
        entry = int(entry) + (length if entry < 0 else 0)
        if entry < 0:
            raise IndexError("Illegal index")
        start.append(entry)
    value = np.empty([1] * len(shape), object)
    value[(0,) * len(shape)] = element
    _put_block(variable, variable._attributes(), value, start, [1] * len(shape), None)


def _characters(variable, attributes, data):
    """Returns strings as characters if ``_Encoding`` says how."""
    encoding = attributes.get("_Encoding")
    if encoding is None or not variable.shape:
        return data
    length = variable.shape[-1]
    array = data if hasattr(data, "dtype") else np.asarray(data)
    if array.dtype.kind not in "SU" or array.dtype.itemsize <= 1:
        return data
    if array.dtype == "U1" and array.ndim and length != 1:
        return data
    longest = max((len(text.encode(encoding) if isinstance(text, str) else text) for text in array.ravel().tolist()),
                  default=0)
    if longest > length:
        warnings.warn(f"variable {variable.name!r} has {length} characters, a string of {longest} bytes is cut",
                      stacklevel=5)
    return stringtochar(np.asarray(array), encoding=encoding, n_strlen=length)


def _compounds(variable, data):
    kind = variable._cmptype
    data = np.asarray(data, kind.dtype) if not hasattr(data, "dtype") else data
    if data.dtype.names is None or kind.dtype == kind.dtype_view or not variable.chartostring:
        return data
    return np.asarray(data).astype(kind.dtype_view).view(kind.dtype) if _has_strings(data.dtype) else data


def _has_strings(dtype):
    """Whether a field, also of a field, is a string rather than characters."""
    parts = [dtype.fields[name][0] for name in dtype.names]
    return any(_has_strings(part) if part.names else part.kind == "S" and part.itemsize > 1 for part in parts)


def _as_array(variable, attributes, data):
    if isinstance(data, np.ma.MaskedArray) or isinstance(getattr(data, "data", None), memoryview):
        return data
    packs = variable.scale and variable.dtype.kind in "iu" if not variable._isvlen else False
    if packs and "scale_factor" in attributes or "add_offset" in attributes:
        return np.array(data, np.float64)
    return np.array(data, object if variable._isvlen else variable.dtype)


def _checked_enum(variable, data):
    values = data.filled() if isinstance(data, np.ma.MaskedArray) else data
    if not np.isin(values, list(variable._enumtype.enum_dict.values())).all():
        raise ValueError("trying to assign illegal value to Enum variable")
    return values


def _check_bounds(variable, selection):
    """Refuses a write beyond the end of a dimension that cannot grow."""
    for axis, length, grows, name in zip(selection, variable.shape, variable._core.unlimited, variable.dimensions):
        if axis.single and not grows and axis.start >= length:
            raise IndexError(f"index {axis.start} exceeds the bounds of dimension {name!r} with size {length}")


def _shaped(data, counts):
    """Returns values with the shape of the selection."""
    if data.shape == ():
        return np.ma.resize(data, counts) if isinstance(data, np.ma.MaskedArray) else np.full(counts, data, data.dtype)
    if data.ndim == len(counts) and (data.ndim == 1 or data.shape == tuple(counts)):
        if data.shape != tuple(counts):
            raise IndexError("size of data array does not conform to slice")
        return data
    if data.size == np.prod(counts):
        return data.reshape(counts)
    return np.broadcast_to(data, counts, subok=True)


def packed(variable, attributes, data):
    """Returns values in the variable's type, scaled, and with fill values instead of masked ones."""
    factor, offset = attributes.get("scale_factor"), attributes.get("add_offset")
    if offset is not None:
        data = data - offset
    if factor is not None:
        data = data / factor
    if (factor is not None or offset is not None) and variable.dtype.kind in "iu":
        data = np.around(data)
    if data.dtype != variable.dtype:
        data = data.astype(variable.dtype)
    return _filled(variable, attributes, data) if isinstance(data, np.ma.MaskedArray) else data


def _filled(variable, attributes, data):
    missing = attributes.get("missing_value")
    if missing is None:
        return _replaced(data, attributes.get("_FillValue", default_fillvals.get(variable.dtype.str[1:])))
    hidden = data.data[np.ma.getmaskarray(data)]
    # Values under the mask that are missing values themselves stay as they are.
    if np.isin(hidden, missing).all():
        return data.data
    if np.shape(missing) != ():
        raise RuntimeError("cannot assign fill_value for masked array when missing_value attribute is not a scalar")
    return _replaced(data, missing)


def _replaced(data, fill):
    """Returns the values of a masked array with ``fill`` where they are masked."""
    values = np.array(data.data)
    values[np.ma.getmaskarray(data)] = fill
    return values


def _put(variable, attributes, selection, data):
    if not variable.shape:
        _put_block(variable, attributes, data.reshape(()), [], [], None)
        return
    for blocks in itertools.product(*map(_blocks, selection)):
        part = data[tuple(block[3] for block in blocks)]
        if part.size:
            start, count, stride = ([block[at] for block in blocks] for at in range(3))
            _put_block(variable, attributes, part, start, count, None if set(stride) == {1} else stride)


def _blocks(axis):
    """Returns ``(start, count, stride, place in the values)`` of each regular part of an axis."""
    if axis.positions is None:
        if axis.stride < 0:
            start = axis.start + axis.stride * (axis.count - 1)
            return [(start, axis.count, -axis.stride, slice(None, None, -1))]
        return [(axis.start, axis.count, axis.stride, slice(None))]
    cuts = np.nonzero(np.diff(axis.positions) != 1)[0] + 1
    edges = [0, *cuts.tolist(), axis.count] if axis.count else []
    return [(int(axis.positions[first]), last - first, 1, slice(first, last)) for first, last in zip(edges, edges[1:])]


def _put_block(variable, attributes, values, start, count, stride):
    core = variable._core
    values = np.asarray(values)
    if not variable._isvlen:
        values = values.astype(variable.dtype, copy=False).astype(core.dtype, copy=False)
        core.write(np.ascontiguousarray(values).reshape(count), start, count, stride)
        return
    if values.dtype.kind != "O":
        raise TypeError("data to put in string variable must be an object array containing Python strings")
    elements = np.empty(values.shape, object)
    encoding = attributes.get("_Encoding", "utf-8")
    for place, element in enumerate(values.flat):
        elements.flat[place] = _element(variable, element, encoding)
    core.write(elements, start, count, stride)


def _element(variable, element, encoding):
    """Returns an element of a variable of strings or sequences as the core takes it."""
    if variable.dtype is str:
        if not isinstance(element, (str, bytes)):
            raise TypeError(f"variable {variable.name!r}: expected a string, found {element!r}")
        return element.encode(encoding) if isinstance(element, str) else element
    array = np.asarray(element)
    if array.dtype != variable.dtype:
        raise TypeError(f"wrong data type in object array: should be {variable.dtype}, got {array.dtype}")
    return array.ravel().tolist()
