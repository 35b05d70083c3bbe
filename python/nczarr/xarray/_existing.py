"""Writes into a dataset that exists: values get the encodings of the stored variables."""
import os

import numpy as np
import pandas as pd
from xarray import Variable, conventions

from .._attributes import value_of
from .._location import local_path
from .._types import DEFAULT_FILL
from ._target import Target


def encode(store, variables, region, append_dim):
    """Returns the variables as the store has them, undecoded and in the stored order of dimensions.

    :raises ValueError: if a variable does not fit the stored one.
    """
    stored = {name: store.open_store_variable(name) for name in variables}
    if append_dim is not None:
        # Another appender may have values that are not stored yet; the encoding does not depend on them.
        stored = {
            name: _without_values(variable, append_dim) if append_dim in variable.dims else variable
            for name, variable in stored.items()
        }
    decoded = conventions.decode_cf_variables(dict(stored), {})[0]
    prepared = {}
    for name, variable in variables.items():
        was = decoded.get(name)
        if was is None:
            # Decoding merged it into another variable, such as bounds.
            was = conventions.decode_cf_variable(name, stored[name])
        if variable.dtype.kind == "S" and was.dtype.kind == "S" and variable.dtype != was.dtype:
            raise ValueError(
                f"Mismatched dtypes for variable {name} between Zarr store on disk and dataset to append. Store has "
                f"dtype {was.dtype} but dataset to append has dtype {variable.dtype}."
            )
        variable = variable.copy(deep=False)
        variable.encoding = {key: value for key, value in was.encoding.items() if key != "original_shape"}
        if stored[name].dtype.kind == "O":
            # A type with a length would cut longer strings.
            variable.encoding["dtype"] = str
        prepared[name] = _checked(name, variable, was, region, append_dim)
    return store.encode(prepared, {})[0]


def _without_values(variable, dim):
    """Returns a variable that decodes as this one, without its data."""
    if " since " not in str(variable.attrs.get("units")) or variable.dtype.kind not in "iuf":
        return variable.isel({dim: slice(0)})
    # xarray decodes no empty variable in a calendar of cftime. Zero is a date in all of them.
    shape = tuple(1 if name == dim else length for name, length in variable.sizes.items())
    values = np.broadcast_to(np.zeros((), variable.dtype), shape)
    return Variable(variable.dims, values, variable.attrs, variable.encoding)


def _checked(name, variable, was, region, append_dim):
    if variable.dims != was.dims:
        if set(variable.dims) != set(was.dims):
            raise ValueError(
                f"variable {name!r} already exists with different dimension names {was.dims} != {variable.dims}, but "
                "changing variable dimensions is not supported by to_nczarr()."
            )
        variable = variable.transpose(*was.dims)
    expected = {dim: region[dim].stop - region[dim].start if dim in region else size for dim, size in was.sizes.items()}
    expected.pop(append_dim, None)
    found = {dim: size for dim, size in variable.sizes.items() if dim != append_dim}
    if expected != found:
        raise ValueError(
            f"Unable to update size for existing dimension: variable {name!r} already exists with different dimension "
            f"sizes: {expected} != {found}. to_nczarr() only "
            f"supports changing dimension sizes when explicitly appending, but append_dim={append_dim!r}. If you are "
            "attempting to write to a subset of the existing store without changing dimension sizes, consider using "
            "the region argument in to_nczarr()."
        )
    return variable


def add(writer, store, variables, region):
    """Hands variables to a writer, each for its region."""
    for name, variable in variables.items():
        target = Target(store.handle, store._group, name, variable.encoding.get("least_significant_digit"))
        part = tuple(region.get(dim, slice(0, size)) for dim, size in variable.sizes.items())
        writer.add(variable.data, target, part)


def is_one_file(store):
    """Whether the dataset is one local file, which has one writer at a time."""
    path = local_path(store.handle.place)
    return path is not None and os.path.isfile(path)


def is_plain_when_unwritten(store, dim):
    """Whether a reader recognises the unwritten values of a coordinate: as missing, or as netCDF's default."""
    stored, pair = store.open_store_variable(dim), store.native.variable(dim).fill_value()
    if pair is None or stored.dtype.kind not in "iuf":
        return False
    value, default = value_of(*pair), DEFAULT_FILL.get(stored.dtype.str[1:])
    try:
        seen = conventions.decode_cf_variable(dim, Variable((dim,), np.full(1, value, stored.dtype), stored.attrs))
        return bool(pd.isnull(seen.values[0]) or seen.dtype == stored.dtype and value == default)
    except (ValueError, OverflowError):
        # No calendar has the date. Readers cannot open the dataset until it is written.
        return False


def check_unique(store, variables, dim):
    """Checks that no value of the coordinate is stored already.

    :raises KeyError: with the values that are.
    """
    if dim not in variables:
        raise ValueError(f"unique=True needs the coordinate {dim!r} in the dataset")
    stored = conventions.decode_cf_variable(dim, store.open_store_variable(dim)).values
    new = np.ravel(variables[dim].values)
    known = pd.Index(np.ravel(stored)).get_indexer_for(new)
    repeated = [value for value, place in zip(new, known) if place >= 0] if len(stored) else []
    if repeated or len(pd.unique(new)) != len(new):
        repeated = repeated[:3] or list(new[:3])
        raise KeyError(f"{store.handle.place}: coordinate {dim!r} has these values already: {repeated}")
