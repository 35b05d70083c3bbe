//! `nczarr-runner`: performs one storage operation, times it and prints one line of JSON.
//!
//! All runners under `benches/peers` take the same flags and print the same line, so `run.py` can interleave
//! them. If this build lacks an operation, the line contains `skip`.

mod data;
mod measure;
mod meta;

use clap::Parser;
use measure::Outcome;
use nczarr::{Group, Result, Variable};
use serde_json::json;

/// Performs one storage operation and prints one line of JSON.
#[derive(Debug, Parser)]
pub struct Op {
    /// write, read, elem, row, box, series, vars, open, list, append, meta_write, meta_open, conv
    #[arg(long)]
    op: String,
    /// v2, v3, v3s (chunks in shards), h5, cdf5; other formats print a skip line
    #[arg(long, default_value = "v2")]
    format: String,
    /// file, zip, s3 (with the feature); other stores print a skip line
    #[arg(long, default_value = "file")]
    store: String,
    /// none, zlib5, deflate5s, zstd3, zstd3s, blosclz4, blosczstdbit
    #[arg(long, default_value = "none")]
    codec: String,
    /// f4, f8, i2; `>` before it stores big-endian
    #[arg(long, default_value = "f4")]
    dtype: String,
    /// Shape of the array
    #[arg(long, value_delimiter = ',')]
    shape: Vec<u64>,
    /// Shape of a chunk
    #[arg(long, value_delimiter = ',')]
    chunks: Vec<u64>,
    /// Shape of a shard
    #[arg(long, value_delimiter = ',')]
    shards: Vec<u64>,
    /// Directory of the root group; the array in it is `v`
    #[arg(long)]
    path: String,
    /// Raw native elements, repeated as often as needed
    #[arg(long, default_value = "")]
    data: String,
    /// How many accesses, records or opens
    #[arg(long, default_value_t = 100)]
    count: u64,
    /// Start of the pseudo-random positions
    #[arg(long, default_value_t = 1)]
    seed: u64,
    /// cold: open per access; open: one handle, no decoded cache; warm: one handle, timed on the second pass
    #[arg(long, default_value = "open")]
    mode: String,
    /// Bytes of decoded cache for `warm`
    #[arg(long, default_value_t = 256 << 20)]
    cache: usize,
    /// Shape of a box
    #[arg(long = "box", value_delimiter = ',', default_value = "32,32,32")]
    box_shape: Vec<u64>,
    /// Steps of `vars`
    #[arg(long, value_delimiter = ',', default_value = "2,2,2")]
    stride: Vec<u64>,
    /// Variables of the metadata operations
    #[arg(long, default_value_t = 100)]
    nvars: u64,
    /// Metadata operations go through consolidated metadata
    #[arg(long)]
    consolidated: bool,
    /// Threads; 0: the library's own default
    #[arg(long, default_value_t = 0)]
    threads: usize,
    /// Server of the remote stores
    #[arg(long, default_value = "")]
    url: String,
}

fn main() {
    let op = Op::parse();
    let line = match op.missing().map_or_else(|| op.measure().map_err(|error| format!("{error:#}")), Err) {
        Ok(done) => done.to_json(&op.op),
        Err(why) => json!({"peer": "nczarr", "op": op.op, "skip": why}),
    };
    println!("{line}");
}

impl Op {
    fn missing(&self) -> Option<String> {
        match self.format.as_str() {
            "v2" | "v3" | "v3s" => {}
            "cdf5" if self.codec != "none" => return Some(format!("format cdf5 with codec {}", self.codec)),
            "cdf5" | "h5" if self.op == "list" => return Some(format!("format {} has no keys", self.format)),
            "cdf5" | "h5" => {}
            other => return Some(format!("format {other} is not built")),
        }
        match self.store.as_str() {
            "file" => None,
            "zip" if !self.is_file() => None,
            "s3" if cfg!(feature = "s3") && !self.is_file() && !self.url.is_empty() => None,
            other => Some(format!("store {other} is not built for format {}", self.format)),
        }
    }

    fn measure(&self) -> Result<Outcome> {
        match self.op.as_str() {
            "write" => data::write(self),
            "read" => data::read(self),
            "conv" => data::convert(self),
            "vars" => data::strided(self),
            "elem" | "row" | "box" | "series" => data::access(self),
            "open" => data::open(self),
            "append" => data::append(self),
            "list" => meta::list(self),
            "meta_write" => meta::write(self),
            "meta_open" => meta::open(self),
            other => Err(nczarr::ErrorKind::Inval.context(format!("--op {other}"))),
        }
    }

    /// The URL of the dataset: one file, or a pure Zarr group in a directory or archive.
    fn url(&self) -> String {
        match self.format.as_str() {
            "cdf5" => return format!("file://{}#mode=cdf5", self.path),
            "h5" => return format!("file://{}#mode=netcdf-4", self.path),
            _ => {}
        }
        let consolidated = if self.consolidated { ",consolidated" } else { "" };
        let version = &self.format[..2];
        if self.store == "s3" {
            // All runners use this bucket. The server checks no signature.
            let path = self.path.trim_start_matches('/');
            return format!("{}/bench/{path}#mode=zarr,{version},s3{consolidated}&aws.profile=no", self.url);
        }
        format!("file://{}#mode=zarr,{version},{}{consolidated}", self.path, self.store)
    }

    /// Whether the dataset stores big-endian elements. Classic files always do.
    fn big_endian(&self) -> bool {
        self.dtype.starts_with('>') && !self.is_classic()
    }

    fn is_classic(&self) -> bool {
        self.format == "cdf5"
    }

    /// Whether the dataset is one file. Runners of such formats read into the caller's memory.
    fn is_file(&self) -> bool {
        self.is_classic() || self.format == "h5"
    }

    /// Defines the array `v` with the shape, chunks and codec of the flags. Its first dimension is unlimited
    /// if `grows` is true.
    fn define(&self, root: &Group, grows: bool) -> Result<Variable> {
        let names: Vec<String> = (0..self.shape.len()).map(|i| format!("d{i}")).collect();
        for (i, (name, &len)) in names.iter().zip(&self.shape).enumerate() {
            if grows && i == 0 {
                root.add_unlimited_dimension(name)?;
            } else {
                root.add_dimension(name, len)?;
            }
        }
        let dims: Vec<&str> = names.iter().map(String::as_str).collect();
        let var = match self.dtype.trim_start_matches('>') {
            "f4" => root.add_variable::<f32>("v", &dims)?,
            "f8" => root.add_variable::<f64>("v", &dims)?,
            _ => root.add_variable::<i16>("v", &dims)?,
        };
        if self.big_endian() {
            var.set_endian(nczarr::Endian::Big)?;
        }
        if !self.chunks.is_empty() && !self.is_classic() {
            var.set_chunking(&self.chunks)?;
        }
        if self.format == "v3s" {
            var.set_shards(&self.shards)?;
        }
        match self.codec.as_str() {
            "none" => {}
            "zlib5" => var.set_deflate(5, false)?,
            "deflate5s" => var.set_deflate(5, true)?,
            "zstd3" => var.set_filter("zstd", &[3])?,
            "zstd3s" => {
                var.set_filter("shuffle", &[])?;
                var.set_filter("zstd", &[3])?;
            }
            "blosclz4" => var.set_filter("blosc", &[0, 0, 0, 0, 5, 1, 1])?,
            "blosczstdbit" => var.set_filter("blosc", &[0, 0, 0, 0, 3, 2, 5])?,
            other => return Err(nczarr::ErrorKind::Inval.context(format!("--codec {other}"))),
        }
        Ok(var)
    }
}
