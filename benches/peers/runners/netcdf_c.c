/* Runner for libnetcdf: NCZarr V2 in directories, netCDF-4/HDF5 and CDF-5. One process does one operation; see ../README.md. */
#define _GNU_SOURCE
#include <fcntl.h>
#include <ftw.h>
#include <netcdf.h>
#include <netcdf_filter.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

enum { MAX_RANK = 8 };

static const char *op = "", *format = "v2", *store = "file", *codec = "none", *path = "", *data = "", *mode = "open";
static const char *dtype = "f4";
static size_t shape[MAX_RANK], chunks[MAX_RANK], box[MAX_RANK] = {32, 32, 32}, stride[MAX_RANK] = {2, 2, 2};
static size_t cache = 256u << 20;
static int rank, count = 100, nvars = 100, consolidated;
static uint64_t state = 1;
static char url[4096];

static void skip(const char *why)
{
    printf("{\"peer\":\"netcdf-c\",\"op\":\"%s\",\"skip\":\"%s\"}\n", op, why);
    exit(0);
}

static void check(int status)
{
    if (status)
        skip(nc_strerror(status));
}

static int is(const char *a, const char *b) { return !strcmp(a, b); }

/* ---- what is measured ---- */

static struct {
    double wall, cpu;
    long base, peak;
} taken;

static double seconds(clockid_t clock)
{
    struct timespec t;
    clock_gettime(clock, &t);
    return t.tv_sec + t.tv_nsec * 1e-9;
}

/* VmHWM: ru_maxrss would be that of the parent, as exec inherits it. */
static long peak_kb(void)
{
    FILE *status = fopen("/proc/self/status", "r");
    char line[256];
    long kb = 0;
    while (fgets(line, sizeof line, status))
        if (sscanf(line, "VmHWM: %ld", &kb) == 1)
            break;
    fclose(status);
    return kb;
}

static void start(void)
{
    taken.base = peak_kb();
    taken.cpu = seconds(CLOCK_PROCESS_CPUTIME_ID);
    taken.wall = seconds(CLOCK_MONOTONIC);
}

static void stop(void)
{
    taken.wall = seconds(CLOCK_MONOTONIC) - taken.wall;
    taken.cpu = seconds(CLOCK_PROCESS_CPUTIME_ID) - taken.cpu;
    taken.peak = peak_kb();
}

static void print(size_t bytes, const char *checksum, int n)
{
    printf("{\"peer\":\"netcdf-c\",\"op\":\"%s\",\"seconds\":%.9f,\"cpu\":%.6f,\"bytes\":%zu,\"base_rss_kb\":%ld,"
           "\"rss_kb\":%ld,\"checksum\":\"%s\",\"n\":%d}\n",
           op, taken.wall, taken.cpu, bytes, taken.base, taken.peak, checksum, n);
}

/* The sum over little-endian 64-bit words w_i of w_i * (2 i + 1), the last word padded with zeros. */
static void print_data(const void *memory, size_t bytes, int n)
{
    const unsigned char *at = memory;
    uint64_t sum = 0, word, words = 0;
    for (size_t left = bytes; left; words++) {
        size_t part = left < 8 ? left : 8;
        word = 0;
        memcpy(&word, at, part);
        sum += word * (2 * words + 1);
        at += part;
        left -= part;
    }
    char text[32];
    snprintf(text, sizeof text, "%016llx", (unsigned long long)sum);
    print(bytes, text, n);
}

/* ---- the array ---- */

static nc_type type(void)
{
    const char *name = dtype[0] == '>' ? dtype + 1 : dtype;
    return is(name, "f8") ? NC_DOUBLE : is(name, "i2") ? NC_SHORT : NC_FLOAT;
}

static size_t item(void) { return type() == NC_DOUBLE ? 8 : type() == NC_SHORT ? 2 : 4; }

static size_t product(const size_t *lengths)
{
    size_t total = 1;
    for (int i = 0; i < rank; i++)
        total *= lengths[i];
    return total;
}

