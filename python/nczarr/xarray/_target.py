"""Where arrays are written. A target can be pickled, so any process writes any region."""
import contextlib
import hashlib
import math
import os
import tempfile
import time

import numpy as np

from ._location import local_path

#: How long a task waits for others that write the same file.
_PATIENCE = 600.0


class Target:
    """A variable that is written to. The part of a task is stored when the task ends."""

    __slots__ = ("digits", "group", "handle", "name", "offset")

    def __init__(self, handle, group, name, digits=None, offset=None):
        self.handle, self.group, self.name, self.digits = handle, group, name, digits
        #: The first index of each dimension, for an array that becomes a part.
        self.offset = offset

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
        return self.handle, self.group, self.name, self.digits, self.offset

    def __setstate__(self, state):
        self.handle, self.group, self.name, self.digits, self.offset = state

    def __dask_tokenize__(self):
        return "nczarr-target", self.handle.token, self.group, self.name


@contextlib.contextmanager
def turn(handle):
    """Waits until this task may write. A dataset of one file has one writer at a time; others have any number."""
    path = local_path(handle.place)
    if path is None or not os.path.isfile(path):
        yield
        return
    name = hashlib.sha256(os.path.realpath(path).encode()).hexdigest()[:32]
    with open(os.path.join(tempfile.gettempdir(), f"nczarr-{name}.lock"), "w") as lock, handle.alone:
        with contextlib.suppress(ImportError):
            import fcntl

            fcntl.flock(lock, fcntl.LOCK_EX)
        _open_patiently(handle)
        try:
            yield
        finally:
            handle.release()


def _open_patiently(handle):
    """Opens a file that a process on another machine may be writing."""
    end, pause = time.monotonic() + _PATIENCE, 0.01
    while True:
        try:
            return handle.file
        except PermissionError:
            if time.monotonic() > end:
                raise
        time.sleep(pause)
        pause = min(pause * 2, 0.5)


def _rounded(values, digits):
    """Rounds to a number of decimal digits, with zeros in the last bits."""
    scale = 2.0 ** math.ceil(math.log2(10.0**digits))
    return (np.around(scale * values) / scale).astype(values.dtype)
