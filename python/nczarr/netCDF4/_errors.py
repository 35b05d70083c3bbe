"""Errors: those of the engine become the kinds of errors that netCDF4 raises."""
from contextlib import contextmanager

from ..errors import NczarrError


class LibraryError(NczarrError, RuntimeError):
    """A call of the library failed."""


class LibraryAttributeError(NczarrError, AttributeError):
    """An attribute could not be read or written."""


class NetCDF4MissingFeatureException(Exception):
    """A feature that the library lacks."""

    def __init__(self, feature, version):
        super().__init__(f"{feature} is missing; it needs netCDF-C {version} or later")


_WRAPPERS = {RuntimeError: LibraryError, AttributeError: LibraryAttributeError}


@contextmanager
def translated(kind=RuntimeError):
    """Raises an error of the engine as ``kind``: ``RuntimeError`` or ``AttributeError``.

    An index outside of its dimension stays an ``IndexError``, and missing memory a ``MemoryError``.
    """
    try:
        yield
    except NczarrError as error:
        if isinstance(error, (kind, IndexError, MemoryError)):
            raise
        wrapped = _WRAPPERS[kind](str(error))
        for member in ("name", "code", "path", "variable", "key"):
            setattr(wrapped, member, getattr(error, member))
        raise wrapped from error
