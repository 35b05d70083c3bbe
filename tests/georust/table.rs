//! The table of `README.md` names each test of `netcdf` once, and tests that exist here.

use std::collections::BTreeSet;
use std::fs;
use std::path::Path;

/// The tests of `netcdf` 0.12, by file.
const UPSTREAM: &[(&str, &[&str])] = &[
    (
        "lib",
        &[
            "access_through_deref",
            "add_conflicting_dimensions",
            "add_conflicting_variables",
            "all_var_types",
            "append",
            "bad_filename",
            "close_file",
            "count_dimensions",
            "create",
            "create_group_dimensions",
            "def_dims_vars_attrs",
            "dimension_identifiers",
            "dimension_identifiers_from_different_ncids",
            "dimension_lengths",
            "drop_dim_on_simple_indices",
            "fetch_ndarray",
            "groups_put_extra",
            "invalid_utf8_as_path",
            "last_dim_varies_fastest",
            "length_of_variable",
            "more_fill_values",
            "nc4_groups",
            "ndarray_get_into",
            "ndarray_put",
            "ndarray_read_with_indices",
            "netcdf_error",
            "open_to_find_unlim_dim",
            "put_single_value",
            "put_then_def",
            "put_values",
            "read_from_memory",
            "read_mismatched",
            "read_raw_values",
            "read_slice_into_buffer",
            "root_dims",
            "set_compression_all_variables_in_a_group",
            "set_fill_value",
            "set_get_endian",
            "single_length_variable",
            "strided::get_to_buffer",
            "strided::put_buffer",
            "string_variables",
            "sync_file",
            "test_index_fetch",
            "unlimited_dimension_multi_putting",
            "unlimited_dimension_single_putting",
            "unlimited_in_parents",
            "use_compression_chunking",
            "use_path_to_open",
            "use_string_to_open",
            "var_as_different_types",
            "variable_not_replacing",
        ],
    ),
    (
        "attributes",
        &[
            "all_attr_types",
            "attribute_put",
            "attributes_read",
            "global_attrs",
            "multi_attributes",
            "open_pres_temp_4d",
        ],
    ),
    (
        "file",
        &["appending_with", "create_classic_model", "create_with_options", "fetch_from_path", "noclobber"],
    ),
    ("group", &["add_and_get_from_path", "dimensions", "find_variable", "groups"]),
    (
        "types",
        &[
            "add_compound",
            "add_enum",
            "add_opaque",
            "add_string_variable",
            "add_vlen",
            "char",
            "no_subtype",
            "put_get_enum",
            "put_get_vlen",
            "read_compound_simple_nc4",
            "test_empty_basic_types",
        ],
    ),
];

/// The least share of tests in which both libraries accept the same calls, in percent.
const EQUAL: usize = 94;

/// A row of the table: the test upstream, the test here, and a call that succeeds only here.
struct Row {
    upstream: String,
    ours: String,
    difference: String,
}

fn rows() -> Vec<Row> {
    let text = fs::read_to_string(folder().join("README.md")).unwrap();
    let row = |line: &str| {
        let cells: Vec<&str> = line.strip_prefix("| `")?.split('|').map(|cell| cell.trim()).collect();
        let [upstream, ours, difference, ""] = cells[..] else { return None };
        let (upstream, ours) = (upstream.trim_matches('`').to_owned(), ours.trim_matches('`').to_owned());
        Some(Row { upstream, ours, difference: difference.to_owned() })
    };
    text.lines().filter_map(row).collect()
}

fn folder() -> &'static Path {
    Path::new(concat!(env!("CARGO_MANIFEST_DIR"), "/georust"))
}

#[test]
fn every_upstream_test_has_a_row() {
    let upstream: BTreeSet<String> = UPSTREAM
        .iter()
        .flat_map(|(file, names)| names.iter().map(move |name| format!("{file}::{name}")))
        .collect();
    assert_eq!(upstream.len(), 78);
    assert_eq!(UPSTREAM[0].1.len(), 52);
    let rows = rows();
    let named: BTreeSet<String> = rows.iter().map(|row| row.upstream.clone()).collect();
    assert_eq!(named, upstream);
    assert_eq!(rows.len(), upstream.len(), "a test has two rows");
}

#[test]
fn every_row_names_a_test_here() {
    let mut tests = BTreeSet::new();
    for entry in fs::read_dir(folder()).unwrap() {
        let path = entry.unwrap().path();
        let module = path.file_stem().unwrap().to_str().unwrap().to_owned();
        if path.extension().is_none_or(|extension| extension != "rs") || module == "table" {
            continue;
        }
        let text = fs::read_to_string(&path).unwrap();
        for after in text.split("#[test]\n").skip(1) {
            let name = after.split("fn ").nth(1).and_then(|rest| rest.split('(').next()).unwrap();
            tests.insert(format!("{module}::{name}"));
        }
    }
    let named: BTreeSet<String> = rows().into_iter().map(|row| row.ours).collect();
    assert_eq!(named, tests);
    assert_eq!(named.len(), 78);
}

#[test]
fn the_book_has_the_same_substitutions() {
    let substitutions = |path: &Path| -> Vec<String> {
        let text = fs::read_to_string(path).unwrap();
        let is_rule = |line: &&str| {
            let number = line.strip_prefix("| ").and_then(|rest| rest.split(' ').next());
            number.is_some_and(|number| number.parse::<u8>().is_ok())
        };
        text.lines().filter(is_rule).map(str::to_owned).collect()
    };
    let here = substitutions(&folder().join("README.md"));
    assert_eq!(here.len(), 10);
    assert_eq!(substitutions(&folder().join("../../docs/from-netcdf.md")), here);
}

#[test]
fn few_rows_differ() {
    let rows = rows();
    let equal = rows.iter().filter(|row| row.difference.is_empty()).count();
    assert!(equal * 100 >= rows.len() * EQUAL, "{equal} of {} rows are equal", rows.len());
}
