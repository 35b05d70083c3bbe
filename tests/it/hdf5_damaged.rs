//! A damaged object of a netCDF-4 file does not affect other objects. The object itself is readable or
//! reported.

use nczarr::Place;
use std::collections::HashSet;

use nczarr::model::Model;

/// The paths of all groups, dimensions, variables and attributes.
fn paths(model: &Model) -> HashSet<String> {
    let mut paths = HashSet::new();
    for (id, group) in model.groups() {
        let path = |name: &str| model.fqn(id, name).unwrap();
        paths.insert(path(""));
        paths.extend(group.dims.keys().map(|name| format!("{} dim", path(name))));
        paths.extend(group.atts.keys().map(|name| format!("{} att", path(name))));
    }
    for (_, var) in model.vars() {
        let path = model.fqn(var.group, &var.name).unwrap();
        // If a variable has a problem, its attributes can be missing too, so their paths include the
        // variable.
        paths.insert(path.clone());
        paths.extend(var.atts.keys().map(|name| format!("{path}:{name}")));
    }
    paths
}

fn file() -> Vec<u8> {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("x.nc");
    let file = nczarr::create(Place::url(format!("{}#mode=nc4", path.display()))).unwrap();
    file.add_dimension("x", 3).unwrap();
    file.add_unlimited_dimension("t").unwrap();
    for name in ["a", "b", "x"] {
        let var = file.add_variable::<i32>(name, &["x"]).unwrap();
        var.put_attribute("units", name).unwrap();
        var.put_attribute("number", 7_i32).unwrap();
    }
    let group = file.root().add_group("g").unwrap();
    group.add_variable::<f32>("in", &["t", "x"]).unwrap().put_attribute("units", "m").unwrap();
    let inner = group.add_group("h").unwrap();
    inner.put_attribute("of", "h").unwrap();
    inner.add_variable::<f64>("deep", &["x"]).unwrap();
    file.close().unwrap();
    std::fs::read(path).unwrap()
}

#[test]
fn one_damaged_byte_affects_one_object() {
    let whole = file();
    let expected = paths(&nczarr::open_bytes(whole.clone()).unwrap().model());
    let (mut closed, mut hurt) = (0, 0);
    for at in (0..whole.len()).step_by(3) {
        let mut bytes = whole.clone();
        bytes[at] ^= 0x55;
        let Ok(file) = nczarr::open_bytes(bytes) else {
            closed += 1;
            continue;
        };
        let (model, faults) = (file.model(), file.faults().unwrap());
        let found = paths(&model);
        let problems = model.vars().filter(|(_, var)| var.problem.is_some());
        let problems: Vec<String> =
            problems.map(|(_, var)| model.fqn(var.group, &var.name).unwrap()).collect();
        let is_reported = |path: &str| {
            let is_of = |owner: &str| path.starts_with(owner) || owner.starts_with(path);
            faults.iter().any(|fault| is_of(&fault.path)) || problems.iter().any(|owner| is_of(owner))
        };
        let lost: Vec<&String> =
            expected.difference(&found).filter(|path| !is_reported(path.trim_end_matches(" dim"))).collect();
        assert!(lost.is_empty(), "byte {at}: {lost:?} without {faults:?} and {problems:?}");
        hurt += usize::from(!faults.is_empty() || !problems.is_empty());
        // Everything else is unchanged.
        let gone = expected.difference(&found).filter(|path| !path.contains(':')).count();
        assert!(gone < expected.len() / 2, "byte {at}: {gone} objects are gone");
    }
    // The file does not open if damage hits the superblock, the root header or its links.
    assert!(hurt > 300 && closed < 400, "{hurt} reported, {closed} closed");
}
