/* Rules of netCDF-C for definitions and inquiries, with the codes of its version 4.10.1. The argument is a folder. Prints
   the number of failures. */
#define _POSIX_C_SOURCE 200112L
#include <netcdf.h>
#include <netcdf_filter.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "check.h"

/* Trap 15: in data mode of a classic file nothing may need more space in the header. */
static void data_mode(void)
{
    int nc, x, v, id;

    OK(nc_create("c.nc", NC_CLOBBER, &nc));
    OK(nc_def_dim(nc, "xx", 2, &x));
    OK(nc_def_var(nc, "vv", NC_INT, 1, &x, &v));
    OK(nc_put_att_text(nc, v, "aa", 2, "ab"));
    CODE(nc_redef(nc), NC_EINDEFINE);
    OK(nc_enddef(nc));
    CODE(nc_enddef(nc), NC_ENOTINDEFINE);
    CODE(nc_def_dim(nc, "y", 2, &id), NC_ENOTINDEFINE);
    CODE(nc_def_var(nc, "w", NC_INT, 1, &x, &id), NC_ENOTINDEFINE);
    CODE(nc_put_att_text(nc, v, "new", 1, "a"), NC_ENOTINDEFINE);
    CODE(nc_del_att(nc, v, "aa"), NC_ENOTINDEFINE);
    CODE(nc_rename_dim(nc, x, "xxx"), NC_ENOTINDEFINE);
    CODE(nc_rename_var(nc, v, "vvv"), NC_ENOTINDEFINE);
    CODE(nc_rename_att(nc, v, "aa", "aaa"), NC_ENOTINDEFINE);
    OK(nc_rename_dim(nc, x, "x"));
    OK(nc_rename_var(nc, v, "v"));
    OK(nc_rename_att(nc, v, "aa", "a"));
    /* Trap 25: a fill value of the same size. */
    OK(nc_redef(nc));
    OK(nc_put_att_int(nc, v, "_FillValue", NC_INT, 1, &x));
    OK(nc_enddef(nc));
    OK(nc_put_att_int(nc, v, "_FillValue", NC_INT, 1, &v));
    CODE(nc_def_var_fill(nc, v, NC_FILL, &x), NC_ENOTINDEFINE);
    OK(nc_close(nc));
}

/* A netCDF-4 file may be in define mode already; a Zarr store may not. */
static void define_mode(void)
{
    int nc;

    OK(nc_create("d.nc", NC_NETCDF4, &nc));
    OK(nc_redef(nc));
    OK(nc_enddef(nc));
    CODE(nc_enddef(nc), NC_ENOTINDEFINE);
    OK(nc_redef(nc));
    OK(nc_redef(nc));
    OK(nc_close(nc));
    OK(nc_create("d.nc", NC_NETCDF4 | NC_CLASSIC_MODEL, &nc));
    CODE(nc_redef(nc), NC_EINDEFINE);
    OK(nc_close(nc));
    OK(nc_create("file://d.zarr#mode=nczarr,file", NC_NETCDF4, &nc));
    CODE(nc_redef(nc), NC_EINDEFINE);
    OK(nc_close(nc));
}

/* Trap 16: what a classic file answers to calls of the enhanced model. */
static void classic(void)
{
    int nc, x, v, id, one, two, three, storage;
    size_t count = 7, size;
    unsigned int filter;
    char name[NC_MAX_NAME + 1];

    OK(nc_create("c.nc", NC_CLOBBER, &nc));
    OK(nc_def_dim(nc, "x", 2, &x));
    OK(nc_def_var(nc, "v", NC_INT, 1, &x, &v));
    CODE(nc_def_var_deflate(nc, v, 0, 1, 1), NC_ENOTNC4);
    CODE(nc_def_var_chunking(nc, v, NC_CONTIGUOUS, NULL), NC_ENOTNC4);
    CODE(nc_def_var_endian(nc, v, NC_ENDIAN_LITTLE), NC_ENOTNC4);
    CODE(nc_inq_var_endian(nc, v, &id), NC_ENOTNC4);
    CODE(nc_inq_var_quantize(nc, v, &one, &two), NC_ENOTNC4);
    CODE(nc_set_var_chunk_cache(nc, v, 1, 1, 0.5f), NC_ENOTNC4);
    CODE(nc_def_grp(nc, "g", &id), NC_ENOTNC4);
    CODE(nc_inq_user_type(nc, 32, name, &size, &one, &count, &two), NC_ENOTNC4);
    one = two = 7;
    OK(nc_inq_var_deflate(nc, v, &one, &two, &three));
    TRUE(one == 0 && two == 0);
    OK(nc_inq_var_chunking(nc, v, &storage, NULL));
    CODE(storage, NC_CONTIGUOUS);
    OK(nc_inq_grps(nc, &one, NULL));
    OK(nc_inq_typeids(nc, &two, NULL));
    TRUE(one == 0 && two == 0);
    OK(nc_inq_var_filter_ids(nc, v, &count, &filter));
    TRUE(count == 0);
    OK(nc_inq_ncid(nc, "any", &id));
    TRUE(id == nc);
    CODE(nc_inq_grp_parent(nc, &id), NC_ENOGRP);
    /* Trap 11. */
    CODE(nc_inq_var(nc, NC_GLOBAL, name, &one, &two, NULL, NULL), NC_ENOTVAR);
    CODE(nc_inq_var(nc, 5, name, &one, &two, NULL, NULL), NC_ENOTVAR);
    OK(nc_close(nc));
}

