"""The entry point that xarray finds by the name ``nczarr``."""
from xarray.backends.common import BackendEntrypoint
from xarray.backends.store import StoreBackendEntrypoint

from .._location import is_ours, normalize
from ._store import NczarrDataStore


class NczarrBackendEntrypoint(BackendEntrypoint):
    """Opens NCZarr, Zarr V2 and V3, netCDF classic, netCDF-4 and HDF4 datasets on every storage."""

    description = "Open netCDF, Zarr, NCZarr and HDF4 datasets on every storage with nczarr"
    supports_groups = True

    def guess_can_open(self, filename_or_obj):
        """Whether no other engine claims the place. Plain ``.nc`` and ``.zarr`` belong to others."""
        return is_ours(filename_or_obj)

    def open_dataset(
        self, filename_or_obj, *, mask_and_scale=True, decode_times=True, concat_characters=True, decode_coords=True,
        drop_variables=None, use_cftime=None, decode_timedelta=None, group=None, mode="r", storage_options=None,
        threads=None, cache_bytes=None, missing_chunks=None, use_zarr_fill_value_as_mask=None, auto_complex=None,
    ):
        """Opens a group as a dataset.

        :param group: the path of the group; the root by default.
        :param storage_options: options of the storage, by fsspec's names.
        :param threads: the number of threads of a read.
        :param cache_bytes: the size of the chunk cache of each variable.
        :param missing_chunks: ``"fill"`` (the default), ``"warn"`` or ``"error"``.
        :param use_zarr_fill_value_as_mask: treat the fill value of Zarr arrays as ``_FillValue``.
        :param auto_complex: compounds of two numbers are complex numbers.
        """
        store = NczarrDataStore.open(
            filename_or_obj, mode, group=group, storage_options=storage_options, threads=threads,
            cache_bytes=cache_bytes, missing_chunks=missing_chunks,
            use_zarr_fill_value_as_mask=use_zarr_fill_value_as_mask, auto_complex=auto_complex,
        )
        return _dataset(
            store, mask_and_scale=mask_and_scale, decode_times=decode_times, concat_characters=concat_characters,
            decode_coords=decode_coords, drop_variables=drop_variables, use_cftime=use_cftime,
            decode_timedelta=decode_timedelta,
        )

    def open_groups_as_dict(
        self, filename_or_obj, *, mask_and_scale=True, decode_times=True, concat_characters=True, decode_coords=True,
        drop_variables=None, use_cftime=None, decode_timedelta=None, group=None, mode="r", storage_options=None,
        threads=None, cache_bytes=None, missing_chunks=None, use_zarr_fill_value_as_mask=None, auto_complex=None,
    ):
        """Opens each group as a dataset, by path. All share one open file."""
        store = NczarrDataStore.open(
            filename_or_obj, mode, group=group, storage_options=storage_options, threads=threads,
            cache_bytes=cache_bytes, missing_chunks=missing_chunks,
            use_zarr_fill_value_as_mask=use_zarr_fill_value_as_mask, auto_complex=auto_complex,
        )
        decoding = dict(
            mask_and_scale=mask_and_scale, decode_times=decode_times, concat_characters=concat_characters,
            decode_coords=decode_coords, drop_variables=drop_variables, use_cftime=use_cftime,
            decode_timedelta=decode_timedelta,
        )
        return {path: _dataset(child, **decoding) for path, child in store.walk().items()}

    def open_datatree(self, filename_or_obj, **options):
        """Opens all groups as a tree."""
        from xarray import DataTree

        datasets = self.open_groups_as_dict(normalize(filename_or_obj), **options)
        try:
            tree = DataTree.from_dict(datasets)
        except Exception:
            for dataset in datasets.values():
                dataset.close()
            raise
        for path, dataset in datasets.items():
            tree[path].set_close(dataset._close)
        return tree


def _dataset(store, **decoding):
    try:
        return StoreBackendEntrypoint().open_dataset(store, **decoding)
    except BaseException:
        store.close()
        raise
