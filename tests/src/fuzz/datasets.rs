//! Targets for the parts of a dataset: the documents of a store, the header of a classic file, an archive.
//!
//! Each dataset is opened and read through the facade, with all attributes and every variable. Small
//! variables are read as a whole.

use std::sync::Arc;

use nczarr::dispatch::Limits;
use nczarr::storage::{ByteRange, Key, ZMap as _, ZMapExt};
use nczarr::{Error, Extent, File, NcType, OpenOptions};
use nczarr_zmap_mem::MemMap;
use nczarr_zmap_zip::ZipMap;

use super::rng::Rng;
use super::stores::{self, Store};
use super::{Case, Entry, Outcome, Target, judged, mutate};

/// Maximum number of bytes of a chunk that the reader accepts.
pub const CHUNK: u64 = 1 << 20;

/// Maximum number of elements of a variable that is read as a whole.
const WHOLE: u64 = 2048;

fn options() -> OpenOptions {
    let mut limits = Limits::default();
    limits.chunk = CHUNK;
    OpenOptions::new().limits(limits).threads(1)
}

/// Reads every variable. Returns whether all of them were readable.
fn read(file: &File) -> Outcome {
    let model = file.model();
    let mut all = true;
    for (id, var) in model.vars() {
        let shape = match model.shape(id) {
            Ok(shape) => shape,
            Err(error) => return Err(format!("a variable without a shape: {error}")),
        };
        let elements = shape.iter().try_fold(1u64, |product, &len| product.checked_mul(len));
        let whole = elements.is_some_and(|elements| elements <= WHOLE);
        // Of a large variable only the last element is read.
        let extents: Vec<Extent> = if whole {
            vec![Extent::ALL; shape.len()]
        } else {
            shape.iter().map(|&len| Extent::Range { start: len.saturating_sub(1), end: len }).collect()
        };
        let values = if whole { elements.unwrap_or_default() } else { u64::from(!shape.contains(&0)) };
        let size = model.type_size(var.xtype).ok().flatten();
        let read = || -> Result<(), Error> {
            let variable = file.variable_by_id(id)?;
            match variable.nc_type() {
                NcType::String => drop(variable.get_nc_strings(extents)?),
                NcType::Char => drop(variable.get_chars(extents)?),
                NcType::User(_) => match size.and_then(|size| size.checked_mul(values as usize)) {
                    Some(bytes) if bytes as u64 <= CHUNK => variable.get_raw(&mut vec![0; bytes], extents)?,
                    _ => {}
                },
                _ => drop(variable.get::<f64>(extents)?),
            }
            Ok(())
        };
        all &= judged(read())?;
    }
    Ok(all)
}

/// Documents of one kind in datasets of one style.
struct Documents {
    name: &'static str,
    stores: Vec<Store>,
}

impl Documents {
    fn new(name: &'static str, stores: Vec<Store>) -> Self {
        let stores: Vec<_> =
            stores.into_iter().filter(|store| store.iter().any(|(key, _)| is(key, name))).collect();
        assert!(!stores.is_empty(), "no dataset with {name}");
        Self { name, stores }
    }
}

fn is(key: &str, name: &str) -> bool {
    key.rsplit('/').next() == Some(name)
}

impl Target for Documents {
    fn case(&self, rng: &mut Rng) -> Case<'_> {
        let mut store = rng.of_these(&self.stores).clone();
        let places: Vec<_> = (0..store.len()).filter(|&at| is(&store[at].0, self.name)).collect();
        for _ in 0..=usize::from(rng.one_in(4)) {
            let at = *rng.of_these(&places);
            store[at].1 = mutate::document(rng, &store[at].1);
        }
        // Removes a random object.
        if rng.one_in(16) {
            store.remove(rng.below(store.len()));
        }
        let path = *rng.of_these(&[
            "memory://fuzz",
            "memory://fuzz",
            "memory://fuzz#mode=zarr",
            "memory://fuzz#mode=nczarr",
        ]);
        let writable = rng.one_in(8);
        let note = format!("{path}{}", if writable { ", for writing" } else { "" });
        Case::new(note, store, move |store| {
            let map = Arc::new(MemMap::from_objects(store).map_err(|error| error.to_string())?);
            let opened = options().writable(writable).map(map).open(path);
            if !judged(opened.as_ref().map_err(Clone::clone))? {
                return Ok(false);
            }
            let Ok(file) = opened else { return Ok(false) };
            let mut all = read(&file)?;
            if writable {
                all &= judged(file.put_attribute("fuzz", "x").and_then(|()| file.close()))?;
            }
            Ok(all)
        })
    }
}

