//! Conversion between the `codecs` member of Zarr V3 and [`CodecChain`], the engine's processing of a chunk.
//!
//! A chain has array → array codecs, one array → bytes codec, and bytes → bytes codecs. `transpose` becomes a
//! [`DimOrder`], `bytes` a byte order, and a codec of variable length an element codec. The registry provides
//! the rest as filters, and their [`CodecKind`] is their position. An unknown codec does not fail the
//! variable: it becomes the chain's `problem`.
//!
//! Before `bytes`, elements have no byte order in V3. Filters here get them in the order that `bytes` stores,
//! and types in their descriptions have that order. Without `bytes` the order is little-endian.
//!
//! Source: Zarr V3 core specification, its registered codecs, and the codecs of real writers in the format
//! notes.

use nczarr_chunkio::DimOrder;
use nczarr_codec::{CodecKind, ElementClass, ElementCodec, Filter, FilterClass, Json as Serde, ZarrFormat};
use nczarr_dispatch::Registry;
use nczarr_model::{Error, ErrorKind, FilterSpec, NcType, Result};

use super::types::{DataType, VariableLength, configured, extension, short};
use crate::metadata::codecs::native_order;
use crate::metadata::json::{Json, ObjectMembers, Value, text};
use crate::metadata::types::foreign as user_types;

/// Filters that append [`CHECKSUM_BYTES`] to any input.
const CHECKSUMS: [&str; 5] = ["crc32c", "crc32", "adler32", "fletcher32", "jenkins_lookup3"];
pub(super) const CHECKSUM_BYTES: u64 = 4;

const BYTES: &str = "bytes";
const TRANSPOSE: &str = "transpose";
const SHARDING: &str = "sharding_indexed";

/// A chain of codecs.
#[derive(Debug, Default)]
pub(crate) struct CodecChain {
    /// The dimensions of the array from the slowest to the fastest.
    pub(crate) order: DimOrder,
    /// Encodes elements of variable length.
    pub(crate) element: Option<Box<dyn ElementCodec>>,
    /// The type of list items, if elements are lists.
    pub(crate) list: Option<NcType>,
    /// Whether elements have their most significant byte first.
    pub(crate) big_endian: bool,
    /// In encoding order: array → array codecs, an array → bytes codec in place of `bytes`, and the others.
    /// With shards, the filters of a whole shard.
    pub(crate) filters: Vec<Box<dyn Filter>>,
    /// Each filter for the model, also unavailable ones: in V2's description.
    pub(crate) specs: Vec<FilterSpec>,
    /// Replaces the byte order: a shard of chunks with a chain of their own.
    pub(crate) shards: Option<Box<ShardingCodec>>,
    /// Why data cannot be read.
    pub(crate) problem: Option<Error>,
}

/// The configuration of `sharding_indexed`. Chunks of a shard are numbered in the dimension order of the
/// surrounding chain.
#[derive(Debug)]
pub(crate) struct ShardingCodec {
    /// In the array's dimensions; each at least 1 and a divisor of the shard's.
    pub(crate) chunk_shape: Vec<u64>,
    /// The chain of one chunk; its order is relative to the array's dimensions.
    pub(crate) chain: CodecChain,
    /// The codecs of the index: an array of u64 with the shard's dimensions, in its order, and one more of
    /// length 2.
    pub(crate) index: ShardIndexCodecs,
}

/// The codecs of a shard's index.
#[derive(Debug)]
pub(crate) struct ShardIndexCodecs {
    /// The dimensions of the index from the slowest to the fastest.
    pub(crate) order: DimOrder,
    pub(crate) big_endian: bool,
    /// Checksums.
    pub(crate) filters: Vec<Box<dyn Filter>>,
    /// The bytes that the filters add.
    #[cfg_attr(not(test), allow(dead_code, reason = "needed to read shards"))]
    pub(crate) extra: u64,
    /// Whether the index is in front of the chunks, not behind them.
    pub(crate) at_start: bool,
}

