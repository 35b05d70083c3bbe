#ifndef NCUDFPLUGINS_H
#define NCUDFPLUGINS_H

#ifdef __cplusplus
extern "C" {
#endif

/* Loads the user-defined formats that rc files name (NETCDF.UDF0.LIBRARY, .INIT and .MAGIC). Returns 0. */
int NC_udf_load_plugins(void);

#ifdef __cplusplus
}
#endif

#endif
