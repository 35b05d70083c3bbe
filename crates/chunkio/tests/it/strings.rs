//! Compares text in every stored form to a plain vector.

use std::collections::HashMap;
use std::sync::Arc;
use std::sync::atomic::Ordering::SeqCst;

use nczarr_chunkio::ElementLayout;
use nczarr_codec::{ElementCodec, Json};
use nczarr_dispatch::{MemMut, MemRef, VarData};
use nczarr_model::{ErrorKind, NcString, NcType, Result, Slab, Values};
use nczarr_runtime::OutBuf;

use crate::filters::{CHAINS, chain};
use crate::map::{ALL, Mem};
use crate::random::Random;
use crate::support::{Setup, get_strings};

/// A filter that puts a byte count before each element.
#[derive(Debug, Clone)]
struct Counted;

impl ElementCodec for Counted {
    fn name(&self) -> &str {
        "counted"
    }

    fn to_json(&self) -> Json {
        Json::Null
    }

    fn encode(&self, elements: &[NcString], out: &mut Vec<u8>) -> Result<()> {
        out.clear();
        for element in elements {
            out.push(element.as_bytes().len() as u8);
            out.extend_from_slice(element.as_bytes());
        }
        Ok(())
    }

    fn decode(&self, mut src: &[u8], count: usize, limit: usize) -> Result<Vec<NcString>> {
        assert!(limit > 0);
        let mut list = Vec::new();
        while let Some((&len, rest)) = src.split_first() {
            let Some((text, rest)) = rest.split_at_checked(len.into()) else {
                return Err(ErrorKind::Filter.context("cut off"));
            };
            list.push(NcString::from(text));
            src = rest;
        }
        // The engine gives the number of elements, and the bytes repeat it.
        let _ = count;
        Ok(list)
    }
}

fn elements() -> [ElementLayout; 5] {
    [
        ElementLayout::Text { width: 9 },
        ElementLayout::Utf32 { chars: 5, big_endian: false },
        ElementLayout::Utf32 { chars: 5, big_endian: true },
        ElementLayout::Variable(Box::new(Counted)),
        ElementLayout::Text { width: 200 },
    ]
}

const WORDS: [&str; 8] = ["", "a", "bcd", "äöüß", "日本", "e\u{301}x", "12345", "\u{1F600}!"];

fn put(array: &nczarr_chunkio::ChunkedArray, slab: &Slab<'_>, values: &[NcString]) -> Result<()> {
    array.put(&array.check_write(slab)?, MemRef::Strings(values))
}

fn history(seed: u64) {
    let mut random = Random::new(seed);
    let rank = random.below(4) as usize;
    let shape: Vec<u64> = (0..rank).map(|_| 1 + random.below(6)).collect();
    let chunk: Vec<u64> = (0..rank).map(|_| 1 + random.below(5)).collect();
    let map = Arc::new(Mem::new(ALL));
    let mut setup = Setup::new(&map, &shape, &chunk, NcType::Int);
    setup.element = random.pick(&elements());
    let item = match setup.element {
        ElementLayout::Text { width } => width,
        ElementLayout::Utf32 { chars, .. } => chars * 4,
        _ => 1,
    };
    setup.filters = chain(random.below(CHAINS), item);
    setup.order = random.order(rank);
    setup.options.cache_bytes = Some(random.pick(&[0, 300, 1 << 20]));
    setup.options.exclusive = random.one_in(2);
    setup.dims.iter_mut().for_each(|dim| dim.unlimited = random.one_in(3));
    let fill = NcString::from("fill");
    setup.fill = Some(Values::String(vec![fill.clone()]));
    let mut oracle: HashMap<Vec<u64>, NcString> = HashMap::new();
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
        let places: Vec<Vec<u64>> = (0..slab.len())
            .map(|mut at| {
                let mut index = vec![0; rank];
                for dim in (0..rank).rev() {
                    index[dim] = start[dim] + at % count[dim] * stride[dim];
                    at /= count[dim];
                }
                index
            })
            .collect();
        match random.below(6) {
            0 => array.sync().unwrap(),
            1 => {
                array.flush().unwrap();
                array = setup.open();
            }
            2 | 3 => {
                let values: Vec<_> = places.iter().map(|_| NcString::from(random.pick(&WORDS))).collect();
                put(&array, &slab, &values).unwrap();
                oracle.extend(places.into_iter().zip(values));
            }
            _ => {
                let found = get_strings(&array, &slab).unwrap();
                let expected: Vec<_> =
                    places.iter().map(|place| oracle.get(place).unwrap_or(&fill).clone()).collect();
                assert_eq!(found, expected);
            }
        }
    }
}

#[test]
fn any_history_reads_back() {
    for seed in 0..1500 {
        if let Err(panic) = std::panic::catch_unwind(|| history(seed)) {
            eprintln!("seed {seed}");
            std::panic::resume_unwind(panic);
        }
    }
}

