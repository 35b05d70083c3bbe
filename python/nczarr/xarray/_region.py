"""Regions: the part of an existing dataset that a write covers."""
import numpy as np
import pandas as pd
from xarray import conventions


def resolve(dataset, region, store, append_dim=None):
    """Returns the dataset without what does not belong to the region, and a slice by dimension.

    :raises KeyError: if ``"auto"`` finds a value that the stored coordinate lacks.
    :raises ValueError: if the region does not fit the dataset.
    """
    if region == "auto":
        region = {dim: "auto" for dim in dataset.dims}
    if not hasattr(region, "items"):
        raise TypeError(f"``region`` must be a dict, got {type(region)}")
    region = dict(region)
    is_auto = any(isinstance(part, str) for part in region.values())
    for dim, part in region.items():
        if isinstance(part, str):
            if part != "auto":
                raise ValueError(f"region[{dim!r}]={part!r}: expected a slice or 'auto'")
            if dim in dataset.dims:
                region[dim] = _find(dataset, dim, store)
        elif not isinstance(part, slice):
            raise TypeError(f"all values in ``region`` must be slice objects or 'auto', got {region}")
    _check(dataset, region, store)
    if is_auto:
        # The stored coordinates have these values already.
        dataset = dataset.drop_vars([dim for dim in region if dim in dataset.variables])
    places = {*region, append_dim}
    alone = region and [name for name, variable in dataset.variables.items() if not places & set(variable.dims)]
    if alone:
        raise ValueError(
            "when setting `region` explicitly in to_nczarr(), all variables in the dataset to write must have at "
            f"least one dimension in common with the region's dimensions {list(region)}, but that is not the case for "
            f"some variables here. To drop these variables from this dataset before exporting, write: "
            f".drop_vars({alone!r})"
        )
    return dataset, region


def _check(dataset, region, store):
    unknown = [dim for dim in region if dim not in dataset.dims]
    if unknown:
        raise ValueError(
            f"all keys in ``region`` are not in Dataset dimensions, {list(region)} and {list(dataset.dims)}"
        )
    stored = {**store.get_parent_dimensions(), **store.get_dimensions()}
    for dim, part in region.items():
        if part.step not in (None, 1):
            raise ValueError(f"step on all slices in ``region`` must be 1 or None, got {region}")
        if (part.start or 0) < 0 or (part.stop is not None and part.stop < 0):
            raise ValueError(f"region[{dim!r}]={part} has a negative index")
        stop = stored.get(dim, dataset.sizes[dim]) if part.stop is None else part.stop
        start = part.start or 0
        region[dim] = slice(start, stop)
        if stop - start != dataset.sizes[dim]:
            name = next(name for name, variable in dataset.variables.items() if dim in variable.dims)
            raise ValueError(
                f"variable {name!r} already exists with different dimension sizes: region[{dim!r}]={part} has "
                f"{stop - start} indices, and dimension {dim!r} of the dataset has {dataset.sizes[dim]}"
            )
        if dim in stored and stop > stored[dim]:
            raise ValueError(f"region[{dim!r}]={part} ends beyond the stored dimension, which has {stored[dim]}")


def _find(dataset, dim, store):
    """Returns the slice of the stored coordinate that has the values of the dataset's."""
    if dim not in dataset.variables:
        return slice(0, dataset.sizes[dim])
    stored = conventions.decode_cf_variable(dim, store.open_store_variable(dim).compute())
    places = pd.Index(np.ravel(stored.values)).get_indexer(dataset[dim].values)
    if (places == -1).any():
        raise KeyError(
            f"Not all values of coordinate '{dim}' in the new array were found in the original store. Writing to a "
            "zarr region slice requires that no dimensions or metadata are changed by the write."
        )
    if (np.diff(places) != 1).any():
        raise ValueError(
            f"The auto-detected region of coordinate '{dim}' for writing new data to the original store had "
            "non-contiguous indices. Writing to a zarr region slice requires that the new data constitute a contiguous "
            "subset of the original store."
        )
    return slice(int(places[0]), int(places[-1]) + 1) if len(places) else slice(0, 0)
