/* A format by a table of this program: datasets in its own memory. Prints the number of failures. */
#include <netcdf.h>
#include <netcdf_dispatch.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "check.h"

/* The dataset: v(t, x) of shorts with the attribute "unit", and the text attribute "title" of the root. */
enum { T = 3, X = 4, ROWS = 8 };
static short values[ROWS][X];
static size_t length = T;
static int opened, closed, synced, last_mode, defined_dims, defined_vars, fill_mode = -1;
static char last_path[256], title[64] = "a title", defined_att[64];

static int my_open(const char *path, int mode, int basepe, size_t *hint, void *parameters, const NC_Dispatch *table,
                   int ncid)
{
    (void)basepe, (void)hint, (void)parameters, (void)ncid;
    if (table->model != NC_FORMATX_UDF3 || strstr(path, "refused"))
        return -4321;
    snprintf(last_path, sizeof last_path, "%s", path);
    last_mode = mode;
    opened++;
    return NC_NOERR;
}

static int my_create(const char *path, int cmode, size_t initial, int basepe, size_t *hint, void *parameters,
                     const NC_Dispatch *table, int ncid)
{
    (void)initial;
    length = 0;
    title[0] = 0;
    return my_open(path, cmode, basepe, hint, parameters, table, ncid);
}

static int my_close(int ncid, void *parameters)
{
    (void)ncid, (void)parameters;
    closed++;
    return NC_NOERR;
}

static int my_abort(int ncid)
{
    (void)ncid;
    closed++;
    return 77;
}

static int succeed(int ncid)
{
    (void)ncid;
    return NC_NOERR;
}

static int my_sync(int ncid)
{
    (void)ncid;
    synced++;
    return NC_NOERR;
}

static int my_enddef(int ncid, size_t a, size_t b, size_t c, size_t d)
{
    (void)ncid, (void)a, (void)b, (void)c, (void)d;
    return NC_NOERR;
}

static int my_set_fill(int ncid, int mode, int *old)
{
    (void)ncid;
    if (old)
        *old = NC_FILL;
    fill_mode = mode;
    return NC_NOERR;
}

static int my_inq_format(int ncid, int *format)
{
    (void)ncid;
    if (format)
        *format = NC_FORMAT_NETCDF4;
    return NC_NOERR;
}

static int my_inq_format_extended(int ncid, int *format, int *mode)
{
    (void)ncid;
    *format = NC_FORMATX_UDF3;
    *mode = 5;
    return NC_NOERR;
}

static int my_inq(int ncid, int *ndims, int *nvars, int *natts, int *unlimited)
{
    (void)ncid;
    *ndims = 2, *nvars = 1, *natts = 1, *unlimited = 0;
    return NC_NOERR;
}

static int my_inq_dim(int ncid, int dim, char *name, size_t *len)
{
    (void)ncid;
    strcpy(name, dim ? "x" : "t");
    *len = dim ? X : length;
    return NC_NOERR;
}

static int my_inq_att(int ncid, int var, const char *name, nc_type *type, size_t *len)
{
    (void)ncid;
    if (strcmp(name, var == NC_GLOBAL ? "title" : "unit"))
        return NC_ENOTATT;
    *type = var == NC_GLOBAL ? NC_CHAR : NC_STRING;
    *len = var == NC_GLOBAL ? strlen(title) : 1;
    return NC_NOERR;
}

static int my_inq_attname(int ncid, int var, int place, char *name)
{
    (void)ncid;
    if (place)
        return NC_ENOTATT;
    strcpy(name, var == NC_GLOBAL ? "title" : "unit");
    return NC_NOERR;
}

static int my_get_att(int ncid, int var, const char *name, void *to, nc_type type)
{
    (void)ncid, (void)name;
    if (var == NC_GLOBAL) {
        memcpy(to, title, strlen(title));
        return type == NC_CHAR ? NC_NOERR : NC_EBADTYPE;
    }
    *(char **)to = strcpy(malloc(7), "kelvin");
    return type == NC_STRING ? NC_NOERR : NC_EBADTYPE;
}

static int my_put_att(int ncid, int var, const char *name, nc_type type, size_t len, const void *from, nc_type memory)
{
    (void)ncid;
    if (var != NC_GLOBAL || type != memory)
        return NC_EBADTYPE;
    if (type == NC_STRING)
        snprintf(defined_att, sizeof defined_att, "%s=%s", name, *(char *const *)from);
    else
        snprintf(defined_att, sizeof defined_att, "%s=%.*s", name, (int)len, (const char *)from);
    return NC_NOERR;
}

