//! Damaged netCDF-4 files give an error or differ only in the damaged values.
//!
//! Most HDF5 metadata have checksums. B-trees of version 1, the global heap and raw data have none. Damage
//! there can change values of one variable or texts in the heap. Object headers of version 1 and their links
//! have no checksums, so damage can turn one object into another. If an object's metadata are damaged, the
//! object is missing and the dataset reports a fault.
//!
//! `NCZ_TEST_ROUNDS` sets the number of changed bytes of each file, one at a time (default 60). For each five
//! changes the file is truncated twice. A full run uses 500.

use std::collections::{BTreeSet, HashSet};
use std::fs;
use std::path::{Path, PathBuf};

use nczarr::model::{GroupId, Slab, Values, VarId};
use nczarr::{ErrorKind, File, MemMut, NcString, NcType, OutBuf, Result};

use crate::alloc;

/// Memory allowed beyond the size of the file.
const SPARE: usize = 64 << 20;

/// Number of values that make an attribute too long for the blocks of a heap.
const LONG: usize = 1000;

/// The test does not read whole variables that declare more bytes.
const MOST: u64 = 16 << 20;

/// A file as read.
#[derive(Debug, Clone, PartialEq)]
struct Content {
    /// Names, lengths, types and numeric attributes.
    structure: Vec<Line>,
    /// Data of each variable, and of each long attribute, which a heap stores without a checksum. `None`
    /// means that the read fails.
    data: Vec<Option<Vec<NcString>>>,
    /// Paths of the variables with a problem.
    broken: BTreeSet<String>,
    /// Number of objects that the dataset reports as missing or damaged.
    faults: usize,
}

/// A line of text about one object.
#[derive(Debug, Clone, PartialEq)]
struct Line {
    /// The path from the root.
    path: String,
    text: String,
}

/// # Errors
/// Fails only if the file does not open. An error of one variable is part of the content.
fn content(file: &File) -> Result<Content> {
    let model = file.model();
    let (mut structure, mut all) = (Vec::new(), Vec::new());
    let mut add = |path: String, owner: &str, atts: &nczarr::model::Att| {
        for (name, values) in atts {
            let kept = !matches!(values, Values::String(_) | Values::Packed(..)) && values.len() < LONG;
            let text = format!("{owner}:{name} = {:?}", kept.then_some(values));
            structure.push(Line { path: path.clone(), text });
            if let Some(bytes) = values.to_native_bytes().filter(|_| values.len() >= LONG) {
                all.push(Some(vec![NcString::from(bytes)]));
            }
        }
    };
    for id in 0..model.groups().len() {
        let group = model.group(GroupId(id as u32))?;
        add(model.group_path(GroupId(id as u32))?, &group.name, &group.atts);
    }
    // A dimension belongs to the group that contains its name.
    let within = |group: GroupId, name: &str| model.group_path(group).map(|path| format!("{path} {name}"));
    for (_, var) in model.vars() {
        add(within(var.group, &var.name)?, &var.name, &var.atts);
    }
    for (_, dim) in model.dims() {
        let text = format!("{} {} {}", dim.name, dim.len(), dim.unlimited);
        structure.push(Line { path: within(dim.group, &dim.name)?, text });
    }
    for (_, var) in model.vars() {
        // Generated dimension names contain a count. A missing dimension changes the later names, so the
        // number is cut off.
        let dim = |&id: &_| {
            model
                .dim(id)
                .map(|dim| (dim.name.split("phony_dim_").next().unwrap_or_default().to_owned(), dim.len()))
        };
        let dims = var.dims.iter().map(dim).collect::<Result<Vec<_>>>()?;
        let text = format!("{} {:?} {:?} {dims:?}", var.name, var.group, var.xtype);
        structure.push(Line { path: within(var.group, &var.name)?, text });
    }
    for (_, ty) in model.user_types() {
        structure.push(Line { path: within(ty.group, &ty.name)?, text: format!("{ty:?}") });
    }
    let ids: Vec<VarId> = model.vars().map(|(id, _)| id).collect();
    for id in ids {
        all.push(
            data(file, id).map_err(|error| assert_ne!(error.kind(), ErrorKind::Internal, "{error}")).ok(),
        );
    }
    let broken =
        model.vars().filter(|(_, var)| var.problem.is_some()).map(|(_, var)| within(var.group, &var.name));
    let broken = broken.collect::<Result<_>>()?;
    let faults = file.info().faults.iter().filter(|fault| fault.is_loss()).count();
    Ok(Content { structure, data: all, broken, faults })
}

