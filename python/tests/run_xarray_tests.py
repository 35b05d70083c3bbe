"""Runs modules of xarray's own tests with this package as the only engine for netCDF and Zarr.

    python run_xarray_tests.py [MODULE...] [--least N] [-- PYTEST ARGUMENT...]

The modules are ``test_backends_datatree``, ``test_distributed`` and the classes ``TestZarrDirectoryStore`` and
``TestZarrRegionAuto`` of ``test_backends`` of the installed xarray, unchanged. Each function of xarray that opens or
writes gets ``engine="nczarr"`` where a test names ``netcdf4``, ``h5netcdf``, ``zarr`` or none.
``XARRAY.md`` explains each failure.
"""
import argparse
import functools
import os
import sys

MODULES = (
    "test_backends_datatree", "test_distributed",
    "test_backends::TestZarrDirectoryStore", "test_backends::TestZarrRegionAuto",
)
_REPLACED = ("netcdf4", "h5netcdf", "zarr", None)
#: Arguments of the engine ``zarr`` that have no meaning here.
_OF_ZARR = ("consolidated", "zarr_format", "mode")


def _reader(function):
    @functools.wraps(function)
    def read(place, *arguments, engine=None, **options):
        if engine in _REPLACED:
            engine = "nczarr"
            for name in (*_OF_ZARR, "backend_kwargs"):
                options.pop(name, None)
        return function(_plain(place), *arguments, engine=engine, **options)

    return read


def _plain(place):
    """py.path objects, which the tests use, are paths."""
    return os.fspath(place) if type(place).__module__.startswith(("py.", "_pytest.")) else place


def _writer(function):
    @functools.wraps(function)
    def write(self, *arguments, engine=None, **options):
        return function(self, *arguments, engine="nczarr" if engine in _REPLACED else engine, **options)

    return write


def _zarr_writer(function):
    def write(self, store=None, mode=None, *, zarr_format=None, **options):
        import zarr

        # The tests choose the format of a new store by the configuration of zarr-python.
        zarr_format = zarr_format or zarr.config.get("default_zarr_format")
        given = {} if mode is None else {"mode": mode}
        return function(self, _plain(store), zarr_format=zarr_format, **given, **options)

    return write


def replace_engines():
    """Makes xarray use this package."""
    import xarray as xr

    from nczarr.xarray import to_nczarr, tree_to_nczarr

    for name in ("open_dataset", "load_dataset", "open_datatree", "load_datatree", "open_groups", "open_mfdataset"):
        setattr(xr, name, _reader(getattr(xr, name)))
    for cls in (xr.Dataset, xr.DataTree):
        cls.to_netcdf = _writer(cls.to_netcdf)
    for cls, function in ((xr.Dataset, to_nczarr), (xr.DataArray, to_nczarr), (xr.DataTree, tree_to_nczarr)):
        cls.to_zarr = _zarr_writer(function)
    opened = xr.open_dataset
    xr.open_zarr = lambda place, *, chunks=(), **options: opened(place, engine="zarr", chunks=chunks or {}, **options)


class Counter:
    """Counts outcomes."""

    def __init__(self):
        self.passed, self.failed = 0, []

    def pytest_runtest_logreport(self, report):
        if report.when == "call" and report.passed and not hasattr(report, "wasxfail"):
            self.passed += 1
        if report.failed:
            self.failed.append(report.nodeid.rpartition("xarray/tests/")[2])


def main(arguments):
    import pytest

    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("modules", nargs="*", default=list(MODULES))
    parser.add_argument("--least", type=int, default=0, help="fail if fewer tests pass")
    place = arguments.index("--") if "--" in arguments else len(arguments)
    args, of_pytest = parser.parse_args(arguments[:place]), arguments[place + 1:]
    replace_engines()
    counter = Counter()
    # Workers get the search path of this process, so the package that was imported must stay first in it.
    options = ["-q", "--import-mode=append", "-p", "no:cacheprovider", "--tb=short", "-o", "asyncio_mode=auto"]
    options += of_pytest
    pytest.main([*options, "--pyargs", *(f"xarray.tests.{name}" for name in args.modules)], plugins=[counter])
    print(f"{counter.passed} passed, {len(counter.failed)} failed")
    for name in counter.failed:
        print(f"failed: {name}")
    return 0 if counter.passed >= args.least else 1


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
