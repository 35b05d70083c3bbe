//! Random histories of one array against a plain vector of elements.

use std::mem::MaybeUninit;
use std::sync::Arc;
use std::sync::atomic::Ordering;

use nczarr_chunkio::{ChunkedArray, ElementLayout};
use nczarr_dispatch::{Linear, MemMut, VarData};
use nczarr_model::{ErrorKind, NcType, Scalar, Slab, Values, convert};
use nczarr_runtime::OutBuf;

use crate::filters::{CHAINS, chain};
use crate::map::{ALL, Mem};
use crate::random::Random;
use crate::shards::shards;
use crate::support::{Setup, get, put};

pub const NUMBERS: [NcType; 10] = [
    NcType::Byte,
    NcType::UByte,
    NcType::Short,
    NcType::UShort,
    NcType::Int,
    NcType::UInt,
    NcType::Int64,
    NcType::UInt64,
    NcType::Float,
    NcType::Double,
];

/// The array as a map of elements, each in native bytes of the stored type.
struct Oracle {
    shape: Vec<u64>,
    ty: NcType,
    fill: Vec<u8>,
    /// The elements by index. Missing elements have the fill value.
    elements: std::collections::HashMap<Vec<u64>, Vec<u8>>,
}

pub fn row(from: NcType, to: NcType, value: &[u8]) -> (Vec<u8>, bool) {
    let mut out = vec![MaybeUninit::new(0); to.size().unwrap()];
    let range = convert::read_row(from, to, false).unwrap()(value, &mut out);
    // SAFETY: the vector was initialised when it was created.
    (out.into_iter().map(|byte| unsafe { byte.assume_init() }).collect(), range)
}

pub fn indices(slab: &Slab<'_>) -> Vec<Vec<u64>> {
    let mut list = vec![Vec::new()];
    for dim in 0..slab.rank() {
        list = list
            .into_iter()
            .flat_map(|index: Vec<u64>| {
                (0..slab.count[dim]).map(move |i| {
                    let mut index = index.clone();
                    index.push(slab.start[dim] + i * slab.step(dim));
                    index
                })
            })
            .collect();
    }
    list
}

impl Oracle {
    fn get(&self, slab: &Slab<'_>, to: NcType) -> (Vec<u8>, bool) {
        let (mut bytes, mut range) = (Vec::new(), false);
        for index in indices(slab) {
            let (value, out) = row(self.ty, to, self.elements.get(&index).unwrap_or(&self.fill));
            bytes.extend(value);
            range |= out;
        }
        (bytes, range)
    }

    fn put(&mut self, slab: &Slab<'_>, from: NcType, bytes: &[u8]) -> bool {
        let mut range = false;
        for (index, value) in indices(slab).into_iter().zip(bytes.chunks(from.size().unwrap())) {
            let (value, out) = row(from, self.ty, value);
            for (len, at) in self.shape.iter_mut().zip(&index) {
                *len = (*len).max(at + 1);
            }
            self.elements.insert(index, value);
            range |= out;
        }
        range
    }
}

