//! One array as a variable: everything but its dimensions, which are the flavours' business.
//!
//! [`build`] turns an array's documents into a [`Built`]: a [`Var`], and what must be remembered to read its data and
//! to write the documents back ([`Stored`]). Whatever cannot be understood becomes the variable's `problem`: it is
//! listed, and reading its data is that error. It depends on nothing but the documents, so any thread can do it.

use std::sync::Arc;

use nczarr_dispatch::{ChunkInfo, ElementCodec, Filter, ItemType, Key, Limits, Registry, ZarrFormat};
use nczarr_model::{Att, Chunking, Error, ErrorKind, NameHasher, NcType, Result, Values, Var, VarFill};

use crate::annotation;
use crate::attrs::{self, FILL_VALUE};
use crate::base64;
use crate::codecs::{self, Codecs};
use crate::dtype::{DType, Kind};
use crate::fill::{self, TextFill};
use crate::flavour::{self, Naming};
use crate::json::{Json, Members, Object, Value, text};
use crate::lists::{self, References};
use crate::meta::{self, ArrayMeta, codec_id};
use crate::older::{Defects, Generation};
use crate::refused::Refused;
use crate::types;
use crate::user;
use crate::v3::stored_type::Given;

/// The size of a string to netCDF-C: that of a pointer.
pub(crate) const STRING_ITEM: usize = 8;

/// The attribute that says what a count counts, and the one that says which count is no time.
const UNITS: &str = "units";
const MISSING_VALUE: &str = "missing_value";

/// How documents are to be understood.
pub(crate) struct Reading<'a> {
    pub(crate) registry: &'a Registry,
    pub(crate) format: ZarrFormat,
    pub(crate) limits: &'a Limits,
    /// NCZarr's spelling of text fills, not the specification's.
    pub(crate) plain_fill: bool,
    /// Text of one byte that is marked so is char, not string.
    pub(crate) char_mark: bool,
    /// Which NCZarr the documents are of; today's for plain Zarr.
    pub(crate) generation: Generation,
    /// What the library that wrote the dataset did otherwise than the documents say.
    pub(crate) defects: Defects,
    /// Times are presented as counts with units, where there are any, not as text.
    pub(crate) counted_times: bool,
    /// Where the names of dimensions are.
    pub(crate) naming: Naming,
    /// Keep what only writing documents back needs.
    pub(crate) keep: bool,
    pub(crate) codecs: Codecs,
    /// Documents that the storage refused, and that are taken for absent.
    pub(crate) refused: Refused,
}

/// What an array says of its dimensions.
#[derive(Debug)]
pub(crate) enum Links {
    /// Nothing, as far as anybody asked.
    None,
    /// NCZarr's references.
    References(Result<Option<Box<References>>>),
    /// One name each, as far as there are some.
    Names(Vec<Option<String>>),
}

/// A variable as it was read. Its name, its group and its dimensions are left.
#[derive(Debug)]
pub(crate) struct Built {
    pub(crate) var: Arc<Var>,
    /// In common with other variables that are stored alike.
    pub(crate) stored: Arc<Stored>,
    pub(crate) links: Links,
}

