//! Truncated and changed classic files give an error, or differ only in the damaged values.
//!
//! A classic file has no checksum, so some changed header bytes give another valid file. [`allowed`] lists
//! these cases and explains why the reader cannot detect them.

use std::fs;
use std::ops::Range;
use std::path::{Path, PathBuf};

use nczarr::model::GroupId;
use nczarr::{ErrorKind, File, NcType, Result, Values};

use crate::alloc;
use crate::classic_map::{Field, Map};

/// Memory allowed beyond the size of the file.
const SPARE: usize = 32 << 20;
const CUTS: usize = 200;
const FLIPS: usize = 500;

/// A variable as read.
#[derive(Debug, Clone, PartialEq)]
struct Var {
    name: String,
    ty: NcType,
    dims: Vec<usize>,
    atts: Vec<(String, Values)>,
    shape: Vec<u64>,
    /// `None` if the read fails.
    data: Option<Vec<u8>>,
}

/// A file as read.
#[derive(Debug, Clone, PartialEq)]
struct Content {
    dims: Vec<(String, u64, bool)>,
    atts: Vec<(String, Values)>,
    vars: Vec<Var>,
}

/// # Errors
/// Fails only if the file does not open. An error of one variable is part of the content.
fn content(file: &File) -> Result<Content> {
    let model = file.model();
    let own =
        |atts: &nczarr::model::Att| atts.iter().map(|(name, value)| (name.clone(), value.clone())).collect();
    let mut vars = Vec::new();
    for (id, var) in model.vars() {
        let shape = model.shape(id)?;
        vars.push(Var {
            name: var.name.clone(),
            ty: var.xtype,
            dims: var.dims.iter().map(|dim| dim.index()).collect(),
            atts: own(&var.atts),
            data: data(file, id)
                .map_err(|error| assert_ne!(error.kind(), ErrorKind::Internal, "{error}"))
                .ok(),
            shape,
        });
    }
    Ok(Content {
        dims: model.dims().map(|(_, dim)| (dim.name.clone(), dim.len(), dim.unlimited)).collect(),
        atts: own(&model.group(GroupId::ROOT)?.atts),
        vars,
    })
}

/// Reads all data of a variable through the facade.
fn data(file: &File, id: nczarr::model::VarId) -> Result<Vec<u8>> {
    let variable = file.variable_by_id(id)?;
    macro_rules! read {
        ($type:ty) => {
            variable.get_values::<$type>(..)?.iter().flat_map(|value| value.to_ne_bytes()).collect()
        };
    }
    Ok(match variable.nc_type() {
        NcType::Char => variable.get_chars(..)?.to_vec(),
        NcType::Byte => read!(i8),
        NcType::UByte => read!(u8),
        NcType::Short => read!(i16),
        NcType::UShort => read!(u16),
        NcType::Int => read!(i32),
        NcType::UInt => read!(u32),
        NcType::Int64 => read!(i64),
        NcType::UInt64 => read!(u64),
        NcType::Float => read!(f32),
        _ => read!(f64),
    })
}

/// Whether a variable is unchanged or its data give an error.
fn same_or_error(found: &Var, sound: &Var) -> bool {
    let meta = |var: &Var| Var { data: None, ..var.clone() };
    meta(found) == meta(sound) && (found.data.is_none() || found.data == sound.data)
}

