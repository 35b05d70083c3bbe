//! [`Form`]: how elements of a user-defined type are stored.

use std::collections::HashMap;
use std::sync::Arc;

use nczarr_chunkio::Piece;
use nczarr_dispatch::{ElementCodec, Registry, ZarrFormat};
use nczarr_model::{ErrorKind, Field, Model, NcType, Result, TypeClass, TypeId};
use serde_json::json;

use super::codec::{Packed, Step, Texts};
use super::name_of;
use crate::dtype::{DType, Kind, MAX_WIDTH};
use crate::plan::maxstrlen;
use crate::record::{self, Record};
use crate::v3::types::{self as v3_types, Variable};

/// Types of more bytes are taken for damage.
pub(crate) const MAX_SIZE: usize = MAX_WIDTH;

/// Bytes of a string in a compound where nothing says how long they get.
const DEFAULT_STRLEN: usize = 128;

/// Compounds nested more deeply have no record.
const MAX_DEPTH: usize = 64;

/// A compound of more parts has no form: it would be slow, and nobody has such.
const MAX_STEPS: usize = 1 << 12;

/// How elements are stored.
#[derive(Debug)]
pub(crate) struct Form {
    /// The stored type.
    pub(crate) dtype: DType,
    /// What the elements of a stored type of variable length are.
    pub(crate) variable: Option<Variable>,
    /// What makes stored bytes of packed elements; `None` for types of fixed size.
    pub(crate) element: Option<Box<dyn ElementCodec>>,
    /// What a stored element consists of, if it has a fixed size.
    pub(crate) pieces: Option<Vec<Piece>>,
}

/// The form of elements of a new variable.
///
/// # Errors
/// `NC_ENOTNC4` for a type that has none.
pub(crate) fn form(
    model: &Model,
    id: TypeId,
    big_endian: bool,
    format: ZarrFormat,
    registry: &Registry,
) -> Result<Form> {
    let width = |id: TypeId, field: &str| {
        let ty = model.user_type(id).ok()?;
        let group = model.group(ty.group).ok()?;
        group.atts.get(&format!("{}.{field}.strlen", ty.name)).and_then(maxstrlen)
    };
    let builder = Builder { model, big_endian, width: &width };
    match builder.build(id, Some(format)) {
        Some(Ok(form)) => Ok(form),
        Some(Err(error)) => Err(error),
        // What records cannot hold is bytes of any length.
        None => variable(model, id, format, registry),
    }
}

/// Elements of any length.
///
/// Lists of numbers are bytes, too: `vlen-array` is a codec that not every reader of V2 has, and some list no array of a group
/// in which there is one they cannot open.
fn variable(model: &Model, id: TypeId, format: ZarrFormat, registry: &Registry) -> Result<Form> {
    let description = match format {
        ZarrFormat::V3 => json!({"name": "vlen-bytes"}),
        ZarrFormat::V2 => json!({"id": "vlen-bytes"}),
    };
    let codec = registry.element("vlen-bytes")?.parse(&description)?;
    let element = Packed::around(codec, model, NcType::User(id));
    let dtype = DType::from_name("|O");
    Ok(Form { dtype, variable: Some(Variable::Bytes), element: Some(element), pieces: None })
}

/// The atomic type of an atomic type or enum.
pub(super) fn integer_of(model: &Model, ty: NcType) -> Result<Option<NcType>> {
    let NcType::User(id) = ty else { return Ok((ty != NcType::String).then_some(ty)) };
    Ok(match model.user_type(id)?.class {
        TypeClass::Enum { base, .. } => Some(base),
        _ => None,
    })
}

/// Makes records of types.
pub(super) struct Builder<'a> {
    pub(super) model: &'a Model,
    pub(super) big_endian: bool,
    /// Bytes of a string field, if something says how many.
    pub(super) width: &'a dyn Fn(TypeId, &str) -> Option<usize>,
}