impl CodecChain {
    /// Returns the specs of all filters, those of the innermost chunks first.
    pub(crate) fn all_specs(&self) -> Vec<FilterSpec> {
        let mut specs = self.shards.as_ref().map_or_else(Vec::new, |shards| shards.chain.all_specs());
        specs.extend(self.specs.iter().cloned());
        specs
    }

    /// Returns the first problem of this chain or of its inner chains.
    pub(crate) fn first_problem(&self) -> Option<&Error> {
        self.problem.as_ref().or_else(|| self.shards.as_ref()?.chain.first_problem())
    }

    /// Returns the chain of the innermost chunks.
    pub(crate) fn innermost(&self) -> &Self {
        self.shards.as_ref().map_or(self, |shards| shards.chain.innermost())
    }

    fn fail(&mut self, error: Error) {
        self.problem.get_or_insert(error);
    }
}

/// Parses types and chains.
#[derive(Clone, Copy)]
pub(crate) struct ChainReader<'a> {
    pub(crate) registry: &'a Registry,
    /// Whether the filters are described in [`CodecChain::specs`]. Those of a shard's index are never shown.
    pub(crate) describes: bool,
}

/// Parses the type and the chain of an array. `chunks` is the shape of its chunks, or of its outermost
/// shards.
///
/// # Errors
/// [`ErrorKind::NcZarr`] if a member is not a type or a list of codecs; a defect of a codec becomes the
/// chain's `problem`.
pub(crate) fn read(
    data_type: &Value<'_>,
    codecs: &Value<'_>,
    chunks: &[u64],
    registry: &Registry,
) -> Result<(DataType, CodecChain)> {
    let wrong =
        || ErrorKind::NcZarr.context(format!("member \"codecs\": expected a list, found {}", codecs.kind()));
    let list = codecs.as_array().ok_or_else(wrong)?;
    let mut data = DataType::read(data_type, false, registry)?;
    let axes = (0..chunks.len()).collect();
    let chain = ChainReader { registry, describes: true }.chain(list, &data, chunks, axes);
    if chain.innermost().big_endian {
        data = DataType::read(data_type, true, registry)?;
    }
    Ok((data, chain))
}

