//! Scans the strings of a source before a copy: their maximum lengths, where the target needs them.

use std::collections::{BTreeMap, HashMap, HashSet};

use nczarr::dispatch::Dataset;
use nczarr_cdl::Blocks;
use nczarr_model::{Field, Item, Model, NcString, NcType, Result, Slab, TypeClass, TypeId, Values, VarId};

use super::block::{BUDGET, STRING};
use super::select::Selection;
use crate::source::DatasetSource;
use crate::stored::{Stored, VarBox};

/// Statistics of a variable's strings, its fill value included.
#[derive(Debug, Clone, Copy, Default)]
pub struct StringStats {
    /// The length of the longest, in bytes.
    pub longest: usize,
    /// Whether a byte of one is NUL.
    pub has_nul: bool,
    /// Whether the last byte of one is NUL.
    pub ends_with_nul: bool,
    /// Whether one is not UTF-8.
    pub has_other_bytes: bool,
}

impl StringStats {
    fn and(self, strings: &[NcString]) -> Self {
        let bytes = || strings.iter().map(NcString::as_bytes);
        Self {
            longest: bytes().map(<[u8]>::len).max().unwrap_or(0).max(self.longest),
            has_nul: self.has_nul || bytes().any(|bytes| bytes.contains(&0)),
            has_other_bytes: self.has_other_bytes || bytes().any(|bytes| std::str::from_utf8(bytes).is_err()),
            ends_with_nul: self.ends_with_nul || bytes().any(|bytes| bytes.last() == Some(&0)),
        }
    }
}

/// Returns the length of the longest string in each field of compounds without nested types: NCZarr stores
/// these in a fixed size.
///
/// # Errors
///
/// Errors of reading.
pub fn field_lengths(
    from: &dyn Dataset,
    model: &Model,
    select: &Selection,
) -> Result<BTreeMap<(TypeId, String), usize>> {
    let source = DatasetSource::new(from);
    let mut longest = BTreeMap::new();
    for (id, var) in model.vars().filter(|(id, _)| select.has_data(model, *id)) {
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

/// Returns whether a string anywhere in the elements of a variable of a user-defined type contains a NUL.
///
/// # Errors
///
/// Errors of reading.
pub fn has_nul(from: &dyn Dataset, model: &Model, id: VarId) -> Result<bool> {
    let (source, var, shape) = (DatasetSource::new(from), model.var(id)?, model.shape(id)?);
    if !has_strings(model, var.xtype)? || shape.contains(&0) {
        return Ok(false);
    }
    let chunks = from.data(id)?.chunk_shape();
    for (start, count) in Blocks::new(&shape, chunks.as_deref(), BUDGET / STRING) {
        let mut found = false;
        for element in
            source.strings(id, &Slab::new(&start, &count))?.iter().filter(|element| !element.is_nil())
        {
            model.parts(var.xtype, element.as_bytes(), &mut |part| {
                found |= matches!(part, nczarr_model::PackedPart::String(text) if text.contains(&0));
                Ok(())
            })?;
        }
        if found {
            return Ok(true);
        }
    }
    Ok(false)
}

/// Returns whether the elements of a type contain strings.
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

/// Scans the strings of each selected string variable. With `--skip-unreadable`, a variable that fails is
/// marked as unreadable.
///
/// # Errors
///
/// Errors of reading.
pub fn texts(
    from: &dyn Dataset,
    model: &Model,
    select: &mut Selection,
) -> Result<HashMap<VarId, StringStats>> {
    let mut texts = HashMap::new();
    for (id, var) in model.vars().filter(|(_, var)| var.xtype == NcType::String) {
        if !select.has_var(id, var) {
            continue;
        }
        match text_of(from, model, id, select.has_data(model, id)) {
            Ok(text) => drop(texts.insert(id, text)),
            Err(error) if select.skips => drop(select.unreadable.insert(id, error)),
            Err(error) => return Err(error),
        }
    }
    Ok(texts)
}

/// Returns the strings of one variable: the fill value, and all elements if they are copied.
fn text_of(from: &dyn Dataset, model: &Model, id: VarId, has_data: bool) -> Result<StringStats> {
    let (source, shape) = (DatasetSource::new(from), model.shape(id)?);
    let mut text = match &model.var(id)?.fill_value() {
        Some(Values::String(fill)) => StringStats::default().and(fill),
        _ => StringStats::default(),
    };
    if !has_data || shape.contains(&0) {
        return Ok(text);
    }
    let data = from.data(id)?;
    let parts: Box<dyn Iterator<Item = VarBox>> = match Stored::if_sparse(&*data, &shape)? {
        Some(stored) => Box::new(stored.boxes().collect::<Vec<_>>().into_iter()),
        None => Box::new(Blocks::new(&shape, data.chunk_shape().as_deref(), BUDGET / STRING)),
    };
    for (start, count) in parts {
        text = text.and(&source.strings(id, &Slab::new(&start, &count))?);
    }
    Ok(text)
}