/// Reads all data of a variable, each element as bytes.
fn data(file: &File, id: VarId) -> Result<Vec<NcString>> {
    let variable = file.variable_by_id(id)?;
    let shape = file.model().shape(id)?;
    let start = vec![0; shape.len()];
    let slab = Slab::new(&start, &shape);
    let (ty, len) = (variable.nc_type(), slab.len());
    if len > MOST / 24 {
        return Err(ErrorKind::NoMem.into());
    }
    if ty == NcType::String || !file.model().is_fixed(ty)? {
        let mut strings = vec![NcString::new(); len as usize];
        variable.read(&slab, MemMut::Strings(&mut strings))?;
        return Ok(strings);
    }
    let size = file.model().type_size(ty)?.unwrap_or(1);
    if len.saturating_mul(size as u64) > MOST {
        return Err(ErrorKind::NoMem.into());
    }
    let mut bytes = vec![0; len as usize * size];
    variable.read(&slab, MemMut::Fixed { ty, out: &mut OutBuf::from_slice(&mut bytes) })?;
    Ok(vec![NcString::from(bytes)])
}

/// Opens and reads a file. Fails on an internal error or if the read takes too much memory.
fn see(bytes: &[u8]) -> std::result::Result<Result<Content>, String> {
    let held = bytes.to_vec();
    let (outcome, peak) = alloc::peak(|| nczarr::open_bytes(held).and_then(|file| content(&file)));
    if let Err(error) = &outcome
        && error.kind() == ErrorKind::Internal
    {
        return Err(format!("an internal error: {error}"));
    }
    if peak > bytes.len() + SPARE {
        Err(format!("took {} KiB for a file of {} bytes", peak >> 10, bytes.len()))
    } else {
        Ok(outcome)
    }
}

/// Returns the object's name in a line of the structure.
fn owner(line: &str) -> &str {
    line.split([':', ' ']).next().unwrap_or_default()
}

/// Checks that `found` equals `sound` except for values of one variable and for variables that report damage.
/// One variable can have several names. In a file with virtual datasets up to `most` variables share the same
/// values.
fn allowed(found: &Content, sound: &Content, most: usize) -> std::result::Result<(), String> {
    let (now, before) = (said(found, found, sound), said(sound, found, sound));
    if !now.clone().eq(before.clone()) {
        let differs = now.zip(before).find(|(found, sound)| found != sound);
        return Err(format!("the structure is another one: {differs:?}"));
    }
    let others =
        found.data.iter().zip(&sound.data).filter(|(found, sound)| found.is_some() && found != sound);
    match others.map(|(found, _)| found).collect::<HashSet<_>>().len() {
        others if others <= most => Ok(()),
        others => Err(format!("values of {others} variables differ")),
    }
}

/// Returns the lines of a content, without variables that are damaged in either content.
fn said<'c>(
    of: &'c Content,
    found: &'c Content,
    sound: &'c Content,
) -> impl Iterator<Item = &'c Line> + Clone {
    let damaged = |line: &Line| found.broken.contains(&line.path) || sound.broken.contains(&line.path);
    of.structure.iter().filter(move |line| !damaged(line))
}

/// Like [`allowed`], but one object can also change its name, kind or content. Objects can be missing if the
/// dataset reports a fault.
fn nearly(found: &Content, sound: &Content, most: usize) -> std::result::Result<(), String> {
    if found.structure == sound.structure {
        return allowed(found, sound, most);
    }
    let lines = |content| said(content, found, sound).map(|line| line.text.clone()).collect::<BTreeSet<_>>();
    let (found_lines, sound_lines) = (lines(found), lines(sound));
    let gone: BTreeSet<&str> = sound_lines.difference(&found_lines).map(|line| owner(line)).collect();
    let new: BTreeSet<&str> = found_lines.difference(&sound_lines).map(|line| owner(line)).collect();
    // Generated names contain a count, so a missing name changes the later ones. The type of a variable
    // occurs in two lines.
    let named = |names: &BTreeSet<&str>| {
        names.iter().filter(|name| !name.starts_with("phony_dim_") && **name != "UserType").count()
    };
    let before: HashSet<_> = sound.data.iter().flatten().collect();
    let strange = found.data.iter().flatten().collect::<HashSet<_>>().difference(&before).count();
    // Reported objects can be missing. Without its dimension scale a variable gets generated dimensions.
    // Without the longest record variable the others have fewer records.
    let is_reported = found.faults > sound.faults;
    let (unknown, changed) = (new.difference(&gone).copied().collect(), new.intersection(&gone).count());
    if is_reported && named(&unknown) <= most && (strange <= most || changed > 0) {
        return Ok(());
    }
    if named(&gone) <= most && named(&new) <= most && strange <= most {
        Ok(())
    } else {
        Err(format!("{gone:?} became {new:?}, and values of {strange} variables are others"))
    }
}

