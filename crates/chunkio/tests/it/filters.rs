//! Filters for tests, for every kind of stage and of size bound.

use std::borrow::Cow;
use std::ops::Range;
use std::sync::atomic::AtomicUsize;
use std::sync::atomic::Ordering::SeqCst;

use nczarr_codec::{ChunkInfo, Filter, FilterInfo, Json, Stage, ZarrFormat};
use nczarr_model::{ErrorKind, Result};
use nczarr_runtime::OutBuf;

macro_rules! common {
    ($name:literal) => {
        fn info(&self) -> &FilterInfo {
            static INFO: FilterInfo = FilterInfo::new($name, "a test");
            &INFO
        }

        fn params(&self) -> Cow<'_, [u32]> {
            Cow::Borrowed(&[])
        }

        fn to_json(&self, _: ZarrFormat) -> Json {
            Json::Null
        }
    };
}

/// XOR with a key. The output is as long as the input.
#[derive(Debug, Clone)]
pub struct Xor(pub u8);

impl Filter for Xor {
    common!("xor");

    fn encode_bound(&self, decoded: usize) -> Option<usize> {
        Some(decoded)
    }

    fn encode(&self, src: &[u8], dst: &mut OutBuf<'_>) -> Result<()> {
        dst.extend(src.iter().map(|byte| byte ^ self.0))
    }

    fn decode(&self, src: &[u8], dst: &mut OutBuf<'_>) -> Result<()> {
        self.encode(src, dst)
    }
}

/// Byte shuffle. The engine folds it into its kernel if `declared` is set.
#[derive(Debug, Clone)]
pub struct Shuffle {
    pub item: usize,
    pub declared: bool,
}

impl Filter for Shuffle {
    common!("shuffle");

    fn bind(&mut self, chunk: &ChunkInfo<'_>) -> Result<()> {
        if self.item == 0 {
            self.item = chunk.item_size;
        }
        Ok(())
    }

    fn stage(&self) -> Stage {
        if self.declared { Stage::Transpose { item: self.item } } else { Stage::Opaque }
    }

    fn encode_bound(&self, decoded: usize) -> Option<usize> {
        Some(decoded)
    }

    fn encode(&self, src: &[u8], dst: &mut OutBuf<'_>) -> Result<()> {
        let n = src.len() / self.item;
        dst.extend((0..n * self.item).map(|at| src[at % n * self.item + at / n]))?;
        dst.put(&src[n * self.item..])
    }

    fn decode(&self, src: &[u8], dst: &mut OutBuf<'_>) -> Result<()> {
        let n = src.len() / self.item;
        dst.extend((0..n * self.item).map(|at| src[at % self.item * n + at / self.item]))?;
        dst.put(&src[n * self.item..])
    }
}

/// Reverses the elements. The engine folds it into its kernel.
#[derive(Debug, Clone)]
pub struct Swap(pub usize);

impl Filter for Swap {
    common!("swap");

    fn stage(&self) -> Stage {
        Stage::Swap { item: self.0 }
    }

    fn encode_bound(&self, decoded: usize) -> Option<usize> {
        Some(decoded)
    }

    fn encode(&self, src: &[u8], dst: &mut OutBuf<'_>) -> Result<()> {
        let whole = src.len() / self.0 * self.0;
        dst.extend(src[..whole].chunks(self.0).flat_map(|item| item.iter().rev().copied()))?;
        dst.put(&src[whole..])
    }

    fn decode(&self, src: &[u8], dst: &mut OutBuf<'_>) -> Result<()> {
        self.encode(src, dst)
    }
}

/// Appends a checksum and checks it.
#[derive(Debug, Clone)]
pub struct Sum;

impl Sum {
    fn of(bytes: &[u8]) -> [u8; 4] {
        bytes.iter().fold(7u32, |sum, &byte| sum.wrapping_mul(31).wrapping_add(byte.into())).to_le_bytes()
    }
}

impl Filter for Sum {
    common!("sum");

    fn encode_bound(&self, decoded: usize) -> Option<usize> {
        Some(decoded + 4)
    }

    fn encode(&self, src: &[u8], dst: &mut OutBuf<'_>) -> Result<()> {
        dst.put(src)?;
        dst.put(&Self::of(src))
    }

    fn decode(&self, src: &[u8], dst: &mut OutBuf<'_>) -> Result<()> {
        let Some((bytes, sum)) = src.split_last_chunk::<4>() else {
            return Err(ErrorKind::Filter.context("no sum"));
        };
        if *sum != Self::of(bytes) {
            return Err(ErrorKind::Filter.context("wrong sum"));
        }
        dst.put(bytes)
    }
}

/// Run-length coding without a size bound.
#[derive(Debug, Clone)]
pub struct Runs;

