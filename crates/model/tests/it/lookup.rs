//! Names and paths are found as stored and in NFC.

use nczarr_model::{Edit, ErrorKind, GroupId, Model, NcType, Values, Var};

use crate::sample::{self, DEPTH, G, H, ROOT, TEMP, TIME, X, Y};

#[test]
fn dimensions_and_types_are_seen_from_inside() {
    let model = sample::model();
    for (group, name, expected) in [
        (ROOT, "x", Some(X)),
        (H, "x", Some(X)),
        (H, "time", Some(TIME)),
        (G, "y", Some(Y)),
        (H, "y", Some(Y)),
        (ROOT, "y", None),
        (GroupId(9), "x", None),
    ] {
        assert_eq!(model.find_dim(group, name), expected, "{group:?} {name}");
    }
    assert_eq!(model.find_type(H, "blob"), Some(sample::BLOB));
    assert_eq!(model.find_type(H, "x"), None);
}

#[test]
fn paths() {
    let model = sample::model();
    for (from, path, expected) in [
        (ROOT, "temp", Ok(TEMP)),
        (ROOT, "/temp", Ok(TEMP)),
        (G, "/temp", Ok(TEMP)),
        (G, "temp", Err(ErrorKind::NotVar)),
        (G, "depth", Ok(DEPTH)),
        (ROOT, "g/depth", Ok(DEPTH)),
        (ROOT, "//g//depth/", Ok(DEPTH)),
        (ROOT, "/g/h/depth", Err(ErrorKind::NotVar)),
        (ROOT, "/q/depth", Err(ErrorKind::NoGrp)),
        (ROOT, "/", Err(ErrorKind::NotVar)),
        (ROOT, "", Err(ErrorKind::NotVar)),
    ] {
        assert_eq!(model.var_at(from, path).map_err(|error| error.kind()), expected, "{path}");
    }
    for (from, path, expected) in [
        (H, "", Ok(H)),
        (H, "/", Ok(ROOT)),
        (ROOT, "g/h", Ok(H)),
        (G, "h", Ok(H)),
        (G, "/h", Err(ErrorKind::NoGrp)),
    ] {
        assert_eq!(model.group_at(from, path).map_err(|error| error.kind()), expected, "{path}");
    }
    assert_eq!(model.group_path(H).unwrap(), "/g/h");
    assert_eq!(model.group_path(ROOT).unwrap(), "/");
    assert_eq!(model.var_path(DEPTH).unwrap(), "/g/depth");
    assert_eq!(model.var_path(TEMP).unwrap(), "/temp");
}

#[test]
fn escapes_and_nfc() {
    let mut model = Model::new();
    let Ok(nczarr_model::Defined::Group(group)) =
        model.apply(&Edit::DefGroup { parent: ROOT, name: "mean sea" })
    else {
        panic!("no group");
    };
    let composed = model.add_var(Var { name: "ä".to_owned(), group, ..Var::default() }).unwrap();
    // A foreign dataset may have such a name.
    let decomposed = model.add_var(Var { name: "u\u{308}".to_owned(), group, ..Var::default() }).unwrap();
    let slash = model.add_var(Var { name: "a/b".to_owned(), group, ..Var::default() }).unwrap();
    for (path, expected) in [
        ("/mean sea/ä", composed),
        ("/mean\\ sea/a\u{308}", composed),
        ("mean sea/u\u{308}", decomposed),
        ("mean sea/a\\/b", slash),
    ] {
        assert_eq!(model.var_at(ROOT, path).unwrap(), expected, "{path}");
    }
    assert_eq!(model.var_path(slash).unwrap(), "/mean\\ sea/a\\/b");
    assert_eq!(model.fqn(group, "ä").unwrap(), "/mean sea/ä");
    let values = Values::Int(vec![1]);
    model.apply(&Edit::PutAtt { group, var: Some(composed), name: "o\u{308}", values: &values }).unwrap();
    for name in ["ö", "o\u{308}"] {
        assert_eq!(model.find_att(group, Some(composed), name).unwrap(), &values);
    }
    let error = model.find_att(group, Some(composed), "q").unwrap_err();
    assert_eq!(error.kind(), ErrorKind::NotAtt);
    assert!(error.what().contains("/mean\\ sea/ä"), "{error}");
    assert_eq!(model.find_att(group, None, "ö").unwrap_err().kind(), ErrorKind::NotAtt);
    assert_eq!(model.var(composed).unwrap().xtype, NcType::Byte);
}
