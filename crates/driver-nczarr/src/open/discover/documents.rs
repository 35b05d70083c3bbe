//! The documents that show which kind of store it is: [`RootDocuments`].

use nczarr_codec::ZarrFormat;
use nczarr_dispatch::{MountedMap, OpenRequest, no_dataset_error};
use nczarr_model::{Error, Result};
use nczarr_storage::{Key, PrefetchedMap, ZMap};
use nczarr_url_infer::Target;

use crate::legacy::NCZARR;
use crate::metadata::v2::consolidated::ZMETADATA;
use crate::metadata::v2::{ZARRAY, ZATTRS, ZGROUP};
use crate::metadata::v3::document::ZARR_JSON;
use crate::open::metadata_reader::{read_bytes, read_small};
use crate::open::refused_documents::{RefusedDocuments, is_refused};
use crate::open::scope::{ReadScope, VariablePath};

/// All documents that the root of a store may have.
const ALL: &[&str] = &[ZMETADATA, ZGROUP, ZATTRS, ZARRAY, ZARR_JSON];

/// Stored documents by name.
#[derive(Debug)]
pub(crate) struct RootDocuments {
    /// The documents that were read or may still be read, in this order.
    names: &'static [&'static str],
    found: Vec<Result<Option<Vec<u8>>>>,
    /// Documents of the root that the storage refused and that count as absent.
    pub(crate) refused: RefusedDocuments,
}

impl RootDocuments {
    /// Reads the documents that a scope needs: those of the root, or the array's own.
    ///
    /// # Errors
    /// `NC_ENOTZARR` or the storage's error, if no dataset can exist.
    pub(crate) fn read(
        request: &OpenRequest<'_>,
        mounted: &MountedMap,
        scope: ReadScope<'_>,
    ) -> Result<Self> {
        match scope {
            ReadScope::Whole => Self::of_root(request, mounted),
            ReadScope::Variable(path) => Self::of_path(request, mounted, path),
            ReadScope::Data(path) => Self::of_array(request, mounted, path),
        }
    }

    /// Returns a document; `None` if it does not exist or was not read.
    ///
    /// # Errors
    /// The error of reading it.
    pub(crate) fn get(&self, name: &str) -> Result<Option<&[u8]>> {
        match self.names.iter().zip(&self.found).find(|(of, _)| **of == name) {
            Some((_, Ok(found))) => Ok(found.as_deref()),
            Some((_, Err(error))) => Err(Error::clone(error)),
            None => Ok(None),
        }
    }

    /// Returns the only document that exists. `None` if there are several, or another cannot be read.
    pub(crate) fn only(&self) -> Option<(&'static str, &[u8])> {
        let mut only = None;
        for (&name, found) in self.names.iter().zip(&self.found) {
            match found {
                Ok(None) => {}
                Ok(Some(bytes)) if only.is_none() => only = Some((name, &**bytes)),
                found if is_refused(found) => {}
                _ => return None,
            }
        }
        only
    }

