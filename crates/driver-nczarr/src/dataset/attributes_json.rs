//! The JSON of attributes: as it is stored, and as it is taken over from another dataset.

use nczarr_codec::ZarrFormat;
use nczarr_model::{ErrorKind, GroupId, Result, Values, VarId};

use super::preserved_json::PreservedJson;
use crate::dataset::catalog::Catalog;
use crate::flavour::annotation;
use crate::flavour::kind::Flavour;
use crate::metadata::attributes::{self, FILL_VALUE};
use crate::metadata::json::{self, Json, Value};
use crate::metadata::v2::ZATTRS;
use crate::metadata::v3::document::{self, ZARR_JSON};
use crate::open::metadata_reader;

/// Returns the preserved JSON to store for an attribute, if it still reads as these values.
pub(crate) fn preserved<'p>(
    preserved: &'p PreservedJson,
    name: &str,
    values: &Values,
    catalog: &Catalog,
) -> Option<&'p Json> {
    preserved.get(name, values).filter(|json| reads_as(json, values, catalog))
}

/// Whether a dataset reads this JSON as these values.
fn reads_as(json: &Json, values: &Values, catalog: &Catalog) -> bool {
    if catalog.flavour == Flavour::NcZarr {
        // netCDF-C reads text, numbers and lists of them.
        let plain = |item: &Value<'_>| {
            item.as_bool().is_none() && (item.as_str().is_some() || item.token().is_some())
        };
        let known = match json {
            Value::Array(items) => !items.is_empty() && items.iter().all(plain),
            one => plain(one) && !one.is_null(),
        };
        return known && attributes::read(json, Some(&attributes::recorded_type(values))) == *values;
    }
    if attributes::read(json, None) == *values {
        return true;
    }
    // The annotation then records a type.
    let recorded = annotation::type_to_record(values, &json::text(json), None, &catalog.options.limits);
    let fits = |ty: &String| annotation::fits(json, ty) && attributes::read(json, Some(ty)) == *values;
    catalog.annotate && recorded.as_ref().is_some_and(fits)
}

/// Implements [`nczarr_dispatch::JsonMetadata::attributes`].
pub(crate) fn stored_json(
    catalog: &Catalog,
    group: GroupId,
    var: Option<VarId>,
) -> Result<Option<Vec<(String, String)>>> {
    let Some(found) = stored_document(catalog, group, var)? else { return Ok(None) };
    let attributes = match catalog.format {
        ZarrFormat::V3 => document::attributes(&found).ok().flatten(),
        ZarrFormat::V2 => found.as_object(),
    };
    let text = |(name, value): (&str, &Value<'_>)| (name.to_owned(), json::text(value));
    Ok(attributes.map(|attributes| attributes.iter().map(text).collect()))
}

/// Reads the document with the attributes of a node; `None` if it cannot be read.
pub(crate) fn stored_document(catalog: &Catalog, group: GroupId, var: Option<VarId>) -> Result<Option<Json>> {
    let key = {
        let state = catalog.read_state();
        match var {
            Some(id) => state.var(id)?.key.clone(),
            None => state.group(group)?.key.clone(),
        }
    };
    let document = key.join(if catalog.format == ZarrFormat::V3 { ZARR_JSON } else { ZATTRS })?;
    let limits = &catalog.options.limits;
    // Opening has reported damaged documents.
    let found = metadata_reader::read_here(&*catalog.map, std::slice::from_ref(&document), limits).pop();
    Ok(found.and_then(Result::ok).flatten())
}

/// Implements [`nczarr_dispatch::JsonMetadata::set_attribute`].
pub(crate) fn preserve_json(
    catalog: &Catalog,
    group: GroupId,
    var: Option<VarId>,
    name: &str,
    text: &str,
) -> Result<()> {
    let model = catalog.model.snapshot();
    let atts = match var {
        Some(id) => &model.var(id)?.atts,
        None => &model.group(group)?.atts,
    };
    let values = atts.get(name).ok_or_else(|| ErrorKind::NotAtt.context(name.to_owned()))?;
    let json = json::parse(text.as_bytes(), &catalog.options.limits)?;
    // Fill values follow the type of their variable, and only legal JSON is written.
    if name == FILL_VALUE || !json.is_strict() || !values.nc_type().is_atomic() {
        return Ok(());
    }
    let mut state = catalog.write_state();
    state.extend(&model)?;
    let told = match var {
        Some(id) => state.vars.get_mut(id.index()).map(|var| &mut var.preserved_json),
        None => state.groups.get_mut(group.index()).map(|group| &mut group.preserved_json),
    };
    if let Some(told) = told {
        told.put(name, values.clone(), json);
    }
    Ok(())
}
