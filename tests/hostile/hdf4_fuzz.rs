//! Damaged HDF4 files give an error or differ in the values of one variable. Memory stays bounded.
//!
//! `NCZ_TEST_ROUNDS` sets the number of changed bytes of each file (default 150). A full run uses 500.

use std::collections::BTreeMap;
use std::fs;
use std::path::{Path, PathBuf};

use nczarr::{ErrorKind, File, NcType, Result};

use crate::alloc;

/// Memory allowed beyond the size of the file.
const SPARE: usize = 64 << 20;

/// The number of changed bytes of each file, one at a time. For each five changes the file is truncated
/// twice.
fn rounds() -> usize {
    std::env::var("NCZ_TEST_ROUNDS").map_or(150, |rounds| rounds.parse().expect("a number of rounds"))
}

/// A variable's type, shape and values; the values are `None` if the read fails.
type Var = (NcType, Vec<u64>, Option<Vec<f64>>);
type Seen = BTreeMap<String, Var>;

fn content(file: &File) -> Result<Seen> {
    let model = file.model();
    let mut seen = Seen::new();
    for (id, var) in model.vars() {
        let variable = file.variable_by_id(id)?;
        let data = match variable.nc_type() {
            NcType::Char => {
                variable.get_chars(..).map(|chars| chars.iter().map(|&byte| f64::from(byte)).collect())
            }
            _ => variable.get::<f64>(..).map(|values| values.to_vec()),
        };
        let data = data.map_err(|error| assert_ne!(error.kind(), ErrorKind::Internal, "{error}")).ok();
        seen.insert(var.name.clone(), (var.xtype, model.shape(id)?, data));
    }
    Ok(seen)
}

/// Opens and reads a file. Fails on an internal error or if the read takes too much memory.
fn look(size: usize, open: impl FnOnce() -> Result<File>) -> std::result::Result<Result<Seen>, String> {
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

/// A deterministic random number generator.
struct Numbers(u64);

impl Numbers {
    fn below(&mut self, end: usize) -> usize {
        self.0 = self.0.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        (self.0 >> 33) as usize % end
    }
}

/// Counts the differing values of variables with unchanged definitions.
fn differing(found: &Seen, sound: &Seen) -> Vec<(String, usize)> {
    let differ = |(name, (ty, shape, data)): (&String, &Var)| {
        let (sound_ty, sound_shape, sound) = sound.get(name)?;
        let (data, sound) = (data.as_ref()?, sound.as_ref()?);
        let alike = ty == sound_ty && shape == sound_shape;
        let same = |(a, b): &(&f64, &f64)| a.to_bits() != b.to_bits();
        let count = data.iter().zip(sound).filter(same).count();
        (alike && count > 0).then(|| (name.clone(), count))
    };
    found.iter().filter_map(differ).collect()
}

fn fuzz(path: &Path) -> (usize, Vec<String>) {
    let bytes = fs::read(path).expect("a file");
    let name = path.file_name().unwrap_or_default().to_string_lossy().into_owned();
    let sound = content(&nczarr::open_bytes(bytes.clone()).expect("a sound file")).expect("a sound file");
    let mut failed = Vec::new();
    let mut numbers = Numbers(name.bytes().fold(7, |seed, byte| seed.wrapping_mul(31) ^ u64::from(byte)));
    let (flips, mut cases) = (rounds(), 0);
    let step = (bytes.len() / (flips * 2 / 5).max(1)).max(1);
    for len in (0..bytes.len()).step_by(step) {
        cases += 1;
        match look(len, || nczarr::open_bytes(bytes[..len].to_vec())) {
            Err(why) => failed.push(format!("{name}: cut to {len}: {why}")),
            // The readable part of a truncated file is unchanged.
            Ok(Ok(found)) => {
                for (var, count) in differing(&found, &sound) {
                    failed.push(format!("{name}: cut to {len}: {count} values of {var} differ"));
                }
            }
            Ok(Err(_)) => {}
        }
    }
    for number in 0..flips {
        let (at, change) = (numbers.below(bytes.len()), numbers.below(255) as u8 + 1);
        let change = if number % 4 == 0 { 1 << (change % 8) } else { change };
        let mut damaged = bytes.clone();
        damaged[at] ^= change;
        match look(damaged.len(), || nczarr::open_bytes(damaged)) {
            Err(why) => failed.push(format!("{name}: byte {at} by {change:#x}: {why}")),
            Ok(Ok(found)) => {
                let mut differ = differing(&found, &sound);
                // A changed byte affects one element, or all values of a compressed variable. HDF 3
                // stores all scales in one element.
                differ.dedup_by_key(|(var, _)| var.starts_with("fakeDim").then_some(()).ok_or(var.clone()));
                if differ.len() > 1 {
                    failed.push(format!(
                        "{name}: byte {at} by {change:#x}: values of several variables: {differ:?}"
                    ));
                }
            }
            Ok(Err(_)) => {}
        }
    }
    (cases + flips, failed)
}

#[test]
fn damage_of_hdf4_files_is_an_error_or_local() {
    let _alone = alloc::alone();
    let corpus = concat!(env!("CARGO_MANIFEST_DIR"), "/corpus");
    let mut files: Vec<PathBuf> = ["types", "codings", "szip", "odd", "old", "external"]
        .iter()
        .map(|name| Path::new(corpus).join(format!("hdf4/{name}.hdf")))
        .collect();
    files
        .extend([0, 1].map(|n| Path::new(corpus).join(format!("netcdf-c/hdf4/hdf4_sd_{n}/hdf4_sd_{n}.hdf"))));
    let theirs =
        std::env::var_os("NCZ_CORPUS").map(|root| Path::new(&root).join("netcdf-c/upstream/hdf4_test"));
    if let Some(theirs) = theirs.filter(|theirs| theirs.is_dir()) {
        files.extend(fs::read_dir(theirs).unwrap().map(|entry| entry.unwrap().path()));
    }
    let (mut cases, mut failed) = (0, Vec::new());
    for file in &files {
        let (more, why) = fuzz(file);
        cases += more;
        failed.extend(why);
    }
    eprintln!("damaged HDF4 files: {} files, {cases} cases, {} failed", files.len(), failed.len());
    assert!(failed.is_empty(), "{}", failed.join("\n"));
}
