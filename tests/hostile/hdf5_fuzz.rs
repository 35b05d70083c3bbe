//! netCDF-4 files cut short and with single bytes changed: an error, or only what the damaged bytes held differs.
//!
//! Most of an HDF5 file's metadata has check sums; B-trees of the first version, the global heap and raw data have none.
//! So damage may change values of one variable, or texts that lie in the heap, and nothing else.

use std::fs;
use std::path::{Path, PathBuf};

use nczarr::model::{GroupId, Slab, Values, VarId};
use nczarr::{ErrorKind, File, MemMut, NcString, NcType, OutBuf, Result};

use crate::alloc;

/// What may be in use beyond the size of the file.
const SPARE: usize = 64 << 20;

/// A variable that claims to have more bytes is not read as a whole.
const MOST: u64 = 16 << 20;

/// What a reader sees of a file.
#[derive(Debug, Clone, PartialEq)]
struct Content {
    /// Names, lengths, types, attributes that are numbers.
    structure: Vec<String>,
    /// Of each variable; `None`: an error.
    data: Vec<Option<Vec<NcString>>>,
}

/// # Errors
/// Only of opening; what a variable says is in it.
fn content(file: &File) -> Result<Content> {
    let model = file.model();
    let mut structure = Vec::new();
    let mut add = |owner: &str, atts: &nczarr::model::Att| {
        for (name, values) in atts {
            let kept = !matches!(values, Values::String(_) | Values::Packed(..));
            structure.push(format!("{owner}:{name} = {:?}", kept.then_some(values)));
        }
    };
    for id in 0..model.groups().len() {
        let group = model.group(GroupId(id as u32))?;
        add(&group.name, &group.atts);
    }
    model.vars().for_each(|(_, var)| add(&var.name, &var.atts));
    structure.extend(model.dims().map(|(_, dim)| format!("{} {} {}", dim.name, dim.len(), dim.unlimited)));
    structure
        .extend(model.vars().map(|(_, var)| format!("{} {:?} {:?} {:?}", var.name, var.group, var.xtype, var.dims)));
    structure.extend(model.user_types().map(|(_, ty)| format!("{ty:?}")));
    let ids: Vec<VarId> = model.vars().map(|(id, _)| id).collect();
    let mut all = Vec::new();
    for id in ids {
        all.push(data(file, id).map_err(|error| assert_ne!(error.kind(), ErrorKind::Internal, "{error}")).ok());
    }
    Ok(Content { structure, data: all })
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
    let mut bytes = vec![0; len as usize * size];
    variable.read(&slab, MemMut::Fixed { ty, out: &mut OutBuf::over(&mut bytes) })?;
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
    match peak > bytes.len() + SPARE {
        true => Err(format!("took {} KiB for a file of {} bytes", peak >> 10, bytes.len())),
        false => Ok(outcome),
    }
}

/// Whether `found` is `sound` but for values of one variable and variables that say that they are damaged.
fn allowed(found: &Content, sound: &Content) -> std::result::Result<(), String> {
    if found.structure != sound.structure {
        let differs = found.structure.iter().zip(&sound.structure).find(|(found, sound)| found != sound);
        return Err(format!("the structure is another one: {differs:?}"));
    }
    let others = found.data.iter().zip(&sound.data).filter(|(found, sound)| found.is_some() && found != sound).count();
    match others {
        0 | 1 => Ok(()),
        others => Err(format!("values of {others} variables differ")),
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

/// The files of the corpus, and how many cuts and flips each gets: all there are of the whole corpus.
fn files() -> (Vec<PathBuf>, usize, usize) {
    let own = Path::new(env!("CARGO_MANIFEST_DIR")).join("corpus/netcdf-c");
    let (root, cuts, flips) = match std::env::var_os("NCZ_CORPUS") {
        Some(root) => (Path::new(&root).join("netcdf-c"), 200, 500),
        None => (own, 20, 60),
    };
    let mut files = Vec::new();
    for folder in ["hdf5", "upstream"] {
        let folders = fs::read_dir(root.join(folder)).into_iter().flatten().map(|entry| entry.unwrap().path());
        for path in folders.filter(|path| path.is_dir()).flat_map(|path| fs::read_dir(path).unwrap()) {
            let path = path.unwrap().path();
            if path.is_file() && fs::read(&path).unwrap().starts_with(b"\x89HDF\r\n\x1a\n") {
                files.push(path);
            }
        }
    }
    files.sort();
    (files, cuts, flips)
}

#[test]
fn damaged_netcdf4_files_are_errors_or_differ_in_what_was_damaged() {
    let _alone = alloc::alone();
    let (files, cuts, flips) = files();
    assert!(files.len() > 10);
    let mut bad = Vec::new();
    for path in files {
        let bytes = fs::read(&path).unwrap();
        let sound = see(&bytes).unwrap().unwrap_or_else(|error| panic!("{}: {error}", path.display()));
        let name = path.file_name().unwrap().display().to_string();
        // Headers of the first version have no check sums: such damage cannot be told from another sound file.
        let checked = path.display().to_string().contains("/hdf5/");
        let mut numbers = Numbers(0x9e37_79b9_7f4a_7c15 ^ bytes.len() as u64);
        for _ in 0..cuts {
            let len = numbers.below(bytes.len());
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
            let outcome = see(&damaged).and_then(|seen| match seen {
                Ok(found) if checked => allowed(&found, &sound),
                _ => Ok(()),
            });
            if let Err(what) = outcome {
                bad.push(format!("{name}: byte {at} ^ {flip:#04x}: {what}"));
            }
        }
    }
    assert!(bad.is_empty(), "{} cases\n{}", bad.len(), bad[..bad.len().min(30)].join("\n"));
}
