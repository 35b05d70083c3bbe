/* A shared library with a format. Rc files name its functions. */
#include "tree_format.h"

NC_Dispatch *give_table(void)
{
    return &table;
}

/* As for netCDF-C before 4.10. It may call the library. */
int register_itself(void)
{
    int nc;

    if (nc_open("/no/such/file", NC_NOWRITE, &nc) != 2)
        return -1;
    return nc_def_user_format(NC_UDF1, &table, NULL);
}

int register_another(void)
{
    return nc_def_user_format(NC_UDF1, &table, NULL);
}

int fail(void)
{
    return -4321;
}
