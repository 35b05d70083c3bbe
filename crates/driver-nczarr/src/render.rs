//! The documents of a dataset as the model has them now.
//!
//! What did not change since it was loaded is rendered from what was loaded, so that nothing foreign is lost and a
//! dataset that was only looked at stays as it is. Deciding what to write, and writing, is `commit`'s business.

use model::{Att, GroupId, Model, Result, Values, VarId};

use crate::attrs::{
    self, ARRAY_DIMENSIONS, FILL_VALUE, NC_PROPERTIES, NCZARR_ARRAY, NCZARR_ATTR, NCZARR_GROUP, NCZARR_SUPERBLOCK,
};
use crate::create::new_properties;
use crate::dataset::{GroupState, VarState, ZarrDataset};
use crate::dtype::DType;
use crate::flavour::{Flavour, dim_names};
use crate::json::{Json, Object, text};
use crate::lists;
use crate::var::present_one;

/// The name under which a scalar's dimension is known to readers of dimension names.
const SCALAR_DIM: &str = "_scalar_";

/// Attributes and their recorded types, in the order of writing.
#[derive(Default)]
struct Attributes {
    values: Object,
    types: Object,
    /// Bits of NaNs that JSON cannot tell apart.
    nans: Object,
}

impl Attributes {
    fn push(&mut self, name: &str, value: Json, recorded: Option<&str>) {
        self.values.insert(name.to_owned(), value);
        if let Some(recorded) = recorded {
            self.types.insert(name.to_owned(), Json::string(recorded));
        }
    }

    /// The document; NCZarr's recorded types come last.
    fn document(mut self, flavour: Flavour) -> String {
        if flavour == Flavour::NcZarr {
            self.types.insert(NCZARR_ATTR.to_owned(), Json::string("|J0"));
            let mut beside = Object::from_iter([("types".to_owned(), Json::Object(self.types))]);
            if !self.nans.is_empty() {
                beside.insert("nan".to_owned(), Json::Object(self.nans));
            }
            self.values.insert(NCZARR_ATTR.to_owned(), Json::Object(beside));
        }
        text(&Json::Object(self.values))
    }
}

impl ZarrDataset {
    /// The `.zattrs` of a variable.
    pub(crate) fn var_attrs(&self, model: &Model, id: VarId, state: &VarState) -> Result<String> {
        let var = model.var(id)?;
        let stored = &state.stored;
        let dtype = stored.meta.as_ref().map(|meta| &meta.dtype);
        let implied = stored.implied_fill.as_ref();
        let mut out = Attributes::default();
        for (name, values) in &var.atts {
            if name != FILL_VALUE || implied != Some(values) {
                self.attribute(&mut out, &stored.attrs, name, values, dtype)?;
            }
        }
        self.hidden(&mut out, &stored.attrs, &var.atts);
        let names = dim_names(model, var)?;
        // What could not be understood is not replaced.
        let keep = var.problem.is_some() && stored.dim_names.is_some();
        let unchanged = keep || stored.dim_names.as_ref() == Some(&names);
        if unchanged || !self.named_dims {
            if let Some(raw) = stored.attrs.get(ARRAY_DIMENSIONS) {
                out.push(ARRAY_DIMENSIONS, raw.to_strict(), None);
            }
        } else {
            let scalar = names.is_empty() && self.flavour == Flavour::NcZarr;
            let names = if scalar { vec![SCALAR_DIM.to_owned()] } else { names };
            out.push(ARRAY_DIMENSIONS, Json::Array(names.into_iter().map(Json::string).collect()), None);
        }
        if self.flavour == Flavour::NcZarr {
            match stored.attrs.get(NCZARR_ARRAY) {
                Some(raw) if keep => out.push(NCZARR_ARRAY, raw.to_strict(), Some("|J0")),
                None if keep => {}
                raw => {
                    let array = array_object(model, id, raw.and_then(Json::as_object))?;
                    out.push(NCZARR_ARRAY, array, Some("|J0"));
                }
            }
        }
        Ok(out.document(self.flavour))
    }

