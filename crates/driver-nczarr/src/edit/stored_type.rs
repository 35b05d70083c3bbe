//! Definition of a variable by the stored type of another dataset.

use nczarr_codec::ZarrFormat;
use nczarr_dispatch::StoredType;
use nczarr_model::{DimId, Edit, Endian, GroupId, NcType, Result, VarId};

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

/// Implements [`nczarr_dispatch::Dataset::def_var_stored`].
pub(crate) fn define_as_stored(
    admission: Admission<'_>,
    group: GroupId,
    name: &str,
    xtype: NcType,
    dims: &[DimId],
    stored: &StoredType,
) -> Result<Option<VarId>> {
    let catalog = admission.catalog;
    if catalog.format != ZarrFormat::V3 || catalog.flavour != Flavour::Zarr {
        return Ok(None);
    }
    let given = SourceType::new(stored, &catalog.options.limits, &catalog.registry)?;
    let fits = |given: &SourceType| {
        given.of(&catalog.model.snapshot(), xtype, Endian::Native, &catalog.registry).is_some()
    };
    let Some(given) = given.filter(fits) else { return Ok(None) };
    admission.define_with_source_type(&Edit::DefVar { group, name, xtype, dims }, given).map(Some)
}
