//! Elements of several parts, and half floats, against plain vectors.

use std::collections::HashMap;
use std::sync::Arc;
use std::sync::atomic::Ordering::SeqCst;

use nczarr_chunkio::{ChunkedArray, ElementLayout, ElementPiece, pack_element, unpack_element};
use nczarr_dispatch::{MemMut, VarData};
use nczarr_model::convert::Half;
use nczarr_model::{ErrorKind, NcType, Result, Slab, TypeId, Values};
use nczarr_runtime::OutBuf;

use crate::filters::{CHAINS, chain};
use crate::map::{ALL, Mem};
use crate::oracle::indices;
use crate::random::Random;
use crate::support::{Setup, get, put};

const USER: NcType = NcType::User(TypeId(3));

fn kinds() -> [Vec<ElementPiece>; 5] {
    let numbers = |size, count, big_endian| ElementPiece::Numbers { size, count, big_endian };
    [
        vec![ElementPiece::Bytes(5)],
        vec![numbers(4, 2, true)],
        vec![numbers(8, 2, false)],
        vec![
            ElementPiece::Bytes(1),
            numbers(2, 1, true),
            numbers(8, 1, false),
            ElementPiece::Halves { half: Half::Binary16, count: 2, big_endian: true },
            ElementPiece::Bytes(3),
        ],
        vec![ElementPiece::Bytes(1)],
    ]
}

/// Returns a random element in stored form and in memory form.
fn element(pieces: &[ElementPiece], random: &mut Random) -> (Vec<u8>, Vec<u8>) {
    let (mut stored, mut held) = (Vec::new(), Vec::new());
    for piece in pieces {
        match *piece {
            ElementPiece::Bytes(len) => {
                let bytes = random.bytes(len);
                stored.extend(&bytes);
                held.extend(&bytes);
            }
            ElementPiece::Numbers { size, count, big_endian } => {
                for _ in 0..count {
                    let mut bytes = random.bytes(size);
                    stored.extend(&bytes);
                    if big_endian != cfg!(target_endian = "big") {
                        bytes.reverse();
                    }
                    held.extend(&bytes);
                }
            }
            ElementPiece::Halves { count, big_endian, .. } => {
                for _ in 0..count {
                    // A half float with known bits, from a random exponent and a random mantissa.
                    let (exponent, low) = (random.below(5) as u16, random.below(1024) as u16);
                    let bits = (15 + exponent) << 10 | low;
                    let value = (1.0 + f32::from(low) / 1024.0) * 2_f32.powi(exponent.into());
                    stored.extend(if big_endian { bits.to_be_bytes() } else { bits.to_le_bytes() });
                    held.extend(value.to_ne_bytes());
                }
            }
            _ => panic!("{piece:?}"),
        }
    }
    (stored, held)
}

fn read(array: &ChunkedArray, slab: &Slab<'_>, size: usize) -> Result<Vec<u8>> {
    let mut bytes = vec![0xaa; slab.len() as usize * size];
    array.get(
        &array.check_read(slab)?,
        MemMut::Fixed { ty: USER, out: &mut OutBuf::from_slice(&mut bytes) },
    )?;
    Ok(bytes)
}

fn history(seed: u64) {
    let mut random = Random::new(seed);
    let rank = random.below(4) as usize;
    let shape: Vec<u64> = (0..rank).map(|_| 1 + random.below(6)).collect();
    let chunk: Vec<u64> = (0..rank).map(|_| 1 + random.below(5)).collect();
    let map = Arc::new(Mem::new(ALL));
    let pieces = random.pick(&kinds());
    let mut setup = Setup::new(&map, &shape, &chunk, NcType::Int);
    setup.element = ElementLayout::Packed { ty: USER, pieces: pieces.clone() };
    let (stored, fill) = element(&pieces, &mut random);
    assert_eq!(
        (unpack_element(&pieces, &stored).unwrap(), pack_element(&pieces, &fill).unwrap()),
        (fill.clone(), stored.clone())
    );
    let size = fill.len();
    setup.filters = chain(random.below(CHAINS), stored.len());
    let plain = setup.filters.is_empty();
    setup.order = random.order(rank);
    setup.options.cache_bytes = Some(random.pick(&[0, 300, 1 << 20]));
    setup.options.exclusive = random.one_in(2);
    setup.dims.iter_mut().for_each(|dim| dim.unlimited = random.one_in(3));
    let fill = if random.one_in(4) { vec![0; size] } else { fill };
    setup.fill = fill.iter().any(|&byte| byte != 0).then(|| Values::User(TypeId(3), fill.clone()));
    let mut oracle: HashMap<Vec<u64>, Vec<u8>> = HashMap::new();
    let mut last = (Vec::new(), Vec::new());
    let mut array = setup.open();
    for _ in 0..12 {
        let (mut start, mut count, mut stride) = (Vec::new(), Vec::new(), Vec::new());
        for dim in &setup.dims {
            let len = dim.len.load(SeqCst);
            stride.push(1 + random.below(3));
            start.push(random.below(len));
            count.push(1 + random.below((len - start[start.len() - 1]).div_ceil(stride[stride.len() - 1])));
        }
        let slab = Slab { start: &start, count: &count, stride: Some(&stride) };
        match random.below(6) {
            0 => array.sync().unwrap(),
            1 => {
                array.flush().unwrap();
                array = setup.open();
            }
            2 | 3 => {
                let mut bytes = Vec::new();
                for index in indices(&slab) {
                    let (stored, held) = element(&pieces, &mut random);
                    bytes.extend(&held);
                    oracle.insert(index, held);
                    last = (stored, start.clone());
                }
                put(&array, &slab, USER, &bytes).unwrap();
            }
            _ => {
                let expected: Vec<u8> = indices(&slab)
                    .iter()
                    .flat_map(|place| oracle.get(place).unwrap_or(&fill).clone())
                    .collect();
                assert_eq!(read(&array, &slab, size).unwrap(), expected);
            }
        }
    }
    array.flush().unwrap();
    if plain && !last.0.is_empty() {
        // Some object holds the last written element in stored form.
        let objects = map.objects.lock().unwrap();
        let found = |bytes: &(Vec<u8>, u64)| bytes.0.chunks(stored.len()).any(|item| item == &*last.0);
        assert!(objects.iter().any(|(_, object)| found(object)));
    }
}

