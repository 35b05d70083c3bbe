"""The place where ``Dataset.to_netcdf`` finds the engine.

xarray has no public way to add a writer, so its private table is extended where it exists. ``to_nczarr`` does not
need the table.
"""
from ._store import NczarrDataStore


def register():
    """Adds the engine to xarray's table of writable stores; returns whether there is one."""
    for module in ("writers", "api"):
        try:
            table = __import__(f"xarray.backends.{module}", fromlist=["WRITEABLE_STORES"]).WRITEABLE_STORES
        except (ImportError, AttributeError):
            continue
        table["nczarr"] = NczarrDataStore.open
        return True
    return False
