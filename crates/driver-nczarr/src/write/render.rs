//! Renders the documents of the current model as text.
//!
//! Unchanged parts are rendered from the loaded documents. So foreign members survive, and a dataset without
//! changes keeps its documents. `commit` decides what to write.

use std::borrow::Cow;

use nczarr_chunkio::DimOrder;
use nczarr_model::{Att, GroupId, Model, NcType, Result, Values, VarId};

use crate::dataset::attributes_json::preserved;
use crate::dataset::catalog::Catalog;
use crate::dataset::node_states::{GroupState, VarState};
use crate::dataset::preserved_json::PreservedJson;
use crate::flavour::annotation;
use crate::flavour::builder::dim_names;
use crate::flavour::kind::Flavour;
use crate::flavour::nczarr_lists;
use crate::metadata::attributes::{
    self, ARRAY_DIMENSIONS, ExactValues, FILL_VALUE, NC_PROPERTIES, NCZARR_ARRAY, NCZARR_ATTR, NCZARR_GROUP,
    NCZARR_SUPERBLOCK, NETCDF,
};
use crate::metadata::codecs::null_string;
use crate::metadata::json::{
    self, Json, Object, write_list, write_name, write_number, write_strict, write_string,
};
use crate::metadata::types::dtype::DType;
use crate::metadata::v2::array_meta::{ArrayMeta, split_codecs};
use crate::metadata::v2::var::shown_attribute;
use crate::user;

/// The dimension name of a scalar, for readers of dimension names.
const SCALAR_DIM: &str = "_scalar_";

/// The recorded type of NCZarr's own keys, which are no netCDF attributes.
const JSON_TYPE: &str = "|J0";

/// Writes attributes and their recorded types, in order.
struct AttributesWriter<'o> {
    out: &'o mut String,
    flavour: Flavour,
    /// The records beside the attributes, in NCZarr and in annotated stores.
    records: Option<AttributeRecords>,
}

#[derive(Default)]
struct AttributeRecords {
    types: String,
    kept: ExactValues,
}

impl<'o> AttributesWriter<'o> {
    fn new(flavour: Flavour, annotate: bool, out: &'o mut String) -> Self {
        out.push('{');
        let open = || AttributeRecords { types: "{".to_owned(), kept: ExactValues::default() };
        Self { out, flavour, records: (annotate || flavour == Flavour::NcZarr).then(open) }
    }

    /// Starts the next attribute; the caller appends its value.
    fn next(&mut self, name: &str) -> &mut String {
        write_name(name, self.out);
        self.out
    }

    /// Records a type; NCZarr does so for every attribute.
    fn record(&mut self, name: &str, recorded: &str) {
        if self.flavour == Flavour::NcZarr {
            self.note(name, recorded);
        }
    }

    fn note(&mut self, name: &str, recorded: &str) {
        if let Some(beside) = &mut self.records {
            write_name(name, &mut beside.types);
            write_string(recorded, &mut beside.types);
        }
    }

    /// Appends an attribute in its stored form.
    fn keep(&mut self, name: &str, value: &Json, recorded: Option<&str>) {
        write_strict(value, self.next(name));
        if let Some(recorded) = recorded {
            self.record(name, recorded);
        }
    }

    /// Ends the document of a plain store; `annotation` has the members that do not concern attributes.
    fn end_plain(self, mut annotation: String) {
        if let Some(beside) = &self.records {
            if beside.types.len() > 1 {
                write_name("types", &mut annotation);
                annotation.push_str(&beside.types);
                annotation.push('}');
            }
            beside.kept.write(&mut annotation);
            if annotation.len() > 1 {
                write_name(NETCDF, self.out);
                self.out.push_str(&annotation);
                self.out.push('}');
            }
        }
        self.out.push('}');
    }

    /// Ends an NCZarr document; the recorded types come last.
    fn end(mut self) {
        self.record(NCZARR_ATTR, JSON_TYPE);
        if let Some(beside) = self.records.take() {
            let out = self.next(NCZARR_ATTR);
            out.push_str("{\"types\": ");
            out.push_str(&beside.types);
            out.push('}');
            beside.kept.write(out);
            out.push('}');
        }
        self.out.push('}');
    }
}

/// Renders the documents of V2.
#[derive(Clone, Copy)]
pub(crate) struct Renderer<'c> {
    pub(crate) catalog: &'c Catalog,
}

