//! [`check_filter`] and [`check_element_filter`]: the guarantees of [`Filter`] and its class.

pub(crate) mod damage;
pub(crate) mod names;
mod sample;
pub(crate) mod trips;

pub(crate) use sample::noise;

use std::panic::{AssertUnwindSafe, catch_unwind};

use nczarr_codec::{ChunkInfo, Filter, FilterClass, ItemType};
use nczarr_model::{ErrorKind, Result};
use nczarr_runtime::OutBuf;

use crate::failure::{Outcome, broken, fails, ok};

/// Checks a filter class with some lists of HDF5 parameters that it must accept.
///
/// Each list is tried on chunks of many sizes and element sizes. [`Filter::bind`] may refuse some of them
/// (`NC_EFILTER`), but not all. The checks are:
///
/// * Parameters and codec descriptions convert into each other.
/// * Data come back unchanged, and no output is overrun.
/// * The bound and the stage are correct, and parts decode like the whole.
/// * Damaged streams and invalid descriptions give errors or other data, but never a panic.
///
/// # Errors
///
/// The first guarantee that does not hold.
pub fn check_filter(class: &dyn FilterClass, samples: &[&[u32]]) -> Outcome {
    names::check_class(class)?;
    for &params in samples {
        let filter = ok(format!("parameters {params:?} are accepted"), parse(class, params)?)?;
        names::check(class, params, &*filter)?;
        let mut bound = 0;
        for chunk in CHUNKS {
            let mut filter = filter.clone();
            match guarded("bind", || filter.bind(chunk))? {
                Ok(()) => bound += 1,
                Err(error) => {
                    fails(
                        format!("bind to {chunk:?} with {params:?}"),
                        &[ErrorKind::Filter],
                        Err::<(), _>(error),
                    )?;
                    continue;
                }
            }
            let what = format!("{} with {params:?}, {chunk:?}", class.info().name);
            for (kind, data) in sample::data(chunk) {
                let what = format!("{what}, {kind}");
                let encoded = trips::check(&what, &*filter, &data, &data)?;
                damage::check(&what, &*filter, &data, &encoded)?;
            }
            let noise = sample::noise(chunk.chunk_bytes, 99);
            trips::check_threads(&what, filter, &noise, &noise)?;
        }
        if bound == 0 {
            return Err(broken(
                format!("{} with {params:?} binds to some chunk", class.info().name),
                "one",
                bound,
            ));
        }
    }
    damage::check_class(class)
}

/// A filter for elements of a type. It refuses other bytes, and may be lossy.
pub struct ElementFilter<'a> {
    /// HDF5 parameters that it must accept.
    pub params: &'a [u32],
    /// Chunks it must bind to.
    pub chunks: &'a [ChunkInfo<'a>],
    /// Makes acceptable data from random bytes, a chunk at most.
    pub takes: &'a dyn Fn(&[u8]) -> Vec<u8>,
    /// Returns the expected data after a round trip: the same number of bytes, and the same bytes for a
    /// lossless filter.
    pub gives: &'a dyn Fn(&[u8]) -> Vec<u8>,
}

/// Like [`check_filter`], for a filter that works on elements.
///
/// Bytes that are not whole elements must be refused (`NC_EFILTER`) or come back.
///
/// # Errors
///
/// The first guarantee that does not hold.
pub fn check_element_filter(class: &dyn FilterClass, sample: &ElementFilter<'_>) -> Outcome {
    let ElementFilter { params, chunks, takes, gives } = *sample;
    names::check_class(class)?;
    let filter = ok(format!("parameters {params:?} are accepted"), parse(class, params)?)?;
    names::check(class, params, &*filter)?;
    for chunk in chunks {
        let mut filter = filter.clone();
        let what = format!("{} with {params:?}, {chunk:?}", class.info().name);
        ok(format!("{what}: bind"), guarded("bind", || filter.bind(chunk))?)?;
        for len in [0, chunk.item.size, chunk.chunk_bytes] {
            for seed in 0..3 {
                let data = takes(&sample::noise(len, seed));
                let encoded = trips::check(&what, &*filter, &data, &gives(&data))?;
                damage::check(&what, &*filter, &data, &encoded)?;
            }
        }
        for len in [1, 2, 3, chunk.item.size + 1, chunk.chunk_bytes - 1, chunk.chunk_bytes + 1] {
            trips::check_odd(&what, &*filter, &sample::noise(len, 5))?;
        }
        let data = takes(&sample::noise(chunk.chunk_bytes, 99));
        trips::check_threads(&what, filter, &data, &gives(&data))?;
    }
    damage::check_class(class)
}

/// Returns chunks to bind to: element sizes, and counts around the block sizes of kernels.
const CHUNKS: &[ChunkInfo<'_>] = &[
    chunk(1, 1),
    chunk(1, 100),
    chunk(2, 1),
    chunk(2, 33),
    chunk(4, 7),
    chunk(4, 1024),
    chunk(8, 8),
    chunk(8, 1000),
    chunk(4, 20_000),
    chunk(3, 50),
    chunk(16, 65),
];

const fn chunk(item_size: usize, items: usize) -> ChunkInfo<'static> {
    let item = ItemType::bytes(item_size);
    let chunk_bytes = item_size * items;
    ChunkInfo::new(item, items)
        .item_size(item_size)
        .chunk_bytes(chunk_bytes)
        .array_row(Some(items))
        .big_endian(false)
}

fn parse(class: &dyn FilterClass, params: &[u32]) -> Outcome<Result<Box<dyn Filter>>> {
    guarded(&format!("parse_params of {params:?}"), || class.parse_params(params))
}

/// Runs code that must not panic.
pub(crate) fn guarded<T>(what: &str, run: impl FnOnce() -> T) -> Outcome<T> {
    catch_unwind(AssertUnwindSafe(run)).map_err(|panic| {
        let text =
            panic.downcast_ref::<String>().map(String::as_str).or(panic.downcast_ref::<&str>().copied());
        broken(format!("{what} does not panic"), "a value or an error", text.unwrap_or("a panic"))
    })
}

/// Guard bytes behind an output.
const GUARD: usize = 64;
const UNTOUCHED: u8 = 0xa5;

/// Runs a filter with an output of exactly `capacity` bytes; returns the filled part.
pub(crate) fn into_output(
    what: &str,
    capacity: usize,
    run: impl FnOnce(&mut OutBuf<'_>) -> Result<()>,
) -> Outcome<Result<Vec<u8>>> {
    let mut memory = vec![UNTOUCHED; capacity + GUARD];
    let filled = {
        let mut out = OutBuf::from_slice(&mut memory[..capacity]);
        let outcome = guarded(what, || run(&mut out))?;
        outcome.map(|()| out.filled().to_vec())
    };
    if memory[capacity..] != [UNTOUCHED; GUARD] {
        return Err(broken(format!("{what} stays within its output"), "nothing behind it changed", "it did"));
    }
    if let Ok(filled) = &filled
        && filled.len() > capacity
    {
        return Err(broken(format!("{what} stays within its output"), capacity, filled.len()));
    }
    Ok(filled)
}
