/* Processes create one store together and fill parts of it, without communication.
 * Arguments: URL, processes, 1 with an unlimited dimension. Prints the number of failures. */
#define _POSIX_C_SOURCE 200112L
#include <netcdf.h>
#include <netcdf_par.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/wait.h>
#include <unistd.h>

#define PART 7
#define ROWS 3
#define MOST 64

static int failures, processes, has_records;

static void check(int code, int line)
{
    const char *message = ncz_last_error();

    if (code == NC_NOERR)
        return;
    printf("line %d: %d (%s): %s\n", line, code, nc_strerror(code), message ? message : "");
    fflush(stdout);
    failures++;
}

#define OK(call) check((call), __LINE__)
#define TRUE(condition) check((condition) ? 0 : NC_EINVAL, __LINE__)

/* Process `me` writes a part of each row of `v`, one row of `w`, and one record of `r`. */
static void write_part(const char *path, int me)
{
    int nc, group, dims[2], rows, columns, records, v, w, r, i, row, values[PART], fill = -5;
    size_t chunks[2] = {2, 10}, start[2] = {0, 0}, count[2] = {1, PART};
    char name[20];

    OK(nc_create_par_fortran(path, NC_CLOBBER | NC_NETCDF4, 0, 0, &nc));
    OK(nc_put_att_text(nc, NC_GLOBAL, "title", 8, "together"));
    snprintf(name, sizeof name, "by_%d", me);
    OK(nc_put_att_int(nc, NC_GLOBAL, name, NC_INT, 1, &me));
    OK(nc_def_dim(nc, "rows", ROWS, &rows));
    OK(nc_def_dim(nc, "columns", (size_t)processes * PART, &columns));
    OK(nc_def_dim(nc, "t", has_records ? NC_UNLIMITED : (size_t)processes, &records));
    OK(nc_def_grp(nc, "g", &group));
    dims[0] = rows;
    dims[1] = columns;
    OK(nc_def_var(nc, "v", NC_INT, 2, dims, &v));
    OK(nc_def_var_chunking(nc, v, NC_CHUNKED, chunks));
    OK(nc_def_var_deflate(nc, v, 1, 1, 1));
    OK(nc_def_var_fill(nc, v, NC_FILL, &fill));
    OK(nc_put_att_text(nc, v, "units", 1, "K"));
    dims[0] = records;
    OK(nc_def_var(group, "w", NC_SHORT, 1, dims, &w));
    OK(nc_def_var(nc, "r", NC_DOUBLE, 2, dims, &r));
    OK(nc_enddef(nc));
    OK(nc_var_par_access(nc, v, NC_COLLECTIVE));
    for (row = 0; row < ROWS; row++) {
        for (i = 0; i < PART; i++)
            values[i] = row * 100000 + me * PART + i;
        start[0] = (size_t)row;
        start[1] = (size_t)me * PART;
        OK(nc_put_vara_int(nc, v, start, count, values));
    }
    start[0] = (size_t)me;
    count[1] = (size_t)processes * PART;
    OK(nc_put_var1_int(group, w, start, &me));
    for (start[1] = 0; start[1] < (size_t)processes * PART; start[1]++) {
        i = me * 1000 + (int)start[1];
        OK(nc_put_var1_int(nc, r, start, &i));
    }
    OK(nc_close(nc));
}

static void read_all(const char *path)
{
    int nc, group, v, w, r, i, row, length = 0, me;
    int *values = malloc(sizeof(int) * (size_t)processes * PART * MOST);
    size_t len = 0;
    char name[20];

    OK(nc_open_par_fortran(path, NC_NOWRITE, 0, 0, &nc));
    OK(nc_inq_varid(nc, "v", &v));
    OK(nc_get_var_int(nc, v, values));
    for (row = 0; row < ROWS; row++)
        for (i = 0; i < processes * PART; i++)
            TRUE(values[row * processes * PART + i] == row * 100000 + i);
    OK(nc_inq_ncid(nc, "g", &group));
    OK(nc_inq_varid(group, "w", &w));
    OK(nc_inq_varid(nc, "r", &r));
    OK(nc_inq_dimid(nc, "t", &i));
    OK(nc_inq_dimlen(nc, i, &len));
    TRUE(len == (size_t)processes);
    OK(nc_get_var_int(group, w, values));
    for (me = 0; me < processes; me++)
        TRUE(values[me] == me);
    OK(nc_get_var_int(nc, r, values));
    for (me = 0; me < processes; me++)
        for (i = 0; i < processes * PART; i++)
            TRUE(values[me * processes * PART + i] == me * 1000 + i);
    for (me = 0; me < processes; me++) {
        snprintf(name, sizeof name, "by_%d", me);
        OK(nc_get_att_int(nc, NC_GLOBAL, name, &length));
        TRUE(length == me);
    }
    OK(nc_close(nc));
    free(values);
}

int main(int argc, char **argv)
{
    int me, status;

    if (argc != 4)
        return 2;
    processes = atoi(argv[2]);
    has_records = atoi(argv[3]);
    if (processes < 1 || processes > MOST)
        return 2;
    for (me = 0; me < processes; me++)
        if (fork() == 0) {
            write_part(argv[1], me);
            _exit(failures != 0);
        }
    while (wait(&status) > 0)
        TRUE(WIFEXITED(status) && WEXITSTATUS(status) == 0);
    read_all(argv[1]);
    printf("%d failures\n", failures);
    return failures != 0;
}
