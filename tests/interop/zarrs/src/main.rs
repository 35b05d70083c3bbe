//! Lists the encoded chunks of each Zarr array below a directory, as `zarrs` reads them.
//!
//! `zarrs_chunks DIR` prints a JSON object. Each array has its path, and for each stored chunk its index, length
//! and checksum. In a shard, the chunks are those inside. An array that `zarrs` cannot open has its error. So has
//! an array with shards inside another codec: `zarrs` returns these whole.

use std::error::Error;
use std::path::Path;
use std::sync::Arc;

use serde_json::{Map, Value, json};
use zarrs::array::{Array, ArrayShardedExt, ArrayShardedReadableExt, ArrayShardedReadableExtCache};
use zarrs::filesystem::FilesystemStore;

type Outcome<T> = Result<T, Box<dyn Error>>;

/// Arrays with more chunks are left out. The time must not depend on a length in a document.
const MOST: u64 = 1 << 14;

fn main() -> Outcome<()> {
    let root = std::env::args_os().nth(1).ok_or("usage: zarrs_chunks DIR")?;
    let root = Path::new(&root);
    let store = Arc::new(FilesystemStore::new(root)?);
    let mut found = Map::new();
    let mut folders = vec![root.to_path_buf()];
    while let Some(folder) = folders.pop() {
        if is_array(&folder) {
            let relative = folder.strip_prefix(root)?.to_str().ok_or("a path that is not UTF-8")?;
            let path = format!("/{relative}");
            let chunks = encoded_chunks(&store, &path).unwrap_or_else(|error| json!(error.to_string()));
            found.insert(path, chunks);
            continue;
        }
        for entry in std::fs::read_dir(&folder)? {
            let entry = entry?;
            if entry.file_type()?.is_dir() {
                folders.push(entry.path());
            }
        }
    }
    println!("{}", Value::Object(found));
    Ok(())
}

fn is_array(folder: &Path) -> bool {
    let document = std::fs::read(folder.join("zarr.json")).unwrap_or_default();
    let document: Value = serde_json::from_slice(&document).unwrap_or_default();
    document["node_type"] == "array" || folder.join(".zarray").exists()
}

/// Returns length and checksum of each stored chunk by its index.
fn encoded_chunks(store: &Arc<FilesystemStore>, path: &str) -> Outcome<Value> {
    let array = Array::open(store.clone(), path)?;
    let cache = ArrayShardedReadableExtCache::new(&array);
    let inside = array.is_exclusively_sharded();
    let shards = array.metadata().to_string().matches("sharding_indexed").count();
    if shards > usize::from(inside) {
        return Err("shards inside another codec".into());
    }
    let grid = if inside { array.subchunk_grid_shape() } else { array.chunk_grid_shape().to_vec() };
    let count = grid.iter().try_fold(1u64, |product, &side| product.checked_mul(side));
    if count.is_none_or(|count| count > MOST) {
        return Err(format!("{grid:?} chunks").into());
    }
    let mut chunks = Map::new();
    for at in 0..count.unwrap_or(0) {
        let index = index_of(at, &grid);
        let bytes = match inside {
            true => array.retrieve_encoded_subchunk(&cache, &index)?,
            false => array.retrieve_encoded_chunk(&index)?,
        };
        if let Some(bytes) = bytes {
            let index: Vec<String> = index.iter().map(u64::to_string).collect();
            chunks.insert(index.join("."), json!([bytes.len(), crc32fast::hash(&bytes)]));
        }
    }
    Ok(Value::Object(chunks))
}

/// Returns the index of a chunk from its number. The last axis varies fastest.
fn index_of(mut at: u64, grid: &[u64]) -> Vec<u64> {
    let mut index = vec![0; grid.len()];
    for (place, side) in index.iter_mut().zip(grid).rev() {
        *place = at % side;
        at /= side;
    }
    index
}
