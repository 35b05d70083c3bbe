"""Text, user-defined types and attributes: ours gives what the package netCDF4 gives."""

import numpy as np
import pytest
from netcdf4_pair import FORMATS, outcome, pair, seen  # noqa: F401

ATTRIBUTES = {
    "text": "metres",
    "empty": "",
    "unicode": "Größe",
    "bytes": b"abc",
    "int": 5,
    "big": 2**31 - 1,
    "float": 2.5,
    "int list": [1, 2, 3],
    "float list": [0.5, 1.5],
    "text list": ["a", "bc", ""],
    "one text": ["only"],
    "tuple": (1, 2.5),
    "no numbers": np.array([], "f4"),
    "chars": np.array(list("abc"), "S1"),
    "words": np.array(["ab", "c"]),
    "true": True,
    "none": None,
    "complex": 1j,
    "two dimensions": [[1, 2], [3, 4]],
    "mixed": [1, "a"],
    "masked": np.ma.masked_array([1, 2], mask=[0, 1]),
    "dict": {},
    "text of nulls": "a\0b",
    "big endian": np.array([1, 2], ">i4"),
    **{
        code: np.array([1, 2], code) for code in ("i1", "u1", "i2", "u2", "i4", "u4", "i8", "u8", "f4", "f8", "f2", "?")
    },
    **{f"one {code}": np.dtype(code).type(3) for code in ("i1", "u2", "i8", "u8", "f4", "f8")},
}


@pytest.mark.parametrize("format", FORMATS)
@pytest.mark.parametrize("strings", [False, True])
def test_attributes(pair, format, strings):  # noqa: F811
    def program(module, path):
        found = {}
        with module.Dataset(path, "w", format=format) as file:
            file.createDimension("x", 2)
            variable = file.createVariable("v", "f4", ("x",))
            for owner in (file, variable):
                owner.set_ncstring_attrs(strings)
                for name, value in ATTRIBUTES.items():
                    # The other package writes such bytes in the wrong order, and cuts such strings.
                    if name == "big endian" or name == "text of nulls" and strings:
                        continue
                    found[name] = [
                        outcome(lambda: owner.setncattr(name.replace(" ", "_"), value)),
                        outcome(lambda: owner.getncattr(name.replace(" ", "_"))),
                    ]
            found["all"] = [file.ncattrs(), seen(file.__dict__), seen(variable.__dict__)]
        return found

    pair.run(program)


def test_big_endian_attributes_keep_their_values(tmp_path):
    from nczarr import netCDF4

    with netCDF4.Dataset(str(tmp_path / "a.nc"), "w") as file:
        file.a = ATTRIBUTES["big endian"]
        assert file.a.tolist() == [1, 2]


def test_attribute_members(pair):  # noqa: F811
    def program(module, path):
        with module.Dataset(path, "w") as file:
            variable = file.createVariable("v", "i2", ())
            variable.units, file.title, file.number = "m", "t", np.int16(4)
            found = [variable.units, file.title, hasattr(file, "missing"), hasattr(variable, "_FillValue")]
            for action in (
                lambda: setattr(variable, "_FillValue", 1),
                lambda: variable.setncattr("_FillValue", 1),
                lambda: setattr(variable, "shape", 1),
                lambda: setattr(variable, "mask", False),
                lambda: setattr(variable, "name", "w"),
                lambda: delattr(variable, "units"),
                lambda: variable.units,
                lambda: delattr(file, "absent"),
                lambda: file.renameAttribute("title", "subject"),
                lambda: file.subject,
                lambda: variable.setncatts({"a": 1, "b": "x"}),
                variable.ncattrs,
                lambda: file.delncattr("number"),
                file.ncattrs,
                lambda: setattr(variable, "valid_min", 3),
                lambda: variable.valid_min,
                lambda: setattr(variable, "valid_max", 3.5),
                lambda: variable.valid_max,
                lambda: file.getncattr("no"),
                lambda: variable.setncattr_string("s", "x"),
                lambda: variable.setncattr_string("t", ["x", "y"]),
                lambda: setattr(file, "variables", {}),
            ):
                found.append(outcome(action))
            return found

    pair.run(program)


@pytest.mark.parametrize("encoding", [None, "utf-8", "latin-1"])
def test_strings(pair, encoding):  # noqa: F811
    def program(module, path):
        with module.Dataset(path, "w") as file:
            file.createDimension("t")
            file.createDimension("x", 3)
            found = []
            variable = file.createVariable("s", str, ("t", "x"))
            scalar = file.createVariable("one", str)
            if encoding:
                variable._Encoding = encoding
            for key, value in [
                ((0, 0), "a"),
                ((0, 1), "é"),
                ((0, -1), "last"),
                (slice(1, 2), np.array([["x", "yy", ""]], object)),
                (2, np.array(["p", "q", "r"])),
                ((slice(0, 2), 0), "z"),
                (3, ["l", "m", "n"]),
                (0, np.array([1, 2, 3])),
                ((4, 0), 5),
                ((5, 1), b"bytes"),
                ((0, 0), np.ma.masked_array(["a"], mask=[1])),
            ]:
                found.append(outcome(lambda: variable.__setitem__(key, value)))
            for key in ((0, 0), 0, ..., (slice(None), 1), ([0, 2], [0, 2]), (slice(None, None, -1), 0)):
                found.append(outcome(lambda: variable[key]))
            found.append(outcome(lambda: scalar[...]))
            for key in (..., 0):
                found.append(outcome(lambda: scalar.__setitem__(key, "text")))
                found.append(outcome(lambda: scalar[key]))
            return found

    pair.run(program)