impl Renderer<'_> {
    /// Appends the `.zattrs` of a variable.
    ///
    /// # Errors
    /// Attributes or dimensions that cannot be written.
    pub(crate) fn var_attrs(
        &self,
        model: &Model,
        id: VarId,
        state: &VarState,
        out: &mut String,
    ) -> Result<()> {
        let var = model.var(id)?;
        let stored = &state.stored;
        let dtype = stored.meta.as_ref().map(|meta| &meta.dtype);
        let implied = stored.implied_fill.as_ref();
        let mut out = AttributesWriter::new(self.catalog.flavour, self.catalog.annotate, out);
        for (name, values) in &var.atts {
            // A fill value with fields is only in the other document.
            let elsewhere = implied == Some(values) || !var.xtype.is_atomic();
            if name != FILL_VALUE || !elsewhere {
                let fill = (name == FILL_VALUE).then_some(var.xtype);
                self.write_attribute(
                    model,
                    &mut out,
                    (&stored.attrs, &state.preserved_json),
                    name,
                    values,
                    dtype,
                    fill,
                )?;
            }
        }
        self.write_hidden(&mut out, &stored.attrs, &var.atts);
        let names = dim_names(model, var)?;
        // Unreadable members are not replaced.
        let keep = var.problem.is_some() && stored.dim_names.is_some();
        // In an annotated store the names identify the dimensions.
        let unchanged = keep || stored.dim_names.as_ref() == Some(&names) && !self.catalog.annotate;
        if unchanged || !self.catalog.xarray_dims {
            if let Some(raw) = stored.attrs.get(ARRAY_DIMENSIONS) {
                out.keep(ARRAY_DIMENSIONS, raw, None);
            }
        } else {
            let scalar = names.is_empty() && self.catalog.flavour == Flavour::NcZarr;
            let names = if scalar { vec![SCALAR_DIM.to_owned()] } else { names };
            write_list(&names, out.next(ARRAY_DIMENSIONS), |name, out| write_string(name, out));
        }
        if self.catalog.flavour == Flavour::NcZarr {
            match stored.attrs.get(NCZARR_ARRAY) {
                Some(raw) if keep => out.keep(NCZARR_ARRAY, raw, Some(JSON_TYPE)),
                None if keep => {}
                raw => {
                    array_object(model, id, raw.and_then(Json::as_object), out.next(NCZARR_ARRAY))?;
                    out.record(NCZARR_ARRAY, JSON_TYPE);
                }
            }
            out.end();
        } else {
            let mut annotation = "{".to_owned();
            annotation::write_var(var, &mut annotation);
            out.end_plain(annotation);
        }
        Ok(())
    }

    /// Appends the `.zattrs` of a group.
    ///
    /// # Errors
    /// As [`Renderer::var_attrs`].
    pub(crate) fn group_attrs(
        &self,
        model: &Model,
        id: GroupId,
        state: &GroupState,
        out: &mut String,
    ) -> Result<()> {
        let group = model.group(id)?;
        let mut out = AttributesWriter::new(self.catalog.flavour, self.catalog.annotate, out);
        for (name, values) in &group.atts {
            self.write_attribute(
                model,
                &mut out,
                (&state.attrs, &state.preserved_json),
                name,
                values,
                None,
                None,
            )?;
        }
        self.write_hidden(&mut out, &state.attrs, &group.atts);
        if id == GroupId::ROOT && self.catalog.created && !state.attrs.contains_key(NC_PROPERTIES) {
            write_string(&new_properties(), out.next(NC_PROPERTIES));
            out.record(NC_PROPERTIES, ">S1");
        }
        if self.catalog.flavour == Flavour::NcZarr {
            group_object(model, id, out.next(NCZARR_GROUP))?;
            out.record(NCZARR_GROUP, JSON_TYPE);
            if id == GroupId::ROOT {
                match state.attrs.get(NCZARR_SUPERBLOCK) {
                    Some(raw) => write_strict(raw, out.next(NCZARR_SUPERBLOCK)),
                    None => out.next(NCZARR_SUPERBLOCK).push_str("{\"version\": \"2.0.0\"}"),
                }
                out.record(NCZARR_SUPERBLOCK, JSON_TYPE);
            }
            out.end();
        } else {
            let mut annotation = "{".to_owned();
            annotation::write_group(model, group, &mut annotation)?;
            out.end_plain(annotation);
        }
        Ok(())
    }

    /// Appends one attribute, in its stored form if its value is unchanged.
    #[allow(clippy::too_many_arguments)] // The arguments belong to no common struct.
    fn write_attribute(
        &self,
        model: &Model,
        out: &mut AttributesWriter<'_>,
        (raw, preserved_json): (&Object, &PreservedJson),
        name: &str,
        values: &Values,
        dtype: Option<&DType>,
        fill: Option<NcType>,
    ) -> Result<()> {
        if let NcType::User(id) = values.nc_type() {
            user::write_att(model, values, out.next(name)).map_err(|error| error.at(name))?;
            out.record(name, &user::name_of(model, id)?);
            return Ok(());
        }
        if let Some(beside) = &mut out.records {
            beside.kept.put(name, values);
        }
        if let Some(value) = raw.get(name)
            && value.is_strict()
            && null_string::is_same(&shown_attribute(raw, name, value, dtype), values)
        {
            let start = out.next(name).len();
            write_strict(value, out.out);
            if self.catalog.annotate {
                self.annotate_type(out, name, values, start, fill);
            } else if let Some(recorded) = nczarr_lists::recorded_type(raw, name) {
                out.record(name, recorded);
            }
            return Ok(());
        }
        let start = out.next(name).len();
        let typed = self.catalog.annotate || out.records.is_some();
        match preserved(preserved_json, name, values, self.catalog) {
            Some(json) => write_strict(json, out.out),
            None => {
                attributes::write(values, &self.catalog.options.limits, typed, out.out)
                    .map_err(|error| error.at(name))?;
            }
        }
        if self.catalog.annotate {
            self.annotate_type(out, name, values, start, fill);
        } else if out.records.is_some() {
            out.record(name, &attributes::recorded_type(values));
        }
        Ok(())
    }

    /// Records the type of the attribute whose text begins at `start`, if its JSON alone is ambiguous.
    fn annotate_type(
        &self,
        out: &mut AttributesWriter<'_>,
        name: &str,
        values: &Values,
        start: usize,
        fill: Option<NcType>,
    ) {
        let text = out.out.get(start..).unwrap_or_default();
        if let Some(recorded) = annotation::type_to_record(values, text, fill, &self.catalog.options.limits) {
            out.note(name, &recorded);
        }
    }

    /// Appends hidden attributes of other programs unchanged.
    fn write_hidden(&self, out: &mut AttributesWriter<'_>, raw: &Object, shown: &Att) {
        let ours = [ARRAY_DIMENSIONS, NCZARR_ARRAY, NCZARR_ATTR, NCZARR_GROUP, NCZARR_SUPERBLOCK];
        for (name, value) in raw.iter() {
            let is_ours = ours.contains(&name)
                || name == NETCDF && self.catalog.flavour == Flavour::Zarr && value.as_object().is_some();
            if attributes::is_reserved(name) && !is_ours && !shown.contains_key(name) {
                out.keep(name, value, nczarr_lists::recorded_type(raw, name));
            }
        }
        if self.catalog.flavour == Flavour::Zarr {
            // In a plain store these are foreign too.
            for name in [NCZARR_ARRAY, NCZARR_ATTR, NCZARR_GROUP] {
                if let Some(value) = raw.get(name) {
                    out.keep(name, value, None);
                }
            }
        }
    }
}

