//! Zstandard contexts that write to the caller's memory. (C; `unsafe`.)
//!
//! The zstd filter and blosc use it. One context of each kind is kept per thread. Frames of many short
//! matches use our own decoder ([`zstd_sequences`](crate::zstd_sequences)), unless it declines them.
//!
//! This module splits the input into frames, so only zstd frames and skippable frames (RFC 8878 §3) reach the
//! library. A damaged first byte could otherwise select one of the formats from before the standard.

use std::cell::Cell;
use std::mem::MaybeUninit;

use nczarr_codec::OutBuf;
use nczarr_model::{Error, ErrorKind, Result};
use zstd_safe::{CCtx, CParameter, DCtx, ResetDirective};
#[cfg(feature = "zstd")]
use zstd_safe::{DParameter, InBuffer, OutBuffer};

use crate::zstd_sequences::SequenceDecoder;
use crate::{raw_out, thread_cache};

thread_local! {
    static DECODER: Cell<Option<DCtx<'static>>> = const { Cell::new(None) };
    static WALKER: Cell<Option<SequenceDecoder>> = const { Cell::new(None) };
}

/// The free memory of an output, in the library's form.
struct OutputRoom {
    start: *mut u8,
    size: usize,
}

// SAFETY: `start` points to `size` writable bytes as long as a `OutputRoom` lives: it is made inside
// `raw_out::append` only.
unsafe impl zstd_safe::WriteBuf for OutputRoom {
    fn as_slice(&self) -> &[u8] {
        &[]
    }

    fn capacity(&self) -> usize {
        self.size
    }

    fn as_mut_ptr(&mut self) -> *mut u8 {
        self.start
    }

    unsafe fn filled_until(&mut self, _: usize) {}
}

fn failed(what: &str, code: usize) -> Error {
    ErrorKind::Filter.context(format!("zstd: {what}: {}", zstd_safe::get_error_name(code)))
}

/// Appends the data of all frames in `src`, at most `limit` bytes.
pub(crate) fn decode(src: &[u8], limit: usize, dst: &mut OutBuf<'_>) -> Result<()> {
    if src.is_empty() {
        return Err(ErrorKind::Filter.context("zstd: expected a frame, found no bytes"));
    }
    let end = dst.filled().len().saturating_add(limit);
    let make = || DCtx::try_create().ok_or_else(|| ErrorKind::NoMem.context("a zstd decompressor"));
    let mut rest = src;
    while !rest.is_empty() {
        let at = src.len() - rest.len();
        let (frame, after) = match rest.first_chunk::<4>().map(|magic| u32::from_le_bytes(*magic)) {
            Some(0xfd2f_b528) => {
                let len = zstd_safe::find_frame_compressed_size(rest).map_err(|code| {
                    failed(&format!("the frame at byte {at} is damaged or cut short"), code)
                })?;
                rest.split_at_checked(len).ok_or_else(|| cut(at))?
            }
            Some(0x184d_2a50..=0x184d_2a5f) => {
                let len =
                    rest.get(4..).and_then(|rest| rest.first_chunk()).map(|len| u32::from_le_bytes(*len));
                let len =
                    len.and_then(|len| usize::try_from(len).ok()?.checked_add(8)).ok_or_else(|| cut(at))?;
                rest = rest.get(len..).ok_or_else(|| cut(at))?;
                continue;
            }
            _ => return Err(ErrorKind::Filter.context(format!("zstd: there is no frame at byte {at}"))),
        };
        rest = after;
        let room = dst.remaining().min(end - dst.filled().len());
        let declared = zstd_safe::get_frame_content_size(frame).ok().flatten();
        if let Some(declared) = declared.filter(|&declared| declared > room as u64) {
            return Err(ErrorKind::Filter.context(format!(
                "zstd: the frame at byte {at} holds {declared} bytes, more than the {room} expected"
            )));
        }
        if let Some(declared) = declared
            && decode_short_matches(frame, declared as usize, usize::MAX, dst)?
        {
            continue;
        }
        // SAFETY: zstd writes inside the memory it is given and answers how many bytes of it it has written.
        thread_cache::with(&DECODER, make, |context| unsafe {
            raw_out::append(dst, room, |start, size| {
                context
                    .decompress(&mut OutputRoom { start, size }, frame)
                    .map_err(|code| failed(&format!("the frame at byte {at} is damaged or too long"), code))
            })
        })?;
    }
    Ok(())
}

