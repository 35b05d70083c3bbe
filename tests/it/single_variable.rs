//! A variable opened alone equals the same variable of the opened dataset, for every dataset of the corpus.

use std::collections::BTreeSet;
use std::path::Path;

use nczarr::model::Slab;
use nczarr::{Dimension, ErrorKind, MemMut, NcString, NcType, OpenOptions, OutBuf, Place, Values, Variable};
use nczarr_tests::report::{Outcome, Report};
use nczarr_tests::unpack::unpack;

use crate::corpus;

/// Larger variables are compared without their data.
const MOST: u64 = 1 << 20;

#[test]
fn zarr_arrays_open_alone() {
    corpus::each("zarr", "Zarr arrays alone", |folder| {
        let mut report = Report::default();
        let rows = corpus::manifest(folder);
        let stores: BTreeSet<&str> = rows.iter().map(|row| row[0].as_str()).collect();
        for store in stores.into_iter().filter(|store| folder.join(store).is_dir()) {
            report.add(store, same_everywhere(&folder.join(store)));
        }
        report
    });
}

#[test]
fn variables_of_netcdf_c_open_alone() {
    corpus::each("netcdf-c", "NCZarr variables alone", |folder| {
        let mut report = Report::default();
        for row in corpus::manifest(folder).iter().filter(|row| row[1].ends_with(".zarr.zip")) {
            let scratch = tempfile::tempdir().expect("a scratch folder");
            unpack(&folder.join(&row[1]), scratch.path()).expect("an archive");
            report.add(&row[0], same_everywhere(&scratch.path().join(format!("{}.zarr", row[0]))));
        }
        report
    });
}

/// Compares the variables in every mode in which the store opens.
fn same_everywhere(store: &Path) -> Outcome {
    let mut opened = 0;
    for mode in [
        "",
        "#mode=zarr",
        "#mode=nczarr",
        "#mode=noxarray",
        "#mode=zarr,noconsolidated",
        "#mode=zarr,v2",
        "#mode=zarr,v3",
    ] {
        let url = format!("{}{mode}", store.display());
        match same(&Place::url(url)) {
            Ok(true) => opened += 1,
            Ok(false) => {}
            Err(why) => return Outcome::Failed(format!("{mode}: {why}")),
        }
    }
    if opened == 0 { Outcome::Skipped("no dataset".to_owned()) } else { Ok(()).into() }
}

/// Returns whether the store opens. Fails if some variable differs when it is opened alone.
fn same(url: &Place) -> Result<bool, String> {
    let Ok(file) = nczarr::open(url) else { return Ok(false) };
    let model = file.model();
    for (id, _) in model.vars() {
        let whole = file.variable_by_id(id).map_err(|error| error.to_string())?;
        let path = whole.full_name();
        let alone = nczarr::open_variable(url, &path).map_err(|error| format!("{path}: {error}"))?;
        let (a, b) = (facts(&whole), facts(&alone));
        if let Some((a, b)) = a.iter().zip(&b).find(|(a, b)| a != b) {
            return Err(format!("{path}: {a}, but alone {b}"));
        }
        let (a, b) = (data(&whole), data(&alone));
        if format!("{a:?}") != format!("{b:?}") {
            return Err(format!("{path}: other data"));
        }
        let light = OpenOptions::new()
            .open_data(url, &path)
            .map_err(|error| format!("{path} for its data: {error}"))?;
        // A variable opened for its data must also have the same shape. If a dimension is longer than the
        // array, another document determines the shape.
        if (light.shape().ok(), light.nc_type()) != (whole.shape().ok(), whole.nc_type()) {
            return Err(format!("{path} for its data: {:?} {:?}", light.shape(), light.nc_type()));
        }
        if format!("{a:?}") != format!("{:?}", data(&light)) {
            return Err(format!("{path} for its data: other data"));
        }
        if facts(&light.complete().map_err(|error| format!("{path} as a whole: {error}"))?) != facts(&alone) {
            return Err(format!("{path} as a whole: another variable"));
        }
    }
    let known = nczarr::open_variable(url, "/no/such variable").map(drop).map_err(|error| error.kind());
    match known {
        Err(ErrorKind::NoGrp | ErrorKind::NotVar) => Ok(true),
        other => Err(format!("a variable that is not there: {other:?}")),
    }
}

/// All metadata of a variable. An error of its data is part of them.
fn facts(var: &Variable) -> Vec<String> {
    let mut facts = vec![
        format!("full name {}", var.full_name()),
        format!("type {:?}", var.nc_type()),
        format!("shape {:?}", var.shape()),
        format!("filters {:?}", var.filters()),
        format!("fill {:?}", var.fill_value()),
        format!("byte order {:?}", var.endian()),
        format!("chunks {:?}", var.chunk_shape().map_err(|error| error.to_string())),
    ];
    facts.extend(var.attributes().iter().map(|attribute| format!("attribute {attribute:?}")));
    let dims = var.dimensions();
    facts.extend(
        dims.iter().map(|dim| format!("dimension {} {} {}", stored_name(dim), dim.len(), dim.is_unlimited())),
    );
    facts
}

/// Returns a dimension's stored name. If plain Zarr gives one name several lengths, all but the first name
/// include their length. A single variable does not show the other lengths.
fn stored_name(dim: &Dimension) -> String {
    let name = dim.name();
    name.strip_suffix(&format!("_{}", dim.len())).unwrap_or(&name).to_owned()
}

/// Its data, or the reason that there are none.
fn data(var: &Variable) -> Result<Values, String> {
    let shape = var.shape().map_err(|error| error.to_string())?;
    let len = shape.iter().product::<u64>();
    if len > MOST {
        return Err("not compared".to_owned());
    }
    let (start, ty) = (vec![0; shape.len()], var.nc_type());
    let slab = Slab::new(&start, &shape);
    if ty == NcType::String {
        let mut strings = vec![NcString::new(); len as usize];
        var.read(&slab, MemMut::Strings(&mut strings)).map_err(|error| error.to_string())?;
        return Ok(Values::String(strings));
    }
    let mut bytes = vec![0; len as usize * ty.size().unwrap_or(1)];
    let out = MemMut::Fixed { ty, out: &mut OutBuf::from_slice(&mut bytes) };
    var.read(&slab, out).map_err(|error| error.to_string())?;
    Values::from_native_bytes(ty, &bytes).ok_or_else(|| "no whole elements".to_owned())
}
