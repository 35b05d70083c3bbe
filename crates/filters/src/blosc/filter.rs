//! The blosc filter: its parameters in HDF5 and in Zarr.

use std::borrow::Cow;
use std::ops::Range;

use nczarr_codec::{
    ChunkInfo, Filter, FilterClass, FilterInfo, FilterPlugin, Json, OutBuf, ZarrFormat, inventory,
};
use nczarr_model::{ErrorKind, Result};
use serde_json::json;

use super::compressor::Compressor;
use super::frame::{BloscFrame, OVERHEAD};
use super::{decode, encode};
use crate::json::{CodecMembers, describe};

static INFO: FilterInfo = FilterInfo {
    hdf5_id: Some(32001),
    aliases: &["numcodecs.blosc"],
    ..FilterInfo::new(
        "blosc",
        "Blosc compression; seven parameters: 0, 0, 0, block size, level 0 to 9, shuffle (0 none, 1 bytes, 2 bits), \
            compressor (0 blosclz, 1 lz4, 2 lz4hc, 3 snappy, 4 zlib, 5 zstd)",
    )
};

/// The class of the blosc filter.
pub struct BloscClass;

inventory::submit! { FilterPlugin(&BloscClass) }

impl FilterClass for BloscClass {
    fn info(&self) -> &FilterInfo {
        &INFO
    }

    fn parse_params(&self, params: &[u32]) -> Result<Box<dyn Filter>> {
        Ok(Box::new(BloscFilter::of_params(params)?))
    }

    fn parse_json(&self, codec: &Json, format: ZarrFormat) -> Result<Box<dyn Filter>> {
        Ok(Box::new(BloscFilter::of_json(codec, format)?))
    }
}

/// The shuffle setting.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum ShuffleSetting {
    None,
    Bytes,
    Bits,
    /// Bits for elements of one byte, bytes otherwise.
    Auto,
}

#[derive(Debug, Clone, Copy)]
pub(super) struct BloscFilter {
    compressor: Compressor,
    /// Level, 0 to 9.
    level: u32,
    shuffle: ShuffleSetting,
    /// Block size in bytes; 0: the library chooses.
    blocksize: u32,
    /// Element size in bytes; 0: unknown so far.
    typesize: u32,
    /// Chunk size in bytes; 0: unknown so far.
    chunk_bytes: u32,
}

impl BloscFilter {
    fn of_params(params: &[u32]) -> Result<Self> {
        let wrong = |what: String| Err(ErrorKind::Inval.context(format!("blosc: {what}, found {params:?}")));
        let &[revision, _, typesize, size, ref rest @ ..] = params else {
            return wrong("expected seven parameters".into());
        };
        if rest.len() > 3 {
            return wrong("expected seven parameters".into());
        }
        // Defaults of HDF5 for missing parameters.
        let at = |index: usize, default: u32| rest.get(index).copied().unwrap_or(default);
        let (level, shuffle, compressor) = (at(0, 5), at(1, 1), at(2, 0));
        if level > 9 {
            return wrong(format!("expected parameter 4, the level, to be 0 to 9, not {level}"));
        }
        let Some(shuffle) =
            [ShuffleSetting::None, ShuffleSetting::Bytes, ShuffleSetting::Bits].get(shuffle as usize)
        else {
            return wrong(format!("expected parameter 5, the shuffle, to be 0 to 2, not {shuffle}"));
        };
        let Some(compressor) = Compressor::ALL.get(compressor as usize) else {
            return wrong(format!("expected parameter 6, the compressor, to be 0 to 5, not {compressor}"));
        };
        // With a filter revision, the parameters are those that HDF5 stores.
        let (typesize, blocksize, chunk_bytes) =
            if revision == 0 { (0, size, 0) } else { (typesize, 0, size) };
        Ok(Self { compressor: *compressor, level, shuffle: *shuffle, blocksize, typesize, chunk_bytes })
    }

    fn of_json(codec: &Json, format: ZarrFormat) -> Result<Self> {
        let members = CodecMembers::of(INFO.name, codec, format)?;
        let compressor = match members.get("cname") {
            None => Compressor::Lz4,
            Some(value) => {
                let named =
                    value.as_str().and_then(|name| Compressor::ALL.into_iter().find(|c| c.name() == name));
                named.ok_or_else(|| {
                    members.wrong("cname", "one of blosclz, lz4, lz4hc, snappy, zlib, zstd", value)
                })?
            }
        };
        let shuffle = match members.get("shuffle") {
            None if format == ZarrFormat::V2 => ShuffleSetting::Bytes,
            None => ShuffleSetting::Auto,
            Some(value) => match value.as_str() {
                // The upper-case words are GDAL's.
                Some("noshuffle" | "NONE") => ShuffleSetting::None,
                Some("shuffle" | "BYTE") => ShuffleSetting::Bytes,
                Some("bitshuffle" | "BIT") => ShuffleSetting::Bits,
                _ => match members.int("shuffle") {
                    Ok(Some(0)) => ShuffleSetting::None,
                    Ok(Some(1)) => ShuffleSetting::Bytes,
                    Ok(Some(2)) => ShuffleSetting::Bits,
                    Ok(Some(-1)) => ShuffleSetting::Auto,
                    _ => {
                        let expected = "0, 1, 2, -1, \"noshuffle\", \"shuffle\" or \"bitshuffle\"";
                        return Err(members.wrong("shuffle", expected, value));
                    }
                },
            },
        };
        let size = |member: &str| match members.int(member)? {
            None => Ok(0),
            Some(size) => {
                u32::try_from(size).map_err(|_| members.wrong(member, "a size in bytes", &json!(size)))
            }
        };
        Ok(Self {
            compressor,
            // Decoding does not need the level, so an unknown one becomes the nearest valid one.
            level: members.int("clevel")?.unwrap_or(5).clamp(0, 9) as u32,
            shuffle,
            blocksize: size("blocksize")?,
            typesize: size("typesize")?,
            chunk_bytes: 0,
        })
    }