/// Appends a `.zgroup`: the loaded one, or a new one.
pub(crate) fn group(raw: Option<&Object>, out: &mut String) {
    match raw {
        Some(raw) => overlaid(Some(raw), &[], out),
        None => out.push_str("{\"zarr_format\": 2}"),
    }
}

/// Appends a `.zarray`: the loaded one with the current shape, or a new one.
pub(crate) fn array(meta: &ArrayMeta, shape: &[u64], out: &mut String) {
    let sizes = |sizes: &[u64], out: &mut String| write_list(sizes, out, write_number);
    if !meta.raw.is_empty() {
        let mut text = String::new();
        sizes(shape, &mut text);
        return overlaid(Some(&meta.raw), &[("shape", text.into())], out);
    }
    out.push_str("{\"zarr_format\": 2, \"shape\": ");
    sizes(shape, out);
    write_name("dtype", out);
    if meta.dtype.is_list() {
        out.push_str(&meta.dtype.text);
    } else {
        write_string(&meta.dtype.text, out);
    }
    write_name("chunks", out);
    sizes(&meta.chunks, out);
    write_name("fill_value", out);
    write_strict(&meta.fill, out);
    out.push_str(if meta.order == DimOrder::F { ", \"order\": \"F\"" } else { ", \"order\": \"C\"" });
    let (filters, compressor) = split_codecs(&meta.codecs);
    write_name("compressor", out);
    write_strict(&compressor.unwrap_or(Json::Null), out);
    write_name("filters", out);
    write_strict(&if filters.is_empty() { Json::Null } else { Json::Array(filters) }, out);
    write_name("dimension_separator", out);
    write_string(meta.separator.encode_utf8(&mut [0; 4]), out);
    out.push('}');
}