/// Checks that damage to this field explains every difference between `found` and `sound`. Returns the
/// unexplained difference as an error.
fn allowed(
    field: Field,
    map: &Map,
    damaged: &[u8],
    found: &Content,
    sound: &Content,
) -> std::result::Result<(), String> {
    let (mut found, mut sound) = (found.clone(), sound.clone());
    // A name or value that is too long can swallow the rest of the header, so all variables seem to be
    // missing.
    if found.vars.is_empty() && matches!(field, Field::AttName(..) | Field::AttValue(..)) {
        return Ok(());
    }
    if found.vars.len() != sound.vars.len() || found.dims.len() != sound.dims.len() {
        return Err("another number of variables or dimensions".to_owned());
    }
    match field {
        Field::Grammar | Field::Filler | Field::VarSize(_) => {}
        Field::Data(at, byte) => {
            let element = element(byte, map.vars[at].item);
            if let (Some(found), Some(sound)) = (&mut found.vars[at].data, &sound.vars[at].data) {
                found[element.clone()].copy_from_slice(&sound[element]);
            }
        }
        Field::DimName(at) => found.dims[at].0.clone_from(&sound.dims[at].0),
        Field::AttName(owner, at) | Field::AttValue(owner, at) => {
            let (found, sound) = match owner {
                None => (&mut found.atts, &sound.atts),
                Some(var) => (&mut found.vars[var].atts, &sound.vars[var].atts),
            };
            match (found.get_mut(at), sound.get(at)) {
                (Some(found), Some(sound)) if matches!(field, Field::AttValue(..)) => {
                    found.1.clone_from(&sound.1)
                }
                // The length of a name decides where its type and values are.
                (Some(found), Some(sound)) => found.clone_from(sound),
                _ => return Err("an attribute is gone".to_owned()),
            }
        }
        // Writers store data before the record count, so a file can hold more records than it declares.
        Field::Records => fewer_records(&mut found, &mut sound)?,
        // Sizes are padded, so another length with the same padded size is valid. A variable with one element
        // per record, or one in all, can exchange that dimension for the record dimension.
        Field::DimLen(dim) => {
            found.dims[dim] = sound.dims[dim].clone();
            for (at, found) in found.vars.iter_mut().enumerate() {
                if map.vars[at].dims.contains(&dim) {
                    explain(map, at, found, &sound.vars[at])?;
                }
            }
        }
        // A type of the same size and another dimension are valid in the same way.
        Field::VarName(at) | Field::VarShape(at) => explain(map, at, &mut found.vars[at], &sound.vars[at])?,
        // Free space between variables is legal, so a variable can begin at any free place.
        Field::VarBegin(at) => {
            if found.vars[at].data != sound.vars[at].data && found.vars[at].data.is_some() {
                map.is_free(at, damaged)?;
                found.vars[at].data.clone_from(&sound.vars[at].data);
            }
        }
    }
    if found.dims != sound.dims {
        return Err(format!("dimensions {:?}", found.dims));
    }
    if found.atts != sound.atts {
        return Err(format!("attributes {:?}", found.atts));
    }
    match found.vars.iter().zip(&sound.vars).find(|(found, sound)| !same_or_error(found, sound)) {
        Some((found, sound)) => Err(format!("{found:?}\n    instead of {sound:?}")),
        None => Ok(()),
    }
}

/// Returns the range of the element that contains a byte.
fn element(byte: usize, item: usize) -> Range<usize> {
    let start = byte / item * item;
    start..start + item
}

/// Removes differences that a changed number of records explains.
fn fewer_records(found: &mut Content, sound: &mut Content) -> std::result::Result<(), String> {
    for (found, sound) in
        found.vars.iter_mut().zip(&mut sound.vars).filter(|(found, sound)| found.shape != sound.shape)
    {
        if let (Some(found), Some(sound)) = (&found.data, &mut sound.data) {
            if found.len() > sound.len() {
                return Err("more records than there are".to_owned());
            }
            sound.truncate(found.len());
        }
        found.shape.clone_from(&sound.shape);
    }
    for (found, sound) in found.dims.iter_mut().zip(&sound.dims).filter(|(found, _)| found.2) {
        found.1 = sound.1;
    }
    Ok(())
}

