//! Members that are packed with Zstandard, over the C library that the zstd filter uses.
//!
//! The crate `zip` would bring a second binding of that library.

use std::io::{BufRead, BufReader, Error, ErrorKind, Read, Result};

use zstd_safe::{DCtx, InBuffer, OutBuffer};

/// Returns a reader of a member, which is a sequence of frames.
pub(crate) fn unpacked<'r>(packed: impl Read + 'r) -> Result<Box<dyn Read + 'r>> {
    let context = DCtx::try_create().ok_or(ErrorKind::OutOfMemory)?;
    Ok(Box::new(Frames { packed: BufReader::new(packed), context, inside: false }))
}

struct Frames<R> {
    packed: BufReader<R>,
    context: DCtx<'static>,
    /// A frame has begun and not ended.
    inside: bool,
}

impl<R: Read> Read for Frames<R> {
    fn read(&mut self, out: &mut [u8]) -> Result<usize> {
        if out.is_empty() {
            return Ok(0);
        }
        loop {
            let packed = self.packed.fill_buf()?;
            let is_end = packed.is_empty();
            if is_end && !self.inside {
                return Ok(0);
            }
            let (mut input, mut output) = (InBuffer::around(packed), OutBuffer::around(out));
            // Even without input there may be bytes that an earlier call had no room for.
            let missing = self.context.decompress_stream(&mut output, &mut input).map_err(|code| {
                Error::new(ErrorKind::InvalidData, format!("zstd: {}", zstd_safe::get_error_name(code)))
            })?;
            let (used, made) = (input.pos(), output.pos());
            self.packed.consume(used);
            self.inside = missing > 0;
            if made > 0 {
                return Ok(made);
            }
            if is_end && self.inside {
                return Err(Error::new(ErrorKind::UnexpectedEof, "zstd: the last frame is incomplete"));
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn packed(bytes: &[u8]) -> Vec<u8> {
        let mut frame = vec![0; zstd_safe::compress_bound(bytes.len())];
        let len = zstd_safe::compress(&mut frame[..], bytes, 1).unwrap();
        frame.truncate(len);
        frame
    }

    fn unpack(packed: &[u8]) -> Result<Vec<u8>> {
        let mut bytes = Vec::new();
        unpacked(packed)?.read_to_end(&mut bytes)?;
        Ok(bytes)
    }

    /// Reads one byte at a time.
    struct Slow<'b>(&'b [u8]);

    impl Read for Slow<'_> {
        fn read(&mut self, out: &mut [u8]) -> Result<usize> {
            let len = out.len().min(1);
            self.0.read(&mut out[..len])
        }
    }

    proptest! {
        #[test]
        fn members_come_back_whole_or_not_at_all(
            bytes in prop::collection::vec(prop::sample::select(vec![0u8, 1, 7]), 0..3000),
            more in prop::collection::vec(any::<u8>(), 0..300),
            cut in any::<prop::sample::Index>(),
        ) {
            let first = packed(&bytes);
            let member = [&first[..], &packed(&more)].concat();
            let whole = [&bytes[..], &more].concat();
            prop_assert_eq!(&unpack(&member).unwrap(), &whole);
            let (mut slow, mut found) = (unpacked(Slow(&member)).unwrap(), Vec::<u8>::new());
            let mut room = [0; 7];
            loop {
                match slow.read(&mut room).unwrap() {
                    0 => break,
                    len => found.extend(&room[..len]),
                }
            }
            prop_assert_eq!(&found, &whole);
            let cut = cut.index(member.len());
            match unpack(&member[..cut]) {
                Ok(found) => prop_assert!(cut == 0 && found.is_empty() || cut == first.len() && found == bytes),
                Err(error) => prop_assert!(cut > 0 && error.kind() == ErrorKind::UnexpectedEof),
            }
        }
    }

    #[test]
    fn a_damaged_member_is_an_error() {
        let mut member = packed(&[3; 100]);
        member[0] ^= 1;
        assert_eq!(unpack(&member).unwrap_err().kind(), ErrorKind::InvalidData);
        member[0] ^= 1;
        member.push(0);
        assert!(unpack(&member).is_err(), "a byte after the frame");
    }
}
