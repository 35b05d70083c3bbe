use nczarr_model::{ErrorKind, GroupId, Values};

use super::*;
use crate::flavour::nczarr_lists::{self, ArrayReferences};
use crate::metadata::json::{Json, Object, parse, text};

fn object(text: &str) -> Object {
    parse(text.as_bytes(), &nczarr_dispatch::Limits::default()).unwrap().into_object().unwrap()
}

fn data(name: &str) -> DataType {
    DataType::read(&Json::string(name), false, &crate::metadata::v3::tests::registry()).unwrap()
}

#[test]
fn every_spelling_of_a_group() {
    for stored in [
        r#"{"_nczarr_group": {"dimensions": [{"name": "x", "size": 2, "unlimited": 0}, {"name": "t", "size": 5, "unlimited": 1}], "arrays": ["a"], "subgroups": ["g","h"]}}"#,
        r#"{"_nczarr_group": {"dimensions": {"x": {"size": 2, "unlimited": 0}, "t": {"size": 5, "unlimited": 1}}, "arrays": ["a"], "groups": ["g","h"]}}"#,
        r#"{"_nczarr_group": {"dimensions": {"x": 2, "t": {"size": 5, "unlimited": 1}}, "arrays": ["a"], "groups": ["g","h"]}}"#,
    ] {
        let lists = nczarr_lists::read(&group(&object(stored)).unwrap(), None).unwrap().unwrap();
        let dims: Vec<_> = lists.dims.iter().map(|dim| (dim.name.as_str(), dim.len, dim.unlimited)).collect();
        assert_eq!(dims, [("x", 2, false), ("t", 5, true)], "{stored}");
        assert_eq!(
            (lists.arrays, lists.groups),
            (vec!["a".to_owned()], vec!["g".to_owned(), "h".to_owned()])
        );
    }
    for (wrong, member) in [
        (r#"{"_nczarr_group": 1}"#, "_nczarr_group"),
        (r#"{"_nczarr_group": {"dimensions": [1]}}"#, "dimensions"),
        (r#"{"_nczarr_group": {"dimensions": [{"size": 1}]}}"#, "dimensions"),
        (
            r#"{"_nczarr_group": {"dimensions": [{"name": "x", "size": 1},{"name": "x", "size": 1}]}}"#,
            "dimensions",
        ),
        (r#"{"_nczarr_attrs": 1}"#, "_nczarr_attrs"),
        (r#"{"_nczarr_attrs": {"attribute_types": 1}}"#, "attribute_types"),
        (r#"{"_nczarr_attrs": {"attribute_types": [1]}}"#, "attribute_types"),
    ] {
        let error = group(&object(wrong)).unwrap_err();
        assert!(error.kind() == ErrorKind::NcZarr && error.what().contains(member), "{wrong}: {error}");
    }
    let wrong = group(&object(r#"{"_nczarr_group": {"dimensions": [{"name": "x", "size": -1}]}}"#)).unwrap();
    assert_eq!(nczarr_lists::read(&wrong, None).unwrap_err().kind(), ErrorKind::NcZarr);
}

#[test]
fn every_spelling_of_recorded_types() {
    for stored in [
        r#"{"u": "K", "_nczarr_attrs": {"attribute_types": [{"name": "u", "configuration": {"type": "char"}}, {"name": "f", "configuration": {"type": "float32"}}, {"name": "j", "configuration": {"type": "json"}}, {"name": "x", "configuration": {"type": "later"}}]}}"#,
        r#"{"u": "K", "_nczarr_default_separator": "/", "_nczarr_attrs": {"attribute_types": {"u": "char", "f": "float32", "j": "json", "x": "later", "y": 3}}}"#,
    ] {
        let today = group(&object(stored)).unwrap();
        let recorded = |name| nczarr_lists::recorded_type(&today, name);
        assert_eq!(
            [recorded("u"), recorded("f"), recorded("j"), recorded("x")],
            [Some(">S1"), Some("<f4"), Some("|J0"), None]
        );
        assert_eq!(today.iter().map(|(name, _)| name).collect::<Vec<_>>(), ["u", NCZARR_ATTR]);
    }
    for ty in NcType::ATOMIC {
        let (v2, values) = (v2_type(type_name(ty)).unwrap(), Values::empty(ty).unwrap());
        let expected = if ty == NcType::String {
            STRING.to_owned()
        } else {
            crate::metadata::attributes::recorded_type(&values)
        };
        assert_eq!(v2, expected, "{ty:?}");
    }
}

#[test]
fn every_spelling_of_an_array() {
    for (stored, alias) in [
        (r#"{"_nczarr_array": {"dimension_references": ["/n"], "type_alias": "string"}}"#, Some("string")),
        (
            r#"{"_nczarr_array": {"dimension_references": ["/n"], "storage": "chunked", "nczarr_type": "char"}}"#,
            Some("char"),
        ),
        (r#"{"_nczarr_array": {"dimension_references": ["/n"]}}"#, None),
    ] {
        let (today, extra) = array(&object(stored)).unwrap();
        assert_eq!(
            nczarr_lists::references(&today, None).unwrap(),
            Some(ArrayReferences { dims: vec!["/n".into()], ..ArrayReferences::default() })
        );
        let first_writer = alias == Some("char");
        assert_eq!(
            extra,
            ArrayKeys { alias: alias.map(str::to_owned), first_writer, ..ArrayKeys::default() }
        );
    }
    for (alias, name, kind) in [
        ("char", "uint8", DTypeKind::Char),
        ("string", "r64", DTypeKind::Text(8)),
        ("string", "uint8", DTypeKind::Number(NcType::UByte)),
        ("char", "int8", DTypeKind::Number(NcType::Byte)),
        ("other", "uint8", DTypeKind::Number(NcType::UByte)),
    ] {
        let mut data = data(name);
        ArrayKeys { alias: Some(alias.to_owned()), ..ArrayKeys::default() }.apply(&mut data);
        assert_eq!(data.dtype.kind, kind, "{alias} {name}");
    }
}

#[test]
fn fill_values_of_floats() {
    for (stored, name, expected) in [
        (r#""AAAAAAAA+H8=""#, "float32", r#""NaN""#),
        (r#""AAAAAAAA+L8=""#, "float64", "-1.5"),
        (r#""AAAAAICHw8A=""#, "float32", "-9999.0"),
        ("9.96921e+36", "float64", "9.96921e+36"),
        (r#""NaN""#, "float64", r#""NaN""#),
        (r#""AAAAAAAA+L8=""#, "string", r#""AAAAAAAA+L8=""#),
        (r#""AAAA""#, "float64", r#""AAAA""#),
        (r#""-""#, "uint8", "45"),
        (r#""""#, "uint8", "0"),
        (r#""""#, "string", r#""""#),
    ] {
        let mut attrs = object(&format!(r#"{{"_FillValue": {stored}}}"#));
        plain_fill(&mut attrs, &data(name), &ArrayKeys::default());
        assert_eq!(text(attrs.get(FILL_VALUE).unwrap()), expected, "{stored}");
    }
    assert_eq!((coded(f64::NAN), coded(-1.5)), ("AAAAAAAA+H8=".to_owned(), "AAAAAAAA+L8=".to_owned()));
}

#[test]
fn written_keys_parse_back() {
    let filters = vec![
        FilterSpec { hdf5_id: Some(2), ..FilterSpec::default() },
        FilterSpec { hdf5_id: Some(1), params: vec![5], ..FilterSpec::default() },
        FilterSpec { codec: Some(r#"{"id": "gzip", "level": 5}"#.to_owned()), ..FilterSpec::default() },
        FilterSpec { name: "lzma".to_owned(), ..FilterSpec::default() },
    ];
    let extra = ArrayKeys {
        alias: Some("char".to_owned()),
        no_fill: true,
        filters: Some(filters),
        first_writer: false,
        ..ArrayKeys::default()
    };
    let mut out = r#"{"_nczarr_array": "#.to_owned();
    write_array(&["/g/x".to_owned(), "/y".to_owned()], &extra, ("v", &Key::new("v").unwrap()), &mut out);
    out.push('}');
    let (today, found) = array(&object(&out)).unwrap();
    assert_eq!(found, extra);
    assert_eq!(nczarr_lists::references(&today, None).unwrap().unwrap().dims, ["/g/x", "/y"]);
    for wrong in
        [r#"[3]"#, r#"[{}]"#, r#"[{"id": -1}]"#, r#"[{"id": 1, "params": ["5"]}]"#, r#"[{"name": 3}]"#, "1"]
    {
        let stored =
            object(&format!(r#"{{"_nczarr_array": {{"dimension_references": [], "filters": {wrong}}}}}"#));
        assert_eq!(array(&stored).unwrap().1.filters, None, "{wrong}");
    }

    let mut model = Model::new();
    model.add_dim(GroupId::ROOT, "x", 2, false).unwrap();
    model.add_dim(GroupId::ROOT, "t", 5, true).unwrap();
    model.add_group(GroupId::ROOT, "g").unwrap();
    let mut out = r#"{"_nczarr_group": "#.to_owned();
    let mut state = NodeStates::default();
    state.extend(&model).unwrap();
    write_group(&model, model.root(), &state, &Key::root(), &mut out).unwrap();
    out.push_str(r#", "_nczarr_superblock": "#);
    write_superblock(&mut out);
    out.push_str(r#", "_nczarr_attrs": {"attribute_types": ["#);
    write_type("a", "char", &mut out);
    write_type("b", "int16", &mut out);
    out.push_str("]}}");
    let stored = object(&out);
    assert!(stored.iter().all(|(_, value)| value.is_strict()));
    let today = group(&stored).unwrap();
    let lists = nczarr_lists::read(&today, None).unwrap().unwrap();
    let dims: Vec<_> = lists.dims.iter().map(|dim| (dim.name.as_str(), dim.len, dim.unlimited)).collect();
    assert_eq!((dims, lists.groups), (vec![("x", 2, false), ("t", 5, true)], vec!["g".to_owned()]));
    assert_eq!(
        (nczarr_lists::recorded_type(&today, "a"), nczarr_lists::recorded_type(&today, "b")),
        (Some(">S1"), Some("<i2"))
    );
}