/// Reads with scale and offset and with two missing values. One of them occurs in the array, if it has any.
fn check_linear(array: &ChunkedArray, oracle: &Oracle, slab: &Slab<'_>, random: &mut Random) {
    let wide = random.one_in(2);
    let to = if wide { NcType::Double } else { NcType::Float };
    let mut linear =
        Linear::new(random.pick(&[1.0, 0.01, -3.0, 1e37]), random.pick(&[Linear::NO_OFFSET, 273.15]));
    let elements: Vec<&Vec<u8>> =
        indices(slab).iter().map(|index| oracle.elements.get(index).unwrap_or(&oracle.fill)).collect();
    let missing = random.one_in(2).then(|| {
        let there = elements.first().copied().unwrap_or(&oracle.fill);
        [&there[..], &random.bytes(oracle.fill.len())[..]].concat()
    });
    linear.missing = missing.as_ref().map(|bytes| Values::from_native_bytes(oracle.ty, bytes).unwrap());
    let (mut expected, mut range) = (Vec::new(), false);
    for element in elements {
        let value = Values::from_native_bytes(oracle.ty, element).unwrap();
        let is_missing = linear
            .missing
            .as_ref()
            .is_some_and(|missing| (0..missing.len()).any(|i| missing.scalar(i) == value.scalar(0)));
        let scaled = match value.scalar(0).unwrap() {
            _ if is_missing => f64::NAN,
            Scalar::Int(value) => value as f64 * linear.scale + linear.offset,
            Scalar::Float(value) => value * linear.scale + linear.offset,
        };
        range |= !wide && scaled.is_finite() && scaled.abs() > f64::from(f32::MAX);
        match wide {
            true => expected.extend(scaled.to_ne_bytes()),
            false => expected.extend((scaled as f32).to_ne_bytes()),
        }
    }
    let mut bytes = vec![0; expected.len()];
    let result = array.get_linear(
        &array.check_read(slab).unwrap(),
        MemMut::Fixed { ty: to, out: &mut OutBuf::from_slice(&mut bytes) },
        &linear,
    );
    match result {
        Ok(()) => assert!(!range, "a range error was expected"),
        Err(error) => assert!(range && error.kind() == ErrorKind::Range, "{error}"),
    }
    assert_eq!(bytes, expected, "{slab:?} of {:?} as {to:?}, {linear:?}", oracle.ty);
}

/// A random slab inside `shape`, or up to `beyond` past it along unlimited dimensions. It is rarely empty.
pub fn slab(random: &mut Random, shape: &[u64], may_grow: &[bool]) -> [Vec<u64>; 3] {
    let mut parts = [Vec::new(), Vec::new(), Vec::new()];
    let whole = random.one_in(4);
    for (&len, &grow) in shape.iter().zip(may_grow) {
        let len = len + if grow { random.below(5) } else { 0 };
        let stride = if whole || random.one_in(2) { 1 } else { 1 + random.below(5) };
        let start = if whole || len == 0 { 0 } else { random.below(len) };
        let most = (len - start).div_ceil(stride);
        let count = if whole || most == 0 { most } else { 1 + random.below(most) };
        parts[0].push(start);
        parts[1].push(count);
        parts[2].push(stride);
    }
    parts
}

fn check_get(array: &ChunkedArray, oracle: &Oracle, slab: &Slab<'_>, ty: NcType) {
    let (bytes, result) = get(array, slab, ty);
    let (expected, range) = oracle.get(slab, ty);
    match result {
        Ok(()) => assert!(!range, "a range error was expected"),
        Err(error) => assert!(range && error.kind() == ErrorKind::Range, "{error}"),
    }
    assert_eq!(bytes, expected, "{slab:?} as {ty:?}");
    check_peek(array, oracle, slab);
}

/// Peeks at single elements in memory. Each element found has the right value.
fn check_peek(array: &ChunkedArray, oracle: &Oracle, slab: &Slab<'_>) {
    let unset = vec![0x5A; oracle.fill.len()];
    for index in indices(slab).into_iter().take(50) {
        let mut out = unset.clone();
        let expected = oracle.elements.get(&index).unwrap_or(&oracle.fill);
        let found = array.try_get_cached_element(&index, oracle.ty, &mut out);
        assert_eq!(&out, if found { expected } else { &unset }, "{index:?}");
    }
    let beyond =
        |dim: usize| (0..oracle.shape.len()).map(|at| if at == dim { oracle.shape[at] } else { 0 }).collect();
    let outside: Vec<Vec<u64>> =
        (0..oracle.shape.len()).map(beyond).chain([vec![0; oracle.shape.len() + 1]]).collect();
    assert!(outside.iter().all(|at| !array.try_get_cached_element(at, oracle.ty, &mut unset.clone())));
}