/// A deterministic random number generator.
struct Numbers(u64);

impl Numbers {
    fn below(&mut self, most: usize) -> usize {
        self.0 ^= self.0 << 13;
        self.0 ^= self.0 >> 7;
        self.0 ^= self.0 << 17;
        (self.0 % most as u64) as usize
    }
}

/// The number of changed bytes of each file.
fn rounds() -> usize {
    std::env::var("NCZ_TEST_ROUNDS").map_or(60, |rounds| rounds.parse().expect("a number of rounds"))
}

/// The HDF5 files beside the tests, and those of the whole corpus if it is present.
fn files() -> Vec<PathBuf> {
    let own = Path::new(env!("CARGO_MANIFEST_DIR")).join("corpus");
    let all = std::env::var_os("NCZ_CORPUS").map_or(own.clone(), PathBuf::from);
    let mut files = Vec::new();
    let mut folders = vec![own.join("hdf5")];
    for folder in ["netcdf-c/hdf5", "netcdf-c/upstream"] {
        folders
            .extend(fs::read_dir(all.join(folder)).into_iter().flatten().map(|entry| entry.unwrap().path()));
    }
    for folder in folders.iter().filter(|folder| folder.is_dir()) {
        for path in
            fs::read_dir(folder).unwrap().map(|entry| entry.unwrap().path()).filter(|path| path.is_file())
        {
            if fs::read(&path).unwrap().starts_with(b"\x89HDF\r\n\x1a\n") {
                files.push(path);
            }
        }
    }
    files.sort();
    files
}

/// Foreign files whose root header is version 2 while a named type has a header of version 1.
const OLD_TYPES: &[&str] = &["ref_tst_irish_rover.nc"];

/// Whether the root header of a file is version 1.
fn is_old(bytes: &[u8]) -> bool {
    let root = || {
        let at = u64::from_le_bytes(bytes.get(64..72)?.try_into().ok()?) as usize;
        bytes.get(at..at + 4)
    };
    bytes[8] < 2 && root() != Some(b"OHDR")
}

#[test]
fn damage_of_netcdf4_files_is_an_error_or_local() {
    let _alone = alloc::alone();
    let (files, flips) = (files(), rounds());
    assert!(files.len() > 10);
    let (mut bad, mut cases, mut read) = (Vec::new(), 0, 0);
    for path in &files {
        let bytes = fs::read(path).unwrap();
        let sound = see(&bytes).unwrap().unwrap_or_else(|error| panic!("{}: {error}", path.display()));
        let name = path.file_name().unwrap().display().to_string();
        let rule = if is_old(&bytes) || OLD_TYPES.contains(&name.as_str()) { nearly } else { allowed };
        // A virtual dataset can be part of another one and of a numbered series. Damage can change the length
        // of the series.
        let (most, rule) = if name.starts_with("virtual") {
            (3, nearly as fn(&Content, &Content, usize) -> _)
        } else {
            (1, rule)
        };
        let mut numbers = Numbers(0x9e37_79b9_7f4a_7c15 ^ bytes.len() as u64);
        for _ in 0..flips * 2 / 5 {
            let len = numbers.below(bytes.len());
            cases += 1;
            match see(&bytes[..len]) {
                Ok(Ok(_)) => bad.push(format!("{name}: cut to {len} bytes it was read")),
                Ok(Err(_)) => {}
                Err(what) => bad.push(format!("{name}: cut to {len} bytes: {what}")),
            }
        }
        for _ in 0..flips {
            let (at, flip) = (numbers.below(bytes.len()), 1 + numbers.below(255) as u8);
            let mut damaged = bytes.clone();
            damaged[at] ^= flip;
            cases += 1;
            let outcome = see(&damaged).and_then(|seen| match seen {
                Ok(found) => {
                    read += 1;
                    // A missing object changes the numbers of generated dimensions.
                    let rule = if found.faults > sound.faults { nearly } else { rule };
                    rule(&found, &sound, most)
                }
                Err(_) => Ok(()),
            });
            if let Err(what) = outcome {
                bad.push(format!("{name}: byte {at} ^ {flip:#04x}: {what}"));
            }
        }
    }
    eprintln!(
        "damaged HDF5 files: {} files, {cases} cases, {read} of them read, {} failed",
        files.len(),
        bad.len()
    );
    assert!(bad.is_empty(), "{} cases\n{}", bad.len(), bad[..bad.len().min(30)].join("\n"));
}
