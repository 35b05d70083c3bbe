/* One Zarr store that several processes write. The communicator is not used. Files are NC_ENOPAR. */
#ifndef NETCDF_PAR_H
#define NETCDF_PAR_H

#include <netcdf.h>

#ifdef __cplusplus
extern "C" {
#endif

#define NC_INDEPENDENT 0
#define NC_COLLECTIVE  1

/* Include mpi.h before this file for these two. */
#ifdef MPI_VERSION
int nc_create_par(const char *path, int cmode, MPI_Comm comm, MPI_Info info, int *ncidp);
int nc_open_par(const char *path, int mode, MPI_Comm comm, MPI_Info info, int *ncidp);
#endif
int nc_create_par_fortran(const char *path, int cmode, int comm, int info, int *ncidp);
int nc_open_par_fortran(const char *path, int mode, int comm, int info, int *ncidp);
int nc_var_par_access(int ncid, int varid, int par_access);

#ifdef __cplusplus
}
#endif

#endif
