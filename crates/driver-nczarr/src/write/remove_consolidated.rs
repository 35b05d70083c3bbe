//! Removal of consolidated metadata that would no longer match the documents.

use nczarr_codec::ZarrFormat;
use nczarr_model::{ErrorKind, Result};
use nczarr_storage::{Key, ZMapExt};

use crate::dataset::catalog::Catalog;
use crate::metadata::json::Json;
use crate::metadata::v2::consolidated::ZMETADATA;
use crate::metadata::v3::document::{CONSOLIDATED, ZARR_JSON};
use crate::open::metadata_reader::{read_bytes, read_here};
use crate::write::committed::CommittedMetadata;
use crate::write::merge_v3;
use crate::write::store::DocumentStore;

/// Whether no other process can have written to the dataset.
pub(crate) fn is_only_writer(catalog: &Catalog, committed: &CommittedMetadata) -> bool {
    catalog.options.exclusive || catalog.created && !committed.has_metadata
}

/// Whether the store has consolidated metadata, from any writer.
pub(crate) fn is_consolidated(catalog: &Catalog) -> Result<bool> {
    if catalog.format == ZarrFormat::V2 {
        return catalog.map.exists(&Key::new(ZMETADATA)?);
    }
    if catalog.root_array {
        return Ok(false);
    }
    let keys = [Key::new(ZARR_JSON)?];
    let found = read_here(&*catalog.map, &keys, &catalog.options.limits).pop();
    let root = found.transpose()?.flatten().and_then(Json::into_object);
    Ok(root.is_some_and(|root| root.get(CONSOLIDATED).is_some_and(|found| !found.is_null())))
}

/// Removes consolidated metadata, including another writer's: it would no longer match the documents.
///
/// # Errors
/// Errors of the storage.
pub(crate) fn remove(catalog: &Catalog, committed: &mut CommittedMetadata) -> Result<()> {
    if !committed.consolidate || is_only_writer(catalog, committed) && !committed.consolidated {
        return Ok(());
    }
    if catalog.format == ZarrFormat::V3 {
        if !catalog.root_array {
            remove_inline(catalog, &Key::new(ZARR_JSON)?)?;
        }
    } else {
        catalog.map.delete(&Key::new(ZMETADATA)?)?;
    }
    committed.consolidated = false;
    Ok(())
}

/// Removes, once, the consolidated metadata of groups below the root, which this library does not
/// maintain.
///
/// # Errors
/// Errors of the storage.
pub(crate) fn remove_nested(catalog: &Catalog, committed: &mut CommittedMetadata) -> Result<()> {
    if committed.may_have_nested {
        try_remove_nested(catalog)?;
        committed.may_have_nested = false;
    }
    Ok(())
}

fn try_remove_nested(catalog: &Catalog) -> Result<()> {
    let name = if catalog.format == ZarrFormat::V3 { ZARR_JSON } else { ZMETADATA };
    let keys: Vec<Key> = {
        let state = catalog.read_state();
        let groups = state.groups.iter().skip(1).filter(|group| !group.unreadable);
        groups.map(|group| group.key.join(name)).collect::<Result<_>>()?
    };
    let limits = &catalog.options.limits;
    for (key, found) in keys.iter().zip(read_here(&*catalog.map, &keys, limits)) {
        if catalog.format == ZarrFormat::V2 {
            // Also if it cannot be parsed.
            if !matches!(found, Ok(None)) {
                catalog.map.delete(key)?;
            }
        } else if found?
            .and_then(Json::into_object)
            .is_some_and(|document| document.contains_key(CONSOLIDATED))
        {
            remove_inline(catalog, key)?;
        }
    }
    Ok(())
}

/// Removes consolidated metadata from the document of a group, if present.
pub(crate) fn remove_inline(catalog: &Catalog, key: &Key) -> Result<()> {
    let limits = &catalog.options.limits;
    let found = read_bytes(&*catalog.map, std::slice::from_ref(key), limits).pop();
    if let Some(Some(text)) = found.transpose()?
        && merge_v3::without_consolidated(&text, limits).is_none()
    {
        return Ok(());
    }
    let limit = usize::try_from(limits.document).unwrap_or(usize::MAX);
    DocumentStore { catalog }.update(key, limit, &mut |old, new| {
        let old =
            old.ok_or_else(|| ErrorKind::NoObject.context(format!("{key}: the document no longer exists")))?;
        match merge_v3::without_consolidated(old, limits) {
            Some(text) => new.extend_from_slice(text.as_bytes()),
            None => new.extend_from_slice(old),
        }
        Ok(())
    })
}
