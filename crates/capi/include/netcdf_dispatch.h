#ifndef NETCDF_DISPATCH_H
#define NETCDF_DISPATCH_H

/* The table of a user-defined format (nc_def_user_format). Include netcdf.h first. */

#ifndef NC_DISPATCH_VERSION
#define NC_DISPATCH_VERSION 5
#endif

struct NC_Dispatch {
    int model;            /* NC_FORMATX_UDF0 to NC_FORMATX_UDF9 */
    int dispatch_version; /* NC_DISPATCH_VERSION */

    /* The dataset. */
    int (*create)(const char *, int, size_t, int, size_t *, void *, const NC_Dispatch *, int);
    int (*open)(const char *, int, int, size_t *, void *, const NC_Dispatch *, int);
    int (*redef)(int);
    int (*_enddef)(int, size_t, size_t, size_t, size_t);
    int (*sync)(int);
    int (*abort)(int);
    int (*close)(int, void *);
    int (*set_fill)(int, int, int *);
    int (*inq_format)(int, int *);
    int (*inq_format_extended)(int, int *, int *);
    int (*inq)(int, int *, int *, int *, int *);
    int (*inq_type)(int, nc_type, char *, size_t *);

    /* Dimensions. */
    int (*def_dim)(int, const char *, size_t, int *);
    int (*inq_dimid)(int, const char *, int *);
    int (*inq_dim)(int, int, char *, size_t *);
    int (*inq_unlimdim)(int, int *);
    int (*rename_dim)(int, int, const char *);

    /* Attributes: of a variable, or of the group if its number is NC_GLOBAL. */
    int (*inq_att)(int, int, const char *, nc_type *, size_t *);
    int (*inq_attid)(int, int, const char *, int *);
    int (*inq_attname)(int, int, int, char *);
    int (*rename_att)(int, int, const char *, const char *);
    int (*del_att)(int, int, const char *);
    int (*get_att)(int, int, const char *, void *, nc_type);
    int (*put_att)(int, int, const char *, nc_type, size_t, const void *, nc_type);

    /* Variables. */
    int (*def_var)(int, const char *, nc_type, int, const int *, int *);
    int (*inq_varid)(int, const char *, int *);
    int (*rename_var)(int, int, const char *);

    /* Data. The last argument is the type of the elements in memory. */
    int (*get_vara)(int, int, const size_t *, const size_t *, void *, nc_type);
    int (*put_vara)(int, int, const size_t *, const size_t *, const void *, nc_type);
    int (*get_vars)(int, int, const size_t *, const size_t *, const ptrdiff_t *, void *, nc_type);
    int (*put_vars)(int, int, const size_t *, const size_t *, const ptrdiff_t *, const void *, nc_type);
    int (*get_varm)(int, int, const size_t *, const size_t *, const ptrdiff_t *, const ptrdiff_t *, void *,
            nc_type);
    int (*put_varm)(int, int, const size_t *, const size_t *, const ptrdiff_t *, const ptrdiff_t *, const void *,
            nc_type);

    /* All properties of a variable. A caller may pass null pointers. */
    int (*inq_var_all)(int, int, char *, nc_type *, int *, int *, int *, int *, int *, int *, int *, int *, size_t
            *, int *, void *, int *, unsigned int *, size_t *, unsigned int *);
    int (*var_par_access)(int, int, int);
    int (*def_var_fill)(int, int, int, const void *);

    /* Groups. */
    int (*show_metadata)(int);
    int (*inq_unlimdims)(int, int *, int *);
    int (*inq_ncid)(int, const char *, int *);
    int (*inq_grps)(int, int *, int *);
    int (*inq_grpname)(int, char *);
    int (*inq_grpname_full)(int, size_t *, char *);
    int (*inq_grp_parent)(int, int *);
    int (*inq_grp_full_ncid)(int, const char *, int *);
    int (*inq_varids)(int, int *, int *);
    int (*inq_dimids)(int, int *, int *, int);
    int (*inq_typeids)(int, int *, int *);
    int (*inq_type_equal)(int, nc_type, int, nc_type, int *);
    int (*def_grp)(int, const char *, int *);
    int (*rename_grp)(int, const char *);

