//! Copies literals and matches that are long, near the end of the output, or overlap.

use std::ptr;

/// Bytes copied at once.
pub(super) const COPY: usize = 16;

/// Copies literals and a match of any length.
///
/// # Safety
/// `ll` bytes and 16 more must be readable at `from`. `rest` bytes, at least `ll + ml`, must be writable at
/// `to`. `offset` must not be 0, and must lead to initialised bytes.
#[inline(never)]
pub(super) unsafe fn copy(from: *const u8, to: *mut u8, ll: usize, ml: usize, offset: usize, rest: usize) {
    // SAFETY: as promised by the caller; steps of 16 bytes end less than 16 bytes beyond what they are for,
    // where there is room.
    unsafe {
        let wide = rest - ll - ml >= COPY;
        let match_to = to.add(ll);
        if wide && ll <= 64 {
            let mut at = 0;
            while at < ll {
                ptr::copy_nonoverlapping(from.add(at), to.add(at), COPY);
                at += COPY;
            }
        } else {
            ptr::copy_nonoverlapping(from, to, ll);
        }
        let source = match_to.sub(offset).cast_const();
        if offset >= COPY && wide && ml <= 128 {
            let mut at = 0;
            while at < ml {
                ptr::copy_nonoverlapping(source.add(at), match_to.add(at), COPY);
                at += COPY;
            }
        } else if offset == 1 {
            ptr::write_bytes(match_to, *source, ml);
        } else {
            // Each copy includes the earlier one, so the length doubles.
            let mut at = 0;
            while at < ml {
                let len = (offset + at).min(ml - at);
                ptr::copy_nonoverlapping(source, match_to.add(at), len);
                at += len;
            }
        }
    }
}