static void *allocate(size_t bytes)
{
    void *memory = malloc(bytes);
    if (!memory)
        skip("no memory");
    return memory;
}

/* The elements to write, from a file that starts again at its end. */
static void *load(size_t bytes)
{
    unsigned char *memory = allocate(bytes);
    int file = open(data, O_RDONLY);
    if (file < 0)
        skip("no data file");
    for (size_t got = 0; got < bytes;) {
        ssize_t n = read(file, memory + got, bytes - got);
        if (n < 0 || (n == 0 && got == 0))
            skip("the data file cannot be read");
        if (n == 0)
            lseek(file, 0, SEEK_SET);
        got += n;
    }
    close(file);
    return memory;
}

static int remove_one(const char *name, const struct stat *info, int flag, struct FTW *walk)
{
    (void)info, (void)flag, (void)walk;
    return remove(name);
}

static void wipe(void) { nftw(path, remove_one, 64, FTW_DEPTH | FTW_PHYS); }

static int create_file(void)
{
    int nc;
    check(nc_create(url, NC_CLOBBER | (is(format, "cdf5") ? NC_64BIT_DATA : NC_NETCDF4), &nc));
    return nc;
}

static void add_filters(int nc, int var)
{
    unsigned level = 3;
    check(nc_def_var_chunking(nc, var, NC_CHUNKED, chunks));
    if (is(codec, "deflate5s") || is(codec, "zlib5")) {
        check(nc_def_var_deflate(nc, var, is(codec, "deflate5s"), 1, 5));
    } else if (is(codec, "zstd3") || is(codec, "zstd3s")) {
        if (is(codec, "zstd3s"))
            check(nc_def_var_deflate(nc, var, 1, 0, 0));
        check(nc_def_var_filter(nc, var, 32015, 1, &level));
    } else if (is(codec, "blosclz4") || is(codec, "blosczstdbit")) {
        int zstd = is(codec, "blosczstdbit");
        unsigned bytes = product(chunks) * item();
        unsigned params[7] = {2, 2, item(), bytes, zstd ? 3 : 5, zstd ? 2 : 1, zstd ? 5 : 1};
        check(nc_def_var_filter(nc, var, 32001, 7, params));
    } else if (!is(codec, "none")) {
        skip("codec");
    }
}

static int create(int grows, int *var)
{
    int nc = create_file(), dims[MAX_RANK], old;
    check(nc_set_fill(nc, NC_NOFILL, &old));
    for (int i = 0; i < rank; i++) {
        char name[16];
        snprintf(name, sizeof name, "d%d", i);
        check(nc_def_dim(nc, name, grows && i == 0 ? NC_UNLIMITED : shape[i], &dims[i]));
    }
    check(nc_def_var(nc, "v", type(), rank, dims, var));
    if (!is(format, "cdf5")) {
        add_filters(nc, *var);
        check(nc_def_var_fill(nc, *var, 1, NULL));
        if (dtype[0] == '>')
            check(nc_def_var_endian(nc, *var, NC_ENDIAN_BIG));
    }
    check(nc_enddef(nc));
    return nc;
}

static int open_file(int *var)
{
    int nc;
    check(nc_open(url, NC_NOWRITE, &nc));
    check(nc_inq_varid(nc, "v", var));
    return nc;
}

/* ---- the operations ---- */

static void write_whole(void)
{
    size_t bytes = product(shape) * item();
    void *memory = load(bytes);
    int nc, var;
    wipe();
    start();
    nc = create(0, &var);
    check(nc_put_var(nc, var, memory));
    check(nc_close(nc));
    stop();
    print_data(memory, bytes, 1);
}

static void read_whole(void)
{
    size_t bytes = product(shape) * item();
    int nc, var;
    start();
    void *memory = allocate(bytes);
    nc = open_file(&var);
    check(nc_get_var(nc, var, memory));
    stop();
    print_data(memory, bytes, 1);
}

