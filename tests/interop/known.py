"""Known differences of readers for copies: patterns (reader, dataset, object, found), and reasons."""

CODEC = "it has not the codec"
SWAPPED = "netCDF-C swaps the fill value of big-endian arrays where a chunk is missing"
RANK = "release 4.10.1 does not show arrays of rank 0 of pure Zarr"
NO_TYPE = "it opens no group in which an array has a type that netCDF-C has no word for"
NO_UTF8 = "the binding takes all text for UTF-8"
BASE64 = "netCDF-C takes the base64 of a fill value for the text itself"
PLAIN_FILL = "netCDF-C reads these and wants fill values of text as they are, which is no base64"
SCALAR_TEXT = "it drops the dimension that netCDF-C gives a scalar, or splits its characters"
ATTRIBUTES = "it opens no dataset with such attributes, as JSON objects, or numbers beyond the type of the first"
FIXED = "text of fixed length reads as nothing"
STORED = "the copy has the bytes of the original, which it does not decode either"

COPIES = {
    ("netcdf-c", "gdal/*blosc-snappy*", "open", "*Filter error*"): STORED,
    ("netcdf-c", "hand/v2/zstd-*", "open", "*Filter error*"): STORED,
    ("tensorstore", "*", "*", "ValueError: FAILED_PRECONDITION: *"): "it has not the type, the fill value, or the codec",
    ("tensorstore", "*", "*", "ValueError: NOT_FOUND: *"): "names with a backslash are no paths to it",
    ("netcdf-c", "*", "open", "*undefined filter*"): CODEC,
    ("netcdf-c", "* zarr", "open", "*Invalid argument*"): "a negative level of zstd is an illegal parameter to it",
    ("*", "*", "*", "UnknownCodecError: *"): CODEC,
    ("*", "gdal/*", "*", "*unexpected keyword argument 'delta'"): "it does not know GDAL's member of the codec",
    ("*", "netcdf-c/*", "*", "*No Zarr data type found that matches *>S1*"): "netCDF's characters are no type to it",
    ("*", "*", "*", "*No Zarr data type found that matches *"): "records in records, and fields with a shape, are no types to it",
    ("*", "* nczarr", "*", "Error: Incorrect padding"): PLAIN_FILL,
    ("netcdf-c", "* zarr", "open", "*NCZarr error*"): NO_TYPE,
    ("netcdf-c", "* nczarr", "open", "*NCZarr error*"): NO_TYPE,
    ("netcdf-c", "* zarr", "/*", "KeyError: *"): RANK,
    ("netcdf-c", "*", "open", "UnicodeDecodeError: *"): NO_UTF8,
    ("netcdf-c", "*", "open", "*Numeric conversion not representable*"): ATTRIBUTES,
    ("netcdf-c", "*", "open", "*type mismatch*"): ATTRIBUTES,
    ("netcdf-c", "v2/fill/be-*", "*", "*"): SWAPPED,
    ("*", "netcdf-c/endian_*", "*be_fill", "*"): SWAPPED,
    ("netcdf-c", "v2/fill/* zarr", "*", "*"): BASE64,
    ("*", "*", "*", "*cannot reshape array of size *"): SCALAR_TEXT,
    ("*", "netcdf-c/names_*", "*back?slash", "KeyError: *"): "names with a backslash are no paths to it",
    ("xarray", "xarray/*", "*", "*True*"): "it makes truth values of what an attribute of its own says is one",
    ("tensorstore", "*", "*", "*''*"): FIXED,
    ("tensorstore", "v2/shape/scalar-bytes32*", "*", ""): FIXED,
    ("tensorstore", "v2/struct/one-field*", "*", "*"): "it reads a record of one field as that field",
    ("netcdf-c", "netcdf-c/missing_userfill_* zarr", "*", "*"): BASE64,
    ("netcdf-c", "netcdf-c/strings_* zarr", "/mis", "*"): BASE64,
    ("netcdf-c", "netcdf-c/names_1", "original", "*"): "it does not open this archive once it is unpacked",
    ("*", "netcdf-c/missing_userfill_* nczarr", "*", "*"): PLAIN_FILL,
    ("*", "* nczarr", "*", "UnicodeEncodeError: *"): PLAIN_FILL,
}

