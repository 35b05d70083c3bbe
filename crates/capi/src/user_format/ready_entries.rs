//! Entries for tables of user-defined formats: functions that only return a code.
//!
//! The arguments do not matter, so the functions have none. Every ABI of C lets the caller remove them.

use std::ffi::c_int;

use nczarr::ErrorKind;

use crate::boundary::pointer::OutPtr;

/// Exports functions that return one code.
macro_rules! constants {
    ($($code:expr => [$($name:literal,)*])*) => {$($(
        export_value!($name, () -> c_int, $code);
    )*)*};
}

constants! {
    ErrorKind::Perm.code() => [
        "NC_RO_create",
        "NC_RO_redef",
        "NC_RO_def_var_fill",
        "NC_RO_rename_att",
        "NC_RO_del_att",
        "NC_RO_put_att",
        "NC_RO_def_var",
        "NC_RO_rename_var",
        "NC_RO_put_vara",
        "NC_RO_def_dim",
        "NC_RO_rename_dim",
        "NC_RO_set_fill",
    ]
    0 => [
        "NC_RO_sync",
        "NC_RO__enddef",
    ]
    ErrorKind::NotNc4.code() => [
        "NC_NOTNC4_def_var_filter",
        "NC_NOTNC4_inq_var_filter_ids",
        "NC_NOTNC4_inq_var_filter_info",
        "NC_NOTNC4_def_grp",
        "NC_NOTNC4_rename_grp",
        "NC_NOTNC4_def_compound",
        "NC_NOTNC4_insert_compound",
        "NC_NOTNC4_insert_array_compound",
        "NC_NOTNC4_inq_typeid",
        "NC_NOTNC4_inq_compound_field",
        "NC_NOTNC4_inq_compound_fieldindex",
        "NC_NOTNC4_def_vlen",
        "NC_NOTNC4_put_vlen_element",
        "NC_NOTNC4_get_vlen_element",
        "NC_NOTNC4_def_enum",
        "NC_NOTNC4_insert_enum",
        "NC_NOTNC4_inq_enum_member",
        "NC_NOTNC4_inq_enum_ident",
        "NC_NOTNC4_def_opaque",
        "NC_NOTNC4_def_var_deflate",
        "NC_NOTNC4_def_var_fletcher32",
        "NC_NOTNC4_def_var_chunking",
        "NC_NOTNC4_def_var_endian",
        "NC_NOTNC4_set_var_chunk_cache",
        "NC_NOTNC4_get_var_chunk_cache",
        "NC_NOTNC4_var_par_access",
        "NC_NOTNC4_inq_ncid",
        "NC_NOTNC4_inq_grps",
        "NC_NOTNC4_inq_grpname",
        "NC_NOTNC4_inq_grpname_full",
        "NC_NOTNC4_inq_grp_parent",
        "NC_NOTNC4_inq_grp_full_ncid",
        "NC_NOTNC4_inq_varids",
        "NC_NOTNC4_inq_dimids",
        "NC_NOTNC4_inq_typeids",
        "NC_NOTNC4_inq_user_type",
        "NC_NOTNC4_def_var_quantize",
        "NC_NOTNC4_inq_var_quantize",
        "NC_NOTNC3_get_varm",
        "NC_NOTNC3_put_varm",
    ]
    ErrorKind::NoFilter.code() => [
        "NC_NOOP_inq_var_filter_info",
        "NC_NOOP_inq_filter_avail",
    ]
}

c_functions! {
    /// Answers that a variable has no filter.
    fn NC_NOOP_inq_var_filter_ids(
        _ncid: c_int, _varid: c_int, nfilters: OutPtr<usize>, _filterids: OutPtr<u32>,
    ) {
        nfilters.set(0);
        Ok(())
    }
}
