"""Missing values: which values netCDF4 masks, and the fill value of the masked array."""
import warnings

import numpy as np

from ._define import equal
from ._settings import default_fillvals


def is_unsigned(attributes, data):
    """Whether signed integers stand for unsigned ones."""
    return attributes.get("_Unsigned") in ("true", "True") and data.dtype.kind == "i"


def unsigned(attributes, data):
    """Returns signed integers as unsigned ones if ``_Unsigned`` says so."""
    return data.view(_unsigned_type(data.dtype)) if is_unsigned(attributes, data) else data


def _unsigned_type(dtype):
    return np.dtype(f"{dtype.byteorder}u{dtype.itemsize}")


def masked(variable, attributes, data):
    """Returns values as a masked array; the constant ``masked`` for one missing value.

    Values equal to ``missing_value`` or to the fill value are missing, and those outside of ``valid_range``,
    ``valid_min`` and ``valid_max``.
    """
    finder = _Finder(variable, attributes, data)
    missing, fill = finder.find()
    data = finder.data
    any_missing = bool(missing.any())
    if any_missing:
        data = np.ma.masked_array(data, mask=missing, fill_value=fill)
    else:
        data = np.ma.masked_array(data)
    if data.shape == () and data.mask.all():
        return data[()]
    if not variable.always_mask and not any_missing:
        return np.asarray(data)
    return data


class _Finder:
    """Finds the missing values of a read."""

    def __init__(self, variable, attributes, data):
        self.variable, self.attributes, self.dtype = variable, attributes, variable.dtype
        self.as_unsigned = variable.scale and is_unsigned(attributes, data)
        self.data = unsigned(attributes, data) if self.as_unsigned else data

    def find(self):
        """Returns the mask, and the fill value for the masked array."""
        mask = np.zeros(self.data.shape, bool)
        fill = None
        for value in np.atleast_1d(self.attribute("missing_value", ())):
            found = self.equal_to(value)
            if fill is None and np.any(found):
                fill = np.atleast_1d(self.attribute("missing_value"))[0]
            mask = mask | found
        filling = self.attribute("_FillValue")
        default = filling is None
        if default and self.has_default():
            filling = np.array(default_fillvals[self.dtype.str[1:]], self.dtype)
        if filling is not None:
            found = self.equal_to(filling)
            if fill is None and np.any(found):
                fill = filling
            mask = mask | found
        mask = mask | self.outside()
        if fill is None:
            fill = default_fillvals[self.dtype.str[1:]] if filling is None else filling
        return mask, fill

    def has_default(self):
        """Whether the default fill value marks elements that were never written."""
        return self.dtype.itemsize > 1 or self.dtype.kind == "S" or self.variable._native.fill_value() is not None

    def equal_to(self, value):
        if self.dtype.kind in "fc" and np.isnan(value):
            return np.isnan(self.data)
        return self.data == value

    def outside(self):
        """Returns where values are outside of the valid range."""
        if self.dtype.kind == "S":
            return False
        valid = self.attribute("valid_range")
        if valid is not None and valid.size == 2:
            low, high = valid
        else:
            low, high = self.attribute("valid_min"), self.attribute("valid_max")
        mask = False
        if low is not None:
            mask = mask | (self.data < low)
        if high is not None:
            mask = mask | (self.data > high)
        return mask

    def attribute(self, name, missing=None):
        """Returns an attribute in the variable's type; ``missing`` if there is none, or it does not fit."""
        if name not in self.attributes:
            return missing
        given = np.array(self.attributes[name])
        try:
            value = given.astype(self.dtype)
        except ValueError:
            value = None
        if value is None or not equal(given, value):
            warnings.warn(f"WARNING: {name} not used since it\ncannot be safely cast to variable data type",
                          stacklevel=7)
            return missing
        return value.view(_unsigned_type(self.dtype)) if self.as_unsigned else value