    /// Returns the shuffle as a number: 0 none, 1 bytes, 2 bits.
    fn shuffle_code(&self) -> u32 {
        match self.shuffle {
            ShuffleSetting::None => 0,
            ShuffleSetting::Bytes => 1,
            ShuffleSetting::Bits => 2,
            ShuffleSetting::Auto if self.typesize == 1 => 2,
            ShuffleSetting::Auto => 1,
        }
    }
}

impl Filter for BloscFilter {
    fn info(&self) -> &FilterInfo {
        &INFO
    }

    fn params(&self) -> Cow<'_, [u32]> {
        Cow::Owned(vec![0, 0, 0, self.blocksize, self.level, self.shuffle_code(), self.compressor as u32])
    }

    fn working_params(&self) -> Cow<'_, [u32]> {
        let format = u32::from(super::frame::VERSION);
        let (level, shuffle, compressor) = (self.level, self.shuffle_code(), self.compressor as u32);
        Cow::Owned(vec![2, format, self.typesize, self.chunk_bytes, level, shuffle, compressor])
    }

    fn to_json(&self, format: ZarrFormat) -> Json {
        let (cname, clevel, blocksize) = (self.compressor.name(), self.level, self.blocksize);
        let code = self.shuffle_code();
        let members = match format {
            ZarrFormat::V2 => {
                let shuffle = if self.shuffle == ShuffleSetting::Auto { -1 } else { i64::from(code) };
                json!({"cname": cname, "clevel": clevel, "shuffle": shuffle, "blocksize": blocksize})
            }
            ZarrFormat::V3 => {
                let shuffle = ["noshuffle", "shuffle", "bitshuffle"][code as usize];
                let typesize = self.typesize.max(1);
                json!({"cname": cname, "clevel": clevel, "shuffle": shuffle, "typesize": typesize, "blocksize": blocksize})
            }
        };
        describe(format, "blosc", "blosc", members)
    }

    fn bind(&mut self, chunk: &ChunkInfo<'_>) -> Result<()> {
        if self.typesize == 0 {
            self.typesize = match u8::try_from(chunk.item_size) {
                Ok(size) => u32::from(size.max(1)),
                // The header has one byte for it. Larger elements count as bytes, as in HDF5.
                Err(_) => 1,
            };
        }
        self.chunk_bytes = u32::try_from(chunk.chunk_bytes).unwrap_or(u32::MAX);
        Ok(())
    }

    fn encode_bound(&self, decoded: usize) -> Option<usize> {
        decoded.checked_add(OVERHEAD)
    }

    fn encode(&self, src: &[u8], dst: &mut OutBuf<'_>) -> Result<()> {
        let how = encode::BloscSettings {
            compressor: self.compressor,
            level: self.level,
            shuffle: self.shuffle_code(),
            typesize: self.typesize,
            blocksize: self.blocksize,
        };
        encode::frame(&how, src, dst)
    }

    fn decode(&self, src: &[u8], dst: &mut OutBuf<'_>) -> Result<()> {
        let frame = BloscFrame::parse(src)?;
        if frame.nbytes() > dst.remaining() {
            let (nbytes, room) = (frame.nbytes(), dst.remaining());
            return Err(ErrorKind::Filter
                .context(format!("blosc: the frame holds {nbytes} bytes, more than the {room} expected")));
        }
        decode::all(&frame, dst)
    }

    fn decode_ranges(
        &self,
        src: &[u8],
        decoded: usize,
        wanted: &[Range<usize>],
        dst: &mut OutBuf<'_>,
    ) -> Option<Result<()>> {
        let frame = match BloscFrame::parse(src) {
            Ok(frame) => frame,
            Err(error) => return Some(Err(error)),
        };
        if frame.nbytes() != decoded {
            return Some(Err(ErrorKind::Filter
                .context(format!("blosc: the frame holds {} bytes, expected {decoded}", frame.nbytes()))));
        }
        // If one block is the whole chunk, the engine had better decode and cache it.
        frame.has_parts().then(|| decode::ranges(&frame, wanted, dst))
    }

    fn decode_unit(&self, src: &[u8], decoded: usize) -> Option<usize> {
        let frame = BloscFrame::parse(src).ok().filter(|frame| frame.nbytes() == decoded)?;
        match frame.copy() {
            Some(_) => Some(frame.typesize()),
            None => (frame.blocks() > 1).then(|| frame.blocksize()),
        }
    }
}
