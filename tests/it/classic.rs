//! Classic files by netCDF-C print the reference text byte for byte, and copies of them have the same bytes.
//! Damaged files print their expected text too.

use std::fs;
use std::path::Path;
use std::sync::Arc;

use nczarr::dispatch::{Dataset, Format};
use nczarr::model::{GroupId, Model, VarId};
use nczarr::nc_table::NcDispatch as _;
use nczarr::{FillMode, MemMut, MemRef, OpenOptions, OutBuf, Place};
use nczarr_cdl::{Options, PrintedPart};
use nczarr_tests::dump::dump;
use nczarr_tests::report::{Outcome, Report};

use crate::corpus;

#[test]
fn classic_files_of_netcdf_c_print_as_they_should() {
    corpus::each("netcdf-c", "classic files of netCDF-C", |folder| {
        let mut report = Report::default();
        for row in corpus::manifest(folder).into_iter().filter(|row| row[1].starts_with("classic/")) {
            let path = folder.join(&row[1]);
            let mapped = prints(&path, &row[0], true).map_err(|error| format!("mapped into memory: {error}"));
            let outcome = prints(&path, &row[0], false).and(mapped).unwrap_or_else(Outcome::Failed);
            report.add(row[0].clone(), outcome);
        }
        report
    });
}

/// Prints a file and compares the output with the texts beside it.
pub(crate) fn prints(path: &Path, name: &str, mapped: bool) -> Result<Outcome, String> {
    let options = OpenOptions::new().memory_map(mapped);
    let file = options.open(path.display().to_string()).map_err(|error| format!("open: {error}"))?;
    // netCDF-C prints no special attributes for CDF-5.
    let special = path.with_file_name(format!("{name}.s.cdl")).exists();
    let variants = [
        ("h.cdl", Options { part: PrintedPart::Header, ..Options::default() }),
        ("cdl", Options::default()),
        ("s.cdl", Options { special: true, ..Options::default() }),
        (
            "p17.cdl",
            Options { special, float_digits: Some(9), double_digits: Some(17), ..Options::default() },
        ),
    ];
    for (ending, options) in variants {
        let beside = path.with_file_name(format!("{name}.{ending}"));
        if !beside.exists() {
            continue;
        }
        let options = Options { name: name.to_owned(), ..options };
        let found = dump(&file, &options).map_err(|error| format!("{ending}: {error}"))?;
        let expected = fs::read_to_string(&beside).map_err(|error| error.to_string())?;
        if let Some((found, expected)) =
            found.lines().zip(expected.lines()).find(|(found, expected)| found != expected)
        {
            return Err(format!("{ending}:\n      found    {found}\n      expected {expected}"));
        }
        if found != expected {
            return Err(format!("{ending}: {} bytes, expected {}", found.len(), expected.len()));
        }
    }
    Ok(Outcome::Passed)
}

/// The order in which a copy receives its data.
#[derive(Debug, Clone, Copy)]
enum Order {
    /// Writes each variable as a whole.
    Whole,
    /// Writes record by record, and the elements of each record in reverse order.
    Scattered,
    /// Writes part of the data first and defines the rest afterwards.
    Redefined,
}

#[test]
fn copies_of_classic_files_are_the_same_bytes() {
    corpus::each("netcdf-c", "bytes of classic files", |folder| {
        let mut report = Report::default();
        for row in corpus::manifest(folder).into_iter().filter(|row| row[1].starts_with("classic/")) {
            let outcome = copies(&folder.join(&row[1]), &row[0]).unwrap_or_else(Outcome::Failed);
            report.add(row[0].clone(), outcome);
        }
        report
    });
}

