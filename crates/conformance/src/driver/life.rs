//! Checks a dataset's life cycle: create, fill, close, open, change, abort, replace.

use std::sync::Arc;

use nczarr_dispatch::{Clobber, Dataset, MemRef};
use nczarr_model::{ErrorKind, GroupId, NcString, NcType, Scalar, Values, VarId};
use nczarr_nc_table::NcDispatch;
use nczarr_url_infer::Target;

use super::data::{DecodedElements, read};
use super::{DriverSuite, check_dataset};
use crate::failure::{Outcome, broken, fails, ok, same};

const ROOT: GroupId = GroupId::ROOT;
const ROWS: u64 = 5;
const COLUMNS: u64 = 7;

/// The attribute's values, which are also letters.
const LIMITS: &[i64] = &[97, 100];

/// Returns an attribute's values as numbers: some formats do not keep its type.
fn numbers(values: &Values) -> Vec<f64> {
    if let Some(text) = values.as_text() {
        return text.bytes().map(f64::from).collect();
    }
    let number = |at| match values.scalar(at)? {
        Scalar::Int(number) => Some(number as f64),
        Scalar::Float(number) => Some(number),
    };
    (0..values.len()).filter_map(number).collect()
}

pub(super) fn check(suite: &DriverSuite<'_>, place: &dyn Fn() -> Outcome<Target>) -> Outcome {
    written(suite, &place()?)?;
    abandoned(suite, &place()?)
}

/// A number that every numeric type holds.
fn number(seed: u64) -> i64 {
    (seed * 31 % 101) as i64 + 1
}

/// Returns numbers as elements of a type, in native byte order.
fn native(ty: NcType, numbers: &[i64]) -> Option<Values> {
    let numbers = numbers.iter();
    Some(match ty {
        NcType::Byte => Values::Byte(numbers.map(|&n| n as i8).collect()),
        NcType::Char => Values::Char(numbers.map(|&n| n as u8).collect()),
        NcType::Short => Values::Short(numbers.map(|&n| n as i16).collect()),
        NcType::Int => Values::Int(numbers.map(|&n| n as i32).collect()),
        NcType::Float => Values::Float(numbers.map(|&n| n as f32 + 0.5).collect()),
        NcType::Double => Values::Double(numbers.map(|&n| n as f64 + 0.25).collect()),
        NcType::UByte => Values::UByte(numbers.map(|&n| n as u8).collect()),
        NcType::UShort => Values::UShort(numbers.map(|&n| n as u16).collect()),
        NcType::UInt => Values::UInt(numbers.map(|&n| n as u32).collect()),
        NcType::Int64 => Values::Int64(numbers.copied().collect()),
        NcType::UInt64 => Values::UInt64(numbers.map(|&n| n as u64).collect()),
        _ => return None,
    })
}

fn bytes(ty: NcType, numbers: &[i64]) -> Outcome<Vec<u8>> {
    let bytes = native(ty, numbers).and_then(|values| values.to_native_bytes());
    bytes.ok_or_else(|| broken("numbers have bytes", ty, "none"))
}

fn put(
    dataset: &dyn Dataset,
    var: VarId,
    ty: NcType,
    start: &[u64],
    count: &[u64],
    numbers: &[i64],
) -> Outcome {
    let bytes = bytes(ty, numbers)?;
    ok(
        format!("put of {}", ty.name()),
        dataset.put_vara(var, start, count, MemRef::Fixed { ty, bytes: &bytes }),
    )
}

fn wants(dataset: &dyn Dataset, name: &str, ty: NcType, count: &[u64], numbers: &[i64]) -> Outcome {
    let var = ok("inq_varid", dataset.inq_varid(ROOT, name))?;
    let found = ok(format!("get of {name}"), read(dataset, var, &vec![0; count.len()], count, None))?;
    let bytes = bytes(ty, numbers)?;
    let expected = match ok("inq_var_all", dataset.inq_var_all(var))?.xtype {
        // Some formats do not distinguish characters from strings of one.
        NcType::String if ty == NcType::Char => {
            DecodedElements::Strings(bytes.chunks(1).map(NcString::from).collect())
        }
        _ => DecodedElements::Fixed { item: ty.size().unwrap_or(1), bytes },
    };
    same(format!("the data of {name} come back"), expected, found)
}

