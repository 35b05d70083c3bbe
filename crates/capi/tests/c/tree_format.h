/* A format by a table: groups and user-defined types. Its numbers have gaps, so they differ from those of the
   library. Definitions and writes are noted in `calls`. */
#include <netcdf.h>
#include <netcdf_dispatch.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* The ids of groups: the root, "g" in it, and "h" in "g". */
enum { G = 7, H = 14 };
/* The dimension "x" of the root, and the unlimited "t" of "g". */
enum { DIM_X = 100, DIM_T = 103 };
/* The variables of "g": records (t), sequences (x), points (x); and a number in "h". */
enum { RECORDS = 10, SEQUENCES = 11, POINTS = 15, NUMBER = 10 };
/* The types of the root, in the order of the list. "h" has the opaque type. */
enum { RECORD = 52, POINT = 40, SEQUENCE = 43, COLOR = 46, BLOB = 49 };
static const int root_types[] = {RECORD, POINT, SEQUENCE, COLOR}, deep_types[] = {BLOB};

struct point {
    signed char a;
    double b;
};

struct record {
    struct point inner[2];
    char *name;
    nc_vlen_t rest;
};

static int root, is_circular;
static char calls[1024];
static struct point points[3] = {{1, 1.5}, {2, 2.5}, {3, 3.5}};
static int numbers[] = {4, 5, 6};

static void note(const char *what, int group, const char *name, int first, int second)
{
    size_t used = strlen(calls);

    snprintf(calls + used, sizeof calls - used, "%s(%d,%s,%d,%d) ", what, group - root, name, first, second);
}

static int list(int *count, int *ids, int len, const int *from)
{
    if (count)
        *count = len;
    if (ids)
        memcpy(ids, from, (size_t)len * sizeof *ids);
    return NC_NOERR;
}

static int my_open(const char *path, int mode, int basepe, size_t *hint, void *parameters, const NC_Dispatch *table,
                   int ncid)
{
    (void)path, (void)mode, (void)basepe, (void)hint, (void)parameters, (void)table;
    root = ncid;
    return NC_NOERR;
}

static int my_create(const char *path, int cmode, size_t initial, int basepe, size_t *hint, void *parameters,
                     const NC_Dispatch *table, int ncid)
{
    (void)initial;
    return my_open(path, cmode, basepe, hint, parameters, table, ncid);
}

static int my_close(int ncid, void *parameters)
{
    (void)ncid, (void)parameters;
    return NC_NOERR;
}

static int succeed(int ncid)
{
    (void)ncid;
    return NC_NOERR;
}

static int my_enddef(int ncid, size_t a, size_t b, size_t c, size_t d)
{
    (void)ncid, (void)a, (void)b, (void)c, (void)d;
    return NC_NOERR;
}

static int my_inq_format(int ncid, int *format)
{
    (void)ncid;
    *format = NC_FORMAT_NETCDF4;
    return NC_NOERR;
}

static int my_inq(int ncid, int *ndims, int *nvars, int *natts, int *unlimited)
{
    *ndims = ncid - root == H ? 0 : 1, *nvars = ncid - root == G ? 3 : ncid - root == H;
    *natts = ncid - root == G, *unlimited = ncid - root == G ? DIM_T : -1;
    return NC_NOERR;
}

static int my_inq_grps(int ncid, int *count, int *ids)
{
    int child = root + (is_circular ? G : ncid == root ? G : H);

    return list(count, ids, ncid - root != H || is_circular, &child);
}

static int my_inq_grpname(int ncid, char *name)
{
    strcpy(name, ncid - root == G ? "g" : "h");
    return NC_NOERR;
}

static int my_inq_dimids(int ncid, int *count, int *ids, int include_parents)
{
    int dim = ncid == root ? DIM_X : DIM_T;

    return include_parents ? NC_EINVAL : list(count, ids, ncid - root != H, &dim);
}

static int my_inq_unlimdims(int ncid, int *count, int *ids)
{
    int dim = DIM_T;

    return list(count, ids, ncid - root == G, &dim);
}

static int my_inq_dim(int ncid, int dim, char *name, size_t *len)
{
    (void)ncid;
    strcpy(name, dim == DIM_X ? "x" : "t");
    *len = dim == DIM_X ? 3 : 2;
    return NC_NOERR;
}

static int my_inq_varids(int ncid, int *count, int *ids)
{
    const int vars[] = {RECORDS, SEQUENCES, POINTS};

    return list(count, ids, ncid == root ? 0 : ncid - root == G ? 3 : 1, vars);
}

static int my_inq_typeids(int ncid, int *count, int *ids)
{
    return ncid == root ? list(count, ids, 4, root_types) : list(count, ids, ncid - root == H, deep_types);
}

