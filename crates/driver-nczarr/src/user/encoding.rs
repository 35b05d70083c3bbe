//! [`ElementEncoding`]: the storage of elements of a user-defined type.

use std::collections::HashMap;
use std::sync::Arc;

use nczarr_chunkio::ElementPiece;
use nczarr_codec::{ElementCodec, ZarrFormat};
use nczarr_dispatch::Registry;
use nczarr_model::{ErrorKind, Field, Model, NcType, Result, TypeClass, TypeId};
use serde_json::json;

use super::codec::{PackStep, PackedCodec, StringCompoundCodec};
use super::names::name_of;
use crate::metadata::attributes::maxstrlen;
use crate::metadata::types::dtype::CompoundDType;
use crate::metadata::types::dtype::CompoundField;
use crate::metadata::types::dtype::{DType, DTypeKind, MAX_WIDTH};
use crate::metadata::v3::types::{self as v3_types, VariableLength};

/// The largest element, in bytes; more counts as damage.
pub(crate) const MAX_SIZE: usize = MAX_WIDTH;

/// Bytes of a string in a compound without a declared length.
const DEFAULT_STRLEN: usize = 128;

/// The deepest nesting of compounds in a record.
const MAX_DEPTH: usize = 64;

/// The most parts of a compound; larger ones would be slow, and are unknown in practice.
const MAX_STEPS: usize = 1 << 12;

/// The encoding of elements.
#[derive(Debug)]
pub(crate) struct ElementEncoding {
    /// The stored type.
    pub(crate) dtype: DType,
    /// The items of a stored type of variable length.
    pub(crate) variable: Option<VariableLength>,
    /// Converts packed elements to stored bytes; `None` for types of fixed size.
    pub(crate) element: Option<Box<dyn ElementCodec>>,
    /// The parts of a stored element of fixed size.
    pub(crate) pieces: Option<Vec<ElementPiece>>,
}

/// Chooses the encoding for a new variable.
///
/// # Errors
/// `NC_ENOTNC4` for a type without an encoding.
pub(crate) fn choose_encoding(
    model: &Model,
    id: TypeId,
    big_endian: bool,
    format: ZarrFormat,
    registry: &Registry,
) -> Result<ElementEncoding> {
    let width = |id: TypeId, field: &str| {
        let ty = model.user_type(id).ok()?;
        let group = model.group(ty.group).ok()?;
        group.atts.get(&format!("{}.{field}.strlen", ty.name)).and_then(maxstrlen)
    };
    let builder = EncodingBuilder { model, big_endian, width: &width };
    match builder.build(id, Some(format)) {
        Some(Ok(form)) => Ok(form),
        Some(Err(error)) => Err(error),
        // Elements that do not fit a record are stored as bytes of any length.
        None => variable(model, id, format, registry),
    }
}

/// Returns the encoding of elements of any length.
///
/// Lists of numbers are also stored as bytes, because some readers of V2 lack the codec `vlen-array`. Some of
/// these then open no array of the group.
fn variable(model: &Model, id: TypeId, format: ZarrFormat, registry: &Registry) -> Result<ElementEncoding> {
    let description = match format {
        ZarrFormat::V3 => json!({"name": "vlen-bytes"}),
        ZarrFormat::V2 => json!({"id": "vlen-bytes"}),
    };
    let codec = registry.element("vlen-bytes")?.parse(&description)?;
    let element = PackedCodec::around(codec, model, NcType::User(id));
    let dtype = DType::from_name("|O");
    Ok(ElementEncoding { dtype, variable: Some(VariableLength::Bytes), element: Some(element), pieces: None })
}

/// Returns the atomic type of an atomic type or enum.
pub(super) fn integer_of(model: &Model, ty: NcType) -> Result<Option<NcType>> {
    let NcType::User(id) = ty else { return Ok((ty != NcType::String).then_some(ty)) };
    Ok(match model.user_type(id)?.class {
        TypeClass::Enum { base, .. } => Some(base),
        _ => None,
    })
}

/// Builds encodings of fixed size.
pub(super) struct EncodingBuilder<'a> {
    pub(super) model: &'a Model,
    pub(super) big_endian: bool,
    /// Returns the bytes of a string field, if declared.
    pub(super) width: &'a dyn Fn(TypeId, &str) -> Option<usize>,
}

