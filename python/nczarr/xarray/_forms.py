"""Types of plain Zarr that netCDF lacks, as xarray has them: see ``nczarr._zarr_types``."""
import numpy as np

from .. import _zarr_types
from .._types import DEFAULT_FILL

#: Units of time by those that xarray has for them. It has none for others, and they are text.
_UNITS = {"W": "s", "D": "s", "h": "s", "m": "s", "s": "s", "ms": "ms", "us": "us", "ns": "ns"}


def form_of(native, described, is_zarr, auto_complex):
    """Returns the form of a native variable; ``None`` if netCDF has its type, or xarray lacks it too.

    :param auto_complex: compounds of two numbers are complex numbers.
    """
    form = _zarr_types.form_of(native) if is_zarr else None
    if form is None and auto_complex:
        return _zarr_types.form_of_pairs(described)
    if form is None or form.dtype.kind not in "mM":
        return form
    unit, multiple = np.datetime_data(form.dtype)
    if unit not in _UNITS:
        return None
    known = np.dtype(f"{form.dtype.kind}8[{_UNITS[unit]}]")
    return form if (unit, multiple) == np.datetime_data(known) else _zarr_types.form_of_dtype(known)


def new_form(store, dtype):
    """Returns the form of a numpy type for a new variable; ``None`` if netCDF has the type, or the format lacks it."""
    if not store.is_zarr or not _zarr_types.has_types(store.handle.file.info()):
        return None
    form = _zarr_types.form_of_dtype(dtype)
    return form if form is not None and form.code is not None else None


def set_fill(attributes, form):
    """Gives the attribute ``_FillValue`` the type of a form. No truth value means a missing one, and no time does."""
    if form.dtype.kind in "bmM":
        attributes.pop("_FillValue", None)
    elif form.dtype.kind == "f" and "_FillValue" in attributes:
        attributes["_FillValue"] = form.dtype.type(attributes["_FillValue"])
    elif form.dtype.kind == "c" and getattr(attributes.get("_FillValue"), "dtype", form.dtype) != form.dtype:
        attributes["_FillValue"] = form.dtype.type(complex(*attributes["_FillValue"].item()))


def is_usual(value, fill, described, form):
    """Whether elements that nobody wrote have the value that masks, or else the default of the type."""
    if value is None:
        return True
    default = DEFAULT_FILL.get(described) if form is None else form.unwritten
    usual = default if fill is None else fill
    return usual is None or bool(np.asarray(value == usual).all()) or value != value and usual != usual


def with_truths(store, variables, names):
    """Returns the variables with those of these names as truth values, if the format has them.

    xarray encodes truth values as bytes with an attribute, because netCDF lacks their type.
    """
    names = [name for name in names if variables[name].attrs.get("dtype") == "bool"]
    if not names or new_form(store, bool) is None:
        return variables
    changed = {}
    for name in names:
        variable = changed[name] = variables[name].copy(deep=False, data=variables[name].data.astype(bool))
        del variable.attrs["dtype"]
    return {**variables, **changed}
