/* Datasets in memory. */
#ifndef NETCDF_MEM_H
#define NETCDF_MEM_H

#include <netcdf.h>

/* The memory of a dataset. With NC_MEMIO_LOCKED the caller keeps it. */
typedef struct NC_memio {
    size_t size;
    void *memory;
    int flags;
} NC_memio;

#define NC_MEMIO_LOCKED 1

#ifdef __cplusplus
extern "C" {
#endif

int nc_open_mem(const char *path, int mode, size_t size, void *memory, int *ncidp);
int nc_create_mem(const char *path, int mode, size_t initialsize, int *ncidp);
int nc_open_memio(const char *path, int mode, NC_memio *info, int *ncidp);
int nc_close_memio(int ncid, NC_memio *info);

#ifdef __cplusplus
}
#endif

#endif