static void convert(void)
{
    size_t n = product(shape);
    int nc, var;
    start();
    double *memory = allocate(n * sizeof *memory);
    nc = open_file(&var);
    check(nc_get_var_double(nc, var, memory));
    for (size_t i = 0; i < n; i++)
        memory[i] = memory[i] * 0.005 + 273.0;
    stop();
    print_data(memory, n * sizeof *memory, 1);
}

static void strided(void)
{
    size_t from[MAX_RANK] = {0}, counts[MAX_RANK];
    ptrdiff_t steps[MAX_RANK];
    int nc, var;
    for (int i = 0; i < rank; i++) {
        counts[i] = (shape[i] + stride[i] - 1) / stride[i];
        steps[i] = stride[i];
    }
    size_t bytes = product(counts) * item();
    start();
    void *memory = allocate(bytes);
    nc = open_file(&var);
    check(nc_get_vars(nc, var, from, counts, steps, memory));
    stop();
    print_data(memory, bytes, 1);
}

static size_t below(size_t n)
{
    state = state * 6364136223846793005ull + 1442695040888963407ull;
    return (state >> 33) % n;
}

static void parts(void)
{
    size_t counts[MAX_RANK], (*starts)[MAX_RANK] = allocate(count * sizeof *starts);
    for (int i = 0; i < rank; i++)
        counts[i] = is(op, "box") ? box[i] : 1;
    if (is(op, "row"))
        counts[rank - 1] = shape[rank - 1];
    if (is(op, "series"))
        counts[0] = shape[0];
    for (int k = 0; k < count; k++)
        for (int i = 0; i < rank; i++) {
            int whole = counts[i] == shape[i] && counts[i] != 1 && !is(op, "box");
            starts[k][i] = whole ? 0 : below(shape[i] - counts[i] + 1);
        }
    size_t each = product(counts) * item();
    unsigned char *memory = allocate(each * count);
    memset(memory, 1, each * count);
    int nc, var, warm = is(mode, "warm");
    if (is(mode, "cold")) {
        start();
        for (int k = 0; k < count; k++) {
            nc = open_file(&var);
            check(nc_get_vara(nc, var, starts[k], counts, memory + each * k));
            check(nc_close(nc));
        }
    } else {
        nc = open_file(&var);
        if (!is(format, "cdf5"))
            check(nc_set_var_chunk_cache(nc, var, warm ? cache : 4u << 20, 10007, 0.75f));
        for (int k = 0; warm && k < count; k++)
            check(nc_get_vara(nc, var, starts[k], counts, memory + each * k));
        start();
        for (int k = 0; k < count; k++)
            check(nc_get_vara(nc, var, starts[k], counts, memory + each * k));
    }
    stop();
    print_data(memory, each * count, count);
}

static void open_often(void)
{
    start();
    for (int k = 0; k < count; k++) {
        int var, nc = open_file(&var);
        check(nc_close(nc));
    }
    stop();
    print(0, "", count);
}

static void append(void)
{
    size_t record = product(shape) / shape[0] * item(), from[MAX_RANK] = {0}, counts[MAX_RANK];
    unsigned char *memory = load(record * count);
    int nc, var;
    memcpy(counts, shape, sizeof counts);
    counts[0] = 1;
    wipe();
    start();
    nc = create(1, &var);
    for (int k = 0; k < count; k++) {
        from[0] = k;
        check(nc_put_vara(nc, var, from, counts, memory + record * k));
    }
    check(nc_close(nc));
    stop();
    print_data(memory, record * count, count);
}

static void write_metadata(void)
{
    wipe();
    start();
    int nc = create_file(), dim, var;
    check(nc_def_dim(nc, "x", 10, &dim));
    for (int i = 0; i < nvars; i++) {
        char name[32], text[64];
        double scale = 0.5, offset = i;
        snprintf(name, sizeof name, "v%05d", i);
        snprintf(text, sizeof text, "variable %d", i);
        check(nc_def_var(nc, name, NC_FLOAT, 1, &dim, &var));
        check(nc_put_att_text(nc, var, "units", 1, "K"));
        check(nc_put_att_text(nc, var, "long_name", strlen(text), text));
        check(nc_put_att_double(nc, var, "scale_factor", NC_DOUBLE, 1, &scale));
        check(nc_put_att_double(nc, var, "add_offset", NC_DOUBLE, 1, &offset));
    }
    check(nc_close(nc));
    stop();
    print(0, "", nvars);
}

