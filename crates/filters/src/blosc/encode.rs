//! Makes frames block by block, with memory and contexts kept per thread.
//!
//! Block sizes, the split into streams and compression levels follow the C library, so that other readers
//! meet what they expect. With lz4, lz4hc and blosclz the frames are equal byte for byte. A frame that would
//! be larger than a copy is stored as a copy.
//!
//! Source: c-blosc 1.21.

use std::mem::MaybeUninit;

use nczarr_codec::OutBuf;
use nczarr_model::Result;

use super::compressor::Compressor;
use super::frame::{self, MAX_BLOCK, MAX_BYTES, OVERHEAD, ShuffleKind, VERSION, failed};
use super::scratch::{self, AlignedBuffer};
use super::{bits, ffi};
use crate::transpose;

/// Settings of the encoder.
#[derive(Debug, Clone, Copy)]
pub(super) struct BloscSettings {
    pub(super) compressor: Compressor,
    /// Level, 0 to 9.
    pub(super) level: u32,
    /// Shuffle: 0 none, 1 bytes, 2 bits.
    pub(super) shuffle: u32,
    /// Element size in bytes. 0, and values above 255, count as 1.
    pub(super) typesize: u32,
    /// Block size in bytes; 0: chosen by level and compressor.
    pub(super) blocksize: u32,
}

/// Fewer bytes are copied. Also the shortest stream of a split block.
const LEAST: usize = 128;

/// Appends a frame that holds `src`. The output needs room for [`OVERHEAD`] bytes more.
pub(super) fn frame(how: &BloscSettings, src: &[u8], dst: &mut OutBuf<'_>) -> Result<()> {
    ffi::available(how.compressor)?;
    if src.len() > MAX_BYTES {
        return Err(failed(format!("{} bytes are more than a frame can hold", src.len())));
    }
    if dst.remaining() < src.len() + OVERHEAD {
        return Err(failed(format!(
            "{} bytes and {OVERHEAD} for the header do not fit {}",
            src.len(),
            dst.remaining()
        )));
    }
    let shape = FrameLayout::of(how, src.len());
    dst.fill_with(|room| {
        let copy = src.len() + OVERHEAD;
        let room = &mut room[..copy];
        let made = if how.level == 0 || src.len() < LEAST {
            None
        } else {
            scratch::with(|scratch| shape.blocks(src, &mut scratch.shuffled, room))?
        };
        let len = match made {
            Some(len) => {
                room[..OVERHEAD].write_copy_of_slice(&shape.header(0, len));
                len
            }
            None => {
                room[..OVERHEAD].write_copy_of_slice(&shape.header(frame::FLAG_COPY, copy));
                room[OVERHEAD..].write_copy_of_slice(src);
                copy
            }
        };
        // SAFETY: the header was written here, and all behind it either here or, up to `len`, by `blocks`.
        Ok(unsafe { room[..len].assume_init_mut() })
    })
}

/// The layout of a frame to be made.
struct FrameLayout {
    compressor: Compressor,
    level: u32,
    shuffle: u32,
    typesize: usize,
    nbytes: usize,
    blocksize: usize,
    /// Whether whole blocks are split into a stream for each byte of an element.
    split: bool,
}

impl FrameLayout {
    fn of(how: &BloscSettings, nbytes: usize) -> Self {
        let typesize = if how.typesize > 255 { 1 } else { how.typesize.max(1) as usize };
        let level = how.level.min(9);
        let blocksize = blocksize(how.compressor, level, typesize, nbytes, how.blocksize as usize);
        let split = splits(how.compressor, typesize, blocksize);
        Self { compressor: how.compressor, level, shuffle: how.shuffle, typesize, nbytes, blocksize, split }
    }

