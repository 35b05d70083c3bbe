"""Masks, scaling and integer types: ours gives what the package netCDF4 gives."""

import numpy as np
import pytest
from netcdf4_pair import FORMATS, outcome, pair  # noqa: F401

INTEGERS = ("i1", "u1", "i2", "u2", "i4", "u4", "i8", "u8")
NUMBERS = (*INTEGERS, "f4", "f8")
CLASSIC_NUMBERS = ("i1", "i2", "i4", "f4", "f8")


def numbers_of(format):
    return NUMBERS if format in ("NETCDF4", "NETCDF3_64BIT_DATA") else CLASSIC_NUMBERS


def extremes(code):
    """Values of a type: its limits, and small ones."""
    dtype = np.dtype(code)
    if dtype.kind == "f":
        return np.array([0.5, -1.25, 1e30, -0.0, np.inf, np.nan], dtype)
    info = np.iinfo(dtype)
    return np.array([info.min, info.max, 0, 1, info.max - 1, 7], dtype)


#: Settings of masking, scaling, and masks without missing values.
SETTINGS = ((True, True, True), (True, True, False), (False, True, True), (True, False, True), (False, False, False))


def readings(variable):
    """Reads a variable in many ways, under all settings."""
    found = []
    for mask, scale, always in SETTINGS:
        variable.set_auto_mask(mask)
        variable.set_auto_scale(scale)
        variable.set_always_mask(always)
        for key in (..., slice(None), 0, -1, slice(1, 4), [0, 3], slice(None, None, -2), slice(0, 0)):
            found.append(outcome(lambda key=key: variable[key]))
    return found


@pytest.mark.parametrize("format", FORMATS)
def test_each_number_type_keeps_its_values(pair, format):  # noqa: F811
    def program(module, path):
        with module.Dataset(path, "w", format=format) as file:
            file.createDimension("x", 6)
            for code in numbers_of(format):
                file.createVariable(code, code, ("x",))[:] = extremes(code)
            return [readings(variable) for variable in file.variables.values()]

    pair.run(program)


FILLS = {
    "default": {},
    "set": {"fill_value": 7},
    "written default": {"fill_value": "default"},
    "none": {"fill_value": False},
}


@pytest.mark.parametrize("format", FORMATS)
@pytest.mark.parametrize("fill", FILLS)
def test_elements_that_were_never_written(pair, format, fill):  # noqa: F811
    def program(module, path):
        with module.Dataset(path, "w", format=format) as file:
            file.createDimension("x", 6)
            found = []
            for code in (*numbers_of(format), "S1"):
                # The other package writes 0 instead of the default of f4.
                if code == "S1" and fill == "set" or code == "f4" and fill == "written default":
                    continue
                variable = file.createVariable(code, code, ("x",), **FILLS[fill])
                if fill == "none":
                    variable[:] = np.zeros(6, code)
                variable[1:3] = np.array([1, 7]).astype(code)
                found.append([outcome(variable.get_fill_value), readings(variable)])
            return found

    pair.run(program)


ATTRIBUTES = {
    "missing": {"missing_value": 1},
    "several missing": {"missing_value": [1, 7]},
    "missing of another type": {"missing_value": np.float64(1)},
    "missing that does not fit": {"missing_value": 1.5},
    "missing text": {"missing_value": "one"},
    "minimum": {"valid_min": 1},
    "maximum": {"valid_max": 7},
    "range": {"valid_range": [1, 7]},
    "wrong range": {"valid_range": [1, 2, 3]},
    "scale": {"scale_factor": 0.1},
    "scale in single precision": {"scale_factor": np.float32(0.1)},
    "offset": {"add_offset": 10.0},
    "scale and offset": {"scale_factor": 0.25, "add_offset": -3.0},
    "scale of 1": {"scale_factor": 1.0, "add_offset": 0.0},
    "whole scale": {"scale_factor": 2, "add_offset": 1},
    "wrong scale": {"scale_factor": "much"},
    "unsigned": {"_Unsigned": "true"},
    "unsigned and missing": {"_Unsigned": "true", "missing_value": 1},
    "not unsigned": {"_Unsigned": "false"},
    "scale and unsigned": {"_Unsigned": "True", "scale_factor": 0.5},
    "all": {"missing_value": 1, "scale_factor": 0.5, "add_offset": 2.0, "valid_range": [0, 100]},
}