/// Appends the `len` bytes of a frame, or whole blocks from its start until there are `end` bytes, where our
/// own decoder is faster. Returns `false` and appends nothing where it is slower, or where anything is
/// unusual.
fn decode_short_matches(frame: &[u8], len: usize, end: usize, dst: &mut OutBuf<'_>) -> Result<bool> {
    let mut done = None;
    thread_cache::with(
        &WALKER,
        || Ok(SequenceDecoder::new()),
        |decoder| {
            // SAFETY: the decoder has written as many bytes as it says.
            unsafe {
                raw_out::append(dst, len, |start, room| {
                    // SAFETY: so much memory is free there.
                    let out = std::slice::from_raw_parts_mut(start.cast::<MaybeUninit<u8>>(), room);
                    done = decoder.decode(frame, end, out);
                    Ok(done.unwrap_or(0))
                })
            }
        },
    )?;
    Ok(done.is_some())
}

/// Decodes the only frame in `src` until `dst` holds `end` bytes. The frame must state that it holds as many
/// bytes as `dst` has room for. Whole blocks are decoded in place.
///
/// `None`: it is not such a frame, it has a checksum, which would need the whole frame, or it is damaged.
/// Decoding everything reports the error.
#[cfg(feature = "zstd")]
pub(crate) fn decode_start(src: &[u8], end: usize, dst: &mut OutBuf<'_>) -> Option<()> {
    let decoded = dst.remaining();
    let blocks = BlockEnds::of(src)?;
    let declared = zstd_safe::get_frame_content_size(src).ok().flatten();
    let whole =
        declared == Some(decoded as u64) && zstd_safe::find_frame_compressed_size(src) == Ok(src.len());
    if !whole || end > decoded {
        return None;
    }
    if decode_short_matches(src, decoded, end, dst).ok()? {
        return Some(());
    }
    let make = || DCtx::try_create().ok_or_else(|| ErrorKind::NoMem.context("a zstd decompressor"));
    let started = thread_cache::with(&DECODER, make, |context| {
        context.reset(ResetDirective::SessionOnly).map_err(|code| failed("resetting", code))?;
        // The library decodes to the output, not to memory of its own.
        context
            .set_parameter(DParameter::StableOutBuffer(true))
            .map_err(|code| failed("a parameter was refused", code))?;
        // SAFETY: zstd writes inside the memory it is given and answers how many bytes of it it has written.
        unsafe {
            raw_out::append(dst, usize::MAX, |start, size| {
                let (mut room, mut from) = (OutputRoom { start, size }, 0);
                let mut output = OutBuffer::around(&mut room);
                for until in blocks {
                    // Decodes only the data to be read.
                    let mut input = InBuffer::around(src.get(from..until).ok_or_else(|| cut(from))?);
                    context
                        .decompress_stream(&mut output, &mut input)
                        .map_err(|code| failed("the start", code))?;
                    if input.pos() != input.src.len() {
                        return Err(ErrorKind::Filter.context("zstd: the frame ends before its last block"));
                    }
                    if output.pos() >= end {
                        return Ok(output.pos());
                    }
                    from = until;
                }
                Err(ErrorKind::Filter.context("zstd: the frame holds less than its header states"))
            })
        }?;
        context.reset(ResetDirective::SessionOnly).map_err(|code| failed("resetting", code)).map(drop)
    });
    started.ok()
}

/// The ends of the blocks of a frame (RFC 8878 §3.1.1).
#[cfg(feature = "zstd")]
struct BlockEnds<'s> {
    frame: &'s [u8],
    /// Start of the next block; `None` after the last.
    next: Option<usize>,
}

