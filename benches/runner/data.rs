//! The operations on data: whole arrays, parts, strides, conversion and appending.

use std::fs::File;
use std::io::Read;

use bytemuck::{AnyBitPattern, cast_slice};
use nczarr::{Array, CreateOptions, Error, Extent, Number, OpenOptions, Place, Result, Variable};

use super::Op;
use super::measure::{Clock, Outcome};

/// Runs `$body` with `$t` as the element type that `--dtype` names.
macro_rules! typed {
    ($op:expr, $t:ident => $body:expr) => {
        match $op.dtype.trim_start_matches('>') {
            "f8" => {
                type $t = f64;
                $body
            }
            "i2" => {
                type $t = i16;
                $body
            }
            _ => {
                type $t = f32;
                $body
            }
        }
    };
}

pub fn write(op: &Op) -> Result<Outcome> {
    typed!(op, T => {
        let values: Vec<T> = load(op, op.shape.iter().product())?;
        let clock = Clock::start();
        let file = options(op).create(Place::url(op.url()))?;
        op.define(&file, false)?.put(&values, ..)?;
        file.close()?;
        Ok(clock.stop().saw([cast_slice(&values)]))
    })
}

pub fn read(op: &Op) -> Result<Outcome> {
    typed!(op, T => {
        let clock = Clock::start();
        let array = variable(op, 0)?.get::<T>(..)?;
        Ok(clock.stop().saw([cast_slice(array.as_slice())]))
    })
}

pub fn convert(op: &Op) -> Result<Outcome> {
    let clock = Clock::start();
    let array = variable(op, 0)?.get_linear::<f64>(.., 0.005, 273.0)?;
    Ok(clock.stop().saw([cast_slice(array.as_slice())]))
}

pub fn strided(op: &Op) -> Result<Outcome> {
    let extents: Vec<Extent> =
        op.stride.iter().map(|&step| Extent::Strided { start: 0, count: None, stride: step }).collect();
    typed!(op, T => {
        let clock = Clock::start();
        let array = variable(op, 0)?.get::<T>(&extents[..])?;
        Ok(clock.stop().saw([cast_slice(array.as_slice())]))
    })
}

pub fn access(op: &Op) -> Result<Outcome> {
    typed!(op, T => access_typed::<T>(op))
}

fn access_typed<T: Number + AnyBitPattern + bytemuck::NoUninit>(op: &Op) -> Result<Outcome> {
    if op.is_file() {
        return access_into::<T>(op);
    }
    if op.op == "elem" {
        let (done, values) = each(op, |var, place| var.get_value::<T>(place))?;
        return Ok(done.saw([cast_slice(&values)]));
    }
    let (done, parts) = each(op, |var, place| var.get::<T>(place))?;
    Ok(done.saw(parts.iter().map(|part: &Array<T>| cast_slice(part.as_slice()))))
}

/// Reads every place into memory that is allocated before, as the runners of files do.
fn access_into<T: Number + AnyBitPattern + bytemuck::NoUninit>(op: &Op) -> Result<Outcome> {
    let len = counts(op).iter().product::<u64>() as usize;
    let mut memory: Vec<T> = Vec::new();
    memory.resize_with(len * op.count as usize, || bytemuck::pod_read_unaligned(&[1; 8][..size_of::<T>()]));
    let mut next = 0;
    let (done, _) = each(op, |var, place| {
        let at = next % op.count as usize * len;
        next += 1;
        var.get_into(&mut memory[at..at + len], place)
    })?;
    Ok(done.saw([cast_slice(&memory)]))
}

/// Reads every place in the way that `--mode` names.
fn each<R>(op: &Op, mut read: impl FnMut(&Variable, &[Extent]) -> Result<R>) -> Result<(Outcome, Vec<R>)> {
    let places = places(op);
    let mut parts = Vec::with_capacity(places.len());
    if op.mode == "cold" {
        let clock = Clock::start();
        for place in &places {
            parts.push(read(&opener(op, 0).open_data(Place::url(op.url()), "v")?, place)?);
        }
        return Ok((clock.stop().times(op.count), parts));
    }
    let warm = op.mode == "warm";
    let var = variable(op, if warm { op.cache } else { 0 })?;
    if warm {
        for place in &places {
            read(&var, place)?;
        }
    }
    let clock = Clock::start();
    for place in &places {
        parts.push(read(&var, place)?);
    }
    // The measurement ends before the caches are released.
    Ok((clock.stop().times(op.count), parts))
}

