/* Writes and reads a file through the headers, as a program in C does. Prints the number of failures. */
#include <netcdf.h>
#include <netcdf_filter.h>
#include <netcdf_mem.h>
#include <netcdf_meta.h>
#include <netcdf_par.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static int failures;

static void check(int code, int expected, int line)
{
    if (code != expected) {
        const char *message = ncz_last_error();
        printf("line %d: %d (%s), expected %d: %s\n", line, code, nc_strerror(code), expected,
               message ? message : "");
        failures++;
    }
}

#define OK(call) check((call), NC_NOERR, __LINE__)
#define CODE(call, code) check((call), (code), __LINE__)
#define TRUE(condition) check((condition) ? 0 : -1, 0, __LINE__)

struct station {
    char kind;
    double height;
    char *name;
    nc_vlen_t samples;
};

static void write_file(const char *path, int mode)
{
    int nc, dims[2], v, label, type, samples_type, places;
    float values[2][3] = {{1, 2, 3}, {4, 5, 6}};
    int samples[2] = {7, 8};
    struct station station = {'k', 12.5, "Helgoland", {2, NULL}};
    const char *labels[2] = {"first", NULL};
    size_t start[2] = {0, 0}, count[2] = {2, 3};

    station.samples.p = samples;
    OK(nc_create(path, mode, &nc));
    OK(nc_def_dim(nc, "t", NC_UNLIMITED, &dims[0]));
    OK(nc_def_dim(nc, "x", 3, &dims[1]));
    OK(nc_def_var(nc, "v", NC_FLOAT, 2, dims, &v));
    OK(nc_def_var_deflate(nc, v, 1, 1, 5));
    OK(nc_put_att_text(nc, v, "units", 1, "K"));
    OK(nc_def_vlen(nc, "samples", NC_INT, &samples_type));
    OK(nc_def_compound(nc, sizeof(struct station), "station", &type));
    OK(nc_insert_compound(nc, type, "kind", NC_COMPOUND_OFFSET(struct station, kind), NC_CHAR));
    OK(nc_insert_compound(nc, type, "height", NC_COMPOUND_OFFSET(struct station, height), NC_DOUBLE));
    OK(nc_insert_compound(nc, type, "name", NC_COMPOUND_OFFSET(struct station, name), NC_STRING));
    OK(nc_insert_compound(nc, type, "samples", NC_COMPOUND_OFFSET(struct station, samples), samples_type));
    OK(nc_def_var(nc, "place", type, 0, NULL, &places));
    OK(nc_def_var(nc, "label", NC_STRING, 1, dims, &label));
    OK(nc_put_vara_float(nc, v, start, count, &values[0][0]));
    OK(nc_put_var(nc, places, &station));
    OK(nc_put_vara_string(nc, label, start, count, labels));
    OK(nc_close(nc));
}

static void read_file(const char *path)
{
    int nc, v, places, label, type;
    double values[6];
    char units[2] = "", *labels[2];
    struct station station;
    ptrdiff_t stride[2] = {1, 2}, imap[2] = {1, 2};
    size_t start[2] = {0, 0}, count[2] = {2, 2};

    OK(nc_open(path, NC_NOWRITE, &nc));
    OK(nc_inq_varid(nc, "v", &v));
    OK(nc_inq_varid(nc, "place", &places));
    OK(nc_inq_varid(nc, "label", &label));
    OK(nc_get_varm_double(nc, v, start, count, stride, imap, values));
    TRUE(values[0] == 1 && values[1] == 4 && values[2] == 3 && values[3] == 6);
    OK(nc_get_att_text(nc, v, "units", units));
    TRUE(units[0] == 'K');
    OK(nc_inq_vartype(nc, places, &type));
    OK(nc_get_var(nc, places, &station));
    TRUE(station.kind == 'k' && station.height == 12.5 && strcmp(station.name, "Helgoland") == 0);
    TRUE(station.samples.len == 2 && ((int *)station.samples.p)[1] == 8);
    OK(nc_reclaim_data(nc, type, &station, 1));
    OK(nc_get_var_string(nc, label, labels));
    TRUE(strcmp(labels[0], "first") == 0);
    OK(nc_free_string(2, labels));
    CODE(nc_put_att_text(nc, v, "units", 1, "C"), NC_EPERM);
    CODE(nc_inq_varid(nc, "w", &v), NC_ENOTVAR);
    CODE(nc_inq_filter_avail(nc, 9999), NC_ENOFILTER);
    OK(nc_close(nc));
    CODE(nc_close(nc), NC_EBADID);
}

int main(int argc, char **argv)
{
    int i, id;

    for (i = 1; i < argc; i++) {
        write_file(argv[i], NC_NETCDF4 | NC_CLOBBER);
        read_file(argv[i]);
    }
    TRUE(NC_HAS_NC2 && NC_HAS_CDF5 && strlen(NC_VERSION) > 4);
    CODE(nc_create_par_fortran("x.nc", 0, 0, 0, &id), NC_ENOPAR);
    ncopts = 0;
    TRUE(ncopen("/no/such/file.nc", NC_NOWRITE) == -1 && ncerr == NC_SYSERR);
    printf("%d failures\n", failures);
    return failures != 0;
}
