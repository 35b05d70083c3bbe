//! One deflate stream of compressed stretches and of noise, which is stored as it is.
//!
//! Each stretch between noise is compressed by itself: a stream that ends with a block said to be the last. That is unsaid
//! where more follows, and what is stored begins with the next bit. Nothing is lost by the cuts: noise is longer than half of
//! the window, and holds nothing to refer to.
//!
//! Source: RFC 1951, 3.2.3 and 3.2.4.

use std::mem::MaybeUninit;
use std::ops::Range;

use super::joint::Decoder;

/// A stored block holds no more.
const MOST: usize = 65_535;

/// The memory a stream goes to.
struct Stream<'a> {
    memory: &'a mut [MaybeUninit<u8>],
    made: usize,
}

/// Why there is no stream.
#[derive(Debug)]
pub(super) enum Stop {
    /// It does not fit.
    Room,
    /// What was compressed is not understood: it is to be done without cuts.
    Odd,
}

impl Stream<'_> {
    fn put(&mut self, bytes: &[u8]) -> Result<(), Stop> {
        let end = self.made + bytes.len();
        self.memory.get_mut(self.made..end).ok_or(Stop::Room)?.write_copy_of_slice(bytes);
        self.made = end;
        Ok(())
    }

    /// Stores bytes as they are. `begun`: the bits before the first block's length are there.
    fn store(&mut self, bytes: &[u8], mut begun: bool) -> Result<(), Stop> {
        for piece in bytes.chunks(MOST) {
            if !std::mem::take(&mut begun) {
                self.put(&[0])?;
            }
            let len = piece.len() as u16;
            self.put(&len.to_le_bytes())?;
            self.put(&(!len).to_le_bytes())?;
            self.put(piece)?;
        }
        Ok(())
    }
}

/// Makes one deflate stream of `src`, in which the stretches of `noise` are stored: how many bytes of `memory`, all of them
/// initialised, it takes. `compress` makes a whole stream of some bytes, `None` if that does not fit. The stretches lie in `src`, one
/// behind the other.
pub(super) fn encode(
    src: &[u8],
    noise: &[Range<usize>],
    memory: &mut [MaybeUninit<u8>],
    seams: &mut Decoder,
    mut compress: impl for<'m> FnMut(&[u8], &'m mut [MaybeUninit<u8>]) -> Option<&'m mut [u8]>,
) -> Result<usize, Stop> {
    let (mut stream, mut done) = (Stream { memory, made: 0 }, 0);
    for stretch in noise {
        let mut begun = false;
        if stretch.start > done {
            let part = compress(&src[done..stretch.start], &mut stream.memory[stream.made..]).ok_or(Stop::Room)?;
            let seam = seams.seam(part).ok_or(Stop::Odd)?;
            part[seam.last / 8] &= !(1 << (seam.last % 8));
            let len = part.len();
            stream.made += len;
            // Three bits, all 0, and as many more as make whole bytes: those after the end are 0.
            if (seam.end + 3).div_ceil(8) > len {
                stream.put(&[0])?;
            }
            begun = true;
        }
        stream.store(&src[stretch.clone()], begun)?;
        done = stretch.end;
    }
    match &src[done..] {
        // Somebody has to be the last.
        [] => stream.put(&[1, 0, 0, 0xff, 0xff])?,
        rest => {
            let made = compress(rest, &mut stream.memory[stream.made..]).ok_or(Stop::Room)?.len();
            stream.made += made;
        }
    }
    Ok(stream.made)
}
