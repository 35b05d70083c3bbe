//! The examples of the crate `zarrs` (github.com/zarrs/zarrs), with the calls of `docs/from-zarrs.md`.
//!
//! Each test has the steps of one example. Names and values are our own.

use nczarr::asynchronous::Workers;
use nczarr::{Codec, CreateOptions, File, Kind, Variable};
use ndarray::{Array2, ArrayD, array, s};

fn create(name: &str) -> File {
    CreateOptions::new().kind(Kind::ZarrV3).create(format!("memory://from-zarrs-{name}")).unwrap()
}

/// A group with an attribute, and in it an 8 by 8 array of 4 by 4 chunks that is NaN where unwritten.
fn field(file: &File) -> Variable {
    let group = file.add_group("survey").unwrap();
    group.put_attribute("ship", "Vega").unwrap();
    group.add_dimension("y", 8).unwrap();
    group.add_dimension("x", 8).unwrap();
    let array = group.add_variable::<f32>("depth", &["y", "x"]).unwrap();
    array.set_chunking(&[4, 4]).unwrap();
    array.set_fill(f32::NAN).unwrap();
    array
}

/// Compares arrays in which NaN equals NaN.
fn assert_same(found: &ArrayD<f32>, expected: &Array2<f32>) {
    let bits =
        |values: &mut dyn Iterator<Item = &f32>| values.map(|value| value.to_bits()).collect::<Vec<_>>();
    assert_eq!(found.shape(), expected.shape());
    assert_eq!(bits(&mut found.iter()), bits(&mut expected.iter()));
}

