/* The stored form of variables of a format by a table of this program. Prints the number of failures. */
#include <netcdf_filter.h>

#include "check.h"
#include "tree_format.h"

static char settings[512];

static void setting(const char *what, int a, int b, int c)
{
    size_t used = strlen(settings);

    snprintf(settings + used, sizeof settings - used, "%s(%d,%d,%d) ", what, a, b, c);
}

static int my_deflate(int ncid, int var, int shuffle, int deflate, int level)
{
    (void)ncid, (void)var;
    setting("deflate", shuffle, deflate, level);
    return level == 7 ? -4321 : NC_NOERR;
}

static int my_fletcher32(int ncid, int var, int on)
{
    (void)ncid, (void)var;
    setting("fletcher32", on, 0, 0);
    return NC_NOERR;
}

static int my_chunking(int ncid, int var, int storage, const size_t *sizes)
{
    (void)ncid, (void)var;
    setting("chunking", storage, sizes ? (int)sizes[0] : -1, 0);
    return NC_NOERR;
}

static int my_endian(int ncid, int var, int endian)
{
    (void)ncid, (void)var;
    setting("endian", endian, 0, 0);
    return NC_NOERR;
}

static int my_filter(int ncid, int var, unsigned int id, size_t count, const unsigned int *params)
{
    (void)ncid, (void)var;
    setting("filter", (int)id, (int)count, (int)params[0]);
    return NC_NOERR;
}

static int my_quantize(int ncid, int var, int mode, int digits)
{
    (void)ncid, (void)var;
    setting("quantize", mode, digits, 0);
    return NC_NOERR;
}

static int my_set_cache(int ncid, int var, size_t size, size_t slots, float preemption)
{
    (void)ncid;
    setting("cache", (int)size, (int)slots, (int)(100 * preemption));
    return var == RECORDS ? NC_NOERR : NC_ENOTVAR;
}

static int my_get_cache(int ncid, int var, size_t *size, size_t *slots, float *preemption)
{
    (void)ncid, (void)var;
    *size = 77, *slots = 7, *preemption = 0.25f;
    return NC_NOERR;
}

static int my_filter_ids(int ncid, int var, size_t *count, unsigned int *ids)
{
    (void)ncid, (void)var;
    if (count)
        *count = 2;
    if (ids)
        ids[0] = 5000, ids[1] = H5Z_FILTER_DEFLATE;
    return NC_NOERR;
}

static int my_filter_info(int ncid, int var, unsigned int id, size_t *count, unsigned int *params)
{
    (void)ncid, (void)var;
    if (count)
        *count = 1;
    if (params)
        *params = id == 5000 ? 50 : 6;
    return NC_NOERR;
}

static int my_inq_quantize(int ncid, int var, int *mode, int *digits)
{
    (void)ncid, (void)var;
    *mode = NC_QUANTIZE_BITGROOM, *digits = 3;
    return NC_NOERR;
}

static int my_filter_avail(int ncid, unsigned int id)
{
    (void)ncid;
    return id == 5000 ? NC_NOERR : NC_ENOFILTER;
}

static int my_storage(int ncid, int var, char *name, nc_type *type, int *rank, int *dims, int *natts, int *shuffle,
                      int *deflate, int *level, int *fletcher32, int *contiguous, size_t *chunks, int *no_fill, void *fill,
                      int *endian, unsigned int *id, size_t *nparams, unsigned int *params)
{
    int code = my_inq_var_all(ncid, var, name, type, rank, dims, natts, shuffle, deflate, level, fletcher32, contiguous,
                              chunks, no_fill, fill, endian, id, nparams, params);

    if (shuffle)
        *shuffle = 1;
    if (deflate)
        *deflate = 1;
    if (level)
        *level = 6;
    if (fletcher32)
        *fletcher32 = 1;
    if (contiguous)
        *contiguous = ncid - root == H ? NC_COMPACT : NC_CHUNKED;
    if (chunks && ncid - root != H)
        *chunks = 2;
    if (endian)
        *endian = NC_ENDIAN_BIG;
    return code;
}