static void read_metadata(void)
{
    int nc, vars, dims[MAX_RANK], natts, ndims;
    size_t length;
    long sum = 0;
    start();
    check(nc_open(url, NC_NOWRITE, &nc));
    check(nc_inq_nvars(nc, &vars));
    for (int i = 0; i < vars; i++) {
        char name[NC_MAX_NAME + 1], values[256];
        nc_type xtype;
        check(nc_inq_var(nc, i, name, &xtype, &ndims, dims, &natts));
        for (int j = 0; j < natts; j++) {
            check(nc_inq_attname(nc, i, j, name));
            check(nc_inq_att(nc, i, name, &xtype, &length));
            if (length < 32)
                check(nc_get_att(nc, i, name, values));
        }
        check(nc_inq_dimlen(nc, dims[0], &length));
        /* The names of the dimensions count as an attribute, which they are to other readers. */
        sum += 5000 + length;
    }
    stop();
    char text[32];
    snprintf(text, sizeof text, "%ld", sum);
    print(0, text, nvars);
    /* Closing thousands of variables is not asked for. */
    fflush(stdout);
    _exit(0);
}

/* ---- the command line ---- */

static int ints(const char *text, size_t *out)
{
    int n = 0;
    char *end;
    for (; *text && n < MAX_RANK; text = *end == ',' ? end + 1 : end)
        out[n++] = strtoull(text, &end, 10);
    return n;
}

static void set(const char *name, const char *value)
{
    if (is(name, "--op")) op = value;
    else if (is(name, "--format")) format = value;
    else if (is(name, "--store")) store = value;
    else if (is(name, "--codec")) codec = value;
    else if (is(name, "--dtype")) dtype = value;
    else if (is(name, "--path")) path = value;
    else if (is(name, "--data")) data = value;
    else if (is(name, "--mode")) mode = value;
    else if (is(name, "--shape")) rank = ints(value, shape);
    else if (is(name, "--chunks")) ints(value, chunks);
    else if (is(name, "--box")) ints(value, box);
    else if (is(name, "--stride")) ints(value, stride);
    else if (is(name, "--count")) count = atoi(value);
    else if (is(name, "--nvars")) nvars = atoi(value);
    else if (is(name, "--seed")) state = strtoull(value, NULL, 10);
    else if (is(name, "--cache")) cache = strtoull(value, NULL, 10);
}

int main(int argc, char **argv)
{
    for (int i = 1; i < argc; i++) {
        if (is(argv[i], "--consolidated"))
            consolidated = 1;
        else if (!is(argv[i], "--fsync") && i + 1 < argc)
            set(argv[i], argv[i + 1]), i++;
    }
    if (is(format, "v3") || is(format, "v3s"))
        skip("Zarr V2 only");
    if (!is(store, "file"))
        skip("store");
    if (is(format, "v2"))
        snprintf(url, sizeof url, "file://%s#mode=zarr,file%s", path, consolidated ? ",consolidated" : "");
    else
        snprintf(url, sizeof url, "%s", path);
    if (is(op, "write")) write_whole();
    else if (is(op, "read")) read_whole();
    else if (is(op, "conv")) convert();
    else if (is(op, "vars")) strided();
    else if (is(op, "elem") || is(op, "row") || is(op, "box") || is(op, "series")) parts();
    else if (is(op, "open")) open_often();
    else if (is(op, "append")) append();
    else if (is(op, "meta_write")) write_metadata();
    else if (is(op, "meta_open")) read_metadata();
    else skip("op");
    return 0;
}