impl ChainReader<'_> {
    /// Parses a chain; `axes` are the dimensions in the order of the surrounding codecs.
    fn chain(self, list: &[Value<'_>], data: &DataType, chunks: &[u64], mut axes: Vec<usize>) -> CodecChain {
        let mut chain = CodecChain::default();
        // The byte order applies to the codecs before `bytes` too.
        let big = list.iter().any(is_big);
        let mut made_bytes = false;
        let mut in_a_row = false;
        let none = ObjectMembers::new();
        let needs_array = "the codec needs an array, but gets bytes";
        let unencodable = "the codec cannot encode elements of variable length";
        for codec in list {
            let (name, configuration) = match extension(codec, &none) {
                Ok(found) => found,
                Err(error) => {
                    chain.fail(error.at("member \"codecs\""));
                    continue;
                }
            };
            let at = |error: Error| error.at(format_args!("member \"codecs\": codec {name:?}"));
            let misplaced = |what: &str| at(ErrorKind::NcZarr.context(what));
            // A fixed size first: the error for an unknown name lists all known ones.
            let element = data.variable.and_then(|_| self.registry.element(name).ok());
            match name {
                TRANSPOSE | BYTES | SHARDING if made_bytes => chain.fail(misplaced(needs_array)),
                TRANSPOSE if in_a_row => {
                    chain.fail(at(ErrorKind::Filter
                        .context("the codec follows one that depends on the order of elements")));
                }
                TRANSPOSE => match permuted(&axes, configuration) {
                    Ok(permuted) => axes = permuted,
                    Err(error) => chain.fail(at(error)),
                },
                BYTES => {
                    made_bytes = true;
                    match big_endian(configuration) {
                        Ok(big) => chain.big_endian = big,
                        Err(error) => chain.fail(at(error)),
                    }
                    if data.variable.is_some() {
                        chain.fail(misplaced(unencodable));
                    }
                }
                SHARDING => {
                    made_bytes = true;
                    if !chain.filters.is_empty() {
                        chain.fail(misplaced("the codec follows an array codec"));
                    }
                    match self.shards(configuration, data, chunks, &axes) {
                        Ok(shards) => {
                            chain.big_endian = shards.chain.big_endian;
                            chain.shards = Some(Box::new(shards));
                        }
                        Err(error) => chain.fail(at(error)),
                    }
                }
                _ => {
                    if let Some(element) = element {
                        if std::mem::replace(&mut made_bytes, true) {
                            chain.fail(misplaced(needs_array));
                        } else if let Err(error) = element_codec(&**element, codec, data, &mut chain) {
                            chain.fail(at(error));
                        }
                        continue;
                    }
                    let class = match self.registry.v3_codec(name) {
                        Err(error) if error.kind() == ErrorKind::NoFilter && may_be_skipped(codec) => {
                            continue;
                        }
                        found => found,
                    };
                    let kind = class.as_ref().ok().map(|class| class.info().kind);
                    match kind {
                        Some(CodecKind::BytesToBytes) if !made_bytes => {
                            chain.fail(misplaced("the codec needs bytes, but gets an array"));
                        }
                        Some(CodecKind::ArrayToArray { .. } | CodecKind::ArrayToBytes) if made_bytes => {
                            chain.fail(misplaced(needs_array));
                        }
                        Some(CodecKind::ArrayToBytes) if data.variable.is_some() => {
                            chain.fail(misplaced(unencodable));
                        }
                        _ => {}
                    }
                    made_bytes |= kind == Some(CodecKind::ArrayToBytes);
                    in_a_row |= kind == Some(CodecKind::ArrayToArray { ordered: true });
                    let described = match kind {
                        Some(CodecKind::ArrayToArray { .. }) => in_order(codec, big),
                        _ => codec.to_serde(),
                    };
                    self.filter(name, class.map(|class| &**class), &described, codec, &mut chain);
                }
            }
        }
        if !made_bytes {
            chain.fail(
                ErrorKind::NcZarr
                    .context("member \"codecs\": the chain has no codec that encodes an array as bytes"),
            );
        }
        chain.order = DimOrder::of(&axes).unwrap_or_default();
        chain
    }

    /// Appends a filter, or records its problem.
    fn filter(
        self,
        name: &str,
        class: Result<&dyn FilterClass>,
        description: &Serde,
        codec: &Value<'_>,
        chain: &mut CodecChain,
    ) {
        match class.and_then(|class| class.parse_json(description, ZarrFormat::V3)) {
            Ok(filter) if !self.describes => chain.filters.push(filter),
            Ok(filter) => {
                // A codec that V2 lacks is described as in V3.
                let v2 = match filter.to_json(ZarrFormat::V2) {
                    Serde::Null => filter.to_json(ZarrFormat::V3),
                    described => described,
                };
                chain.specs.push(FilterSpec {
                    hdf5_id: filter.info().hdf5_id,
                    name: filter.info().name.to_owned(),
                    params: filter.params().into_owned(),
                    codec: Some(text(&Json::from_serde(&v2))),
                });
                chain.filters.push(filter);
            }
            Err(error) => {
                chain.specs.push(FilterSpec {
                    name: name.to_owned(),
                    codec: Some(text(codec)),
                    ..FilterSpec::default()
                });
                chain.fail(error.at(format_args!("member \"codecs\": codec {}", short(codec))));
            }
        }
    }

    fn shards(
        self,
        configuration: &ObjectMembers<'_>,
        data: &DataType,
        shard: &[u64],
        axes: &[usize],
    ) -> Result<ShardingCodec> {
        let member = |name: &str| {
            configuration
                .get(name)
                .ok_or_else(|| ErrorKind::NcZarr.context(format!("expected {name:?}, found nothing")))
        };
        let wrong = |name: &str, what: &str, found: &Value<'_>| {
            ErrorKind::NcZarr.context(format!("{name:?}: expected {what}, found {}", short(found)))
        };
        let list = |name: &str| {
            let found = member(name)?;
            found.as_array().ok_or_else(|| wrong(name, "a list of codecs", found))
        };
        let shape = member("chunk_shape")?;
        let sizes: Option<Vec<u64>> =
            shape.as_array().and_then(|sizes| sizes.iter().map(Value::as_u64).collect());
        let sizes = sizes.filter(|sizes| sizes.len() == shard.len());
        let sizes = sizes.ok_or_else(|| wrong("chunk_shape", &format!("{} sizes", shard.len()), shape))?;
        let mut chunk_shape = vec![1; shard.len()];
        for (&axis, &size) in axes.iter().zip(&sizes) {
            let (of, place) = (shard.get(axis).copied(), chunk_shape.get_mut(axis));
            match (of, place) {
                (Some(of), Some(place)) if size > 0 && of.is_multiple_of(size) => *place = size,
                _ => {
                    return Err(wrong(
                        "chunk_shape",
                        &format!("divisors of {shard:?} in the order {axes:?}"),
                        shape,
                    ));
                }
            }
        }
        let at_start = match configuration.get("index_location").map(|place| (place, place.as_str())) {
            None | Some((_, Some("end"))) => false,
            Some((_, Some("start"))) => true,
            Some((found, _)) => return Err(wrong("index_location", "\"start\" or \"end\"", found)),
        };
        let chain = self.chain(list("codecs")?, data, &chunk_shape, axes.to_vec());
        let index = self
            .index(list("index_codecs")?, shard.len(), at_start)
            .map_err(|error| error.at("\"index_codecs\""))?;
        Ok(ShardingCodec { chunk_shape, chain, index })
    }

    fn index(self, list: &[Value<'_>], rank: usize, at_start: bool) -> Result<ShardIndexCodecs> {
        let data = DataType::read(&Value::String("uint64".into()), false, self.registry)?;
        // Shards are not allowed among the codecs of an index, so these do not depend on its shape.
        let axes = (0..=rank).collect();
        let chain = Self { describes: false, ..self }.chain(list, &data, &vec![1; rank + 1], axes);
        if let Some(problem) = chain.problem {
            return Err(problem);
        }
        let sized = chain.filters.iter().all(|filter| CHECKSUMS.contains(&filter.info().name));
        if chain.shards.is_some() || !sized {
            return Err(ErrorKind::NcZarr
                .context("the codecs do not have a fixed encoded size (expected bytes and checksums)"));
        }
        let extra = chain.filters.len() as u64 * CHECKSUM_BYTES;
        Ok(ShardIndexCodecs {
            order: chain.order,
            big_endian: chain.big_endian,
            filters: chain.filters,
            extra,
            at_start,
        })
    }
}