static void reading(int has_filters)
{
    int nc, g, h, storage, endian, shuffle, deflate, level, checksum, mode, digits;
    size_t chunk, count, slots;
    unsigned int ids[3], param;
    float preemption;

    OK(nc_open("x", NC_UDF0, &nc));
    OK(nc_inq_ncid(nc, "g", &g));
    OK(nc_inq_ncid(g, "h", &h));
    OK(nc_inq_var_chunking(g, 2, &storage, &chunk));
    TRUE(storage == NC_CHUNKED && chunk == 2);
    OK(nc_inq_var_chunking(h, 0, &storage, NULL));
    CODE(storage, NC_COMPACT);
    OK(nc_inq_var_endian(h, 0, &endian));
    CODE(endian, NC_ENDIAN_BIG);
    OK(nc_inq_var_filter_ids(g, 2, &count, ids));
    OK(nc_inq_var_deflate(g, 2, &shuffle, &deflate, &level));
    TRUE(deflate == 1 && level == 6);
    OK(nc_inq_var_fletcher32(g, 2, &checksum));
    OK(nc_inq_var_quantize(h, 0, &mode, &digits));
    if (has_filters) {
        TRUE(count == 2 && ids[0] == 5000 && ids[1] == H5Z_FILTER_DEFLATE && !shuffle && !checksum);
        OK(nc_inq_var_filter_info(g, 2, 5000, &count, &param));
        TRUE(count == 1 && param == 50);
        TRUE(mode == NC_QUANTIZE_BITGROOM && digits == 3);
        OK(nc_inq_filter_avail(nc, 5000));
        CODE(nc_inq_filter_avail(nc, H5Z_FILTER_DEFLATE), NC_ENOFILTER);
        OK(nc_get_var_chunk_cache(g, 0, &count, &slots, &preemption));
        TRUE(count == 77 && slots == 7 && preemption == 0.25f);
        OK(nc_set_var_chunk_cache(g, 0, 1000, 10, 0.5f));
        CODE(nc_set_var_chunk_cache(g, 1, 1000, 10, 0.5f), NC_ENOTVAR);
    } else {
        TRUE(count == 3 && ids[0] == H5Z_FILTER_SHUFFLE && ids[2] == H5Z_FILTER_FLETCHER32 && shuffle && checksum);
        TRUE(mode == 0 && digits == 0);
        CODE(nc_inq_filter_avail(nc, 5000), NC_ENOTBUILT);
    }
    CODE(nc_def_var_deflate(g, 2, 0, 1, 1), NC_EPERM);
    OK(nc_close(nc));
}

static void writing(void)
{
    int nc, x, v, shuffle, deflate, level, storage, mode, digits, endian;
    size_t chunk = 2, count;
    unsigned int ids[5], param = 11;

    settings[0] = 0;
    OK(nc_create("x", NC_UDF0 | NC_NETCDF4, &nc));
    OK(nc_def_dim(nc, "x", 3, &x));
    OK(nc_def_var(nc, "v", NC_FLOAT, 1, &x, &v));
    OK(nc_def_var_chunking(nc, v, NC_CHUNKED, &chunk));
    OK(nc_def_var_deflate(nc, v, 1, 1, 4));
    CODE(nc_def_var_deflate(nc, v, 0, 1, 7), -4321);
    OK(nc_def_var_fletcher32(nc, v, NC_FLETCHER32));
    OK(nc_def_var_filter(nc, v, 5000, 1, &param));
    OK(nc_def_var_endian(nc, v, NC_ENDIAN_LITTLE));
    OK(nc_def_var_quantize(nc, v, NC_QUANTIZE_BITROUND, 9));
    OK(nc_inq_var_chunking(nc, v, &storage, &chunk));
    TRUE(storage == NC_CHUNKED && chunk == 2);
    OK(nc_inq_var_deflate(nc, v, &shuffle, &deflate, &level));
    TRUE(shuffle == 1 && deflate == 1 && level == 4);
    OK(nc_inq_var_filter_ids(nc, v, &count, ids));
    TRUE(count == 4 && ids[3] == 5000);
    OK(nc_inq_var_quantize(nc, v, &mode, &digits));
    TRUE(mode == NC_QUANTIZE_BITROUND && digits == 9);
    OK(nc_inq_var_endian(nc, v, &endian));
    CODE(endian, NC_ENDIAN_LITTLE);
    OK(nc_enddef(nc));
    OK(nc_redef(nc));
    /* The table decides what is too late. */
    OK(nc_def_var_chunking(nc, v, NC_CHUNKED, NULL));
    OK(nc_def_var_chunking(nc, v, NC_CONTIGUOUS, NULL));
    OK(nc_close(nc));
    if (strcmp(settings, "chunking(0,2,0) deflate(1,1,4) deflate(0,1,7) fletcher32(1,0,0) filter(5000,1,11) "
                         "endian(1,0,0) quantize(3,9,0) chunking(0,-1,0) chunking(1,-1,0) ")) {
        printf("settings: %s\n", settings);
        failures++;
    }
}

int main(void)
{
    table.inq_var_all = my_storage;
    OK(nc_def_user_format(NC_UDF0, &table, NULL));
    reading(0);
    table.def_var_deflate = my_deflate;
    table.def_var_fletcher32 = my_fletcher32;
    table.def_var_chunking = my_chunking;
    table.def_var_endian = my_endian;
    table.def_var_filter = my_filter;
    table.def_var_quantize = my_quantize;
    table.set_var_chunk_cache = my_set_cache;
    table.get_var_chunk_cache = my_get_cache;
    table.inq_var_filter_ids = my_filter_ids;
    table.inq_var_filter_info = my_filter_info;
    table.inq_var_quantize = my_inq_quantize;
    table.inq_filter_avail = my_filter_avail;
    reading(1);
    writing();
    printf("%d failures\n", failures);
    return failures != 0;
}
