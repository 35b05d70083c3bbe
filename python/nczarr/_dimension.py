"""Dimensions."""


class Dimension:
    """A dimension of an open dataset."""

    def __init__(self, native):
        self._native = native

    @property
    def name(self):
        return self._native.describe()[0]

    @property
    def is_unlimited(self):
        """Whether writes can make it longer."""
        return self._native.describe()[2]

    def __len__(self):
        return self._native.describe()[1]

    def reserve(self, count):
        """Makes an unlimited dimension longer by ``count`` and returns the first new index.

        No other thread, process or machine gets the same index.
        """
        return self._native.reserve(count)

    def rename(self, name):
        """Renames it."""
        self._native.rename(name)

    def __repr__(self):
        name, length, unlimited = self._native.describe()
        return f"<nczarr.Dimension {name!r}: {length}{', unlimited' if unlimited else ''}>"
