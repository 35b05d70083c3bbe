"""``tree_to_nczarr``: writes a tree of groups with the signature of ``DataTree.to_zarr``."""
import contextlib

from xarray.backends.common import ArrayWriter

from .._location import normalize
from .._turn import turn
from . import _create
from ._job import Job
from ._store import NczarrDataStore
from ._to_nczarr import _is_netcdf, _mode, _new_place


def tree_to_nczarr(
    tree, store, mode="w-", encoding=None, group=None, write_inherited_coords=False, *, compute=True,
    consolidated=None, append_dim=None, region=None, safe_chunks=True, align_chunks=False, storage_options=None,
    zarr_format=None, write_empty_chunks=None, chunkmanager_store_kwargs=None, unlimited_dims=None, **options,
):
    """Writes each node of a ``DataTree`` into its group. What dask computes is computed once for all of them.

    :param store: the place, as ``to_nczarr`` takes it.
    :param mode: ``"w"`` replaces the dataset, ``"w-"`` creates it, ``"a"`` and ``"r+"`` write into its groups.
    :param encoding: the encodings of variables by the path of a group.
    :param write_inherited_coords: write coordinates of parents into each group as well.
    :param unlimited_dims: dimensions of new groups that may grow.
    :param compute: otherwise returns a ``dask.delayed.Delayed`` that writes what dask computes.
    :raises NotImplementedError: for ``group``, ``append_dim`` and ``region``: write the node by ``to_nczarr``.
    """
    for name, value in (("group", group), ("append_dim", append_dim), ("region", region)):
        if value is not None:
            raise NotImplementedError(f"{name}={value!r}: write one node of the tree by to_nczarr")
    mode, place, encoding = _mode(mode, None, None), normalize(store), dict(encoding or {})
    unknown = set(encoding) - set(tree.groups)
    if unknown:
        raise ValueError(f"unexpected encoding group name(s) provided: {unknown}")
    is_new = mode in ("w", "w-") or mode != "r+" and not _create.exists(place, storage_options)
    if is_new:
        place = _new_place(place, zarr_format, consolidated)
    opened = NczarrDataStore.open(
        place, {"w": "w", "w-": "w-"}.get(mode, "a"), storage_options=storage_options, is_lazy=True, **options
    )
    writer = ArrayWriter()
    with contextlib.closing(opened):
        with turn(opened.handle):
            if isinstance(opened.handle, _create.NewHandle):
                opened.format = "NETCDF4" if _is_netcdf(place) else "ZARR"
            else:
                opened.format = _create.format_name(opened.handle.file)
            for path, node in tree.subtree_with_keys:
                dataset = node.to_dataset(inherit=write_inherited_coords or node is tree)
                target = opened if node is tree else opened.get_child_store(path)
                growing = {dim for dim in unlimited_dims or () if dim in dataset.sizes}
                job = Job(
                    target, mode, None, growing, encoding.get(node.path) or {}, chunkmanager_store_kwargs, compute, writer
                )
                job.prepare(dataset, {}, False, is_new)
            job.settle()
        return job.finish()
