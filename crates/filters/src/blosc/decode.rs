//! Decoding of frames, whole or in parts, with memory kept per thread.

use std::ops::Range;

use nczarr_dispatch::OutBuf;
use nczarr_model::{ErrorKind, Result};

use super::frame::{Frame, Order, failed};
use super::scratch::{self, Memory, Scratch};
use super::{bits, ffi};
use crate::transpose;

/// Appends all that the frame holds.
pub(super) fn all(frame: &Frame<'_>, dst: &mut OutBuf<'_>) -> Result<()> {
    if let Some(data) = frame.copy() {
        return dst.put(data);
    }
    scratch::with(|scratch| (0..frame.blocks()).try_for_each(|index| block(frame, index, &mut scratch.shuffled, dst)))
}

/// Appends these parts, one after another.
pub(super) fn ranges(frame: &Frame<'_>, wanted: &[Range<usize>], dst: &mut OutBuf<'_>) -> Result<()> {
    if let Some(range) = wanted.iter().find(|range| range.start > range.end || range.end > frame.nbytes()) {
        return Err(ErrorKind::Internal.context(format!("blosc: bytes {range:?} of {}", frame.nbytes())));
    }
    if let Some(data) = frame.copy() {
        return wanted.iter().try_for_each(|range| dst.put(&data[range.clone()]));
    }
    scratch::with(|Scratch { shuffled, block: memory }| {
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
fn block(frame: &Frame<'_>, index: usize, shuffled: &mut Memory, dst: &mut OutBuf<'_>) -> Result<()> {
    let len = frame.block_len(index);
    let order = frame.order(len);
    if order == Order::Plain {
        return streams(frame, index, dst);
    }
    let mut bytes = OutBuf::new(shuffled.at_least(len));
    streams(frame, index, &mut bytes)?;
    match order {
        Order::Bits => bits::unshuffle(bytes.filled(), frame.typesize(), dst),
        _ => transpose::unshuffle(bytes.filled(), frame.typesize(), dst),
    }
}

/// Appends the bytes of a block as they were compressed.
fn streams(frame: &Frame<'_>, index: usize, dst: &mut OutBuf<'_>) -> Result<()> {
    let in_block = |error: nczarr_model::Error| error.at(format!("block {index} of {}", frame.blocks()));
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
            return Err(in_block(failed(format!("a stream holds {made} bytes, expected {holds}"))));
        }
    }
    Ok(())
}