fn one(element: ElementLayout, truncate: bool) -> (Arc<Mem>, nczarr_chunkio::ChunkedArray) {
    let map = Arc::new(Mem::new(ALL));
    let mut setup = Setup::new(&map, &[2, 3], &[2, 3], NcType::Int);
    setup.element = element;
    setup.options.truncate_strings = truncate;
    (map, setup.open())
}

#[test]
fn text_too_long_is_refused_or_cut_at_a_character() {
    let slab = Slab { start: &[0, 0], count: &[2, 2], stride: Some(&[1, 2]) };
    let words = ["a", "b", "c", "äöü"].map(NcString::from);
    for (element, cut, sizes) in [
        (ElementLayout::Text { width: 5 }, "äö", "at most 5 bytes, found 6"),
        (ElementLayout::Utf32 { chars: 2, big_endian: false }, "äö", "at most 2 characters, found 3"),
    ] {
        let (map, array) = one(element.clone(), false);
        let error = put(&array, &slab, &words).unwrap_err();
        assert_eq!(error.kind(), ErrorKind::Inval);
        assert!(error.to_string().contains(sizes) && error.to_string().contains("/v[1, 2]"), "{error}");
        array.flush().unwrap();
        assert!(map.objects.lock().unwrap().is_empty(), "nothing of it was written");
        let (_, array) = one(element, true);
        put(&array, &slab, &words).unwrap();
        array.sync().unwrap();
        assert_eq!(get_strings(&array, &slab).unwrap()[3], cut);
    }
    // Bytes that are not UTF-8 are cut at the field width, but they cannot become code points.
    let odd = [NcString::from(&b"\xFF\xFE\xFD"[..])];
    let slab = Slab::new(&[0, 0], &[1, 1]);
    let (_, array) = one(ElementLayout::Text { width: 2 }, true);
    put(&array, &slab, &odd).unwrap();
    assert_eq!(get_strings(&array, &slab).unwrap()[0].as_bytes(), b"\xFF\xFE");
    let (_, array) = one(ElementLayout::Utf32 { chars: 5, big_endian: false }, true);
    assert_eq!(put(&array, &slab, &odd).unwrap_err().kind(), ErrorKind::Char);
}

#[test]
fn stored_bytes_match_the_format() {
    let slab = Slab::new(&[0, 0], &[2, 3]);
    let words = ["a", "", "bc", "ä", "x", "y"].map(NcString::from);
    let stored = |element| {
        let (map, array) = one(element, false);
        put(&array, &slab, &words).unwrap();
        array.flush().unwrap();
        map.object("0.0").unwrap()
    };
    assert_eq!(stored(ElementLayout::Text { width: 2 }), b"a\0\0\0bc\xC3\xA4x\0y\0");
    let points: Vec<u8> = [0x61, 0, 0, 0, 0x62, 0x63, 0xE4, 0, 0x78, 0, 0x79, 0]
        .into_iter()
        .flat_map(u32::to_be_bytes)
        .collect();
    assert_eq!(stored(ElementLayout::Utf32 { chars: 2, big_endian: true }), points);
    assert_eq!(stored(ElementLayout::Variable(Box::new(Counted))), b"\x01a\0\x02bc\x02\xC3\xA4\x01x\x01y");
}

#[test]
fn foreign_bytes_are_errors_that_name_the_chunk() {
    let slab = Slab::new(&[0, 0], &[2, 3]);
    for (element, object, kind) in [
        (ElementLayout::Text { width: 2 }, vec![b'a'; 11], ErrorKind::Trunc),
        (ElementLayout::Text { width: 2 }, vec![b'a'; 13], ErrorKind::Io),
        (ElementLayout::Utf32 { chars: 1, big_endian: true }, vec![0xFF; 24], ErrorKind::Char),
        (ElementLayout::Variable(Box::new(Counted)), vec![0; 5], ErrorKind::Filter),
        (ElementLayout::Variable(Box::new(Counted)), vec![0; 7], ErrorKind::Filter),
        (ElementLayout::Variable(Box::new(Counted)), vec![0, 0, 0, 0, 0, 9, 1], ErrorKind::Filter),
    ] {
        let (map, array) = one(element, false);
        map.set("0.0", &object);
        let error = get_strings(&array, &slab).unwrap_err();
        assert!(error.kind() == kind && error.to_string().contains("/v: chunk 0.0"), "{error}");
    }
    // A zero inside text is part of the text. Only padding is removed.
    let (map, array) = one(ElementLayout::Text { width: 3 }, false);
    map.set("0.0", b"a\0b\0\0c\0\0\0d\0\0ef\0ghi");
    let found = get_strings(&array, &slab).unwrap();
    assert_eq!(found, ["a\0b", "\0\0c", "", "d", "ef", "ghi"].map(NcString::from));
}

