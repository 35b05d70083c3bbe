//! Codecs of arrays learn shape and type of what enters them, and data types of plugins convert items.

use std::borrow::Cow;
use std::sync::{Arc, Mutex};

use nczarr_chunkio::{DimOrder, ElementLayout};
use nczarr_codec::{
    ChunkInfo, ExtensionType, Filter, FilterInfo, ItemKind, ItemType, Json, OutBuf, ShownType, ZarrFormat,
};
use nczarr_model::{ErrorKind, NcType, Result, Slab, Values};

use crate::map::{ALL, Mem};
use crate::support::{Setup, get, get_ints, put, put_ints};

static INFO: FilterInfo = FilterInfo::new("watching", "a test");

/// The shape, the number of elements and the row of a chunk.
type Seen = Arc<Mutex<Vec<(Vec<u64>, usize, usize)>>>;

/// Stores bytes as they are, and records the chunks that it binds to.
#[derive(Debug, Clone)]
struct Watching {
    seen: Seen,
    reshaped: Option<Vec<u64>>,
}

impl Filter for Watching {
    fn info(&self) -> &FilterInfo {
        &INFO
    }
    fn params(&self) -> Cow<'_, [u32]> {
        Cow::Borrowed(&[])
    }
    fn to_json(&self, _: ZarrFormat) -> Json {
        Json::Null
    }
    fn bind(&mut self, chunk: &ChunkInfo<'_>) -> Result<()> {
        self.seen.lock().unwrap().push((chunk.shape.to_vec(), chunk.elements, chunk.row));
        Ok(())
    }
    fn encoded_shape(&self) -> Option<Vec<u64>> {
        self.reshaped.clone()
    }
    fn encode_bound(&self, decoded: usize) -> Option<usize> {
        Some(decoded)
    }
    fn encode(&self, src: &[u8], dst: &mut OutBuf<'_>) -> Result<()> {
        dst.put(src)
    }
    fn decode(&self, src: &[u8], dst: &mut OutBuf<'_>) -> Result<()> {
        dst.put(src)
    }
}

#[test]
fn codecs_see_the_shape_that_enters_them() {
    let seen = Seen::default();
    let watching = |reshaped: Option<&[u64]>| -> Box<dyn Filter> {
        Box::new(Watching { seen: Arc::clone(&seen), reshaped: reshaped.map(<[u64]>::to_vec) })
    };
    let map = Arc::new(Mem::new(ALL));
    let mut setup = Setup::new(&map, &[4, 6, 5], &[2, 3, 5], NcType::Int).filters(vec![
        watching(None),
        watching(Some(&[10, 3])),
        watching(None),
    ]);
    setup.order = DimOrder::of(&[2, 0, 1]).unwrap();
    let array = setup.open();
    let expected = [(vec![5, 2, 3], 30, 3), (vec![5, 2, 3], 30, 3), (vec![10, 3], 30, 3)];
    assert_eq!(*seen.lock().unwrap(), expected);
    let values: Vec<i32> = (0..120).collect();
    put_ints(&array, &[0; 3], &[4, 6, 5], &values).unwrap();
    array.flush().unwrap();
    assert_eq!(get_ints(&setup.open(), &[0; 3], &[4, 6, 5]).unwrap(), values);
}

/// Thirds as 16-bit numbers, shown as int.
#[derive(Debug)]
struct Thirds;

impl ExtensionType for Thirds {
    fn to_json(&self) -> Json {
        "thirds".into()
    }
    fn item(&self) -> ItemType {
        ItemType { kind: ItemKind::Int, size: 2, big_endian: false }
    }
    fn word_size(&self) -> usize {
        2
    }
    fn shown(&self) -> ShownType {
        ShownType::Atomic(NcType::Int)
    }
    fn fill_from_json(&self, _: &Json) -> Result<Vec<u8>> {
        Err(ErrorKind::BadType.into())
    }
    fn fill_to_json(&self, _: &[u8]) -> Result<Json> {
        Err(ErrorKind::BadType.into())
    }
    fn load(&self, items: &[u8], out: &mut OutBuf<'_>) -> Result<()> {
        let items = items.as_chunks().0.iter();
        out.extend(items.flat_map(|item| (i32::from(i16::from_le_bytes(*item)) * 3).to_ne_bytes()))
    }
    fn save(&self, elements: &[u8], out: &mut OutBuf<'_>) -> Result<()> {
        let mut fits = true;
        for element in elements.as_chunks().0 {
            let third = i32::from_ne_bytes(*element) / 3;
            fits &= i16::try_from(third).is_ok();
            out.put(&(third.clamp(-0x8000, 0x7fff) as i16).to_le_bytes())?;
        }
        if fits { Ok(()) } else { Err(ErrorKind::Range.into()) }
    }
}

fn thirds(map: &Arc<Mem>, big_endian: bool, fill: i32) -> Setup {
    let mut setup = Setup::new(map, &[4], &[2], NcType::Int);
    setup.element = ElementLayout::Converted { ty: NcType::Int, data_type: Arc::new(Thirds), big_endian };
    setup.fill = Some(Values::Int(vec![fill]));
    setup
}

