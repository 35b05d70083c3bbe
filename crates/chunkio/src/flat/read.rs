//! Reading: runs of the store to the caller's memory, piece by piece.
//!
//! What lies in the store without gaps is read straight into the result, and its byte order changed there while the
//! processor's cache holds it. Everything else is read into the thread's own scratch, small enough for that cache too,
//! and from there goes through one kernel.

use nczarr_dispatch::{OutBuf, run_on_pool};
use nczarr_model::{ErrorKind, Result};

use super::expected::Expected;
use super::layout::{Cut, Lie, Piece};
use super::{FlatArray, Short};
use crate::kernel::{self, Convert};
use crate::memory::with_scratch;
use crate::outcome::Outcome;
use crate::scatter::in_pieces;
use crate::{ranges, threads};

/// Bytes of a piece that goes through scratch.
const THROUGH: u64 = 256 << 10;

/// Bytes of a piece that is read straight into the result.
const STRAIGHT: u64 = 1 << 20;

/// One read.
struct Get<'a> {
    array: &'a FlatArray,
    convert: Option<Convert>,
}

/// Reads the elements of a slab to all of `out`.
pub(super) fn get(array: &FlatArray, lie: &Lie, convert: Option<Convert>, out: &mut OutBuf<'_>) -> Result<()> {
    let plain = convert.is_none() && array.is_native();
    let get = Get { array, convert };
    let total = out.capacity();
    let outcome = Outcome::new(&array.options, total);
    let gap = ranges::worth_reading(false, false) as u64;
    let cut = Cut::new(lie, gap, if plain { STRAIGHT } else { THROUGH });
    let item = total / lie.elems;
    let expected = array.store.ahead().map(|ahead| Expected::new(ahead, &cut));
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

impl Get<'_> {
    /// Fills `out` with a piece. Answers whether a value was out of range.
    fn piece(&self, piece: &Piece<'_>, out: &mut OutBuf<'_>) -> Result<bool> {
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
            // Pieces are small, so this fits.
            let bytes = pair.one.fill(piece.run() * piece.runs(), |out| self.runs(piece, out))?;
            kernel::load_bytes(bytes, layout, &piece.part(true), convert, out)
        })
    }

    /// The bytes from the first to the last element of a piece, if they lie in memory.
    fn in_memory(&self, piece: &Piece<'_>) -> Option<&[u8]> {
        let bytes = self.array.store.as_bytes()?;
        bytes.get(usize::try_from(piece.start).ok()?..)?.get(..piece.span()?)
    }

    /// Appends all runs of a piece.
    fn runs(&self, piece: &Piece<'_>, out: &mut OutBuf<'_>) -> Result<()> {
        let len = piece.run();
        (0..piece.runs()).try_for_each(|number| self.run(piece.run_start(number), len, out))
    }

    fn run(&self, offset: u64, len: usize, out: &mut OutBuf<'_>) -> Result<()> {
        let array = self.array;
        let at = |error: nczarr_model::Error| error.at(format_args!("{}: {len} bytes at offset {offset}", array.name));
        let got = out.fill_limited(len, |out| array.store.read_at(offset, out)).map_err(at)?;
        if got == len {
            return Ok(());
        }
        // Only a store that ends here may say less.
        let end = array.store.size().map_err(at)?;
        if offset.saturating_add(got as u64) < end {
            return Err(at(ErrorKind::Io.context(format!("{got} were read, though the file ends at {end}"))));
        }
        match array.short {
            Short::Zeros => out.put_zeros(len - got).map(drop),
            Short::Error => Err(at(ErrorKind::Trunc.context(format!("the file ends at {end}")))),
        }
    }
}
