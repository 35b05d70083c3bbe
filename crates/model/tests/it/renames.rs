//! Renames of every kind.

use nczarr_model::{DimId, Edit, ErrorKind, GroupId, Model, TypeId, VarId};

use crate::sample::{self, G, H, ROOT, SCALAR, TEMP, TIME, X, Y};

/// Returns the names in each table of the sample after the edit, in order.
fn names(model: &Model) -> String {
    let join = |names: Vec<&String>| names.into_iter().map(String::as_str).collect::<Vec<_>>().join(" ");
    let mut lines = Vec::new();
    for (_, group) in model.groups() {
        lines.push(format!(
            "{}: {} | {} | {} | {}",
            group.name,
            join(group.dims.keys().collect()),
            join(group.vars.keys().collect()),
            join(group.groups.keys().collect()),
            join(group.atts.keys().collect())
        ));
    }
    lines.push(join(model.var(TEMP).unwrap().atts.keys().collect()));
    lines.join("\n")
}

const BEFORE: &str = "\
/: x time | s temp last | g | title history
g: y | depth | h | 
h:  |  |  | 
units valid_min valid_range";

#[test]
fn every_kind_keeps_its_place() {
    assert_eq!(names(&sample::model()), BEFORE);
    let att = |var, name, to| Edit::RenameAtt { group: ROOT, var, name, to };
    for (edit, change) in [
        (Edit::RenameDim { dim: X, name: "lon" }, Ok((" x time", " lon time"))),
        (Edit::RenameDim { dim: TIME, name: "t" }, Ok(("x time", "x t"))),
        (Edit::RenameDim { dim: Y, name: "x" }, Ok(("g: y", "g: x"))),
        (Edit::RenameDim { dim: X, name: "x" }, Ok(("", ""))),
        (Edit::RenameDim { dim: X, name: "s" }, Ok((" x time", " s time"))),
        (Edit::RenameDim { dim: X, name: "a\u{308}" }, Ok((" x time", " ä time"))),
        (Edit::RenameDim { dim: X, name: "time" }, Err(ErrorKind::NameInUse)),
        (Edit::RenameDim { dim: X, name: "a/b" }, Err(ErrorKind::BadName)),
        (Edit::RenameDim { dim: DimId(9), name: "a" }, Err(ErrorKind::BadDim)),
        (Edit::RenameVar { var: SCALAR, name: "v" }, Ok(("s temp", "v temp"))),
        (Edit::RenameVar { var: TEMP, name: "v" }, Ok(("s temp last", "s v last"))),
        (Edit::RenameVar { var: TEMP, name: "temp" }, Ok(("", ""))),
        (Edit::RenameVar { var: TEMP, name: "depth" }, Ok(("s temp last", "s depth last"))),
        (Edit::RenameVar { var: TEMP, name: "x" }, Ok(("s temp last", "s x last"))),
        (Edit::RenameVar { var: TEMP, name: "s" }, Err(ErrorKind::NameInUse)),
        (Edit::RenameVar { var: TEMP, name: "g" }, Err(ErrorKind::NameInUse)),
        (Edit::RenameVar { var: TEMP, name: "point" }, Err(ErrorKind::NameInUse)),
        (Edit::RenameVar { var: TEMP, name: "" }, Err(ErrorKind::BadName)),
        (Edit::RenameVar { var: VarId(9), name: "a" }, Err(ErrorKind::NotVar)),
        (Edit::RenameGroup { group: G, name: "atmos" }, Ok(("| g |", "| atmos |"))),
        (Edit::RenameGroup { group: H, name: "g" }, Ok(("| h |", "| g |"))),
        (Edit::RenameGroup { group: G, name: "g" }, Ok(("", ""))),
        (Edit::RenameGroup { group: G, name: "temp" }, Err(ErrorKind::NameInUse)),
        (Edit::RenameGroup { group: H, name: "depth" }, Err(ErrorKind::NameInUse)),
        (Edit::RenameGroup { group: ROOT, name: "a" }, Err(ErrorKind::BadGrpId)),
        (Edit::RenameGroup { group: GroupId(9), name: "a" }, Err(ErrorKind::BadGrpId)),
        (Edit::RenameGroup { group: G, name: "." }, Err(ErrorKind::BadName)),
        (att(None, "title", "name"), Ok(("title", "name"))),
        (att(None, "history", "h"), Ok(("history", "h"))),
        (att(None, "title", "title"), Ok(("", ""))),
        (att(None, "title", "history"), Err(ErrorKind::NameInUse)),
        (att(None, "units", "u"), Err(ErrorKind::NotAtt)),
        (att(None, "title", "a "), Err(ErrorKind::BadName)),
        (att(Some(TEMP), "valid_min", "low"), Ok(("valid_min", "low"))),
        (att(Some(TEMP), "valid_min", "_FillValue"), Ok(("valid_min", "_FillValue"))),
        (att(Some(TEMP), "valid_range", "_FillValue"), Err(ErrorKind::Inval)),
        (att(Some(TEMP), "units", "_FillValue"), Err(ErrorKind::BadType)),
        (att(Some(TEMP), "title", "t"), Err(ErrorKind::NotAtt)),
        (att(Some(VarId(9)), "title", "t"), Err(ErrorKind::NotVar)),
    ] {
        let mut model = sample::model();
        let outcome = sample::apply(&mut model, &edit).map_err(|error| error.kind());
        assert_eq!(outcome.err(), change.err(), "{edit:?}");
        let (from, to) = change.unwrap_or_default();
        let mut expected = BEFORE.replacen(from, to, 1);
        if let Edit::RenameGroup { group, name } = edit
            && change.is_ok()
        {
            let line = if group == G { "\ng:" } else { "\nh:" };
            expected = expected.replacen(line, &format!("\n{name}:"), 1);
        }
        assert_eq!(names(&model), expected, "{edit:?}");
    }
}

#[test]
fn renamed_objects_are_found_and_keep_their_ids() {
    let mut model = sample::model();
    for edit in [
        Edit::RenameDim { dim: Y, name: "depth" },
        Edit::RenameGroup { group: G, name: "sea" },
        Edit::RenameVar { var: TEMP, name: "air" },
    ] {
        sample::apply(&mut model, &edit).unwrap();
    }
    assert_eq!(model.find_dim(H, "depth"), Some(Y));
    assert_eq!(model.find_dim(H, "y"), None);
    assert_eq!(model.dim(Y).unwrap().name, "depth");
    assert_eq!(model.group_at(ROOT, "/sea/h").unwrap(), H);
    assert!(model.group_at(ROOT, "/g").is_err());
    assert_eq!(model.var_at(ROOT, "air").unwrap(), TEMP);
    assert_eq!(model.find_type(H, "point"), Some(TypeId(0)));
    assert_eq!(model.fqn(H, "v").unwrap(), "/sea/h/v");
}