static int my_def_dim(int ncid, const char *name, size_t len, int *id)
{
    (void)ncid, (void)len;
    if (!strcmp(name, "bad"))
        return NC_EDIMSIZE;
    *id = defined_dims++;
    return NC_NOERR;
}

static int my_def_var(int ncid, const char *name, nc_type type, int rank, const int *dims, int *id)
{
    (void)ncid, (void)name;
    if (type != NC_SHORT || rank != 2 || dims[0] != 0 || dims[1] != 1)
        return NC_EBADTYPE;
    *id = defined_vars++;
    return NC_NOERR;
}

static int my_inq_var_all(int ncid, int var, char *name, nc_type *type, int *rank, int *dims, int *natts, int *shuffle,
                          int *deflate, int *level, int *fletcher32, int *contiguous, size_t *chunks, int *no_fill,
                          void *fill, int *endian, unsigned int *id, size_t *nparams, unsigned int *params)
{
    (void)ncid, (void)shuffle, (void)deflate, (void)level, (void)fletcher32, (void)no_fill, (void)fill, (void)endian;
    (void)id, (void)nparams, (void)params;
    if (var)
        return NC_ENOTVAR;
    if (name)
        strcpy(name, "v");
    if (type)
        *type = NC_SHORT;
    if (rank)
        *rank = 2;
    if (dims)
        dims[0] = 0, dims[1] = 1;
    if (natts)
        *natts = 1;
    if (contiguous)
        *contiguous = 0;
    if (chunks)
        chunks[0] = 1, chunks[1] = X;
    return NC_NOERR;
}

static int my_get_vara(int ncid, int var, const size_t *start, const size_t *count, void *to, nc_type type)
{
    size_t row, column, at = 0;
    int code = NC_NOERR;

    (void)ncid;
    if (var)
        return NC_ENOTVAR;
    for (row = 0; row < count[0]; row++)
        for (column = 0; column < count[1]; column++, at++) {
            short value = values[start[0] + row][start[1] + column];
            if (type == NC_SHORT)
                ((short *)to)[at] = value;
            else if (type == NC_INT)
                ((int *)to)[at] = value;
            else if (type == NC_BYTE) {
                ((signed char *)to)[at] = (signed char)value;
                if (value > 127)
                    code = NC_ERANGE;
            } else
                return NC_EBADTYPE;
        }
    return code;
}

static int my_put_vara(int ncid, int var, const size_t *start, const size_t *count, const void *from, nc_type type)
{
    size_t row, column, at = 0;

    (void)ncid, (void)var;
    if (type != NC_INT)
        return NC_EBADTYPE;
    for (row = 0; row < count[0]; row++)
        for (column = 0; column < count[1]; column++, at++)
            values[start[0] + row][start[1] + column] = (short)((const int *)from)[at];
    if (start[0] + count[0] > length)
        length = start[0] + count[0];
    return NC_NOERR;
}

static NC_Dispatch table = {
    .model = NC_FORMATX_UDF3, .dispatch_version = NC_DISPATCH_VERSION,
    .create = my_create, .open = my_open, .redef = succeed, ._enddef = my_enddef, .sync = my_sync,
    .abort = my_abort, .close = my_close, .set_fill = my_set_fill, .inq_format = my_inq_format,
    .inq_format_extended = my_inq_format_extended, .inq = my_inq, .inq_dim = my_inq_dim, .def_dim = my_def_dim,
    .inq_att = my_inq_att, .inq_attname = my_inq_attname, .get_att = my_get_att, .put_att = my_put_att,
    .rename_att = NC_RO_rename_att, .del_att = NC_RO_del_att, .def_var = my_def_var, .rename_dim = NC_RO_rename_dim,
    .inq_var_all = my_inq_var_all, .get_vara = my_get_vara, .put_vara = my_put_vara,
    .get_vars = NCDEFAULT_get_vars, .put_vars = NCDEFAULT_put_vars, .get_varm = NCDEFAULT_get_varm,
    .put_varm = NCDEFAULT_put_varm, .inq_unlimdims = NULL, .def_grp = NC_NOTNC4_def_grp, .inq_filter_avail = NC_NOOP_inq_filter_avail,
};

