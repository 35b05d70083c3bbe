/* Rules of netCDF-C for ids, files and modes, with the codes of its version 4.10.1. The argument is a folder. Prints the
   number of failures. */
#define _POSIX_C_SOURCE 200112L
#include <netcdf.h>
#include <netcdf_mem.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "check.h"

static void write_file(const char *name, const char *bytes, size_t len)
{
    FILE *file = fopen(name, "wb");

    if (!file || fwrite(bytes, 1, len, file) != len || fclose(file))
        exit(1);
}

/* Trap 1: ids begin with 0x10000, and the lowest free one is next. */
static void ids(void)
{
    int a, b, c, g, h;

    OK(nc_create("a.nc", NC_NETCDF4, &a));
    OK(nc_create("b.nc", 0, &b));
    TRUE(a == 0x10000 && b == 0x20000);
    OK(nc_def_grp(a, "g", &g));
    OK(nc_def_grp(a, "h", &h));
    TRUE(g == 0x10001 && h == 0x10002);
    CODE(nc_inq_nvars(0, &c), NC_EBADID);
    CODE(nc_inq_nvars(-1, &c), NC_EBADID);
    CODE(nc_inq_nvars(0x10007, &c), NC_EBADID);
    OK(nc_close(a));
    OK(nc_create("c.nc", NC_CLASSIC_MODEL, &c));
    TRUE(c == 0x10000);
    OK(nc_close(b));
    OK(nc_close(c));
}

/* Trap 3: one file opened twice has two ids, and an open HDF5 file is not replaced. */
static void twice(void)
{
    int a, b;

    OK(nc_open("a.nc", NC_NOWRITE, &a));
    OK(nc_open("a.nc", NC_NOWRITE, &b));
    TRUE(a != b);
    CODE(nc_create("a.nc", NC_NETCDF4, &b), 13);
    OK(nc_close(b));
    OK(nc_close(a));
    OK(nc_create("d.nc", NC_NETCDF4, &a));
    CODE(nc_create("./d.nc", NC_NETCDF4, &b), 13);
    CODE(nc_create("d.nc", NC_NETCDF4 | NC_NOCLOBBER, &b), NC_EEXIST);
    OK(nc_close(a));
}

/* Trap 4: what is no dataset. */
static void no_datasets(void)
{
    int nc;

    write_file("short", "CDF", 3);
    write_file("empty", "", 0);
    write_file("junk", "this is text and no dataset at all", 34);
    CODE(nc_open("short", NC_NOWRITE, &nc), NC_ENOTNC);
    CODE(nc_open("empty", NC_NOWRITE, &nc), NC_ENOTNC);
    CODE(nc_open("junk", NC_NOWRITE, &nc), NC_ENOTNC);
    CODE(nc_open(".", NC_NOWRITE, &nc), NC_ENOTNC);
    CODE(nc_open("missing", NC_NOWRITE, &nc), 2);
    CODE(nc_open("", NC_NOWRITE, &nc), -74);
    CODE(nc_open(NULL, NC_NOWRITE, &nc), NC_EINVAL);
    CODE(nc_create("no/x.nc", 0, &nc), 2);
    CODE(nc_create("no/x.nc", NC_NETCDF4, &nc), 13);
    CODE(nc_delete("junk"), NC_ENOTNC);
    CODE(nc_delete("missing"), 2);
}

/* Traps 5 to 7: flags. */
static void flags(void)
{
    static const int kinds[] = {0, NC_NETCDF4};
    int nc, format, kind, mode;

    CODE(nc_create("x.nc", NC_64BIT_OFFSET | NC_64BIT_DATA, &nc), NC_EINVAL);
    CODE(nc_create("x.nc", NC_NETCDF4 | NC_64BIT_OFFSET, &nc), NC_EINVAL);
    CODE(nc_create("x.nc", NC_DISKLESS | NC_MMAP, &nc), NC_EDISKLESS);
    CODE(nc_create("x.nc", NC_DISKLESS | NC_INMEMORY, &nc), NC_EDISKLESS);
    CODE(nc_open("a.nc", NC_DISKLESS | NC_MMAP, &nc), NC_EDISKLESS);
    CODE(nc_create("a.nc", NC_NOCLOBBER, &nc), NC_EEXIST);
    OK(nc_create("x.nc", NC_CLASSIC_MODEL, &nc));
    OK(nc_inq_format(nc, &format));
    CODE(format, NC_FORMAT_CLASSIC);
    OK(nc_close(nc));
    OK(nc_open("x.nc", NC_NETCDF4 | NC_NOCLOBBER, &nc));
    OK(nc_inq_format_extended(nc, &format, &mode));
    CODE(format, NC_FORMATX_NC3);
    OK(nc_close(nc));
    for (kind = 0; kind < 2; kind++) {
        OK(nc_create("diskless.nc", NC_DISKLESS | kinds[kind], &nc));
        OK(nc_close(nc));
        TRUE(access("diskless.nc", F_OK) != 0);
        OK(nc_create("diskless.nc", NC_DISKLESS | NC_PERSIST | kinds[kind], &nc));
        OK(nc_close(nc));
        TRUE(access("diskless.nc", F_OK) == 0);
        TRUE(!unlink("diskless.nc"));
    }
}

/* Trap 31: memory of the program. netCDF-C does not open the result, which has 44 bytes, and answers 1. */
static void memory(void)
{
    static const char image[32] = "CDF\1";
    int nc;
    NC_memio info = {sizeof image, NULL, 0};

    CODE(nc_open_mem("m", NC_WRITE, sizeof image, (void *)image, &nc), NC_EINVAL);
    info.memory = malloc(sizeof image);
    memcpy(info.memory, image, sizeof image);
    OK(nc_open_memio("m", NC_WRITE, &info, &nc));
    OK(nc_redef(nc));
    OK(nc_put_att_text(nc, NC_GLOBAL, "a", 1, "b"));
    OK(nc_close_memio(nc, &info));
    TRUE(info.size > sizeof image);
    OK(nc_open_mem("m", NC_NOWRITE, info.size, info.memory, &nc));
    OK(nc_inq_attid(nc, NC_GLOBAL, "a", NULL));
    OK(nc_close(nc));
    free(info.memory);
}

/* Trap 34: atomic types need no dataset. Trap 35: the library can be used after nc_finalize. */
static void without_a_dataset(void)
{
    char name[NC_MAX_NAME + 1];
    size_t size;
    nc_type type;
    int nc;

    OK(nc_inq_type(0, NC_DOUBLE, name, &size));
    TRUE(!strcmp(name, "double") && size == 8);
    CODE(nc_inq_type(0, 32, name, &size), NC_EBADTYPE);
    CODE(nc_inq_typeid(0, "double", &type), NC_EBADID);
    OK(nc_finalize());
    OK(nc_create("x.nc", NC_NETCDF4, &nc));
    OK(nc_close(nc));
}

/* Trap 33: codes without a text. */
static void texts(void)
{
    static const int unknown[] = {-32, -79, -143, -144, -145, -1000};
    size_t at;

    for (at = 0; at < sizeof unknown / sizeof *unknown; at++)
        if (strcmp(nc_strerror(unknown[at]), "Unknown Error")) {
            printf("%d: %s\n", unknown[at], nc_strerror(unknown[at]));
            failures++;
        }
    TRUE(!strcmp(nc_strerror(2), strerror(2)));
}

int main(int argc, char **argv)
{
    if (argc != 2 || chdir(argv[1]))
        return 1;
    ids();
    twice();
    no_datasets();
    flags();
    memory();
    without_a_dataset();
    texts();
    printf("%d failures\n", failures);
    return failures != 0;
}