/// Sets the codec of elements of variable length.
fn element_codec(
    class: &dyn ElementClass,
    codec: &Value<'_>,
    data: &DataType,
    chain: &mut CodecChain,
) -> Result<()> {
    let found = class.parse(&codec.to_serde())?;
    match (data.variable, found.item()) {
        (Some(VariableLength::Bytes), Some(item)) if item.size == 1 => {
            chain.list = Some(NcType::UByte);
            chain.element = Some(native_order::in_native_order(found, item));
        }
        (Some(VariableLength::Text), None) => chain.element = Some(found),
        (_, item) => {
            let item = item.and_then(user_types::list_base);
            let what = item.map_or("text".to_owned(), |item| format!("lists of {}", item.name()));
            return Err(
                ErrorKind::BadType.context(format!("the codec holds {what}, which does not fit the type"))
            );
        }
    }
    Ok(())
}

/// Renders the `codecs` of a chain. The filters are bound, and array → array codecs come first.
///
/// # Errors
/// [`ErrorKind::Filter`] if V3 does not allow a codec at its position.
pub(crate) fn write(chain: &CodecChain, data: &DataType, rank: usize) -> Result<Json> {
    Ok(Json::Array(codecs(chain, data, rank, &DimOrder::C)?))
}

fn codecs(chain: &CodecChain, data: &DataType, rank: usize, around: &DimOrder) -> Result<Vec<Json>> {
    let mut list = Vec::new();
    if let Some(order) = transposition(around, &chain.order, rank) {
        let order = order.into_iter().map(|axis| Json::int(axis as u64)).collect();
        list.push(configured(TRANSPOSE, [("order", Json::Array(order))]));
    }
    let kinds = chain.filters.iter().map(|filter| filter.info().kind);
    let before = kinds.clone().take_while(|kind| matches!(kind, CodecKind::ArrayToArray { .. })).count();
    let (elementwise, others) = chain.filters.split_at(before);
    let (own_bytes, others) = match others.split_first() {
        Some((first, rest)) if first.info().kind == CodecKind::ArrayToBytes => (Some(first), rest),
        _ => (None, others),
    };
    if let Some(found) = others.iter().find(|filter| filter.info().kind != CodecKind::BytesToBytes) {
        return Err(ErrorKind::Filter.context(format!(
            "codec {}: Zarr V3 requires array codecs before codecs of bytes",
            found.to_json(ZarrFormat::V3)["name"]
        )));
    }
    let described = |filter: &dyn Filter| Json::from_serde(&filter.to_json(ZarrFormat::V3));
    list.extend(elementwise.iter().map(|filter| described(&**filter)));
    list.push(match (&chain.shards, &chain.element, own_bytes) {
        (Some(_), _, Some(codec)) | (_, Some(_), Some(codec)) => {
            return Err(ErrorKind::Filter.context(format!(
                "codec {:?}: it cannot encode shards or elements of variable length",
                codec.info().name
            )));
        }
        (Some(shards), _, None) => configured(
            SHARDING,
            [
                ("chunk_shape", {
                    let axes = chain.order.axes(rank);
                    let sizes = axes.iter().filter_map(|&axis| shards.chunk_shape.get(axis));
                    Json::Array(sizes.map(|&size| Json::int(size)).collect())
                }),
                ("codecs", Json::Array(codecs(&shards.chain, data, rank, &chain.order)?)),
                ("index_codecs", Json::Array(index_codecs(&shards.index, rank))),
                ("index_location", Json::string(if shards.index.at_start { "start" } else { "end" })),
            ],
        ),
        (None, Some(element), None) => {
            let name = element.name();
            // Registered names differ from those of numcodecs.
            if !matches!(name, "vlen-utf8" | "vlen-bytes") {
                return Err(
                    ErrorKind::Filter.context(format!("codec {name:?}: Zarr V3 has no such element codec"))
                );
            }
            configured(name, [])
        }
        (None, None, Some(codec)) if chain.big_endian && data.dtype.item_size() != Some(1) => {
            return Err(ErrorKind::Filter.context(format!(
                "codec {:?}: it records no byte order (expected little-endian elements, found big-endian)",
                codec.info().name
            )));
        }
        (None, None, Some(codec)) => described(&**codec),
        // A single byte needs no order; but codecs before it may change the stored type.
        (None, None, None) if elementwise.is_empty() && data.dtype.item_size() == Some(1) => {
            configured(BYTES, [])
        }
        (None, None, None) => endian(chain.big_endian),
    });
    list.extend(others.iter().map(|filter| described(&**filter)));
    Ok(list)
}

