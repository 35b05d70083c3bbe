"""Makes ``to_netcdf(engine="nczarr")`` of datasets and trees work after ``import nczarr``.

xarray loads engines for reading by itself; for writing it has a private table. The table gets a function that loads
the engine, when xarray is imported: before or after this package. Nothing heavy is imported here.
"""
import importlib.util
import sys
import typing

_MODULES = ("xarray.backends.writers", "xarray.backends.api")


def _open(*arguments, **options):
    from .xarray import NczarrDataStore

    return NczarrDataStore.open(*arguments, **options)


def _extend(module):
    table = getattr(module, "WRITEABLE_STORES", None)
    if table is not None:
        table["nczarr"] = _open
    engines = getattr(module, "T_DataTreeNetcdfEngine", None)
    if engines is not None:
        # `DataTree.to_netcdf` takes the engines that this type names.
        module.T_DataTreeNetcdfEngine = typing.Literal[(*typing.get_args(engines), "nczarr")]


class _Finder:
    """Finds xarray's modules as usual, and extends the table after their import."""

    def __init__(self):
        self.waiting = set(_MODULES)

    def find_spec(self, name, path, target=None):
        if name not in self.waiting:
            return None
        self.waiting.discard(name)
        spec = importlib.util.find_spec(name)
        if spec is None or spec.loader is None:
            return spec
        run = spec.loader.exec_module

        def exec_module(module):
            run(module)
            _extend(module)

        spec.loader.exec_module = exec_module
        return spec


def install():
    """Extends the table now, or when xarray is imported."""
    for name in _MODULES:
        if name in sys.modules:
            _extend(sys.modules[name])
    if "xarray" not in sys.modules:
        sys.meta_path.insert(0, _Finder())
