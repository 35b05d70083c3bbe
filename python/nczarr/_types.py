"""Types of netCDF and numpy: each description of the native half has a numpy type.

| netCDF | numpy |
|---|---|
| numbers | the same number type in native order |
| char | ``S1`` |
| string, vlen, a compound that contains one | ``object`` |
| compound | a structured type with the same offsets |
| enum | its base type; the members are in the metadata ``enum``, the name in ``enum_name`` |
| opaque | ``V{size}`` |
"""
import numpy as np

ATOMIC = {code: np.dtype(code) for code in ("i1", "S1", "i2", "i4", "f4", "f8", "u1", "u2", "u4", "i8", "u8")}
STRING = np.dtype(object, metadata={"vlen": str})
#: netCDF's values of elements that were never written, by type.
DEFAULT_FILL = {
    "S1": "\0", "i1": -127, "u1": 255, "i2": -32767, "u2": 65535, "i4": -2147483647, "u4": 4294967295,
    "i8": -9223372036854775806, "u8": 18446744073709551614, "f4": 9.969209968386869e36, "f8": 9.969209968386869e36,
}


def dtype_of(described):
    """Returns the numpy type of a description; ``object`` if elements have no fixed size."""
    if isinstance(described, str):
        return STRING if described == "str" else ATOMIC[described]
    kind = described[0]
    if kind == "enum":
        _, name, base, members = described
        return np.dtype(ATOMIC[base], metadata={"enum": dict(members), "enum_name": name})
    if kind == "opaque":
        return np.dtype(f"V{described[2]}")
    if kind == "vlen":
        return np.dtype(object, metadata={"vlen": dtype_of(described[2])})
    _, _, size, fields = described
    parts = [(name, offset, np.dtype((dtype_of(ty), tuple(shape)))) for name, offset, ty, shape in fields]
    if any(part.hasobject for _, _, part in parts):
        return np.dtype([(name, part) for name, _, part in parts])
    return np.dtype({
        "names": [name for name, _, _ in parts],
        "offsets": [offset for _, offset, _ in parts],
        "formats": [part for _, _, part in parts],
        "itemsize": size,
    })


def is_fixed(described):
    """Whether all elements of the type have one size."""
    if isinstance(described, str):
        return described != "str"
    if described[0] == "compound":
        return all(is_fixed(ty) for _, _, ty, _ in described[3])
    return described[0] != "vlen"


def type_name(described):
    """Returns the name of a type: numpy's code, or that of a user-defined type."""
    return described if isinstance(described, str) else described[1]


def code_of(dtype):
    """Returns the native half's name of the netCDF type for a numpy type.

    :raises TypeError: if netCDF has no such type.
    """
    dtype = np.dtype(dtype)
    if dtype.kind in "iuf" and dtype.itemsize <= 8 and not (dtype.kind == "f" and dtype.itemsize == 2):
        return dtype.newbyteorder("=").str[1:]
    if dtype.kind == "S" and dtype.itemsize <= 1:
        return "S1"
    if dtype.kind in "UOT":
        return "str"
    raise TypeError(f"netCDF has no type for numpy's {dtype}")