static void registration(void)
{
    NC_Dispatch other = table, *found = &other;
    char magic[9] = "";

    OK(nc_inq_user_format(NC_UDF3, &found, magic));
    TRUE(found == NULL && magic[0] == 0);
    other.dispatch_version = NC_DISPATCH_VERSION - 1;
    CODE(nc_def_user_format(NC_UDF3, &other, NULL), NC_EINVAL);
    CODE(nc_def_user_format(NC_UDF3, NULL, NULL), NC_EINVAL);
    CODE(nc_def_user_format(NC_NETCDF4, &table, NULL), NC_EINVAL);
    CODE(nc_def_user_format(NC_UDF3 | NC_UDF4, &table, NULL), NC_EINVAL);
    CODE(nc_def_user_format(NC_UDF3, &table, "123456789"), NC_EINVAL);
    CODE(nc_def_user_format(NC_UDF3 | NC_64BIT_OFFSET, &table, "12"), NC_EINVAL);
    CODE(nc_inq_user_format(0, &found, NULL), NC_EINVAL);
    OK(nc_def_user_format(NC_UDF3, &table, "MyFormat"));
    OK(nc_inq_user_format(NC_UDF3, &found, magic));
    TRUE(found == &table && !strncmp(magic, "MyFormat", 8));
    OK(nc_inq_user_format(NC_UDF3, NULL, NULL));
}

static void reading(const char *path)
{
    int nc, format, mode, v, dim, rank, dims[2], natts, storage, ints[T][X], some[2][2], mapped[X][T];
    size_t len, chunks[2], start[2] = {0, 1}, count[2] = {2, 2};
    ptrdiff_t stride[2] = {2, 2}, imap[2] = {1, T};
    signed char bytes[T][X];
    char name[NC_MAX_NAME + 1], text[64] = "", *unit = NULL;
    nc_type type;
    FILE *file = fopen(path, "w");

    if (!file || fputs("MyFormat and more", file) < 0 || fclose(file))
        exit(1);
    OK(nc_open(path, NC_NOWRITE, &nc));
    TRUE(opened == 1 && !strcmp(last_path, path) && nc == 0x10000);
    OK(nc_inq_format(nc, NULL));
    OK(nc_inq_format_extended(nc, &format, &mode));
    TRUE(format == NC_FORMATX_UDF3 && mode == 5);
    OK(nc_inq_dimid(nc, "t", &dim));
    OK(nc_inq_dimlen(nc, dim, &len));
    TRUE(dim == 0 && len == T);
    OK(nc_inq_unlimdim(nc, &dim));
    CODE(dim, 0);
    OK(nc_inq_varid(nc, "v", &v));
    OK(nc_inq_var(nc, v, name, &type, &rank, dims, &natts));
    TRUE(!strcmp(name, "v") && type == NC_SHORT && rank == 2 && dims[1] == 1 && natts == 1);
    OK(nc_inq_var_chunking(nc, v, &storage, chunks));
    TRUE(storage == NC_CHUNKED && chunks[0] == 1 && chunks[1] == X);
    OK(nc_get_att_text(nc, NC_GLOBAL, "title", text));
    TRUE(!strcmp(text, "a title"));
    OK(nc_get_att_string(nc, v, "unit", &unit));
    TRUE(unit && !strcmp(unit, "kelvin"));
    OK(nc_free_string(1, &unit));
    CODE(nc_inq_varid(nc, "w", &v), NC_ENOTVAR);
    v = 0;

    OK(nc_get_var_int(nc, v, &ints[0][0]));
    TRUE(ints[0][0] == 0 && ints[2][3] == 203);
    OK(nc_get_vara_int(nc, v, start, count, &some[0][0]));
    TRUE(some[0][0] == 1 && some[0][1] == 2 && some[1][1] == 102);
    OK(nc_get_vars_int(nc, v, start, count, stride, &some[0][0]));
    TRUE(some[0][0] == 1 && some[0][1] == 3 && some[1][0] == 201 && some[1][1] == 203);
    start[1] = 0, count[0] = T, count[1] = X;
    OK(nc_get_varm_int(nc, v, start, count, NULL, imap, &mapped[0][0]));
    TRUE(mapped[0][1] == 100 && mapped[3][2] == 203);
    CODE(nc_get_var_schar(nc, v, &bytes[0][0]), NC_ERANGE);
    TRUE(bytes[1][2] == 102);
    count[0] = T + 1;
    CODE(nc_get_vara_int(nc, v, start, count, &ints[0][0]), NC_EEDGE);
    CODE(nc_get_var_double(nc, v, NULL), NC_EINVAL);
    CODE(nc_put_var_int(nc, v, &ints[0][0]), NC_EPERM);
    CODE(nc_put_att_text(nc, NC_GLOBAL, "a", 1, "b"), NC_EPERM);
    OK(nc_sync(nc));
    CODE(synced, 1);
    OK(nc_close(nc));
    CODE(closed, 1);
    CODE(nc_close(nc), NC_EBADID);
}