/* Trap 18: names. */
static void names(int nc)
{
    static const char *const bad[] = {"", "a/b", " a", "a "};
    int id, x;
    size_t at;

    for (at = 0; at < 4; at++) {
        CODE(nc_def_dim(nc, bad[at], 1, &id), NC_EBADNAME);
        CODE(nc_def_var(nc, bad[at], NC_INT, 0, NULL, &id), NC_EBADNAME);
        CODE(nc_def_grp(nc, bad[at], &id), NC_EBADNAME);
        CODE(nc_def_opaque(nc, 4, bad[at], &id), NC_EBADNAME);
    }
    OK(nc_def_dim(nc, "v", 1, &x));
    OK(nc_def_var(nc, "v", NC_INT, 0, NULL, &id));
    OK(nc_def_grp(nc, "g", &id));
    OK(nc_def_opaque(nc, 4, "t", &id));
    CODE(nc_def_dim(nc, "v", 2, &id), NC_ENAMEINUSE);
    CODE(nc_def_var(nc, "v", NC_INT, 0, NULL, &id), NC_ENAMEINUSE);
    CODE(nc_def_var(nc, "g", NC_INT, 0, NULL, &id), NC_ENAMEINUSE);
    CODE(nc_def_var(nc, "t", NC_INT, 0, NULL, &id), NC_ENAMEINUSE);
    CODE(nc_def_grp(nc, "v", &id), NC_ENAMEINUSE);
    CODE(nc_def_opaque(nc, 4, "g", &id), NC_ENAMEINUSE);
    /* netCDF-C accepts it and then cannot store the file. */
    CODE(nc_def_dim(nc, "g", 2, &id), NC_ENAMEINUSE);
}

/* The present name is in use too. */
static void present_names(int kind)
{
    int nc, x, v;

    OK(nc_create("n.nc", NC_CLOBBER | kind, &nc));
    OK(nc_def_dim(nc, "x", 1, &x));
    OK(nc_def_var(nc, "v", NC_INT, 0, NULL, &v));
    OK(nc_put_att_text(nc, v, "a", 1, "b"));
    CODE(nc_rename_dim(nc, x, "x"), NC_ENAMEINUSE);
    CODE(nc_rename_var(nc, v, "v"), NC_ENAMEINUSE);
    CODE(nc_rename_att(nc, v, "a", "a"), NC_ENAMEINUSE);
    CODE(nc_rename_att(nc, v, "b", "b"), NC_ENOTATT);
    OK(nc_close(nc));
}

/* Traps 19 and 20: groups, their types and dimensions. */
static void groups(int nc)
{
    int g, id, x, t, u, dims[2], count;
    nc_type type, found;

    OK(nc_inq_ncid(nc, "g", &g));
    CODE(nc_inq_grp_parent(nc, &id), NC_ENOGRP);
    CODE(nc_rename_grp(nc, "root"), NC_EBADGRPID);
    CODE(nc_inq_grp_ncid(nc, "/g", &id), NC_EBADNAME);
    OK(nc_def_var(g, "deep", NC_INT, 0, NULL, &id));
    CODE(nc_inq_varid(nc, "/g/deep", &id), NC_ENOTVAR);
    CODE(nc_inq_varid(nc, "g/deep", &id), NC_ENOTVAR);
    OK(nc_def_vlen(g, "VL", NC_INT, &type));
    OK(nc_inq_typeid(nc, "/g/VL", &found));
    CODE(found, type);
    OK(nc_inq_typeid(nc, "VL", &found));
    CODE(found, type);

    OK(nc_def_dim(nc, "x", 3, &x));
    OK(nc_inq_dimid(g, "x", &id));
    CODE(id, x);
    OK(nc_def_dim(g, "t", NC_UNLIMITED, &t));
    OK(nc_def_dim(g, "u", NC_UNLIMITED, &u));
    CODE(nc_inq_dimid(nc, "t", &id), NC_EBADDIM);
    OK(nc_inq_unlimdims(nc, &count, dims));
    CODE(count, 0);
    OK(nc_inq_unlimdims(g, &count, dims));
    TRUE(count == 2 && dims[0] == t && dims[1] == u);
    OK(nc_inq_unlimdim(g, &id));
    CODE(id, t);
}

