//! Zarr V3 arrays with chunks of different shapes, compared with a slow reference in memory.

use std::fs;
use std::path::Path;

use nczarr::{ErrorKind, Extent, File, NcType};
use proptest::prelude::*;
use serde_json::{Value, json};

const CASE: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/corpus/reports/rect.zarr");

fn grid(chunk_shapes: &Value) -> Value {
    json!({"name": "rectilinear", "configuration": {"kind": "inline", "chunk_shapes": chunk_shapes}})
}

fn document(shape: &[u64], chunk_shapes: &Value) -> Value {
    json!({
        "zarr_format": 3, "node_type": "array", "shape": shape, "data_type": "int32", "fill_value": -7,
        "chunk_grid": grid(chunk_shapes), "chunk_key_encoding": {"name": "default"},
        "codecs": [{"name": "bytes", "configuration": {"endian": "little"}}],
    })
}

/// Makes a group at `store` with an array `v` of this document.
fn place(store: &Path, document: &Value) {
    fs::create_dir_all(store.join("v")).unwrap();
    fs::write(store.join("zarr.json"), r#"{"zarr_format": 3, "node_type": "group"}"#).unwrap();
    fs::write(store.join("v/zarr.json"), document.to_string()).unwrap();
}

/// All pairs of a grid index and a chunk length, with the position of the first element.
fn spans(edges: &[u64]) -> Vec<(usize, u64, u64)> {
    let mut start = 0;
    let span = |(index, &edge): (usize, &u64)| {
        start += edge;
        (index, start - edge, edge)
    };
    edges.iter().enumerate().map(span).collect()
}

/// Writes the chunks of an array whose elements are their positions. Elements beyond the shape are -1. Chunk
/// `absent` is omitted.
fn write_chunks(store: &Path, shape: [u64; 2], edges: [&[u64]; 2], absent: [usize; 2]) {
    for (row, y, height) in spans(edges[0]) {
        for (column, x, width) in spans(edges[1]).into_iter().filter(|span| [row, span.0] != absent) {
            let inside = |y: u64, x: u64| y < shape[0] && x < shape[1];
            let element = |y: u64, x: u64| if inside(y, x) { (y * shape[1] + x) as i32 } else { -1 };
            let elements = (y..y + height).flat_map(|y| (x..x + width).map(move |x| element(y, x)));
            let folder = store.join(format!("v/c/{row}"));
            fs::create_dir_all(&folder).unwrap();
            fs::write(
                folder.join(column.to_string()),
                elements.flat_map(i32::to_le_bytes).collect::<Vec<_>>(),
            )
            .unwrap();
        }
    }
}

/// Chunk lengths, their form in the document, and the length of the dimension. The last chunks can extend
/// beyond it.
fn edges() -> impl Strategy<Value = (Vec<u64>, Value, u64)> {
    let runs = prop::collection::vec((1u64..5, 1u64..4, any::<bool>()), 1..4);
    let listed = runs.prop_map(|runs| {
        let edges: Vec<u64> = runs.iter().flat_map(|run| vec![run.0; run.1 as usize]).collect();
        let text = runs.iter().flat_map(|&(edge, count, is_run)| {
            if is_run { vec![json!([edge, count])] } else { vec![json!(edge); count as usize] }
        });
        (edges, Value::Array(text.collect()))
    });
    let plain = (1u64..5, 1usize..5).prop_map(|(edge, count)| (vec![edge; count], json!(edge)));
    prop_oneof![listed, plain].prop_flat_map(|(edges, text)| {
        let all: u64 = edges.iter().sum();
        // A single number stands for as many chunks as the dimension needs.
        let least = if text.is_number() { all - edges[0] + 1 } else { 1 };
        (Just(edges), Just(text), least..=all)
    })
}

/// A part of a dimension: start, count and stride.
fn part(len: u64, start: u64, count: u64, stride: u64) -> (u64, u64, u64) {
    let start = start % len;
    (start, count.min((len - start).div_ceil(stride)), stride)
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 160, ..ProptestConfig::default() })]

    #[test]
    fn any_part_of_a_rectilinear_grid_is_read(
        y in edges(), x in edges(), absent in [0usize..9, 0usize..9],
        parts in prop::collection::vec([0u64..40, 0u64..40, 0u64..20, 0u64..20, 1u64..5, 1u64..9], 1..5),
    ) {
        let folder = tempfile::tempdir().unwrap();
        let shape = [y.2, x.2];
        place(folder.path(), &document(&shape, &json!([y.1, x.1])));
        write_chunks(folder.path(), shape, [&y.0, &x.0], absent);
        let chunk_of = |edges: &[u64], at: u64| spans(edges).iter().position(|span| at < span.1 + span.2).unwrap();
        let file = nczarr::open(folder.path().to_str().unwrap()).unwrap();
        let v = file.variable("v").unwrap();
        let oracle = |(y0, height, down): (u64, u64, u64), (x0, width, right): (u64, u64, u64)| {
            let mut all = Vec::new();
            for (row, column) in (0..height).flat_map(|row| (0..width).map(move |column| (row, column))) {
                let at = (y0 + row * down, x0 + column * right);
                let hole = [chunk_of(&y.0, at.0), chunk_of(&x.0, at.1)] == absent;
                all.push(if hole { -7 } else { (at.0 * shape[1] + at.1) as i32 });
            }
            all
        };
        let whole = oracle((0, shape[0], 1), (0, shape[1], 1));
        prop_assert_eq!(v.get_values::<i32>(..).unwrap(), whole);
        for [y0, x0, height, width, down, right] in parts {
            let (rows, columns) = (part(shape[0], y0, height, down), part(shape[1], x0, width, right));
            let extent = |(start, count, stride)| Extent::Strided { start, count: Some(count), stride };
            let found = v.get_values::<i32>(&[extent(rows), extent(columns)][..]).unwrap();
            let right = oracle(rows, columns);
            let doubles = v.get_values::<f64>(&[extent(rows), extent(columns)][..]).unwrap();
            prop_assert!(doubles.iter().zip(&right).all(|(a, b)| *a == f64::from(*b)));
            prop_assert_eq!(found, right);
        }
    }
}