@pytest.mark.parametrize("encoding", [None, "ascii", "utf-8", "none"])
@pytest.mark.parametrize("format", ["NETCDF4", "NETCDF3_CLASSIC"])
def test_characters_as_strings(pair, encoding, format):  # noqa: F811
    def program(module, path):
        with module.Dataset(path, "w", format=format) as file:
            file.createDimension("t")
            file.createDimension("n", 4)
            variable = file.createVariable("c", "S1", ("t", "n"))
            if encoding:
                variable._Encoding = encoding
            found = []
            words = np.array(["ab", "cdef"], "S4")
            steps = [(slice(0, 2), module.stringtochar(words))]
            if encoding not in (None, "none"):
                steps += [(slice(2, 4), words if encoding == "ascii" else words.astype("U4")), (4, "wxyz")]
            for key, value in steps:
                found.append(outcome(lambda: variable.__setitem__(key, value)))
            for convert in (True, False):
                variable.set_auto_chartostring(convert)
                for key in (
                    ...,
                    0,
                    (0, 0),
                    (slice(None), slice(0, 2)),
                    (slice(None), slice(None)),
                    ([0, 1], slice(None)),
                ):
                    found.append(outcome(lambda: variable[key]))
            return found

    pair.run(program)


def test_functions_of_strings():
    import netCDF4 as real

    from nczarr import netCDF4 as ours

    words = np.array(["a", "bcd"], "S3")
    for call in (
        lambda m: m.stringtochar(words),
        lambda m: m.stringtochar(words, n_strlen=3),
        lambda m: m.chartostring(real.stringtochar(words)),
        lambda m: m.stringtoarr("abc", 5),
        lambda m: m.stringtoarr("abc", 5, "U"),
        lambda m: m.chartostring(real.stringtochar(words), encoding="none"),
        lambda m: m.stringtochar(np.array(["é", "abc"]), encoding="utf-8", n_strlen=4),
        lambda m: m.stringtochar(np.zeros(2)),
        lambda m: m.chartostring(np.zeros(2)),
        lambda m: m.stringtoarr("a", 2, "x"),
        lambda m: m.default_fillvals,
        lambda m: m.dtype_is_complex("c16"),
        lambda m: m.dtype_is_complex("f4"),
        lambda m: m.is_native_little,
    ):
        assert outcome(lambda: call(ours)) == outcome(lambda: call(real))


INNER = np.dtype([("a", "i2"), ("b", "f8")])
OUTER = np.dtype([("name", "S6"), ("inner", INNER), ("grid", "f4", (2, 3)), ("flag", "u1")])


def test_compounds(pair):  # noqa: F811
    def program(module, path):
        with module.Dataset(path, "w") as file:
            file.createDimension("t")
            inner = file.createCompoundType(INNER, "inner")
            outer = file.createCompoundType(OUTER, "outer")
            values = np.zeros(3, OUTER)
            values["name"], values["inner"]["a"], values["flag"] = [b"one", b"second", b""], [1, -2, 3], [0, 128, 255]
            values["grid"] = np.arange(18).reshape(3, 2, 3)
            variable = file.createVariable("v", outer, ("t",))
            variable[:] = values
            simple = file.createGroup("g").createVariable("w", inner, ("t",))
            simple[2] = (7, 8.5)
            variable[3], variable[5:7] = values[1], values[0]
            found = [str(outer.dtype), str(outer.dtype_view), str(variable.dtype), variable.datatype.name]
            for convert in (True, False):
                variable.set_auto_chartostring(convert)
                for key in (..., 0, -1, slice(0, 2), [0, 2]):
                    found.append(outcome(lambda: variable[key]))
            simple.units = np.array([(1, 2.5)], np.dtype(INNER.descr, align=True))
            return [*found, outcome(lambda: simple[:]), outcome(lambda: simple.units)]

    pair.run(program)


def test_enums(pair):  # noqa: F811
    def program(module, path):
        with module.Dataset(path, "w") as file:
            file.createDimension("t")
            found = []
            for code in ("i1", "u1", "i4", "u8"):
                kind = file.createEnumType(code, f"e{code}", {"none": 0, "one": 1, "many": 100})
                variable = file.createVariable(code, kind, ("t",), fill_value=100)
                found.append(outcome(lambda: variable.__setitem__(slice(None), [0, 1, 100])))
                found.append(outcome(lambda: variable.__setitem__(0, 5)))
                found.append(outcome(lambda: variable.__setitem__(4, np.array(1))))
                found += [outcome(lambda key=key: variable[key]) for key in (..., 0, 3, slice(None, None, 2))]
                found += [kind.enum_dict, kind.name, str(kind.dtype)]
            return found

    pair.run(program)


def test_sequences(pair):  # noqa: F811
    def program(module, path):
        with module.Dataset(path, "w") as file:
            file.createDimension("t")
            file.createDimension("x", 2)
            found = []
            for code in ("i1", "i4", "u8", "f4", "f8"):
                kind = file.createVLType(np.dtype(code), f"v{code}")
                variable = file.createVariable(code, kind, ("t", "x"))
                rows = np.empty(2, object)
                rows[0], rows[1] = np.array([1, 2, 3], code), np.array([], code)
                wrong = np.empty(2, object)
                wrong[0], wrong[1] = np.array([1, 2], "i2"), np.array([1], "i2")
                for key, value in [
                    ((0, 0), np.array([5, 6], code)),
                    (1, rows),
                    (slice(2, 3), rows.reshape(1, 2)),
                    ((3, 0), np.arange(3)),
                    (0, wrong),
                    (slice(None), np.zeros(3, code)),
                    ((0, slice(None)), np.zeros(3, code)),
                ]:
                    found.append(outcome(lambda: variable.__setitem__(key, value)))
                found += [outcome(lambda key=key: variable[key]) for key in (..., (0, 0), (0, 1), 1, (slice(None), 1))]
            return found

    pair.run(program)
