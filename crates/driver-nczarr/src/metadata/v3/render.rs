//! Rendering of the `zarr.json` of groups and arrays from the model.
//!
//! NCZarr's keys and recorded types follow the definition of NCZarr V3; plain stores get only attributes.
//! Both get a `_FillValue` in xarray's form. `dim_names` chooses the names of dimensions.

use nczarr_codec::ShownType;
use nczarr_model::{GroupId, Model, NcType, Result, Scalar, Values, VarFill, VarId};

use super::{dim_names, filters, keys, node_name};
use crate::dataset::attributes_json::preserved;
use crate::dataset::catalog::Catalog;
use crate::dataset::node_states::{NodeStates, VarState};
use crate::dataset::preserved_json::PreservedJson;
use crate::flavour::annotation;
use crate::flavour::kind::Flavour;
use crate::metadata::attributes::{
    self, ExactValues, FILL_VALUE, NC_PROPERTIES, NCZARR_ARRAY, NCZARR_GROUP, NCZARR_SUPERBLOCK, NETCDF,
};
use crate::metadata::json::{write_list, write_name, write_number, write_strict, write_string};
use crate::metadata::types::dtype::DTypeKind;
use crate::metadata::v2::array_meta::ArrayMeta;
use crate::user;
use crate::write::render;

/// The text of `_NCProperties` of datasets made here.
pub(crate) fn properties() -> String {
    format!("version=2,nczarr-rs={},nczarr=3.0.0", env!("CARGO_PKG_VERSION"))
}

/// Writes attributes and NCZarr's records of them.
struct V3AttributesWriter<'o> {
    out: &'o mut String,
    types: Option<String>,
    /// In an annotated store, types of attributes whose JSON alone is ambiguous.
    annotated: Option<String>,
    kept: ExactValues,
}

impl<'o> V3AttributesWriter<'o> {
    fn new(catalog: &Catalog, out: &'o mut String) -> Self {
        write_name("attributes", out);
        out.push('{');
        let types = (catalog.flavour == Flavour::NcZarr).then(|| "[".to_owned());
        Self { out, types, annotated: catalog.annotate.then(|| "{".to_owned()), kept: ExactValues::default() }
    }

    /// Starts the next attribute and records its type; the caller appends the value.
    fn next(&mut self, name: &str, ty: &str) -> &mut String {
        if let Some(types) = &mut self.types {
            keys::write_type(name, ty, types);
        }
        write_name(name, self.out);
        self.out
    }

    fn put(
        &mut self,
        (catalog, preserved_json): (&Catalog, &PreservedJson),
        model: &Model,
        name: &str,
        values: &Values,
    ) -> Result<()> {
        if let NcType::User(id) = values.nc_type() {
            let ty = user::name_of(model, id)?;
            return user::write_att(model, values, self.next(name, &ty)).map_err(|error| error.at(name));
        }
        self.kept.put(name, values);
        let limits = &catalog.options.limits;
        let typed = self.types.is_some() || self.annotated.is_some();
        let out = self.next(name, keys::type_name(values.nc_type()));
        let start = out.len();
        match preserved(preserved_json, name, values, catalog) {
            Some(json) => write_strict(json, out),
            None => attributes::write(values, limits, typed, out).map_err(|error| error.at(name))?,
        }
        let text = self.out.get(start..).unwrap_or_default();
        if let Some(types) = &mut self.annotated
            && let Some(recorded) = annotation::type_to_record(values, text, None, limits)
        {
            write_name(name, types);
            write_string(&recorded, types);
        }
        Ok(())
    }

    /// Ends the attributes of a plain store; `annotation` appends the members that do not concern attributes.
    fn end_plain(mut self, annotation: impl FnOnce(&mut String) -> Result<()>) -> Result<()> {
        if let Some(types) = self.annotated.take() {
            let mut text = "{".to_owned();
            annotation(&mut text)?;
            if types.len() > 1 {
                write_name("types", &mut text);
                text.push_str(&types);
                text.push('}');
            }
            self.kept.write(&mut text);
            if text.len() > 1 {
                write_name(NETCDF, self.out);
                self.out.push_str(&text);
                self.out.push('}');
            }
        }
        self.out.push('}');
        Ok(())
    }