#[test]
fn cached_and_stored_elements_of_a_data_type_agree() {
    for (big_endian, stored) in [(false, [3, 0, 0xff, 0x7f]), (true, [0, 3, 0x7f, 0xff])] {
        let map = Arc::new(Mem::new(ALL));
        let setup = thirds(&map, big_endian, 7);
        let array = setup.open();
        // An element out of range is an error, and does not stop the others.
        let outcome = put_ints(&array, &[0], &[2], &[10, 1_000_000]);
        assert_eq!(outcome.unwrap_err().kind(), ErrorKind::Range);
        let expected = [9, 98_301, 6, 6];
        assert_eq!(get_ints(&array, &[0], &[4]).unwrap(), expected);
        array.flush().unwrap();
        assert_eq!(map.objects.lock().unwrap()["0"].0, stored);
        assert_eq!(get_ints(&setup.open(), &[0], &[4]).unwrap(), expected);
        // Other memory types convert on both ways.
        let doubles: Vec<u8> = [20.0_f64, 31.0].iter().flat_map(|value| value.to_ne_bytes()).collect();
        put(&array, &Slab::new(&[2], &[2]), NcType::Double, &doubles).unwrap();
        assert_eq!(get_ints(&array, &[2], &[2]).unwrap(), [18, 30]);
        let (bytes, outcome) = get(&array, &Slab::new(&[2], &[1]), NcType::Float);
        outcome.unwrap();
        assert_eq!(bytes, 18.0_f32.to_ne_bytes());
        // A shorter or longer object is damage.
        for damaged in [&stored[..3], &[stored, [0; 4]].concat()[..], &[]] {
            map.objects.lock().unwrap().get_mut("0").unwrap().0 = damaged.to_vec();
            let error = get_ints(&setup.open(), &[0], &[2]).unwrap_err();
            assert_eq!(error.kind(), ErrorKind::Filter, "{error}");
        }
    }
    let map = Arc::new(Mem::new(ALL));
    let error = nczarr_chunkio::ChunkedArray::new(thirds(&map, false, 1_000_000).spec()).unwrap_err();
    assert_eq!(error.kind(), ErrorKind::Range);
}

#[test]
fn large_chunks_of_a_data_type_read_in_either_byte_order() {
    const LEN: u64 = 5001;
    let numbers: Vec<i32> = (0..LEN as i32).map(|number| number * 3).collect();
    for big_endian in [false, true] {
        let map = Arc::new(Mem::new(ALL));
        let mut setup = Setup::new(&map, &[LEN], &[LEN], NcType::Int);
        setup.element = ElementLayout::Converted { ty: NcType::Int, data_type: Arc::new(Thirds), big_endian };
        setup.fill = Some(Values::Int(vec![0]));
        let array = setup.open();
        put_ints(&array, &[0], &[LEN], &numbers).unwrap();
        array.flush().unwrap();
        assert_eq!(get_ints(&setup.open(), &[0], &[LEN]).unwrap(), numbers);
    }
}

/// The upper halves of singles, as in the data type `bfloat16`.
#[derive(Debug)]
struct UpperHalves;

impl ExtensionType for UpperHalves {
    fn to_json(&self) -> Json {
        "halves".into()
    }
    fn item(&self) -> ItemType {
        ItemType::bytes(2)
    }
    fn word_size(&self) -> usize {
        2
    }
    fn shown(&self) -> ShownType {
        ShownType::Atomic(NcType::Float)
    }
    fn fill_from_json(&self, _: &Json) -> Result<Vec<u8>> {
        Err(ErrorKind::BadType.into())
    }
    fn fill_to_json(&self, _: &[u8]) -> Result<Json> {
        Err(ErrorKind::BadType.into())
    }
    fn load(&self, items: &[u8], out: &mut OutBuf<'_>) -> Result<()> {
        let items = items.as_chunks().0.iter();
        out.extend(items.flat_map(|item| half::bf16::from_le_bytes(*item).to_f32().to_ne_bytes()))
    }
    fn save(&self, elements: &[u8], out: &mut OutBuf<'_>) -> Result<()> {
        let items = elements.as_chunks().0.iter();
        out.extend(items.flat_map(|item| half::bf16::from_f32(f32::from_ne_bytes(*item)).to_le_bytes()))
    }
}

#[test]
fn doubles_are_rounded_to_the_stored_type_once() {
    let map = Arc::new(Mem::new(ALL));
    let mut setup = Setup::new(&map, &[4], &[4], NcType::Float);
    setup.element =
        ElementLayout::Converted { ty: NcType::Float, data_type: Arc::new(UpperHalves), big_endian: false };
    let array = setup.open();
    // The nearest single of the first is the middle between two halves, which rounds to even: down.
    let above = 1.0 + 2f64.powi(-8) + 2f64.powi(-40);
    let below = 1.0 + 3.0 * 2f64.powi(-8) - 2f64.powi(-40);
    let values = [above, below, 1.0 + 2f64.powi(-8), 1e300];
    let bytes: Vec<u8> = values.iter().flat_map(|value| value.to_ne_bytes()).collect();
    let outcome = put(&array, &Slab::new(&[0], &[4]), NcType::Double, &bytes);
    assert_eq!(outcome.unwrap_err().kind(), ErrorKind::Range);
    let (bytes, outcome) = get(&array, &Slab::new(&[0], &[4]), NcType::Double);
    outcome.unwrap();
    let found: Vec<f64> = bytes.as_chunks().0.iter().map(|bytes| f64::from_ne_bytes(*bytes)).collect();
    let step = 2f64.powi(-7);
    assert_eq!(found, [1.0 + step, 1.0 + step, 1.0, f64::INFINITY]);
}