/* Traps 21 and 32: attributes of the file that are not stored. */
static void special_attributes(int nc)
{
    int count, id, number = -1;
    size_t len;
    char text[1024] = "";

    CODE(nc_put_att_text(nc, NC_GLOBAL, "_NCProperties", 1, "x"), NC_ENAMEINUSE);
    CODE(nc_put_att_text(nc, NC_GLOBAL, "_Format", 1, "x"), NC_ENAMEINUSE);
    OK(nc_inq_natts(nc, &count));
    CODE(count, 0);
    OK(nc_inq_attlen(nc, NC_GLOBAL, "_NCProperties", &len));
    TRUE(len > 0 && len < sizeof text);
    OK(nc_get_att_text(nc, NC_GLOBAL, "_NCProperties", text));
    TRUE(!strncmp(text, "version=2,", 10));
    TRUE(strstr(text, "netcdf=") == NULL);
    CODE(nc_inq_attid(nc, NC_GLOBAL, "_NCProperties", &id), NC_EATTMETA);
    CODE(nc_inq_attid(nc, NC_GLOBAL, "_IsNetcdf4", &id), NC_EATTMETA);
    CODE(nc_inq_attid(nc, NC_GLOBAL, "_Format", &id), NC_ENOTATT);
    OK(nc_get_att_int(nc, NC_GLOBAL, "_SuperblockVersion", &number));
    TRUE(number >= 0 && number <= 3);
    OK(nc_get_att_int(nc, NC_GLOBAL, "_IsNetcdf4", &number));
    TRUE(number == 0 || number == 1);
}

/* Traps 26 and 27: layouts and filters. */
static void layouts(int nc)
{
    int x, v, w, scalar, storage, on, level;
    size_t count, chunk = 0, larger = 11;
    unsigned int ids[3];

    OK(nc_def_dim(nc, "l", 10, &x));
    OK(nc_def_var(nc, "filtered", NC_INT, 1, &x, &v));
    CODE(nc_def_var_deflate(nc, v, 0, 1, 10), NC_EINVAL);
    OK(nc_def_var_deflate(nc, v, 1, 1, 3));
    OK(nc_def_var_fletcher32(nc, v, NC_FLETCHER32));
    OK(nc_inq_var_filter_ids(nc, v, &count, ids));
    TRUE(count == 3 && ids[0] == H5Z_FILTER_FLETCHER32 && ids[1] == H5Z_FILTER_SHUFFLE &&
         ids[2] == H5Z_FILTER_DEFLATE);
    CODE(nc_def_var_chunking(nc, v, NC_CONTIGUOUS, NULL), NC_EINVAL);
    CODE(nc_def_var_chunking(nc, v, NC_CHUNKED, &larger), NC_EBADCHUNK);
    OK(nc_def_var(nc, "level0", NC_INT, 1, &x, &w));
    OK(nc_def_var_deflate(nc, w, 0, 1, 0));
    OK(nc_inq_var_deflate(nc, w, NULL, &on, &level));
    TRUE(on == 0 || level == 0);
    /* A size of 0 is the default one. */
    OK(nc_def_var_chunking(nc, w, NC_CHUNKED, &chunk));
    OK(nc_inq_var_chunking(nc, w, &storage, &chunk));
    TRUE(storage == NC_CHUNKED && chunk == 10);
    CODE(nc_def_var_quantize(nc, w, NC_QUANTIZE_BITGROOM, 2), NC_EINVAL);
    OK(nc_def_var(nc, "scalar", NC_INT, 0, NULL, &scalar));
    CODE(nc_def_var_deflate(nc, scalar, 0, 1, 1), NC_EINVAL);
    CODE(nc_def_var_fletcher32(nc, scalar, NC_FLETCHER32), NC_EINVAL);
    CODE(nc_def_var_chunking(nc, scalar, NC_CHUNKED, &chunk), NC_EINVAL);
    OK(nc_def_var_chunking(nc, scalar, NC_COMPACT, NULL));
    OK(nc_inq_var_chunking(nc, scalar, &storage, NULL));
    CODE(storage, NC_COMPACT);
}