static int my_inq_user_type(int ncid, nc_type type, char *name, size_t *size, nc_type *base, size_t *parts, int *class)
{
    (void)ncid;
    *base = 0, *parts = 0;
    switch (type) {
    case RECORD:
        strcpy(name, "record");
        *size = sizeof(struct record), *parts = 3, *class = NC_COMPOUND;
        return NC_NOERR;
    case POINT:
        strcpy(name, "point");
        *size = sizeof(struct point), *parts = 2, *class = NC_COMPOUND;
        return NC_NOERR;
    case SEQUENCE:
        strcpy(name, "sequence");
        *size = sizeof(nc_vlen_t), *base = NC_INT, *class = NC_VLEN;
        return NC_NOERR;
    case COLOR:
        strcpy(name, "color");
        *size = 2, *base = NC_SHORT, *parts = 2, *class = NC_ENUM;
        return NC_NOERR;
    case BLOB:
        strcpy(name, "blob");
        *size = 5, *class = NC_OPAQUE;
        return NC_NOERR;
    }
    return NC_EBADTYPE;
}

static int my_inq_compound_field(int ncid, nc_type type, int place, char *name, size_t *offset, nc_type *field,
                                 int *rank, int *sizes)
{
    static const size_t offsets[2][3] = {{offsetof(struct point, a), offsetof(struct point, b)},
                                         {offsetof(struct record, inner), offsetof(struct record, name),
                                          offsetof(struct record, rest)}};
    static const nc_type fields[2][3] = {{NC_BYTE, NC_DOUBLE}, {POINT, NC_STRING, SEQUENCE}};
    static const char *names[2][3] = {{"a", "b"}, {"inner", "name", "rest"}};
    int is_array = type == RECORD && !place;

    (void)ncid;
    if (name)
        strcpy(name, names[type == RECORD][place]);
    if (offset)
        *offset = offsets[type == RECORD][place];
    if (field)
        *field = fields[type == RECORD][place];
    if (rank)
        *rank = is_array;
    if (sizes && is_array)
        *sizes = 2;
    return NC_NOERR;
}

static int my_inq_enum_member(int ncid, nc_type type, int place, char *name, void *value)
{
    (void)ncid, (void)type;
    strcpy(name, place ? "red" : "blue");
    *(short *)value = (short)(place ? -300 : 2);
    return NC_NOERR;
}

static int my_inq_var_all(int ncid, int var, char *name, nc_type *type, int *rank, int *dims, int *natts, int *shuffle,
                          int *deflate, int *level, int *fletcher32, int *contiguous, size_t *chunks, int *no_fill,
                          void *fill, int *endian, unsigned int *id, size_t *nparams, unsigned int *params)
{
    int is_deep = ncid - root == H;

    (void)shuffle, (void)deflate, (void)level, (void)fletcher32, (void)chunks, (void)no_fill, (void)fill, (void)endian;
    (void)id, (void)nparams, (void)params;
    if (name)
        strcpy(name, is_deep ? "number" : var == RECORDS ? "records" : var == SEQUENCES ? "sequences" : "points");
    if (type)
        *type = is_deep ? NC_INT : var == RECORDS ? RECORD : var == SEQUENCES ? SEQUENCE : POINT;
    if (rank)
        *rank = !is_deep;
    if (dims && !is_deep)
        *dims = var == RECORDS ? DIM_T : DIM_X;
    if (natts)
        *natts = !is_deep && var == POINTS;
    if (contiguous)
        *contiguous = 1;
    return NC_NOERR;
}

static int my_inq_attname(int ncid, int var, int place, char *name)
{
    (void)ncid, (void)place;
    strcpy(name, var == NC_GLOBAL ? "colors" : "_FillValue");
    return NC_NOERR;
}

static int my_inq_att(int ncid, int var, const char *name, nc_type *type, size_t *len)
{
    (void)ncid, (void)name;
    *type = var == NC_GLOBAL ? COLOR : POINT;
    *len = var == NC_GLOBAL ? 2 : 1;
    return NC_NOERR;
}

static int my_get_att(int ncid, int var, const char *name, void *to, nc_type type)
{
    const short colors[] = {-300, 2};

    (void)ncid, (void)name;
    if (var == NC_GLOBAL)
        memcpy(to, colors, sizeof colors);
    else
        memcpy(to, &points[2], sizeof *points);
    return type == (var == NC_GLOBAL ? COLOR : POINT) ? NC_NOERR : NC_EBADTYPE;
}

/* Sequence number k has k numbers. */
static nc_vlen_t sequence(size_t k)
{
    nc_vlen_t found = {k, malloc(sizeof numbers)};

    memcpy(found.p, numbers, sizeof numbers);
    return found;
}

static int my_get_vara(int ncid, int var, const size_t *start, const size_t *count, void *to, nc_type type)
{
    size_t at;

    if (ncid - root == H) {
        if (type == NC_DOUBLE)
            *(double *)to = 42;
        return type == NC_DOUBLE ? NC_NOERR : NC_EBADTYPE;
    }
    for (at = 0; at < *count; at++)
        if (var == POINTS && type == POINT)
            ((struct point *)to)[at] = points[*start + at];
        else if (var == SEQUENCES && type == SEQUENCE)
            ((nc_vlen_t *)to)[at] = sequence(*start + at);
        else if (var == RECORDS && type == RECORD) {
            struct record *record = (struct record *)to + at;
            memcpy(record->inner, points, sizeof record->inner);
            record->name = strcpy(malloc(5), "name");
            record->name[3] = (char)('0' + *start + at);
            record->rest = sequence(1 + at);
        } else
            return NC_EBADTYPE;
    return NC_NOERR;
}

