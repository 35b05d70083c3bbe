//! The JSON of attributes: the stored form, the form to store, and the form that a caller or a copy gives.

use std::sync::Arc;

use nczarr_codec::ZarrFormat;
use nczarr_model::{ErrorKind, GroupId, Result, Values, VarId};

use super::preserved_json::PreservedJson;
use crate::dataset::catalog::Catalog;
use crate::flavour::annotation;
use crate::flavour::kind::Flavour;
use crate::metadata::attributes::{self, FILL_VALUE};
use crate::metadata::codecs::null_string;
use crate::metadata::json::{self, Json, Value};
use crate::metadata::v2::ZATTRS;
use crate::metadata::v2::var::shown_attribute;
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

/// Implements [`nczarr_dispatch::JsonMetadata::attribute`].
pub(crate) fn attribute_json(
    catalog: &Catalog,
    group: GroupId,
    var: Option<VarId>,
    name: &str,
) -> Result<Option<String>> {
    let model = catalog.model.snapshot();
    let atts = match var {
        Some(id) => &model.var(id)?.atts,
        None => &model.group(group)?.atts,
    };
    let Some(values) = atts.get(name) else { return Ok(None) };
    // A fill value follows the type of its variable, and only NCZarr has attributes of user-defined types.
    if !catalog.writable || name == FILL_VALUE || !values.nc_type().is_atomic() {
        let stored = stored_json(catalog, group, var)?.unwrap_or_default();
        return Ok(stored.into_iter().find(|(known, _)| known == name).map(|(_, json)| json));
    }
    let state = catalog.read_state();
    let (raw, preserved) = match var {
        Some(id) => state.vars.get(id.index()).map(|var| (&var.stored.attrs, &var.preserved_json)),
        None => state.groups.get(group.index()).map(|group| (&group.attrs, &group.preserved_json)),
    }
    .unzip();
    let loaded = raw.and_then(|raw| {
        let json = raw.get(name)?;
        null_string::is_same(&shown_attribute(raw, name, json, None), values).then_some(json)
    });
    let given = preserved.and_then(|preserved| self::preserved(preserved, name, values, catalog));
    match loaded.or(given) {
        Some(json) => Ok(Some(json::text(json))),
        None => written(values, catalog).map(Some),
    }
}

/// Renders the values of an attribute for which no JSON is known.
fn written(values: &Values, catalog: &Catalog) -> Result<String> {
    let typed = catalog.annotate || catalog.flavour == Flavour::NcZarr;
    let mut text = String::new();
    attributes::write(values, &catalog.options.limits, typed, &mut text)?;
    Ok(text)
}

/// Returns the values that readers derive from the JSON of an attribute. `None` if the dataset would store
/// them as other JSON.
pub(crate) fn values_of(text: &str, catalog: &Catalog) -> Result<Option<Values>> {
    let limits = &catalog.options.limits;
    let json = json::parse(text.as_bytes(), limits)?;
    if !json.is_strict() {
        return Err(ErrorKind::Inval.context("the text is not JSON"));
    }
    let values = attributes::read(&json, None);
    let is_kept = reads_as(&json, &values, catalog)
        || json::parse(written(&values, catalog)?.as_bytes(), limits).is_ok_and(|stored| stored == json);
    Ok(is_kept.then_some(values))
}

/// Discards the loaded JSON of an attribute, so that the given JSON takes its place.
pub(crate) fn discard_loaded(catalog: &Catalog, group: GroupId, var: Option<VarId>, name: &str) {
    let mut state = catalog.write_state();
    match var {
        Some(id) => {
            if let Some(var) =
                state.vars.get_mut(id.index()).filter(|var| var.stored.attrs.contains_key(name))
            {
                Arc::make_mut(&mut var.stored).attrs.remove(name);
            }
        }
        None => {
            if let Some(group) = state.groups.get_mut(group.index()) {
                group.attrs.remove(name);
            }
        }
    }
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
    let preserved = match var {
        Some(id) => state.vars.get_mut(id.index()).map(|var| &mut var.preserved_json),
        None => state.groups.get_mut(group.index()).map(|group| &mut group.preserved_json),
    };
    if let Some(preserved) = preserved {
        preserved.put(name, values.clone(), json);
    }
    Ok(())
}
