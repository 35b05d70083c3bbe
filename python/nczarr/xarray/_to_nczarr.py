"""``to_nczarr``: writes, appends and region writes with the signature of ``Dataset.to_zarr``."""
import contextlib

from .._location import local_path, normalize, with_fragment
from .._mount import Mounted
from .._turn import turn
from . import _create, _region
from ._job import Job
from ._store import NczarrDataStore

_MODES = ("w", "w-", "a", "a-", "r+")


def to_nczarr(
    dataset, store=None, mode=None, group=None, encoding=None, *, compute=True, consolidated=None, append_dim=None,
    region=None, safe_chunks=True, align_chunks=False, storage_options=None, zarr_format=None, write_empty_chunks=None,
    chunkmanager_store_kwargs=None, unlimited_dims=None, unique=False, **options,
):
    """Writes a dataset. Parts may be written by any number of processes at the same time.

    :param store: a path or URL, or a storage as ``nczarr.open`` takes it. The ending ``.nc`` makes a netCDF-4 file, ``.zip`` an archive, others plain Zarr.
    :param mode: ``"w"`` replaces, ``"w-"`` (the default) creates, ``"a"`` adds and overwrites variables, ``"a-"``
        does not overwrite those without ``append_dim``, ``"r+"`` writes existing variables.
    :param append_dim: the dimension to append along. Each of several appenders gets its own indices.
    :param unlimited_dims: dimensions of a new dataset that may grow; also those along which a given chunk is
        longer than the data. Without any, all dimensions of a Zarr dataset may grow.
    :param unique: an append of values that the coordinate has already is ``KeyError``.
    :param region: a slice by dimension, or ``"auto"``. It need not fit the chunks. With ``append_dim`` it is about the
        other dimensions.
    :param zarr_format: 2 or 3 (the default).
    :param consolidated: whether a new store has consolidated metadata.
    :param safe_chunks: accepted for compatibility: no write of a part of a chunk loses another one.
    :param align_chunks: accepted for compatibility, as ``safe_chunks``.
    :param write_empty_chunks: accepted for compatibility.
    :param compute: otherwise returns a ``dask.delayed.Delayed`` that writes what dask computes.
    :returns: the first index of an append; ``None`` for other writes.
    """
    from xarray import DataArray, DataTree
    from xarray.backends import writers

    if isinstance(dataset, DataTree):
        raise TypeError("a DataTree is written by tree_to_nczarr")
    if isinstance(dataset, DataArray):
        dataset = dataset.to_dataset(name=dataset.name or "__xarray_dataarray_variable__")
    writers._validate_dataset_names(dataset)
    mode = _mode(mode, append_dim, region)
    if zarr_format not in (None, 2, 3):
        raise ValueError(f"zarr_format={zarr_format!r}: expected 2 or 3")
    place, encoding = normalize(store), dict(encoding or {})
    for name, given in encoding.items():
        if not hasattr(given, "items"):
            raise ValueError(f"encoding[{name!r}] must be castable to dictionary, found {given!r}")
    missing = [name for name in encoding if name not in dataset.variables]
    if missing:
        raise KeyError(f"encoding for {missing!r}: the dataset has no such variable")
    is_new = mode in ("w", "w-") or mode != "r+" and not _create.exists(place, storage_options)
    if is_new:
        if append_dim is not None or region is not None:
            raise FileNotFoundError(f"{place}: there is no dataset to append to")
        unlimited_dims = writers._sanitize_unlimited_dims(dataset, unlimited_dims)
        if group and mode in ("w", "w-") and _create.exists(place, storage_options):
            mode = _mode_for_group(place, group, mode, storage_options)
        else:
            place = _new_place(place, zarr_format, consolidated)
            unlimited_dims = set(unlimited_dims or ()) | _longer_chunks(dataset, encoding)
    growing = [append_dim] if append_dim is not None else []
    opened = NczarrDataStore.open(
        place, {"w": "w", "w-": "w-"}.get(mode, "a"), group=group, storage_options=storage_options, is_lazy=True,
        growing=growing, **options,
    )
    job = Job(opened, mode, append_dim, unlimited_dims, encoding, chunkmanager_store_kwargs, compute)
    with contextlib.closing(opened):
        with turn(opened.handle, unique):
            if isinstance(opened.handle, _create.NewHandle):
                opened.format = "NETCDF4" if _is_netcdf(place) else "ZARR"
            else:
                opened.format = _create.format_name(opened.handle.file)
            if region is not None:
                dataset, region = _region.resolve(dataset, region, opened, append_dim)
                # The values of an append are new, so `"auto"` finds no place for them.
                _mode(mode, append_dim, region)
            job.prepare(dataset, region or {}, unique, is_new)
            job.settle()
            if unique and job.ending is not None:
                # The next one checks the coordinate, so its turn comes after this one is stored.
                return job.finish()
        return job.finish()


def _mode(mode, append_dim, region):
    if mode is None:
        mode = "a" if append_dim is not None else "r+" if region is not None else "w-"
    if mode not in _MODES:
        raise ValueError(
            f"The only supported options for mode are 'w', 'w-', 'a', 'a-', and 'r+', but mode={mode!r}"
        )
    if mode not in ("a", "a-") and append_dim is not None:
        raise ValueError("cannot set append_dim unless mode='a' or mode=None")
    if hasattr(region, "items") and append_dim in region:
        raise ValueError(f"cannot list the same dimension in both ``region`` and ``append_dim``: {append_dim!r}")
    if mode not in ("a", "a-", "r+") and region is not None:
        raise ValueError("cannot set region unless mode='a', mode='a-', mode='r+' or mode=None")
    return mode


def _mode_for_group(place, group, mode, storage_options):
    """Returns the mode that creates a group in an existing dataset.

    :raises ValueError: if it exists; the other groups must stay, so the dataset is not replaced.
    """
    store = NczarrDataStore.open(place, "r", storage_options=storage_options)
    with contextlib.closing(store):
        try:
            store.handle.group(group)
        except KeyError:
            return "a"
    if mode == "w-":
        raise FileExistsError(f"{place}: group {group!r} exists")
    raise ValueError(f"{place}: group {group!r} exists, and mode='w' would replace all groups: delete it first")


def _longer_chunks(dataset, encoding):
    """Returns the dimensions along which a given chunk is longer than the data: more will be appended."""
    found = set()
    for name, given in encoding.items():
        for key in ("chunks", "chunksizes", "shards"):
            lengths = given.get(key)
            if isinstance(lengths, (tuple, list)):
                variable = dataset.variables[name]
                found |= {dim for dim, length in zip(variable.dims, lengths) if length > variable.sizes[dim]}
    return found


def _is_netcdf(place):
    path = local_path(place)
    return path is not None and path.endswith((".nc", ".nc4", ".cdf"))


def _new_place(place, zarr_format, consolidated):
    """Returns the URL of a new dataset, which names its format."""
    is_map = isinstance(place, Mounted)
    if _is_netcdf(place) or (place.modes if is_map else "mode=" in place.partition("#")[2]):
        return place
    # Annotations keep what Zarr lacks: unlimited dimensions and types of attributes.
    words = ["zarr", "annotate"] if zarr_format == 2 else ["zarr", "v3", "annotate"]
    words += ["consolidated"] if consolidated else []
    words += ["zip"] if not is_map and place.endswith(".zip") else []
    return with_fragment(place, ",".join(words))