#[test]
fn an_array_of_zarr_python_is_read() {
    let file = nczarr::open(CASE).unwrap();
    let v = file.variable("t2m").unwrap();
    let right: Vec<f32> = (0..60u8).map(f32::from).collect();
    assert_eq!(v.get_values::<f32>(..).unwrap(), right);
    assert_eq!(v.get_values::<f32>((2..3, 3..9)).unwrap(), right[23..29]);
    assert!(v.get_values::<f32>((3..3, 3..9)).unwrap().is_empty());
    assert_eq!(v.get_values::<f32>((0..7, 0..1)).unwrap_err().kind(), ErrorKind::Edge);
    // All values fit in an `i8`.
    let mut bytes = [99i8; 60];
    let file = nczarr::open(CASE).unwrap();
    file.variable("t2m").unwrap().get_into(&mut bytes, ..).unwrap();
    assert!(bytes.iter().zip(0..).all(|(found, right)| *found == right));
}

/// An array whose chunks were each written as an array of one chunk.
fn assembled(folder: &Path, edges: [&[u64]; 2], define: impl Fn(&File, [u64; 2], [u64; 2])) -> String {
    let store = folder.join("store");
    for (row, y, height) in spans(edges[0]) {
        for (column, x, width) in spans(edges[1]) {
            let one = folder.join(format!("{row}-{column}"));
            let file = nczarr::create(format!("file://{}#mode=zarr,v3", one.display())).unwrap();
            file.add_dimension("y", height).unwrap();
            file.add_dimension("x", width).unwrap();
            define(&file, [y, x], [height, width]);
            file.close().unwrap();
            if !store.exists() {
                let mut document: Value =
                    serde_json::from_slice(&fs::read(one.join("v/zarr.json")).unwrap()).unwrap();
                document["shape"] = json!([edges[0].iter().sum::<u64>(), edges[1].iter().sum::<u64>()]);
                document["chunk_grid"] = grid(&json!(edges));
                place(&store, &document);
            }
            fs::create_dir_all(store.join(format!("v/c/{row}"))).unwrap();
            fs::copy(one.join("v/c/0/0"), store.join(format!("v/c/{row}/{column}"))).unwrap();
        }
    }
    store.to_str().unwrap().to_owned()
}

