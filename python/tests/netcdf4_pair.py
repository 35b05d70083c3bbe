"""Runs the same program with the package netCDF4 and with ours, and compares all that it can see."""

import warnings

import netCDF4 as real
import numpy as np
import pytest

from nczarr import netCDF4 as ours

MODULES = {"real": real, "ours": ours}
FORMATS = ("NETCDF4", "NETCDF4_CLASSIC", "NETCDF3_CLASSIC", "NETCDF3_64BIT_OFFSET", "NETCDF3_64BIT_DATA")


def seen(value):
    """Returns a value as plain data that compare: its kind, type, shape, mask, fill value and elements."""
    if isinstance(value, np.ma.core.MaskedConstant):
        return "masked"
    if isinstance(value, np.ma.MaskedArray):
        mask = np.ma.getmaskarray(value)
        values = np.array(value.data)
        values[mask] = np.zeros((), values.dtype)
        fill = seen(value.fill_value) if mask.any() else None
        return ("masked array", value.dtype.str, value.shape, mask.tolist(), seen(values), fill)
    if isinstance(value, (np.ndarray, np.generic)):
        kind = "array" if isinstance(value, np.ndarray) else "scalar"
        if value.dtype.kind == "O":
            return (kind, value.shape, [seen(element) for element in np.asarray(value).ravel().tolist()])
        dtype = str(value.dtype) if value.dtype.names else value.dtype.str
        return (kind, dtype, value.shape, repr(value.tolist()))
    if isinstance(value, (list, tuple)):
        return [seen(element) for element in value]
    if isinstance(value, dict):
        return {name: seen(element) for name, element in value.items()}
    return type(value).__name__, repr(value)


def outcome(action):
    """Returns what an action gives, or the kind of its error."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        try:
            return seen(action())
        except (IndexError, ValueError, TypeError, AttributeError, KeyError, RuntimeError, OSError) as error:
            kinds = (IndexError, KeyError, TypeError, AttributeError, ValueError, RuntimeError, OSError)
            return "raises", next(kind.__name__ for kind in kinds if isinstance(error, kind))


def content(dataset):
    """Returns all of a dataset as plain data."""
    group = {
        "attributes": {name: seen(dataset.getncattr(name)) for name in dataset.ncattrs()},
        "dimensions": {name: (len(dim), dim.isunlimited()) for name, dim in dataset.dimensions.items()},
        "types": [sorted(dataset.cmptypes), sorted(dataset.vltypes), sorted(dataset.enumtypes)],
        "model": dataset.data_model,
        "groups": {name: content(child) for name, child in dataset.groups.items()},
    }
    variables = {}
    for name, variable in dataset.variables.items():
        variables[name] = {
            "dtype": str(variable.dtype),
            "dimensions": variable.dimensions,
            "shape": variable.shape,
            "attributes": {key: seen(variable.getncattr(key)) for key in variable.ncattrs()},
            "values": outcome(lambda variable=variable: variable[...]),
            # The other package does not swap the bytes of this value.
            "fill": outcome(variable.get_fill_value)
            if variable.dtype != str and variable.dtype.byteorder != ">"
            else None,
            "filters": variable.filters(),
            "endian": variable.endian(),
        }
        variable.set_auto_maskandscale(False)
        variables[name]["raw"] = outcome(lambda variable=variable: variable[...])
    return {**group, "variables": variables}


def difference(found, wanted, place=""):
    """Returns the first difference of plain data as text; ``None`` for equal data."""
    if isinstance(found, dict) and isinstance(wanted, dict) and found.keys() == wanted.keys():
        parts = [(f"{place}[{name!r}]", found[name], wanted[name]) for name in found]
    elif isinstance(found, (list, tuple)) and isinstance(wanted, (list, tuple)) and len(found) == len(wanted):
        parts = [(f"{place}[{at}]", *both) for at, both in enumerate(zip(found, wanted))]
    else:
        return None if found == wanted else f"{place}: found {found}, expected {wanted}"
    return next((text for name, one, other in parts if (text := difference(one, other, name))), None)


class Pair:
    """Two files: one by each library."""

    def __init__(self, folder):
        self.paths = {name: str(folder / f"{name}.nc") for name in MODULES}

    def run(self, program, files=True):
        """Runs ``program(module, path)`` with both libraries, and compares the results and the files.

        Each library reads both files, and sees the same.
        """
        results = {}
        for name, module in MODULES.items():
            with warnings.catch_warnings():
                warnings.simplefilter("ignore")
                results[name] = seen(program(module, self.paths[name]))
        text = difference(results["ours"], results["real"])
        assert text is None, text
        if files:
            self.same_files()

    def same_files(self):
        found = {}
        for writer, path in self.paths.items():
            for reader, module in MODULES.items():
                with module.Dataset(path) as dataset:
                    found[writer, reader] = content(dataset)
        wanted = found["real", "real"]
        for pair, result in found.items():
            text = difference(result, wanted)
            assert text is None, f"written by {pair[0]}, read by {pair[1]}: {text}"


@pytest.fixture
def pair(tmp_path):
    return Pair(tmp_path)