/// Accepts a variable of another shape or type if its size is valid.
fn explain(map: &Map, at: usize, found: &mut Var, sound: &Var) -> std::result::Result<(), String> {
    let was = &map.vars[at];
    let padded = |bytes: u64| bytes.next_multiple_of(4);
    let item = found.ty.size().unwrap_or(1) as u64;
    let all = found.shape.iter().product::<u64>() * item;
    let each = found.shape.iter().skip(1).product::<u64>() * item;
    let same = |bytes: u64| padded(bytes) == padded(was.bytes);
    // A variable without records has no values that could be wrong.
    let nothing = [&*found, sound].iter().all(|var| var.data.as_ref().is_some_and(Vec::is_empty));
    if found.data.is_some() && !same(each) && !same(all) && !nothing {
        return Err(format!(
            "{all} bytes were read as they are said to be; they are {}: {found:?}",
            was.bytes
        ));
    }
    found.clone_from(sound);
    Ok(())
}

impl Map {
    /// Checks that the variable's new place is free and inside the file.
    fn is_free(&self, at: usize, damaged: &[u8]) -> std::result::Result<(), String> {
        let var = &self.vars[at];
        let begin =
            damaged[var.begin_at.clone()].iter().fold(0, |number, &byte| number << 8 | u64::from(byte));
        let reach = |at: usize, begin: u64| -> Range<u64> {
            let var = &self.vars[at];
            let records = if var.record { self.records.saturating_sub(1) * self.recsize } else { 0 };
            begin..begin.saturating_add(records).saturating_add(var.bytes)
        };
        let place = reach(at, begin);
        let meets = |other: &Range<u64>| other.start < place.end && place.start < other.end;
        let taken = (0..self.vars.len())
            .filter(|&other| other != at)
            .any(|at| meets(&reach(at, self.vars[at].begin)));
        if taken || place.start < self.header as u64 {
            return Err(format!("read at {place:?}, where something else lies"));
        }
        if place.end > damaged.len() as u64 && !self.streaming {
            return Err(format!("read at {place:?} of {} bytes", damaged.len()));
        }
        Ok(())
    }
}

/// Opens and reads a file, and checks the memory that this takes.
fn look(size: usize, open: impl FnOnce() -> Result<File>) -> std::result::Result<Result<Content>, String> {
    let (outcome, peak) = alloc::peak(|| open().and_then(|file| content(&file)));
    if let Err(error) = &outcome
        && error.kind() == ErrorKind::Internal
    {
        return Err(format!("an internal error: {error}"));
    }
    if peak > size + SPARE {
        Err(format!("took {} KiB for a file of {size} bytes", peak >> 10))
    } else {
        Ok(outcome)
    }
}

/// Opens a file from memory, and also from disk if a path is given.
fn see(bytes: &[u8], disk: Option<&Path>) -> std::result::Result<Result<Content>, String> {
    let seen = look(bytes.len(), || nczarr::open_bytes(bytes.to_vec()))?;
    if let Some(path) = disk {
        fs::write(path, bytes).map_err(|error| error.to_string())?;
        let same = look(bytes.len(), || nczarr::open(path.display().to_string()))?;
        if same.as_ref().ok() != seen.as_ref().ok() {
            return Err(format!("a file is {same:?}, in memory it is {seen:?}"));
        }
    }
    Ok(seen)
}

/// A deterministic random number generator.
struct Numbers(u64);

impl Numbers {
    fn below(&mut self, end: usize) -> usize {
        self.0 = self.0.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        (self.0 >> 33) as usize % end
    }
}

fn cut(
    bytes: &[u8],
    len: usize,
    map: &Map,
    sound: &Content,
    disk: Option<&Path>,
) -> std::result::Result<(), String> {
    let Ok(mut found) = see(&bytes[..len], disk)? else { return Ok(()) };
    if len < map.header {
        return Err("a header that is cut was read".to_owned());
    }
    let mut sound = sound.clone();
    if map.streaming {
        fewer_records(&mut found, &mut sound)?;
    }
    if found.dims != sound.dims || found.atts != sound.atts || found.vars.len() != sound.vars.len() {
        return Err("other metadata".to_owned());
    }
    for (at, (found, sound)) in found.vars.iter_mut().zip(&sound.vars).enumerate() {
        let missing = &map.fields[len..];
        // The missing part of a truncated last record reads as zeros, as in netCDF-C.
        if let (Some(found), Some(sound), true) = (&mut found.data, &sound.data, map.vars[at].record) {
            for field in missing {
                let Field::Data(of, byte) = *field else { continue };
                let element = element(byte, map.vars[at].item);
                if of == at && element.end <= found.len() {
                    found[element.clone()].copy_from_slice(&sound[element]);
                }
            }
        }
        if !same_or_error(found, sound) {
            return Err(format!("{found:?}\n    instead of {sound:?}"));
        }
    }
    Ok(())
}

