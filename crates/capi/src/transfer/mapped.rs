//! Elements that lie apart in memory (`varm`).

use nczarr::{ErrorKind, NcType, Result};

/// Returns the number of elements that the memory has: up to the last one that is used.
///
/// Distances are not negative, since the first element has index 0 in every dimension.
pub fn extent(count: &[u64], imap: &[i64]) -> Result<usize> {
    if count.contains(&0) {
        return Ok(0);
    }
    let outside = || ErrorKind::Inval.context(format!("imap {imap:?} for count {count:?}"));
    let last = count.iter().zip(imap).try_fold(0u64, |last, (&count, &step)| {
        let step = if count == 1 { 0 } else { u64::try_from(step).ok()? };
        last.checked_add((count - 1).checked_mul(step)?)
    });
    let len = last.and_then(|last| usize::try_from(last.checked_add(1)?).ok());
    len.ok_or_else(outside)
}

/// Checks that elements of a type can be apart in memory.
pub fn check_type(ty: NcType) -> Result<()> {
    if ty.is_atomic() {
        return Ok(());
    }
    Err(ErrorKind::MapType.context("mapped access needs an atomic type"))
}