    /// Returns the header of a frame of `len` bytes.
    fn header(&self, more_flags: u8, len: usize) -> [u8; OVERHEAD] {
        let mut flags = more_flags | ffi::format(self.compressor) << 5;
        if !self.split {
            flags |= frame::FLAG_ONE_STREAM;
        }
        flags |= match self.shuffle {
            0 => 0,
            1 => frame::FLAG_BYTES,
            _ => frame::FLAG_BITS,
        };
        let mut header = [0; OVERHEAD];
        header[..4].copy_from_slice(&[VERSION, 1, flags, self.typesize as u8]);
        for (place, number) in
            header[4..].as_chunks_mut().0.iter_mut().zip([self.nbytes, self.blocksize, len])
        {
            *place = bytes_of(number);
        }
        header
    }

    /// Writes everything behind the header. Returns the frame's length, or `None` if it does not fit.
    fn blocks(
        &self,
        src: &[u8],
        shuffled: &mut AlignedBuffer,
        room: &mut [MaybeUninit<u8>],
    ) -> Result<Option<usize>> {
        let size = room.len();
        let count = self.nbytes.div_ceil(self.blocksize);
        let Some((table, mut rest)) = room[OVERHEAD..].split_at_mut_checked(4 * count) else {
            return Ok(None);
        };
        for (block, place) in src.chunks(self.blocksize).zip(table.as_chunks_mut::<4>().0) {
            place.write_copy_of_slice(&bytes_of(size - rest.len()));
            let mut in_order = OutBuf::new(shuffled.at_least(block.len()));
            let bytes = match self.order(block.len()) {
                ShuffleKind::Plain => block,
                ShuffleKind::Bytes => {
                    transpose::shuffle(block, self.typesize, &mut in_order)?;
                    in_order.filled()
                }
                ShuffleKind::Bits => {
                    bits::shuffle(block, self.typesize, &mut in_order)?;
                    in_order.filled()
                }
            };
            let streams = if self.split && block.len() == self.blocksize { self.typesize } else { 1 };
            for stream in bytes.chunks_exact(block.len() / streams) {
                match self.stream(stream, rest)? {
                    Some(left) => rest = left,
                    None => return Ok(None),
                }
            }
        }
        Ok(Some(size - rest.len()))
    }

    /// Writes a stream with its length before it. Returns the rest of the memory, or `None` if it does not
    /// fit.
    fn stream<'a>(
        &self,
        bytes: &[u8],
        room: &'a mut [MaybeUninit<u8>],
    ) -> Result<Option<&'a mut [MaybeUninit<u8>]>> {
        let Some((place, rest)) = room.split_first_chunk_mut::<4>().filter(|(_, rest)| !rest.is_empty())
        else {
            return Ok(None);
        };
        let most = ffi::most(self.compressor, bytes.len()).min(rest.len());
        let mut out = OutBuf::new(&mut rest[..most]);
        let made = if ffi::compress(self.compressor, self.level, self.split, bytes, &mut out)? {
            out.filled().len()
        } else {
            0
        };
        // A stream as long as its data is a copy.
        let made = if made == 0 || made >= bytes.len() { bytes.len() } else { made };
        if made == bytes.len() {
            let Some(copy) = rest.get_mut(..made) else { return Ok(None) };
            copy.write_copy_of_slice(bytes);
        }
        place.write_copy_of_slice(&bytes_of(made));
        Ok(Some(&mut rest[made..]))
    }

    /// Returns the shuffle of a block of this length.
    fn order(&self, block_len: usize) -> ShuffleKind {
        match self.shuffle {
            1 if self.typesize > 1 => ShuffleKind::Bytes,
            2 if block_len >= self.typesize => ShuffleKind::Bits,
            _ => ShuffleKind::Plain,
        }
    }
}

/// Returns a number as four bytes. None is larger than [`MAX_BYTES`] and a header.
fn bytes_of(number: usize) -> [u8; 4] {
    (number as u32).to_le_bytes()
}

/// Whether whole blocks of this length are split into streams.
fn splits(compressor: Compressor, typesize: usize, blocksize: usize) -> bool {
    compressor != Compressor::Zstd && typesize <= 16 && blocksize / typesize >= LEAST
}

