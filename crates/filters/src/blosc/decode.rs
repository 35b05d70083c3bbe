//! Decodes frames, whole or in part, with memory kept per thread.

use std::ops::Range;

use nczarr_codec::OutBuf;
use nczarr_model::{ErrorKind, Result};

use super::frame::{BloscFrame, ShuffleKind, failed};
use super::scratch::{self, AlignedBuffer, BlockScratch};
use super::{bits, ffi};
use crate::transpose;

/// Appends all data of the frame.
pub(super) fn all(frame: &BloscFrame<'_>, dst: &mut OutBuf<'_>) -> Result<()> {
    if let Some(data) = frame.copy() {
        return dst.put(data);
    }
    scratch::with(|scratch| {
        (0..frame.blocks()).try_for_each(|index| block(frame, index, &mut scratch.shuffled, dst))
    })
}

/// Appends these ranges, one after another.
pub(super) fn ranges(frame: &BloscFrame<'_>, wanted: &[Range<usize>], dst: &mut OutBuf<'_>) -> Result<()> {
    if let Some(range) = wanted.iter().find(|range| range.start > range.end || range.end > frame.nbytes()) {
        return Err(ErrorKind::Internal
            .context(format!("blosc: the range {range:?} exceeds the {} bytes", frame.nbytes())));
    }
    if let Some(data) = frame.copy() {
        return wanted.iter().try_for_each(|range| dst.put(&data[range.clone()]));
    }
    scratch::with(|BlockScratch { shuffled, block: memory }| {
        let mut current = None;
        let mut decoded = OutBuf::new(memory.at_least(frame.blocksize()));
        for range in wanted {
            let mut at = range.start;
            while at < range.end {
                let index = at / frame.blocksize();
                let start = index * frame.blocksize();
                let end = start + frame.block_len(index);
                if at == start && range.end >= end && current != Some(index) {
                    block(frame, index, shuffled, dst)?;
                    at = end;
                    continue;
                }
                if current != Some(index) {
                    decoded.clear();
                    block(frame, index, shuffled, &mut decoded)?;
                    current = Some(index);
                }
                let until = range.end.min(end);
                dst.put(&decoded.filled()[at - start..until - start])?;
                at = until;
            }
        }
        Ok(())
    })
}

/// Appends one block.
fn block(
    frame: &BloscFrame<'_>,
    index: usize,
    shuffled: &mut AlignedBuffer,
    dst: &mut OutBuf<'_>,
) -> Result<()> {
    let len = frame.block_len(index);
    let order = frame.order(len);
    if order == ShuffleKind::Plain {
        return streams(frame, index, dst);
    }
    let mut bytes = OutBuf::new(shuffled.at_least(len));
    streams(frame, index, &mut bytes)?;
    match order {
        ShuffleKind::Bits => bits::unshuffle(bytes.filled(), frame.typesize(), dst),
        _ => transpose::unshuffle(bytes.filled(), frame.typesize(), dst),
    }
}

/// Appends the shuffled bytes of a block.
fn streams(frame: &BloscFrame<'_>, index: usize, dst: &mut OutBuf<'_>) -> Result<()> {
    let in_block = |error: nczarr_model::Error| {
        error.at(format!("block {index} is out of range (found {} blocks)", frame.blocks()))
    };
    let streams = frame.streams(index)?;
    let holds = streams.holds();
    for stream in streams {
        let stream = stream.map_err(in_block)?;
        if stream.len() == holds {
            dst.put(stream)?;
            continue;
        }
        let before = dst.filled().len();
        ffi::decompress(frame.format(), stream, holds, dst).map_err(in_block)?;
        let made = dst.filled().len() - before;
        if made != holds {
            return Err(in_block(failed(format!(
                "a stream has a wrong size (expected {holds} bytes, found {made})"
            ))));
        }
    }
    Ok(())
}
