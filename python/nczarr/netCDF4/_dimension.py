"""Dimensions."""
import operator
import weakref

from ._errors import translated


class Dimension:
    """A dimension of a dataset. Datasets and groups make it: ``createDimension``."""

    def __init__(self, grp, name, size=None, **kwargs):
        self._grp = weakref.proxy(grp) if grp.keepweakref and not isinstance(grp, weakref.ProxyType) else grp
        self._data_model = grp.data_model
        if "id" in kwargs:
            self._native = kwargs["id"]
            return
        size = None if size is None else operator.index(size)
        if size is not None and size < 0:
            raise OverflowError(f"dimension {name!r}: a size of {size}")
        with translated():
            self._native = grp._native.add_dimension(name, size or None)

    @property
    def _name(self):
        return self.name

    @property
    def name(self):
        """Its name."""
        with translated():
            return self._native.describe()[0]

    @name.setter
    def name(self, value):
        raise AttributeError("name cannot be altered")

    @property
    def size(self):
        """Its current length."""
        return len(self)

    @size.setter
    def size(self, value):
        raise AttributeError("size cannot be altered")

    def __len__(self):
        with translated():
            return self._native.describe()[1]

    def group(self):
        """Returns the group that defines it."""
        return self._grp

    def isunlimited(self):
        """Returns whether writes can make it longer."""
        with translated():
            return self._native.describe()[2]

    def __repr__(self):
        try:
            name, length, unlimited = self._native.describe()
        except Exception:
            return "Dimension object no longer valid"
        mark = " (unlimited)" if unlimited else ""
        return f"{type(self)!r}{mark}: name = {name!r}, size = {length}"

    __str__ = __repr__


def find_dimension(group, name):
    """Returns the dimension of this name in a group or the next group above that has it."""
    found = group
    while found is not None:
        if name in found.dimensions:
            return found.dimensions[name]
        found = getattr(found, "parent", None)
    raise ValueError(f"cannot find dimension {name} in this group or parent groups")