fn history(seed: u64) {
    let mut random = Random::new(seed);
    let rank = random.below(5) as usize;
    let shape: Vec<u64> = (0..rank).map(|_| 1 + random.below(9)).collect();
    let chunk: Vec<u64> = (0..rank).map(|_| 1 + random.below(7)).collect();
    let ty = if random.one_in(8) { NcType::Char } else { random.pick(&NUMBERS) };
    let item = ty.size().unwrap();

    let mut caps = ALL;
    caps.conditional_write = !random.one_in(4);
    caps.range_read = !random.one_in(3);
    caps.remote = random.one_in(4);
    caps.versioned_parts = caps.conditional_write && random.one_in(2);
    let map = Arc::new(Mem::new(caps).with_parallel_writes(random.one_in(2)));
    let mut setup = Setup::new(&map, &shape, &chunk, ty).filters(chain(random.below(CHAINS), item));
    setup.element = ElementLayout::Number { ty, big_endian: random.one_in(2) };
    setup.order = random.order(rank);
    if random.one_in(2) {
        setup.shards = shards(&mut random, rank);
    }
    for dim in setup.dims.iter_mut() {
        dim.unlimited = random.one_in(3);
    }
    let may_grow: Vec<bool> = setup.dims.iter().map(|dim| dim.unlimited).collect();
    let chunk_bytes = chunk.iter().product::<u64>() as usize * item;
    setup.options.cache_bytes = Some(random.pick(&[0, 1, chunk_bytes, chunk_bytes * 5 / 2, 1 << 20]));
    setup.options.exclusive = !caps.conditional_write || random.one_in(4);
    setup.options.threads = 1 + random.below(3) as usize;
    let fill = random.bytes(item);
    setup.fill = (!random.one_in(3)).then(|| Values::from_native_bytes(ty, &fill).unwrap());
    let fill = if setup.fill.is_some() { fill } else { vec![0; item] };

    let mut oracle = Oracle { shape, ty, fill, elements: Default::default() };
    let mut array = setup.open();
    for _ in 0..1 + random.below(16) {
        let memory = if ty == NcType::Char || random.one_in(2) { ty } else { random.pick(&NUMBERS) };
        match random.below(10) {
            0 => array.flush().unwrap(),
            1 => array.sync().unwrap(),
            2 => {
                array.flush().unwrap();
                array = setup.open();
            }
            3..6 => {
                let [start, count, stride] = slab(&mut random, &oracle.shape, &may_grow);
                let slab = Slab { start: &start, count: &count, stride: Some(&stride) };
                let len = slab.len() as usize * memory.size().unwrap();
                // Half of the values are small so that conversions often succeed.
                let bytes: Vec<u8> = match ty == NcType::Char || random.one_in(2) {
                    true => random.bytes(len),
                    false => {
                        let bytes: Vec<u8> = random.bytes(len).iter().map(|byte| byte % 2).collect();
                        bytes
                            .chunks(memory.size().unwrap())
                            .flat_map(|item| row(NcType::Byte, memory, &item[..1]).0)
                            .collect()
                    }
                };
                let range = oracle.put(&slab, memory, &bytes);
                match put(&array, &slab, memory, &bytes) {
                    Ok(()) => assert!(!range, "a range error was expected"),
                    Err(error) => assert!(range && error.kind() == ErrorKind::Range, "{error}"),
                }
                let lens: Vec<u64> = setup.dims.iter().map(|dim| dim.len.load(Ordering::SeqCst)).collect();
                assert_eq!(lens, oracle.shape);
            }
            _ => {
                let [start, count, stride] = slab(&mut random, &oracle.shape, &vec![false; rank]);
                let slab = Slab { start: &start, count: &count, stride: Some(&stride) };
                if ty != NcType::Char && random.one_in(3) {
                    check_linear(&array, &oracle, &slab, &mut random);
                } else {
                    check_get(&array, &oracle, &slab, memory);
                }
            }
        }
    }
    array.flush().unwrap();
    let all = (vec![0; rank], oracle.shape.clone());
    let again = setup.open();
    for array in [&array, &again] {
        check_get(array, &oracle, &Slab::new(&all.0, &all.1), ty);
    }
}

#[test]
fn any_history_reads_back() {
    for seed in 0..2000 {
        let result = std::panic::catch_unwind(|| history(seed));
        if let Err(panic) = result {
            eprintln!("seed {seed}");
            std::panic::resume_unwind(panic);
        }
    }
}
