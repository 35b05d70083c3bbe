"""Opens what `ncz gen` made of user_types.cdl with netCDF-C and h5py, and compares.

usage: user_types.py FILE CLASSIC

CLASSIC: a file of the classic model, in a netCDF-4 file.
"""

import sys
import warnings

import h5py
import netCDF4


def check(what, found, expected):
    if found != expected:
        failed.append(f"{what}: {found!r}, expected {expected!r}")


failed = []
# The binding says what it skips: enums, opaques and strings in compounds.
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
for line in failed:
    print("  FAILED", line)
print(f"others read user-defined types that nczarr wrote: {len(failed)} failed")
sys.exit(1 if failed else 0)
