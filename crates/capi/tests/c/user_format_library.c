/* Formats in a shared library that an rc file names. The argument is a part of the message when formats are not enabled;
   without it they are. Prints the number of failures. */
#include <netcdf.h>
#include <ncudfplugins.h>
#include <stdio.h>
#include <string.h>

#include "check.h"

static const int flags[] = {NC_UDF0, NC_UDF1, NC_UDF2, NC_UDF3, NC_UDF4, NC_UDF5, NC_UDF6, NC_UDF7};

static void write_file(const char *name)
{
    FILE *file = fopen(name, "w");

    if (!file || fputs(name, file) < 0 || fclose(file))
        failures++;
}

static void group(int nc)
{
    int group;

    OK(nc_inq_ncid(nc, "g", &group));
    OK(nc_close(nc));
}

/* A format that was not loaded tells why. */
static void absent(int number, const char *reason)
{
    int nc;

    CODE(nc_open("x", flags[number], &nc), NC_ENOTBUILT);
    if (!strstr(ncz_last_error(), reason)) {
        printf("udf%d: %s, expected %s\n", number, ncz_last_error(), reason);
        failures++;
    }
}

static void loaded(const char *library)
{
    int nc;

    OK(nc_open("x", NC_UDF0, &nc));
    group(nc);
    OK(nc_open("TREE.x", NC_NOWRITE, &nc));
    group(nc);
    OK(nc_open("SELF.x", NC_NOWRITE, &nc));
    group(nc);
    absent(2, "NETCDF.UDF2.INIT");
    absent(3, "-4321");
    absent(4, "no_such_function");
    absent(5, "must be absolute");
    absent(6, "/no/such/library.so");
    absent(7, "neither returned a table nor registered one");
    CODE(nc_open("x", NC_UDF8, &nc), NC_ENOTBUILT);

    /* Another setting counts when the program asks for it. */
    OK(nc_rc_set("NETCDF.UDF8.LIBRARY", library));
    OK(nc_rc_set("NETCDF.UDF8.INIT", "give_table"));
    CODE(nc_open("x", NC_UDF8, &nc), NC_ENOTBUILT);
    OK(NC_udf_load_plugins());
    OK(nc_open("x", NC_UDF8, &nc));
    group(nc);
}

int main(int argc, char **argv)
{
    int nc;

    if (argc != 3)
        return 1;
    write_file("TREE.x");
    write_file("SELF.x");
    if (strcmp(argv[2], "enabled")) {
        absent(0, argv[2]);
        TRUE(strstr(ncz_last_error(), "NETCDF.UDF0.LIBRARY") != NULL);
        CODE(nc_open("TREE.x", NC_NOWRITE, &nc), NC_ENOTNC);
    } else
        loaded(argv[1]);
    printf("%d failures\n", failures);
    return failures != 0;
}