/// Returns the block size in bytes. `wanted` is the filter's parameter, or 0.
fn blocksize(compressor: Compressor, level: u32, typesize: usize, nbytes: usize, wanted: usize) -> usize {
    const NEAR: usize = 32 << 10;
    if nbytes < typesize {
        return 1;
    }
    let mut size = nbytes;
    if wanted > 0 {
        size = wanted.clamp(LEAST, MAX_BLOCK);
    } else if nbytes >= NEAR {
        // Slow compressors use large blocks.
        let slow = matches!(compressor, Compressor::Lz4Hc | Compressor::Zlib | Compressor::Zstd);
        let base = if slow { 2 * NEAR } else { NEAR };
        size = match level {
            0 => base / 4,
            1 => base / 2,
            2 => base,
            3 => base * 2,
            4 | 5 => base * 4,
            9 if slow => base * 16,
            _ => base * 8,
        };
    }
    if level > 0 && splits(compressor, typesize, size) {
        // `size` was the size of a stream.
        size = (size.min(256 << 10) * typesize).clamp(64 << 10, 1 << 20);
    }
    size = size.min(nbytes);
    if size > typesize { size / typesize * typesize } else { size }
}

#[cfg(test)]
mod tests {
    use super::super::{decode, reference};
    use super::*;
    use crate::blosc::frame::BloscFrame;
    use proptest::prelude::*;

    fn make(how: &BloscSettings, src: &[u8]) -> Vec<u8> {
        let mut memory = vec![MaybeUninit::uninit(); src.len() + OVERHEAD + 3];
        let mut out = OutBuf::new(&mut memory);
        frame(how, src, &mut out).unwrap_or_else(|error| panic!("{how:?}, {} bytes: {error}", src.len()));
        out.filled().to_vec()
    }

    fn read(frame: &[u8], len: usize) -> Vec<u8> {
        let mut memory = vec![MaybeUninit::uninit(); len];
        let mut out = OutBuf::new(&mut memory);
        decode::all(&BloscFrame::parse(frame).unwrap(), &mut out).unwrap();
        out.filled().to_vec()
    }

    /// Checks that the C library reads our frames, that we read its frames, and that both are equal.
    fn check(how: &BloscSettings, src: &[u8]) {
        let what = format!("{how:?}, {} bytes", src.len());
        let (ours, theirs) = (make(how, src), reference::compress(how, src));
        assert!(
            reference::decompress(&ours, src.len()).as_deref() == Some(src),
            "{what}: the C library reads it"
        );
        assert!(read(&ours, src.len()) == src, "{what}: we read it");
        assert!(read(&theirs, src.len()) == src, "{what}: we read the C library's");
        match how.compressor {
            Compressor::Lz4 | Compressor::Lz4Hc | Compressor::BloscLz => {
                assert!(
                    ours == theirs,
                    "{what}: {} bytes are the {} of the C library",
                    ours.len(),
                    theirs.len()
                );
            }
            // Streams may differ in length, so one frame may be a copy and the other not.
            _ if (ours[2] ^ theirs[2]) & frame::FLAG_COPY != 0 => {}
            _ => assert_eq!(ours[..12], theirs[..12], "{what}: headers"),
        }
    }

    const COMPRESSORS: &[Compressor] = &[
        Compressor::BloscLz,
        Compressor::Lz4,
        Compressor::Lz4Hc,
        #[cfg(feature = "blosc-snappy")]
        Compressor::Snappy,
        Compressor::Zlib,
        Compressor::Zstd,
    ];

    fn noise(len: usize) -> Vec<u8> {
        let mut x = 1u64;
        let next = |_| {
            x = x.wrapping_mul(6364136223846793005).wrapping_add(1442695040888963407);
            (x >> 56) as u8
        };
        (0..len).map(next).collect()
    }

