//! Reads runs of the store into the caller's memory, piece by piece.
//!
//! Applies to data without gaps. They are read directly into the result, and their byte order is changed
//! there, in the processor's cache. Other data fall back to a read into the thread's scratch buffer, which
//! also fits the cache, followed by one kernel.

use nczarr_model::{ErrorKind, Result};
use nczarr_runtime::{OutBuf, run_on_pool};

use super::announce::ReadAnnouncer;
use super::slab_layout::{PieceSplit, SlabLayout, SlabPiece};
use super::{BeyondEnd, FlatArray};
use crate::kernel::{self, Convert};
use crate::memory::with_scratch;
use crate::outcome::TransferOutcome;
use crate::output::in_pieces;
use crate::{ranges, threads};

/// The size of a piece that uses the scratch buffer.
const THROUGH: u64 = 256 << 10;

/// The size of a piece that is read directly into the result.
const STRAIGHT: u64 = 1 << 20;

/// One read.
struct FlatRead<'a> {
    array: &'a FlatArray,
    convert: Option<Convert>,
}

/// Reads the elements of a slab to all of `out`.
pub(super) fn get(
    array: &FlatArray,
    lie: &SlabLayout,
    convert: Option<Convert>,
    out: &mut OutBuf<'_>,
) -> Result<()> {
    let plain = convert.is_none() && array.is_native();
    let get = FlatRead { array, convert };
    let total = out.capacity();
    let outcome = TransferOutcome::new(&array.options, total);
    let gap = ranges::worth_reading(false, false) as u64;
    let cut = PieceSplit::new(lie, gap, if plain { STRAIGHT } else { THROUGH });
    let item = total / lie.elems;
    let expected = array.store.read_ahead().map(|ahead| ReadAnnouncer::new(ahead, &cut));
    let tell = |number: usize| expected.iter().for_each(|expected| expected.reads(number));
    if cut.total == 1 {
        tell(0);
        outcome.range(get.piece(&cut.piece(0), out)?);
        outcome.advance(total);
        return outcome.finish(&array.name);
    }
    in_pieces(out, |strip| {
        run_on_pool(threads::worth(&array.options, cut.total, total), &|| {
            let len_of = |number: usize| (number < cut.total).then(|| cut.piece(number).elems * item);
            while !outcome.is_stopped() {
                let moved = strip.next(len_of, |number, out| {
                    tell(number);
                    let range = get.piece(&cut.piece(number), out)?;
                    Ok((range, out.capacity()))
                });
                match moved {
                    Ok(None) => break,
                    Ok(Some((range, bytes))) => {
                        outcome.range(range);
                        outcome.advance(bytes);
                    }
                    Err(error) => outcome.fail(error),
                }
            }
        });
        outcome.failure()?;
        Ok(outcome.finish(&array.name))
    })
    .and_then(|outcome| outcome)
}

impl FlatRead<'_> {
    /// Fills `out` with a piece. Returns whether a value was out of range.
    fn piece(&self, piece: &SlabPiece<'_>, out: &mut OutBuf<'_>) -> Result<bool> {
        let (layout, convert) = (&self.array.layout, self.convert.as_ref());
        if let Some(bytes) = self.in_memory(piece) {
            return kernel::load_bytes(bytes, layout, &piece.part(false), convert, out);
        }
        if convert.is_none() && piece.is_dense() {
            self.runs(piece, out)?;
            if layout.swap {
                kernel::swap_bytes(out.filled_mut(), layout.item);
            }
            return Ok(false);
        }
        with_scratch(|pair| {
            // Pieces are small, so this product fits.
            let bytes = pair.one.fill(piece.run() * piece.runs(), |out| self.runs(piece, out))?;
            kernel::load_bytes(bytes, layout, &piece.part(true), convert, out)
        })
    }

    /// Returns the bytes from the first to the last element of a piece, if the store is in memory.
    fn in_memory(&self, piece: &SlabPiece<'_>) -> Option<&[u8]> {
        let bytes = self.array.store.as_bytes()?;
        bytes.get(usize::try_from(piece.start).ok()?..)?.get(..piece.span()?)
    }

    /// Appends all runs of a piece.
    fn runs(&self, piece: &SlabPiece<'_>, out: &mut OutBuf<'_>) -> Result<()> {
        let len = piece.run();
        (0..piece.runs()).try_for_each(|number| self.run(piece.run_start(number), len, out))
    }

    fn run(&self, offset: u64, len: usize, out: &mut OutBuf<'_>) -> Result<()> {
        let array = self.array;
        let at = |error: nczarr_model::Error| {
            error.at(format_args!("{}: {len} bytes at offset {offset}", array.name))
        };
        let got = out.fill_limited(len, |out| array.store.read_at(offset, out)).map_err(at)?;
        if got == len {
            return Ok(());
        }
        // Only the end of the store explains a short read.
        let end = array.store.size().map_err(at)?;
        if offset.saturating_add(got as u64) < end {
            return Err(at(ErrorKind::Io
                .context(format!("short read before the end of the file at {end} (found {got})"))));
        }
        match array.short {
            BeyondEnd::Zeros => out.put_zeros(len - got).map(drop),
            BeyondEnd::Error => Err(at(ErrorKind::Trunc.context(format!("the file ends at {end}")))),
        }
    }
}
