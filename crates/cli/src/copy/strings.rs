//! What is known of the strings of a source before they are copied: how long they get, where the target wants to know.

use std::collections::{BTreeMap, HashMap};

use cdl::Blocks;
use model::{ErrorKind, Field, Item, Model, NcString, NcType, Result, Slab, TypeClass, TypeId, Values, VarId};
use nczarr::dispatch::Dataset;

use super::data::{BUDGET, STRING};
use crate::source::DatasetSource;

/// What is known of the strings of a variable, its fill value among them.
#[derive(Debug, Clone, Copy, Default)]
pub struct Text {
    /// The length of the longest, in bytes.
    pub longest: usize,
    /// Whether the last byte of one is NUL.
    pub ends_with_nul: bool,
}

impl Text {
    fn and(self, strings: &[NcString]) -> Self {
        let bytes = || strings.iter().map(NcString::as_bytes);
        Self {
            longest: bytes().map(<[u8]>::len).max().unwrap_or(0).max(self.longest),
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