struct Classic(Store);

impl Target for Classic {
    fn case(&self, rng: &mut Rng) -> Case<'_> {
        let (name, sound) = rng.of_these(&self.0);
        let mut bytes = sound.clone();
        mutate::bytes(rng, &mut bytes);
        let writable = rng.one_in(8);
        Case::of_bytes(name.clone(), bytes, move |bytes| {
            let opened = options().writable(writable).open_bytes("fuzz", bytes.to_vec());
            if !judged(opened.as_ref().map_err(Clone::clone))? {
                return Ok(false);
            }
            let Ok(file) = opened else { return Ok(false) };
            let all = read(&file)?;
            Ok(all && (!writable || judged(file.put_attribute("fuzz", "x").and_then(|()| file.close()))?))
        })
    }
}

struct Archives(Store);

impl Target for Archives {
    fn case(&self, rng: &mut Rng) -> Case<'_> {
        let (name, sound) = rng.of_these(&self.0);
        let mut bytes = sound.clone();
        if rng.one_in(2) {
            mutate::bytes(rng, &mut bytes);
        } else {
            // Only the end changes, because it contains the directory.
            let cut = bytes.len() - rng.below(bytes.len().min(600));
            let mut end = bytes.split_off(cut);
            mutate::bytes(rng, &mut end);
            bytes.extend(end);
        }
        Case::of_bytes(name.clone(), bytes, |bytes| {
            let mut limits = Limits::default();
            limits.document = CHUNK;
            let map = match ZipMap::from_bytes(bytes.to_vec(), &[".zgroup", ".zattrs"], &limits) {
                Ok(map) => map,
                error => return judged(error),
            };
            let keys = match map.keys(&Key::root()) {
                Ok(keys) => keys,
                error => return judged(error),
            };
            let mut all = true;
            let mut out = Vec::new();
            for key in keys {
                let len = map.len(&key);
                judged(len.as_ref().map_err(Clone::clone))?;
                // Reads at most `CHUNK` bytes, as a reader would, because the directory can declare any
                // length.
                let range = if matches!(len, Ok(Some(len)) if len <= CHUNK) {
                    ByteRange::ALL
                } else {
                    ByteRange::first(CHUNK)
                };
                all &= judged(map.read(&key, range, &mut out))?;
            }
            Ok(all)
        })
    }
}

pub(super) fn entries() -> Vec<Entry> {
    type Stores = fn() -> Vec<Store>;
    let styles: [(&str, Stores, &[&str]); 5] = [
        ("document", stores::today, &[".zgroup", ".zattrs", ".zarray", ".zmetadata"]),
        ("v3", stores::v3, &["zarr.json"]),
        ("older-lower", stores::lower, &[".zgroup", ".zattrs", ".zarray"]),
        ("older-upper", stores::upper, &[".zgroup", ".zattrs", ".zarray"]),
        ("older-keys", stores::keys, &[".nczarr", ".nczgroup", ".nczvar", ".nczattr"]),
    ];
    let mut all = Vec::new();
    for (style, make, names) in styles {
        for &name in names {
            all.push(Entry::new(format!("{style}/{name}"), move || Documents::new(name, make())));
        }
    }
    all.push(Entry::new("classic", || Classic(stores::classic())));
    all.push(Entry::new("zip", || Archives(stores::archives())));
    all
}
