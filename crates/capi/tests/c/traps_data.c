/* Rules of netCDF-C for data and fill values, with the codes of its version 4.10.1. The argument is a folder. Prints the
   number of failures. */
#define _POSIX_C_SOURCE 200112L
#include <netcdf.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "check.h"

static const int kinds[] = {0, NC_64BIT_DATA, NC_NETCDF4};

/* Traps 9, 10 and 30: regions at the end of an unlimited dimension, and beyond. */
static void ends(int kind)
{
    int nc, t, v, values[4] = {1, 2, 3, 4}, beyond = kind == NC_NETCDF4 ? NC_EINVALCOORDS : NC_EEDGE;
    ptrdiff_t step = 1;
    size_t start = 2, zero = 0, one = 1, two = 2;

    OK(nc_create("e.nc", NC_CLOBBER | kind, &nc));
    OK(nc_def_dim(nc, "t", NC_UNLIMITED, &t));
    OK(nc_def_var(nc, "v", NC_INT, 1, &t, &v));
    OK(nc_enddef(nc));
    OK(nc_put_vara_int(nc, v, &zero, &two, values));
    OK(nc_get_vara_int(nc, v, &start, &zero, values));
    CODE(nc_get_vara_int(nc, v, &start, &one, values), beyond);
    CODE(nc_get_var1_int(nc, v, &start, values), beyond);
    CODE(nc_get_vars_int(nc, v, &start, &one, &step, values), NC_EINVALCOORDS);
    start = 1;
    CODE(nc_get_vara_int(nc, v, &start, &two, values), NC_EEDGE);
    start = 3;
    CODE(nc_get_vara_int(nc, v, &start, &one, values), beyond);
    CODE(nc_get_vara_int(nc, v, NULL, &one, values), NC_EINVALCOORDS);
    values[0] = values[1] = 0;
    start = 0;
    OK(nc_get_vara_int(nc, v, &start, NULL, values));
    TRUE(values[0] == 1 && values[1] == 2);
    OK(nc_close(nc));
    OK(nc_open("e.nc", NC_NOWRITE, &nc));
    CODE(nc_get_vara_int(nc, v, &two, &one, values), NC_EINVALCOORDS);
    OK(nc_close(nc));
}

/* In a classic file all starts are checked before any end. */
static void starts(int kind)
{
    int nc, dims[2], v, values[8] = {0};
    size_t start[2] = {1, 5}, count[2] = {9, 1};

    OK(nc_create("e.nc", NC_CLOBBER | kind, &nc));
    OK(nc_def_dim(nc, "y", 2, &dims[0]));
    OK(nc_def_dim(nc, "x", 3, &dims[1]));
    OK(nc_def_var(nc, "v", NC_INT, 2, dims, &v));
    OK(nc_enddef(nc));
    CODE(nc_get_vara_int(nc, v, start, count, values), kind == NC_NETCDF4 ? NC_EEDGE : NC_EINVALCOORDS);
    CODE(nc_put_vara_int(nc, v, start, count, values), kind == NC_NETCDF4 ? NC_EEDGE : NC_EINVALCOORDS);
    OK(nc_close(nc));
}

/* Trap 30: a write extends all unlimited dimensions. */
static void two_unlimited(void)
{
    int nc, dims[2], v, value = 7, found[6] = {0};
    size_t at[2] = {1, 2}, len[2];

    OK(nc_create("u.nc", NC_CLOBBER | NC_NETCDF4, &nc));
    OK(nc_def_dim(nc, "t", NC_UNLIMITED, &dims[0]));
    OK(nc_def_dim(nc, "u", NC_UNLIMITED, &dims[1]));
    OK(nc_def_var(nc, "v", NC_INT, 2, dims, &v));
    OK(nc_put_var1_int(nc, v, at, &value));
    OK(nc_inq_dimlen(nc, dims[0], &len[0]));
    OK(nc_inq_dimlen(nc, dims[1], &len[1]));
    TRUE(len[0] == 2 && len[1] == 3);
    OK(nc_get_var_int(nc, v, found));
    TRUE(found[0] == NC_FILL_INT && found[5] == 7);
    OK(nc_close(nc));
}