    fn end(mut self) {
        let Some(mut types) = self.types.take() else { return self.out.push('}') };
        keys::write_type(keys::NCZARR_ATTRS, "json", &mut types);
        write_name(keys::NCZARR_ATTRS, self.out);
        self.out.push_str("{\"attribute_types\": ");
        self.out.push_str(&types);
        self.out.push(']');
        self.kept.write(self.out);
        self.out.push_str("}}");
    }
}

/// Renders the documents of V3.
#[derive(Clone, Copy)]
pub(crate) struct V3Renderer<'c> {
    pub(crate) catalog: &'c Catalog,
}

impl V3Renderer<'_> {
    /// Appends the document of a group.
    ///
    /// # Errors
    /// Attributes or dimensions that cannot be written.
    pub(crate) fn group(&self, model: &Model, id: GroupId, all: &NodeStates, out: &mut String) -> Result<()> {
        let (group, state) = (model.group(id)?, all.group(id)?);
        match &state.zgroup {
            Some(raw) => render::overlay(Some(raw), &[], out),
            None => out.push_str("{\"zarr_format\": 3, \"node_type\": \"group\""),
        }
        let mut attributes = V3AttributesWriter::new(self.catalog, out);
        for (name, values) in &group.atts {
            attributes.put((self.catalog, &state.preserved_json), model, name, values)?;
        }
        if id == GroupId::ROOT && self.catalog.created {
            write_string(&properties(), attributes.next(NC_PROPERTIES, "char"));
        }
        if self.catalog.flavour == Flavour::NcZarr {
            if id == GroupId::ROOT {
                keys::write_superblock(attributes.next(NCZARR_SUPERBLOCK, "json"));
            }
            keys::write_group(model, group, all, &state.key, attributes.next(NCZARR_GROUP, "json"))?;
            attributes.end();
        } else {
            attributes.end_plain(|out| {
                annotation::write_group(model, group, out)?;
                node_name::write(&group.name, &state.key, out);
                Ok(())
            })?;
        }
        out.push('}');
        Ok(())
    }

    /// Appends the document of an array.
    ///
    /// # Errors
    /// As [`V3Renderer::group`].
    pub(crate) fn array(
        &self,
        model: &Model,
        id: VarId,
        state: &VarState,
        meta: &ArrayMeta,
        out: &mut String,
    ) -> Result<()> {
        let var = model.var(id)?;
        let shape = match var.problem {
            // A rectilinear grid has edges for the stored length only.
            None if meta.axes.is_none() => model.shape(id)?,
            // Unreadable metadata is not replaced.
            _ => meta.shape.clone(),
        };
        let is_named =
            (self.catalog.flavour == Flavour::NcZarr || self.catalog.xarray_dims) && var.problem.is_none();
        let names = if is_named {
            let mut text = String::new();
            write_list(dim_names::of(model, var)?, &mut text, |name, out| write_string(&name, out));
            Some(text)
        } else {
            None
        };
        if meta.raw.is_empty() {
            new_array(meta, &shape, out)?;
            if let Some(names) = names {
                write_name("dimension_names", out);
                out.push_str(&names);
            }
        } else {
            let (mut ours, mut text) = (Vec::new(), String::new());
            write_list(&shape, &mut text, write_number);
            ours.push(("shape", text.into()));
            ours.extend(names.map(|names| ("dimension_names", names.into())));
            render::overlay(Some(&meta.raw), &ours, out);
        }
        let mut attributes = V3AttributesWriter::new(self.catalog, out);
        for (name, values) in &var.atts {
            match name.as_str() {
                // The array's fill value records it.
                FILL_VALUE if self.catalog.flavour == Flavour::NcZarr && !var.xtype.is_atomic() => {}
                FILL_VALUE => fill_attribute(self.catalog, model, values, meta, &mut attributes)?,
                _ => attributes.put((self.catalog, &state.preserved_json), model, name, values)?,
            }
        }
        let item = meta.dtype.item_size().unwrap_or(1);
        let mut extra = keys::ArrayKeys {
            no_fill: var.fill == VarFill::NoFill,
            filters: filters::recorded_filters(
                &var.filters,
                &state.stored.filters,
                item,
                &self.catalog.registry,
            ),
            ..keys::ArrayKeys::default()
        };
        if self.catalog.flavour == Flavour::NcZarr {
            let mut references = Vec::with_capacity(var.dims.len());
            for &dim in &var.dims {
                let dim = model.dim(dim)?;
                references.push(model.fqn(dim.group, &dim.name)?);
            }
            let alias = match meta.dtype.kind {
                DTypeKind::Char => Some("char"),
                DTypeKind::Text(_) => Some("string"),
                _ => None,
            };
            extra.alias = alias.map(str::to_owned);
            extra.unwritten = var.xtype.is_atomic()
                && matches!(var.fill, VarFill::Value(_))
                && !var.atts.contains_key(FILL_VALUE);
            if let NcType::User(ty) = var.xtype {
                extra.ty = Some(user::name_of(model, ty)?);
                extra.fill_position = var.atts.get_index_of(FILL_VALUE);
                extra.alias = None;
            }
            keys::write_array(
                &references,
                &extra,
                (&var.name, &state.key),
                attributes.next(NCZARR_ARRAY, "json"),
            );
            attributes.end();
        } else {
            extra.implied = uses_array_fill(meta.dtype.kind) && var.atts.contains_key(FILL_VALUE);
            attributes.end_plain(|out| {
                annotation::write_var(var, out);
                keys::write_annotation_keys(&extra, out);
                node_name::write(&var.name, &state.key, out);
                Ok(())
            })?;
        }
        out.push('}');
        Ok(())
    }
}