fn copies(path: &Path, name: &str) -> Result<Outcome, String> {
    if name.ends_with("_truncated") {
        return Ok(Outcome::Skipped("cut short after it was written".to_owned()));
    }
    let mut expected = fs::read(path).map_err(|error| error.to_string())?;
    if name.ends_with("_streaming") {
        // The writer left the number of records open. A copy stores the number.
        let file = nczarr::open(path.display().to_string()).map_err(|error| error.to_string())?;
        let records = file.dimensions().iter().find(|dim| dim.is_unlimited()).map_or(0, |dim| dim.len());
        let width = if expected[3] == 5 { 8 } else { 4 };
        expected[4..4 + width].copy_from_slice(&records.to_be_bytes()[8 - width..]);
    }
    let scratch = tempfile::tempdir().map_err(|error| error.to_string())?;
    for order in [Order::Whole, Order::Scattered, Order::Redefined] {
        // A redefinition keeps existing free space, and an empty file keeps its size. These copies would
        // differ.
        if matches!(order, Order::Redefined) && (name.ends_with("_enddef") || name.ends_with("_attonly")) {
            continue;
        }
        let copy = scratch.path().join(format!("{order:?}.nc"));
        write_copy(path, &copy, name, order).map_err(|error| format!("{order:?}: {error}"))?;
        let found = fs::read(&copy).map_err(|error| error.to_string())?;
        if found != expected {
            let at = found.iter().zip(&expected).position(|(found, expected)| found != expected);
            return Err(format!(
                "{order:?}: {} bytes, expected {}; first at {at:?}",
                found.len(),
                expected.len()
            ));
        }
    }
    Ok(Outcome::Passed)
}

fn write_copy(path: &Path, copy: &Path, name: &str, order: Order) -> nczarr::Result<()> {
    let from = nczarr::open(path.display().to_string())?;
    let (from, model) = (from.dataset(), from.model());
    let mode = match from.info().format {
        Format::Offset64 => "64bitoffset",
        Format::Cdf5 => "cdf5",
        _ => "classic",
    };
    let to = nczarr::create(Place::url(format!("{}#mode={mode}", copy.display())))?;
    let to = to.dataset();
    let root = GroupId::ROOT;
    let later = matches!(order, Order::Redefined);
    for (_, dim) in model.dims() {
        to.def_dim(root, &dim.name, (!dim.unlimited).then(|| dim.len()))?;
    }
    let atts = |var: Option<VarId>| -> nczarr::Result<()> {
        for (name, values) in model.atts(root, var)? {
            to.put_att(root, var, name, values.nc_type(), values)?;
        }
        Ok(())
    };
    if name.ends_with("_nofill") {
        to.set_fill(FillMode::NoFill)?;
    }
    let number = model.vars().len();
    let first = if later { number.div_ceil(2) } else { number };
    if !later {
        atts(None)?;
    }
    for (id, var) in model.vars().take(first) {
        to.def_var(root, &var.name, var.xtype, &var.dims)?;
        // A fill value applies only from its definition on.
        if !later || var.atts.contains_key("_FillValue") {
            atts(Some(id))?;
        }
    }
    // These files were made with extra space in the header and between the sections.
    match name {
        "cdf1_enddef" => to._enddef(128, 64, 16, 32)?,
        "cdf2_enddef" => to._enddef(150, 64, 30, 32)?,
        "cdf5_enddef" => to._enddef(250, 64, 30, 32)?,
        _ => to._enddef(0, 0, 0, 0)?,
    }
    for (id, _) in model.vars().take(first) {
        copy_data(from, to, &model, id, order)?;
    }
    if later {
        to.redef()?;
        atts(None)?;
        for (id, _) in model.vars().take(first) {
            atts(Some(id))?;
        }
        for (id, var) in model.vars().skip(first) {
            to.def_var(root, &var.name, var.xtype, &var.dims)?;
            atts(Some(id))?;
        }
        to._enddef(0, 0, 0, 0)?;
        for (id, _) in model.vars().skip(first) {
            copy_data(from, to, &model, id, order)?;
        }
    }
    to.close()
}

