//! The 77 entries of netCDF's dispatch table exist under their names.

use nczarr_dispatch::{Dataset, Registry};
use nczarr_nc_table::NcDispatch;

/// The entries of version 5 of the table, in its order.
pub const ENTRIES: &str = "
    create open redef _enddef sync abort close set_fill inq_format inq_format_extended
    inq inq_type
    def_dim inq_dimid inq_dim inq_unlimdim rename_dim
    inq_att inq_attid inq_attname rename_att del_att get_att put_att
    def_var inq_varid rename_var get_vara put_vara get_vars put_vars get_varm put_varm
    inq_var_all var_par_access def_var_fill
    show_metadata inq_unlimdims
    inq_ncid inq_grps inq_grpname inq_grpname_full inq_grp_parent inq_grp_full_ncid inq_varids inq_dimids
    inq_typeids inq_type_equal def_grp rename_grp inq_user_type inq_typeid
    def_compound insert_compound insert_array_compound inq_compound_field inq_compound_fieldindex
    def_vlen put_vlen_element get_vlen_element
    def_enum insert_enum inq_enum_member inq_enum_ident def_opaque
    def_var_deflate def_var_fletcher32 def_var_chunking def_var_endian def_var_filter
    set_var_chunk_cache get_var_chunk_cache
    inq_var_filter_ids inq_var_filter_info
    def_var_quantize inq_var_quantize
    inq_filter_avail";

macro_rules! table {
    ($($owner:tt: $($name:ident)*;)*) => {
        /// Returns the names. The compiler resolves each of them to a method.
        fn table() -> Vec<&'static str> {
            $($(let _ = method!($owner, $name);)*)*
            vec![$($(stringify!($name)),*),*]
        }
    };
}

macro_rules! method {
    (registry, $name:ident) => {
        Registry::$name
    };
    (dataset, $name:ident) => {
        <dyn Dataset as Dataset>::$name
    };
    (here, $name:ident) => {
        <dyn Dataset as NcDispatch>::$name
    };
}

table! {
    registry: create open;
    here: redef _enddef;
    dataset: sync abort close;
    here: set_fill inq_format inq_format_extended
        inq inq_type
        def_dim inq_dimid inq_dim inq_unlimdim rename_dim
        inq_att inq_attid inq_attname rename_att del_att get_att put_att
        def_var inq_varid rename_var get_vara put_vara get_vars put_vars get_varm put_varm
        inq_var_all var_par_access def_var_fill
        show_metadata inq_unlimdims
        inq_ncid inq_grps inq_grpname inq_grpname_full inq_grp_parent inq_grp_full_ncid inq_varids inq_dimids
        inq_typeids inq_type_equal def_grp rename_grp inq_user_type inq_typeid
        def_compound insert_compound insert_array_compound inq_compound_field inq_compound_fieldindex
        def_vlen put_vlen_element get_vlen_element
        def_enum insert_enum inq_enum_member inq_enum_ident def_opaque
        def_var_deflate def_var_fletcher32 def_var_chunking def_var_endian def_var_filter
        set_var_chunk_cache get_var_chunk_cache
        inq_var_filter_ids inq_var_filter_info
        def_var_quantize inq_var_quantize
        inq_filter_avail;
}

#[test]
fn every_entry_is_a_method() {
    let names = table();
    assert_eq!(names, ENTRIES.split_whitespace().collect::<Vec<_>>());
    assert_eq!(names.len(), 77);
}