/// What is remembered of a variable beside the model.
#[derive(Debug, Clone, Default)]
pub(crate) struct Stored {
    /// What its `.zarray` says; `None` if that could not be understood, or is not decided yet.
    pub(crate) meta: Option<ArrayMeta>,
    /// Its `.zattrs`; empty where nothing is ever written.
    pub(crate) attrs: Object,
    /// Its `.zattrs` could not be read and so must not be replaced.
    pub(crate) attrs_lost: bool,
    /// Its `.zarray`, if that could not be understood and may have to be written back.
    pub(crate) document: Option<Json>,
    /// The names of its dimensions as they were loaded: as long as they are the same, the stored ones stay. None where
    /// nothing is ever written.
    pub(crate) dim_names: Option<Vec<String>>,
    /// The filters of its chunks, in the order of encoding.
    pub(crate) filters: Vec<Box<dyn Filter>>,
    /// The shards that its chunks lie in, the outermost first.
    pub(crate) shards: Vec<nczarr_chunkio::ShardSpec>,
    /// What makes bytes of elements of variable length.
    pub(crate) element: Option<Box<dyn ElementCodec>>,
    /// Whether its fill value is said to be no attribute.
    pub(crate) only_unwritten: bool,
    /// What its elements are lists of, if they are lists.
    pub(crate) list: Option<NcType>,
    /// What a stored element of a user-defined type of NCZarr consists of.
    pub(crate) pieces: Option<Vec<nczarr_chunkio::Piece>>,
    /// Attributes of user-defined types, as they are stored.
    pub(crate) typed: Vec<user::Typed>,
    /// Whether its document tells another name than that by which it is stored.
    pub(crate) told_name: bool,
    /// The value of absent chunks of a no-fill array, if its document has one. Other readers see it there.
    pub(crate) absent: Option<Values>,
    /// A fill value presented as an attribute although none is stored.
    pub(crate) implied_fill: Option<Values>,
    /// The type that was handed over when it was defined.
    pub(crate) given: Option<Given>,
}

/// The variable of the array at `key`, from its documents.
pub(crate) fn build(
    key: &Key,
    zarray: Result<&Value<'_>>,
    attrs: Result<Option<&Members<'_>>>,
    reading: &Reading<'_>,
) -> Built {
    let mut var = Var { chunking: Chunking::Default, ..Var::default() };
    let mut shared = Arc::<Stored>::default();
    let stored = Arc::make_mut(&mut shared);
    let none = Members::new();
    let attrs = match attrs {
        Ok(found) => found.unwrap_or(&none),
        Err(error) => {
            stored.attrs_lost = true;
            note(&mut var, error);
            &none
        }
    };
    let own = |document: &Value<'_>| document.clone().into_owned();
    let read = zarray.and_then(|document| {
        let read = ArrayMeta::read(document, reading.limits.rank, reading.keep);
        read.map(|read| (document, read)).map_err(|error| {
            stored.document = reading.keep.then(|| own(document));
            error.at(format_args!("{key}/.zarray"))
        })
    });
    stored.only_unwritten = annotation::is_only_unwritten(attrs);
    let mut links = Links::None;
    if reading.naming == flavour::Naming::References {
        stored.typed = user::typed_atts(attrs);
    }
    match read {
        Ok((document, read)) => {
            links = flavour::links(reading.naming, attrs, document, read.meta.shape.len());
            stored.meta = Some(fill_in(&mut var, stored, read, attrs, key, reading));
            let named = matches!(&links, Links::Names(names) if names.iter().all(Option::is_some));
            if named && !stored.only_unwritten && var.xtype.is_atomic() {
                stored.implied_fill = imply_fill(&mut var);
            }
        }
        Err(error) => {
            note(&mut var, error);
            var.atts = present(attrs, None, 0);
        }
    }
    if reading.keep {
        stored.attrs = attrs.clone().into_owned();
    }
    Built { var: Arc::new(var), stored: shared, links }
}

/// Keeps the first problem.
pub(crate) fn note(var: &mut Var, error: Error) {
    var.problem.get_or_insert(error);
}

