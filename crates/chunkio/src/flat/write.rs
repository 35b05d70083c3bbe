//! Writes the caller's memory to runs of the store, piece by piece.
//!
//! Only the bytes of the elements are written: bytes between them may belong to another variable that is
//! written concurrently. Data in stored form are written without a copy.

use std::sync::atomic::{AtomicUsize, Ordering};

use nczarr_model::{NcType, Result};
use nczarr_runtime::run_on_pool;

use super::FlatArray;
use super::slab_layout::{PieceSplit, SlabLayout, SlabPiece};
use crate::kernel::{self, Convert};
use crate::memory::with_scratch;
use crate::outcome::TransferOutcome;
use crate::project::ChunkPart;
use crate::threads;

/// The size of a piece that uses the scratch buffer.
const THROUGH: u64 = 256 << 10;

/// The size of a piece that is written without a copy.
const STRAIGHT: u64 = 1 << 20;

/// Gaps are never written.
const NO_GAP: u64 = 1;

/// Writes all of `bytes` to the elements of a slab.
pub(super) fn put(array: &FlatArray, lie: &SlabLayout, ty: NcType, bytes: &[u8]) -> Result<()> {
    let convert = Convert::writing(ty, array.ty)?;
    let plain = convert.is_none() && array.is_native();
    let outcome = TransferOutcome::new(&array.options, bytes.len());
    let cut = PieceSplit::new(lie, NO_GAP, if plain { STRAIGHT } else { THROUGH });
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
            let written = if plain {
                array.write_runs(&piece, bytes).map(|()| false)
            } else {
                array.write_changed(&piece, convert.as_ref(), bytes)
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
    /// Converts and writes a piece. Returns whether a value was out of range.
    fn write_changed(&self, piece: &SlabPiece<'_>, convert: Option<&Convert>, bytes: &[u8]) -> Result<bool> {
        let layout = &self.layout;
        let len = piece.elems * layout.item;
        with_scratch(|pair| {
            let mut range = false;
            let whole = ChunkPart::whole(piece.elems);
            let stored = pair.one.fill(len, |out| {
                range = kernel::save_out(bytes, &whole, convert, layout, &[], len, out)?;
                Ok(())
            })?;
            self.write_runs(piece, stored)?;
            Ok(range)
        })
    }

    fn write_runs(&self, piece: &SlabPiece<'_>, bytes: &[u8]) -> Result<()> {
        let len = piece.run();
        (0..piece.runs()).try_for_each(|number| {
            let offset = piece.run_start(number);
            let written = self.store.write_at(offset, &bytes[number * len..][..len]);
            written.map_err(|error| error.at(format_args!("{}: {len} bytes at offset {offset}", self.name)))
        })
    }
}
