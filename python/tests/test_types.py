"""The types of the package: the stubs fit what they describe, and programs of the documentation pass a strict check."""
import re
import subprocess
import sys
from pathlib import Path

import pytest

#: Implementations without annotations have no stub: they are compared with themselves, and decorators differ.
SETTINGS = "[mypy]\nignore_missing_imports = True\n\n[mypy-nczarr.*]\nignore_errors = True\n"
WITHOUT_STUBS = r"nczarr\.(_stamp|_stores|_object_stores)\..*|nczarr\.(netCDF4|xarray)\._.*"
TESTS = Path(__file__).parent
#: Errors of xarray's own annotations: they lack other packages' engines, and storages of Python.
OF_XARRAY = (
    'No overload variant of "to_netcdf" of "Dataset" matches argument types',
    'Argument 1 to "open_dataset" has incompatible type "dict[str, bytes]"',
)


@pytest.fixture
def settings(tmp_path):
    (tmp_path / "mypy.ini").write_text(SETTINGS)
    (tmp_path / "without_stubs").write_text(WITHOUT_STUBS)
    return tmp_path


def run(folder, *arguments):
    return subprocess.run([sys.executable, "-m", *arguments], cwd=folder, capture_output=True, text=True, check=False)


def test_the_stubs_fit_the_package(settings):
    options = ["--mypy-config-file", "mypy.ini", "--allowlist", "without_stubs", "--ignore-disjoint-bases", "--concise"]
    done = run(settings, "mypy.stubtest", "nczarr", *options)
    assert done.returncode == 0, done.stdout + done.stderr


@pytest.mark.parametrize("page", ["python.md", "python-xarray.md", "python-distributed.md", "python-moving.md"])
def test_programs_of_a_page_pass_a_strict_check(page, settings):
    text = (TESTS.parent / page).read_text()
    program = "\n".join(re.findall(r"^```python\n(.*?)^```", text, re.M | re.S))
    (settings / "program.py").write_text(program)
    done = run(settings, "mypy", "--strict", "--config-file", "mypy.ini", "program.py")
    # Classes of the page are written without annotations, as most users write them.
    errors = [line for line in done.stdout.splitlines() if ": error:" in line]
    errors = [line for line in errors if "[no-untyped-def]" not in line and "[no-untyped-call]" not in line]
    errors = [line for line in errors if not any(text in line for text in OF_XARRAY)]
    assert done.returncode in (0, 1) and errors == [], done.stdout + done.stderr


#: A program with annotations of its own, for the modules that have the names of other packages.
PROGRAM = """
from pathlib import Path
import numpy as np
import xarray as xr
from numpy.typing import NDArray
from nczarr import netCDF4
from nczarr.xarray import NczarrDataStore, to_nczarr, tree_to_nczarr

def store(path: Path, values: NDArray[np.float32]) -> int:
    with netCDF4.Dataset(path, "w", format="NETCDF4") as file:
        time: netCDF4.Dimension = file.createDimension("time")
        group: netCDF4.Group = file.createGroup("g")
        t = group.createVariable("t", "f4", ("time",), compression="blosc_zstd", fill_value=-1, chunksizes=(4,))
        t.units, t.scale_factor = "K", 0.5
        t[:] = values
        names: list[str] = t.ncattrs()
        shape: tuple[int, ...] = file.groups["g"].variables["t"].shape
        dates = netCDF4.num2date(t[:], "days since 2000-01-01")
        kind = group.createEnumType(np.int8, "kind", {"a": 1})
        group.createVariable("k", kind, time)
        return len(time) + len(names) + shape[0] + len(dates)

def day(dataset: xr.Dataset, tree: xr.DataTree, path: Path) -> int | None:
    encoding = {"t": {"chunks": (4, 4), "fill_value": -1}}
    to_nczarr(dataset["t"], path, mode="w", encoding=encoding, zarr_format=3, unlimited_dims=["time"])
    delayed = to_nczarr(dataset, path, region={"time": slice(0, 4), "x": "auto"}, compute=False)
    print(delayed.dask)
    tree_to_nczarr(tree, "tree.zarr", encoding={"/g": encoding}, mode="w")
    store: NczarrDataStore = NczarrDataStore.open(path, "r", group="g")
    print(store.ds.path, xr.open_dataset(path, engine="nczarr").sizes["time"])
    return to_nczarr(dataset, path, append_dim="time", unique=True)
"""

#: Wrong programs by the number of their errors.
WRONG = {
    'import nczarr\nnczarr.create("x", "zarr-v9")\nnczarr.open("x").dimension("t").reserve("one")\n': 2,
    'from nczarr import netCDF4\nf = netCDF4.Dataset("x", "z")\nf.createDimension("t", "one")\n'
    'f.createVariable("v", "f4", ("t",), compression="lzma").set_auto_mask(None)\nlen(f.filepath() + 1)\n': 5,
    'from xarray import Dataset\nfrom nczarr.xarray import to_nczarr, tree_to_nczarr\nto_nczarr(3, "x")\n'
    'to_nczarr(Dataset(), "x", zarr_format=4)\nto_nczarr(Dataset(), "x").compute()\ntree_to_nczarr(Dataset(), "x")\n': 5,
}


def test_a_program_for_other_packages_passes_a_strict_check(settings):
    (settings / "program.py").write_text(PROGRAM)
    done = run(settings, "mypy", "--strict", "--config-file", "mypy.ini", "program.py")
    assert done.returncode == 0, done.stdout + done.stderr


@pytest.mark.parametrize("program", WRONG)
def test_a_wrong_program_does_not_pass(program, settings):
    (settings / "program.py").write_text(program)
    done = run(settings, "mypy", "--strict", "--config-file", "mypy.ini", "program.py")
    assert done.stdout.count(": error:") == WRONG[program], done.stdout
