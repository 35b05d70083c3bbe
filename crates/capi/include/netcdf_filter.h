/* Filters of variables, by their HDF5 ids. */
#ifndef NETCDF_FILTER_H
#define NETCDF_FILTER_H

#include <netcdf.h>
#include <stddef.h>

/* Ids. */
#ifndef H5Z_FILTER_DEFLATE
#define H5Z_FILTER_DEFLATE 1
#endif
#ifndef H5Z_FILTER_SHUFFLE
#define H5Z_FILTER_SHUFFLE 2
#endif
#ifndef H5Z_FILTER_FLETCHER32
#define H5Z_FILTER_FLETCHER32 3
#endif
#ifndef H5Z_FILTER_SZIP
#define H5Z_FILTER_SZIP 4
#endif
#ifndef H5_SZIP_ALLOW_K13_OPTION_MASK
#define H5_SZIP_ALLOW_K13_OPTION_MASK 1
#endif
#ifndef H5_SZIP_CHIP_OPTION_MASK
#define H5_SZIP_CHIP_OPTION_MASK 2
#endif
#ifndef H5_SZIP_EC_OPTION_MASK
#define H5_SZIP_EC_OPTION_MASK 4
#endif
#ifndef H5_SZIP_LSB_OPTION_MASK
#define H5_SZIP_LSB_OPTION_MASK 8
#endif
#ifndef H5_SZIP_MSB_OPTION_MASK
#define H5_SZIP_MSB_OPTION_MASK 16
#endif
#ifndef H5_SZIP_NN_OPTION_MASK
#define H5_SZIP_NN_OPTION_MASK 32
#endif
#ifndef H5_SZIP_MAX_PIXELS_PER_BLOCK
#define H5_SZIP_MAX_PIXELS_PER_BLOCK 32
#endif
#ifndef H5_SZIP_RAW_OPTION_MASK
#define H5_SZIP_RAW_OPTION_MASK 128
#endif
#ifndef NC_SZIP_EC
#define NC_SZIP_EC 4
#endif
#ifndef NC_SZIP_NN
#define NC_SZIP_NN 32
#endif
#ifndef H5_SZIP_ALL_MASKS
#define H5_SZIP_ALL_MASKS (H5_SZIP_CHIP_OPTION_MASK|H5_SZIP_EC_OPTION_MASK|H5_SZIP_NN_OPTION_MASK)
#endif
#ifndef NC_MAX_PIXELS_PER_BLOCK
#define NC_MAX_PIXELS_PER_BLOCK 32
#endif
#ifndef H5Z_FILTER_ZSTD
#define H5Z_FILTER_ZSTD 32015
#endif
#ifndef H5Z_FILTER_BZIP2
#define H5Z_FILTER_BZIP2 307
#endif
#ifndef H5Z_FILTER_BLOSC
#define H5Z_FILTER_BLOSC 32001
#endif

/* A list of directories. */
typedef struct NCPluginList {
    size_t ndirs;
    char **dirs;
} NCPluginList;

#ifdef __cplusplus
extern "C" {
#endif

int nc_def_var_filter(int ncid, int varid, unsigned int id, size_t nparams, const unsigned int *params);
int nc_inq_var_filter(int ncid, int varid, unsigned int *idp, size_t *nparams, unsigned int *params);
int nc_inq_var_filter_ids(int ncid, int varid, size_t *nfilters, unsigned int *filterids);
int nc_inq_var_filter_info(int ncid, int varid, unsigned int id, size_t *nparams, unsigned int *params);
int nc_inq_filter_avail(int ncid, unsigned id);
int nc_def_var_bzip2(int ncid, int varid, int level);
int nc_inq_var_bzip2(int ncid, int varid, int *hasfilterp, int *levelp);
int nc_def_var_zstandard(int ncid, int varid, int level);
int nc_inq_var_zstandard(int ncid, int varid, int *hasfilterp, int *levelp);
int nc_def_var_blosc(int ncid, int varid, unsigned subcompressor, unsigned level, unsigned blocksize,
    unsigned addshuffle);
int nc_inq_var_blosc(int ncid, int varid, int *hasfilterp, unsigned *subcompressorp, unsigned *levelp,
    unsigned *blocksizep, unsigned *addshufflep);

/* The directories of plugins: first those of HDF5_PLUGIN_PATH. The library keeps the list, but loads no plugins. */
int nc_plugin_path_ndirs(size_t *ndirsp);
int nc_plugin_path_get(NCPluginList *dirs);
int nc_plugin_path_set(NCPluginList *dirs);
int nc_plugin_path_initialize(void);
int nc_plugin_path_finalize(void);

#ifdef __cplusplus
}
#endif

#endif
