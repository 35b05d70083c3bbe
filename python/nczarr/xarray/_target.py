"""Where arrays are written. A target can be pickled, so any process writes any region."""
import math

import numpy as np

from .._turn import turn


class Target:
    """A variable that is written to. The part of a task is stored when the task ends."""

    __slots__ = ("digits", "group", "handle", "name")

    def __init__(self, handle, group, name, digits=None):
        self.handle, self.group, self.name, self.digits = handle, group, name, digits

    def __setitem__(self, key, value):
        value = np.asarray(value) if not isinstance(value, np.ma.MaskedArray) else value
        if self.digits is not None and value.dtype.kind == "f":
            value = _rounded(value, self.digits)
        handle = self.handle
        if not handle.is_detached:
            handle.variable(self.group, self.name)[key] = value
            return
        with turn(handle):
            handle.variable(self.group, self.name)[key] = value
            handle.file.sync()

    def __getstate__(self):
        return self.handle, self.group, self.name, self.digits

    def __setstate__(self, state):
        self.handle, self.group, self.name, self.digits = state

    def __dask_tokenize__(self):
        return "nczarr-target", self.handle.token, self.group, self.name


def _rounded(values, digits):
    """Rounds to a number of decimal digits, with zeros in the last bits."""
    scale = 2.0 ** math.ceil(math.log2(10.0**digits))
    return (np.around(scale * values) / scale).astype(values.dtype)