/// Fills in what the array's document says; answers how it is laid out.
fn fill_in(
    var: &mut Var,
    stored: &mut Stored,
    read: meta::Read<'_, '_>,
    attrs: &Members<'_>,
    key: &Key,
    reading: &Reading<'_>,
) -> ArrayMeta {
    let meta::Read { mut meta, fill, codecs } = read;
    let at = |error: Error| error.at(format_args!("{key}/.zarray"));
    // What is presented is what the dataset means, also where its writer stored something else.
    var.endian = meta.dtype.endian();
    let units = times(&mut meta.dtype, reading.counted_times);
    if !reading.char_mark && meta.dtype.kind == Kind::Char {
        meta.dtype.kind = Kind::Text(1);
    }
    if let Some(text) = reading.defects.true_type(&meta.dtype.text) {
        meta.dtype = DType::from_name(&text);
        // What is written from now on tells the truth; plain Zarr has no word for char.
        if reading.keep && (reading.char_mark || meta.dtype.kind != Kind::Char) {
            var.endian = meta.dtype.endian();
            meta.raw.insert("dtype", Value::String(text.into()));
        }
    }
    let dtype = &meta.dtype;
    // A type of some size for what has none of ours: nothing is ever read with it.
    var.xtype = dtype.xtype().unwrap_or(NcType::Byte);
    var.stored_type = dtype.foreign_name();
    let is_char = !reading.plain_fill && annotation::is_char(attrs, dtype.kind);
    if is_char {
        var.xtype = NcType::Char;
    } else if !reading.plain_fill && matches!(dtype.kind, Kind::Text(_)) {
        // What the length of strings is in NCZarr, attributes say.
        var.stored_type = Some(dtype.text.clone());
    }
    var.chunking = Chunking::Chunked(meta.chunks.clone());
    // By xarray's convention the fill value becomes one more.
    let implied = reading.naming == Naming::Attribute && !fill.is_null() && !attrs.contains_key(FILL_VALUE);
    var.atts = present(attrs, Some(dtype), usize::from(implied));
    var.atts.extend(units);
    let char_fill = |value| if is_char { annotation::char_fill(value) } else { value };
    if is_char && let Some(fill) = var.atts.get_mut(FILL_VALUE) {
        *fill = annotation::char_fill(fill.clone());
    }
    var.quantize = nczarr_chunkio::rounding(&var.atts);
    if dtype.kind == Kind::Other {
        note(var, at(ErrorKind::BadType.context(format!("member \"dtype\": type {} cannot be read", dtype.text))));
    }
    if let Err(error) = codecs::read(var, stored, &meta, &codecs, reading) {
        note(var, at(error));
    }
    if stored.list.is_some() {
        var.xtype = types::UNDEFINED;
    }
    if dtype.kind != Kind::Other {
        let attribute = attrs.get(FILL_VALUE).and_then(Value::as_str);
        let form = if reading.plain_fill { TextFill::Plain } else { TextFill::Standard(attribute) };
        match fill::parse(fill, dtype, form).map(|fill| fill.map(char_fill)) {
            _ if fill::is_large_zero(fill, dtype) => var.fill = VarFill::Default,
            _ if fill.is_null() && user::is_typed(attrs) => var.fill = VarFill::NoFill,
            Ok(fill) if stored.list.is_some() => {
                match list_fill(fill, stored.list, reading.naming == Naming::References) {
                    Some(bytes) => var.fill = VarFill::Value(Values::Packed(types::NO_TYPE, vec![bytes.into()])),
                    None => note(var, at(ErrorKind::NcZarr.context("member \"fill_value\": a list was expected"))),
                }
            }
            Ok(None) => var.fill = VarFill::NoFill,
            Ok(Some(value)) if value.nc_type() == var.xtype && nczarr_model::fill::is_default(&value) => {
                var.fill = VarFill::Default;
            }
            Ok(Some(value)) => var.fill = VarFill::Value(same_nan(value, var.atts.get(FILL_VALUE))),
            Err(error) => note(var, at(error)),
        }
    }
    meta
}

/// Lets a type of time be presented as counts, if they are asked for and there are units for them. The attributes that
/// say which: what counts without them mean, no other can say otherwise.
pub(crate) fn times(dtype: &mut DType, counts: bool) -> Vec<(String, Values)> {
    let Kind::Time { unit, counted } = &mut dtype.kind else { return Vec::new() };
    let Some(units) = unit.cf_units().filter(|_| counts) else { return Vec::new() };
    *counted = true;
    let missing = Values::Int64(vec![i64::MIN]);
    vec![(UNITS.to_owned(), Values::text(&units)), (MISSING_VALUE.to_owned(), missing)]
}