#[test]
fn any_history_of_records_reads_back() {
    for seed in 0..1500 {
        if let Err(panic) = std::panic::catch_unwind(|| history(seed)) {
            eprintln!("seed {seed}");
            std::panic::resume_unwind(panic);
        }
    }
}

#[test]
fn nothing_else_converts_to_a_record() {
    let map = Arc::new(Mem::new(ALL));
    let mut setup = Setup::new(&map, &[2], &[2], NcType::Int);
    setup.element = ElementLayout::Packed { ty: USER, pieces: vec![ElementPiece::Bytes(4)] };
    let array = setup.open();
    let slab = Slab::new(&[0], &[2]);
    assert_eq!(put(&array, &slab, NcType::Int, &[0; 8]).unwrap_err().kind(), ErrorKind::BadType);
    assert_eq!(get(&array, &slab, NcType::Int).1.unwrap_err().kind(), ErrorKind::BadType);
    assert_eq!(put(&array, &slab, USER, &[0; 7]).unwrap_err().kind(), ErrorKind::Inval);
    map.set("0", &[0; 7]);
    assert_eq!(read(&array, &slab, 4).unwrap_err().kind(), ErrorKind::Trunc);
    setup.element = ElementLayout::Packed {
        ty: USER,
        pieces: vec![ElementPiece::Bytes(2), ElementPiece::Numbers { size: 2, count: 1, big_endian: true }],
    };
    for bytes in [&[0; 7][..], &[0; 9], &[0; 4], &[0; 12]] {
        map.set("0", bytes);
        assert_eq!(read(&setup.open(), &slab, 4).unwrap_err().kind(), ErrorKind::Filter, "{}", bytes.len());
    }
    setup.element = ElementLayout::Packed { ty: USER, pieces: Vec::new() };
    assert_eq!(ChunkedArray::new(setup.spec()).unwrap_err().kind(), ErrorKind::BadType);
}

#[test]
fn half_floats_are_numbers_like_others() {
    for (half, big_endian, bits) in [
        (Half::Binary16, false, [0x00, 0x3e]),
        (Half::Binary16, true, [0x3e, 0x00]),
        (Half::BFloat16, false, [0xc0, 0x3f]),
    ] {
        for keep in [0, 1 << 20] {
            let map = Arc::new(Mem::new(ALL));
            let mut setup = Setup::new(&map, &[4, 3], &[2, 3], NcType::Float);
            setup.element = ElementLayout::Packed {
                ty: NcType::Float,
                pieces: vec![ElementPiece::Halves { half, count: 1, big_endian }],
            };
            setup.fill = Some(Values::Float(vec![0.1]));
            setup.options.cache_bytes = Some(keep);
            let array = setup.open();
            let doubles =
                |values: &[f64]| values.iter().flat_map(|value| value.to_ne_bytes()).collect::<Vec<u8>>();
            let all = Slab::new(&[0, 0], &[4, 3]);
            // The slab covers one whole chunk and part of another.
            let values = [1.5, 0.1, -2.0, 1.0 + 2_f64.powi(-40), 0.0, 3.25];
            put(&array, &Slab::new(&[0, 0], &[2, 3]), NcType::Double, &doubles(&values)).unwrap();
            put(&array, &Slab::new(&[2, 1], &[1, 1]), NcType::Short, &7_i16.to_ne_bytes()).unwrap();
            let near = |value: f64| f64::from(half.nearest(value));
            let mut expected: Vec<f64> = values.iter().map(|&value| near(value)).collect();
            expected.extend([near(0.1), 7.0, near(0.1), near(0.1), near(0.1), near(0.1)]);
            let (found, result) = get(&array, &all, NcType::Double);
            result.unwrap();
            assert_eq!(found, doubles(&expected));
            array.sync().unwrap();
            assert_eq!(get(&setup.open(), &all, NcType::Double).0, doubles(&expected));
            assert_eq!(map.object("0.0").unwrap()[..2], bits);
            let singles: Vec<u8> = expected.iter().flat_map(|&value| (value as f32).to_ne_bytes()).collect();
            assert_eq!(get(&array, &all, NcType::Float).0, singles);
            // The value is out of range and is stored all the same.
            let slab = Slab::new(&[3, 0], &[1, 1]);
            let big = if half == Half::Binary16 { 65505.0 } else { 3.4e38 };
            for ty in [NcType::Double, NcType::Float] {
                let bytes =
                    if ty == NcType::Double { doubles(&[big]) } else { (big as f32).to_ne_bytes().to_vec() };
                assert_eq!(put(&array, &slab, ty, &bytes).unwrap_err().kind(), ErrorKind::Range);
                assert_eq!(get(&array, &slab, NcType::Double).0, doubles(&[near(big)]));
            }
        }
    }
}
