/* Settings of the process: rc files, and hints for HDF5. Its first argument is a folder. Prints the number of failures. */
#define _POSIX_C_SOURCE 200112L
#include <netcdf.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "check.h"

static void value(const char *key, const char *expected, int line)
{
    char *found = nc_rc_get(key);

    if (expected ? !found || strcmp(found, expected) : found != NULL) {
        printf("line %d: %s is %s, expected %s\n", line, key ? key : "a null key", found ? found : "absent",
               expected ? expected : "absent");
        failures++;
    }
    free(found);
}

#define VALUE(key, expected) value((key), (expected), __LINE__)

static void write_file(const char *name, const char *text)
{
    FILE *file = fopen(name, "w");

    if (!file || fputs(text, file) < 0 || fclose(file)) {
        perror(name);
        exit(1);
    }
}

static void rc_files(const char *folder)
{
    char path[4096];

    if (chdir(folder))
        exit(1);
    write_file("first", "A=first\n");
    write_file(".ncrc", "A=cwd\n");
    snprintf(path, sizeof path, "%s/home", folder);
    setenv("HOME", path, 1);
    unsetenv("NCRCENV_HOME");
    unsetenv("NCRCENV_RC");
    unsetenv("NCRCENV_IGNORE");
    write_file("home/.ncrc", "A=home\n# B=comment\n B = one two \nnothing\nC=3=4\n[http://h.example/]D=url\nE=1\nE=2\nW=x\r\n");
    write_file("home/.dodsrc", "A=dods\nF=dods");
    VALUE("A", "cwd");
    VALUE("B", "one two");
    VALUE("nothing", "");
    VALUE("C", "3=4");
    VALUE("D", NULL);
    VALUE("E", "2");
    VALUE("W", "x");
    VALUE("F", "dods");
    VALUE("a", NULL);
    VALUE(NULL, NULL);

    OK(nc_rc_set("A", "program"));
    OK(nc_rc_set("G", " of the program "));
    VALUE("A", "program");
    VALUE("G", "of the program");
    OK(nc_rc_set("G", ""));
    VALUE("G", "");
    CODE(nc_rc_set(NULL, "x"), NC_EINVAL);
    CODE(nc_rc_set("x", NULL), NC_EINVAL);
    OK(nc_finalize());
    VALUE("A", "cwd");

    setenv("NCRCENV_RC", "first", 1);
    VALUE("A", "first");
    VALUE("F", NULL);
    setenv("NCRCENV_RC", "missing", 1);
    VALUE("A", NULL);
    unsetenv("NCRCENV_RC");
    setenv("NCRCENV_HOME", "/", 1);
    VALUE("F", NULL);
    setenv("NCRCENV_IGNORE", "1", 1);
    VALUE("A", NULL);
    OK(nc_rc_set("A", "program"));
    VALUE("A", NULL);
    unsetenv("NCRCENV_IGNORE");
    VALUE("A", "cwd");
}

/* A setting counts for datasets that are created afterwards: the separator of chunk keys. */
static void used_setting(void)
{
    int nc, dim, v, values[2] = {1, 2};

    OK(nc_rc_set("ZARR.DIMENSION_SEPARATOR", "/"));
    OK(nc_create("file://s.zarr#mode=nczarr,v2,file", NC_NETCDF4, &nc));
    OK(nc_def_dim(nc, "x", 2, &dim));
    {
        int dims[2] = {dim, dim};
        OK(nc_def_var(nc, "v", NC_INT, 2, dims, &v));
    }
    OK(nc_put_vara_int(nc, v, (size_t[]){0, 0}, (size_t[]){1, 2}, values));
    OK(nc_close(nc));
    if (access("s.zarr/v/0/0", R_OK)) {
        perror("s.zarr/v/0/0");
        failures++;
    }
}

static void hints(const char *folder)
{
    size_t size = 1;
    int number = 1, nc;
    char path[4096];

    OK(nc_get_meta_block_size(&size));
    CODE((int)size, 0);
    OK(nc_set_meta_block_size(1 << 20));
    OK(nc_get_meta_block_size(&size));
    CODE((int)size, 1 << 20);
    OK(nc_set_meta_block_size_ints(77));
    OK(nc_get_meta_block_size_ints(&number));
    CODE(number, 77);
    CODE(nc_set_meta_block_size_ints(-1), NC_EINVAL);
    OK(nc_get_meta_block_size(NULL));
    snprintf(path, sizeof path, "%s/a.nc", folder);
    OK(nc_create(path, NC_NETCDF4, &nc));
    OK(nc_show_metadata(nc));
    OK(nc_close(nc));
    CODE(nc_show_metadata(nc), NC_EBADID);
}

int main(int argc, char **argv)
{
    if (argc != 2)
        return 1;
    rc_files(argv[1]);
    used_setting();
    hints(argv[1]);
    printf("%d failures\n", failures);
    return failures != 0;
}