EXTENT = "netCDF-C lets a variable grow to what was written of it; the copy has all its records"
UNWRITTEN = "netCDF-C gives back memory that nobody wrote, another one each time"
MADE_UP = "dimensions that the original does not name have names in the copy"
ORDER = "numbers in compounds are little-endian in the copy"
REFERENCE = "netCDF has no type for references"
BINDING = "the binding has no such types"

# The same for copies of HDF5 datasets to netCDF-4 files.
HDF5_COPIES = {
    ("ncz", "hdf5/*", "copy", "*NC_EBADTYPID: ref*"): REFERENCE,
    ("ncz", "hdf5/external.h5", "copy", "*NC_ESTORAGE: above: *"): "some of its data are beside the corpus, on purpose",
    ("ncz", "hdf5/virtual-odd.h5", "copy", "*NC_EHDFERR: growing: *"): "its data are its own, on purpose",
    ("ncz", "hdf5/stretches.h5", "copy", "*NC_ENOTFOUND: many: *"): "some of its data are beside the corpus, on purpose",
    ("*", "hdf5/nbit.h5", "*", "*"): "numbers of a few bits become whole ones in the copy, and netCDF-C does not convert them",
    ("ncz", "hdf5/*", "reported", "*loss: filters left out: *it *"): "not all filters are written",
    ("h5py", "*/nc4_*", "/never", "*"): EXTENT,
    ("h5py", "*/nc4_*", "/short_rec", "*"): EXTENT,
    ("h5py", "*/nc4_append.nc", "/rec2", "*"): EXTENT,
    ("h5py", "*/nc4_append.nc", "/two", "*"): EXTENT,
    ("netcdf-c", "*/nc4_append.nc", "/two", "*"): UNWRITTEN,
    ("netcdf-c", "*/f03tst_open_mem.nc", "/var2", "*"): UNWRITTEN,
    ("h5py", "*.h5", "*", "*phony_dim_*"): MADE_UP,
    ("h5py", "*.h5", "*/phony_dim_* dimension", "*"): MADE_UP,
    ("h5netcdf", "*/virtual*.h5", "*", "*phony_dim_*"): "it numbers such dimensions in another order than netCDF-C",
    ("h5py", "*/virtual-?.h5", "/soft*", "*"): "a link is a variable of its own to netCDF-C",
    ("h5*", "*/virtual*.h5", "*record type", "*"): "netCDF-C has no types with big-endian members, and a type has a name there",
    ("h5*", "*/virtual*.h5", "*_AnonymousCompound1 type", "*"): "the same",
    ("h5netcdf", "*/virtual*.h5", "/ cmptypes", "*"): "the same",
    ("h5*", "*/virtual*.h5", "*text type", "*"): "text of a fixed size is a string to netCDF-C",
    ("h5netcdf", "*/ref_groups.h5", "*", "*phony_dim_*"): "it numbers such dimensions in another order than netCDF-C",
    ("h5netcdf", "*/ref_tst_compounds.nc", "/ cmptypes", "*"): ORDER,
    ("h5py", "*/ref_tst_compounds.nc", "/obs* type", "*"): ORDER,
    ("h5netcdf", "*/ref_tst_compounds.nc", "/obs type", "*"): ORDER,
    ("netcdf-c", "*", "original", "*unsupported datatype*"): BINDING,
    ("netcdf-c", "*", "original", "*nested structured dtype arrays not supported*"): BINDING,
    ("h5netcdf", "*/nc4_ut_opaque_vlen.nc", "original", "*'NoneType' object has no attribute 'maps'*"): BINDING,
}
