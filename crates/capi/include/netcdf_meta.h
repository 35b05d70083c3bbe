/* The features of this build, for programs that adapt to them. */
#ifndef NETCDF_META_H
#define NETCDF_META_H

/* The version of the interface. nc_inq_libvers() returns the version of the library. */
#define NC_VERSION_MAJOR 4
#define NC_VERSION_MINOR 10
#define NC_VERSION_PATCH 1
#define NC_VERSION_NOTE  ""
#define NC_VERSION       "4.10.1"

#define NC_HAS_NC2          1
#define NC_HAS_NC4          1
#define NC_HAS_HDF4         1
#define NC_HAS_HDF5         1
#define NC_HAS_CDF5         1
#define NC_HAS_NCZARR       1
#define NC_HAS_NCZARR_ZIP   1
#define NC_HAS_DISKLESS     1
#define NC_HAS_MMAP         0
#define NC_HAS_JNA          0
#define NC_HAS_PNETCDF      0
#define NC_HAS_PARALLEL     0
#define NC_HAS_PARALLEL4    0
#define NC_HAS_PAR_FILTERS  0
#define NC_HAS_DAP          0
#define NC_HAS_DAP2         0
#define NC_HAS_DAP4         0
#define NC_HAS_BYTERANGE    0
#define NC_HAS_ERANGE_FILL  1
#define NC_RELAX_COORD_BOUND 1
#define NC_HAS_LOGGING      0
#define NC_HAS_QUANTIZE     1
#define NC_HAS_SZIP         1
#define NC_HAS_SZIP_WRITE   1
#define NC_HAS_ZSTD         1
#define NC_HAS_BZ2          1
#define NC_HAS_BLOSC        1
#define NC_HAS_MULTIFILTERS 1
#define NC_HAS_BENCHMARKS   0
#define NC_HAS_UDF_SELF_LOAD 0
#define NC_HAS_S3           0
#define NC_HAS_S3_AWS       0
#define NC_HAS_S3_INTERNAL  0
#define NC_HAS_HDF5_ROS3    0
#define NC_HAS_NCZARR_FILTERS 1
#define NC_HAS_INMEMORY     1
#define NC_DISPATCH_VERSION 5

#endif