impl Filter for Runs {
    common!("runs");

    fn encode_bound(&self, _: usize) -> Option<usize> {
        None
    }

    fn encode(&self, src: &[u8], dst: &mut OutBuf<'_>) -> Result<()> {
        for run in src.chunk_by(|a, b| a == b) {
            for piece in run.chunks(255) {
                // One byte becomes at most three bytes.
                dst.put(&[piece.len() as u8, piece[0], 0x55])?;
            }
        }
        Ok(())
    }

    fn decode(&self, src: &[u8], dst: &mut OutBuf<'_>) -> Result<()> {
        for piece in src.chunks(3) {
            let &[n, byte, 0x55] = piece else { return Err(ErrorKind::Filter.context("no run")) };
            dst.extend(std::iter::repeat_n(byte, n.into()))?;
        }
        Ok(())
    }
}

/// Decodes parts and counts the decoded bytes.
#[derive(Debug, Clone)]
pub struct Pieces;

pub static DECODED: AtomicUsize = AtomicUsize::new(0);

impl Filter for Pieces {
    common!("pieces");

    fn encode_bound(&self, decoded: usize) -> Option<usize> {
        Some(decoded + 1)
    }

    fn encode(&self, src: &[u8], dst: &mut OutBuf<'_>) -> Result<()> {
        dst.put(&[1])?;
        dst.put(src)
    }

    fn decode(&self, src: &[u8], dst: &mut OutBuf<'_>) -> Result<()> {
        DECODED.fetch_add(src.len() - 1, SeqCst);
        dst.put(&src[1..])
    }

    fn decode_ranges(
        &self,
        src: &[u8],
        decoded: usize,
        wanted: &[Range<usize>],
        dst: &mut OutBuf<'_>,
    ) -> Option<Result<()>> {
        assert_eq!(decoded, src.len() - 1);
        Some(wanted.iter().try_for_each(|range| {
            DECODED.fetch_add(range.len(), SeqCst);
            dst.put(&src[1..][range.clone()])
        }))
    }
}

/// Decodes units of the given number of bytes, at most [`Units::MOST`] bytes at once. It never decodes a
/// whole chunk.
#[derive(Debug, Clone)]
pub struct Units(pub usize);

impl Units {
    pub const MOST: usize = 512 << 10;
}

impl Filter for Units {
    common!("units");

    fn encode_bound(&self, decoded: usize) -> Option<usize> {
        Some(decoded)
    }

    fn encode(&self, src: &[u8], dst: &mut OutBuf<'_>) -> Result<()> {
        dst.extend(src.iter().map(|byte| !byte))
    }

    fn decode(&self, _: &[u8], _: &mut OutBuf<'_>) -> Result<()> {
        Err(ErrorKind::Filter.context("all at once"))
    }

    fn decode_ranges(
        &self,
        src: &[u8],
        decoded: usize,
        wanted: &[Range<usize>],
        dst: &mut OutBuf<'_>,
    ) -> Option<Result<()>> {
        assert_eq!(decoded, src.len());
        Some(wanted.iter().try_for_each(|range| {
            if range.start % self.0 != 0 || range.len() > Self::MOST {
                return Err(ErrorKind::Filter.context(format!("{range:?} are no few units")));
            }
            dst.extend(src[range.clone()].iter().map(|byte| !byte))
        }))
    }

    fn decode_unit(&self, _: &[u8], _: usize) -> Option<usize> {
        Some(self.0)
    }
}

/// Returns filter chain `number` for elements of `item` bytes.
pub fn chain(number: u64, item: usize) -> Vec<Box<dyn Filter>> {
    let shuffle = |declared| Box::new(Shuffle { item, declared });
    match number {
        0 => vec![],
        1 => vec![Box::new(Xor(0x5A))],
        2 => vec![shuffle(true)],
        3 => vec![shuffle(true), Box::new(Xor(0xFF))],
        4 => vec![shuffle(false), Box::new(Sum)],
        5 => vec![Box::new(Runs)],
        6 => vec![shuffle(true), Box::new(Runs), Box::new(Sum), Box::new(Xor(1))],
        7 => vec![Box::new(Swap(item)), shuffle(true), Box::new(Sum)],
        8 => vec![shuffle(true), Box::new(Swap(item)), Box::new(Sum)],
        9 => vec![shuffle(true), shuffle(true)],
        10 => vec![Box::new(Swap(item))],
        11 => vec![Box::new(Pieces)],
        _ => vec![
            Box::new(Shuffle { item: 3, declared: true }),
            Box::new(Swap(16)),
            Box::new(Shuffle { item: 0, declared: true }),
        ],
    }
}

pub const CHAINS: u64 = 13;