impl EncodingBuilder<'_> {
    /// Builds the encoding of a type in a fixed number of bytes; `None` if it has none. `format`: other
    /// readers of this format must open the encoding, so fields of a record are neither records nor arrays.
    pub(super) fn build(&self, id: TypeId, format: Option<ZarrFormat>) -> Option<Result<ElementEncoding>> {
        let ty = NcType::User(id);
        self.levels(id, 0, &mut HashMap::new())?;
        let mut steps = Vec::new();
        let dtype = match self.dtype(ty, &mut steps) {
            Ok(dtype) => dtype,
            Err(error) => return Some(Err(error)),
        };
        let fixed = self.model.is_fixed(ty).unwrap_or(false);
        if let Some(format) = format
            && dtype.kind == DTypeKind::Compound
            && !is_flat(&dtype, format)
        {
            if !fixed {
                return None;
            }
            return Some(self.raw(ty));
        }
        let pieces = dtype.pieces();
        let too_many = || {
            let name = name_of(self.model, id).unwrap_or_default();
            ErrorKind::NotNc4.context(format!("type {name}: the compound has too many parts or bytes"))
        };
        let size = dtype.item_size().filter(|&size| size <= MAX_WIDTH);
        if steps.len() > MAX_STEPS || pieces.is_none() || size.is_none() {
            return Some(Err(too_many()));
        }
        let element = if fixed {
            None
        } else {
            Some(Box::new(StringCompoundCodec { steps, size: size.unwrap_or(0) }) as Box<dyn ElementCodec>)
        };
        Some(Ok(ElementEncoding { dtype, variable: None, element, pieces }))
    }

    /// Encodes a type of fixed size as raw bytes: its memory form, numbers little-endian.
    pub(super) fn raw(&self, ty: NcType) -> Result<ElementEncoding> {
        let size = self.model.type_size(ty)?.filter(|size| (1..=MAX_WIDTH).contains(size));
        let size = size.ok_or_else(|| ErrorKind::NotNc4.context("the element is too large"))?;
        let mut steps = Vec::new();
        EncodingBuilder { big_endian: false, ..*self }.fixed(ty, 1, &mut steps)?;
        let pieces = steps.iter().map(PackStep::piece).collect::<Option<Vec<_>>>();
        let pieces = pieces.filter(|pieces| pieces.len() <= MAX_STEPS);
        let pieces = pieces.ok_or_else(|| ErrorKind::NotNc4.context("the element has too many parts"))?;
        Ok(ElementEncoding {
            dtype: DType::from_name(&format!("|V{size}")),
            variable: None,
            element: None,
            pieces: Some(pieces),
        })
    }

    /// Returns the levels of compounds with strings in a type; `None` if it contains a vlen. `known` caches
    /// results, so each type is examined once.
    fn levels(&self, id: TypeId, depth: usize, known: &mut HashMap<TypeId, usize>) -> Option<usize> {
        if let Some(&levels) = known.get(&id) {
            return Some(levels).filter(|levels| depth + levels <= MAX_DEPTH);
        }
        if depth > MAX_DEPTH {
            return None;
        }
        let levels = match &self.model.user_type(id).ok()?.class {
            _ if self.model.is_fixed(NcType::User(id)).unwrap_or(false) => 0,
            TypeClass::Compound { fields, .. } => {
                let mut deepest = 0;
                for field in fields {
                    if let NcType::User(inner) = field.ty {
                        deepest = deepest.max(self.levels(inner, depth + 1, known)? + 1);
                    }
                }
                deepest
            }
            _ => return None,
        };
        known.insert(id, levels);
        Some(levels)
    }

    /// Returns the stored type of a type with a record, and appends the steps from its packed form.
    fn dtype(&self, ty: NcType, steps: &mut Vec<PackStep>) -> Result<DType> {
        let order = if self.big_endian { '>' } else { '<' };
        if let Some(number) = integer_of(self.model, ty)?.filter(|number| number.is_numeric()) {
            let size = number.size().unwrap_or(1);
            steps.push(PackStep::numbers(size, 1, self.big_endian));
            let endian =
                if self.big_endian { nczarr_model::Endian::Big } else { nczarr_model::Endian::Little };
            return DType::of(number, endian, 1, false);
        }
        let NcType::User(id) = ty else {
            return Err(ErrorKind::Internal.context(format!("{order}: text has no element type")));
        };
        let user = self.model.user_type(id)?;
        match &user.class {
            TypeClass::Opaque { size } => {
                steps.push(PackStep::Bytes(*size));
                Ok(DType::from_name(&format!("|V{size}")))
            }
            TypeClass::Compound { size, fields } => {
                let fixed = self.model.is_fixed(ty)?;
                // The memory form has gaps; the packed form of types of variable size does not.
                let mut sorted: Vec<&Field> = fields.iter().collect();
                if fixed {
                    sorted.sort_by_key(|field| field.offset);
                }
                let (mut list, mut end) = (Vec::new(), 0);
                for field in sorted {
                    if steps.len() > MAX_STEPS {
                        break;
                    }
                    if fixed {
                        padding(field.offset.saturating_sub(end), &mut list, steps);
                        let bytes =
                            self.model.type_size(field.ty)?.unwrap_or(0).saturating_mul(field.count()?);
                        end = field.offset.saturating_add(bytes);
                    }
                    list.push(self.field(id, field, steps)?);
                }
                if fixed {
                    padding(size.saturating_sub(end), &mut list, steps);
                }
                if fields.is_empty() {
                    return Err(
                        ErrorKind::NotNc4.context(format!("type {}: the compound has no fields", user.name))
                    );
                }
                let record = CompoundDType { fields: list };
                let text = crate::metadata::types::foreign::text(&record);
                Ok(DType {
                    text,
                    kind: DTypeKind::Compound,
                    big_endian: self.big_endian,
                    compound: Some(Arc::new(record)),
                    extension: None,
                })
            }
            _ => Err(ErrorKind::Internal.context("the type has no record")),
        }
    }

    fn field(&self, owner: TypeId, field: &Field, steps: &mut Vec<PackStep>) -> Result<CompoundField> {
        let mut shape = field.shape.clone();
        let count = field.count()?;
        let dtype = match field.ty {
            NcType::Char => {
                steps.push(PackStep::Bytes(count));
                let len = shape.pop_if(|len| *len > 1).unwrap_or(1);
                DType::from_name(&format!("|S{len}"))
            }
            NcType::String => {
                let width = (self.width)(owner, &field.name).unwrap_or(DEFAULT_STRLEN);
                steps.push(PackStep::Text { width, count });
                DType::from_name(&format!("|S{width}"))
            }
            ty => {
                let mut one = Vec::new();
                let dtype = self.dtype(ty, &mut one)?;
                repeat(&one, count, steps);
                dtype
            }
        };
        Ok(CompoundField { name: field.name.clone(), dtype, shape })
    }

    /// Appends the steps of elements of a fixed-size type, whose memory form is stored.
    pub(super) fn fixed(&self, ty: NcType, count: usize, steps: &mut Vec<PackStep>) -> Result<()> {
        if matches!(ty, NcType::Char) {
            steps.push(PackStep::Bytes(count));
            return Ok(());
        }
        let mut one = Vec::new();
        self.dtype(ty, &mut one)?;
        repeat(&one, count, steps);
        Ok(())
    }
}

