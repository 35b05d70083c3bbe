"""Exceptions. Each is also one of Python's own: ``OSError``, ``KeyError``, ``ValueError`` or ``IndexError``."""


class NczarrError(Exception):
    """An error of the library.

    ``name`` and ``code`` are those of netCDF, such as ``NC_ENOTVAR`` and -49. ``path`` is the dataset,
    ``variable`` the variable, and ``key`` the stored object; each is ``None`` if the error has none.
    """

    name = code = path = variable = key = None

    def __str__(self):
        return str(self.args[0]) if self.args else ""

    def __reduce__(self):
        return _of_native, (self.name, self.code, str(self), self.path, self.variable, self.key)


class StorageError(NczarrError, OSError):
    """The storage failed, or its content is damaged."""

    def __init__(self, message):
        NczarrError.__init__(self, message)
        # `OSError` keeps only what its constructor gets.
        self.args = (message,)


class NotFoundError(StorageError, FileNotFoundError):
    """There is no dataset at the path."""


class ExistsError(StorageError, FileExistsError):
    """The path is in use."""


class AccessError(StorageError, PermissionError):
    """The storage or the dataset does not allow the access."""


class TimedOutError(StorageError, TimeoutError):
    """The storage did not answer in time."""


class MissingError(NczarrError, KeyError):
    """There is no group, variable, dimension, attribute or type of this name."""


class InvalidError(NczarrError, ValueError):
    """An argument, or a value, does not fit."""


class OutOfBoundsError(NczarrError, IndexError):
    """An index is outside of a dimension."""


class UnsupportedError(InvalidError, NotImplementedError):
    """The format, or this build, cannot express it."""


class OutOfMemoryError(NczarrError, MemoryError):
    """The memory does not suffice."""


class InternalError(NczarrError, RuntimeError):
    """The library has a defect. The dataset can still be closed."""


_CLASSES = {
    "NC_ENOTFOUND": NotFoundError,
    "NC_EEXIST": ExistsError,
    "NC_EOBJECT": ExistsError,
    "NC_EACCESS": AccessError,
    "NC_EPERM": AccessError,
    "NC_EAUTH": AccessError,
    "NCZ_ETIMEOUT": TimedOutError,
    "NC_ENOTVAR": MissingError,
    "NC_ENOTATT": MissingError,
    "NC_EBADDIM": MissingError,
    "NC_EBADTYPE": MissingError,
    "NC_EBADTYPID": MissingError,
    "NC_EBADFIELD": MissingError,
    "NC_EBADGRPID": MissingError,
    "NC_ENOGRP": MissingError,
    "NC_ENORECVARS": MissingError,
    "NC_EEDGE": OutOfBoundsError,
    "NC_EINVALCOORDS": OutOfBoundsError,
    "NC_ENOTBUILT": UnsupportedError,
    "NC_ESTRICTNC3": UnsupportedError,
    "NC_ENOMEM": OutOfMemoryError,
    "NC_EINTERNAL": InternalError,
}

#: Errors of storage; every other one without a class is about an argument.
_STORAGE = frozenset({
    "NC_EIO", "NC_ENOTNC", "NC_ETRUNC", "NC_ECURL", "NC_ES3", "NC_EHDFERR", "NC_ECANTREAD", "NC_ECANTWRITE",
    "NC_ECANTCREATE", "NC_EFILEMETA", "NC_ENCZARR", "NC_ENOOBJECT", "NC_EFILTER", "NC_ENOFILTER",
    "NC_ENFILE", "NC_EEMPTY", "NC_EDISKLESS", "NCZ_ECANCELLED", "NC_ESTORAGE", "NC_EZARRMETA", "NC_EVARMETA",
    "NC_EDIMMETA", "NC_EATTMETA", "NC_ENOTZARR", "NC_EPLUGIN", "NC_ECANTREMOVE", "NC_ECANTEXTEND", "NC_ENODATA",
    "NC_ERCFILE", "NC_EDIMSCALE",
})


def absent(message, path):
    """Makes the exception for a dataset that does not exist."""
    return _of_native("NC_ENOTFOUND", -90, message, path)


def out_of_range(message, variable):
    """Makes the exception for a value that the type of a variable does not have."""
    return _of_native("NC_ERANGE", -60, message, variable=variable)


def _of_native(name, code, message, path=None, variable=None, key=None):
    """Makes the exception for an error of the native half."""
    cls = _CLASSES.get(name) or (StorageError if name in _STORAGE else InvalidError)
    error = cls(message)
    error.name, error.code, error.path, error.variable, error.key = name, code, path, variable, key
    return error
