/* The helpers of netcdf_aux.h, and the list of plugin directories. Prints the number of failures. */
#define _POSIX_C_SOURCE 200112L
#include <netcdf.h>
#include <netcdf_aux.h>
#include <netcdf_filter.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "check.h"

struct place {
    char kind;
    double position[2];
    short level;
    char *name;
    nc_vlen_t samples;
    unsigned char key;
};

static void compounds(const char *path)
{
    int nc, vlen, type, base, class, sizes[1] = {2};
    int samples[2] = {7, -8};
    void *tag, *copy;
    size_t size, offset, fields, align;
    char name[NC_MAX_NAME + 1], *text;
    struct place place = {'k', {1.5, -2}, 3, "here", {2, NULL}, 9};
    const char *expected =
        "<kind()'k';position(2)1.500000 -2.000000;level()3;name()\"here\";samples(){len=2,p=(7 -8)};key()9>";

    place.samples.p = samples;
    OK(nc_create(path, NC_NETCDF4 | NC_CLOBBER, &nc));
    OK(nc_def_vlen(nc, "samples", NC_INT, &vlen));
    OK(ncaux_begin_compound(nc, "place", NCAUX_ALIGN_C, &tag));
    OK(ncaux_add_field(tag, "kind", NC_CHAR, 0, NULL));
    OK(ncaux_add_field(tag, "position", NC_DOUBLE, 1, sizes));
    OK(ncaux_add_field(tag, "level", NC_SHORT, 0, NULL));
    OK(ncaux_add_field(tag, "name", NC_STRING, 0, NULL));
    OK(ncaux_add_field(tag, "samples", vlen, 0, NULL));
    OK(ncaux_add_field(tag, "key", NC_UBYTE, 0, NULL));
    sizes[0] = 0;
    CODE(ncaux_add_field(tag, "none", NC_INT, 1, sizes), NC_EINVAL);
    CODE(ncaux_add_field(tag, "none", NC_INT, -1, NULL), NC_EINVAL);
    OK(ncaux_end_compound(tag, &type));
    CODE(ncaux_end_compound(tag, &type), NC_EINVAL);
    OK(ncaux_abort_compound(tag));
    OK(ncaux_abort_compound(NULL));
    OK(ncaux_inq_any_type(nc, type, name, &size, &base, &fields, &class));
    TRUE(strcmp(name, "place") == 0 && size == sizeof(struct place) && fields == 6 && class == NC_COMPOUND);
    OK(nc_inq_compound_fieldoffset(nc, type, 1, &offset));
    TRUE(offset == offsetof(struct place, position));
    OK(nc_inq_compound_fieldoffset(nc, type, 4, &offset));
    TRUE(offset == offsetof(struct place, samples));
    OK(ncaux_type_alignment(type, nc, &align));
    TRUE(align == sizeof(double));
    OK(ncaux_dump_data(nc, type, &place, 1, &text));
    TRUE(strcmp(text, expected) == 0);
    free(text);
    OK(ncaux_copy_data_all(nc, type, &place, 1, &copy));
    TRUE(strcmp(((struct place *)copy)->name, "here") == 0);
    OK(ncaux_reclaim_data_all(nc, type, copy, 1));
    copy = malloc(sizeof(struct place));
    OK(ncaux_copy_data(nc, type, &place, 1, copy));
    OK(ncaux_reclaim_data(nc, type, copy, 1));
    free(copy);
    OK(ncaux_begin_compound(nc, "wrong", NCAUX_ALIGN_UNIFORM, &tag));
    OK(ncaux_add_field(tag, "none", 99, 0, NULL));
    CODE(ncaux_end_compound(tag, &type), NC_EBADTYPE);
    OK(ncaux_abort_compound(tag));
    OK(nc_close(nc));
    OK(ncaux_inq_any_type(0, NC_USHORT, name, &size, &base, &fields, &class));
    TRUE(strcmp(name, "ushort") == 0 && size == 2 && base == NC_NAT && fields == 0 && class == NC_USHORT);
    OK(ncaux_class_alignment(NC_VLEN, &align));
    TRUE(align == sizeof(void *));
    OK(ncaux_class_alignment(NC_INT, &align));
    TRUE(align == 4);
    CODE(ncaux_class_alignment(NC_COMPOUND, &align), NC_EINVAL);
}