@pytest.mark.parametrize("attributes", ATTRIBUTES)
@pytest.mark.parametrize("fill", ["default", "set"])
def test_attributes_of_missing_and_packed_values(pair, attributes, fill):  # noqa: F811
    def program(module, path):
        with module.Dataset(path, "w") as file:
            file.createDimension("x", 6)
            found = []
            for code in NUMBERS:
                variable = file.createVariable(code, code, ("x",), **FILLS[fill])
                variable.set_auto_maskandscale(False)
                variable[:] = extremes(code)
                for name, value in ATTRIBUTES[attributes].items():
                    found.append(outcome(lambda: setattr(variable, name, value)))
                found.append(readings(variable))
            return found

    pair.run(program)


@pytest.mark.parametrize("code", NUMBERS)
@pytest.mark.parametrize(
    "attributes",
    [
        {},
        {"missing_value": 1},
        {"scale_factor": 0.5},
        {"scale_factor": 0.5, "add_offset": 1.0},
        {"add_offset": 2},
        {"missing_value": 1, "scale_factor": 0.5},
    ],
)
def test_masked_values_become_fill_values(pair, code, attributes):  # noqa: F811
    values = np.ma.masked_array([1, 2, 3, 4, 5, 6], mask=[1, 0, 1, 0, 0, 0])

    def program(module, path):
        with module.Dataset(path, "w") as file:
            file.createDimension("x", 6)
            found = []
            for name, kwargs in FILLS.items():
                if code == "f4" and name == "written default":
                    continue
                for given in (values, values.astype("f8"), values.astype(code), values.data, values.data.tolist()):
                    variable = file.createVariable(f"{name} {len(found)}", code, ("x",), **kwargs)
                    variable.setncatts(
                        {
                            key: np.array(value).astype(code) if key == "missing_value" else value
                            for key, value in attributes.items()
                        }
                    )
                    found.append(outcome(lambda: variable.__setitem__(slice(None), given)))
                    found.append(outcome(lambda: variable.__setitem__(1, np.ma.masked)))
                    found.append(readings(variable))
            return found

    pair.run(program)


def test_unsigned_values_wrap_into_signed_variables(pair):  # noqa: F811
    def program(module, path):
        with module.Dataset(path, "w") as file:
            file.createDimension("x", 3)
            variable = file.createVariable("v", "i1", ("x",))
            variable._Unsigned = "true"
            variable[:] = np.array([0, 200, 255], "u1")
            return readings(variable)

    pair.run(program)


def test_masks_of_scalars(pair):  # noqa: F811
    def program(module, path):
        found = []
        with module.Dataset(path, "w") as file:
            for code in (*NUMBERS, "S1"):
                variable = file.createVariable(code, code, ())
                for key in (..., 0, slice(None), ()):
                    found.append(outcome(lambda: variable[key]))
                variable[...] = extremes(code)[3] if code != "S1" else "x"
                for key in (..., 0, slice(None), (), -1):
                    found.append(outcome(lambda: variable[key]))
                found.append(outcome(variable.getValue))
                found.append(outcome(lambda: variable[1]))
        return found

    pair.run(program)


def test_characters(pair):  # noqa: F811
    def program(module, path):
        with module.Dataset(path, "w") as file:
            file.createDimension("x", 6)
            found = []
            for fill in (None, "x", b"x", False, "default"):
                variable = file.createVariable(f"c{fill}", "S1", ("x",), fill_value=fill)
                variable[:] = np.array(list("ax\0 yz"), "S1")
                found.append(readings(variable))
            return found

    pair.run(program)
