//! The page about netCDF's functions has a row for each function.

use std::collections::{BTreeMap, BTreeSet};

use nczarr_nc_table::NcDispatch as _;

use crate::dispatch_table::ENTRIES;

const PAGE: &str = include_str!(concat!(env!("CARGO_MANIFEST_DIR"), "/../../docs/api.md"));

/// The functions outside the dispatch table. `{T}` stands for each type's name, `{a,b}` for `a` and `b`.
const FUNCTIONS: &str = "
    nc_inq_libvers nc_strerror nc_initialize nc_finalize nc_set_default_format nc_{get,set}_alignment
    nc_{get,set}_meta_block_size nc_def_user_format nc_inq_user_format nc_rc_get nc_rc_set nc_set_log_level

    nc_create nc__create nc_open nc__open nc_inq_path nc_redef nc_enddef nc__enddef nc_sync nc_abort nc_close
    nc_delete nc_set_fill nc_inq_format nc_inq_format_extended nc_inq
    nc_inq_{ndims,nvars,natts,unlimdim,unlimdims} nc_show_metadata

    nc_open_mem nc_create_mem nc_open_memio nc_close_memio

    nc_def_dim nc_inq_dimid nc_inq_dim nc_inq_dimname nc_inq_dimlen nc_rename_dim

    nc_inq_ncid nc_inq_grps nc_inq_grpname nc_inq_grpname_{full,len} nc_inq_grp_parent nc_inq_grp_ncid
    nc_inq_grp_full_ncid nc_inq_varids nc_inq_dimids nc_inq_typeids nc_inq_type_equal nc_def_grp nc_rename_grp

    nc_put_att nc_get_att nc_inq_att nc_inq_attid nc_inq_atttype nc_inq_attlen nc_inq_attname nc_copy_att
    nc_rename_att nc_del_att nc_put_att_{T} nc_get_att_{T}

    nc_def_var nc_inq_var nc_inq_varid nc_inq_varname nc_inq_vartype nc_inq_varndims nc_inq_vardimid nc_inq_varnatts
    nc_rename_var nc_copy_var

    nc_{def,inq}_var_{deflate,szip,fletcher32,chunking,fill,endian,filter,quantize} nc_{set,get}_chunk_cache
    nc_{set,get}_var_chunk_cache

    nc_inq_var_filter_ids nc_inq_var_filter_info nc_inq_filter_avail nc_{def,inq}_var_{bzip2,zstandard,blosc}
    nc_plugin_path_ndirs nc_plugin_path_get nc_plugin_path_set

    nc_{put,get}_{var,var1,vara,vars,varm} nc_{put,get}_{var,var1,vara,vars,varm}_{T}

    nc_inq_type nc_inq_typeid nc_inq_user_type

    nc_def_compound nc_insert_compound nc_insert_array_compound nc_inq_compound
    nc_inq_compound_{name,size,nfields,field,fieldname,fieldindex,fieldoffset,fieldtype,fieldndims,fielddim_sizes}
    nc_def_enum nc_insert_enum nc_inq_enum nc_inq_enum_member nc_inq_enum_ident nc_def_opaque nc_inq_opaque
    nc_def_vlen nc_inq_vlen nc_put_vlen_element nc_get_vlen_element nc_free_vlen nc_free_vlens

    nc_free_string nc_reclaim_data nc_reclaim_data_all nc_copy_data nc_copy_data_all

    nc_create_par nc_open_par nc_create_par_fortran nc_open_par_fortran nc_var_par_access

    nc__create_mp nc__open_mp nc_delete_mp nc_set_base_pe nc_inq_base_pe nccreate ncopen ncsetfill ncredef ncendef
    ncsync ncabort ncclose ncinquire ncdimdef ncdimid ncdiminq ncdimrename ncattput ncattinq ncattget ncattcopy
    ncattname ncattrename ncattdel ncvardef ncvarid ncvarinq ncvarput1 ncvarget1 ncvarput ncvarget ncvarputs ncvargets
    ncvarputg ncvargetg ncvarrename ncrecinq ncrecget ncrecput nctypelen nc_advise

    ncaux_reclaim_data ncaux_reclaim_data_all ncaux_dump_data ncaux_inq_any_type
    ncaux_h5filterspec_{parse,parselist,parse_parameter,free,fix8} ncaux_readfile ncaux_writefile
    ncaux_type_alignment ncaux_class_alignment ncaux_begin_compound ncaux_end_compound ncaux_abort_compound
    ncaux_add_field
    ncaux_plugin_path_{parse,parsen,tostring,clear,reclaim,append,prepend,stringlen,stringget,stringset}
    ncaux_parse_provenance";

const TYPES: &str =
    "{text,schar,uchar,ubyte,short,ushort,int,uint,long,longlong,ulonglong,float,double,string}";

fn expand(pattern: &str, names: &mut BTreeSet<String>) {
    match pattern.split_once('{').and_then(|(head, rest)| Some((head, rest.split_once('}')?))) {
        None => assert!(names.insert(pattern.to_owned()), "{pattern} is listed twice"),
        Some((head, (choices, tail))) => {
            for choice in choices.split(',') {
                expand(&format!("{head}{choice}{tail}"), names);
            }
        }
    }
}

fn functions() -> BTreeSet<String> {
    let mut names = BTreeSet::new();
    for entry in ENTRIES.split_whitespace() {
        names.insert(entry.to_owned());
    }
    for pattern in FUNCTIONS.replace("{T}", TYPES).split_whitespace() {
        expand(pattern, &mut names);
    }
    names
}

/// Returns the parts of `text` between backticks.
fn quoted(text: &str) -> impl Iterator<Item = &str> {
    text.split('`').skip(1).step_by(2)
}

/// The rows: each name in the first column, with the text of the second column. Rows of HDF5's functions are
/// beside the list.
fn rows() -> BTreeMap<&'static str, &'static str> {
    let mut rows = BTreeMap::new();
    for line in PAGE.lines().filter(|line| line.starts_with("| `")) {
        let cells: Vec<_> = line.trim_matches('|').split(" | ").collect();
        assert_eq!(cells.len(), 2, "{line}");
        for name in quoted(cells[0]).filter(|name| !name.starts_with("H5")) {
            assert!(rows.insert(name, cells[1].trim()).is_none(), "{name} has two rows");
        }
    }
    rows
}

#[test]
fn every_function_has_a_row_and_every_row_a_function() {
    let (functions, rows) = (functions(), rows());
    let missing: Vec<_> = functions.iter().filter(|name| !rows.contains_key(name.as_str())).collect();
    assert!(missing.is_empty(), "no row for {missing:?}");
    let unknown: Vec<_> = rows.keys().filter(|name| !functions.contains(**name)).collect();
    assert!(unknown.is_empty(), "rows for {unknown:?}");
    assert!(functions.len() > 400, "{}", functions.len());
}

#[test]
fn every_row_names_an_existing_item() {
    let entries: BTreeSet<_> = ENTRIES.split_whitespace().collect();
    // This method exists in addition to the table.
    let _ = <dyn nczarr_dispatch::Dataset>::def_var_filter_spec;
    for (name, text) in rows() {
        assert!(text.contains('`') || text.starts_with("none") || text.contains("as `"), "{name}: {text}");
        for word in quoted(text) {
            if let Some(entry) = word.strip_prefix("NcDispatch::") {
                let there = entries.contains(entry) || entry == "def_var_filter_spec";
                assert!(there, "{name}: NcDispatch::{entry} is not there");
            }
        }
    }
}
