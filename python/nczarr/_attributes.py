"""Attributes as a mapping. Values keep their type in both directions."""
from collections.abc import MutableMapping

import numpy as np

from . import _types


def value_of(described, payload):
    """Returns the Python value of a pair of the native half."""
    if isinstance(described, str):
        if described == "S1":
            try:
                return payload.decode("utf-8")
            except UnicodeDecodeError:
                return payload
        if described == "str":
            return payload[0] if len(payload) == 1 else payload
        dtype = _types.ATOMIC[described]
        values = np.frombuffer(payload, dtype)
        return values[0] if len(values) == 1 else values
    dtype = _types.dtype_of(described)
    if dtype.hasobject and dtype.names is None:
        values = [np.asarray(element) for element in payload]
    else:
        values = np.array(payload, dtype)
    return values[0] if len(values) == 1 else values


def pair_of(value):
    """Returns the pair of type and payload for a Python value.

    A ``str`` becomes text of type char, a list of ``str`` strings, ``bytes`` text as it is, ``int`` the smallest
    of int and int64 that fits, ``float`` double, and a numpy value keeps its type.

    :raises TypeError: if netCDF has no type for the value.
    """
    if isinstance(value, str):
        return "S1", value.encode("utf-8")
    if isinstance(value, (bytes, bytearray)):
        return "S1", bytes(value)
    if isinstance(value, bool):
        return "i1", bytes([value])
    if isinstance(value, int):
        value = np.asarray(value, "i4" if -(2**31) <= value < 2**31 else "i8" if value < 2**63 else "u8")
    array = np.asarray(value)
    if array.dtype.kind == "O" and array.size == 0:
        array = array.astype("U1")
    if array.dtype.kind in "UO" or array.dtype.kind == "S" and array.dtype.itemsize > 1:
        elements = array.ravel().tolist()
        if not all(isinstance(element, (str, bytes)) for element in elements):
            raise TypeError(f"an attribute cannot keep {value!r}")
        return "str", elements
    if array.dtype.kind == "S":
        return "S1", array.tobytes()
    if array.dtype.kind == "b":
        array = array.astype("i1")
    if isinstance(value, (list, tuple)) and array.dtype == "i8" and array.size and -(2**31) <= array.min() and array.max() < 2**31:
        array = array.astype("i4")
    code = _types.code_of(array.dtype)
    return code, np.ascontiguousarray(array, _types.ATOMIC[code]).tobytes()


class Attributes(MutableMapping):
    """The attributes of a group or variable: a ``dict`` by name, in the order of definition."""

    def __init__(self, owner):
        self._owner = owner

    def _all(self):
        return {name: (described, payload) for name, described, payload in self._owner.attributes()}

    def as_dict(self):
        """Returns all attributes as a ``dict``."""
        return {name: value_of(*pair) for name, *pair in self._owner.attributes()}

    def __getitem__(self, name):
        return value_of(*self._all()[name])

    def __setitem__(self, name, value):
        self._owner.put_attribute(name, *pair_of(value))

    def __delitem__(self, name):
        if name not in self._all():
            raise KeyError(name)
        self._owner.delete_attribute(name)

    def __iter__(self):
        return iter(self._all())

    def __len__(self):
        return len(self._owner.attributes())

    def put(self, name, value, type):
        """Sets an attribute with a type of this name: numpy's code, ``str``, or a user-defined type."""
        if type == "S1" and isinstance(value, str):
            payload = value.encode("utf-8")
        elif type == "str":
            payload = [value] if isinstance(value, (str, bytes)) else list(value)
        elif type in _types.ATOMIC:
            payload = np.asarray(value, _types.ATOMIC[type]).tobytes()
        else:
            payload = value
        self._owner.put_attribute(name, type, payload)

    def type(self, name):
        """Returns the name of an attribute's type."""
        return _types.type_name(self._all()[name][0])

    def rename(self, name, to):
        """Renames an attribute."""
        self._owner.rename_attribute(name, to)

    def __repr__(self):
        return f"Attributes({self.as_dict()!r})"