/// The bytes of a list that unwritten elements read as: none, or in base64 if it is one of bytes, or NCZarr's.
fn list_fill(fill: Option<Values>, base: Option<NcType>, nczarr: bool) -> Option<Vec<u8>> {
    match fill {
        Some(Values::String(text)) => match text.first().map(|text| text.to_str()) {
            None | Some(Ok("")) => Some(Vec::new()),
            Some(Ok(_)) if base != Some(NcType::UByte) && !nczarr => None,
            Some(Ok(text)) => {
                let size = base.and_then(NcType::size).unwrap_or(1);
                base64::decode(text).filter(|bytes| bytes.len().is_multiple_of(size))
            }
            Some(_) => None,
        },
        _ => Some(Vec::new()),
    }
}

/// By xarray's convention the fill value of an array is its `_FillValue`; the attribute itself is not stored.
fn imply_fill(var: &mut Var) -> Option<Values> {
    let VarFill::Value(value) = &var.fill else { return None };
    if var.atts.contains_key(FILL_VALUE) || is_rounded_default(value) {
        return None;
    }
    let value = value.clone();
    imply(var, Some(&value));
    Some(value)
}

/// Presents a fill value as an attribute.
pub(crate) fn imply(var: &mut Var, value: Option<&Values>) {
    if let Some(value) = value {
        var.atts.insert(FILL_VALUE.to_owned(), value.clone());
    }
}

/// netCDF-C writes the default fill of a double with six digits.
fn is_rounded_default(value: &Values) -> bool {
    *value == Values::Double(vec![9.96921e36])
}

/// The fill value of an array; if it is NaN, the one that the attribute is.
fn same_nan(value: Values, attribute: Option<&Values>) -> Values {
    let is_nan = |values: &Values| match values {
        Values::Float(v) => matches!(v[..], [v] if v.is_nan()),
        Values::Double(v) => matches!(v[..], [v] if v.is_nan()),
        _ => false,
    };
    match attribute.filter(|same| same.nc_type() == value.nc_type() && is_nan(same)) {
        Some(same) if is_nan(&value) => same.clone(),
        _ => value,
    }
}

/// The attributes to show. `dtype`: the variable's, which its `_FillValue` has whatever was recorded; `more`: as many are
/// to be added.
pub(crate) fn present(attrs: &Members<'_>, dtype: Option<&DType>, more: usize) -> Att {
    let recorded = Recorded::of(attrs);
    let count = attrs.iter().filter(|(name, _)| !attrs::is_reserved(name)).count();
    let mut shown = Att::with_capacity_and_hasher(count + more, NameHasher::default());
    for (name, value) in attrs {
        if !attrs::is_reserved(name) {
            shown.insert(name.to_owned(), recorded.present(name, value, dtype));
        }
    }
    shown
}

/// One attribute, likewise.
pub(crate) fn present_one(attrs: &Members<'_>, name: &str, value: &Value<'_>, dtype: Option<&DType>) -> Values {
    Recorded::of(attrs).present(name, value, dtype)
}

/// What NCZarr keeps of attributes beside them.
struct Recorded<'a, 't> {
    types: Option<&'a Members<'t>>,
    kept: [Option<&'a Members<'t>>; 2],
    /// It is the annotation of a plain store, which others may have changed without knowing it.
    is_annotation: bool,
}

impl<'a, 't> Recorded<'a, 't> {
    fn of(attrs: &'a Members<'t>) -> Self {
        Self {
            types: lists::recorded_types(attrs),
            kept: lists::recorded_beside(attrs),
            is_annotation: !attrs.contains_key(attrs::NCZARR_ATTR),
        }
    }