/// Appends an object: the members of `raw`, with those in `ours` replaced, and then the rest of `ours`.
fn overlaid(raw: Option<&Object>, ours: &[(&str, Cow<'_, str>)], out: &mut String) {
    overlay(raw, ours, out);
    out.push('}');
}

/// As [`overlaid`], without the closing brace.
pub(crate) fn overlay(raw: Option<&Object>, ours: &[(&str, Cow<'_, str>)], out: &mut String) {
    out.push('{');
    for (name, value) in raw.iter().flat_map(|raw| raw.iter()) {
        write_name(name, out);
        match ours.iter().find(|(ours, _)| *ours == name) {
            Some((_, text)) => out.push_str(text),
            None => write_strict(value, out),
        }
    }
    for (name, text) in ours.iter().filter(|(name, _)| raw.is_none_or(|raw| !raw.contains_key(name))) {
        write_name(name, out);
        out.push_str(text);
    }
}

fn array_object(model: &Model, id: VarId, raw: Option<&Object>, out: &mut String) -> Result<()> {
    let var = model.var(id)?;
    let mut names = Vec::with_capacity(var.dims.len());
    for &dim in &var.dims {
        let dim = model.dim(dim)?;
        names.push(model.fqn(dim.group, &dim.name)?);
    }
    let mut references = String::new();
    write_list(&names, &mut references, |name, out| write_string(name, out));
    let mut ours = vec![("dimension_references", Cow::Owned(references))];
    if names.is_empty() {
        ours.push(("scalar", "1".into()));
    }
    let mut raw = raw.map(Cow::Borrowed);
    if let NcType::User(ty) = var.xtype {
        ours.push((nczarr_lists::TYPE, json::quote(&user::name_of(model, ty)?).into()));
        if let Some(place) = var.atts.get_index_of(FILL_VALUE) {
            ours.push((nczarr_lists::FILL, place.to_string().into()));
        } else if let Some(raw) = raw.as_mut().filter(|raw| raw.contains_key(nczarr_lists::FILL)) {
            raw.to_mut().remove(nczarr_lists::FILL);
        }
    }
    let raw = raw.as_deref();
    if raw.is_none_or(|raw| !raw.contains_key("storage")) {
        ours.push(("storage", "\"chunked\"".into()));
    }
    overlaid(raw, &ours, out);
    Ok(())
}

fn group_object(model: &Model, id: GroupId, out: &mut String) -> Result<()> {
    let group = model.group(id)?;
    out.push_str("{\"dimensions\": ");
    nczarr_lists::write_dims(model, group, out)?;
    out.push_str(", \"arrays\": ");
    write_list(group.vars.keys(), out, |name, out| write_string(name, out));
    write_name("groups", out);
    write_list(group.groups.keys(), out, |name, out| write_string(name, out));
    if !group.types.is_empty() {
        write_name("types", out);
        user::write_defs(model, group, out)?;
    }
    out.push('}');
    Ok(())
}

/// The text of `_NCProperties` of datasets made here.
pub(crate) fn new_properties() -> String {
    format!("version=2,nczarr-rs={},nczarr=2.0.0", env!("CARGO_PKG_VERSION"))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::metadata::json::parse;
    use nczarr_dispatch::Limits;

    fn read(document: &str) -> ArrayMeta {
        ArrayMeta::read(&parse(document.as_bytes(), &Limits::default()).unwrap(), 1024, true).unwrap().meta
    }

    fn text(meta: &ArrayMeta, shape: &[u64]) -> String {
        let mut out = String::new();
        array(meta, shape, &mut out);
        out
    }

    #[test]
    fn only_the_shape_of_a_rewritten_array_changes() {
        let document = r#"{"zarr_format": 2, "shape": [7,10], "dtype": "<i4", "chunks": [4,3], "fill_value": 0, "order": "F", "compressor": {"id": "zlib", "level": 5}, "filters": [{"id": "shuffle", "elementsize": 0}], "dimension_separator": "/", "extra": [1]}"#;
        let mut meta = read(document);
        assert_eq!(text(&meta, &[7, 10]), document);
        assert_eq!(text(&meta, &[8, 10]), document.replace("[7,10]", "[8,10]"));
        // A newly written document is the same except for unknown members.
        meta.raw = Object::new();
        assert_eq!(text(&meta, &[7, 10]), document.replace(", \"extra\": [1]", ""));
    }

    #[test]
    fn members_keep_their_place() {
        let raw = parse(br#"{"a": 1, "b": {"c": NaN}, "d": 2}"#, &Limits::default()).unwrap();
        let raw = raw.as_object();
        for (ours, expected) in [
            (&[][..], r#"{"a": 1, "b": {"c": "NaN"}, "d": 2}"#),
            (&[("d", "[]".into()), ("e", "5".into())], r#"{"a": 1, "b": {"c": "NaN"}, "d": [], "e": 5}"#),
        ] {
            let mut out = String::new();
            overlaid(raw, ours, &mut out);
            assert_eq!(out, expected);
        }
        let mut out = String::new();
        overlaid(None, &[("e", "5".into())], &mut out);
        assert_eq!(out, r#"{"e": 5}"#);
    }
}