fn fuzz(path: &Path) -> (usize, Vec<String>) {
    let bytes = fs::read(path).expect("a file");
    let map = Map::of(&bytes);
    let name = path.file_name().unwrap_or_default().to_string_lossy().into_owned();
    let sound = content(&nczarr::open_bytes(bytes.clone()).expect("a sound file")).expect("a sound file");
    let folder = tempfile::tempdir().expect("a temporary folder");
    let place = folder.path().join("x.nc");
    let mut failed = Vec::new();
    let mut numbers = Numbers(name.bytes().fold(7, |seed, byte| seed.wrapping_mul(31) ^ u64::from(byte)));
    let disk = |number: usize| number.is_multiple_of(16).then_some(&*place);
    // The cuts are spread evenly over the file. Any remaining cuts are at random places.
    let all = bytes.len();
    let step = (all / CUTS).max(1);
    let mut cuts: Vec<_> = (0..all).step_by(step).collect();
    cuts.extend((0..CUTS.saturating_sub(cuts.len())).map(|_| numbers.below(all)));
    for (number, &len) in cuts.iter().enumerate() {
        if let Err(why) = cut(&bytes, len, &map, &sound, disk(number)) {
            failed.push(format!("{name}: cut to {len} of {all}: {why}"));
        }
    }
    for number in 0..FLIPS {
        let (at, change) = (numbers.below(all), numbers.below(255) as u8 + 1);
        // Half of the changes hit the header, where they have the most effect. Half of these change one bit.
        let at = if number % 2 == 0 { at % map.header } else { at };
        let change = if number % 4 == 0 { 1 << (change % 8) } else { change };
        let mut damaged = bytes.clone();
        damaged[at] ^= change;
        let outcome = see(&damaged, disk(number)).and_then(|seen| match seen {
            Ok(found) => allowed(map.fields[at], &map, &damaged, &found, &sound),
            Err(_) => Ok(()),
        });
        if let Err(why) = outcome {
            failed.push(format!(
                "{name}: byte {at} from {:#x} to {:#x}, {:?}: {why}",
                bytes[at], damaged[at], map.fields[at]
            ));
        }
    }
    (cuts.len() + FLIPS, failed)
}

fn files() -> Vec<PathBuf> {
    let own = Path::new(env!("CARGO_MANIFEST_DIR")).join("corpus");
    // The whole corpus contains the part beside the tests.
    let root = std::env::var_os("NCZ_CORPUS").map_or(own, PathBuf::from).join("netcdf-c/classic");
    let folders = fs::read_dir(&root).unwrap_or_else(|error| panic!("{}: {error}", root.display()));
    let mut files: Vec<_> = folders
        .map(|entry| entry.expect("an entry").path())
        .map(|folder| folder.join(folder.file_name().unwrap_or_default()).with_extension("nc"))
        .filter(|path| path.is_file())
        .collect();
    files.sort();
    files
}

#[test]
fn damage_of_classic_files_stays_local() {
    let _alone = alloc::alone();
    let (mut number, mut failed) = (0, Vec::new());
    let files = files();
    for path in &files {
        let (tried, bad) = fuzz(path);
        number += tried;
        failed.extend(bad);
    }
    eprintln!("damaged classic files: {} files, {number} damages, {} failed", files.len(), failed.len());
    assert!(failed.is_empty() && number > 0, "{} failed\n{}", failed.len(), failed.join("\n"));
}