pub fn open(op: &Op) -> Result<Outcome> {
    let clock = Clock::start();
    for _ in 0..op.count {
        opener(op, 0).open_variable(Place::url(op.url()), "v")?;
    }
    Ok(clock.stop().times(op.count))
}

pub fn append(op: &Op) -> Result<Outcome> {
    let record: u64 = op.shape.iter().skip(1).product();
    typed!(op, T => {
        let values: Vec<T> = load(op, record * op.count)?;
        let clock = Clock::start();
        let file = options(op).create(Place::url(op.url()))?;
        let var = op.define(&file, true)?;
        let mut place: Vec<Extent> = op.shape.iter().map(|&len| Extent::Range { start: 0, end: len }).collect();
        for (i, part) in values.chunks(record as usize).enumerate() {
            place[0] = Extent::Range { start: i as u64, end: i as u64 + 1 };
            var.put(part, &place[..])?;
        }
        file.close()?;
        Ok(clock.stop().saw([cast_slice(&values)]).times(op.count))
    })
}

fn options(op: &Op) -> CreateOptions {
    CreateOptions::new().clobber(true).threads(op.threads)
}

/// Opens the array for its data, as the runners of arrays do. The cache holds `cache` bytes of decoded
/// chunks.
fn variable(op: &Op, cache: usize) -> Result<Variable> {
    opener(op, cache).open_data(Place::url(op.url()), "v")
}

fn opener(op: &Op, cache: usize) -> OpenOptions {
    OpenOptions::new().threads(op.threads).cache_bytes(cache)
}

/// The shape of the parts to read.
fn counts(op: &Op) -> Vec<u64> {
    let rank = op.shape.len();
    let mut counts = vec![1; rank];
    match op.op.as_str() {
        "row" => counts[rank - 1] = op.shape[rank - 1],
        "series" => counts[0] = op.shape[0],
        "box" => counts.clone_from(&op.box_shape),
        _ => {}
    }
    counts
}

/// The parts to read. A linear congruential sequence gives one position for each axis that is not read whole.
fn places(op: &Op) -> Vec<Vec<Extent>> {
    let counts = counts(op);
    let mut state = op.seed;
    let mut below = |n: u64| {
        state = state.wrapping_mul(6364136223846793005).wrapping_add(1442695040888963407);
        (state >> 33) % n
    };
    (0..op.count)
        .map(|_| {
            (counts.iter().zip(&op.shape))
                .map(|(&count, &len)| {
                    let whole = count == len && count != 1 && op.op != "box";
                    let start = if whole { 0 } else { below(len - count + 1) };
                    Extent::Range { start, end: start + count }
                })
                .collect()
        })
        .collect()
}

/// Returns `elements` elements of the data file and repeats the file as often as needed.
fn load<T: AnyBitPattern + bytemuck::NoUninit + Default + Clone>(op: &Op, elements: u64) -> Result<Vec<T>> {
    let failed = |source| Error::io(format!("--data {}", op.data), source);
    let mut values = vec![T::default(); elements as usize];
    let bytes: &mut [u8] = bytemuck::cast_slice_mut(&mut values);
    let mut filled = 0;
    while filled < bytes.len() {
        let mut file = File::open(&op.data).map_err(failed)?;
        let before = filled;
        loop {
            match file.read(&mut bytes[filled..]).map_err(failed)? {
                0 => break,
                n => filled += n,
            }
        }
        if filled == before {
            return Err(nczarr::ErrorKind::NoData.context(format!("--data {} is empty", op.data)));
        }
    }
    Ok(values)
}
