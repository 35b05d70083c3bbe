"""The import of the package."""
import os
import subprocess
import sys
import sysconfig

import pytest

import nczarr

ENVIRONMENT = {**os.environ, "PYTHONPATH": os.pathsep.join(sys.path)}


def run(program):
    done = subprocess.run([sys.executable, "-c", program], env=ENVIRONMENT, capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
    return done.stdout.split()


def test_the_import_loads_no_large_package():
    others = {"asyncio", "cftime", "dask", "distributed", "fsspec", "h5netcdf", "netCDF4", "numpy", "pandas", "xarray", "zarr"}
    loaded = run("import sys, nczarr; print(*{name.partition('.')[0] for name in sys.modules})")
    assert "nczarr" in loaded and others.isdisjoint(loaded)


def test_every_public_name_is_found():
    """Names are imported at their first use."""
    program = "import nczarr; assert set(nczarr.__all__) <= set(dir(nczarr)); from nczarr import *; print(*sorted(nczarr.__all__))"
    assert run(program) == sorted(nczarr.__all__)
    with pytest.raises(AttributeError, match="'nczarr' has no attribute 'opened'"):
        nczarr.opened


def test_28_free_threaded_python_stays_free():
    """The import of a native module can turn the lock of the interpreter on again."""
    program = "import sys, nczarr.netCDF4; print(getattr(sys, '_is_gil_enabled', lambda: True)())"
    assert run(program) == [str(not sysconfig.get_config_var("Py_GIL_DISABLED"))]
