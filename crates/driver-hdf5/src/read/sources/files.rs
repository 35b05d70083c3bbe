//! [`files`]: the files that data of datasets lie in: external ones, those of the sources of virtual datasets, of the sources of
//! these, and so on. Nothing is read of the data; what cannot be followed is named and left at that.

use std::collections::{BTreeSet, HashMap};
use std::path::{Path, PathBuf};

use super::super::external::{self, path_beside};
use super::super::file::Hdf;
use super::super::messages::Layout;
use super::super::store::Store;
use super::find::{self, Nest};
use super::mapping::{HERE, Mapping, Names};

/// The files besides `file` that its datasets of these layouts are read from, whether they are there or not; of numbered ones those
/// that are there. In the order of their paths.
pub(crate) fn files<'l>(file: &Hdf, layouts: impl Iterator<Item = &'l Layout>) -> Vec<PathBuf> {
    let (mut found, nest) = (Found::default(), Nest::default());
    layouts.for_each(|layout| found.follow(file, layout, &nest));
    found.files.into_iter().collect()
}

#[derive(Default)]
struct Found {
    files: BTreeSet<PathBuf>,
    /// The datasets that were looked for, by their files, and whether they are there.
    known: HashMap<(PathBuf, String), bool>,
}

impl Found {
    fn follow(&mut self, file: &Hdf, layout: &Layout, nest: &Nest) {
        match layout {
            Layout::External(stretches) => self.files.extend(external::files(file, stretches.iter())),
            Layout::Virtual(address, index) => {
                // Of mappings that are damaged nothing is read either. Who asks may ask again and again.
                for mapping in Mapping::list_again(file, *address, *index).unwrap_or_default() {
                    let (numbered, mut block) = (mapping.is_numbered() && mapping.names.has_number(), 0);
                    while self.source(file, &mapping.names.of_block(block), numbered, nest) && numbered {
                        block += 1;
                    }
                }
            }
            _ => {}
        }
    }

    /// Names the file of a source and follows it; whether it is there.
    fn source(&mut self, from: &Hdf, names: &Names, numbered: bool, nest: &Nest) -> bool {
        let Store::File(_, own) = &*from.store else { return false };
        let path = match &*names.file {
            HERE => own.clone(),
            name => {
                let folder = own.parent().unwrap_or(Path::new("."));
                let Ok(path) = path_beside(folder, name.strip_prefix("./").unwrap_or(name)) else { return false };
                if numbered && path.symlink_metadata().is_err() {
                    return false;
                }
                self.files.insert(path.clone());
                path
            }
        };
        let key = (path, names.dataset.to_string());
        if let Some(&known) = self.known.get(&key) {
            return known;
        }
        // For those that lead back to it.
        self.known.insert(key.clone(), true);
        let is_there = self.look(from, names, nest).unwrap_or(true);
        self.known.insert(key, is_there);
        is_there
    }

    fn look(&mut self, from: &Hdf, names: &Names, nest: &Nest) -> nczarr_model::Result<bool> {
        let nest = nest.inner()?;
        let other;
        let file = match &*names.file {
            HERE => from,
            name => match find::file(from, name)? {
                Some(found) => {
                    other = found;
                    &other
                }
                None => return Ok(false),
            },
        };
        let Some(layout) = find::layout(file, &names.dataset)? else { return Ok(false) };
        self.follow(file, &layout, &nest);
        Ok(true)
    }
}
