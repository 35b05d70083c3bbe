//! Makes one deflate stream of compressed ranges, stored noise, and ranges of literals.
//!
//! Each range between is compressed to a stream of its own. Its end mark is cleared where more follows. The
//! cuts lose little, because an incompressible range is longer than half the window and holds nothing to
//! refer to.

use std::mem::MaybeUninit;

use super::fast_inflate::FastInflate;
use super::huffman_only;
use super::incompressible::{IncompressibleRange, RangeKind};
use super::stream::{StreamFailure, StreamWriter};

/// Makes one deflate stream of `src`, in which the given ranges are stored or become literals. Returns its
/// length; these bytes of `memory` are initialised. `compress` makes a whole stream of some bytes, or returns
/// `None` if it does not fit. The ranges must be in order.
pub(super) fn encode(
    src: &[u8],
    stretches: &[IncompressibleRange],
    memory: &mut [MaybeUninit<u8>],
    seams: &mut FastInflate,
    mut compress: impl for<'m> FnMut(&[u8], &'m mut [MaybeUninit<u8>]) -> Option<&'m mut [u8]>,
) -> Result<usize, StreamFailure> {
    let (mut stream, mut done) = (StreamWriter::new(memory), 0);
    for IncompressibleRange { place, kind } in stretches {
        if place.start > done {
            stream.compressed(false, seams, |room| compress(&src[done..place.start], room))?;
        }
        match kind {
            RangeKind::Noise => stream.store(&src[place.clone()])?,
            RangeKind::Literals => huffman_only::put(&src[place.clone()], &mut stream)?,
        }
        done = place.end;
    }
    match &src[done..] {
        [] => stream.end()?,
        rest => stream.compressed(true, seams, |room| compress(rest, room))?,
    }
    Ok(stream.made())
}
