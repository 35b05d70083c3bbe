//! Arrays with few stored chunks: `copy`, `diff` and `validate` visit stored chunks only.
//!
//! The arrays have a million chunks of a million elements. A command that visits the absent ones never ends.

use std::fs;
use std::path::{Path, PathBuf};

use proptest::prelude::*;

use crate::{out, run, text};

/// The two versions of Zarr, by their documents.
#[derive(Debug, Clone, Copy)]
enum Zarr {
    V2,
    V3,
}

/// The name of a chunk by its indices.
type ChunkName = fn([u64; 2]) -> String;

/// Makes a store with one array `v` of singles; each of these chunks contains one number.
fn store(folder: &Path, zarr: Zarr, shape: [u64; 2], chunk: [u64; 2], stored: &[([u64; 2], f32)]) -> PathBuf {
    let root = folder.join("in.zarr");
    let array = root.join("v");
    fs::create_dir_all(&array).unwrap();
    let (documents, chunk_name): (&[(&str, String)], ChunkName) = match zarr {
        Zarr::V2 => (
            &[
                (".zgroup", r#"{"zarr_format":2}"#.to_owned()),
                (
                    "v/.zarray",
                    format!(
                        r#"{{"zarr_format":2,"shape":{shape:?},"chunks":{chunk:?},"dtype":"<f4","fill_value":0,
                           "order":"C","compressor":null,"filters":null}}"#
                    ),
                ),
                ("v/.zattrs", r#"{"_ARRAY_DIMENSIONS":["y","x"]}"#.to_owned()),
            ],
            |[y, x]| format!("{y}.{x}"),
        ),
        Zarr::V3 => (
            &[
                ("zarr.json", r#"{"zarr_format":3,"node_type":"group"}"#.to_owned()),
                (
                    "v/zarr.json",
                    format!(
                        r#"{{"zarr_format":3,"node_type":"array","shape":{shape:?},"data_type":"float32",
                           "chunk_grid":{{"name":"regular","configuration":{{"chunk_shape":{chunk:?}}}}},
                           "chunk_key_encoding":{{"name":"default"}},"fill_value":0,
                           "codecs":[{{"name":"bytes","configuration":{{"endian":"little"}}}}],
                           "dimension_names":["y","x"]}}"#
                    ),
                ),
            ],
            |[y, x]| format!("c/{y}/{x}"),
        ),
    };
    for (name, document) in documents {
        fs::write(root.join(name), document).unwrap();
    }
    for (index, value) in stored {
        let path = array.join(chunk_name(*index));
        fs::create_dir_all(path.parent().unwrap()).unwrap();
        fs::write(path, value.to_le_bytes().repeat((chunk[0] * chunk[1]) as usize)).unwrap();
    }
    root
}

/// The number of chunks that `validate --deep` read.
fn chunks_read(url: &str) -> String {
    let message = out(&["validate", "--deep", url]);
    let count = message.split(", ").find(|part| part.contains("chunks read")).unwrap();
    count.split(' ').next().unwrap().to_owned()
}

#[test]
fn only_stored_chunks_are_looked_at() {
    const MANY: u64 = 1_000_000;
    let folder = tempfile::tempdir().unwrap();
    for (zarr, targets) in [
        (Zarr::V2, ["a.zarr#mode=zarr", "a.nc#mode=netcdf-4"]),
        (Zarr::V3, ["b.zarr#mode=zarr,v3", "b.zip#mode=nczarr,zip"]),
    ] {
        let folder = folder.path().join(format!("{zarr:?}"));
        let source = store(&folder, zarr, [MANY, MANY], [1000, 1000], &[([0, 5], 1.5), ([999, 999], 2.5)]);
        assert_eq!(chunks_read(text(&source)), "2", "{zarr:?}");
        for target in targets {
            let target = format!("{}/{target}", text(&folder));
            out(&["copy", text(&source), &target]);
            assert_eq!(chunks_read(&target), "2", "{target}");
            assert_eq!(out(&["diff", text(&source), &target]), "", "{target}");
            let far =
                ["cat", &target, "/v", "--start", "999999,999998", "--count", "1,2", "--format", "text"];
            assert_eq!(out(&far).split_whitespace().collect::<Vec<_>>(), ["2.5", "2.5"], "{target}");
        }
        // Differences are found where only one side has a chunk.
        let (other, first) = (folder.join("other"), [([0, 5], 1.5), ([3, 3], 7.0)]);
        let other = store(&other, zarr, [MANY, MANY], [1000, 1000], &first);
        let output = run(["diff", text(&source), text(&other)]);
        let message = String::from_utf8(output.stdout).unwrap();
        assert!(message.contains("2000000 of 1000000000000 elements"), "{message}");
    }
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(12))]

    /// The oracle is `cat` of the whole variable, which does not use the list of stored chunks.
    #[test]
    fn sparse_and_dense_copies_and_comparisons_agree(
        len in (60u64..90, 30u64..60),
        chunk in (1u64..5, 1u64..5),
        stored in prop::collection::btree_map((0u64..20, 0u64..15), 1u8..4, 0..12),
        target in (1u64..9, 1u64..9),
        is_v3: bool,
        other in (0u64..20, 0u64..15),
    ) {
        let folder = tempfile::tempdir().unwrap();
        let (shape, chunk) = ([len.0, len.1], [chunk.0, chunk.1]);
        let zarr = if is_v3 { Zarr::V3 } else { Zarr::V2 };
        let inside = |(y, x): (u64, u64)| [y % shape[0].div_ceil(chunk[0]), x % shape[1].div_ceil(chunk[1])];
        let mut chunks: Vec<_> = stored.iter().map(|(&at, &value)| (inside(at), f32::from(value))).collect();
        let source = store(&folder.path().join("a"), zarr, shape, chunk, &chunks);
        let values = |url: &str| out(&["cat", url, "/v", "--format", "text"]);
        let spec = format!("v:{},{}", target.0, target.1);
        for target in ["o.zarr#mode=zarr", "o.nc#mode=netcdf-4"] {
            let target = format!("{}/{target}", text(folder.path()));
            out(&["copy", "-c", &spec, text(&source), &target]);
            prop_assert_eq!(values(text(&source)), values(&target));
            prop_assert_eq!(out(&["diff", text(&source), &target]), "");
            out(&["rm", &target]);
        }
        // One more chunk on the other side differs wherever it holds another number.
        let at = inside(other);
        chunks.retain(|(index, _)| *index != at);
        chunks.push((at, 9.0));
        let other = store(&folder.path().join("b"), zarr, shape, chunk, &chunks);
        let extent = |dim: usize| chunk[dim].min(shape[dim] - at[dim] * chunk[dim]);
        let message = String::from_utf8(run(["diff", text(&source), text(&other)]).stdout).unwrap();
        let expected = format!("data of /v: {} of {} elements", extent(0) * extent(1), shape[0] * shape[1]);
        prop_assert!(message.contains(&expected), "{}\n{}", expected, message);
    }
}