fn padding(bytes: usize, list: &mut Vec<CompoundField>, steps: &mut Vec<PackStep>) {
    if bytes > 0 {
        steps.push(PackStep::Bytes(bytes));
        let dtype = DType::from_name(&format!("|V{bytes}"));
        list.push(CompoundField { name: String::new(), dtype, shape: Vec::new() });
    }
}

/// Appends steps `count` times; stops beyond [`MAX_STEPS`].
fn repeat(one: &[PackStep], count: usize, steps: &mut Vec<PackStep>) {
    match one {
        [step] => steps.push(step.times(count)),
        _ => {
            for _ in 0..count {
                if steps.len() > MAX_STEPS {
                    break;
                }
                steps.extend_from_slice(one);
            }
        }
    }
}

/// Whether all fields of a record are neither records nor arrays; in V3 also without padding.
fn is_flat(dtype: &DType, format: ZarrFormat) -> bool {
    let flat = |field: &CompoundField| field.shape.is_empty() && field.dtype.kind != DTypeKind::Compound;
    let named = |field: &CompoundField| !field.name.is_empty();
    let record = |plain: &dyn Fn(&CompoundField) -> bool| {
        dtype.compound.as_ref().is_some_and(|record| record.fields.iter().all(plain))
    };
    record(&flat) && (format == ZarrFormat::V2 || record(&named) && v3_types::write(dtype, None).is_ok())
}

/// Collects the bytes of string fields from a stored record.
pub(super) fn widths(
    model: &Model,
    id: TypeId,
    record: &CompoundDType,
    found: &mut HashMap<(TypeId, String), usize>,
    depth: usize,
) {
    let Ok(user) = model.user_type(id) else { return };
    let TypeClass::Compound { fields, .. } = &user.class else { return };
    for field in fields {
        let Some(stored) = record.fields.iter().find(|stored| stored.name == field.name) else { continue };
        match (field.ty, &stored.dtype.compound, stored.dtype.kind) {
            (NcType::String, _, DTypeKind::Text(width)) => {
                found.insert((id, field.name.clone()), width);
            }
            (NcType::User(inner), Some(record), _) if depth < 64 => {
                widths(model, inner, record, found, depth + 1)
            }
            _ => {}
        }
    }
}