static void writing(const char *path)
{
    int nc, v = 0, dims[2], row[X] = {5, 6, 7, 8}, old;
    size_t start[2] = {3, 0}, count[2] = {1, X}, len;
    const char *text = "text";

    OK(nc_open(path, NC_WRITE | NC_UDF3, &nc));
    TRUE(last_mode == (NC_WRITE | NC_UDF3));
    OK(nc_put_vara_int(nc, v, start, count, row));
    OK(nc_inq_dimlen(nc, 0, &len));
    TRUE(len == 4 && values[3][2] == 7);
    CODE(nc_rename_att(nc, NC_GLOBAL, "title", "t"), NC_EPERM);
    CODE(nc_abort(nc), 77);

    OK(nc_create(path, NC_UDF3, &nc));
    OK(nc_set_fill(nc, NC_NOFILL, &old));
    CODE(fill_mode, NC_NOFILL);
    OK(nc_def_dim(nc, "t", NC_UNLIMITED, &dims[0]));
    OK(nc_def_dim(nc, "x", X, &dims[1]));
    CODE(nc_def_dim(nc, "bad", 1, &old), NC_EDIMSIZE);
    OK(nc_def_var(nc, "v", NC_SHORT, 2, dims, &v));
    CODE(nc_def_var(nc, "w", NC_INT, 2, dims, &v), NC_EBADTYPE);
    CODE(nc_def_grp(nc, "g", &old), NC_ENOTNC4);
    CODE(nc_def_opaque(nc, 4, "o", &old), NC_ENOTBUILT);
    OK(nc_put_att_text(nc, NC_GLOBAL, "title", 3, "new"));
    TRUE(!strcmp(defined_att, "title=new"));
    OK(nc_put_att_string(nc, NC_GLOBAL, "s", 1, &text));
    TRUE(!strcmp(defined_att, "s=text"));
    OK(nc_enddef(nc));
    start[0] = 0;
    OK(nc_put_vara_int(nc, 0, start, count, row));
    OK(nc_inq_dimlen(nc, 0, &len));
    TRUE(len == 1 && values[0][3] == 8);
    OK(nc_close(nc));
}

/* A table that cannot describe its datasets, codes of tables, and formats without a table. */
static void failing(const char *path)
{
    static NC_Dispatch bare;
    int nc = -1, other, format;

    CODE(nc_open("refused", NC_UDF3, &nc), -4321);
    TRUE(ncz_last_error() && strstr(ncz_last_error(), "refused"));
    CODE(nc_open(path, NC_UDF9, &nc), NC_ENOTBUILT);
    CODE(nc_create(path, NC_UDF9, &nc), NC_ENOTBUILT);
    CODE(nc_open(path, NC_UDF3 | NC_UDF4, &nc), NC_EINVAL);
    bare.model = NC_FORMATX_UDF4, bare.dispatch_version = NC_DISPATCH_VERSION;
    OK(nc_def_user_format(NC_UDF4, &bare, NULL));
    CODE(nc_open(path, NC_UDF4, &nc), NC_ENOTBUILT);
    bare = table;
    bare.inq = NULL;
    OK(nc_open("file:///x#mode=udf3", 0, &other));
    OK(nc_def_user_format(NC_UDF4, &bare, NULL));
    OK(nc_open(path, NC_UDF4, &nc));
    TRUE(nc == 0x20000);
    OK(nc_inq_format(nc, &format));
    CODE(nc_inq_nvars(nc, &format), NC_ENOTBUILT);
    TRUE(strstr(ncz_last_error(), "inq") != NULL);
    OK(nc_close(nc));
    OK(nc_close(other));
}

int main(int argc, char **argv)
{
    int row, column;

    if (argc != 2)
        return 1;
    for (row = 0; row < ROWS; row++)
        for (column = 0; column < X; column++)
            values[row][column] = (short)(100 * row + column);
    registration();
    reading(argv[1]);
    writing(argv[1]);
    failing(argv[1]);
    printf("%d failures\n", failures);
    return failures != 0;
}