#[test]
fn shards_may_differ_in_shape() {
    let folder = tempfile::tempdir().unwrap();
    let url = assembled(folder.path(), [&[2, 4, 2], &[6, 3]], |file, [y, x], [height, width]| {
        let v = file.add_variable::<i32>("v", &["y", "x"]).unwrap();
        v.set_chunking(&[2, 3]).unwrap();
        v.set_shards(&[height, width]).unwrap();
        let elements = (y..y + height).flat_map(|y| (x..x + width).map(move |x| (y * 9 + x) as i32));
        v.put(&elements.collect::<Vec<_>>(), ..).unwrap();
    });
    let file = nczarr::open(&url).unwrap();
    assert_eq!(file.variable("v").unwrap().get_values::<i32>(..).unwrap(), (0..72).collect::<Vec<_>>());
    // A shard must be a whole number of chunks.
    let path = Path::new(&url).join("v/zarr.json");
    let mut document: Value = serde_json::from_slice(&fs::read(&path).unwrap()).unwrap();
    document["chunk_grid"] = grid(&json!([[2, 4, 2], [6, 2, 1]]));
    fs::write(&path, document.to_string()).unwrap();
    let file = nczarr::open(&url).unwrap();
    let error = file.variable("v").unwrap().get_values::<i32>(..).unwrap_err();
    assert!(error.to_string().contains("chunk_grid"), "{error}");
}

#[test]
fn strings_and_bytes_are_read() {
    let folder = tempfile::tempdir().unwrap();
    let text = |y: u64, x: u64| "ab".repeat((y * 5 + x) as usize);
    let url = assembled(folder.path(), [&[1, 2], &[3, 2]], |file, [y, x], [height, width]| {
        let v = file.add_variable_with_type("v", NcType::String, &["y", "x"]).unwrap();
        v.set_chunking(&[height, width]).unwrap();
        let elements = (y..y + height).flat_map(|y| (x..x + width).map(move |x| text(y, x)));
        v.put_strings(&elements.collect::<Vec<_>>(), ..).unwrap();
    });
    let file = nczarr::open(&url).unwrap();
    let right: Vec<String> = (0..3).flat_map(|y| (0..5).map(move |x| text(y, x))).collect();
    let v = file.variable("v").unwrap();
    assert_eq!(v.get_strings(..).unwrap().into_vec(), right);
    let right: Vec<String> = (1..3).flat_map(|y| (2..4).map(move |x| text(y, x))).collect();
    assert_eq!(v.get_strings((1..3, 2..4)).unwrap().into_vec(), right);
}

