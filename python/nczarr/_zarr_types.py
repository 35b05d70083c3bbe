"""Types of plain Zarr that netCDF lacks, as numpy has them.

| Zarr | numpy | netCDF's model |
|---|---|---|
| ``bool`` | ``bool`` | ubyte: 0 and 1 |
| ``float16`` | ``float16`` | float |
| ``complex64``, ``complex128`` | the same | a compound with the fields ``r`` and ``i`` |
| ``numpy.datetime64``, ``numpy.timedelta64`` | the same, with the unit | string |

A *form* moves the values of one such type between its variable and an array. A value that it cannot store is a
``ValueError``, and nothing is written then.
"""
import re

import numpy as np

from .errors import out_of_range

#: Units that an exact count of numpy has. A time without a unit stays text.
_TIME = re.compile(r"[<>|=]?([Mm])8\[(\d*)(Y|M|W|D|h|m|s|ms|us|ns|ps|fs|as)\]")


def form_of(native):
    """Returns the form of a native variable; ``None`` if netCDF has its type."""
    stored = native.stored_type()
    if stored is None:
        return None
    if stored.lstrip("<>|=") in _FORMS:
        return form_of_dtype(stored)
    return form_of_dtype(stored) if _TIME.fullmatch(stored) else None


def form_of_pairs(described):
    """Returns the form of complex numbers for a compound of two numbers; ``None`` for another type.

    By the conventions of the library nc-complex, the names of the fields begin with ``r`` and ``i``.
    """
    if isinstance(described, str) or described[0] != "compound" or len(described[3]) != 2:
        return None
    (one, first, part, shape), (other, second, same, also) = described[3]
    if part not in _COMPLEX or part != same or shape or also or one[:1].lower() != "r" or other[:1].lower() != "i":
        return None
    dtype = np.dtype(_COMPLEX[part])
    return _Complex(dtype) if (first, second, described[2]) == (0, dtype.itemsize // 2, dtype.itemsize) else None


def form_of_complex(native):
    """As ``form_of``, and complex numbers for compounds of two numbers."""
    return form_of(native) or form_of_pairs(native.nc_type())


def has_types(info):
    """Whether the format of an open dataset has these types."""
    return info["driver"] == "nczarr" and info["flavour"] != "nczarr"


def form_of_dtype(dtype):
    """Returns the form of a numpy type; ``None`` if netCDF has the type, or Zarr lacks it too."""
    dtype = np.dtype(dtype).newbyteorder("=")
    if dtype.kind in "mM":
        return _Times(dtype) if np.datetime_data(dtype)[0] != "generic" else None
    form = _FORMS.get(dtype.str[1:])
    return form and form(dtype)


def converted(values, dtype, variable):
    """Converts values of a form to another type.

    :raises ValueError: if a value does not fit.
    :raises TypeError: if the type is of another kind.
    """
    if values.dtype == dtype:
        return values
    if values.dtype.kind not in "bf" or dtype.kind not in "iuf":
        raise TypeError(f"variable {variable} has the type {values.dtype}, which does not convert to {dtype}")
    with np.errstate(all="ignore"):
        other = values.astype(dtype)
    wrong = (other != values) & (other == other)
    if wrong.any():
        raise out_of_range(f"variable {variable}: {values[wrong].flat[0]} is not a value of {dtype}", variable)
    return other


class _Form:
    """The values of a type."""

    #: Whether the value of unwritten elements means a missing value.
    masks = True

    def __init__(self, dtype):
        #: The numpy type.
        self.dtype = dtype
        #: The name of the type for a new variable; ``None`` if the library reads the type only.
        self.code = dtype.str[1:]

    def memory(self, values, variable):
        """Converts values to an array of this type.

        :raises ValueError: if a value does not fit.
        :raises TypeError: if the values are of another kind.
        """
        array = np.asarray(values)
        if array.dtype == self.dtype:
            return array
        if array.dtype.kind not in self.kinds:
            raise TypeError(f"variable {variable} has the type {self.dtype}, found values of type {array.dtype}")
        array = self.parsed(array)
        with np.errstate(all="ignore"):
            try:
                stored = array.astype(self.dtype)
                wrong = self.differs(array, stored)
            except OverflowError as error:
                text = f"variable {variable}: a value is not one of {self.dtype}: {error}"
                raise out_of_range(text, variable) from None
        if wrong.any():
            raise out_of_range(f"variable {variable}: {array[wrong].flat[0]} is not a value of {self.dtype}", variable)
        return stored

    def parsed(self, array):
        """Makes values of text or objects."""
        return array

    def add_variable(self, native, name, dims, info):
        """Returns a new native variable in a native group of a dataset that has these types."""
        made = native.add_zarr_variable(name, self.code, dims)
        if info["version"] == "2" and not self.masks:
            # Readers of Zarr V2 take the fill value for a missing one. Without any, unwritten elements are zero.
            made.set_no_fill()
        return made

    def fill_pair(self, native, value, variable):
        """Returns the pair of a fill value for a native variable."""
        return self.pair(native, self.memory(value, variable)[()])


class _Bool(_Form):
    """Truth values: bytes of netCDF."""

    kinds, unwritten, masks = "iuf", np.False_, False

    def differs(self, array, stored):
        return stored != array

    def read(self, native, part, out):
        raw = _bytes(out)
        native.read_into(part, raw, None)
        # Any other byte is true, as in C. In the memory of numpy, a truth value is 0 or 1.
        np.minimum(raw, 1, out=raw)

    def write(self, native, part, values):
        native.write(part, _bytes(values), None)

    def value(self, described, payload):
        return np.bool_(payload != b"\0")

    def pair(self, native, value):
        return "u1", bytes([bool(value)])


class _Half(_Form):
    """Half floats: floats of netCDF. Each is exact as a float."""

    kinds, unwritten = "iufb", np.float16("nan")

    def differs(self, array, stored):
        return np.isinf(stored) & np.isfinite(array)

    def read(self, native, part, out):
        floats = np.empty(out.shape, "f4")
        native.read_into(part, _bytes(floats), None)
        out[...] = floats

    def write(self, native, part, values):
        native.write(part, _bytes(values.astype("f4")), None)

    def value(self, described, payload):
        return np.frombuffer(payload, "f4")[0].astype("f2")

    def pair(self, native, value):
        return "f4", np.float32(value).tobytes()


class _Complex(_Form):
    """Complex numbers: compounds of two floats, which have the same memory."""

    kinds, unwritten, masks = "iufcb", np.complex64(0), False

    def differs(self, array, stored):
        return np.isinf(stored) & np.isfinite(array)

    def read(self, native, part, out):
        native.read_into(part, _bytes(out), None)

    def write(self, native, part, values):
        native.write(part, _bytes(values), None)

    def value(self, described, payload):
        return self.dtype.type(complex(*payload[0]))

    def pair(self, native, value):
        return native.nc_type()[1], [(value.real.item(), value.imag.item())]


class _Times(_Form):
    """Times and durations: text of netCDF."""

    def __init__(self, dtype):
        super().__init__(dtype)
        step, multiple = np.datetime_data(dtype)
        self.kinds = "MUO" if dtype.kind == "M" else "mO"
        self.unwritten = dtype.type("NaT", np.datetime_data(dtype))
        self.unit = dtype.kind == "m", multiple, step
        if multiple != 1:
            self.code = None

    def parsed(self, array):
        # Without a unit, numpy chooses one that keeps the values.
        return array if array.dtype.kind in "mM" else array.astype(self.dtype.kind + "8")

    def differs(self, array, stored):
        return (stored.astype(array.dtype) != array) & ~np.isnat(array) | np.isnat(stored) & ~np.isnat(array)

    def read(self, native, part, out):
        native.read_times(part, _bytes(out), self.unit)

    def write(self, native, part, values):
        native.write_times(part, _bytes(values), self.unit)

    def value(self, described, payload):
        text = payload[0]
        if self.unit[0] and text != "NaT":
            text = int(re.match(r"-?\d+", text)[0]) // self.unit[1]
        return self.dtype.type(text, np.datetime_data(self.dtype))

    def pair(self, native, value):
        text = str(value)
        if self.unit[0] and text != "NaT":
            text = f"{int(value.astype('i8')) * self.unit[1]}{self.unit[2]}"
        return "str", [text]


#: Complex types by the type of their parts.
_COMPLEX = {"f4": "c8", "f8": "c16"}
#: The type of the parts, and the name of the compound type that nc-complex gives to complex numbers.
PAIRS = {"c8": ("f4", "_PFNC_FLOAT_COMPLEX_TYPE"), "c16": ("f8", "_PFNC_DOUBLE_COMPLEX_TYPE")}
_FORMS = {"b1": _Bool, "f2": _Half, "c8": _Complex, "c16": _Complex}


def _bytes(array):
    return array.reshape(-1).view(np.uint8)
