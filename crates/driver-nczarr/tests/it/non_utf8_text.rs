//! Attribute text that is not UTF-8 keeps its bytes, and other readers can read the attribute.

use nczarr_model::{ErrorKind, GroupId, NcType, Values};
use nczarr_nc_table::NcDispatch;
use serde_json::json;

use crate::support::{TestMap, create, open, open_rw, var};

const ROOT: GroupId = GroupId::ROOT;

fn odd() -> Vec<(&'static str, Values)> {
    vec![
        ("unit", Values::Char(vec![0xb0, b'C'])),
        ("list", Values::Char(b"[\"\xe9\"]".to_vec())),
        ("strings", Values::String(vec!["ok".into(), vec![0xff, 0xfe].into(), "".into()])),
        ("nan", Values::Double(vec![-f64::NAN])),
        ("plain", Values::text("°C")),
    ]
}

#[test]
fn bytes_come_back() {
    for modes in ["nczarr", "nczarr,v3", "zarr,annotate", "zarr,v3,annotate"] {
        let map = TestMap::new(&[]);
        let d = create(&map, modes);
        let v = d.def_var(ROOT, "v", NcType::Char, &[]).unwrap();
        for (place, (name, values)) in
            [None, Some(v)].into_iter().flat_map(|place| odd().into_iter().map(move |att| (place, att)))
        {
            d.put_att(ROOT, place, name, values.nc_type(), &values).unwrap();
        }
        d.put_att(ROOT, Some(v), "_FillValue", NcType::Char, &Values::Char(vec![0xe9])).unwrap();
        d.close().unwrap();
        let check = |changed: Option<&str>| {
            let d = open(&map).unwrap();
            let model = d.model().snapshot();
            let var = model.var(var(&*d, "v")).unwrap();
            for atts in [&model.root().atts, &var.atts] {
                for (name, values) in odd().iter().filter(|(name, _)| Some(*name) != changed) {
                    assert_eq!(atts.get(*name), Some(values), "{modes} {name}");
                }
            }
            assert_eq!(var.atts.get("_FillValue"), Some(&Values::Char(vec![0xe9])), "{modes}");
            assert_eq!(var.fill_value(), Some(Values::Char(vec![0xe9])), "{modes}");
        };
        check(None);
        // Other readers see text, and the recorded bytes survive other changes.
        let d = open_rw(&map);
        d.put_att(ROOT, None, "more", NcType::Int, &Values::Int(vec![1])).unwrap();
        d.put_att(ROOT, Some(v), "more", NcType::Int, &Values::Int(vec![1])).unwrap();
        d.del_att(ROOT, Some(v), "plain").unwrap();
        d.put_att(ROOT, Some(v), "plain", NcType::Char, &Values::text("°C")).unwrap();
        d.close().unwrap();
        check(None);
        let key = if modes.contains("v3") { "zarr.json" } else { ".zattrs" };
        let document = map.json(key);
        let atts = if modes.contains("v3") { &document["attributes"] } else { &document };
        assert_eq!((&atts["unit"], &atts["list"]), (&json!("°C"), &json!("[\"é\"]")), "{modes}");
        let beside =
            ["_nczarr_attr", "_nczarr_attrs", "_netcdf"].iter().find_map(|name| atts.get(*name)).unwrap();
        assert_eq!(
            beside["bytes"],
            json!({"unit": "sEM=", "list": "WyLpIl0=", "strings": [null, "//4=", null]})
        );
        assert!(beside["nan"]["nan"].is_array(), "{modes}");
        // Another writer without this feature changes the text.
        map.put(key, map.text(key).replace("\"unit\": \"°C\"", "\"unit\": \"°F\"").as_bytes());
        let d = open(&map).unwrap();
        assert_eq!(d.model().snapshot().root().atts.get("unit"), Some(&Values::text("°F")), "{modes}");
        // There are two writers, and each changes one attribute.
        let (one, two) = (open_rw(&map), open_rw(&map));
        one.put_att(ROOT, None, "unit", NcType::Char, &Values::Char(vec![0xe0])).unwrap();
        two.put_att(ROOT, None, "other", NcType::Char, &Values::Char(vec![0xe1])).unwrap();
        one.close().unwrap();
        two.close().unwrap();
        check(Some("unit"));
        let d = open(&map).unwrap();
        let root = d.model().snapshot();
        let att = |name: &str| root.root().atts.get(name).cloned();
        assert_eq!(att("unit"), Some(Values::Char(vec![0xe0])), "{modes}");
        assert_eq!(att("other"), Some(Values::Char(vec![0xe1])), "{modes}");
    }
}

#[test]
fn a_plain_store_without_a_place_for_the_bytes_refuses_them() {
    for modes in ["zarr", "zarr,v3", "zarr,annotate,noxarray"] {
        let d = create(&TestMap::new(&[]), modes);
        let refused = d.put_att(ROOT, None, "a", NcType::Char, &Values::Char(vec![0xe9])).unwrap_err();
        assert_eq!(refused.kind(), ErrorKind::Char, "{modes}");
    }
}

#[test]
fn the_recorded_width_is_that_of_the_stored_text() {
    let map = TestMap::new(&[]);
    let d = create(&map, "nczarr");
    let odd = Values::String(vec!["abc".into(), vec![0xff, 0xfe].into()]);
    d.put_att(ROOT, None, "odd", NcType::String, &odd).unwrap();
    let even = Values::String(vec!["abc".into(), "é".into()]);
    d.put_att(ROOT, None, "even", NcType::String, &even).unwrap();
    d.close().unwrap();
    let atts = map.json(".zattrs");
    assert_eq!(atts["odd"][1].as_str().unwrap().len(), 4);
    let types = &atts["_nczarr_attr"]["types"];
    assert_eq!((&types["odd"], &types["even"]), (&json!("|S4"), &json!("|S3")));
}
