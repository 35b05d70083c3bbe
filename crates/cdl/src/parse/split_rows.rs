//! Rows of text that the printer split at line feeds.

use super::constant::{Constant, Placed};

/// Joins rows of at most `row` characters that the printer split at a line feed.
///
/// The printer begins a row after two blanks, and continues it after four. Handwritten text may look the
/// same. If the number of rows matches the dimensions (`lens`, as far as known) without joining, nothing is
/// joined.
pub(super) fn joined(text: &[u8], list: Vec<Placed>, row: usize, lens: &[Option<u64>]) -> Vec<Placed> {
    let rows = lens.iter().try_fold(1u64, |rows, &len| rows.checked_mul(len?));
    let blanks = |at: usize| {
        let line = text[..at].iter().rposition(|&byte| byte == b'\n').map_or(0, |feed| feed + 1);
        let before = &text[line..at];
        let braces = before.iter().rev().take_while(|&&byte| byte == b'{').count();
        let blanks = &before[..before.len() - braces];
        blanks.iter().all(|&byte| byte == b' ').then_some(blanks.len())
    };
    let (mut found, mut parts) = (0u64, Vec::with_capacity(list.len()));
    let mut before: Option<&[u8]> = None;
    let mut len = 0;
    for value in &list {
        let Constant::Text(more) = &value.constant else { return list };
        let part = before.is_some_and(|before| before.ends_with(b"\n")) && blanks(value.at) == Some(4);
        len = if part { len + more.len() } else { more.len() };
        // The printer writes no row longer than this.
        if len > row {
            return list;
        }
        found += u64::from(!part);
        parts.push(part);
        before = Some(more);
    }
    if rows != Some(found)
        || found == list.len() as u64
        || list.first().and_then(|first| blanks(first.at)) != Some(2)
    {
        return list;
    }
    let mut all: Vec<Placed> = Vec::with_capacity(found as usize);
    for (value, part) in list.into_iter().zip(parts) {
        match (all.last_mut().map(|last| &mut last.constant), value.constant) {
            (Some(Constant::Text(row)), Constant::Text(more)) if part => row.extend(more),
            (_, constant) => all.push(Placed { constant, at: value.at }),
        }
    }
    all
}
