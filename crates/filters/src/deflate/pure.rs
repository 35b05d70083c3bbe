//! flate2 with its pure Rust backend, for builds without C. (`unsafe` only to write into unzeroed memory.)
//!
//! One compressor and one decompressor are kept per thread and reset. They handle bare deflate or zlib
//! streams. The gzip header and trailer are handled here, because a reset forgets them.

use std::cell::Cell;
use std::mem::MaybeUninit;

use flate2::{Compress, Compression, Crc, Decompress, FlushCompress, FlushDecompress, Status};
use nczarr_codec::OutBuf;
use nczarr_model::Result;

use super::Wrap;
use crate::{raw_out, thread_cache};

/// A compressor, with its wrapper and level.
type Compressor = (Wrap, u32, Compress);

thread_local! {
    static DECOMPRESSOR: Cell<Option<Decompress>> = const { Cell::new(None) };
    static COMPRESSOR: Cell<Option<Compressor>> = const { Cell::new(None) };
}

/// Returns the largest size of `decoded` bytes: 9 bits for each byte, and the wrapper.
pub(crate) fn bound(_wrap: Wrap, decoded: usize) -> Option<usize> {
    decoded.checked_add(decoded / 8)?.checked_add(64)
}

/// Appends the stream of `src`.
pub(crate) fn encode(wrap: Wrap, level: u32, src: &[u8], dst: &mut OutBuf<'_>) -> Result<()> {
    if wrap == Wrap::Gzip {
        // No name, time or operating system: equal data give equal streams.
        dst.put(&[0x1f, 0x8b, 8, 0, 0, 0, 0, 0, 0, 0xff])?;
    }
    let make = || Ok((wrap, level, Compress::new(Compression::new(level), wrap == Wrap::Zlib)));
    thread_cache::with(&COMPRESSOR, make, |kept| {
        if (kept.0, kept.1) == (wrap, level) {
            kept.2.reset();
        } else {
            *kept = make()?;
        }
        let context = &mut kept.2;
        let mut rest = src;
        loop {
            let status = append(dst, |out| {
                let (before_in, before_out) = (context.total_in(), context.total_out());
                let status = context.compress_uninit(rest, out, FlushCompress::Finish);
                rest = &rest[(context.total_in() - before_in) as usize..];
                (status, (context.total_out() - before_out) as usize)
            })?;
            match status {
                Ok(Status::StreamEnd) => return Ok(()),
                Ok(_) if dst.remaining() == 0 => return Err(wrap.no_room(dst.capacity())),
                Ok(Status::Ok) => {}
                Ok(Status::BufError) => return Err(wrap.no_room(dst.capacity())),
                Err(error) => return Err(wrap.damaged().caused_by(error)),
            }
        }
    })?;
    if wrap == Wrap::Gzip {
        dst.put(&trailer(src))?;
    }
    Ok(())
}

/// Appends one stream. Returns the number of bytes of `src` used.
pub(crate) fn decode(wrap: Wrap, src: &[u8], dst: &mut OutBuf<'_>) -> Result<usize> {
    let header = match wrap {
        Wrap::Zlib => 0,
        Wrap::Gzip => gzip_header(src).ok_or_else(|| wrap.damaged())?,
    };
    let start = dst.filled().len();
    let room = dst.remaining();
    let body = inflate(wrap, &src[header..], dst)
        .map_err(|overrun| if overrun { wrap.overrun(room) } else { wrap.damaged() })?;
    if wrap == Wrap::Zlib {
        return Ok(body);
    }
    let end = header + body;
    match src[end..].first_chunk::<8>() {
        Some(found) if *found == trailer(&dst.filled()[start..]) => Ok(end + 8),
        _ => Err(wrap.damaged()),
    }
}

/// Appends the data of one stream and returns its length. `Err(true)`: the data exceed the room.
fn inflate(wrap: Wrap, src: &[u8], dst: &mut OutBuf<'_>) -> Result<usize, bool> {
    let zlib = wrap == Wrap::Zlib;
    let mut overrun = false;
    let mut rest = src;
    let outcome = thread_cache::with(
        &DECOMPRESSOR,
        || Ok(Decompress::new(zlib)),
        |context| {
            context.reset(zlib);
            loop {
                let room = dst.remaining();
                let mut beyond = [MaybeUninit::uninit(); 1];
                let mut step = |out: &mut [MaybeUninit<u8>]| {
                    let (before_in, before_out) = (context.total_in(), context.total_out());
                    let status = context.decompress_uninit(rest, out, FlushDecompress::Finish);
                    rest = &rest[(context.total_in() - before_in) as usize..];
                    (status, (context.total_out() - before_out) as usize)
                };
                let (status, made) = match room {
                    // A full output is right if no more data come.
                    0 => step(&mut beyond),
                    _ => {
                        let before = dst.filled().len();
                        let status = append(dst, step)?;
                        (status, dst.filled().len() - before)
                    }
                };
                overrun = room == 0 && made > 0;
                match status {
                    _ if overrun => return Err(wrap.overrun(dst.capacity())),
                    Ok(Status::StreamEnd) => return Ok(()),
                    Ok(_) if made > 0 || room > 0 && dst.remaining() == 0 => {}
                    _ => return Err(wrap.damaged()),
                }
            }
        },
    );
    match outcome {
        Ok(()) => Ok(src.len() - rest.len()),
        Err(_) => Err(overrun),
    }
}

/// Calls `step` with the room of `dst`. It returns a value and the number of bytes written.
fn append<R>(dst: &mut OutBuf<'_>, step: impl FnOnce(&mut [MaybeUninit<u8>]) -> (R, usize)) -> Result<R> {
    let mut answer = None;
    // SAFETY: flate2 counts what it has initialised from the start of the memory it is given.
    unsafe {
        raw_out::append(dst, usize::MAX, |start, room| {
            // SAFETY: `room` bytes from `start` are ours to write.
            let (status, made) = step(std::slice::from_raw_parts_mut(start.cast(), room));
            answer = Some(status);
            Ok(made)
        })?;
    }
    Ok(answer.expect("the closure was called"))
}

/// Returns the trailer of a member: CRC-32 and length of its data.
fn trailer(data: &[u8]) -> [u8; 8] {
    let mut crc = Crc::new();
    crc.update(data);
    let mut trailer = [0; 8];
    trailer[..4].copy_from_slice(&crc.sum().to_le_bytes());
    trailer[4..].copy_from_slice(&(data.len() as u32).to_le_bytes());
    trailer
}

/// Returns the length of a member's header (RFC 1952 §2.3), or `None` if it is invalid. Its own checksum is
/// not verified.
fn gzip_header(src: &[u8]) -> Option<usize> {
    let flags = match src.first_chunk::<10>()? {
        [0x1f, 0x8b, 8, flags, ..] if flags & 0xe0 == 0 => flags,
        _ => return None,
    };
    let mut at = 10;
    if flags & 4 != 0 {
        let len = src.get(at..)?.first_chunk::<2>()?;
        at += 2 + usize::from(u16::from_le_bytes(*len));
    }
    for text in [8, 16] {
        if flags & text != 0 {
            at += src.get(at..)?.iter().position(|&byte| byte == 0)? + 1;
        }
    }
    if flags & 2 != 0 {
        at += 2;
    }
    (at <= src.len()).then_some(at)
}