/// Defines variables of every type in the format; returns the types.
fn define(dataset: &dyn Dataset) -> Outcome<Vec<NcType>> {
    let rows = ok("def_dim", dataset.def_dim(ROOT, "row", Some(ROWS)))?;
    let columns = ok("def_dim", dataset.def_dim(ROOT, "column", Some(COLUMNS)))?;
    let unlimited = dataset.def_dim(ROOT, "time", None).ok();
    fails("a second dimension of one name", &[ErrorKind::NameInUse], dataset.def_dim(ROOT, "row", Some(1)))?;
    let mut types = Vec::new();
    for ty in NcType::ATOMIC {
        if native(ty, &[]).is_none() {
            continue;
        }
        match dataset.def_var(ROOT, &format!("v_{}", ty.name()), ty, &[rows, columns]) {
            Ok(var) => {
                types.push(ty);
                let limits = native(ty, LIMITS).unwrap_or(Values::Int(vec![1]));
                ok("put_att", dataset.put_att(ROOT, Some(var), "limits", ty, &limits))?;
            }
            // A format may lack types.
            Err(error)
                if matches!(error.kind(), ErrorKind::BadType | ErrorKind::StrictNc3 | ErrorKind::NotNc4) => {}
            Err(error) => {
                return Err(broken(format!("def_var of {}", ty.name()), "success or NC_EBADTYPE", error));
            }
        }
    }
    same("the types of the classic model are there", true, types.contains(&NcType::Int))?;
    fails(
        "a second variable of one name",
        &[ErrorKind::NameInUse],
        dataset.def_var(ROOT, "v_int", NcType::Int, &[rows]),
    )?;
    ok("def_var of a scalar", dataset.def_var(ROOT, "scalar", NcType::Double, &[]))?;
    if let Some(time) = unlimited {
        ok(
            "def_var along an unlimited dimension",
            dataset.def_var(ROOT, "grows", NcType::Int, &[time, columns]),
        )?;
    }
    let title = Values::text("A title: ü, \"quoted\", \\ and a\nnew line");
    ok("put_att of text", dataset.put_att(ROOT, None, "title", NcType::Char, &title))?;
    let numbers = Values::Double(vec![0.1, -1e300, 5e-324, 1.0 / 3.0]);
    ok("put_att of numbers", dataset.put_att(ROOT, None, "numbers", NcType::Double, &numbers))?;
    Ok(types)
}

fn all(seed: u64) -> Vec<i64> {
    (0..ROWS * COLUMNS).map(|i| number(i + seed)).collect()
}

fn written(suite: &DriverSuite<'_>, target: &Target) -> Outcome {
    let dataset = ok("create", suite.create(target, Clobber::Refuse))?;
    same("a new dataset is writable", true, dataset.info().writable)?;
    let types = &define(&*dataset)?;
    for (i, &ty) in types.iter().enumerate() {
        let var = ok("inq_varid", dataset.inq_varid(ROOT, &format!("v_{}", ty.name())))?;
        if dataset.model().is_defining() {
            ok("enddef", dataset._enddef(0, 4, 0, 4))?;
        }
        put(&*dataset, var, ty, &[0, 0], &[ROWS, COLUMNS], &all(i as u64))?;
    }
    let scalar = ok("inq_varid", dataset.inq_varid(ROOT, "scalar"))?;
    put(&*dataset, scalar, NcType::Double, &[], &[], &[42])?;
    ok("sync", dataset.sync())?;
    wants(&*dataset, "scalar", NcType::Double, &[], &[42])?;
    let shown = ok("show_metadata", dataset.show_metadata())?;
    ok("close", dataset.close())?;
    ok("close again", dataset.close())?;

    let again = reopen(suite, target, false)?;
    check_dataset(&*again)?;
    came_back(&*again, types)?;
    same("the metadata of a reopened dataset", shown.lines().count(), {
        ok("show_metadata", again.show_metadata())?.lines().count()
    })?;
    let int = ok("inq_varid", again.inq_varid(ROOT, "v_int"))?;
    let one = bytes(NcType::Int, &[1])?;
    let refused = again.put_vara(int, &[0, 0], &[1, 1], MemRef::Fixed { ty: NcType::Int, bytes: &one });
    fails("put into a read-only dataset", &[ErrorKind::Perm], refused)?;
    ok("close", again.close())?;

    fails(
        format!("create over {target} without being asked to replace"),
        &[ErrorKind::Object, ErrorKind::Exist],
        suite.create(target, Clobber::Refuse),
    )?;
    came_back(&*reopen(suite, target, false)?, types)?;
    changed(suite, target, types)?;

    let empty = ok("create over a dataset that may be replaced", suite.create(target, Clobber::Replace))?;
    same("a replaced dataset is empty", 0, empty.model().snapshot().vars().len())?;
    ok("close", empty.close())?;
    let empty = reopen(suite, target, false)?;
    same("a replaced dataset stays empty", 0, empty.model().snapshot().vars().len())?;
    ok("close", empty.close())
}

fn reopen(suite: &DriverSuite<'_>, target: &Target, writable: bool) -> Outcome<Arc<dyn Dataset>> {
    let dataset = ok(format!("open of {target}"), suite.open(target, writable))?;
    same("a dataset is as writable as asked for", writable, dataset.info().writable)?;
    same("an opened dataset is in data mode", false, dataset.model().is_defining())?;
    Ok(dataset)
}