#[cfg(feature = "zstd")]
impl<'s> BlockEnds<'s> {
    /// Returns `None` if it is not a frame, or has a checksum.
    fn of(frame: &'s [u8]) -> Option<Self> {
        let head = *frame.strip_prefix(&0xfd2f_b528_u32.to_le_bytes())?.first()?;
        let (single, checksum) = (head & 0x20 != 0, head & 4 != 0);
        let window = usize::from(!single);
        let dictionary = [0, 1, 2, 4][usize::from(head & 3)];
        let size = [usize::from(single), 2, 4, 8][usize::from(head >> 6)];
        (!checksum).then_some(Self { frame, next: Some(5 + window + dictionary + size) })
    }
}

#[cfg(feature = "zstd")]
impl Iterator for BlockEnds<'_> {
    type Item = usize;

    fn next(&mut self) -> Option<usize> {
        let at = self.next?;
        let &[a, b, c] = self.frame.get(at..)?.first_chunk()?;
        let head = usize::from(a) | usize::from(b) << 8 | usize::from(c) << 16;
        // A block of one repeated byte is stored as that byte.
        let len = if head >> 1 & 3 == 1 { 1 } else { head >> 3 };
        let end = at + 3 + len;
        self.next = (head & 1 == 0).then_some(end);
        Some(end)
    }
}

fn cut(at: usize) -> Error {
    ErrorKind::Filter.context(format!("zstd: the frame at byte {at} is cut short"))
}

thread_local! {
    static ENCODER: Cell<Option<CCtx<'static>>> = const { Cell::new(None) };
}

/// Appends one frame of `src`. An invalid level becomes the nearest valid one.
#[cfg(feature = "zstd")]
pub(crate) fn encode(src: &[u8], level: i32, checksum: bool, dst: &mut OutBuf<'_>) -> Result<()> {
    let remaining = dst.remaining();
    if encode_if_it_fits(src, level, checksum, dst)? {
        Ok(())
    } else {
        Err(ErrorKind::Filter.context(format!("zstd: {} bytes do not fit {remaining} encoded", src.len())))
    }
}

/// As [`encode`]. Returns `false` and appends nothing if the frame does not fit.
pub(crate) fn encode_if_it_fits(
    src: &[u8],
    level: i32,
    checksum: bool,
    dst: &mut OutBuf<'_>,
) -> Result<bool> {
    const NO_ROOM: usize =
        (zstd_safe::zstd_sys::ZSTD_ErrorCode::ZSTD_error_dstSize_tooSmall as usize).wrapping_neg();
    let make = || CCtx::try_create().ok_or_else(|| ErrorKind::NoMem.context("a zstd compressor"));
    thread_cache::with(&ENCODER, make, |context| {
        let level = level.clamp(zstd_safe::min_c_level(), zstd_safe::max_c_level());
        for parameter in [CParameter::CompressionLevel(level), CParameter::ChecksumFlag(checksum)] {
            context.set_parameter(parameter).map_err(|code| failed("a parameter was refused", code))?;
        }
        let mut fits = true;
        // SAFETY: zstd writes inside the memory it is given and answers how many bytes of it it has written.
        unsafe {
            raw_out::append(dst, usize::MAX, |start, size| {
                match context.compress2(&mut OutputRoom { start, size }, src) {
                    Err(NO_ROOM) => {
                        fits = false;
                        Ok(0)
                    }
                    made => made.map_err(|code| failed(&format!("{} bytes into {size}", src.len()), code)),
                }
            })
        }?;
        if !fits {
            // Otherwise the context waits for the rest of the frame.
            context.reset(ResetDirective::SessionOnly).map_err(|code| failed("resetting", code))?;
        }
        Ok(fits)
    })
}

/// Returns the largest frame of `decoded` bytes.
#[cfg(feature = "zstd")]
pub(crate) fn bound(decoded: usize) -> Option<usize> {
    // Beyond its largest input the library returns an error code.
    (decoded <= isize::MAX as usize / 2).then(|| zstd_safe::compress_bound(decoded))
}
