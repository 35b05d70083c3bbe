//! One deflate stream of compressed stretches, of noise, which is stored as it is, and of literals alone.
//!
//! Each stretch between is compressed by itself: a stream that ends with a block said to be the last. That is unsaid where more
//! follows. Little is lost by the cuts: what lies between is longer than half of the window, and holds nothing to refer to.

use std::mem::MaybeUninit;

use super::joint::Decoder;
use super::literals;
use super::stream::{Stop, Stream};
use super::stretches::{Kind, Stretch};

/// Makes one deflate stream of `src`, in which the stretches are stored or are literals: how many bytes of `memory`, all of them
/// initialised, it takes. `compress` makes a whole stream of some bytes, `None` if that does not fit. The stretches lie in `src`, one
/// behind the other.
pub(super) fn encode(
    src: &[u8],
    stretches: &[Stretch],
    memory: &mut [MaybeUninit<u8>],
    seams: &mut Decoder,
    mut compress: impl for<'m> FnMut(&[u8], &'m mut [MaybeUninit<u8>]) -> Option<&'m mut [u8]>,
) -> Result<usize, Stop> {
    let (mut stream, mut done) = (Stream::new(memory), 0);
    for Stretch { place, kind } in stretches {
        if place.start > done {
            stream.compressed(false, seams, |room| compress(&src[done..place.start], room))?;
        }
        match kind {
            Kind::Noise => stream.store(&src[place.clone()])?,
            Kind::Literals => literals::put(&src[place.clone()], &mut stream)?,
        }
        done = place.end;
    }
    match &src[done..] {
        [] => stream.end()?,
        rest => stream.compressed(true, seams, |room| compress(rest, room))?,
    }
    Ok(stream.made())
}