/// The example on the first page of the documentation of `zarrs`: a sharded array.
#[test]
fn the_first_page() {
    let file = create("first-page");
    file.add_dimension("y", 3).unwrap();
    file.add_dimension("x", 4).unwrap();
    let array = file.add_variable::<f32>("sea", &["y", "x"]).unwrap();
    array.set_chunking(&[2, 1]).unwrap();
    array.set_shards(&[2, 2]).unwrap();
    array.set_codecs([Codec::gzip(5)]).unwrap();
    array.set_fill(f32::NAN).unwrap();
    array.put_attribute_json("source", r#"{"model": "deep"}"#).unwrap();
    file.sync().unwrap();

    array.put(&[5.5f32, 6.5, 7.5, 8.5], (0..2, 2..4)).unwrap();
    array.put_array(&array![[-1.0f32, -2.0], [-3.0, -4.0]], (1..3, 1..3)).unwrap();
    for chunk in [[1, 2], [1, 3]] {
        array.erase_chunk(&chunk).unwrap();
    }

    let nan = f32::NAN;
    let expected = array![[nan, nan, 5.5, 6.5], [nan, -1.0, -2.0, 8.5], [nan, -3.0, nan, nan]];
    assert_same(&array.get_array::<f32>(&[0..3, 0..4]).unwrap(), &expected);
    assert_eq!(array.get_values::<f32>((0..2, 2..4)).unwrap(), [5.5, 6.5, -2.0, 8.5]);
    let subchunk = array.chunk(&[0, 3]).unwrap().get::<f32>().unwrap();
    assert_eq!((subchunk.shape(), subchunk.as_slice()), (&[2, 1][..], &[6.5, 8.5][..]));
    assert_eq!(array.attribute_json("source").unwrap().as_deref(), Some(r#"{"model": "deep"}"#));
}

/// `array_write_read`: chunks, parts and single chunks from slices.
#[test]
fn array_write_read() {
    let file = create("write-read");
    let array = field(&file);
    let mut expected = Array2::from_elem((8, 8), f32::NAN);
    let check = |expected: &Array2<f32>| assert_same(&array.get_array::<f32>(..).unwrap(), expected);
    file.sync().unwrap();

    std::thread::scope(|scope| {
        for i in 0..2u64 {
            let array = &array;
            scope.spawn(move || {
                let chunk = array.chunk(&[0, i]).unwrap();
                chunk.put(&vec![i as f32 + 0.5; chunk.slab().len() as usize]).unwrap();
            });
        }
    });
    expected.slice_mut(s![..4, ..4]).fill(0.5);
    expected.slice_mut(s![..4, 4..]).fill(1.5);
    check(&expected);

    // The chunks 1..2 and 0..2.
    let row = Vec::from_iter((0..32).map(|i| i as f32));
    array.put(&row, &[4..8, 0..8]).unwrap();
    expected.slice_mut(s![4.., ..]).assign(&Array2::from_shape_vec((4, 8), row).unwrap());
    check(&expected);

    array.put(&[-1.0f32, -2.0, -3.0, -4.0, -5.0, -6.0, -7.0, -8.0, -9.0], &[3..6, 3..6]).unwrap();
    let nine = array![[-1.0, -2.0, -3.0], [-4.0, -5.0, -6.0], [-7.0, -8.0, -9.0]];
    expected.slice_mut(s![3..6, 3..6]).assign(&nine);
    check(&expected);
    array.put(&[77.0f32; 8], &[0..8, 6..7]).unwrap();
    expected.slice_mut(s![.., 6]).fill(77.0);
    check(&expected);

    // The last row of the chunk 1, 1.
    let start = array.chunk(&[1, 1]).unwrap().slab().start.to_vec();
    array.put(&[1.0f32, 2.0, 3.0, 4.0], (start[0] + 3, start[1]..start[1] + 4)).unwrap();
    expected.slice_mut(s![7, 4..]).assign(&array![1.0, 2.0, 3.0, 4.0]);
    check(&expected);

    assert!(array.erase_chunk(&[0, 0]).unwrap());
    expected.slice_mut(s![..4, ..4]).fill(f32::NAN);
    check(&expected);

    let chunk = array.get_array::<f32>(array.chunk(&[0, 1]).unwrap().extents()).unwrap();
    assert_same(&chunk, &expected.slice(s![..4, 4..]).to_owned());
    let chunks = array.get_array::<f32>(&[0..8, 4..8]).unwrap();
    assert_same(&chunks, &expected.slice(s![.., 4..]).to_owned());
    let centre = array.get_array::<f32>(&[2..6, 3..5]).unwrap();
    assert_same(&centre, &expected.slice(s![2..6, 3..5]).to_owned());

    let names: Vec<String> =
        file.groups().iter().flat_map(|group| group.variables()).map(|v| v.full_name()).collect();
    assert_eq!(names, ["/survey/depth"]);
}

/// `array_write_read_ndarray`: the same from arrays of `ndarray`.
#[test]
fn array_write_read_ndarray() {
    let file = create("ndarray");
    let array = field(&file);
    let mut expected = Array2::from_elem((8, 8), f32::NAN);
    for i in 0..2 {
        let chunk = array.chunk(&[0, i]).unwrap();
        let values = Array2::from_elem((4, 4), i as f32 - 3.5);
        array.put_array(&values, chunk.extents()).unwrap();
        let left = 4 * i as usize;
        expected.slice_mut(s![..4, left..left + 4]).assign(&values);
    }
    let block = Array2::from_shape_fn((3, 3), |(y, x)| (10 * y + x) as f32);
    array.put_array(&block, &[3..6, 3..6]).unwrap();
    expected.slice_mut(s![3..6, 3..6]).assign(&block);
    array.put_array(&block.t(), &[5..8, 0..3]).unwrap();
    expected.slice_mut(s![5.., ..3]).assign(&block.t());
    let all: ArrayD<f32> = array.get_array(..).unwrap();
    assert_same(&all, &expected);
    let chunk = ArrayD::try_from(array.chunk(&[0, 1]).unwrap().get::<f32>().unwrap()).unwrap();
    assert_same(&chunk, &expected.slice(s![..4, 4..]).to_owned());
}

/// `async_array_write_read`: chunks and parts as futures, on a runtime with one thread.
#[test]
fn async_array_write_read() {
    let file = create("async");
    field(&file);
    let nan = f32::NAN;
    let mut expected = Array2::from_elem((8, 8), nan);
    expected.slice_mut(s![0..4, 4..8]).fill(2.5);
    expected.slice_mut(s![3..6, 3..5]).fill(-4.0);
    let runtime = tokio::runtime::Builder::new_current_thread().build().unwrap();
    runtime.block_on(async {
        let array = Workers::new(4).attach(file).variable("survey/depth").unwrap();
        array.put(vec![2.5f32; 16], (0..4, 4..8)).await.unwrap();
        array.put(vec![-4.0f32; 6], (3..6, 3..5)).await.unwrap();
        let found = array.call(|array| array.get_array::<f32>(..)).await.unwrap();
        assert_same(&found, &expected);
        array.call(|array| array.erase_chunk(&[0, 1])).await.unwrap();
        assert_eq!(array.get::<f32>((3, 2..5)).await.unwrap().as_slice()[1], -4.0);
        let mut chunks = array.stored_chunks::<f32>();
        let mut stored = Vec::new();
        while let Some(chunk) = chunks.next().await {
            stored.push(chunk.unwrap().index().to_vec());
        }
        assert_eq!(stored, [[0, 0], [1, 0], [1, 1]]);
        array.file().clone().close().await.unwrap();
    });
}

/// `array_write_read_string`.
#[test]
fn array_write_read_string() {
    let file = create("string");
    file.add_dimension("y", 4).unwrap();
    file.add_dimension("x", 4).unwrap();
    let array = file.add_string_variable("names", &["y", "x"]).unwrap();
    array.set_chunking(&[2, 2]).unwrap();
    array.set_fill(["?"]).unwrap();
    array.put_strings(&["i", "ii", "iii", "iv"], array.chunk(&[0, 0]).unwrap().extents()).unwrap();
    array.put_strings(&["v", "vi", "vii", "viii"], array.chunk(&[0, 1]).unwrap().extents()).unwrap();
    array.put_strings(&["a", "b", "c", "d"], &[1..3, 1..3]).unwrap();
    let all = array.get_strings(..).unwrap();
    let rows: Vec<&[String]> = all.chunks(4).collect();
    assert_eq!(rows[0], ["i", "ii", "v", "vi"]);
    assert_eq!(rows[1], ["iii", "a", "b", "viii"]);
    assert_eq!(rows[2], ["?", "c", "d", "?"]);
    assert_eq!(rows[3], ["?"; 4]);
}

/// `sharded_array_write_read`.
#[test]
fn sharded_array_write_read() {
    let file = create("sharded");
    file.add_dimension("y", 8).unwrap();
    file.add_dimension("x", 8).unwrap();
    let array = file.add_variable::<u16>("count", &["y", "x"]).unwrap();
    array.set_chunking(&[4, 4]).unwrap();
    array.set_shards(&[4, 8]).unwrap();
    array.set_codecs([Codec::gzip(5)]).unwrap();
    array.set_fill(0u16).unwrap();
    file.sync().unwrap();
    let expected = Array2::from_shape_fn((8, 8), |(y, x)| (8 * y + x) as u16);
    std::thread::scope(|scope| {
        for shard in 0..2 {
            let (array, rows) = (&array, 4 * shard..4 * shard + 4);
            let values = expected.slice(s![rows.clone(), ..]);
            scope.spawn(move || array.put_array(&values, (rows, ..)).unwrap());
        }
    });
    file.sync().unwrap();
    assert_eq!(array.get_array::<u16>(..).unwrap(), expected.clone().into_dyn());
    assert_eq!(
        array.get_array::<u16>((4..8, ..)).unwrap(),
        expected.slice(s![4.., ..]).to_owned().into_dyn()
    );
    let chunk = array.chunk(&[1, 0]).unwrap();
    assert_eq!(
        array.get_array::<u16>(chunk.extents()).unwrap(),
        expected.slice(s![4.., ..4]).to_owned().into_dyn()
    );
    let centre = array.get_array::<u16>(&[2..6, 3..5]).unwrap();
    assert_eq!(centre, expected.slice(s![2..6, 3..5]).to_owned().into_dyn());
    for chunk in array.stored_chunks().unwrap() {
        let encoded = chunk.read_encoded().unwrap().expect("it is stored");
        let decoded = array.decode_chunk::<u16>(chunk.index(), &encoded).unwrap();
        assert_eq!(decoded.as_slice(), chunk.get::<u16>().unwrap().as_slice());
    }
    assert_eq!(array.stored_chunks().unwrap().count(), 4);
}

/// `zarr_v2_to_v3`: a big-endian array of V2 becomes one of V3.
#[test]
fn zarr_v2_to_v3() {
    let old = CreateOptions::new().kind(Kind::ZarrV2).create("memory://from-zarrs-v2").unwrap();
    old.put_attribute("edition", 7).unwrap();
    old.add_dimension("y", 6).unwrap();
    old.add_dimension("x", 6).unwrap();
    let array = old.add_variable::<f32>("depth", &["y", "x"]).unwrap();
    array.set_endian(nczarr::Endian::Big).unwrap();
    array.set_chunking(&[3, 3]).unwrap();
    array.set_fill(f32::NAN).unwrap();
    array.chunk(&[0, 1]).unwrap().put(&[0.25f32; 9]).unwrap();
    old.sync().unwrap();

    let new = create("v3");
    for dimension in old.dimensions() {
        new.add_dimension(&dimension.name(), dimension.len()).unwrap();
    }
    for attribute in old.attributes() {
        new.put_attribute(attribute.name(), attribute.values()).unwrap();
    }
    let copy = new.copy_variable(&array).unwrap();
    new.sync().unwrap();
    assert_eq!((&*old.info().version, &*new.info().version), ("2", "3"));
    assert_eq!(new.attribute("edition").unwrap().number(), Some(7.0));
    assert_eq!((copy.endian(), copy.chunk_shape().unwrap()), (nczarr::Endian::Big, Some(vec![3, 3])));
    assert_eq!(copy.get_values::<f32>((0..3, 3..6)).unwrap(), [0.25; 9]);
    assert!(copy.get_value::<f32>((5, 5)).unwrap().is_nan());
}