    /// Makes numbers like measurements: waves, with some noise in the lowest bits.
    fn waves(len: usize) -> Vec<u8> {
        let value = |(i, noise): (usize, u8)| {
            ((i as f32 / 50.0).sin() * 3000.0 + f32::from(noise) / 64.0).round().to_le_bytes()
        };
        let mut bytes: Vec<u8> = noise(len / 4 + 1).into_iter().enumerate().flat_map(value).collect();
        bytes.truncate(len);
        bytes
    }

    #[test]
    fn block_sizes_equal_the_c_library() {
        let zeros = vec![0; (1 << 20) + 40];
        let lens = [0, 1, 7, 127, 128, 129, 4000, (32 << 10) - 1, 32 << 10, 100_000, 300_001, zeros.len()];
        for &compressor in COMPRESSORS {
            for level in 0..=9 {
                for (typesize, blocksize) in
                    [(1, 0), (2, 0), (2, 5000), (4, 0), (7, 100), (8, 0), (16, 0), (17, 0), (255, 0)]
                {
                    let how = BloscSettings { compressor, level, shuffle: 0, typesize, blocksize };
                    // The largest size takes long and covers no more code.
                    for &len in &lens[..lens.len() - usize::from(typesize != 4)] {
                        let theirs = reference::compress(&how, &zeros[..len]);
                        let flags = theirs[2] & frame::FLAG_COPY;
                        let ours = FrameLayout::of(&how, len).header(flags, theirs.len());
                        assert_eq!(ours, theirs[..OVERHEAD], "{how:?}, {len} bytes");
                    }
                }
            }
        }
    }

    #[test]
    fn frames_equal_the_c_library() {
        let (noise, waves) = (noise(1 << 20), waves(1 << 20));
        for &compressor in COMPRESSORS {
            for level in [0, 1, 5, 9] {
                for shuffle in 0..=2 {
                    for (typesize, blocksize) in
                        [(0, 0), (1, 0), (2, 0), (3, 200), (4, 0), (8, 9000), (16, 0), (300, 0)]
                    {
                        let how = BloscSettings { compressor, level, shuffle, typesize, blocksize };
                        // More than one block, except for the slowest settings.
                        let largest = if level == 5 && typesize == 4 { 600_003 } else { 20_001 };
                        for len in [0, 1, 100, 128, 131, 5000, largest] {
                            check(&how, &noise[..len]);
                            check(&how, &waves[..len]);
                        }
                    }
                }
            }
        }
        let how =
            BloscSettings { compressor: Compressor::Lz4, level: 5, shuffle: 1, typesize: 4, blocksize: 0 };
        check(&how, &[waves.clone(), noise, waves].concat());
    }

    #[test]
    fn incompressible_data_are_stored_as_a_copy() {
        for len in [20, 127, 200, 70_000] {
            let data = noise(len);
            for &compressor in COMPRESSORS {
                let how = BloscSettings { compressor, level: 5, shuffle: 1, typesize: 4, blocksize: 0 };
                let made = make(&how, &data);
                assert_eq!(made.len(), len + OVERHEAD, "{how:?}");
                assert_eq!(made[OVERHEAD..], data, "{how:?}");
            }
        }
    }

    proptest! {
        #![proptest_config(ProptestConfig::with_cases(200))]

        #[test]
        fn any_data_both_ways(
            pieces in proptest::collection::vec((0u8..4, 0usize..3000, any::<u8>()), 0..20),
            which in any::<prop::sample::Index>(),
            level in 0u32..8,
            shuffle in 0u32..3,
            typesize in 0u32..20,
            blocksize in prop_oneof![Just(0u32), 1u32..9000],
        ) {
            let compressor = *which.get(COMPRESSORS);
            let mut data = Vec::new();
            for (kind, len, byte) in pieces {
                match kind {
                    0 => data.extend(std::iter::repeat_n(byte, len)),
                    1 => data.extend(noise(len)),
                    2 => data.extend(waves(len)),
                    _ => data.extend((0..len).map(|i| (i as u8) & 7 ^ byte)),
                }
            }
            check(&BloscSettings { compressor, level, shuffle, typesize, blocksize }, &data);
        }
    }
}
