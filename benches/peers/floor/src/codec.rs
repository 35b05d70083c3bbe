//! The compressors. Each thread has one set of contexts.

use libdeflater::{CompressionLvl, Compressor, Decompressor};
use serde_json::{Value, json};

/// The compressor of the chunks.
pub struct Codec {
    /// Whether bytes are shuffled before compression.
    pub shuffled: bool,
    kind: Kind,
}

enum Kind {
    None,
    Deflate { gzip: bool, compressor: Compressor, decompressor: Decompressor },
    Zstd { compressor: zstd::bulk::Compressor<'static>, decompressor: zstd::bulk::Decompressor<'static> },
}

/// Returns an upper bound for the compressed size of this number of bytes.
pub fn bound(bytes: usize) -> usize {
    bytes + bytes / 8 + 4096
}

impl Codec {
    /// Returns the codec of this name. V3 has gzip in place of zlib.
    pub fn of(name: &str, gzip: bool) -> Option<Self> {
        let kind = match name {
            "none" => Kind::None,
            "zlib5" | "deflate5s" => Kind::Deflate {
                gzip,
                compressor: Compressor::new(CompressionLvl::new(5).ok()?),
                decompressor: Decompressor::new(),
            },
            "zstd3" | "zstd3s" => Kind::Zstd {
                compressor: zstd::bulk::Compressor::new(3).ok()?,
                decompressor: zstd::bulk::Decompressor::new().ok()?,
            },
            _ => return None,
        };
        Some(Self { shuffled: matches!(name, "deflate5s" | "zstd3s"), kind })
    }

    pub fn is_none(&self) -> bool {
        matches!(self.kind, Kind::None)
    }

    /// Returns its description in V2.
    pub fn v2(&self) -> Value {
        match self.kind {
            Kind::None => Value::Null,
            Kind::Deflate { .. } => json!({"id": "zlib", "level": 5}),
            Kind::Zstd { .. } => json!({"id": "zstd", "level": 3}),
        }
    }

    /// Returns its description in V3.
    pub fn v3(&self) -> Option<Value> {
        match self.kind {
            Kind::None => None,
            Kind::Deflate { .. } => Some(json!({"name": "gzip", "configuration": {"level": 5}})),
            Kind::Zstd { .. } => Some(json!({"name": "zstd", "configuration": {"level": 3, "checksum": false}})),
        }
    }

    pub fn decode(&mut self, encoded: &[u8], out: &mut [u8]) {
        let len = match &mut self.kind {
            Kind::None => 0,
            Kind::Deflate { gzip: true, decompressor, .. } => decompressor.gzip_decompress(encoded, out).expect("gzip"),
            Kind::Deflate { decompressor, .. } => decompressor.zlib_decompress(encoded, out).expect("zlib"),
            Kind::Zstd { decompressor, .. } => decompressor.decompress_to_buffer(encoded, out).expect("zstd"),
        };
        assert_eq!(len, out.len(), "a whole chunk");
    }

    pub fn encode<'a>(&mut self, data: &[u8], out: &'a mut [u8]) -> &'a [u8] {
        let len = match &mut self.kind {
            Kind::None => 0,
            Kind::Deflate { gzip: true, compressor, .. } => compressor.gzip_compress(data, out).expect("room"),
            Kind::Deflate { compressor, .. } => compressor.zlib_compress(data, out).expect("room"),
            Kind::Zstd { compressor, .. } => compressor.compress_to_buffer(data, out).expect("room"),
        };
        &out[..len]
    }
}