/* Trap 12: a value that does not fit is stored as the fill value of its variable. netCDF-4 files have its low bits. */
static void range(int kind)
{
    int nc, plain, own, kept, wide, value = 300;
    signed char fill = 5, found = 0;

    OK(nc_create("o.nc", NC_CLOBBER | kind, &nc));
    OK(nc_def_var(nc, "plain", NC_BYTE, 0, NULL, &plain));
    OK(nc_def_var(nc, "own", NC_BYTE, 0, NULL, &own));
    OK(nc_put_att_schar(nc, own, "_FillValue", NC_BYTE, 1, &fill));
    OK(nc_def_var(nc, "kept", NC_BYTE, 0, NULL, &kept));
    OK(nc_def_var_fill(nc, kept, NC_FILL, &fill));
    OK(nc_def_var_fill(nc, kept, NC_NOFILL, NULL));
    OK(nc_def_var(nc, "wide", NC_INT, 0, NULL, &wide));
    OK(nc_def_var_fill(nc, wide, NC_FILL, &value));
    OK(nc_enddef(nc));
    CODE(nc_put_var_int(nc, plain, &value), NC_ERANGE);
    OK(nc_get_var_schar(nc, plain, &found));
    CODE(found, kind == NC_NETCDF4 ? 44 : NC_FILL_BYTE);
    CODE(nc_put_var_int(nc, own, &value), NC_ERANGE);
    OK(nc_get_var_schar(nc, own, &found));
    CODE(found, kind == NC_NETCDF4 ? 44 : 5);
    CODE(nc_put_var_int(nc, kept, &value), NC_ERANGE);
    OK(nc_get_var_schar(nc, kept, &found));
    CODE(found, kind == NC_NETCDF4 ? 44 : 5);
    OK(nc_put_var_int(nc, wide, &value));
    CODE(nc_get_var_schar(nc, wide, &found), NC_ERANGE);
    CODE(found, kind == NC_NETCDF4 ? 44 : NC_FILL_BYTE);
    OK(nc_close(nc));
}

/* Trap 14: text and numbers, both ways. */
static void text_and_numbers(int kind)
{
    int nc, v, c, number = 1;
    char text[4] = "abc";

    OK(nc_create("t.nc", NC_CLOBBER | kind, &nc));
    OK(nc_def_var(nc, "v", NC_INT, 0, NULL, &v));
    OK(nc_def_var(nc, "c", NC_CHAR, 0, NULL, &c));
    OK(nc_put_att_text(nc, c, "a", 1, "x"));
    OK(nc_enddef(nc));
    CODE(nc_put_var_text(nc, v, text), NC_ECHAR);
    CODE(nc_get_var_text(nc, v, text), NC_ECHAR);
    CODE(nc_put_var_int(nc, c, &number), NC_ECHAR);
    CODE(nc_get_var_int(nc, c, &number), NC_ECHAR);
    CODE(nc_get_att_int(nc, c, "a", &number), NC_ECHAR);
    OK(nc_close(nc));
}

/* Traps 22 and 23: fill values of netCDF-4 files. */
static void fill_values(void)
{
    int nc, v, off = 7, value = 5, found = 0, count;

    OK(nc_create("f.nc", NC_CLOBBER | NC_NETCDF4, &nc));
    OK(nc_def_var(nc, "v", NC_INT, 0, NULL, &v));
    OK(nc_def_var_fill(nc, v, NC_FILL, &value));
    OK(nc_get_att_int(nc, v, "_FillValue", &found));
    CODE(found, 5);
    OK(nc_def_var_fill(nc, v, NC_NOFILL, NULL));
    CODE(nc_inq_attid(nc, v, "_FillValue", NULL), NC_ENOTATT);
    found = 5;
    OK(nc_inq_var_fill(nc, v, &off, &found));
    TRUE(off == 1 && found == 5);
    OK(nc_inq_varnatts(nc, v, &count));
    CODE(count, 0);
    OK(nc_def_var_fill(nc, v, NC_FILL, NULL));
    OK(nc_inq_var_fill(nc, v, &off, &found));
    TRUE(off == 0 && found == NC_FILL_INT);
    CODE(nc_def_var_fill(nc, NC_GLOBAL, NC_FILL, &value), NC_EGLOBAL);
    OK(nc_close(nc));
}

/* Trap 24: the fill mode of a classic file counts for all its variables. */
static void fill_mode(void)
{
    int nc, v, off = 7, old, value = 9, found = 0;

    OK(nc_create("m.nc", NC_CLOBBER, &nc));
    OK(nc_def_var(nc, "v", NC_INT, 0, NULL, &v));
    OK(nc_set_fill(nc, NC_NOFILL, &old));
    CODE(old, NC_FILL);
    OK(nc_inq_var_fill(nc, v, &off, NULL));
    CODE(off, 1);
    CODE(nc_set_fill(nc, 0x77, &old), NC_EINVAL);
    /* A variable keeps its attribute. */
    OK(nc_def_var(nc, "w", NC_INT, 0, NULL, &v));
    OK(nc_def_var_fill(nc, v, NC_FILL, &value));
    OK(nc_def_var_fill(nc, v, NC_NOFILL, NULL));
    OK(nc_inq_attid(nc, v, "_FillValue", NULL));
    OK(nc_inq_var_fill(nc, v, &off, &found));
    TRUE(off == 1 && found == 9);
    OK(nc_close(nc));
    OK(nc_create("m.nc", NC_CLOBBER | NC_NETCDF4, &nc));
    CODE(nc_set_fill(nc, 0x77, &old), NC_EINVAL);
    OK(nc_close(nc));
}

