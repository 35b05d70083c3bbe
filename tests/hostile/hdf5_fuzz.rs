//! netCDF-4 files cut short and with single bytes changed: an error, or only values of the damaged bytes
//! differ.
//!
//! Most HDF5 metadata have checksums; B-trees of version 1, the global heap and raw data have none. So damage
//! may change values of one variable, or texts in the heap, and nothing else. Object headers of version 1 and
//! their links have no checksums either, so there one object may become another. An object with damaged
//! metadata is missing, and reported as a fault.
//!
//! `NCZ_TEST_ROUNDS` sets the number of changed bytes of each file, one at a time (default 60). For five of
//! them it is cut short at two lengths. The whole count is 500.

use std::collections::{BTreeSet, HashSet};
use std::fs;
use std::path::{Path, PathBuf};

use nczarr::model::{GroupId, Slab, Values, VarId};
use nczarr::{ErrorKind, File, MemMut, NcString, NcType, OutBuf, Result};

use crate::alloc;

/// Memory allowed beyond the size of the file.
const SPARE: usize = 64 << 20;

/// Numbers of an attribute that is too long for a heap's blocks.
const LONG: usize = 1000;

/// A variable that claims to have more bytes is not read as a whole.
const MOST: u64 = 16 << 20;

/// A file as read.
#[derive(Debug, Clone, PartialEq)]
struct Content {
    /// Names, lengths, types, attributes that are numbers.
    structure: Vec<Line>,
    /// Of each variable, and of each attribute so long that it lies in a heap by itself, which has no check
    /// sum; `None`: an error.
    data: Vec<Option<Vec<NcString>>>,
    /// Paths of variables with a problem.
    broken: BTreeSet<String>,
    /// How many objects the dataset reports as missing or damaged.
    faults: usize,
}

/// A line about one object.
#[derive(Debug, Clone, PartialEq)]
struct Line {
    /// Where it is, from the root on.
    path: String,
    text: String,
}

/// # Errors
/// Only of opening; what a variable says is in it.
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
    // A dimension is part of the dataset that has its name in its group.
    let within = |group: GroupId, name: &str| model.group_path(group).map(|path| format!("{path} {name}"));
    for (_, var) in model.vars() {
        add(within(var.group, &var.name)?, &var.name, &var.atts);
    }
    for (_, dim) in model.dims() {
        let text = format!("{} {} {}", dim.name, dim.len(), dim.unlimited);
        structure.push(Line { path: within(dim.group, &dim.name)?, text });
    }
    for (_, var) in model.vars() {
        // Made-up dimensions are counted: one less gives those that follow other numbers.
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

/// All of a variable, each element as its bytes.
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

/// Opens and reads; checks what that takes.
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

/// Returns the object of a line of the structure.
fn owner(line: &str) -> &str {
    line.split([':', ' ']).next().unwrap_or_default()
}

/// Whether `found` is `sound` but for values of one variable, which may have several names, and variables
/// that say that they are damaged. In a file with virtual datasets up to `most` variables show the same
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

/// Returns the lines of a content, without variables that are damaged in either.
fn said<'c>(
    of: &'c Content,
    found: &'c Content,
    sound: &'c Content,
) -> impl Iterator<Item = &'c Line> + Clone {
    let damaged = |line: &Line| found.broken.contains(&line.path) || sound.broken.contains(&line.path);
    of.structure.iter().filter(move |line| !damaged(line))
}

/// As [`allowed`], where one object may also become another: its name, kind or content. Objects may be
/// missing if the dataset reports it.
fn nearly(found: &Content, sound: &Content, most: usize) -> std::result::Result<(), String> {
    if found.structure == sound.structure {
        return allowed(found, sound, most);
    }
    let lines = |content| said(content, found, sound).map(|line| line.text.clone()).collect::<BTreeSet<_>>();
    let (found_lines, sound_lines) = (lines(found), lines(sound));
    let gone: BTreeSet<&str> = sound_lines.difference(&found_lines).map(|line| owner(line)).collect();
    let new: BTreeSet<&str> = found_lines.difference(&sound_lines).map(|line| owner(line)).collect();
    // Made-up names are counted, so that one less makes others of those that follow; a variable has its type
    // in two places.
    let named = |names: &BTreeSet<&str>| {
        names.iter().filter(|name| !name.starts_with("phony_dim_") && **name != "UserType").count()
    };
    let before: HashSet<_> = sound.data.iter().flatten().collect();
    let strange = found.data.iter().flatten().collect::<HashSet<_>>().difference(&before).count();
    // Objects that are reported may be missing. Without a dimension scale variables have made-up dimensions,
    // and without the longest record variable others have fewer records.
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

/// A generator of numbers, always the same ones.
struct Numbers(u64);

impl Numbers {
    fn below(&mut self, most: usize) -> usize {
        self.0 ^= self.0 << 13;
        self.0 ^= self.0 >> 7;
        self.0 ^= self.0 << 17;
        (self.0 % most as u64) as usize
    }
}

/// How many bytes of each file are changed.
fn rounds() -> usize {
    std::env::var("NCZ_TEST_ROUNDS").map_or(60, |rounds| rounds.parse().expect("a number of rounds"))
}

/// The HDF5 files of the corpus: those beside the tests, and the others where there are some.
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

/// Files of others whose root has a header of the second version, and a named type has one of the first.
const OLD_TYPES: &[&str] = &["ref_tst_irish_rover.nc"];

/// Whether the header of a file's root is one of the first version.
fn is_old(bytes: &[u8]) -> bool {
    let root = || {
        let at = u64::from_le_bytes(bytes.get(64..72)?.try_into().ok()?) as usize;
        bytes.get(at..at + 4)
    };
    bytes[8] < 2 && root() != Some(b"OHDR")
}

#[test]
fn damaged_netcdf4_files_are_errors_or_differ_in_what_was_damaged() {
    let _alone = alloc::alone();
    let (files, flips) = (files(), rounds());
    assert!(files.len() > 10);
    let (mut bad, mut cases, mut read) = (Vec::new(), 0, 0);
    for path in &files {
        let bytes = fs::read(path).unwrap();
        let sound = see(&bytes).unwrap().unwrap_or_else(|error| panic!("{}: {error}", path.display()));
        let name = path.file_name().unwrap().display().to_string();
        let rule = if is_old(&bytes) || OLD_TYPES.contains(&name.as_str()) { nearly } else { allowed };
        // One that is part of another, and of a row of them, whose length may be another one then.
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
                    // A missing object gives made-up dimensions other numbers.
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
