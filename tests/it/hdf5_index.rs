//! HDF5 files by h5py in the oldest and the newest format cover every chunk index, and content that netCDF
//! cannot express.
//!
//! The files are in `tests/corpus/hdf5`. Element `k` of a dataset in C order is `k * 7919 % 1000`. If only
//! some ranges are written, an attribute names them, and all other elements are -1.

use std::path::Path;

use nczarr::{ErrorKind, NcType, Values};

fn open(name: &str) -> nczarr::File {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("corpus/hdf5").join(name);
    nczarr::open(path.to_str().unwrap()).unwrap()
}

#[test]
fn chunks_are_found_with_every_kind_of_index() {
    for (name, datasets) in [("earliest.h5", 20), ("v108.h5", 20), ("latest.h5", 23)] {
        let file = open(name);
        let model = file.model();
        let mut seen = 0;
        for (id, var) in model.vars().filter(|(_, var)| !var.dims.is_empty() && var.group.index() == 0) {
            let found = file.variable_by_id(id).unwrap().get_values::<i64>(..);
            let found = found.unwrap_or_else(|error| panic!("{name}: {}: {error}", var.name));
            let written = match var.atts.get("written") {
                Some(Values::Int(ranges)) => {
                    ranges.chunks(2).map(|pair| pair[0] as usize..pair[1] as usize).collect()
                }
                _ => std::iter::once(0..found.len()).collect::<Vec<_>>(),
            };
            let value = |k: usize| {
                if written.iter().any(|range| range.contains(&k)) { k as i64 * 7919 % 1000 } else { -1 }
            };
            let wrong = found.iter().enumerate().find(|&(k, &found)| found != value(k));
            assert_eq!(wrong, None, "{name}: {}: an element and its value", var.name);
            seen += 1;
        }
        assert_eq!(seen, datasets, "{name}");
    }
}

#[test]
fn a_recorded_creation_order_counts() {
    for name in ["earliest.h5", "v108.h5", "latest.h5"] {
        let file = open(name);
        let names = |group: &str| -> Vec<String> {
            let model = file.model();
            let group = model.root().groups[group];
            model.group(group).unwrap().vars.keys().cloned().collect()
        };
        let made: Vec<String> = (0..20).map(|i| format!("d{}", i * 7 % 20)).collect();
        assert_eq!(names("ordered"), made, "{name}");
        let sorted: Vec<String> = (0..20).map(|i| format!("d{i:02}")).collect();
        assert_eq!(names("by_name"), sorted, "{name}");
        let model = file.model();
        let atts = &model.group(model.root().groups["by_name"]).unwrap().atts;
        for i in 0..30 {
            assert_eq!(atts[&format!("a{i:02}")], Values::Int(vec![i]), "{name}");
        }
        // A long attribute has a heap object of its own. The oldest format has no such attribute.
        if name != "earliest.h5" {
            assert_eq!(atts["huge"], Values::Int((0..3000).collect()), "{name}");
        }
    }
}

#[test]
fn objects_without_a_netcdf_counterpart_are_reported() {
    // The dataset has one dimension scale, which is enough to look like a netCDF file.
    assert!(
        open("earliest.h5").info().superblock == Some(0) && open("latest.h5").info().superblock == Some(3)
    );
    let file = open("latest.h5");
    assert!(!file.info().foreign && file.info().properties.is_none());
    let faults = file.info().faults;
    for (link, what) in [
        ("around", "back to an enclosing group"),
        ("nowhere", "leads to no object"),
        ("far", "the file \"x.h5\""),
        ("int", "a named type integer"),
        ("none", "null dataspace"),
    ] {
        assert!(
            faults.iter().any(|fault| fault.path.ends_with(&format!("/{link}")) && fault.text.contains(what)),
            "{link}: {faults:?}"
        );
    }
    let reference = file.variable("odd/ref").unwrap();
    assert_eq!(file.model().var(reference.id()).unwrap().stored_type.as_deref(), Some("reference"));
    assert_eq!(reference.get_values::<i8>(..).unwrap_err().kind(), ErrorKind::BadTypId);
    let half = file.variable("odd/half").unwrap();
    assert_eq!(file.model().var(half.id()).unwrap().stored_type.as_deref(), Some("float16"));
    assert_eq!(half.nc_type(), NcType::Float);
    half.get_values::<f32>(..).unwrap();
    // A link to a dataset gives a second variable with the same data.
    assert_eq!(
        file.variable("odd/soft").unwrap().get_values::<i16>(..).unwrap(),
        file.variable("compact").unwrap().get_values::<i16>(..).unwrap()
    );
    let text = file.variable("odd/text").unwrap().get_nc_strings(..).unwrap();
    assert_eq!(text.iter().map(|text| text.as_bytes()).collect::<Vec<_>>(), [&b"ab"[..], b"cdefg"]);
    // One axis has a scale, and the other has a generated dimension.
    let model = file.model();
    let partial = model.var(file.variable("odd/partial").unwrap().id()).unwrap();
    let dims: Vec<&str> = partial.dims.iter().map(|&dim| model.dim(dim).unwrap().name.as_str()).collect();
    assert!(dims[0] == "scale" && dims[1].starts_with("phony_dim_"), "{dims:?}");
    assert!(matches!(file.variable("odd/bool").unwrap().nc_type(), NcType::User(_)));
}
