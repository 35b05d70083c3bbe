//! Mapped access (`varm`): elements at caller-defined distances in memory.
//!
//! Along dimension `d`, neighbours are `imap[d]` elements apart. These functions copy between such memory and
//! dense memory (C order), which drivers use. Element 0 of the memory has index 0 in every dimension, so a
//! negative distance is valid only for a count of 1.
//!
//! Source: netCDF-C, `nc_get_varm`.

use crate::{ErrorKind, Result};

/// Checks that all elements of a mapped access are inside `len` elements of memory.
///
/// # Errors
/// [`ErrorKind::Inval`] if the ranks differ or an element is outside.
pub fn check_imap(count: &[u64], imap: &[i64], len: usize) -> Result<()> {
    if count.len() != imap.len() {
        return Err(ErrorKind::Inval.context(format!(
            "imap has {} entries, count has {}",
            imap.len(),
            count.len()
        )));
    }
    if count.contains(&0) {
        return Ok(());
    }
    let (mut first, mut last) = (0i128, 0i128);
    for (dim, (&count, &step)) in count.iter().zip(imap).enumerate() {
        let end = if step < 0 { &mut first } else { &mut last };
        *end = i128::from(count - 1)
            .checked_mul(step.into())
            .and_then(|reach| end.checked_add(reach))
            .ok_or_else(|| {
                ErrorKind::Inval.context(format!("imap of dimension {dim}: {step} × {count} overflows"))
            })?;
    }
    if first < 0 || last >= len as i128 {
        return Err(ErrorKind::Inval.context(format!("imap reaches elements {first} to {last} of {len}")));
    }
    Ok(())
}

/// Copies from mapped to dense memory, in elements of `item_size` bytes.
///
/// # Errors
/// As [`check_imap`]; [`ErrorKind::Inval`] if `dense` is not exactly as large as the elements.
pub fn gather_mapped(
    count: &[u64],
    imap: &[i64],
    item_size: usize,
    mapped: &[u8],
    dense: &mut [u8],
) -> Result<()> {
    match item_size {
        1 => gather_items(count, imap, mapped, dense),
        2 => gather_items(count, imap, mapped.as_chunks::<2>().0, whole(dense.as_chunks_mut::<2>())?),
        4 => gather_items(count, imap, mapped.as_chunks::<4>().0, whole(dense.as_chunks_mut::<4>())?),
        8 => gather_items(count, imap, mapped.as_chunks::<8>().0, whole(dense.as_chunks_mut::<8>())?),
        _ => {
            check(count, imap, elements(mapped.len(), item_size)?, dense.len(), item_size)?;
            each_row(count, imap, |mut at, row, len, step| {
                for item in dense[row * item_size..(row + len) * item_size].chunks_mut(item_size) {
                    item.copy_from_slice(&mapped[at * item_size..(at + 1) * item_size]);
                    at = at.wrapping_add_signed(step);
                }
            });
            Ok(())
        }
    }
}

/// Copies from dense to mapped memory, in elements of `item_size` bytes; memory between them is unchanged.
///
/// # Errors
/// As [`gather_mapped`].
pub fn scatter_mapped(
    count: &[u64],
    imap: &[i64],
    item_size: usize,
    mapped: &mut [u8],
    dense: &[u8],
) -> Result<()> {
    match item_size {
        1 => scatter_items(count, imap, mapped, dense),
        2 => scatter_items(count, imap, mapped.as_chunks_mut::<2>().0, whole(dense.as_chunks::<2>())?),
        4 => scatter_items(count, imap, mapped.as_chunks_mut::<4>().0, whole(dense.as_chunks::<4>())?),
        8 => scatter_items(count, imap, mapped.as_chunks_mut::<8>().0, whole(dense.as_chunks::<8>())?),
        _ => {
            check(count, imap, elements(mapped.len(), item_size)?, dense.len(), item_size)?;
            each_row(count, imap, |mut at, row, len, step| {
                for item in dense[row * item_size..(row + len) * item_size].chunks(item_size) {
                    mapped[at * item_size..(at + 1) * item_size].copy_from_slice(item);
                    at = at.wrapping_add_signed(step);
                }
            });
            Ok(())
        }
    }
}