    /// The `.zattrs` of a group.
    pub(crate) fn group_attrs(&self, model: &Model, id: GroupId, state: &GroupState) -> Result<String> {
        let group = model.group(id)?;
        let mut out = Attributes::default();
        for (name, values) in &group.atts {
            self.attribute(&mut out, &state.attrs, name, values, None)?;
        }
        self.hidden(&mut out, &state.attrs, &group.atts);
        if id == GroupId::ROOT && !out.values.contains_key(NC_PROPERTIES) && self.created {
            out.push(NC_PROPERTIES, Json::string(new_properties()), Some(">S1"));
        }
        if self.flavour == Flavour::NcZarr {
            out.push(NCZARR_GROUP, group_object(model, id)?, Some("|J0"));
            if id == GroupId::ROOT {
                let version = || Json::Object([("version".to_owned(), Json::string("2.0.0"))].into_iter().collect());
                let block = state.attrs.get(NCZARR_SUPERBLOCK).map_or_else(version, Json::to_strict);
                out.push(NCZARR_SUPERBLOCK, block, Some("|J0"));
            }
        }
        Ok(out.document(self.flavour))
    }

    /// One attribute: as it was stored if it still says the same.
    fn attribute(
        &self,
        out: &mut Attributes,
        raw: &Object,
        name: &str,
        values: &Values,
        dtype: Option<&DType>,
    ) -> Result<()> {
        if let Some(bits) = attrs::nan::bits(values) {
            out.nans.insert(name.to_owned(), bits);
        }
        if let Some(value) = raw.get(name)
            && value.is_strict()
            && present_one(raw, name, value, dtype) == *values
        {
            out.push(name, value.clone(), lists::recorded(raw, name));
            return Ok(());
        }
        let written = attrs::write(values, &self.options.limits).map_err(|error| error.at(name))?;
        out.push(name, written.value, Some(&written.recorded));
        Ok(())
    }

    /// Attributes that are never shown but are others': they stay.
    fn hidden(&self, out: &mut Attributes, raw: &Object, shown: &Att) {
        let ours = [ARRAY_DIMENSIONS, NCZARR_ARRAY, NCZARR_ATTR, NCZARR_GROUP, NCZARR_SUPERBLOCK];
        for (name, value) in raw {
            if attrs::is_reserved(name) && !ours.contains(&name) && !shown.contains_key(name) {
                out.push(name, value.to_strict(), lists::recorded(raw, name));
            }
        }
        if self.flavour == Flavour::Zarr {
            // In a plain store these are foreign too.
            for name in [NCZARR_ARRAY, NCZARR_ATTR, NCZARR_GROUP] {
                if let Some(value) = raw.get(name) {
                    out.push(name, value.to_strict(), None);
                }
            }
        }
    }
}

fn array_object(model: &Model, id: VarId, raw: Option<&Object>) -> Result<Json> {
    let var = model.var(id)?;
    let mut references = Vec::with_capacity(var.dims.len());
    for &dim in &var.dims {
        let dim = model.dim(dim)?;
        references.push(Json::string(model.fqn(dim.group, &dim.name)?));
    }
    let mut array = raw.cloned().unwrap_or_default();
    array.insert("dimension_references".to_owned(), Json::Array(references));
    if var.dims.is_empty() {
        array.insert("scalar".to_owned(), Json::int(1));
    }
    if !array.contains_key("storage") {
        array.insert("storage", Json::string("chunked"));
    }
    Ok(Json::Object(array).to_strict())
}

fn group_object(model: &Model, id: GroupId) -> Result<Json> {
    let group = model.group(id)?;
    let mut dims = Object::new();
    for (name, &dim) in &group.dims {
        let dim = model.dim(dim)?;
        let size = Json::int(dim.len());
        let declared = if dim.unlimited {
            Json::Object([("size".to_owned(), size), ("unlimited".to_owned(), Json::int(1))].into_iter().collect())
        } else {
            size
        };
        dims.insert(name.clone(), declared);
    }
    let names = |names: Vec<&String>| Json::Array(names.into_iter().map(|name| Json::string(name.as_str())).collect());
    let members = [
        ("dimensions".to_owned(), Json::Object(dims)),
        ("arrays".to_owned(), names(group.vars.keys().collect())),
        ("groups".to_owned(), names(group.groups.keys().collect())),
    ];
    Ok(Json::Object(members.into_iter().collect()))
}
