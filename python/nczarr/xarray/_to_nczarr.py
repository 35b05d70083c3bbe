"""``to_nczarr``: writes, appends and region writes with the signature of ``Dataset.to_zarr``."""
import contextlib

from xarray.backends.common import ArrayWriter

from . import _create, _existing, _region
from ._location import local_path, normalize, with_fragment
from ._store import NczarrDataStore
from ._target import turn

_MODES = ("w", "w-", "a", "a-", "r+")


def to_nczarr(
    dataset, store=None, mode=None, group=None, encoding=None, *, compute=True, consolidated=None, append_dim=None,
    region=None, safe_chunks=True, align_chunks=False, storage_options=None, zarr_format=None, write_empty_chunks=None,
    chunkmanager_store_kwargs=None, unlimited_dims=None, unique=False, **options,
):
    """Writes a dataset. Parts may be written by any number of processes at the same time.

    :param store: a path or URL. The ending ``.nc`` makes a netCDF-4 file, ``.zip`` an archive, others plain Zarr.
    :param mode: ``"w"`` replaces, ``"w-"`` (the default) creates, ``"a"`` adds and overwrites variables, ``"a-"``
        does not overwrite those without ``append_dim``, ``"r+"`` writes existing variables.
    :param append_dim: the dimension to append along. Each of several appenders gets its own indices.
    :param unique: an append of values that the coordinate has already is ``KeyError``.
    :param region: a slice by dimension, or ``"auto"``. It need not fit the chunks.
    :param zarr_format: 2 or 3 (the default).
    :param consolidated: whether a new store has consolidated metadata.
    :param safe_chunks: accepted for compatibility: no write of a part of a chunk loses another one.
    :param align_chunks: accepted for compatibility, as ``safe_chunks``.
    :param write_empty_chunks: accepted for compatibility.
    :param compute: otherwise returns a ``dask.delayed.Delayed`` that writes what dask computes.
    :returns: the first index of an append; ``None`` for other writes.
    """
    from xarray.backends import writers

    if _is_array(dataset):
        dataset = dataset.to_dataset(name=dataset.name or "__xarray_dataarray_variable__")
    writers._validate_dataset_names(dataset)
    mode = _mode(mode, append_dim, region)
    if zarr_format not in (None, 2, 3):
        raise ValueError(f"zarr_format={zarr_format!r}: expected 2 or 3")
    place, encoding = normalize(store), dict(encoding or {})
    missing = [name for name in encoding if name not in dataset.variables]
    if missing:
        raise KeyError(f"encoding for {missing!r}: the dataset has no such variable")
    is_new = mode in ("w", "w-") or mode != "r+" and not _create.exists(place, storage_options)
    if is_new:
        if append_dim is not None or region is not None:
            raise FileNotFoundError(f"{place}: there is no dataset to append to")
        unlimited_dims = writers._sanitize_unlimited_dims(dataset, unlimited_dims)
        place = _new_place(place, zarr_format, consolidated)
    opened = NczarrDataStore.open(
        place, {"w": "w", "w-": "w-"}.get(mode, "a"), group=group, storage_options=storage_options, **options
    )
    opened.format = "ZARR" if not _is_netcdf(place) else "NETCDF4"
    job = _Job(opened, mode, append_dim, unlimited_dims, encoding, chunkmanager_store_kwargs)
    with _closing(opened):
        if region is not None:
            dataset, region = _region.resolve(dataset, region, opened)
        return job.write(dataset, region or {}, unique, is_new, compute)


def _is_array(dataset):
    from xarray import DataArray

    return isinstance(dataset, DataArray)


def _mode(mode, append_dim, region):
    if mode is None:
        mode = "a" if append_dim is not None else "r+" if region is not None else "w-"
    if mode not in _MODES:
        raise ValueError(
            f"The only supported options for mode are 'w', 'w-', 'a', 'a-', and 'r+', but mode={mode!r}"
        )
    if mode not in ("a", "a-") and append_dim is not None:
        raise ValueError("cannot set append_dim unless mode='a' or mode=None")
    if mode not in ("a", "a-", "r+") and region is not None:
        raise ValueError("cannot set region unless mode='a', mode='a-', mode='r+' or mode=None")
    return mode


def _is_netcdf(place):
    path = local_path(place)
    return path is not None and path.endswith((".nc", ".nc4", ".cdf"))


