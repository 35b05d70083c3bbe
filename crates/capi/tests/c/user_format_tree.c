/* Groups and user-defined types of a format by a table of this program. Prints the number of failures. */
#include "check.h"
#include "tree_format.h"

static void inquiring(void)
{
    int nc, g, h, ids[4], count, class, rank, dims[2];
    nc_type type, base;
    size_t size, parts, offset, len;
    char name[NC_MAX_NAME + 1];
    short value;

    OK(nc_open("x", NC_UDF0, &nc));
    OK(nc_inq_grps(nc, &count, ids));
    TRUE(count == 1);
    OK(nc_inq_ncid(nc, "g", &g));
    OK(nc_inq_grp_full_ncid(nc, "/g/h", &h));
    TRUE(g == ids[0] && g == nc + 1 && h == nc + 2);
    OK(nc_inq_grpname_full(h, &len, name));
    TRUE(!strcmp(name, "/g/h"));
    OK(nc_inq_dimids(g, &count, ids, 1));
    TRUE(count == 2);
    OK(nc_inq_unlimdims(g, &count, ids));
    TRUE(count == 1);
    OK(nc_inq_dim(g, ids[0], name, &len));
    TRUE(!strcmp(name, "t") && len == 2);
    OK(nc_inq_varids(g, &count, ids));
    TRUE(count == 3 && ids[2] == 2);
    OK(nc_inq_var(g, 2, name, &type, &rank, dims, &count));
    TRUE(!strcmp(name, "points") && rank == 1 && count == 1);
    OK(nc_inq_dimname(g, dims[0], name));
    TRUE(!strcmp(name, "x"));

    OK(nc_inq_typeids(nc, &count, ids));
    TRUE(count == 4);
    OK(nc_inq_typeid(nc, "record", &type));
    OK(nc_inq_user_type(nc, type, name, &size, &base, &parts, &class));
    TRUE(size == sizeof(struct record) && parts == 3 && class == NC_COMPOUND);
    OK(nc_inq_compound_field(nc, type, 0, name, &offset, &base, &rank, dims));
    TRUE(!strcmp(name, "inner") && rank == 1 && dims[0] == 2);
    OK(nc_inq_compound_name(nc, base, name));
    TRUE(!strcmp(name, "point"));
    OK(nc_inq_compound_fieldoffset(nc, type, 2, &offset));
    TRUE(offset == offsetof(struct record, rest));
    OK(nc_inq_typeid(nc, "color", &type));
    OK(nc_inq_enum_member(nc, type, 1, name, &value));
    TRUE(!strcmp(name, "red") && value == -300);
    OK(nc_inq_typeid(h, "blob", &type));
    OK(nc_inq_opaque(h, type, name, &size));
    TRUE(size == 5);
    OK(nc_close(nc));
}

static void reading(void)
{
    int nc, g, h;
    struct point some[2], fill;
    nc_vlen_t lists[3];
    struct record records[2];
    short colors[2];
    double number = 0;
    size_t start = 0, count = 2;
    ptrdiff_t stride = 2;
    nc_type type;

    OK(nc_open("x", NC_UDF0, &nc));
    OK(nc_inq_ncid(nc, "g", &g));
    OK(nc_inq_ncid(g, "h", &h));
    OK(nc_get_att(g, NC_GLOBAL, "colors", colors));
    TRUE(colors[0] == -300 && colors[1] == 2);
    OK(nc_get_att(g, 2, "_FillValue", &fill));
    TRUE(fill.a == 3 && fill.b == 3.5);
    OK(nc_get_vars(g, 2, &start, &count, &stride, some));
    TRUE(some[0].a == 1 && some[1].b == 3.5);
    OK(nc_get_var(g, 1, lists));
    TRUE(lists[0].len == 0 && lists[2].len == 2 && ((int *)lists[2].p)[1] == 5);
    OK(nc_inq_vartype(g, 1, &type));
    OK(nc_reclaim_data(g, type, lists, 3));
    OK(nc_get_var(g, 0, records));
    TRUE(records[1].inner[1].b == 2.5 && !strcmp(records[1].name, "nam1") && records[1].rest.len == 2);
    OK(nc_inq_vartype(g, 0, &type));
    OK(nc_reclaim_data(g, type, records, 2));
    OK(nc_get_var_double(h, 0, &number));
    TRUE(number == 42);
    CODE(nc_get_var_double(g, 0, &number), NC_EBADTYPE);
    OK(nc_close(nc));
}

