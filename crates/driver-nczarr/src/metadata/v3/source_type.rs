//! The `data_type` that a caller gives for a new variable: [`SourceType`].
//!
//! Variables and fields of a compound may have types that netCDF lacks: times with a unit, Unicode text,
//! truth values, half floats. Data types of plugins are another case. The netCDF type cannot express them, so
//! the caller passes the stored type as well. A copy takes it from its source.
//!
//! Arrays of V2 have fewer of these types, and the caller names them as in V3.

use nczarr_codec::ZarrFormat;
use nczarr_dispatch::{Limits, Registry, StoredType};
use nczarr_model::{Endian, ErrorKind, GroupId, Model, NcType, Result, TypeClass, Values};

use super::fill;
use super::types::{self, DataType};
use crate::metadata::base64;
use crate::metadata::json::{self, Json, ObjectMembers};
use crate::metadata::types::dtype::DTypeKind;
use crate::metadata::types::foreign::user_type;

/// The current name of compounds. With an earlier name, readers expect the fill value in base64.
const STRUCT: &str = "struct";

/// The stored type of a variable, given at its definition.
#[derive(Debug, Clone)]
pub(crate) struct SourceType {
    /// The JSON to store.
    pub(crate) data_type: Json,
    big_endian: bool,
    /// Whether its fill value is an object with a member for each field.
    has_members: bool,
}

impl SourceType {
    /// Parses the JSON of a type; `None` if netCDF has the type, or if the format has no such type.
    pub(crate) fn new(
        stored: &StoredType,
        format: ZarrFormat,
        limits: &Limits,
        registry: &Registry,
    ) -> Result<Option<Self>> {
        let data_type = json::parse(stored.data_type.as_bytes(), limits)?;
        let big_endian = stored.endian == Endian::Big;
        let read = DataType::read(&data_type, big_endian, registry)?;
        let is_known = match read.dtype.kind {
            DTypeKind::Bool
            | DTypeKind::Half(_)
            | DTypeKind::Complex(_)
            | DTypeKind::Time { .. }
            | DTypeKind::Utf32(_) => true,
            kind => format == ZarrFormat::V3 && is_foreign(kind),
        };
        if !is_known || !data_type.is_strict() {
            return Ok(None);
        }
        let has_members = types::extension(&data_type, &ObjectMembers::new())?.0 == STRUCT;
        Ok(Some(Self { data_type, big_endian, has_members }))
    }

    /// Renders a fill value in the form that readers of the type expect; zeros if there is none.
    pub(crate) fn fill(&self, value: Option<&Values>, data: &DataType) -> Result<Json> {
        let none =
            || ErrorKind::BadType.context(format!("type {}: the fill value does not fit", data.dtype.text));
        if data.dtype.kind != DTypeKind::Compound || self.has_members {
            return value.map_or_else(|| fill::zero(data), |value| fill::write(value, data));
        }
        let stored = match value {
            Some(Values::User(_, held)) => {
                nczarr_chunkio::pack_element(&data.dtype.pieces().ok_or_else(none)?, held)?
            }
            Some(_) => return Err(none()),
            None => vec![0; data.dtype.item_size().ok_or_else(none)?],
        };
        Ok(Json::string(base64::encode(&stored)))
    }

    /// Returns the value of unwritten elements, if the default of the netCDF type is no value of the stored
    /// type.
    pub(crate) fn default_fill(&self, registry: &Registry) -> Option<Values> {
        match DataType::read(&self.data_type, self.big_endian, registry).ok()?.dtype.kind {
            DTypeKind::Bool => Some(Values::UByte(vec![0])),
            DTypeKind::Half(_) => Some(Values::Float(vec![f32::NAN])),
            DTypeKind::Time { .. } => Some(Values::String(vec!["NaT".into()])),
            _ => None,
        }
    }

    /// Returns the type that a variable presents. Defines a user-defined type if it needs one; a compound is
    /// named after the variable.
    pub(crate) fn presented(
        &self,
        model: &mut Model,
        group: GroupId,
        variable: &str,
        registry: &Registry,
    ) -> Result<NcType> {
        let dtype = DataType::read(&self.data_type, self.big_endian, registry)?.dtype;
        match dtype.xtype().filter(|shown| shown.is_atomic()) {
            Some(shown) => Ok(shown),
            None => user_type(model, group, &format!("{variable}_t"), &dtype),
        }
    }

    /// Returns the name of the stored type, as variables show it.
    pub(crate) fn foreign_name(&self, registry: &Registry) -> Option<String> {
        DataType::read(&self.data_type, self.big_endian, registry).ok()?.dtype.foreign_name()
    }

    /// Returns the type to store; `None` if it does not fit the variable's netCDF type.
    pub(crate) fn of(
        &self,
        model: &Model,
        xtype: NcType,
        endian: Endian,
        registry: &Registry,
    ) -> Option<DataType> {
        let big_endian = match endian {
            Endian::Native => self.big_endian,
            endian => endian == Endian::Big,
        };
        let read = DataType::read(&self.data_type, big_endian, registry).ok()?;
        if let Some(shown) = read.dtype.xtype().filter(|shown| shown.is_atomic()) {
            return (shown == xtype).then_some(read);
        }
        let mut own = Model::default();
        let presented = user_type(&mut own, GroupId::ROOT, "_t", &read.dtype).ok()?;
        is_same(ModelType { model: &own, ty: presented }, ModelType { model, ty: xtype }).then_some(read)
    }
}

/// Whether the netCDF type does not express a stored type.
pub(crate) fn is_foreign(kind: DTypeKind) -> bool {
    matches!(kind, DTypeKind::Compound | DTypeKind::Extension(_))
}

/// A type, and the model that defines it.
#[derive(Clone, Copy)]
struct ModelType<'m> {
    model: &'m Model,
    ty: NcType,
}

/// Whether two types are the same apart from their names.
fn is_same(a: ModelType<'_>, b: ModelType<'_>) -> bool {
    let (NcType::User(one), NcType::User(other)) = (a.ty, b.ty) else { return a.ty == b.ty };
    let (Ok(one), Ok(other)) = (a.model.user_type(one), b.model.user_type(other)) else { return false };
    match (&one.class, &other.class) {
        (
            TypeClass::Compound { size, fields },
            TypeClass::Compound { size: other_size, fields: other_fields },
        ) => {
            (size, fields.len()) == (other_size, other_fields.len())
                && fields.iter().zip(other_fields).all(|(one, other)| {
                    (&one.name, one.offset, &one.shape) == (&other.name, other.offset, &other.shape)
                        && is_same(ModelType { ty: one.ty, ..a }, ModelType { ty: other.ty, ..b })
                })
        }
        (TypeClass::Opaque { size }, TypeClass::Opaque { size: other }) => size == other,
        // Fields of compounds have no other class.
        _ => false,
    }
}