fn index_codecs(index: &ShardIndexCodecs, rank: usize) -> Vec<Json> {
    let mut list = Vec::new();
    if let Some(order) = transposition(&DimOrder::C, &index.order, rank + 1) {
        let order = order.into_iter().map(|axis| Json::int(axis as u64)).collect();
        list.push(configured(TRANSPOSE, [("order", Json::Array(order))]));
    }
    list.push(endian(index.big_endian));
    list.extend(index.filters.iter().map(|filter| Json::from_serde(&filter.to_json(ZarrFormat::V3))));
    list
}

fn endian(big: bool) -> Json {
    configured(BYTES, [("endian", Json::string(if big { "big" } else { "little" }))])
}

/// Returns the order of a `transpose` between two dimension orders; `None` if they are equal.
fn transposition(from: &DimOrder, to: &DimOrder, rank: usize) -> Option<Vec<usize>> {
    let (from, to) = (from.axes(rank), to.axes(rank));
    (from != to).then(|| to.iter().filter_map(|axis| from.iter().position(|other| other == axis)).collect())
}

/// Returns the dimensions after a `transpose`.
fn permuted(axes: &[usize], configuration: &ObjectMembers<'_>) -> Result<Vec<usize>> {
    let order = configuration.get("order").unwrap_or(&Value::Null);
    let wrong = || {
        ErrorKind::NcZarr.context(format!(
            "\"order\": expected a permutation of {} axes, found {}",
            axes.len(),
            short(order)
        ))
    };
    let order: Vec<usize> = match order {
        // Spellings of earlier drafts of the specification.
        Value::String(name) if name == "C" => (0..axes.len()).collect(),
        Value::String(name) if name == "F" => (0..axes.len()).rev().collect(),
        Value::Array(items) => {
            let axis = |item: &Value<'_>| usize::try_from(item.as_u64()?).ok();
            items.iter().map(axis).collect::<Option<_>>().ok_or_else(wrong)?
        }
        _ => return Err(wrong()),
    };
    if order.len() != axes.len() || DimOrder::of(&order).is_none() {
        return Err(wrong());
    }
    order.into_iter().map(|axis| axes.get(axis).copied().ok_or_else(wrong)).collect()
}