static void filters(void)
{
    unsigned int id, *params, places[2];
    unsigned char value[8] = {1, 2, 3, 4, 5, 6, 7, 8};
    size_t count, i;
    int format = -1;
    NC_H5_Filterspec **list;

    OK(ncaux_h5filterspec_parse("32015,3", &id, &count, &params));
    TRUE(id == 32015 && count == 1 && params[0] == 3);
    free(params);
    OK(ncaux_h5filterspec_parse("2", &id, &count, &params));
    TRUE(id == 2 && count == 0);
    free(params);
    CODE(ncaux_h5filterspec_parse("", &id, &count, &params), NC_EINVAL);
    CODE(ncaux_h5filterspec_parse(NULL, &id, &count, &params), NC_EINVAL);
    OK(ncaux_h5filterspec_parse_parameter("1.5d", &count, places));
    TRUE(count == 2 && places[0] == 0 && places[1] == 0x3ff80000);
    OK(ncaux_h5filterspec_parselist("[3]1,9|32004, 4l ,-1b|2", &format, &count, &list));
    TRUE(format == 3 && count == 3 && list[0]->filterid == 1 && list[0]->params[0] == 9);
    TRUE(list[1]->nparams == 3 && list[1]->params[0] == 4 && list[1]->params[2] == 255 && list[2]->nparams == 0);
    for (i = 0; i < count; i++)
        ncaux_h5filterspec_free(list[i]);
    free(list);
    OK(ncaux_h5filterspec_parselist("", &format, &count, &list));
    TRUE(count == 0 && list == NULL && format == 0);
    CODE(ncaux_h5filterspec_parselist("[3", &format, &count, &list), NC_EINVAL);
    ncaux_h5filterspec_free(NULL);
    ncaux_h5filterspec_fix8(value, 0);
    ncaux_h5filterspec_fix8(value, 1);
    TRUE(value[0] == 1 && value[7] == 8);
}

static void plugin_paths(void)
{
    NCPluginList list = {0, NULL}, *heap;
    size_t count = 0;
    char *text, buffer[8];

    OK(nc_plugin_path_ndirs(&count));
    TRUE(count == 2);
    OK(ncaux_plugin_path_parse("/a:/b", 0, &list));
    TRUE(list.ndirs == 2 && strcmp(list.dirs[1], "/b") == 0);
    OK(ncaux_plugin_path_append(&list, "/c"));
    OK(ncaux_plugin_path_prepend(&list, "/z"));
    OK(ncaux_plugin_path_tostring(&list, ';', &text));
    TRUE(strcmp(text, "/z;/a;/b;/c") == 0);
    free(text);
    OK(nc_plugin_path_set(&list));
    OK(ncaux_plugin_path_clear(&list));
    TRUE(list.ndirs == 0 && list.dirs == NULL);
    OK(nc_plugin_path_get(&list));
    TRUE(list.ndirs == 4 && strcmp(list.dirs[0], "/z") == 0);
    OK(ncaux_plugin_path_clear(&list));
    TRUE(ncaux_plugin_path_stringlen() == 11);
    OK(ncaux_plugin_path_stringset(5, "/x;/y"));
    OK(ncaux_plugin_path_stringget(8, buffer));
    TRUE(strcmp(buffer, "/x;/y") == 0);
    CODE(ncaux_plugin_path_stringget(0, buffer), NC_EINVAL);
    CODE(nc_plugin_path_set(NULL), NC_EINVAL);
    OK(nc_plugin_path_set(&list));
    OK(nc_plugin_path_ndirs(&count));
    TRUE(count == 0);
    heap = calloc(1, sizeof *heap);
    OK(ncaux_plugin_path_parsen(2, "/q:/r", ':', heap));
    TRUE(heap->ndirs == 1 && strcmp(heap->dirs[0], "/q") == 0);
    OK(ncaux_plugin_path_reclaim(heap));
    OK(nc_plugin_path_finalize());
    OK(nc_plugin_path_initialize());
    OK(nc_plugin_path_ndirs(&count));
    TRUE(count == 2);
}

static void files(const char *path)
{
    size_t size = 0;
    void *content = NULL;
    char **pairs;
    int i;

    OK(ncaux_writefile(path, 5, "hello"));
    OK(ncaux_readfile(path, &size, &content));
    TRUE(size == 5 && strcmp(content, "hello") == 0);
    free(content);
    TRUE(ncaux_readfile("/no/such/file", &size, &content) != NC_NOERR);
    OK(ncaux_parse_provenance("version=2,library=a\\,b", &pairs));
    TRUE(strcmp(pairs[0], "version") == 0 && strcmp(pairs[3], "a,b") == 0 && pairs[4] == NULL && pairs[5] == NULL);
    for (i = 0; i < 4; i++)
        free(pairs[i]);
    free(pairs);
}

int main(int argc, char **argv)
{
    if (argc != 2 || setenv("HDF5_PLUGIN_PATH", "/one:/two", 1))
        return 2;
    compounds(argv[1]);
    filters();
    plugin_paths();
    files(argv[1]);
    printf("%d failures\n", failures);
    return failures != 0;
}