def _new_place(place, zarr_format, consolidated):
    """Returns the URL of a new dataset, which names its format."""
    if _is_netcdf(place) or "mode=" in place.partition("#")[2]:
        return place
    # Annotations keep what Zarr lacks: unlimited dimensions and types of attributes.
    words = ["zarr", "annotate"] if zarr_format == 2 else ["zarr", "v3", "annotate"]
    words += ["consolidated"] if consolidated else []
    words += ["zip"] if place.endswith(".zip") else []
    return with_fragment(place, ",".join(words))


@contextlib.contextmanager
def _closing(store):
    """Closes a store, also after an error."""
    try:
        yield
    finally:
        store.close()


class _Job:
    """One write into an open store."""

    def __init__(self, store, mode, append_dim, unlimited_dims, encoding, store_kwargs):
        self.store, self.mode, self.append_dim = store, mode, append_dim
        self.unlimited_dims, self.encoding, self.store_kwargs = unlimited_dims, encoding, store_kwargs or {}

    def write(self, dataset, region, unique, is_new, compute):
        """Defines and writes; returns the first index of an append, or the delayed rest."""
        from xarray import conventions

        variables, attributes = conventions.encode_dataset_coordinates(dataset)
        for name, given in self.encoding.items():
            variables[name].encoding = given
        names = set() if is_new else {native.name() for native in self.store.native.variables()}
        existing = {name: variable for name, variable in variables.items() if name in names}
        new = {name: variable for name, variable in variables.items() if name not in names}
        if self.mode == "r+" and new:
            raise ValueError(
                f"dataset contains non-pre-existing variables {list(new)!r}, which is not allowed in to_nczarr() with "
                "``mode='r+'``. To allow writing new variables, set ``mode='a'``."
            )
        twice = [name for name in existing if name in self.encoding]
        if twice and self.mode in ("a", "a-"):
            raise ValueError(f"variable {twice[0]!r} already exists, but encoding was provided")
        if self.append_dim is not None:
            return self.append(existing, new, attributes, unique, compute)
        writer = ArrayWriter()
        existing = _existing.encode(self.store, existing, region, None) if existing else {}
        if self.mode != "r+":
            self.define(new, attributes, writer)
        _existing.add(writer, self.store, existing, region)
        return self.finish(writer, compute)

    def define(self, variables, attributes, writer):
        """Creates variables."""
        self.store.store(variables, attributes, set(self.encoding), writer, self.unlimited_dims)

    def append(self, existing, new, attributes, unique, compute):
        """Appends along a dimension. Data are written first, and the coordinate last."""
        dim, store = self.append_dim, self.store
        lengths = {**store.get_parent_dimensions(), **store.get_dimensions()}
        if dim not in lengths:
            raise ValueError(f"append_dim={dim!r} does not match any existing dataset dimensions {lengths}")
        along = {name: variable for name, variable in existing.items() if dim in variable.dims}
        rest = {name: variable for name, variable in existing.items() if dim not in variable.dims}
        if not along:
            raise ValueError(f"append_dim={dim!r}: no variable of the dataset has it and is stored already")
        raw = _existing.encode(store, along, {}, dim)
        rest = _existing.encode(store, rest, {}, None) if rest and self.mode == "a" else {}
        count = next(variable.sizes[dim] for variable in along.values())
        with turn(store.handle) if unique else contextlib.nullcontext():
            if unique:
                _existing.check_unique(store, along, dim)
            start = store.native.dimension(dim).reserve(count)
            part = {dim: slice(start, start + count)}
            coordinates = {name: raw.pop(name) for name in list(raw) if raw[name].dims == (dim,) and name == dim}
            if unique:
                self.put(coordinates, part)
        writer = ArrayWriter()
        if new:
            self.define(new, {}, writer)
        _existing.add(writer, store, rest, {})
        _existing.add(writer, store, raw, part)
        if compute:
            self.finish(writer, True)
            self.put(coordinates, part)
            store.sync()
            return start
        self.put(coordinates, part)
        return self.finish(writer, False)

    def put(self, variables, part):
        """Writes variables at once."""
        writer = ArrayWriter()
        _existing.add(writer, self.store, {name: variable.compute() for name, variable in variables.items()}, part)

    def finish(self, writer, compute):
        """Writes what dask computes, or returns it."""
        from xarray.backends.api import delayed_close_after_writes

        if writer.sources:
            # Each task stores its part.
            self.store.sync()
        writes = writer.sync(compute=compute, chunkmanager_store_kwargs=self.store_kwargs)
        return None if compute else delayed_close_after_writes(writes, self.store)