impl Builder<'_> {
    /// The form of a type in a fixed number of bytes; `None` if there is none. `format`: only one that readers of it open, a
    /// record of fields that are no records or arrays.
    pub(super) fn build(&self, id: TypeId, format: Option<ZarrFormat>) -> Option<Result<Form>> {
        let ty = NcType::User(id);
        self.levels(id, 0, &mut HashMap::new())?;
        let mut steps = Vec::new();
        let dtype = match self.dtype(ty, &mut steps) {
            Ok(dtype) => dtype,
            Err(error) => return Some(Err(error)),
        };
        let fixed = self.model.is_fixed(ty).unwrap_or(false);
        if let Some(format) = format
            && dtype.kind == Kind::Record
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
            ErrorKind::NotNc4.context(format!("type {name}: a record of so many parts or bytes is not stored"))
        };
        let size = dtype.item_size().filter(|&size| size <= MAX_WIDTH);
        if steps.len() > MAX_STEPS || pieces.is_none() || size.is_none() {
            return Some(Err(too_many()));
        }
        let element = match fixed {
            true => None,
            false => Some(Box::new(Texts { steps, size: size.unwrap_or(0) }) as Box<dyn ElementCodec>),
        };
        Some(Ok(Form { dtype, variable: None, element, pieces }))
    }

    /// A type of fixed size as raw bytes: its memory form, numbers little-endian.
    pub(super) fn raw(&self, ty: NcType) -> Result<Form> {
        let size = self.model.type_size(ty)?.filter(|size| (1..=MAX_WIDTH).contains(size));
        let size = size.ok_or_else(|| ErrorKind::NotNc4.context("an element of so many bytes"))?;
        let mut steps = Vec::new();
        Builder { big_endian: false, ..*self }.fixed(ty, 1, &mut steps)?;
        let pieces = steps.iter().map(Step::piece).collect::<Option<Vec<_>>>();
        let pieces = pieces.filter(|pieces| pieces.len() <= MAX_STEPS);
        let pieces = pieces.ok_or_else(|| ErrorKind::NotNc4.context("an element of so many parts"))?;
        Ok(Form { dtype: DType::from_name(&format!("|V{size}")), variable: None, element: None, pieces: Some(pieces) })
    }

    /// How many levels of compounds with strings a type has, if its elements have a fixed number of bytes when they are
    /// stored: no vlen is anywhere in them. `known` has those of types that were looked at: each is once.
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

    /// The stored type of a type that has a record, and the steps from its packed form.
    fn dtype(&self, ty: NcType, steps: &mut Vec<Step>) -> Result<DType> {
        let order = if self.big_endian { '>' } else { '<' };
        if let Some(number) = integer_of(self.model, ty)?.filter(|number| number.is_numeric()) {
            let size = number.size().unwrap_or(1);
            steps.push(Step::numbers(size, 1, self.big_endian));
            let endian = if self.big_endian { nczarr_model::Endian::Big } else { nczarr_model::Endian::Little };
            return DType::of(number, endian, 1, false);
        }
        let NcType::User(id) = ty else {
            return Err(ErrorKind::Internal.context(format!("{order}: text has no type of its own")));
        };
        let user = self.model.user_type(id)?;
        match &user.class {
            TypeClass::Opaque { size } => {
                steps.push(Step::Bytes(*size));
                Ok(DType::from_name(&format!("|V{size}")))
            }
            TypeClass::Compound { size, fields } => {
                let fixed = self.model.is_fixed(ty)?;
                // In memory gaps are part of it; what has no memory form has none.
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
                        let bytes = self.model.type_size(field.ty)?.unwrap_or(0).saturating_mul(field.count()?);
                        end = field.offset.saturating_add(bytes);
                    }
                    list.push(self.field(id, field, steps)?);
                }
                if fixed {
                    padding(size.saturating_sub(end), &mut list, steps);
                }
                if fields.is_empty() {
                    return Err(ErrorKind::NotNc4.context(format!("type {}: a compound without fields", user.name)));
                }
                let record = Record { fields: list };
                let text = crate::types::text(&record);
                Ok(DType { text, kind: Kind::Record, big_endian: self.big_endian, record: Some(Arc::new(record)) })
            }
            _ => Err(ErrorKind::Internal.context("no record")),
        }
    }

    fn field(&self, owner: TypeId, field: &Field, steps: &mut Vec<Step>) -> Result<record::Field> {
        let mut shape = field.shape.clone();
        let count = field.count()?;
        let dtype = match field.ty {
            NcType::Char => {
                steps.push(Step::Bytes(count));
                let len = shape.pop_if(|len| *len > 1).unwrap_or(1);
                DType::from_name(&format!("|S{len}"))
            }
            NcType::String => {
                let width = (self.width)(owner, &field.name).unwrap_or(DEFAULT_STRLEN);
                steps.push(Step::Text { width, count });
                DType::from_name(&format!("|S{width}"))
            }
            ty => {
                let mut one = Vec::new();
                let dtype = self.dtype(ty, &mut one)?;
                repeat(&one, count, steps);
                dtype
            }
        };
        Ok(record::Field { name: field.name.clone(), dtype, shape })
    }

    /// The steps of elements of a type of fixed size, in memory as in storage.
    pub(super) fn fixed(&self, ty: NcType, count: usize, steps: &mut Vec<Step>) -> Result<()> {
        if matches!(ty, NcType::Char) {
            steps.push(Step::Bytes(count));
            return Ok(());
        }
        let mut one = Vec::new();
        self.dtype(ty, &mut one)?;
        repeat(&one, count, steps);
        Ok(())
    }
}

fn padding(bytes: usize, list: &mut Vec<record::Field>, steps: &mut Vec<Step>) {
    if bytes > 0 {
        steps.push(Step::Bytes(bytes));
        let dtype = DType::from_name(&format!("|V{bytes}"));
        list.push(record::Field { name: String::new(), dtype, shape: Vec::new() });
    }
}

/// Appends `count` times some steps; no more than are too many.
fn repeat(one: &[Step], count: usize, steps: &mut Vec<Step>) {
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

/// Whether a record is of fields that are no records or arrays; in V3 there is nothing between them either.
fn is_flat(dtype: &DType, format: ZarrFormat) -> bool {
    let flat = |field: &record::Field| field.shape.is_empty() && field.dtype.kind != Kind::Record;
    let named = |field: &record::Field| !field.name.is_empty();
    let record = |plain: &dyn Fn(&record::Field) -> bool| {
        dtype.record.as_ref().is_some_and(|record| record.fields.iter().all(plain))
    };
    record(&flat) && (format == ZarrFormat::V2 || record(&named) && v3_types::write(dtype, None).is_ok())
}

/// Bytes of the string fields as a stored record has them.
pub(super) fn widths(
    model: &Model,
    id: TypeId,
    record: &Record,
    found: &mut HashMap<(TypeId, String), usize>,
    depth: usize,
) {
    let Ok(user) = model.user_type(id) else { return };
    let TypeClass::Compound { fields, .. } = &user.class else { return };
    for field in fields {
        let Some(stored) = record.fields.iter().find(|stored| stored.name == field.name) else { continue };
        match (field.ty, &stored.dtype.record, stored.dtype.kind) {
            (NcType::String, _, Kind::Text(width)) => drop(found.insert((id, field.name.clone()), width)),
            (NcType::User(inner), Some(record), _) if depth < 64 => widths(model, inner, record, found, depth + 1),
            _ => {}
        }
    }
}
