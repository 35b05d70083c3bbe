"""The engine for xarray: reading, ``to_netcdf``, ``to_nczarr`` and ``tree_to_nczarr``."""
from collections.abc import Hashable, Iterable, Mapping, MutableMapping
from os import PathLike
from typing import Any, ClassVar, Literal, Self, TypeAlias, overload

import numpy as np
from dask.delayed import Delayed
from numpy.typing import NDArray
from xarray import DataArray, Dataset, DataTree, Variable
from xarray.backends.common import BackendArray, BackendEntrypoint, WritableCFDataStore

import nczarr

__all__ = ["NczarrArray", "NczarrBackendEntrypoint", "NczarrDataStore", "to_nczarr", "tree_to_nczarr"]

#: Stores of fsspec, obstore and zarr have no common class.
_Place: TypeAlias = str | PathLike[str] | nczarr.Map | MutableMapping[str, bytes] | Any
_Mode: TypeAlias = Literal["w", "w-", "a", "a-", "r+"]
_Region: TypeAlias = Literal["auto"] | Mapping[str, slice | Literal["auto"]]
_Encoding: TypeAlias = Mapping[Any, Mapping[str, Any]]
_Format: TypeAlias = Literal[2, 3]

class NczarrArray(BackendArray):
    dtype: np.dtype[Any]
    shape: tuple[int, ...]
    group: str
    name: str
    handle: Any
    def __init__(self, handle: Any, group: str, name: str, dtype: np.dtype[Any], shape: tuple[int, ...]) -> None: ...
    @property
    def variable(self) -> nczarr.Variable: ...
    def __getitem__(self, key: Any) -> NDArray[Any]: ...
    async def async_getitem(self, key: Any) -> NDArray[Any]: ...

class NczarrDataStore(WritableCFDataStore):
    auto_complex: bool
    format: str
    handle: Any
    def __init__(
        self, handle: Any, group: str | None = None, mode: str = "r", format: str = "NETCDF4",
        mask_fill: bool | None = False, auto_complex: bool | None = False,
    ) -> None: ...
    @classmethod
    def open(
        cls, filename: _Place, mode: str = "r", format: str | None = None, group: str | None = None,
        clobber: bool = True, autoclose: bool = False, lock: Any = None,
        storage_options: Mapping[str, Any] | None = None, kind: str | None = None,
        use_zarr_fill_value_as_mask: bool | None = None, is_lazy: bool = False, auto_complex: bool | None = None,
        **options: Any,
    ) -> Self: ...
    @property
    def ds(self) -> nczarr.Group: ...
    @property
    def source(self) -> str: ...
    @property
    def native(self) -> Any: ...
    @property
    def is_zarr(self) -> bool: ...
    @property
    def keeps_unwritten(self) -> bool: ...
    def walk(self) -> dict[str, Self]: ...
    def open_store_variable(self, name: str) -> Variable: ...
    def grow(self, variables: Mapping[Any, Variable], unlimited_dims: Iterable[Hashable] | None) -> None: ...
    def encode_variable(self, variable: Variable, name: Hashable | None = None) -> Variable: ...
    def set_dimension(self, name: str, length: int, is_unlimited: bool = False) -> None: ...
    def set_attribute(self, key: str, value: Any) -> None: ...
    def prepare_variable(
        self, name: str, variable: Variable, check_encoding: bool = False,
        unlimited_dims: Iterable[Hashable] | None = None,
    ) -> tuple[Any, Any]: ...
    def sync(self) -> None: ...
    def close(self) -> None: ...

class NczarrBackendEntrypoint(BackendEntrypoint):
    description: ClassVar[str]
    supports_groups: ClassVar[bool]
    def guess_can_open(self, filename_or_obj: Any) -> bool: ...
    def open_dataset(
        self, filename_or_obj: Any, *, mask_and_scale: bool = True, decode_times: Any = True,
        concat_characters: bool = True, decode_coords: Any = True, drop_variables: str | Iterable[str] | None = None,
        use_cftime: bool | None = None, decode_timedelta: Any = None, group: str | None = None, mode: str = "r",
        storage_options: Mapping[str, Any] | None = None, threads: int | None = None, cache_bytes: int | None = None,
        missing_chunks: Literal["fill", "warn", "error"] | None = None,
        use_zarr_fill_value_as_mask: bool | None = None, auto_complex: bool | None = None,
    ) -> Dataset: ...
    def open_groups_as_dict(
        self, filename_or_obj: Any, *, mask_and_scale: bool = True, decode_times: Any = True,
        concat_characters: bool = True, decode_coords: Any = True, drop_variables: str | Iterable[str] | None = None,
        use_cftime: bool | None = None, decode_timedelta: Any = None, group: str | None = None, mode: str = "r",
        storage_options: Mapping[str, Any] | None = None, threads: int | None = None, cache_bytes: int | None = None,
        missing_chunks: Literal["fill", "warn", "error"] | None = None,
        use_zarr_fill_value_as_mask: bool | None = None, auto_complex: bool | None = None,
    ) -> dict[str, Dataset]: ...
    def open_datatree(self, filename_or_obj: Any, **options: Any) -> DataTree: ...

@overload
def to_nczarr(
    dataset: Dataset | DataArray, store: _Place | None = None, mode: _Mode | None = None, group: str | None = None,
    encoding: _Encoding | None = None, *, compute: Literal[True] = True, consolidated: bool | None = None,
    append_dim: Hashable | None = None, region: _Region | None = None, safe_chunks: bool = True,
    align_chunks: bool = False, storage_options: Mapping[str, Any] | None = None, zarr_format: _Format | None = None,
    write_empty_chunks: bool | None = None, chunkmanager_store_kwargs: Mapping[str, Any] | None = None,
    unlimited_dims: Iterable[Hashable] | None = None, unique: bool = False, **options: Any,
) -> int | None: ...
@overload
def to_nczarr(
    dataset: Dataset | DataArray, store: _Place | None = None, mode: _Mode | None = None, group: str | None = None,
    encoding: _Encoding | None = None, *, compute: Literal[False], consolidated: bool | None = None,
    append_dim: Hashable | None = None, region: _Region | None = None, safe_chunks: bool = True,
    align_chunks: bool = False, storage_options: Mapping[str, Any] | None = None, zarr_format: _Format | None = None,
    write_empty_chunks: bool | None = None, chunkmanager_store_kwargs: Mapping[str, Any] | None = None,
    unlimited_dims: Iterable[Hashable] | None = None, unique: bool = False, **options: Any,
) -> Delayed: ...
def tree_to_nczarr(
    tree: DataTree, store: _Place, mode: _Mode = "w-", encoding: Mapping[str, _Encoding] | None = None,
    group: None = None, write_inherited_coords: bool = False, *, compute: bool = True,
    consolidated: bool | None = None, append_dim: None = None, region: None = None, safe_chunks: bool = True,
    align_chunks: bool = False, storage_options: Mapping[str, Any] | None = None, zarr_format: _Format | None = None,
    write_empty_chunks: bool | None = None, chunkmanager_store_kwargs: Mapping[str, Any] | None = None,
    unlimited_dims: Iterable[Hashable] | None = None, **options: Any,
) -> Delayed | None: ...