/// As [`gather_mapped`], for values of any type.
///
/// # Errors
/// As [`gather_mapped`].
pub fn gather_items<T: Clone>(count: &[u64], imap: &[i64], mapped: &[T], dense: &mut [T]) -> Result<()> {
    check(count, imap, mapped.len(), dense.len(), 1)?;
    each_row(count, imap, |mut at, row, len, step| {
        let dense = &mut dense[row..row + len];
        if step == 1 {
            return dense.clone_from_slice(&mapped[at..at + len]);
        }
        for item in dense {
            item.clone_from(&mapped[at]);
            at = at.wrapping_add_signed(step);
        }
    });
    Ok(())
}

/// As [`scatter_mapped`], for values of any type.
///
/// # Errors
/// As [`gather_mapped`].
pub fn scatter_items<T: Clone>(count: &[u64], imap: &[i64], mapped: &mut [T], dense: &[T]) -> Result<()> {
    check(count, imap, mapped.len(), dense.len(), 1)?;
    each_row(count, imap, |mut at, row, len, step| {
        let dense = &dense[row..row + len];
        if step == 1 {
            return mapped[at..at + len].clone_from_slice(dense);
        }
        for item in dense {
            mapped[at].clone_from(item);
            at = at.wrapping_add_signed(step);
        }
    });
    Ok(())
}

fn elements(bytes: usize, item_size: usize) -> Result<usize> {
    bytes.checked_div(item_size).ok_or_else(|| ErrorKind::Inval.context("elements of 0 bytes"))
}

/// Returns the items of a division into items and a rest; an error if there is a rest.
fn whole<T>(division: (T, impl AsRef<[u8]>)) -> Result<T> {
    let (items, rest) = division;
    match rest.as_ref() {
        [] => Ok(items),
        rest => Err(ErrorKind::Inval.context(format!("{} bytes beyond the last whole element", rest.len()))),
    }
}

/// Checks that mapped and dense memory fit the count; `mapped` in elements, `dense` in bytes.
fn check(count: &[u64], imap: &[i64], mapped: usize, dense: usize, item_size: usize) -> Result<()> {
    check_imap(count, imap, mapped)?;
    let wanted = if count.contains(&0) {
        Some(0)
    } else {
        count.iter().try_fold(item_size as u64, |product, &count| product.checked_mul(count))
    };
    if wanted != Some(dense as u64) {
        return Err(ErrorKind::Inval
            .context(format!("count {count:?}: memory for {} elements", dense / item_size.max(1))));
    }
    Ok(())
}

/// Calls `row(mapped, dense, len, step)` for each row along the last dimension, with its positions in both
/// memories.
///
/// After [`check`] every position fits `usize`.
fn each_row(count: &[u64], imap: &[i64], mut row: impl FnMut(usize, usize, usize, isize)) {
    if count.contains(&0) {
        return;
    }
    let (Some((&len, outer)), Some((&step, steps))) = (count.split_last(), imap.split_last()) else {
        return row(0, 0, 1, 1);
    };
    let (len, step) = (len as usize, step as isize);
    let mut index = vec![0u64; outer.len()];
    let (mut mapped, mut dense) = (0usize, 0usize);
    loop {
        row(mapped, dense, len, step);
        dense += len;
        let mut dim = outer.len();
        loop {
            if dim == 0 {
                return;
            }
            dim -= 1;
            index[dim] += 1;
            mapped = mapped.wrapping_add_signed(steps[dim] as isize);
            if index[dim] < outer[dim] {
                break;
            }
            // Back to the start of this dimension, and forward along the previous one.
            mapped = mapped.wrapping_sub((steps[dim] as usize).wrapping_mul(outer[dim] as usize));
            index[dim] = 0;
        }
    }
}
