/* Threads create, write, close, open and read files of their own, and all read one shared file.
 * Arguments: folder, threads, files of each thread, rounds. Prints the number of failures. */
#define _POSIX_C_SOURCE 200112L
#include <netcdf.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define MOST_THREADS 64
#define ROWS 4
#define COLUMNS 25

static const char *folder;
static int files, rounds, shared_file, shared_var;
static int failures;
static pthread_mutex_t failures_lock = PTHREAD_MUTEX_INITIALIZER;

static void check(int code, int line)
{
    const char *message;

    if (code == NC_NOERR)
        return;
    pthread_mutex_lock(&failures_lock);
    message = ncz_last_error();
    printf("line %d: %d (%s): %s\n", line, code, nc_strerror(code), message ? message : "");
    failures++;
    pthread_mutex_unlock(&failures_lock);
}

#define OK(call) check((call), __LINE__)
#define TRUE(condition) check((condition) ? 0 : NC_EINVAL, __LINE__)

/* Formats take turns: CDF-1, CDF-5, netCDF-4, netCDF-4 with compression in a group, NCZarr. */
enum { CLASSIC, CDF5, NETCDF4, COMPRESSED, STORE, KINDS };

static const int modes[KINDS] = {0, NC_64BIT_DATA, NC_NETCDF4, NC_NETCDF4, NC_NETCDF4};

static int value(int thread, int file, int round, int at)
{
    return ((thread * 8 + file) * 1000 + round) * ROWS * COLUMNS + at;
}

static void fill(int *values, int thread, int file, int round)
{
    int at;

    for (at = 0; at < ROWS * COLUMNS; at++)
        values[at] = value(thread, file, round, at);
}

static void write_file(const char *path, int kind, const int *values, int round)
{
    int nc, group, dims[2], v;
    size_t start[2] = {0, 0}, count[2] = {1, COLUMNS};

    OK(nc_create(path, modes[kind] | NC_CLOBBER, &nc));
    OK(nc_def_dim(nc, "t", NC_UNLIMITED, &dims[0]));
    OK(nc_def_dim(nc, "x", COLUMNS, &dims[1]));
    group = nc;
    if (kind == COMPRESSED)
        OK(nc_def_grp(nc, "g", &group));
    OK(nc_def_var(group, "v", NC_INT, 2, dims, &v));
    if (kind == COMPRESSED)
        OK(nc_def_var_deflate(group, v, 1, 1, 1));
    OK(nc_put_att_int(group, v, "round", NC_INT, 1, &round));
    OK(nc_enddef(nc));
    for (start[0] = 0; start[0] < ROWS; start[0]++)
        OK(nc_put_vara_int(group, v, start, count, values + start[0] * COLUMNS));
    OK(nc_close(nc));
}

static void read_file(const char *path, int kind, const int *expected, int round)
{
    int nc, group, v, found_round = -1, values[ROWS * COLUMNS];
    size_t len = 0;

    memset(values, 0, sizeof values);
    OK(nc_open(path, NC_NOWRITE, &nc));
    group = nc;
    if (kind == COMPRESSED)
        OK(nc_inq_ncid(nc, "g", &group));
    OK(nc_inq_varid(group, "v", &v));
    OK(nc_inq_dimlen(nc, 0, &len));
    TRUE(len == ROWS);
    OK(nc_get_att_int(group, v, "round", &found_round));
    TRUE(found_round == round);
    OK(nc_get_var_int(group, v, values));
    TRUE(memcmp(values, expected, sizeof values) == 0);
    OK(nc_close(nc));
}

static void *work(void *argument)
{
    int thread = *(int *)argument, file, round, kind, values[ROWS * COLUMNS], shared[ROWS * COLUMNS];
    char path[2000];

    for (round = 0; round < rounds; round++)
        for (file = 0; file < files; file++) {
            kind = (thread + file) % KINDS;
            snprintf(path, sizeof path, kind == STORE ? "file://%s/%d-%d.zarr#mode=nczarr,file" : "%s/%d-%d.nc",
                     folder, thread, file);
            fill(values, thread, file, round);
            write_file(path, kind, values, round);
            read_file(path, kind, values, round);
            OK(nc_get_var_int(shared_file, shared_var, shared));
            TRUE(shared[0] == value(0, 0, 0, 0) && shared[ROWS * COLUMNS - 1] == value(0, 0, 0, ROWS * COLUMNS - 1));
        }
    return NULL;
}

int main(int argc, char **argv)
{
    int threads, thread, numbers[MOST_THREADS], values[ROWS * COLUMNS];
    pthread_t ids[MOST_THREADS];
    char path[2000];

    if (argc != 5)
        return 2;
    folder = argv[1];
    threads = atoi(argv[2]);
    files = atoi(argv[3]);
    rounds = atoi(argv[4]);
    if (threads < 1 || threads > MOST_THREADS)
        return 2;
    snprintf(path, sizeof path, "%s/shared.nc", folder);
    fill(values, 0, 0, 0);
    write_file(path, NETCDF4, values, 0);
    OK(nc_open(path, NC_NOWRITE, &shared_file));
    OK(nc_inq_varid(shared_file, "v", &shared_var));
    for (thread = 0; thread < threads; thread++) {
        numbers[thread] = thread;
        if (pthread_create(&ids[thread], NULL, work, &numbers[thread]))
            return 3;
    }
    for (thread = 0; thread < threads; thread++)
        pthread_join(ids[thread], NULL);
    OK(nc_close(shared_file));
    printf("%d failures\n", failures);
    return failures != 0;
}
