//! Definition of a variable by the stored type of another dataset.

use nczarr_codec::ZarrFormat;
use nczarr_dispatch::StoredType;
use nczarr_model::{DimId, Edit, Endian, GroupId, Model, NcType, Result, VarId};

use crate::dataset::attributes_json::stored_document;
use crate::dataset::catalog::Catalog;
use crate::edit::admission::Admission;
use crate::flavour::kind::Flavour;
use crate::metadata::json;
use crate::metadata::v3::source_type::{SourceType, is_foreign};
use crate::metadata::v3::types::DataType;

/// Implements [`nczarr_dispatch::JsonMetadata::stored_type`]: compounds of plain Zarr V3 and types of plugins
/// have one.
pub(crate) fn type_as_stored(catalog: &Catalog, id: VarId) -> Result<Option<StoredType>> {
    if catalog.format != ZarrFormat::V3 || catalog.flavour != Flavour::Zarr {
        return Ok(None);
    }
    let dtype = match &catalog.read_state().var(id)?.stored.meta {
        Some(meta) if is_foreign(meta.dtype.kind) => meta.dtype.clone(),
        _ => return Ok(None),
    };
    let Some(document) = stored_document(catalog, GroupId::ROOT, Some(id))? else { return Ok(None) };
    let Some(data_type) = document.as_object().and_then(|members| members.get("data_type")) else {
        return Ok(None);
    };
    // Another writer may have replaced the document.
    let is_known =
        DataType::read(data_type, dtype.big_endian, &catalog.registry).is_ok_and(|read| read.dtype == dtype);
    let endian = if dtype.big_endian { Endian::Big } else { Endian::Little };
    Ok(is_known.then(|| StoredType { data_type: json::text(data_type), endian }))
}

/// Implements [`nczarr_dispatch::JsonMetadata::presented_type`].
pub(crate) fn presented_type(
    admission: Admission<'_>,
    group: GroupId,
    name: &str,
    stored: &StoredType,
) -> Result<Option<NcType>> {
    let catalog = admission.catalog;
    let Some(given) = source_type(catalog, stored)? else { return Ok(None) };
    admission.check_writable()?;
    let define = |model: &mut Model, ()| given.presented(model, group, name, &catalog.registry);
    catalog.model.define_if(|_| Ok(()), define).map(Some)
}

/// Returns the stored type for a new variable; `None` if the dataset cannot have it.
fn source_type(catalog: &Catalog, stored: &StoredType) -> Result<Option<SourceType>> {
    match catalog.flavour {
        Flavour::NcZarr => Ok(None),
        Flavour::Zarr => SourceType::new(stored, catalog.format, &catalog.options.limits, &catalog.registry),
    }
}

/// Implements [`nczarr_dispatch::JsonMetadata::def_var`].
pub(crate) fn define_as_stored(
    admission: Admission<'_>,
    group: GroupId,
    name: &str,
    xtype: NcType,
    dims: &[DimId],
    stored: &StoredType,
) -> Result<Option<VarId>> {
    let catalog = admission.catalog;
    let fits = |given: &SourceType| {
        given.of(&catalog.model.snapshot(), xtype, Endian::Native, &catalog.registry).is_some()
    };
    let Some(given) = source_type(catalog, stored)?.filter(fits) else { return Ok(None) };
    admission.define_with_source_type(&Edit::DefVar { group, name, xtype, dims }, given).map(Some)
}