static void writing(void)
{
    int nc, g, h, dims[2], v, n, ints[] = {8, 9}, answer = 1, two = 2;
    nc_type point, record, list, color, blob, again;
    nc_vlen_t lists[2] = {{0, NULL}, {2, ints}};
    struct record one = {{{1, 2}, {3, 4}}, "abc", {2, ints}};
    short red = -300;
    size_t start = 0, count = 1;

    OK(nc_create("x", NC_UDF0 | NC_NETCDF4, &nc));
    OK(nc_def_grp(nc, "g", &g));
    OK(nc_def_grp(g, "hh", &h));
    OK(nc_rename_grp(h, "h"));
    OK(nc_def_dim(nc, "x", 3, &dims[0]));
    OK(nc_def_dim(g, "tt", NC_UNLIMITED, &dims[1]));
    OK(nc_rename_dim(g, dims[1], "t"));
    OK(nc_def_compound(nc, sizeof(struct point), "point", &point));
    OK(nc_insert_compound(nc, point, "a", offsetof(struct point, a), NC_BYTE));
    OK(nc_insert_compound(nc, point, "b", offsetof(struct point, b), NC_DOUBLE));
    CODE(nc_insert_compound(nc, point, "refused", 1, NC_BYTE), -4321);
    OK(nc_def_vlen(nc, "sequence", NC_INT, &list));
    OK(nc_def_compound(nc, sizeof(struct record), "record", &record));
    OK(nc_insert_array_compound(nc, record, "inner", 0, point, 1, &two));
    OK(nc_insert_compound(nc, record, "name", offsetof(struct record, name), NC_STRING));
    OK(nc_insert_compound(nc, record, "rest", offsetof(struct record, rest), list));
    OK(nc_def_enum(nc, NC_SHORT, "color", &color));
    OK(nc_insert_enum(nc, color, "red", &red));
    OK(nc_def_opaque(h, 5, "blob", &blob));
    CODE(nc_def_enum(nc, NC_SHORT, "again", &again), NC_EINTERNAL);
    TRUE(strstr(ncz_last_error(), "number 40") != NULL);
    OK(nc_def_var(g, "records", record, 1, &dims[1], &v));
    OK(nc_def_var(h, "number", NC_INT, 0, NULL, &n));
    TRUE(v == 0 && n == 0 && blob == color + 1);
    OK(nc_put_att(g, v, "list", list, 2, lists));
    OK(nc_put_att(h, NC_GLOBAL, "color", color, 1, &red));
    OK(nc_enddef(nc));
    OK(nc_put_vara(g, v, &start, &count, &one));
    OK(nc_put_var_int(h, n, &answer));
    OK(nc_close(nc));
    if (strcmp(calls,
               "grp(0,g,0,0) grp(7,hh,0,0) rename_grp(14,h,0,0) dim(0,x,3,0) dim(7,tt,0,0) rename_dim(7,t,103,0) "
               "compound(0,point,16,0) field(0,a,40,1) field(0,b,40,6) field(0,refused,40,1) vlen(0,sequence,4,0) "
               "compound(0,record,56,0) array(0,inner,52,40) field(0,name,52,12) field(0,rest,52,43) "
               "enum(0,color,3,0) member(0,red,46,-300) opaque(14,blob,5,0) enum(0,again,3,0) "
               "var(7,records,52,103) var(14,number,4,0) att(7,list,43,10) second(7,,2,8) att(14,color,46,-1) "
               "put(7,abc,10,1) rest(7,,2,9) put(14,?,10,1) ")) {
        printf("calls: %s\n", calls);
        failures++;
    }
}

/* A table that lists a group inside itself cannot describe its dataset. */
static void failing(void)
{
    int nc, count;

    is_circular = 1;
    OK(nc_open("x", NC_UDF0, &nc));
    CODE(nc_inq_grps(nc, &count, NULL), NC_EINTERNAL);
    OK(nc_close(nc));
    is_circular = 0;
}

int main(void)
{
    OK(nc_def_user_format(NC_UDF0, &table, NULL));
    inquiring();
    reading();
    writing();
    failing();
    printf("%d failures\n", failures);
    return failures != 0;
}