/// Returns whether `bytes` is big-endian; the default is little-endian.
fn big_endian(configuration: &ObjectMembers<'_>) -> Result<bool> {
    match configuration.get("endian").map(|endian| (endian, endian.as_str())) {
        None | Some((Value::Null, _) | (_, Some("little"))) => Ok(false),
        Some((_, Some("big"))) => Ok(true),
        Some((found, _)) => Err(ErrorKind::NcZarr
            .context(format!("\"endian\": expected \"little\" or \"big\", found {}", short(found)))),
    }
}

/// Whether a codec is `bytes` in big-endian order.
fn is_big(codec: &Value<'_>) -> bool {
    let none = ObjectMembers::new();
    extension(codec, &none)
        .is_ok_and(|(name, configuration)| name == BYTES && big_endian(configuration).is_ok_and(|big| big))
}

fn may_be_skipped(codec: &Value<'_>) -> bool {
    let member = codec.as_object().and_then(|members| members.get("must_understand"));
    member.and_then(Value::as_bool) == Some(false)
}

/// Returns the description of an array codec with the stored byte order in its types.
fn in_order(codec: &Value<'_>, big: bool) -> Serde {
    let mut codec = codec.to_serde();
    if let Some(Serde::Object(configuration)) = codec.get_mut("configuration") {
        for member in ["dtype", "astype", "encode_dtype", "decode_dtype", "data_type"] {
            if let Some(Serde::String(name)) = configuration.get_mut(member) {
                *name = numpy(name, big);
            }
        }
    }
    codec
}

/// Returns NumPy's name of a number type in a byte order; other names stay.
fn numpy(name: &str, big: bool) -> String {
    let bare = name.trim_start_matches(['<', '>', '=', '|']);
    let letters = bare.bytes().take_while(u8::is_ascii_alphabetic).count();
    let (kind, size) = bare.split_at(letters);
    let bits = size.parse::<u32>().ok();
    let short = match (kind, bits) {
        ("int" | "uint" | "float", Some(bits)) if bits.is_multiple_of(8) => {
            format!("{}{}", &kind[..1], bits / 8)
        }
        ("bool", None) => "b1".to_owned(),
        ("i" | "u" | "f" | "b", Some(_)) => bare.to_owned(),
        _ => return name.to_owned(),
    };
    let order = match (short.ends_with('1'), big) {
        (true, _) => '|',
        (false, false) => '<',
        (false, true) => '>',
    };
    format!("{order}{short}")
}

#[cfg(test)]
mod tests;
