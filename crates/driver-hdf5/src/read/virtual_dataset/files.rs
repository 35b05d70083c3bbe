//! [`files`]: lists the files that hold data of datasets: external files, source files of virtual datasets,
//! and so on.
//!
//! No data are read. A file that cannot be followed is listed and not read.

use std::collections::{BTreeSet, HashMap};
use std::path::{Path, PathBuf};

use super::super::external::{self, path_beside};
use super::super::file::HdfFile;
use super::super::file_bytes::FileBytes;
use super::super::messages::DataLayout;
use super::find::{self, Nesting};
use super::mapping::{HERE, SourceName, VirtualMapping};

/// Returns the other files that datasets with these layouts read, sorted by path. Missing files are included,
/// except numbered ones.
pub(crate) fn files<'l>(file: &HdfFile, layouts: impl Iterator<Item = &'l DataLayout>) -> Vec<PathBuf> {
    let (mut found, nest) = (FileCollector::default(), Nesting::default());
    layouts.for_each(|layout| found.follow(file, layout, &nest));
    found.files.into_iter().collect()
}

#[derive(Default)]
struct FileCollector {
    files: BTreeSet<PathBuf>,
    /// Datasets visited before, by file and name, and whether they exist.
    known: HashMap<(PathBuf, String), bool>,
}

impl FileCollector {
    fn follow(&mut self, file: &HdfFile, layout: &DataLayout, nest: &Nesting) {
        match layout {
            DataLayout::External(stretches) => self.files.extend(external::files(file, stretches.iter())),
            DataLayout::Virtual(address, index) => {
                // Damaged mappings have no readable data either. Callers may ask repeatedly, so this does not
                // count as read metadata.
                for mapping in VirtualMapping::list_again(file, *address, *index).unwrap_or_default() {
                    let (numbered, mut block) = (mapping.is_numbered() && mapping.names.has_number(), 0);
                    while self.source(file, &mapping.names.of_block(block), numbered, nest) && numbered {
                        block += 1;
                    }
                }
            }
            _ => {}
        }
    }

    /// Lists the file of a source and follows it. Returns whether it exists.
    fn source(&mut self, from: &HdfFile, names: &SourceName, numbered: bool, nest: &Nesting) -> bool {
        let FileBytes::File(_, own) = &*from.store else { return false };
        let path = match &*names.file {
            HERE => own.clone(),
            name => {
                let folder = own.parent().unwrap_or(Path::new("."));
                let Ok(path) = path_beside(folder, name.strip_prefix("./").unwrap_or(name)) else {
                    return false;
                };
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
        // Stops circles.
        self.known.insert(key.clone(), true);
        let is_there = self.look(from, names, nest).unwrap_or(true);
        self.known.insert(key, is_there);
        is_there
    }

    fn look(&mut self, from: &HdfFile, names: &SourceName, nest: &Nesting) -> nczarr_model::Result<bool> {
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