/* Trap 28: default chunks and caches. */
static void defaults(int nc)
{
    int dims[3], square[2], line, v;
    size_t chunks[3], bytes, slots;
    float preemption;

    OK(nc_def_dim(nc, "dt", NC_UNLIMITED, &dims[0]));
    OK(nc_def_dim(nc, "dy", 1000, &dims[1]));
    OK(nc_def_dim(nc, "dx", 2000, &dims[2]));
    OK(nc_def_dim(nc, "du", NC_UNLIMITED, &line));
    square[0] = dims[0], square[1] = line;
    OK(nc_def_var(nc, "cube", NC_FLOAT, 3, dims, &v));
    OK(nc_inq_var_chunking(nc, v, NULL, chunks));
    TRUE(chunks[0] == 1 && chunks[1] == 1000 && chunks[2] == 2000);
    OK(nc_def_var(nc, "line", NC_FLOAT, 1, &line, &v));
    OK(nc_inq_var_chunking(nc, v, NULL, chunks));
    TRUE(chunks[0] == 1024);
    chunks[0] = 0, chunks[1] = 0, chunks[2] = 3;
    OK(nc_def_var(nc, "given", NC_FLOAT, 3, dims, &v));
    OK(nc_def_var_chunking(nc, v, NC_CHUNKED, chunks));
    OK(nc_inq_var_chunking(nc, v, NULL, chunks));
    TRUE(chunks[0] == 1 && chunks[1] == 1000 && chunks[2] == 3);
    OK(nc_def_var(nc, "square", NC_INT, 2, square, &v));
    OK(nc_inq_var_chunking(nc, v, NULL, chunks));
    TRUE(chunks[0] == 2048 && chunks[1] == 2048);
    OK(nc_get_chunk_cache(&bytes, &slots, &preemption));
    TRUE(bytes == 67108864 && slots == 1000 && preemption == 0.75f);
    CODE(nc_set_chunk_cache(bytes, slots, 1.5f), NC_EINVAL);
    CODE(nc_set_chunk_cache(bytes, slots, -0.5f), NC_EINVAL);
    OK(nc_get_var_chunk_cache(nc, v, &bytes, &slots, &preemption));
    TRUE(bytes == 67108864 && slots == 1000 && preemption == 0.75f);
    CODE(nc_set_var_chunk_cache(nc, v, bytes, slots, -0.5f), NC_EINVAL);
}

/* Trap 36: a type is complete when it is stored, not when a variable has it. */
static void types(void)
{
    nc_type type, kind;
    int nc, v, number = 5, pair[2] = {1, 2}, found[2] = {0, 0};
    short member = 3;
    size_t count;
    char text[8];

    OK(nc_create("t.nc", NC_NETCDF4, &nc));
    OK(nc_def_compound(nc, 8, "pair", &type));
    OK(nc_insert_compound(nc, type, "a", 0, NC_INT));
    OK(nc_def_var(nc, "pairs", type, 0, NULL, &v));
    OK(nc_insert_compound(nc, type, "b", 4, NC_INT));
    CODE(nc_insert_compound(nc, type, "b", 4, NC_INT), NC_ENAMEINUSE);
    OK(nc_def_enum(nc, NC_SHORT, "kind", &kind));
    OK(nc_insert_enum(nc, kind, "one", &member));
    OK(nc_enddef(nc));
    OK(nc_redef(nc));
    CODE(nc_insert_compound(nc, type, "c", 4, NC_INT), NC_ETYPDEFINED);
    CODE(nc_insert_enum(nc, kind, "two", &number), NC_ETYPDEFINED);
    OK(nc_put_var(nc, v, pair));
    CODE(nc_get_var_int(nc, v, &number), NC_EBADTYPE);
    CODE(nc_put_var_int(nc, v, &number), NC_EBADTYPE);
    CODE(nc_get_var_text(nc, v, text), NC_ECHAR);
    CODE(nc_put_var_text(nc, v, "text"), NC_ECHAR);
    OK(nc_put_att(nc, v, "att", type, 1, pair));
    CODE(nc_get_att_text(nc, v, "att", text), NC_ECHAR);
    CODE(nc_get_att_int(nc, v, "att", &number), NC_EBADTYPE);
    OK(nc_close(nc));
    OK(nc_open("t.nc", NC_NOWRITE, &nc));
    OK(nc_inq_compound_nfields(nc, type, &count));
    TRUE(count == 2);
    OK(nc_get_var(nc, v, found));
    TRUE(found[0] == 1 && found[1] == 2);
    OK(nc_close(nc));
}

int main(int argc, char **argv)
{
    int nc;

    if (argc != 2 || chdir(argv[1]))
        return 1;
    data_mode();
    define_mode();
    present_names(0);
    present_names(NC_NETCDF4);
    classic();
    OK(nc_create("h.nc", NC_NETCDF4, &nc));
    special_attributes(nc);
    names(nc);
    groups(nc);
    layouts(nc);
    defaults(nc);
    OK(nc_close(nc));
    types();
    printf("%d failures\n", failures);
    return failures != 0;
}
