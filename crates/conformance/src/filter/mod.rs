//! [`check_filter`]: the guarantees of [`Filter`] and its class.

mod damage;
mod names;
mod sample;
mod trips;

use std::panic::{AssertUnwindSafe, catch_unwind};

use dispatch::{ChunkInfo, Filter, FilterClass, ItemType, OutBuf};
use model::{ErrorKind, Result};

use crate::failure::{Outcome, broken, fails, ok};

/// Checks a filter class with some lists of HDF5 parameters that it must accept.
///
/// Every list is tried on chunks of many sizes and element sizes; one that [`Filter::bind`] refuses for some of
/// them (`NC_EFILTER`) is left out there, but not everywhere. Checked are: that parameters and codec descriptions
/// say the same in both directions, that data come back as they were, that no output is overrun, that the bound
/// and the stage are true, that parts decode as the whole does, and that damaged streams and senseless
/// descriptions are errors or other data, but never a panic.
///
/// # Errors
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
                    fails(format!("bind to {chunk:?} with {params:?}"), &[ErrorKind::Filter], Err::<(), _>(error))?;
                    continue;
                }
            }
            let what = format!("{} with {params:?}, {chunk:?}", class.info().name);
            for (kind, data) in sample::data(chunk) {
                let what = format!("{what}, {kind}");
                let encoded = trips::check(&what, &*filter, &data)?;
                damage::check(&what, &*filter, &data, &encoded)?;
            }
            trips::check_threads(&what, filter, &sample::noise(chunk.chunk_bytes, 99))?;
        }
        if bound == 0 {
            return Err(broken(format!("{} with {params:?} binds to some chunk", class.info().name), "one", bound));
        }
    }
    damage::check_class(class)
}

/// Chunks to bind to: sizes of elements, and numbers of them around the sizes that kernels work in.
const CHUNKS: &[ChunkInfo] = &[
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

const fn chunk(item_size: usize, items: usize) -> ChunkInfo {
    let item = ItemType::bytes(item_size);
    ChunkInfo { item_size, chunk_bytes: item_size * items, row: items, line: Some(items), big_endian: false, item }
}

fn parse(class: &dyn FilterClass, params: &[u32]) -> Outcome<Result<Box<dyn Filter>>> {
    guarded(&format!("parse_params of {params:?}"), || class.parse_params(params))
}

/// Runs code that must not panic.
fn guarded<T>(what: &str, run: impl FnOnce() -> T) -> Outcome<T> {
    catch_unwind(AssertUnwindSafe(run)).map_err(|panic| {
        let text = panic.downcast_ref::<String>().map(String::as_str).or(panic.downcast_ref::<&str>().copied());
        broken(format!("{what} does not panic"), "a value or an error", text.unwrap_or("a panic"))
    })
}

/// Bytes behind an output that must stay as they are.
const GUARD: usize = 64;
const UNTOUCHED: u8 = 0xa5;

/// Runs a filter into an output of exactly `capacity` bytes; what it filled.
fn into_output(
    what: &str,
    capacity: usize,
    run: impl FnOnce(&mut OutBuf<'_>) -> Result<()>,
) -> Outcome<Result<Vec<u8>>> {
    let mut memory = vec![UNTOUCHED; capacity + GUARD];
    let filled = {
        let mut out = OutBuf::over(&mut memory[..capacity]);
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
