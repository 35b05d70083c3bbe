//! The command line, and the metadata of the array it describes.

use std::collections::HashMap;
use std::error::Error;
use std::fs::File;
use std::io::Read as _;

use serde_json::{Value, json};

/// Any failure. The runner prints it as a skip line.
pub type Failure = Box<dyn Error>;

/// The operation and its array.
pub struct Job {
    flags: HashMap<String, String>,
    /// The shape of the array.
    pub shape: Vec<u64>,
}

impl Job {
    /// Parses `--name value` and `--name`.
    pub fn parse(args: impl Iterator<Item = String>) -> Result<Self, Failure> {
        let mut flags = HashMap::new();
        let mut args = args.peekable();
        while let Some(name) = args.next() {
            let value = args.next_if(|next| !next.starts_with("--")).unwrap_or_default();
            flags.insert(name.trim_start_matches("--").to_owned(), value);
        }
        let mut job = Self { flags, shape: Vec::new() };
        job.shape = job.list("shape", "")?;
        Ok(job)
    }

    pub fn has(&self, name: &str) -> bool {
        self.flags.contains_key(name)
    }

    pub fn text<'a>(&'a self, name: &str, default: &'a str) -> &'a str {
        self.flags.get(name).map_or(default, String::as_str)
    }

    pub fn number(&self, name: &str, default: u64) -> Result<u64, Failure> {
        Ok(self.flags.get(name).map_or(Ok(default), |value| value.parse())?)
    }

    pub fn list(&self, name: &str, default: &str) -> Result<Vec<u64>, Failure> {
        let items = self.text(name, default).split(',').filter(|item| !item.is_empty());
        Ok(items.map(str::parse).collect::<Result<_, _>>()?)
    }

    pub fn is_v2(&self) -> bool {
        self.text("format", "v2") == "v2"
    }

    /// Returns the element type without its byte order, and whether the order is big-endian.
    fn dtype(&self) -> (&str, bool) {
        let dtype = self.text("dtype", "f4");
        (dtype.trim_start_matches('>'), dtype.starts_with('>'))
    }

    /// Returns the bytes of an element.
    pub fn item(&self) -> Result<usize, Failure> {
        Ok(self.dtype().0.get(1..).unwrap_or_default().parse()?)
    }

    /// Returns the elements to write, in native byte order. At the end of the file it starts again from the
    /// beginning.
    pub fn load(&self, bytes: usize) -> Result<Vec<u8>, Failure> {
        let mut data = Vec::with_capacity(bytes);
        while data.len() < bytes {
            let before = data.len();
            File::open(self.text("data", ""))?.take((bytes - before) as u64).read_to_end(&mut data)?;
            if data.len() == before {
                return Err("the data file is empty".into());
            }
        }
        Ok(data)
    }

    /// Returns the metadata of the array with this shape.
    pub fn metadata(&self, shape: &[u64]) -> Result<Value, Failure> {
        if self.is_v2() { self.metadata_v2(shape) } else { self.metadata_v3(shape) }
    }

    fn metadata_v2(&self, shape: &[u64]) -> Result<Value, Failure> {
        let (base, big) = self.dtype();
        let blosc = |name: &str, level: u64, shuffle: u64| json!({"id": "blosc", "cname": name, "clevel": level, "shuffle": shuffle, "blocksize": 0});
        let codec = self.text("codec", "none");
        let compressor = match codec {
            "none" => Value::Null,
            "zlib5" | "deflate5s" => json!({"id": "zlib", "level": 5}),
            "zstd3" | "zstd3s" => json!({"id": "zstd", "level": 3}),
            "blosclz4" => blosc("lz4", 5, 1),
            "blosczstdbit" => blosc("zstd", 3, 2),
            _ => return Err("codec".into()),
        };
        let filters = match codec {
            "deflate5s" | "zstd3s" => json!([{"id": "shuffle", "elementsize": self.item()?}]),
            _ => Value::Null,
        };
        Ok(json!({
            "zarr_format": 2, "shape": shape, "chunks": self.list("chunks", "")?,
            "dtype": format!("{}{base}", if big { ">" } else { "<" }), "compressor": compressor, "filters": filters,
            "fill_value": 0, "order": "C", "dimension_separator": ".",
        }))
    }

    fn metadata_v3(&self, shape: &[u64]) -> Result<Value, Failure> {
        let (base, big) = self.dtype();
        let item = self.item()?;
        let mut codecs =
            vec![json!({"name": "bytes", "configuration": {"endian": if big { "big" } else { "little" }}})];
        let shuffle = json!({"name": "numcodecs.shuffle", "configuration": {"elementsize": item}});
        let gzip = json!({"name": "gzip", "configuration": {"level": 5}});
        let zstd = json!({"name": "zstd", "configuration": {"level": 3, "checksum": false}});
        let blosc = |name: &str, level: u64, shuffle: &str| {
            json!({"name": "blosc", "configuration":
                {"cname": name, "clevel": level, "shuffle": shuffle, "typesize": item, "blocksize": 0}})
        };
        match self.text("codec", "none") {
            "none" => {}
            "zlib5" => codecs.push(gzip),
            "deflate5s" => codecs.extend([shuffle, gzip]),
            "zstd3" => codecs.push(zstd),
            "zstd3s" => codecs.extend([shuffle, zstd]),
            "blosclz4" => codecs.push(blosc("lz4", 5, "shuffle")),
            "blosczstdbit" => codecs.push(blosc("zstd", 3, "bitshuffle")),
            _ => return Err("codec".into()),
        }
        let mut grid = self.list("chunks", "")?;
        if self.text("format", "") == "v3s" {
            let index = json!([{"name": "bytes", "configuration": {"endian": "little"}}, {"name": "crc32c"}]);
            codecs = vec![json!({"name": "sharding_indexed", "configuration":
                {"chunk_shape": grid, "codecs": codecs, "index_codecs": index}})];
            grid = self.list("shards", "")?;
        }
        let data_type = match base {
            "f4" => "float32",
            "f8" => "float64",
            _ => "int16",
        };
        Ok(json!({
            "zarr_format": 3, "node_type": "array", "shape": shape, "data_type": data_type, "fill_value": 0,
            "codecs": codecs, "chunk_grid": {"name": "regular", "configuration": {"chunk_shape": grid}},
            "chunk_key_encoding": {"name": "default", "configuration": {"separator": "/"}}, "attributes": {},
        }))
    }

    /// Returns the metadata of one of many small variables.
    pub fn small(&self, i: u64) -> Value {
        let attributes = json!({
            "units": "K", "long_name": format!("variable {i}"), "scale_factor": 0.5, "add_offset": i as f64,
            "_ARRAY_DIMENSIONS": ["x"],
        });
        if self.is_v2() {
            return json!({
                "zarr_format": 2, "shape": [10], "chunks": [10], "dtype": "<f4", "compressor": null, "filters": null,
                "fill_value": 0, "order": "C", "attributes": attributes,
            });
        }
        json!({
            "zarr_format": 3, "node_type": "array", "shape": [10], "data_type": "float32", "fill_value": 0,
            "codecs": [{"name": "bytes", "configuration": {"endian": "little"}}],
            "chunk_grid": {"name": "regular", "configuration": {"chunk_shape": [10]}},
            "chunk_key_encoding": {"name": "default", "configuration": {"separator": "/"}}, "attributes": attributes,
            "dimension_names": ["x"],
        })
    }
}
