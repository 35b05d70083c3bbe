//! The codec `pcodec` of numcodecs: it turns an array of numbers into bytes, with the crate `pco`.

use std::borrow::Cow;

use nczarr::codec::{ChunkInfo, CodecKind, Filter, FilterClass, FilterInfo, FilterPlugin, ItemKind, ItemType, Json, OutBuf, ZarrFormat, inventory};
use nczarr::{Error, ErrorKind, Result};
use pco::{ChunkConfig, standalone};

static INFO: FilterInfo = FilterInfo { kind: CodecKind::ArrayToBytes, v3_names: Some(&["numcodecs.pcodec"]), ..FilterInfo::new("pcodec", "Pco compression; level 0 to 12") };

/// Makes codecs with one parameter, the level.
pub struct PcodecClass;

impl FilterClass for PcodecClass {
    fn info(&self) -> &FilterInfo { &INFO }
    fn parse_params(&self, params: &[u32]) -> Result<Box<dyn Filter>> {
        let &[level @ 0..=12] = params else { return Err(wrong(format!("expected a level of 0 to 12, found {params:?}"))) };
        Ok(Box::new(Pcodec { level, item: ItemType::BYTES }))
    }
    fn parse_json(&self, codec: &Json, format: ZarrFormat) -> Result<Box<dyn Filter>> {
        let level = codec.pointer(if format == ZarrFormat::V2 { "/level" } else { "/configuration/level" }).map_or(Some(8), Json::as_u64);
        self.parse_params(level.and_then(|level| u32::try_from(level).ok()).as_slice())
    }
}

#[derive(Debug, Clone)]
struct Pcodec { level: u32, item: ItemType }

/// Runs code with `T` as the number type of the elements.
macro_rules! with_type {
    ($item:expr, $t:ident => $run:expr) => { with_type!($item, $t => $run, Int 2 i16, Int 4 i32, Int 8 i64, UInt 2 u16, UInt 4 u32, UInt 8 u64, Float 4 f32, Float 8 f64) };
    ($item:expr, $t:ident => $run:expr, $($kind:ident $size:literal $number:ty),*) => {
        match $item {
            $(ItemType { kind: ItemKind::$kind, size: $size, big_endian: false } => { type $t = $number; $run })*
            other => Err(wrong(format!("no such elements: {other:?}"))),
        }
    };
}

impl Filter for Pcodec {
    fn info(&self) -> &FilterInfo { &INFO }
    fn params(&self) -> Cow<'_, [u32]> { vec![self.level].into() }
    fn to_json(&self, format: ZarrFormat) -> Json {
        if format == ZarrFormat::V2 { return Json::from_iter([("id", Json::from("pcodec")), ("level", self.level.into())]) }
        Json::from_iter([("name", Json::from("numcodecs.pcodec")), ("configuration", Json::from_iter([("level", self.level)]))])
    }
    fn bind(&mut self, chunk: &ChunkInfo<'_>) -> Result<()> {
        self.item = chunk.item;
        with_type!(self.item, T => { _ = T::MAX; Ok(()) })
    }
    fn encode_bound(&self, _: usize) -> Option<usize> { None }
    fn encode(&self, src: &[u8], dst: &mut OutBuf<'_>) -> Result<()> {
        with_type!(self.item, T => {
            let (numbers, []) = src.as_chunks() else { return Err(wrong("the bytes are not whole elements")) };
            let numbers: Vec<T> = numbers.iter().map(|bytes| T::from_le_bytes(*bytes)).collect();
            dst.put(&standalone::simple_compress(&numbers, &ChunkConfig::default().with_compression_level(self.level as usize)).map_err(wrong)?)
        })
    }
    fn decode(&self, src: &[u8], dst: &mut OutBuf<'_>) -> Result<()> {
        with_type!(self.item, T => {
            let mut numbers = vec![T::default(); dst.capacity() / self.item.size];
            let progress = standalone::simple_decompress_into(src, &mut numbers).map_err(wrong)?;
            let bytes = numbers.iter().take(progress.n_processed).flat_map(|number| number.to_le_bytes());
            if progress.finished { dst.extend(bytes) } else { Err(wrong("the stream has more elements than the chunk")) }
        })
    }
}

fn wrong(what: impl std::fmt::Display) -> Error { ErrorKind::Filter.context(format!("pcodec: {what}")) }

inventory::submit! { FilterPlugin(&PcodecClass) }