    fn present(&self, name: &str, value: &Value<'_>, dtype: Option<&DType>) -> Values {
        let fill = dtype
            .filter(|dtype| name == FILL_VALUE && !dtype.is_user())
            .and_then(|dtype| fill::parse(value, dtype, TextFill::Plain).ok()?);
        let ty = || {
            let ty = self.types?.get(name)?.as_str()?;
            (!self.is_annotation || annotation::fits(value, ty)).then_some(ty)
        };
        let values = fill.unwrap_or_else(|| attrs::read(value, ty()));
        attrs::restore(values, name, self.kept)
    }
}

/// The filter of a codec description.
pub(crate) fn filter(codec: &Value<'_>, registry: &Registry) -> Result<Box<dyn Filter>> {
    let id = codec_id(codec)?;
    let class = registry.filter(id).map_err(|error| error.at(format_args!("codec {id:?}")))?;
    class
        .parse_json(&codec_json(codec), ZarrFormat::V2)
        .map_err(|error| error.at(format_args!("codec {}", text(codec))))
}

/// A filter as the engine gets it, and its description with all that it learns of such chunks. `array_row`: the length of the
/// last dimension, if that is fixed; `entering`: the elements it gets, and then those it makes; `netcdf`: whether netCDF-C
/// wrote it, or is who will read it.
pub(crate) fn settled(
    filter: Box<dyn Filter>,
    dtype: &DType,
    chunks: &[u64],
    line: Option<u64>,
    entering: &mut ItemType,
    netcdf: bool,
    registry: &Registry,
) -> Result<(Box<dyn Filter>, Json)> {
    let item = dtype.item_size().unwrap_or(1);
    let text = matches!(dtype.kind, Kind::Text(_));
    let chunk = chunk_bytes(chunks, item as u64);
    // To netCDF-C, and so to its shuffle, a string is a pointer, however many bytes are stored of it. Zarr's own shuffle
    // takes whole numbers of elements only.
    let pointers = text && (netcdf || chunk.is_multiple_of(STRING_ITEM as u64));
    // As the engine has it.
    let has_line = matches!(dtype.kind, Kind::Number(_) | Kind::Bool | Kind::Char);
    let mut bound = filter.clone();
    bound.bind(&ChunkInfo {
        item_size: if pointers { STRING_ITEM } else { item },
        chunk_bytes: usize::try_from(chunk).unwrap_or(usize::MAX),
        elements: usize::try_from(chunk_bytes(chunks, 1)).unwrap_or(usize::MAX),
        row: chunks.last().map_or(1, |&row| usize::try_from(row).unwrap_or(usize::MAX)),
        array_row: line.filter(|_| has_line).and_then(|line| usize::try_from(line).ok()),
        big_endian: dtype.big_endian,
        item: *entering,
    })?;
    *entering = bound.encoded_item();
    let codec = Json::from_serde(&bound.to_json(ZarrFormat::V2));
    // The engine tells filters how many bytes are stored: what is described is what holds.
    let filter = if text { self::filter(&codec, registry)? } else { filter };
    Ok((filter, codec))
}

/// Bytes of a decoded chunk; saturates.
pub(crate) fn chunk_bytes(chunks: &[u64], item: u64) -> u64 {
    chunks.iter().fold(item, |bytes, &len| bytes.saturating_mul(len))
}

/// A codec description for filters. Some versions wrote integer parameters as strings.
pub(crate) fn codec_json(codec: &Value<'_>) -> nczarr_dispatch::Json {
    let parameter = |value: &Value<'_>| match value {
        Value::String(number) if number.bytes().next().is_some_and(|byte| byte == b'-' || byte.is_ascii_digit()) => {
            crate::json::integer(number).map_or_else(|| value.to_serde(), |number| Value::int(number).to_serde())
        }
        other => other.to_serde(),
    };
    match codec {
        Value::Object(members) => nczarr_dispatch::Json::Object(
            members.iter().map(|(name, value)| (name.to_owned(), parameter(value))).collect(),
        ),
        other => other.to_serde(),
    }
}