#[test]
fn a_grid_that_makes_no_sense_is_the_problem_of_its_variable() {
    let folder = tempfile::tempdir().unwrap();
    let huge = u64::MAX;
    for chunk_shapes in [
        json!([[2, 1], [4]]),
        json!([[2, 0, 2], [4]]),
        json!([[4], 0]),
        json!([[4]]),
        json!([[4], [4], [4]]),
        json!([[[2, 0], 4], [4]]),
        json!([[[huge, 2]], [4]]),
        json!([[huge, huge], [4]]),
        json!([[-4, 8], [4]]),
        json!([[4.5], [4]]),
        json!(null),
        json!("44"),
    ] {
        place(folder.path(), &document(&[4, 4], &chunk_shapes));
        fs::create_dir_all(folder.path().join("w")).unwrap();
        fs::write(folder.path().join("w/zarr.json"), document(&[3], &json!([[2, 1]])).to_string()).unwrap();
        let file = nczarr::open(folder.path().to_str().unwrap()).unwrap();
        assert_eq!(file.variable("w").unwrap().get_values::<i32>(..).unwrap(), [-7; 3]);
        let error = file.variable("v").unwrap().get_values::<i32>(..).unwrap_err();
        assert_eq!(error.kind(), ErrorKind::NcZarr, "{chunk_shapes}");
        let text = error.to_string();
        assert!(text.contains("v/zarr.json") && text.contains("chunk_grid"), "{text}");
    }
    // A large number of chunks takes no memory. A chunk that is too large is refused when it is read.
    for (chunk_shapes, readable) in [(json!([[[1, huge / 2]], 4]), true), (json!([huge, huge]), false)] {
        place(folder.path(), &document(&[4, 4], &chunk_shapes));
        let file = nczarr::open(folder.path().to_str().unwrap()).unwrap();
        let found = file.variable("v").unwrap().get_values::<i32>(..);
        assert_eq!(found.is_ok(), readable, "{found:?}");
    }
}

/// The damaged chunk is too short, because its bytes belong to another shape.
#[test]
fn a_damaged_chunk_is_named() {
    let folder = tempfile::tempdir().unwrap();
    place(folder.path(), &document(&[6, 4], &json!([[1, 2, 3], [4]])));
    write_chunks(folder.path(), [6, 4], [&[1, 2, 3], &[4]], [9, 9]);
    fs::copy(folder.path().join("v/c/1/0"), folder.path().join("v/c/2/0")).unwrap();
    let file = nczarr::open(folder.path().to_str().unwrap()).unwrap();
    let v = file.variable("v").unwrap();
    assert_eq!(v.get_values::<i32>((0..3, ..)).unwrap(), (0..12).collect::<Vec<_>>());
    let error = v.get_values::<i32>(..).unwrap_err().to_string();
    assert!(error.contains("v/c/2/0"), "{error}");
}

#[test]
fn the_layout_stays_and_nothing_is_written() {
    let folder = tempfile::tempdir().unwrap();
    place(folder.path(), &document(&[6, 4], &json!([[1, 2, [3, 1]], 4])));
    let url = folder.path().to_str().unwrap().to_owned();
    for with_data in [false, true] {
        if with_data {
            write_chunks(folder.path(), [6, 4], [&[1, 2, 3], &[4]], [1, 0]);
        }
        let file = nczarr::append(&url).unwrap();
        let v = file.variable("v").unwrap();
        assert_eq!(v.put(&[1; 24], ..).unwrap_err().kind(), ErrorKind::Perm);
        assert_eq!(v.set_chunking(&[2, 2]).unwrap_err().kind(), ErrorKind::LateDef);
        v.put_attribute("units", "K").unwrap();
        v.rename(if with_data { "u" } else { "t" }).unwrap();
        v.rename("v").unwrap();
        file.close().unwrap();
        let written: Value =
            serde_json::from_slice(&fs::read(folder.path().join("v/zarr.json")).unwrap()).unwrap();
        let before = document(&[6, 4], &json!([[1, 2, [3, 1]], 4]));
        for member in ["shape", "chunk_grid", "codecs", "data_type", "fill_value"] {
            assert_eq!(written[member], before[member]);
        }
        assert_eq!(written["attributes"]["units"], "K");
    }
    // The chunks move with a renamed variable, even if some of them were read before.
    let file = nczarr::append(&url).unwrap();
    let v = file.variable("v").unwrap();
    let right: Vec<i32> = (0..24).map(|at| if (4..12).contains(&at) { -7 } else { at }).collect();
    assert_eq!(v.get_values::<i32>(..).unwrap(), right);
    v.rename("elsewhere").unwrap();
    assert_eq!(v.get_values::<i32>(..).unwrap(), right);
    file.close().unwrap();
    let file = nczarr::open(&url).unwrap();
    assert_eq!(file.variable("elsewhere").unwrap().get_values::<i32>(..).unwrap(), right);
}
