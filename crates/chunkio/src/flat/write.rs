//! Writing: the caller's memory to runs of the store, piece by piece.
//!
//! Exactly the bytes of the elements are written: what lies between them may be somebody else's, who writes it just
//! now. What lies in memory as it does in the store is written from where it is.

use std::sync::atomic::{AtomicUsize, Ordering};

use nczarr_dispatch::run_on_pool;
use nczarr_model::{NcType, Result};

use super::FlatArray;
use super::layout::{Cut, Lie, Piece};
use crate::kernel::{self, Convert};
use crate::memory::with_scratch;
use crate::outcome::Outcome;
use crate::project::Part;
use crate::threads;

/// Bytes of a piece that goes through scratch.
const THROUGH: u64 = 256 << 10;

/// Bytes of a piece that is written from where it is.
const STRAIGHT: u64 = 1 << 20;

/// Gaps are never written.
const NO_GAP: u64 = 1;

/// Writes all of `bytes` to the elements of a slab.
pub(super) fn put(array: &FlatArray, lie: &Lie, ty: NcType, bytes: &[u8]) -> Result<()> {
    let convert = Convert::writing(ty, array.ty)?;
    let plain = convert.is_none() && array.is_native();
    let outcome = Outcome::new(&array.options, bytes.len());
    let cut = Cut::new(lie, NO_GAP, if plain { STRAIGHT } else { THROUGH });
    let item = bytes.len() / lie.elems;
    let next = AtomicUsize::new(0);
    run_on_pool(threads::worth(&array.options, cut.total, bytes.len()), &|| {
        while !outcome.is_stopped() {
            let number = next.fetch_add(1, Ordering::Relaxed);
            if number >= cut.total {
                break;
            }
            let piece = cut.piece(number);
            let bytes = &bytes[piece.first * item..][..piece.elems * item];
            let written = match plain {
                true => array.write_runs(&piece, bytes).map(|()| false),
                false => array.write_changed(&piece, convert.as_ref(), bytes),
            };
            match written {
                Ok(range) => {
                    outcome.range(range);
                    outcome.advance(bytes.len());
                }
                Err(error) => outcome.fail(error),
            }
        }
    });
    outcome.finish(&array.name)
}

impl FlatArray {
    /// Writes a piece whose bytes are not as they are in the store. Answers whether a value was out of range.
    fn write_changed(&self, piece: &Piece<'_>, convert: Option<&Convert>, bytes: &[u8]) -> Result<bool> {
        let layout = &self.layout;
        let len = piece.elems * layout.item;
        with_scratch(|pair| {
            let mut range = false;
            let whole = Part::whole(piece.elems);
            let stored = pair.one.fill(len, |out| {
                range = kernel::save_out(bytes, &whole, convert, layout, &[], len, out)?;
                Ok(())
            })?;
            self.write_runs(piece, stored)?;
            Ok(range)
        })
    }

    fn write_runs(&self, piece: &Piece<'_>, bytes: &[u8]) -> Result<()> {
        let len = piece.run();
        (0..piece.runs()).try_for_each(|number| {
            let offset = piece.run_start(number);
            let written = self.store.write_at(offset, &bytes[number * len..][..len]);
            written.map_err(|error| error.at(format_args!("{}: {len} bytes at offset {offset}", self.name)))
        })
    }
}