#[test]
fn many_chunks_are_read_and_flushed_by_many_threads() {
    let map = Arc::new(Mem::new(ALL));
    let mut setup = Setup::new(&map, &[40_000], &[1000], NcType::Int).filters(chain(1, 1));
    setup.element = ElementLayout::Variable(Box::new(Counted));
    setup.options.threads = 2;
    let array = setup.open();
    let values: Vec<_> = (0..40_000).map(|at| NcString::from(at.to_string())).collect();
    put(&array, &Slab::new(&[0], &[40_000]), &values).unwrap();
    array.flush().unwrap();
    // Chunks with holes are covered, too.
    let slab = Slab { start: &[0], count: &[20_000], stride: Some(&[2]) };
    put(&array, &slab, &vec![NcString::from("even"); 20_000]).unwrap();
    let again = setup.open();
    put(&again, &slab, &vec![NcString::from("even"); 20_000]).unwrap();
    again.flush().unwrap();
    for array in [&array, &again, &setup.open()] {
        let found = get_strings(array, &Slab::new(&[0], &[40_000])).unwrap();
        let right =
            |(at, text): (usize, &NcString)| if at % 2 == 0 { *text == "even" } else { *text == values[at] };
        assert!(found.iter().enumerate().all(right));
    }
}

#[test]
fn a_fill_value_too_long_is_read_whole_and_never_stored() {
    let map = Arc::new(Mem::new(ALL));
    let mut setup = Setup::new(&map, &[6], &[3], NcType::Int);
    setup.element = ElementLayout::Text { width: 2 };
    setup.fill = Some(Values::String(vec![NcString::from("long")]));
    let array = setup.open();
    put(&array, &Slab::new(&[0], &[3]), &["a", "b", "c"].map(NcString::from)).unwrap();
    put(&array, &Slab::new(&[4], &[1]), &["d"].map(NcString::from)).unwrap();
    let error = array.flush().unwrap_err();
    assert!(
        error.to_string().contains("the fill value: text too long (expected at most 2 bytes, found 4)"),
        "{error}"
    );
    assert_eq!(map.object("0").unwrap(), b"a\0b\0c\0");
    assert_eq!(map.object("1"), None);
    assert_eq!(get_strings(&setup.open(), &Slab::new(&[4], &[1])).unwrap(), ["long"]);
}

#[test]
fn bad_text_anywhere_in_a_chunk_is_an_error() {
    let (map, array) = one(ElementLayout::Utf32 { chars: 1, big_endian: false }, false);
    let mut object = [0; 24];
    object[20..].copy_from_slice(&0xD800u32.to_le_bytes());
    map.set("0.0", &object);
    let slab = Slab::new(&[0, 0], &[1, 1]);
    let error = get_strings(&array, &slab).unwrap_err();
    assert!(error.kind() == ErrorKind::Char && error.to_string().contains("element 5: 0xd800"), "{error}");
    // A store of other elements in the same chunk fails as well.
    put(&array, &slab, &["a"].map(NcString::from)).unwrap();
    assert_eq!(array.flush().unwrap_err().kind(), ErrorKind::Char);
}

#[test]
fn text_without_room_is_empty() {
    let (map, array) = one(ElementLayout::Text { width: 0 }, false);
    let slab = Slab::new(&[0, 0], &[2, 3]);
    assert_eq!(
        put(&array, &slab, &["", "", "a", "", "", ""].map(NcString::from)).unwrap_err().kind(),
        ErrorKind::Inval
    );
    put(&array, &slab, &[const { NcString::new() }; 6]).unwrap();
    array.sync().unwrap();
    assert_eq!(map.object("0.0").unwrap(), b"");
    assert_eq!(get_strings(&array, &slab).unwrap(), [const { NcString::new() }; 6]);
}

#[test]
fn text_and_numbers_do_not_mix() {
    let slab = Slab::new(&[0, 0], &[1, 1]);
    let (_, array) = one(ElementLayout::Text { width: 3 }, false);
    let mut memory = [0; 4];
    let mut out = OutBuf::from_slice(&mut memory);
    let kinds = [
        array
            .get(&array.check_read(&slab).unwrap(), MemMut::Fixed { ty: NcType::Int, out: &mut out })
            .unwrap_err()
            .kind(),
        array
            .put(&array.check_write(&slab).unwrap(), MemRef::Fixed { ty: NcType::Int, bytes: &[0; 4] })
            .unwrap_err()
            .kind(),
    ];
    assert_eq!(kinds, [ErrorKind::Char; 2]);
    let kinds = [
        array.get(&array.check_read(&slab).unwrap(), MemMut::Strings(&mut [])).unwrap_err().kind(),
        array.put(&array.check_write(&slab).unwrap(), MemRef::Strings(&[])).unwrap_err().kind(),
    ];
    assert_eq!(kinds, [ErrorKind::Inval; 2]);
}
