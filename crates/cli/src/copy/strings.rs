//! What is known of the strings of a source before they are copied: how long they get, where the target wants to know.

use std::collections::{BTreeMap, HashMap, HashSet};

use cdl::Blocks;
use model::{ErrorKind, Field, Item, Model, NcString, NcType, Part, Result, Slab, TypeClass, TypeId, Values, VarId};
use nczarr::dispatch::Dataset;

use super::data::{BUDGET, STRING};
use crate::source::DatasetSource;

/// What is known of the strings of a variable, its fill value among them.
#[derive(Debug, Clone, Copy, Default)]
pub struct Text {
    /// The length of the longest, in bytes.
    pub longest: usize,
    /// Whether a byte of one is NUL.
    pub has_nul: bool,
    /// Whether the last byte of one is NUL.
    pub ends_with_nul: bool,
}

impl Text {
    fn and(self, strings: &[NcString]) -> Self {
        let bytes = || strings.iter().map(NcString::as_bytes);
        Self {
            longest: bytes().map(<[u8]>::len).max().unwrap_or(0).max(self.longest),
            has_nul: self.has_nul || bytes().any(|bytes| bytes.contains(&0)),
            ends_with_nul: self.ends_with_nul || bytes().any(|bytes| bytes.last() == Some(&0)),
        }
    }
}

/// The length of the longest string in each field of compounds without parts of their own: NCZarr stores these in a fixed size.
///
/// # Errors
/// What reading says.
pub fn field_lengths(from: &dyn Dataset, model: &Model) -> Result<BTreeMap<(TypeId, String), usize>> {
    let source = DatasetSource::new(from);
    let mut longest = BTreeMap::new();
    for (id, var) in model.vars().filter(|(_, var)| var.problem.is_none()) {
        let NcType::User(ty) = var.xtype else { continue };
        let TypeClass::Compound { fields, .. } = &model.user_type(ty)?.class else { continue };
        let strings: Vec<usize> = (0..fields.len()).filter(|&at| fields[at].ty == NcType::String).collect();
        let simple = |field: &Field| field.ty == NcType::String || model.is_fixed(field.ty).unwrap_or(false);
        let shape = model.shape(id)?;
        if strings.is_empty() || !fields.iter().all(simple) || shape.contains(&0) {
            continue;
        }
        let mut look = |values: &Values| -> Result<()> {
            for item in model.items(values)? {
                let Item::Compound(parts) = item else { continue };
                for &at in &strings {
                    let lengths = parts[at].iter().map(|item| match item {
                        Item::String(text) => text.as_bytes().len(),
                        _ => 0,
                    });
                    let known = longest.entry((ty, fields[at].name.clone())).or_insert(0);
                    *known = lengths.max().unwrap_or(0).max(*known);
                }
            }
            Ok(())
        };
        if let Some(fill) = var.fill_value() {
            look(&fill)?;
        }
        let chunks = from.data(id)?.chunk_shape();
        for (start, count) in Blocks::new(&shape, chunks.as_deref(), BUDGET / STRING) {
            look(&source.values(id, &Slab::new(&start, &count))?)?;
        }
    }
    Ok(longest)
}

/// Whether a byte of a string anywhere in the elements of a variable of a user-defined type is NUL.
///
/// # Errors
/// What reading says.
pub fn has_nul(from: &dyn Dataset, model: &Model, id: VarId) -> Result<bool> {
    let (source, var, shape) = (DatasetSource::new(from), model.var(id)?, model.shape(id)?);
    if !has_strings(model, var.xtype)? || shape.contains(&0) {
        return Ok(false);
    }
    let chunks = from.data(id)?.chunk_shape();
    for (start, count) in Blocks::new(&shape, chunks.as_deref(), BUDGET / STRING) {
        let mut found = false;
        for element in source.strings(id, &Slab::new(&start, &count))?.iter().filter(|element| !element.is_nil()) {
            model.parts(var.xtype, element.as_bytes(), &mut |part| {
                found |= matches!(part, Part::String(text) if text.contains(&0));
                Ok(())
            })?;
        }
        if found {
            return Ok(true);
        }
    }
    Ok(false)
}

/// Whether strings are somewhere in the elements of a type.
fn has_strings(model: &Model, ty: NcType) -> Result<bool> {
    let (mut open, mut seen) = (vec![ty], HashSet::new());
    while let Some(ty) = open.pop() {
        match ty {
            NcType::String => return Ok(true),
            NcType::User(id) if seen.insert(id) => match &model.user_type(id)?.class {
                TypeClass::Compound { fields, .. } => open.extend(fields.iter().map(|field| field.ty)),
                TypeClass::Vlen { base } => open.push(*base),
                TypeClass::Enum { .. } | TypeClass::Opaque { .. } => {}
            },
            _ => {}
        }
    }
    Ok(false)
}

/// What is known of each string variable.
///
/// # Errors
/// What reading says.
pub fn texts(from: &dyn Dataset, model: &Model) -> Result<HashMap<VarId, Text>> {
    let source = DatasetSource::new(from);
    let mut texts = HashMap::new();
    for (id, var) in model.vars().filter(|(_, var)| var.xtype == NcType::String) {
        let shape = model.shape(id)?;
        let mut text = match &var.fill_value() {
            Some(Values::String(fill)) => Text::default().and(fill),
            _ => Text::default(),
        };
        if !shape.contains(&0) {
            let chunks = from.data(id)?.chunk_shape();
            for (start, count) in Blocks::new(&shape, chunks.as_deref(), BUDGET / STRING) {
                text = text.and(&source.strings(id, &Slab::new(&start, &count))?);
            }
        }
        if texts.insert(id, text).is_some() {
            return Err(ErrorKind::Internal.context("a variable is listed twice"));
        }
    }
    Ok(texts)
}