fn copy_data(
    from: &Arc<dyn Dataset>,
    to: &Arc<dyn Dataset>,
    model: &Model,
    id: VarId,
    order: Order,
) -> nczarr::Result<()> {
    let shape = model.shape(id)?;
    let ty = model.var(id)?.xtype;
    let item = ty.size().unwrap_or(1);
    let len = shape.iter().product::<u64>() as usize;
    let mut bytes = vec![0; len * item];
    let out = &mut OutBuf::from_slice(&mut bytes);
    from.get_vara(id, &vec![0; shape.len()], &shape, MemMut::Fixed { ty, out })?;
    if !matches!(order, Order::Scattered) {
        return match len {
            0 => Ok(()),
            _ => to.put_vara(id, &vec![0; shape.len()], &shape, MemRef::Fixed { ty, bytes: &bytes }),
        };
    }
    for (at, bytes) in bytes.chunks(item).enumerate().rev() {
        let (mut start, mut rest) = (vec![0; shape.len()], at as u64);
        for (start, &len) in start.iter_mut().zip(&shape).rev() {
            *start = rest % len;
            rest /= len;
        }
        to.put_vara(id, &start, &vec![1; shape.len()], MemRef::Fixed { ty, bytes })?;
    }
    Ok(())
}

#[test]
fn through_the_facade_define_mode_is_entered_and_left_by_itself() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("ocean.nc").display().to_string();
    let file = nczarr::create(Place::url(format!("{path}#mode=classic"))).unwrap();
    assert_eq!(file.info().format, Format::Classic);
    file.add_unlimited_dimension("time").unwrap();
    file.add_dimension("x", 3).unwrap();
    let t = file.add_variable::<f32>("t", &["time", "x"]).unwrap();
    t.put_attribute("units", "K").unwrap();
    t.put(&[1.0f32, 2.0, 3.0, 4.0, 5.0, 6.0], ..).unwrap();
    let n = file.add_variable::<i16>("n", &["x"]).unwrap();
    n.put(&[7i16, 8, 9], ..).unwrap();
    assert!(file.add_variable::<i64>("long", &["x"]).is_err());
    file.put_attribute("title", "added later").unwrap();
    t.put(&[0.5f32, 0.5, 0.5], (2, ..)).unwrap();
    file.close().unwrap();
    let file = nczarr::open(&path).unwrap();
    let t = file.variable("t").unwrap();
    assert_eq!(t.shape().unwrap(), [3, 3]);
    assert_eq!(t.get_values::<f64>((1.., ..)).unwrap(), [4.0, 5.0, 6.0, 0.5, 0.5, 0.5]);
    assert_eq!(file.variable("n").unwrap().get_values::<i32>(..).unwrap(), [7, 8, 9]);
    drop((t, file));

    let bytes = fs::read(&path).unwrap();
    let file = nczarr::open_bytes(bytes.clone()).unwrap();
    assert_eq!(file.variable("t").unwrap().get_value::<f32>((0, 2)).unwrap(), 3.0);
    assert_eq!(file.close_to_bytes().unwrap(), bytes);
    nczarr::delete(&path).unwrap();
    let file = nczarr::CreateOptions::new()
        .create_in_memory(Place::url(format!("{path}#mode=classic")), true)
        .unwrap();
    file.add_dimension("x", 2).unwrap();
    file.add_variable::<u8>("v", &["x"]).unwrap_err();
    file.add_variable::<i8>("v", &["x"]).unwrap().put(&[1i8, 2], ..).unwrap();
    assert!(!Path::new(&path).exists());
    file.close().unwrap();
    let values = || nczarr::open(&path).unwrap().variable("v").unwrap().get_values::<i8>(..).unwrap();
    assert_eq!(values(), [1, 2]);
    for (persist, expected) in [(false, [1, 2]), (true, [1, 3])] {
        let file = OpenOptions::new().writable(true).open_in_memory(&path, persist).unwrap();
        file.variable("v").unwrap().put_value(3i8, 1).unwrap();
        assert_eq!(values(), [1, 2]);
        let bytes = file.close_to_bytes().unwrap();
        assert_eq!(values(), expected);
        let copy = nczarr::open_bytes(bytes).unwrap();
        assert_eq!(copy.variable("v").unwrap().get_values::<i8>(..).unwrap(), [1, 3]);
    }
    let store = folder.path().join("store").display().to_string();
    nczarr::create(Place::url(format!("{store}#mode=nczarr,file"))).unwrap().close().unwrap();
    let error = OpenOptions::new().open_in_memory(&store, false).unwrap_err();
    assert_eq!(error.kind(), nczarr::ErrorKind::Diskless);
}