    /// Reads the root's documents in one batch. If the fragment names the version of Zarr, or requests
    /// consolidated metadata, only those documents are read first.
    fn of_root(request: &OpenRequest<'_>, mounted: &MountedMap) -> Result<Self> {
        let (target, limits) = (request.target, &request.options.limits);
        let prefetched = mounted.prefetched.as_deref();
        let consolidated =
            target.has_mode("consolidated") && !target.has_mode("noconsolidated") && !request.writable;
        let first: &'static [&'static str] =
            match (consolidated, target.has_mode("v2"), target.has_mode("v3")) {
                (true, true, false) => &[ZMETADATA],
                (_, false, true) => &[ZARR_JSON],
                (true, ..) => &[ZMETADATA, ZARR_JSON],
                (false, true, false) => &[ZMETADATA, ZGROUP, ZATTRS, ZARRAY],
                _ => ALL,
            };
        let (mut found, mut names) = (Vec::new(), first);
        for wanted in [first, ALL] {
            let keys: Vec<Key> = wanted.iter().map(|name| Key::new(name)).collect::<Result<_>>()?;
            if let Some(prefetched) = prefetched {
                prefetched.prefetch(&keys, limits, !consolidated || wanted.len() == ALL.len());
            }
            (found, names) = (read_bytes(mounted.for_opening(), &keys, limits), wanted);
            let tells = |found: &Result<Option<_>>| !matches!(found, Ok(None)) && !is_refused(found);
            if wanted.len() == ALL.len() || found.iter().any(tells) {
                break;
            }
        }
        let refused = RefusedDocuments::default();
        // A writer must not overwrite a refused document.
        if !request.writable {
            refused.treat_as_absent(&Key::root(), names, &mut found, false);
            check_root(prefetched, target, names, &found)?;
        }
        Ok(Self { names, found, refused })
    }

    /// Reads the root's `zarr.json`, or else its attributes. Over a network it fetches all documents on the
    /// path together.
    fn of_path(request: &OpenRequest<'_>, mounted: &MountedMap, path: &VariablePath<'_>) -> Result<Self> {
        let limits = &request.options.limits;
        if let Some(prefetched) = &mounted.prefetched {
            prefetched.prefetch(&keys_on_path(path), limits, false);
        }
        let names: &[&str] = match path.format {
            Some(ZarrFormat::V2) => &[ZATTRS],
            Some(ZarrFormat::V3) => &[ZARR_JSON],
            None => &[ZARR_JSON, ZATTRS],
        };
        let mut found = Vec::new();
        for name in names {
            found.extend(read_small(mounted.for_opening(), &[Key::new(name)?], limits));
            // V2 documents may exist, and say the same as a refused one.
            if found.last().is_some_and(|found| !matches!(found, Ok(None)) && !is_refused(found)) {
                break;
            }
        }
        Ok(Self { names, found, refused: RefusedDocuments::default() })
    }

    /// Reads the array's own document.
    fn of_array(request: &OpenRequest<'_>, mounted: &MountedMap, path: &VariablePath<'_>) -> Result<Self> {
        let names: &[&str] = match path.format {
            Some(ZarrFormat::V2) => &[ZARRAY],
            Some(ZarrFormat::V3) => &[ZARR_JSON],
            None => &[ZARR_JSON, ZARRAY],
        };
        let mut keys = Vec::with_capacity(names.len());
        for name in names {
            keys.push(path.key.join(name)?);
        }
        let found = read_small(mounted.for_opening(), &keys, &request.options.limits);
        Ok(Self { names, found, refused: RefusedDocuments::default() })
    }
}

/// Returns all documents that may be needed on the path to an array.
fn keys_on_path(path: &VariablePath<'_>) -> Vec<Key> {
    let (root, group, array): (&[&str], &[&str], &[&str]) = match path.format {
        Some(ZarrFormat::V3) => (&[ZARR_JSON], &[ZARR_JSON], &[ZARR_JSON]),
        Some(ZarrFormat::V2) => (&[ZGROUP, ZATTRS, NCZARR], &[ZATTRS], &[ZARRAY, ZATTRS]),
        None => (&[ZARR_JSON, ZGROUP, ZATTRS, NCZARR], &[ZARR_JSON, ZATTRS], &[ZARR_JSON, ZARRAY, ZATTRS]),
    };
    let (mut keys, mut here) = (Vec::new(), Key::root());
    let mut add =
        |here: &Key, names: &[&str]| keys.extend(names.iter().filter_map(|name| here.join(name).ok()));
    add(&here, root);
    for (names, segment) in path.groups().map(|name| (group, name)).chain([(array, path.name)]) {
        if here.push(segment).is_ok() {
            add(&here, names);
        }
    }
    keys
}

/// Checks that a dataset may exist: a document was found, or the storage can list nodes below the root.
fn check_root(
    prefetched: Option<&PrefetchedMap>,
    target: &Target,
    names: &[&str],
    found: &[Result<Option<Vec<u8>>>],
) -> Result<()> {
    let Some(prefetched) = prefetched else { return Ok(()) };
    if found.iter().any(|found| matches!(found, Ok(Some(_)))) {
        return Ok(());
    }
    let keys: Vec<Key> = names.iter().map(|name| Key::new(name)).collect::<Result<_>>()?;
    let refused: Vec<_> = keys.iter().zip(found).filter(|(_, found)| is_refused(found)).collect();
    let may_list = prefetched.caps().list && prefetched.cached_keys().is_none_or(|keys| !keys.is_empty());
    if refused.is_empty() && (may_list || found.iter().any(Result::is_err)) {
        return Ok(());
    }
    let errors =
        refused.into_iter().filter_map(|(key, found)| Some((key.clone(), found.as_ref().err()?.clone())));
    Err(no_dataset_error(target, &keys, &errors.collect::<Vec<_>>()))
}
