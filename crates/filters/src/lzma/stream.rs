//! Streams of liblzma. Each stream gets its own context.
//!
//! The library allocates a dictionary of the size in the header. Where the header has no checksum, or the
//! description replaces it, the size is limited to that of the output. An xz stream that needs more than
//! [`MEMORY`] is refused.

use liblzma::stream::{Action, Check, Status, Stream};
use nczarr_codec::OutBuf;
use nczarr_model::{Error, ErrorKind, Result};

use super::chain::{self, ChainFilter};
use crate::stream_pump::{PumpStep, pump};

/// Most memory of an xz decoder in bytes: twice that of the largest preset.
const MEMORY: u64 = 128 << 20;

const XZ: &[u8] = b"\xfd7zXZ\0";

/// Appends the data of all xz streams in `src`.
pub(super) fn decode_xz(src: &[u8], dst: &mut OutBuf<'_>) -> Result<()> {
    let mut rest = src;
    loop {
        let at = src.len() - rest.len();
        let stream = Stream::new_stream_decoder(MEMORY, 0).map_err(no_decoder)?;
        let after = decode(stream, &[], rest, at, dst)?;
        // Padding between streams is in units of four zeros.
        let mut padded = after;
        while let Some(next) = padded.strip_prefix(&[0; 4]) {
            padded = next;
        }
        if !padded.starts_with(XZ) {
            return Ok(());
        }
        rest = padded;
    }
}

/// Appends the data of all "alone" streams.
pub(super) fn decode_alone(src: &[u8], dst: &mut OutBuf<'_>) -> Result<()> {
    /// Size of the header: a byte of properties, the dictionary size, the decoded size (all ones if unknown).
    const HEADER: usize = 13;
    let mut rest = src;
    loop {
        let at = src.len() - rest.len();
        let Some((header, body)) = rest.split_first_chunk::<HEADER>() else { return Err(cut(at)) };
        let mut header = *header;
        let room = dst.remaining();
        let [_, dict @ .., _, _, _, _, _, _, _, _] = &mut header;
        let enough = u32::try_from(room).unwrap_or(u32::MAX).max(4096);
        *dict = u32::from_le_bytes(*dict).min(enough).to_le_bytes();
        let holds = header.last_chunk::<8>().map_or(u64::MAX, |holds| u64::from_le_bytes(*holds));
        if holds != u64::MAX && holds > room as u64 {
            return Err(ErrorKind::Filter.context(format!(
                "lzma: the stream at byte {at} holds {holds} bytes, more than the {room} expected"
            )));
        }
        let stream = Stream::new_lzma_decoder(u64::MAX).map_err(no_decoder)?;
        rest = decode(stream, &header, body, at, dst)?;
        if rest.is_empty() {
            return Ok(());
        }
    }
}

/// Appends the data of all raw streams, made with this chain.
pub(super) fn decode_raw(chain: &[ChainFilter], src: &[u8], dst: &mut OutBuf<'_>) -> Result<()> {
    let mut rest = src;
    loop {
        let at = src.len() - rest.len();
        let stream = Stream::new_raw_decoder(&chain::filters(chain, dst.remaining())?).map_err(bad_chain)?;
        rest = decode(stream, &[], rest, at, dst)?;
        if rest.is_empty() {
            return Ok(());
        }
    }
}

/// Appends the data of one stream. It begins at byte `at` with `header` and continues with `src`. Returns the
/// bytes behind it.
fn decode<'a>(
    mut stream: Stream,
    mut header: &[u8],
    src: &'a [u8],
    at: usize,
    dst: &mut OutBuf<'_>,
) -> Result<&'a [u8]> {
    let mut rest = src;
    pump(dst, |block| {
        let (before_in, before_out) = (stream.total_in(), stream.total_out());
        let piece = if header.is_empty() { rest } else { header };
        let status = stream.process(piece, block, Action::Run).map_err(|error| damaged(at, error))?;
        let (taken, made) = (count(stream.total_in() - before_in), count(stream.total_out() - before_out));
        if header.is_empty() {
            rest = &rest[taken..]
        } else {
            header = &header[taken..]
        }
        match status {
            Status::StreamEnd => {}
            _ if taken == 0 && made == 0 => return Err(cut(at)),
            _ => {}
        }
        Ok(PumpStep { made, ended: matches!(status, Status::StreamEnd) })
    })?;
    Ok(rest)
}

/// Appends `src` as one xz stream.
pub(super) fn encode_xz(chain: &[ChainFilter], check: Check, src: &[u8], dst: &mut OutBuf<'_>) -> Result<()> {
    let filters = chain::filters(chain, src.len())?;
    encode(Stream::new_stream_encoder(&filters, check).map_err(bad_chain)?, src, dst)
}

/// Appends `src` as one "alone" stream.
pub(super) fn encode_alone(link: &ChainFilter, src: &[u8], dst: &mut OutBuf<'_>) -> Result<()> {
    let options = chain::options(link, src.len())?;
    encode(Stream::new_lzma_encoder(&options).map_err(bad_chain)?, src, dst)
}

/// Appends `src` as one raw stream.
pub(super) fn encode_raw(chain: &[ChainFilter], src: &[u8], dst: &mut OutBuf<'_>) -> Result<()> {
    let filters = chain::filters(chain, src.len())?;
    encode(Stream::new_raw_encoder(&filters).map_err(bad_chain)?, src, dst)
}

fn encode(mut stream: Stream, src: &[u8], dst: &mut OutBuf<'_>) -> Result<()> {
    let mut rest = src;
    pump(dst, |block| {
        let (before_in, before_out) = (stream.total_in(), stream.total_out());
        let failed = |error| ErrorKind::Filter.context("lzma: encoding failed").caused_by(error);
        let status = stream.process(rest, block, Action::Finish).map_err(failed)?;
        rest = &rest[count(stream.total_in() - before_in)..];
        let made = count(stream.total_out() - before_out);
        Ok(PumpStep { made, ended: matches!(status, Status::StreamEnd) })
    })
}

/// Converts a count of the library, which fits because its bytes fit in memory.
fn count(bytes: u64) -> usize {
    usize::try_from(bytes).expect("a step stays within its memory")
}

fn cut(at: usize) -> Error {
    ErrorKind::Filter.context(format!("lzma: the stream at byte {at} is cut short"))
}

fn damaged(at: usize, error: liblzma::stream::Error) -> Error {
    use liblzma::stream::Error as Lzma;
    match error {
        Lzma::Mem => ErrorKind::NoMem.context("an lzma decoder"),
        Lzma::MemLimit => {
            let most = MEMORY >> 20;
            ErrorKind::Filter
                .context(format!("lzma: the stream at byte {at} wants more than {most} MiB of memory"))
        }
        error => {
            ErrorKind::Filter.context(format!("lzma: the stream at byte {at} is damaged")).caused_by(error)
        }
    }
}

fn no_decoder(error: liblzma::stream::Error) -> Error {
    ErrorKind::NoMem.context("an lzma decoder").caused_by(error)
}

fn bad_chain(error: liblzma::stream::Error) -> Error {
    match error {
        liblzma::stream::Error::Mem => ErrorKind::NoMem.context("an lzma stream"),
        error => ErrorKind::Filter
            .context("lzma: the library refuses the filters, preset or check")
            .caused_by(error),
    }
}