    /* User-defined types. */
    int (*inq_user_type)(int, nc_type, char *, size_t *, nc_type *, size_t *, int *);
    int (*inq_typeid)(int, const char *, nc_type *);
    int (*def_compound)(int, size_t, const char *, nc_type *);
    int (*insert_compound)(int, nc_type, const char *, size_t, nc_type);
    int (*insert_array_compound)(int, nc_type, const char *, size_t, nc_type, int, const int *);
    int (*inq_compound_field)(int, nc_type, int, char *, size_t *, nc_type *, int *, int *);
    int (*inq_compound_fieldindex)(int, nc_type, const char *, int *);
    int (*def_vlen)(int, const char *, nc_type, nc_type *);
    int (*put_vlen_element)(int, int, void *, size_t, const void *);
    int (*get_vlen_element)(int, int, const void *, size_t *, void *);
    int (*def_enum)(int, nc_type, const char *, nc_type *);
    int (*insert_enum)(int, nc_type, const char *, const void *);
    int (*inq_enum_member)(int, nc_type, int, char *, void *);
    int (*inq_enum_ident)(int, nc_type, long long, char *);
    int (*def_opaque)(int, size_t, const char *, nc_type *);

    /* Layout and filters of variables. */
    int (*def_var_deflate)(int, int, int, int, int);
    int (*def_var_fletcher32)(int, int, int);
    int (*def_var_chunking)(int, int, int, const size_t *);
    int (*def_var_endian)(int, int, int);
    int (*def_var_filter)(int, int, unsigned int, size_t, const unsigned int *);
    int (*set_var_chunk_cache)(int, int, size_t, size_t, float);
    int (*get_var_chunk_cache)(int, int, size_t *, size_t *, float *);
    int (*inq_var_filter_ids)(int, int, size_t *, unsigned int *);
    int (*inq_var_filter_info)(int, int, unsigned int, size_t *, unsigned int *);
    int (*def_var_quantize)(int, int, int, int);
    int (*inq_var_quantize)(int, int, int *, int *);
    int (*inq_filter_avail)(int, unsigned int);
};