fn came_back(dataset: &dyn Dataset, types: &[NcType]) -> Outcome {
    for (i, &ty) in types.iter().enumerate() {
        wants(dataset, &format!("v_{}", ty.name()), ty, &[ROWS, COLUMNS], &all(i as u64))?;
        let var = ok("inq_varid", dataset.inq_varid(ROOT, &format!("v_{}", ty.name())))?;
        let (limits, _) = ok("get_att", dataset.get_att(ROOT, Some(var), "limits", None))?;
        let wrote = native(ty, LIMITS);
        same(
            format!("an attribute of {} comes back", ty.name()),
            wrote.as_ref().map(numbers),
            Some(numbers(&limits)),
        )?;
    }
    wants(dataset, "scalar", NcType::Double, &[], &[42])?;
    let (title, _) = ok("get_att", dataset.get_att(ROOT, None, "title", None))?;
    same("text comes back", Some("A title: ü, \"quoted\", \\ and a\nnew line"), title.as_text())?;
    let (numbers, _) = ok("get_att", dataset.get_att(ROOT, None, "numbers", None))?;
    same("numbers come back exactly", vec![0.1, -1e300, 5e-324, 1.0 / 3.0], self::numbers(&numbers))
}

/// Returns the variable along an unlimited dimension. `None` in formats that do not keep it unlimited.
fn growing(dataset: &dyn Dataset) -> Outcome<Option<VarId>> {
    let Ok(var) = dataset.inq_varid(ROOT, "grows") else { return Ok(None) };
    let dims = ok("inq_var_all", dataset.inq_var_all(var))?.dims;
    let Some(&first) = dims.first() else { return Ok(None) };
    Ok(ok("inq_dim", dataset.inq_dim(first))?.unlimited.then_some(var))
}

/// Changes an existing dataset: partial writes, growth, and an aborted definition.
fn changed(suite: &DriverSuite<'_>, target: &Target, types: &[NcType]) -> Outcome {
    let dataset = reopen(suite, target, true)?;
    let int = ok("inq_varid", dataset.inq_varid(ROOT, "v_int"))?;
    let which = types.iter().position(|&ty| ty == NcType::Int).unwrap_or(0) as u64;
    let mut expected = all(which);
    put(&*dataset, int, NcType::Int, &[1, 2], &[2, 3], &[1, 2, 3, 4, 5, 6])?;
    for (i, at) in [9, 10, 11, 16, 17, 18].into_iter().enumerate() {
        expected[at] = i as i64 + 1;
    }
    wants(&*dataset, "v_int", NcType::Int, &[ROWS, COLUMNS], &expected)?;
    let grows = growing(&*dataset)?;
    let row: Vec<i64> = (0..COLUMNS as i64).collect();
    if let Some(grows) = grows {
        put(&*dataset, grows, NcType::Int, &[2, 0], &[1, COLUMNS], &row)?;
    }
    ok("close", dataset.close())?;

    let dataset = reopen(suite, target, true)?;
    wants(&*dataset, "v_int", NcType::Int, &[ROWS, COLUMNS], &expected)?;
    if grows.is_some() {
        let grows = ok("inq_varid", dataset.inq_varid(ROOT, "grows"))?;
        let shape = ok("shape", dataset.model().snapshot().shape(grows))?;
        same("an unlimited dimension has grown", vec![3, COLUMNS], shape)?;
        let written = ok("get", read(&*dataset, grows, &[2, 0], &[1, COLUMNS], None))?;
        let expected = DecodedElements::Fixed { item: 4, bytes: bytes(NcType::Int, &row)? };
        same("data written beyond the end", expected, written)?;
        let skipped = ok("get", read(&*dataset, grows, &[0, 0], &[1, COLUMNS], None))?;
        let fill = bytes(NcType::Int, &[i64::from(i32::MIN) + 1; COLUMNS as usize])?;
        same(
            "skipped elements have the fill value",
            DecodedElements::Fixed { item: 4, bytes: fill },
            skipped,
        )?;
    }
    if !dataset.model().is_defining() {
        ok("redef", dataset.redef())?;
    }
    ok("def_var", dataset.def_var(ROOT, "taken_back", NcType::Int, &[]))?;
    ok("abort", dataset.abort())?;
    let again = reopen(suite, target, false)?;
    fails("an aborted definition", &[ErrorKind::NotVar], again.inq_varid(ROOT, "taken_back"))?;
    wants(&*again, "v_int", NcType::Int, &[ROWS, COLUMNS], &expected)?;
    ok("close", again.close())
}

/// Checks that an aborted new dataset does not exist afterwards.
fn abandoned(suite: &DriverSuite<'_>, target: &Target) -> Outcome {
    let dataset = ok("create", suite.create(target, Clobber::Refuse))?;
    define(&*dataset)?;
    ok("abort of a new dataset", dataset.abort())?;
    ok("close after an abort", dataset.close())?;
    fails("open of an aborted dataset", &[], suite.open(target, false))?;
    let again = ok("create after an abort", suite.create(target, Clobber::Refuse))?;
    ok("close", again.close())?;
    let again = reopen(suite, target, false)?;
    same("an empty dataset is empty", 0, again.model().snapshot().vars().len())?;
    ok("close", again.close())
}
