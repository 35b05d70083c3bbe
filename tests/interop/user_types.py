"""Compares the files of `ncz gen` from user_types.cdl, as netCDF-C, h5py and h5netcdf read them.

usage: user_types.py FILE CLASSIC PLAIN

CLASSIC: a netCDF-4 file of the classic model. PLAIN: FILE without opaque types. h5netcdf opens no file with
opaque types, also none by netCDF-C. It shows the types of compounds with arrays, but not their values.
"""

import sys
import warnings

import h5netcdf
import h5py
import netCDF4


def check(what, found, expected):
    if found != expected:
        failed.append(f"{what}: {found!r}, expected {expected!r}")


failed = []
# The binding warns about skipped items: enums, opaques and strings in compounds.
warnings.simplefilter("ignore")
file = netCDF4.Dataset(sys.argv[1])
file.set_auto_maskandscale(False)
check("format", file.data_model, "NETCDF4")
check("enum", file.enumtypes["cloud"].enum_dict, {"Clear": 0, "Cumulus": 1, "Missing": 255})
check("types", (list(file.vltypes), list(file.cmptypes), list(file["g"].vltypes)), (["list"], ["point"], ["inner"]))
check("enum values", file["c"][:].tolist(), [0, 1, 255])
check("lists", [[item.tolist() for item in row] for row in file["l"][:]], [[[1], [2, 3], []], [[4, 5, 6], [], [7]]])
check("strings", file["s"][:].tolist(), ["one", ""])
check("a variable with a dimension's name", (file["t"].dimensions, file["t"][:].tolist()), (("x",), [5, 6, 7]))
points = [(point["id"], point["at"].tolist()) for point in file["p"][:]]
check("compounds", points, [(1, [0.5, 1]), (2, [1.5, 2]), (3, [2.5, 3])])
check("a compound of another group's type", file["g/q"][...]["at"].tolist(), [8, 7])
check("a list of one group", file["g/i"][...].tolist(), [1, 2])
check("a compound attribute", file.where["at"].tolist(), [1.5, 2.5])
file.close()

file = h5py.File(sys.argv[1])
check("opaque", file["r"][:].tolist(), [b"\1\2\3", b"\4\5\6", b"\7\x08\x09"])
check("named types", [file["p"].id.get_type().committed(), file["g/q"].id.get_type().committed()], [True, True])
check("enum in a compound", file["n"]["seen"].tolist(), [1, 0, 255])
check("strings in a compound", file["n"]["name"].tolist(), [b"one", b"", b"three"])
check("lists in a compound", [items.tolist() for items in file["n"]["items"]], [[1, 2], [], [7]])
check("rows in a compound", file["n"]["pair"].tolist(), [[3, 4], [5, 6], [8, 9]])
check("list attribute", [item.tolist() for item in file.attrs["lists"]], [[1, 2], [], [3]])
file.close()

file = netCDF4.Dataset(sys.argv[2])
check("classic model", file.data_model, "NETCDF4_CLASSIC")
check("records", file["r"][:].tolist(), [[1, 2], [3, 4]])
file.close()

with h5netcdf.File(sys.argv[3], "r", decode_vlen_strings=True) as file:
    dims = [(name, dim.size, dim.isunlimited()) for name, dim in file.dims.items()]
    check("h5netcdf: dimensions", dims, [("x", 3, False), ("t", 2, True)])
    types = [sorted(types) for types in (file.enumtypes, file.cmptypes, file.vltypes, file["g"].vltypes)]
    check("h5netcdf: types", types, [["cloud"], ["point", "tagged"], ["list"], ["inner"]])
    check("h5netcdf: enum", file.enumtypes["cloud"].enum_dict, {"Clear": 0, "Cumulus": 1, "Missing": 255})
    fields = file.cmptypes["point"].dtype
    check("h5netcdf: fields", [(name, str(fields[name].base), fields[name].shape) for name in fields.names],
          [("id", "int32", ()), ("at", "float32", (2,)), ("seen", "int8", ())])
    of = [(name, file[name].datatype.name) for name in "clpn"] + [("g/q", file["g/q"].datatype.name)]
    check("h5netcdf: types of variables", of, [("c", "cloud"), ("l", "list"), ("p", "point"), ("n", "tagged"), ("g/q", "point")])
    check("h5netcdf: enum values", file["c"][...].tolist(), [0, 1, 255])
    check("h5netcdf: lists", [[item.tolist() for item in row] for row in file["l"][...]], [[[1], [2, 3], []], [[4, 5, 6], [], [7]]])
    check("h5netcdf: strings", file["s"][...].tolist(), ["one", ""])
    check("h5netcdf: a variable with a dimension's name", (file["t"].dimensions, file["t"][...].tolist()), (("x",), [5, 6, 7]))
    check("h5netcdf: attributes", (file.attrs["best"], [item.tolist() for item in file.attrs["lists"]]), ("no", [[1, 2], [], [3]]))
for line in failed:
    print("  FAILED", line)
print(f"others read user-defined types that nczarr wrote: {len(failed)} failed")
sys.exit(1 if failed else 0)