#ifdef __cplusplus
extern "C" {
#endif

/* Entries of formats that are only read: NC_EPERM, and success for sync and _enddef. */
int NC_RO_create(const char *, int, size_t, int, size_t *, void *, const NC_Dispatch *, int);
int NC_RO_redef(int);
int NC_RO__enddef(int, size_t, size_t, size_t, size_t);
int NC_RO_sync(int);
int NC_RO_def_var_fill(int, int, int, const void *);
int NC_RO_rename_att(int, int, const char *, const char *);
int NC_RO_del_att(int, int, const char *);
int NC_RO_put_att(int, int, const char *, nc_type, size_t, const void *, nc_type);
int NC_RO_def_var(int, const char *, nc_type, int, const int *, int *);
int NC_RO_rename_var(int, int, const char *);
int NC_RO_put_vara(int, int, const size_t *, const size_t *, const void *, nc_type);
int NC_RO_def_dim(int, const char *, size_t, int *);
int NC_RO_rename_dim(int, int, const char *);
int NC_RO_set_fill(int, int, int *);

/* Entries of formats without groups and user-defined types: NC_ENOTNC4. */
int NC_NOTNC4_def_var_filter(int, int, unsigned int, size_t, const unsigned int *);
int NC_NOTNC4_inq_var_filter_ids(int, int, size_t *, unsigned int *);
int NC_NOTNC4_inq_var_filter_info(int, int, unsigned int, size_t *, unsigned int *);
int NC_NOTNC4_def_grp(int, const char *, int *);
int NC_NOTNC4_rename_grp(int, const char *);
int NC_NOTNC4_def_compound(int, size_t, const char *, nc_type *);
int NC_NOTNC4_insert_compound(int, nc_type, const char *, size_t, nc_type);
int NC_NOTNC4_insert_array_compound(int, nc_type, const char *, size_t, nc_type, int, const int *);
int NC_NOTNC4_inq_typeid(int, const char *, nc_type *);
int NC_NOTNC4_inq_compound_field(int, nc_type, int, char *, size_t *, nc_type *, int *, int *);
int NC_NOTNC4_inq_compound_fieldindex(int, nc_type, const char *, int *);
int NC_NOTNC4_def_vlen(int, const char *, nc_type, nc_type *);
int NC_NOTNC4_put_vlen_element(int, int, void *, size_t, const void *);
int NC_NOTNC4_get_vlen_element(int, int, const void *, size_t *, void *);
int NC_NOTNC4_def_enum(int, nc_type, const char *, nc_type *);
int NC_NOTNC4_insert_enum(int, nc_type, const char *, const void *);
int NC_NOTNC4_inq_enum_member(int, nc_type, int, char *, void *);
int NC_NOTNC4_inq_enum_ident(int, nc_type, long long, char *);
int NC_NOTNC4_def_opaque(int, size_t, const char *, nc_type *);
int NC_NOTNC4_def_var_deflate(int, int, int, int, int);
int NC_NOTNC4_def_var_fletcher32(int, int, int);
int NC_NOTNC4_def_var_chunking(int, int, int, const size_t *);
int NC_NOTNC4_def_var_endian(int, int, int);
int NC_NOTNC4_set_var_chunk_cache(int, int, size_t, size_t, float);
int NC_NOTNC4_get_var_chunk_cache(int, int, size_t *, size_t *, float *);
int NC_NOTNC4_var_par_access(int, int, int);
int NC_NOTNC4_inq_ncid(int, const char *, int *);
int NC_NOTNC4_inq_grps(int, int *, int *);
int NC_NOTNC4_inq_grpname(int, char *);
int NC_NOTNC4_inq_grpname_full(int, size_t *, char *);
int NC_NOTNC4_inq_grp_parent(int, int *);
int NC_NOTNC4_inq_grp_full_ncid(int, const char *, int *);
int NC_NOTNC4_inq_varids(int, int *, int *);
int NC_NOTNC4_inq_dimids(int, int *, int *, int);
int NC_NOTNC4_inq_typeids(int, int *, int *);
int NC_NOTNC4_inq_user_type(int, nc_type, char *, size_t *, nc_type *, size_t *, int *);
int NC_NOTNC4_def_var_quantize(int, int, int, int);
int NC_NOTNC4_inq_var_quantize(int, int, int *, int *);

/* Entries of formats without mapped access: NC_ENOTNC4. */
int NC_NOTNC3_get_varm(int, int, const size_t *, const size_t *, const ptrdiff_t *, const ptrdiff_t *, void *,
        nc_type);
int NC_NOTNC3_put_varm(int, int, const size_t *, const size_t *, const ptrdiff_t *, const ptrdiff_t *, const
        void *, nc_type);

/* Entries of formats without filters: no filter, or NC_ENOFILTER. */
int NC_NOOP_inq_var_filter_ids(int, int, size_t *, unsigned int *);
int NC_NOOP_inq_var_filter_info(int, int, unsigned int, size_t *, unsigned int *);
int NC_NOOP_inq_filter_avail(int, unsigned int);

/* Entries that read and write with steps, or with distances in memory, by get_vara and put_vara. */
int NCDEFAULT_get_vars(int, int, const size_t *, const size_t *, const ptrdiff_t *, void *, nc_type);
int NCDEFAULT_put_vars(int, int, const size_t *, const size_t *, const ptrdiff_t *, const void *, nc_type);
int NCDEFAULT_get_varm(int, int, const size_t *, const size_t *, const ptrdiff_t *, const ptrdiff_t *, void *,
        nc_type);
int NCDEFAULT_put_varm(int, int, const size_t *, const size_t *, const ptrdiff_t *, const ptrdiff_t *, const
        void *, nc_type);

#ifdef __cplusplus
}
#endif

#endif