/// Appends the members of a new array.
fn new_array(meta: &ArrayMeta, shape: &[u64], out: &mut String) -> Result<()> {
    let sizes = |sizes: &[u64], out: &mut String| write_list(sizes, out, write_number);
    let Some(described) = &meta.v3 else {
        return Err(nczarr_model::ErrorKind::Internal.context("the array has no description of its type"));
    };
    out.push_str("{\"zarr_format\": 3, \"node_type\": \"array\", \"shape\": ");
    sizes(shape, out);
    write_name("data_type", out);
    write_strict(&described.data_type, out);
    out.push_str(", \"chunk_grid\": {\"name\": \"regular\", \"configuration\": {\"chunk_shape\": ");
    sizes(meta.shards.as_ref().unwrap_or(&meta.chunks), out);
    out.push_str("}}, \"chunk_key_encoding\": {\"name\": \"default\", \"configuration\": {\"separator\": ");
    write_string(meta.separator.encode_utf8(&mut [0; 4]), out);
    out.push_str("}}, \"fill_value\": ");
    write_strict(&meta.fill, out);
    write_name("codecs", out);
    write_strict(&described.codecs, out);
    Ok(())
}

/// Whether `_FillValue` is not written for such elements, because xarray cannot parse it; the array's fill
/// value records it.
pub(super) fn uses_array_fill(kind: DTypeKind) -> bool {
    matches!(
        kind,
        DTypeKind::Text(_)
            | DTypeKind::Compound
            | DTypeKind::Opaque(_)
            | DTypeKind::Complex(_)
            | DTypeKind::Extension(ShownType::Opaque(_))
    )
}

/// Appends the `_FillValue` of a variable in xarray's form.
fn fill_attribute(
    catalog: &Catalog,
    model: &Model,
    values: &Values,
    meta: &ArrayMeta,
    attributes: &mut V3AttributesWriter<'_>,
) -> Result<()> {
    match (values, values.scalar(0), meta.dtype.kind) {
        (_, _, kind) if uses_array_fill(kind) => Ok(()),
        (Values::Float(_) | Values::Double(_), Some(Scalar::Float(value)), _) => {
            let ty = keys::type_name(values.nc_type());
            write_string(&keys::coded(value), attributes.next(FILL_VALUE, ty));
            Ok(())
        }
        (Values::Char(bytes), _, _) => {
            write_number(
                bytes.first().copied().unwrap_or(0),
                attributes.next(FILL_VALUE, keys::type_name(NcType::Char)),
            );
            Ok(())
        }
        _ => attributes.put((catalog, &PreservedJson::default()), model, FILL_VALUE, values),
    }
}