static int my_put_vara(int ncid, int var, const size_t *start, const size_t *count, const void *from, nc_type type)
{
    const struct record *record = from;

    (void)start;
    note("put", ncid, type == RECORD ? record->name : "?", var, (int)*count);
    if (type == RECORD)
        note("rest", ncid, "", (int)record->rest.len, ((int *)record->rest.p)[1]);
    return type == RECORD || type == NC_INT ? NC_NOERR : NC_EBADTYPE;
}

/* New objects have numbers with gaps. */
static int my_def_grp(int ncid, const char *name, int *id)
{
    note("grp", ncid, name, 0, 0);
    *id = root + (ncid == root ? G : H);
    return NC_NOERR;
}

static int my_rename_grp(int ncid, const char *name)
{
    note("rename_grp", ncid, name, 0, 0);
    return NC_NOERR;
}

static int my_def_dim(int ncid, const char *name, size_t len, int *id)
{
    note("dim", ncid, name, (int)len, 0);
    *id = ncid == root ? DIM_X : DIM_T;
    return NC_NOERR;
}

static int my_rename_dim(int ncid, int dim, const char *name)
{
    note("rename_dim", ncid, name, dim, 0);
    return NC_NOERR;
}

static int my_def_compound(int ncid, size_t size, const char *name, nc_type *id)
{
    note("compound", ncid, name, (int)size, 0);
    *id = !strcmp(name, "point") ? POINT : RECORD;
    return NC_NOERR;
}

static int my_insert_compound(int ncid, nc_type type, const char *name, size_t offset, nc_type field)
{
    (void)offset;
    note("field", ncid, name, type, field);
    return strcmp(name, "refused") ? NC_NOERR : -4321;
}

static int my_insert_array(int ncid, nc_type type, const char *name, size_t offset, nc_type field, int rank,
                           const int *sizes)
{
    (void)offset;
    note("array", ncid, name, type, field);
    return rank == 1 && *sizes == 2 ? NC_NOERR : NC_EINVAL;
}

static int my_def_vlen(int ncid, const char *name, nc_type base, nc_type *id)
{
    note("vlen", ncid, name, base, 0);
    *id = SEQUENCE;
    return NC_NOERR;
}

static int my_def_enum(int ncid, nc_type base, const char *name, nc_type *id)
{
    note("enum", ncid, name, base, 0);
    *id = !strcmp(name, "again") ? POINT : COLOR;
    return NC_NOERR;
}

static int my_insert_enum(int ncid, nc_type type, const char *name, const void *value)
{
    note("member", ncid, name, type, *(const short *)value);
    return NC_NOERR;
}

static int my_def_opaque(int ncid, size_t size, const char *name, nc_type *id)
{
    note("opaque", ncid, name, (int)size, 0);
    *id = BLOB;
    return NC_NOERR;
}

static int my_def_var(int ncid, const char *name, nc_type type, int rank, const int *dims, int *id)
{
    note("var", ncid, name, type, rank ? *dims : 0);
    *id = rank ? RECORDS : NUMBER;
    return NC_NOERR;
}

static int my_put_att(int ncid, int var, const char *name, nc_type type, size_t len, const void *from, nc_type memory)
{
    const nc_vlen_t *sequences = from;

    note("att", ncid, name, type, var);
    if (type == SEQUENCE)
        note("second", ncid, "", (int)sequences[1].len, ((int *)sequences[1].p)[0]);
    return type == memory && len ? NC_NOERR : NC_EBADTYPE;
}

static NC_Dispatch table = {
    .model = NC_FORMATX_UDF0, .dispatch_version = NC_DISPATCH_VERSION,
    .create = my_create, .open = my_open, .redef = succeed, ._enddef = my_enddef, .sync = succeed, .abort = succeed,
    .close = my_close, .inq_format = my_inq_format, .inq = my_inq, .inq_dim = my_inq_dim, .def_dim = my_def_dim,
    .rename_dim = my_rename_dim, .inq_att = my_inq_att, .inq_attname = my_inq_attname, .get_att = my_get_att,
    .put_att = my_put_att, .def_var = my_def_var, .inq_var_all = my_inq_var_all, .get_vara = my_get_vara,
    .put_vara = my_put_vara, .get_vars = NCDEFAULT_get_vars, .inq_unlimdims = my_inq_unlimdims,
    .inq_grps = my_inq_grps, .inq_grpname = my_inq_grpname, .inq_varids = my_inq_varids,
    .inq_dimids = my_inq_dimids, .inq_typeids = my_inq_typeids, .def_grp = my_def_grp, .rename_grp = my_rename_grp,
    .inq_user_type = my_inq_user_type, .def_compound = my_def_compound, .insert_compound = my_insert_compound,
    .insert_array_compound = my_insert_array, .inq_compound_field = my_inq_compound_field, .def_vlen = my_def_vlen,
    .def_enum = my_def_enum, .insert_enum = my_insert_enum, .inq_enum_member = my_inq_enum_member,
    .def_opaque = my_def_opaque,
};
