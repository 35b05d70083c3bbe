/* Helpers beside the interface: compound types with the layout of C, filters as text, and plugin paths. */
#ifndef NCAUX_H
#define NCAUX_H

#include <netcdf.h>
#include <netcdf_filter.h>
#include <stddef.h>

/* Ways of alignment in compound types. Both give the layout of a C struct. */
#define NCAUX_ALIGN_C       0
#define NCAUX_ALIGN_UNIFORM 1

/* A filter with its parameters. */
typedef struct NC_H5_Filterspec {
    unsigned int filterid;
    size_t nparams;
    unsigned int *params;
} NC_H5_Filterspec;

#ifdef __cplusplus
extern "C" {
#endif

/* A compound type, field by field. The library computes offsets and size when it ends. */
int ncaux_begin_compound(int ncid, const char *name, int alignmode, void **tag);
int ncaux_add_field(void *tag, const char *name, nc_type field_type, int ndims, const int *dimsizes);
int ncaux_end_compound(void *tag, nc_type *xtypeid);
int ncaux_abort_compound(void *tag);

/* Properties of types. */
int ncaux_inq_any_type(int ncid, nc_type xtypeid, char *name, size_t *size, nc_type *basetypep, size_t *nfieldsp,
    int *classp);
int ncaux_type_alignment(int xtype, int ncid, size_t *alignp);
int ncaux_class_alignment(int ncclass, size_t *alignp);

/* Memory of elements: as the functions of netcdf.h with such names, and elements as text. */
int ncaux_reclaim_data(int ncid, int xtype, void *memory, size_t count);
int ncaux_reclaim_data_all(int ncid, int xtype, void *memory, size_t count);
int ncaux_copy_data(int ncid, int xtype, void *memory, size_t count, void *copy);
int ncaux_copy_data_all(int ncid, int xtype, void *memory, size_t count, void **copyp);
int ncaux_dump_data(int ncid, nc_type xtypeid, void *memory, size_t count, char **buf);

/* Filters as text: "id,parameter,...", and lists of them joined by '|'. The caller frees the results. */
int ncaux_h5filterspec_parse(const char *txt, unsigned int *idp, size_t *nparamsp, unsigned int **paramsp);
int ncaux_h5filterspec_parselist(const char *txt0, int *formatp, size_t *nspecsp,
    struct NC_H5_Filterspec ***vectorp);
int ncaux_h5filterspec_parse_parameter(const char *txt, size_t *nuiparamsp, unsigned int *uiparams);
void ncaux_h5filterspec_free(struct NC_H5_Filterspec *f);
void ncaux_h5filterspec_fix8(unsigned char *mem, int decode);

/* Whole files. The caller frees the content. */
int ncaux_readfile(const char *filename, size_t *sizep, void **content);
int ncaux_writefile(const char *filename, size_t size, void *content);

/* Lists of directories as text. The separator 0 is that of the system. */
int ncaux_plugin_path_parsen(size_t pathlen, const char *pathlist, char sep, struct NCPluginList *dirs);
int ncaux_plugin_path_parse(const char *pathlist, char sep, struct NCPluginList *dirs);
int ncaux_plugin_path_tostring(const struct NCPluginList *dirs, char sep, char **catp);
int ncaux_plugin_path_clear(struct NCPluginList *dirs);
int ncaux_plugin_path_reclaim(struct NCPluginList *dirs);
int ncaux_plugin_path_append(struct NCPluginList *dirs, const char *dir);
int ncaux_plugin_path_prepend(struct NCPluginList *dirs, const char *dir);

/* The plugin path of the process as text with ';', for Fortran. */
int ncaux_plugin_path_stringlen(void);
int ncaux_plugin_path_stringget(int pathlen, char *path);
int ncaux_plugin_path_stringset(int pathlen, const char *path);

/* The keys and values of the attribute _NCProperties, with two null pointers at the end. */
int ncaux_parse_provenance(const char *ncprop, char ***pairsp);

#ifdef __cplusplus
}
#endif

#endif