/* Trap 24, in data mode: each record is filled by the mode when it is written. */
static void fill_mode_of_records(void)
{
    int nc, dims[2], v, old, row[3];
    size_t start[2] = {0, 0}, one[2] = {1, 1}, all[2] = {1, 3};

    OK(nc_create("r.nc", NC_CLOBBER, &nc));
    OK(nc_def_dim(nc, "t", NC_UNLIMITED, &dims[0]));
    OK(nc_def_dim(nc, "x", 3, &dims[1]));
    OK(nc_set_fill(nc, NC_NOFILL, &old));
    OK(nc_def_var(nc, "v", NC_INT, 2, dims, &v));
    OK(nc_enddef(nc));
    OK(nc_set_fill(nc, NC_FILL, &old));
    CODE(old, NC_NOFILL);
    OK(nc_put_vara_int(nc, v, start, one, &dims[1]));
    OK(nc_get_vara_int(nc, v, start, all, row));
    TRUE(row[0] == dims[1] && row[1] == NC_FILL_INT && row[2] == NC_FILL_INT);
    OK(nc_set_fill(nc, NC_NOFILL, &old));
    OK(nc_set_fill(nc, NC_FILL, &old));
    start[0] = 2;
    OK(nc_put_vara_int(nc, v, start, one, &dims[1]));
    start[0] = 1;
    OK(nc_get_vara_int(nc, v, start, all, row));
    TRUE(row[0] == NC_FILL_INT && row[2] == NC_FILL_INT);
    OK(nc_close(nc));
}

/* What was defined with filling is filled, also when the program turns filling off later. */
static void filled_before(int kind)
{
    int nc, x, v, w, old, found[2];

    OK(nc_create("b.nc", NC_CLOBBER | kind, &nc));
    OK(nc_def_dim(nc, "x", 2, &x));
    OK(nc_def_var(nc, "v", NC_INT, 1, &x, &v));
    OK(nc_enddef(nc));
    OK(nc_set_fill(nc, NC_NOFILL, &old));
    OK(nc_get_var_int(nc, v, found));
    TRUE(found[0] == NC_FILL_INT && found[1] == NC_FILL_INT);
    OK(nc_redef(nc));
    OK(nc_set_fill(nc, NC_FILL, &old));
    OK(nc_def_var(nc, "w", NC_INT, 1, &x, &w));
    OK(nc_enddef(nc));
    OK(nc_redef(nc));
    OK(nc_set_fill(nc, NC_NOFILL, &old));
    OK(nc_enddef(nc));
    OK(nc_get_var_int(nc, w, found));
    TRUE(found[0] == NC_FILL_INT && found[1] == NC_FILL_INT);
    OK(nc_close(nc));
}

/* A variable may be filled although the dataset is not. */
static void filled_alone(int kind)
{
    int nc, x, v, old, value = 5, found[2];

    OK(nc_create("v.nc", NC_CLOBBER | kind, &nc));
    OK(nc_set_fill(nc, NC_NOFILL, &old));
    OK(nc_def_dim(nc, "x", 2, &x));
    OK(nc_def_var(nc, "v", NC_INT, 1, &x, &v));
    OK(nc_def_var_fill(nc, v, NC_FILL, &value));
    OK(nc_enddef(nc));
    OK(nc_get_var_int(nc, v, found));
    TRUE(found[0] == 5 && found[1] == 5);
    OK(nc_close(nc));
}

/* Trap 29: strings that are null, empty and unwritten. */
static void strings(void)
{
    int nc, x, v;
    size_t start = 0, count = 2;
    const char *given[2] = {NULL, "one"};
    char *found[3];

    OK(nc_create("s.nc", NC_CLOBBER | NC_NETCDF4, &nc));
    OK(nc_def_dim(nc, "x", 3, &x));
    OK(nc_def_var(nc, "v", NC_STRING, 1, &x, &v));
    OK(nc_put_vara_string(nc, v, &start, &count, given));
    OK(nc_close(nc));
    OK(nc_open("s.nc", NC_NOWRITE, &nc));
    OK(nc_get_var_string(nc, v, found));
    TRUE(!found[0] && found[1] && !strcmp(found[1], "one") && found[2] && !*found[2]);
    OK(nc_free_string(3, found));
    OK(nc_close(nc));
}

/* Trap 35: errors of version 2. */
static void version_2(void)
{
    int nc;

    ncopts = 0;
    CODE(ncopen("/no/such/file", NC_NOWRITE), -1);
    CODE(ncerr, NC_SYSERR);
    nc = nccreate("v.nc", NC_CLOBBER);
    TRUE(nc > 0);
    CODE(ncerr, NC_SYSERR);
    CODE(ncdimid(nc, "none"), -1);
    CODE(ncerr, NC_EBADDIM);
    CODE(ncclose(nc), 0);
    CODE(ncerr, NC_EBADDIM);
}

int main(int argc, char **argv)
{
    size_t kind;

    if (argc != 2 || chdir(argv[1]))
        return 1;
    for (kind = 0; kind < sizeof kinds / sizeof *kinds; kind++) {
        ends(kinds[kind]);
        starts(kinds[kind]);
        range(kinds[kind]);
        text_and_numbers(kinds[kind]);
    }
    two_unlimited();
    fill_values();
    fill_mode();
    fill_mode_of_records();
    filled_before(0);
    filled_before(NC_64BIT_DATA);
    filled_before(NC_NETCDF4);
    filled_alone(0);
    filled_alone(NC_64BIT_DATA);
    filled_alone(NC_NETCDF4);
    strings();
    version_2();
    printf("%d failures\n", failures);
    return failures != 0;
}
