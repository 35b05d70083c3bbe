/* Writes a netCDF-4 and a classic file, and ends without closing them. A forked child must not write them. */
#define _POSIX_C_SOURCE 200112L
#include <netcdf.h>
#include <stdlib.h>
#include <sys/wait.h>
#include <unistd.h>

int main(int argc, char **argv)
{
    int i, j, nc, dim, v, values[1000];
    pid_t child;

    if (argc != 3)
        return 1;
    for (i = 1; i < argc; i++) {
        if (nc_create(argv[i], i == 1 ? NC_NETCDF4 : 0, &nc) || nc_def_dim(nc, "x", 1000, &dim) ||
            nc_def_var(nc, "v", NC_INT, 1, &dim, &v))
            return 2;
        if (i == 1 && nc_def_var_deflate(nc, v, 1, 1, 1))
            return 3;
        for (j = 0; j < 1000; j++)
            values[j] = j;
        if (nc_enddef(nc) || nc_put_var_int(nc, v, values))
            return 4;
        child = fork();
        if (child == 0)
            exit(0);
        if (child < 0 || waitpid(child, NULL, 0) != child)
            return 5;
    }
    return 0;
}
