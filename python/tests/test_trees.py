"""Trees of groups: ``tree_to_nczarr``, and ``to_netcdf`` of a tree."""
import dask.array
import numpy as np
import pytest
import xarray as xr
import zarr

import nczarr
from nczarr.xarray import to_nczarr, tree_to_nczarr

TREE = xr.DataTree.from_dict({
    "/": xr.Dataset({"a": ("x", [1, 2, 3])}, coords={"x": [10.0, 20.0, 30.0]}, attrs={"title": "A tree"}),
    "/child": xr.Dataset({"b": (("t", "x"), np.arange(6).reshape(2, 3))}),
    "/child/leaf": xr.Dataset({"c": ("t", [0.5, 1.5])}),
})


@pytest.mark.parametrize("name", ["t.zarr", "t.nc", "t.zip"])
def test_a_tree_comes_back(name, tmp_path):
    tree_to_nczarr(TREE, tmp_path / name)
    with xr.open_datatree(tmp_path / name, engine="nczarr") as found:
        xr.testing.assert_identical(found.load(), TREE)
    with pytest.raises(FileExistsError):
        tree_to_nczarr(TREE, tmp_path / name)


def test_zarr_opens_the_tree(tmp_path):
    tree_to_nczarr(TREE, tmp_path / "t.zarr", consolidated=True, encoding={"/child": {"b": {"chunks": (1, 3)}}})
    group = zarr.open_group(tmp_path / "t.zarr", mode="r")
    assert group["child/b"].chunks == (1, 3) and group["child/leaf/c"][:].tolist() == [0.5, 1.5]
    with xr.open_datatree(tmp_path / "t.zarr", engine="zarr") as found:
        xr.testing.assert_equal(found.load(), TREE)


def test_a_shared_part_of_the_graph_is_computed_once(tmp_path):
    calls = []

    def noted(block):
        calls.append(1)
        return block + 1

    base = dask.array.map_blocks(noted, dask.array.zeros(4, chunks=4), meta=np.zeros(0))
    tree = xr.DataTree.from_dict({"/a": xr.Dataset({"v": ("x", base)}), "/b": xr.Dataset({"v": ("x", base + 1)})})
    tree_to_nczarr(tree, tmp_path / "t.zarr")
    assert len(calls) == 1
    with nczarr.open(tmp_path / "t.zarr") as file:
        assert file["a/v"][:].tolist() == [1] * 4 and file["b/v"][:].tolist() == [2] * 4


def test_a_delayed_tree_is_written_later(tmp_path):
    rest = tree_to_nczarr(TREE.chunk(x=2), tmp_path / "t.zarr", compute=False)
    with xr.open_datatree(tmp_path / "t.zarr", engine="nczarr") as found:
        assert not found.load().equals(TREE)
    rest.compute()
    with xr.open_datatree(tmp_path / "t.zarr", engine="nczarr") as found:
        xr.testing.assert_identical(found.load(), TREE)


def test_to_netcdf_of_a_tree_knows_the_engine(tmp_path):
    TREE.to_netcdf(tmp_path / "t.nc", engine="nczarr")
    with xr.open_datatree(tmp_path / "t.nc", engine="h5netcdf") as found:
        xr.testing.assert_identical(found.load(), TREE)


def test_wrong_arguments_are_refused(tmp_path):
    with pytest.raises(ValueError, match="unexpected encoding group"):
        tree_to_nczarr(TREE, tmp_path / "t.zarr", encoding={"/absent": {}})
    with pytest.raises(NotImplementedError, match="append_dim"):
        tree_to_nczarr(TREE, tmp_path / "t.zarr", append_dim="t")
    with pytest.raises(TypeError, match="tree_to_nczarr"):
        to_nczarr(TREE, tmp_path / "t.zarr")
    with pytest.raises(ValueError, match="must be a string"):
        xr.open_dataset(tmp_path / "t.zarr", engine="nczarr", group=("child",))
    assert not (tmp_path / "t.zarr").exists()
