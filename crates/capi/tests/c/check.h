/* Checks of the C test programs. A wrong code is printed with its line, and counted. */
#include <netcdf.h>
#include <stdio.h>

static int failures;

static void check(int code, int expected, int line)
{
    const char *message = ncz_last_error();

    if (code == expected)
        return;
    printf("line %d: %d (%s), expected %d: %s\n", line, code, nc_strerror(code), expected, message ? message : "");
    failures++;
}

#define OK(call) check((call), NC_NOERR, __LINE__)
#define CODE(call, code) check((call), (code), __LINE__)
#define TRUE(condition) check((condition) ? 0 : -1, 0, __LINE__)
