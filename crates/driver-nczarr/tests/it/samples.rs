//! Documents from the reference implementation are read, rendered again and compared.

use nczarr_dispatch::Options;
use nczarr_model::{Chunking, GroupId, NcType, Quantize, Values, VarFill};
use nczarr_nc_table::NcDispatch;

use crate::support::{TestMap, open, open_rw, open_with, var};

const ROOT: GroupId = GroupId::ROOT;

fn names() -> Vec<String> {
    let folder = std::path::Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/data");
    let mut names: Vec<String> = std::fs::read_dir(folder)
        .unwrap()
        .map(|entry| entry.unwrap().path().file_stem().unwrap().to_str().unwrap().to_owned())
        .collect();
    names.sort();
    names
}

#[test]
fn unchanged_documents_render_as_stored() {
    let (mut same, mut lenient) = (0, 0);
    for name in names().iter().filter(|name| !name.starts_with("old")) {
        let map = TestMap::sample(name);
        let before = map.objects();
        let modes = if name == "mode_04_nc-noxarray" {
            "nczarr,noxarray,consolidated"
        } else {
            "nczarr,consolidated"
        };
        let d = open_with(&map, modes, true, &Options::default()).unwrap();
        d.close().unwrap();
        if before.contains_key(".zmetadata") {
            assert_eq!(map.objects(), before, "{name}: nothing changed, nothing is written");
            continue;
        }
        // The test requested consolidated metadata. It repeats every document as this library renders it.
        let rendered = map.json(".zmetadata");
        for (key, value) in &before {
            assert_eq!(map.objects()[key], *value, "{name}: {key} is not written");
            match serde_json::from_slice::<serde_json::Value>(value) {
                Ok(value) => {
                    assert_eq!(rendered["metadata"][key], value, "{name}: {key}");
                    same += 1;
                }
                // The reference writes bare tokens that are not JSON. The rendered text is JSON.
                Err(_) => lenient += 1,
            }
        }
    }
    assert!(same > 400 && lenient > 0, "{same} {lenient}");
}

#[test]
fn texts_that_are_no_json_are_repaired_when_written() {
    let map = TestMap::sample("jsonatts_0");
    let d = open_rw(&map);
    let model = d.model().snapshot();
    let band = &model.var(var(&*d, "band")).unwrap().atts;
    for (name, text) in [
        ("j00", "{\"k\": 19, \"s\": \"x\"}"),
        ("j02", "[19,\"mixed\",null,true]"),
        ("j04", "[]"),
        ("j06", "-19.25"),
        ("j08", "null"),
        ("j10", "{\"nested\": {\"a\": [1,{\"b\": 2.5e3}]}}"),
        ("j12", "[1,2"),
        ("j14", "1.0"),
        ("j16", "01"),
        ("j18", "tRUE"),
        ("j20", "[1.5,2]"),
    ] {
        assert_eq!(band[name], Values::text(text), "{name}");
    }
    assert_eq!(model.root().atts["j15"], Values::text("NaN"));
    d.put_att(ROOT, Some(var(&*d, "band")), "x", NcType::Int, &Values::Int(vec![1])).unwrap();
    d.close().unwrap();
    let attrs = map.json("band/.zattrs");
    assert_eq!(
        (attrs["j16"].as_str(), attrs["j18"].as_str(), attrs["j14"].to_string()),
        (Some("01"), Some("tRUE"), "1.0".into())
    );
    let again = open(&map).unwrap().model().snapshot();
    let again = &again.var(model.find_var(ROOT, "band").unwrap()).unwrap().atts;
    for (name, values) in band {
        assert_eq!(again[name], *values, "{name}");
    }
}

#[test]
fn samples_open_with_the_documented_model() {
    let d = open(&TestMap::sample("unlim_0")).unwrap();
    let model = d.model().snapshot();
    assert!(model.dims().any(|(_, dim)| dim.unlimited));

    let d = open(&TestMap::sample("groups_0")).unwrap();
    let model = d.model().snapshot();
    let v = model.var(var(&*d, "/ocean/inner/viaparent")).unwrap();
    assert_eq!(model.fqn(model.dim(v.dims[0]).unwrap().group, "loc").unwrap(), "/ocean/loc");

    let d = open(&TestMap::sample("scalars_0")).unwrap();
    let model = d.model().snapshot();
    assert!(model.vars().all(|(_, var)| var.dims.is_empty() && var.chunking == Chunking::Chunked(vec![])));

    let d = open(&TestMap::sample("filter_multi_0")).unwrap();
    let model = d.model().snapshot();
    assert!(model.vars().all(|(_, var)| var.problem.is_none()));
    let filters: Vec<_> = model.vars().flat_map(|(_, var)| &var.filters).collect();
    assert!(filters.iter().all(|filter| filter.hdf5_id.is_some() && filter.codec.is_some()));
    assert!(filters.iter().any(|filter| filter.hdf5_id == Some(307)));

    let d = open(&TestMap::sample("filter_quantize_0")).unwrap();
    let model = d.model().snapshot();
    assert_eq!(model.var(var(&*d, "qbg3_float")).unwrap().quantize, Some(Quantize::BitGroom(3)));

    let d = open(&TestMap::sample("nofill_0")).unwrap();
    let model = d.model().snapshot();
    assert_eq!(model.var(var(&*d, "nf_int")).unwrap().fill, VarFill::NoFill);
    assert_eq!(model.var(var(&*d, "att_only")).unwrap().fill, VarFill::Value(Values::Int(vec![-7])));

    // Text of plain stores is string, for any mark.
    let d = open(&TestMap::sample("missing_userfill_2")).unwrap();
    let model = d.model().snapshot();
    let v = model.var(var(&*d, "m_char")).unwrap();
    assert_eq!((v.xtype, &v.atts["_FillValue"]), (NcType::String, &Values::String(vec!["#".into()])));
    let v = model.var(var(&*d, "m_string")).unwrap();
    assert_eq!(v.fill, VarFill::Value(Values::String(vec!["none".into()])));
}
