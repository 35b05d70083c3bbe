//! [`check_codec`]: the guarantees of a codec of arrays.

use nczarr_codec::{ChunkInfo, CodecKind, Filter, FilterClass, ItemKind, ItemType, Json, OutBuf, ZarrFormat};
use nczarr_model::{ErrorKind, Result};
use serde_json::json;

use crate::failure::{Outcome, broken, fails, holds, ok, same, same_bytes};
use crate::filter::{damage, guarded, into_output, names, noise, trips};

/// One configuration of a codec, and arrays that it must take.
pub struct CodecSample<'a> {
    /// The `configuration` member of the codec in Zarr V3.
    pub configuration: Json,
    /// Arrays that it must bind to.
    pub arrays: &'a [ArraySample<'a>],
    /// Makes acceptable elements from random bytes: as many bytes.
    pub takes: &'a dyn Fn(&[u8]) -> Vec<u8>,
    /// Returns the expected elements after a round trip: the same ones for a lossless codec.
    pub gives: &'a dyn Fn(&[u8]) -> Vec<u8>,
}

/// The shape and the elements of a chunk.
#[derive(Debug, Clone, Copy)]
pub struct ArraySample<'a> {
    /// The shape, slowest dimension first.
    pub shape: &'a [u64],
    /// The elements.
    pub item: ItemType,
}

impl ArraySample<'_> {
    fn elements(&self) -> usize {
        self.shape.iter().product::<u64>() as usize
    }

    fn bytes(&self) -> usize {
        self.elements() * self.item.size
    }

    fn chunk(&self) -> ChunkInfo<'_> {
        ChunkInfo::new(self.item, self.elements())
            .chunk_bytes(self.bytes())
            .shape(self.shape)
            .row(self.shape.last().map_or(1, |&row| row as usize))
    }
}

/// Checks a codec of arrays with some configurations. It complements [`check_filter`](crate::check_filter),
/// which binds filters to bytes without shape and type.
///
/// * Its descriptions convert into each other, in each Zarr version that has the codec.
/// * Elements come back, and no output is overrun.
/// * An array codec states shape and type of its result, and an elementwise one handles each element alone.
/// * Shorter, longer and damaged streams are errors or give another size. No missing element is invented.
/// * Any shape and type binds or is `NC_EFILTER`, and no description panics.
///
/// # Errors
///
/// The first guarantee that does not hold.
pub fn check_codec(class: &dyn FilterClass, samples: &[CodecSample<'_>]) -> Outcome {
    names::check_class(class)?;
    let name = class.info().name;
    holds(format!("{name} is a codec of arrays"), class.info().kind != CodecKind::BytesToBytes)?;
    let v3_name = class.info().v3_names.map_or(Some(name), |names| names.first().copied());
    let Some(v3_name) = v3_name else {
        return Err(broken(format!("{name} has a name in Zarr V3"), "a name", "an empty list"));
    };
    for sample in samples {
        let codec = json!({"name": v3_name, "configuration": sample.configuration});
        let filter = ok(format!("{codec} is accepted"), parse(class, &codec, ZarrFormat::V3)?)?;
        descriptions(class, &*filter)?;
        for array in sample.arrays {
            let what = format!("{codec} with {array:?}");
            let mut bound = filter.clone();
            ok(format!("{what}: bind"), guarded("bind", || bound.bind(&array.chunk()))?)?;
            shapes(&what, &*bound, array)?;
            for seed in 0..4 {
                let data = (sample.takes)(&noise(array.bytes(), seed));
                same(format!("{what}: the sample has whole chunks"), array.bytes(), data.len())?;
                round_trip(&what, &*bound, array, &data, &(sample.gives)(&data))?;
            }
            for len in [0, 1, array.bytes() + 1, array.bytes().saturating_sub(1)] {
                any_bytes(&what, &*bound, &noise(len, 5))?;
            }
            let data = (sample.takes)(&noise(array.bytes(), 99));
            trips::check_threads(&what, bound, &data, &(sample.gives)(&data))?;
        }
        any_array(&codec.to_string(), &|| filter.clone())?;
    }
    damage::check_class(class)
}

fn parse(class: &dyn FilterClass, codec: &Json, format: ZarrFormat) -> Outcome<Result<Box<dyn Filter>>> {
    guarded(&format!("parse_json of {codec}"), || class.parse_json(codec, format))
}

/// Checks that descriptions and parameters of one instance lead to equal instances.
fn descriptions(class: &dyn FilterClass, filter: &dyn Filter) -> Outcome {
    let name = class.info().name;
    same(format!("{name}: an instance names its class"), name, filter.info().name)?;
    holds(format!("{name} has a description in Zarr V3"), filter.to_json(ZarrFormat::V3).is_object())?;
    for format in [ZarrFormat::V2, ZarrFormat::V3] {
        let codec = filter.to_json(format);
        if codec.is_null() {
            continue;
        }
        let (member, is_name): (_, &dyn Fn(&str) -> bool) = match format {
            ZarrFormat::V2 => ("id", &|found| found == name || class.info().aliases.contains(&found)),
            ZarrFormat::V3 => ("name", &|found| class.info().is_v3_name(found)),
        };
        let found = codec.get(member).and_then(Json::as_str).unwrap_or_default();
        holds(format!("the {member} of {codec} finds {name}"), is_name(found))?;
        let again = ok(format!("{name} reads its own {codec}"), parse(class, &codec, format)?)?;
        same(format!("{codec} comes back"), &codec, &again.to_json(format))?;
        same(format!("{codec} keeps the parameters"), filter.params(), again.params())?;
    }
    let Ok(again) = guarded("parse_params", || class.parse_params(&filter.params()))? else { return Ok(()) };
    let v3 = ZarrFormat::V3;
    same(format!("the parameters of {name} make the same codec"), filter.to_json(v3), again.to_json(v3))
}

/// Checks the encoded shape and type of a bound codec.
fn shapes(what: &str, filter: &dyn Filter, array: &ArraySample<'_>) -> Outcome {
    let item = filter.encoded_item();
    holds(format!("{what}: its encoded elements have at least a byte"), item.size > 0)?;
    match (filter.info().kind, filter.encoded_shape()) {
        (_, None) => Ok(()),
        (CodecKind::ArrayToArray { ordered: true }, Some(shape)) => {
            holds(format!("{what}: no length of {shape:?} is 0"), shape.iter().all(|&len| len > 0))
        }
        (CodecKind::ArrayToArray { .. }, Some(shape)) => {
            same(format!("{what}: an elementwise codec keeps the shape"), array.shape, &shape[..])
        }
        (_, Some(shape)) => Err(broken(format!("{what}: bytes have no shape"), "None", shape)),
    }
}

fn round_trip(
    what: &str,
    filter: &dyn Filter,
    array: &ArraySample<'_>,
    data: &[u8],
    expected: &[u8],
) -> Outcome {
    let encoded = trips::check(what, filter, data, expected)?;
    if filter.info().kind == CodecKind::ELEMENTWISE {
        let bytes = array.elements() * filter.encoded_item().size;
        same(format!("{what}: its result is an array of its elements"), bytes, encoded.len())?;
        elementwise(filter, array, data, &encoded)?;
    }
    streams(what, filter, expected, &encoded)?;
    damage::check(what, filter, data, &encoded)
}

/// Checks that each element is encoded alone: the last element first gives the same bytes in reverse.
fn elementwise(filter: &dyn Filter, array: &ArraySample<'_>, data: &[u8], encoded: &[u8]) -> Outcome {
    let reversed =
        |bytes: &[u8], size: usize| -> Vec<u8> { bytes.rchunks(size).flatten().copied().collect() };
    let turned = reversed(data, array.item.size);
    let what = format!("{} is elementwise", filter.info().name);
    let found = into_output(&what, encoded.len(), |out| filter.encode(&turned, out))?;
    same_bytes(&what, &reversed(encoded, filter.encoded_item().size), &ok(&what, found)?)
}

/// Checks that cut and extended streams never give invented elements.
fn streams(what: &str, filter: &dyn Filter, expected: &[u8], encoded: &[u8]) -> Outcome {
    let decode = |how: String, stream: &[u8]| -> Outcome {
        let what = format!("{what}: decode of a stream {how}");
        match into_output(&what, expected.len(), |out: &mut OutBuf<'_>| filter.decode(stream, out))? {
            // A stream may end with bytes that decoding does not need.
            Ok(decoded) if decoded.len() == expected.len() => same_bytes(what, expected, &decoded),
            Ok(_) => Ok(()),
            failed => fails(what, &[ErrorKind::Filter], failed),
        }
    };
    let step = encoded.len() / 40 + 1;
    for at in (0..encoded.len()).filter(|&at| at < 24 || at + 24 > encoded.len() || at % step == 0) {
        decode(format!("cut at {at}"), &encoded[..at])?;
    }
    for more in [1, 4, 1000] {
        decode(format!("with {more} bytes more"), &[encoded, &noise(more, 3)].concat())?;
    }
    Ok(())
}

/// Encodes bytes that may not be acceptable elements, and decodes the result.
fn any_bytes(what: &str, filter: &dyn Filter, data: &[u8]) -> Outcome {
    let what = format!("{what}: encode of {} random bytes", data.len());
    let room = filter.encode_bound(data.len()).unwrap_or(data.len() * 2 + 1024);
    match into_output(&what, room, |out| filter.encode(data, out))? {
        Ok(encoded) => drop(into_output(&what, data.len(), |out| filter.decode(&encoded, out))?),
        failed => fails(what, &[ErrorKind::Filter], failed)?,
    }
    Ok(())
}

/// Binds a codec to arrays that it may refuse.
fn any_array(what: &str, make: &dyn Fn() -> Box<dyn Filter>) -> Outcome {
    const KINDS: [ItemKind; 5] =
        [ItemKind::Bytes, ItemKind::Bool, ItemKind::Int, ItemKind::UInt, ItemKind::Float];
    const SHAPES: [&[u64]; 5] = [&[], &[1], &[7], &[3, 5], &[1, 2, 1, 3, 2, 1]];
    for kind in KINDS {
        for (size, big_endian) in
            [1, 2, 3, 4, 8, 16].into_iter().flat_map(|size| [(size, false), (size, true)])
        {
            for shape in SHAPES {
                let array = ArraySample { shape, item: ItemType { kind, size, big_endian } };
                let what = format!("{what} with {array:?}");
                let mut bound = make();
                match guarded(&what, || bound.bind(&array.chunk()))? {
                    Err(error) => fails(what, &[ErrorKind::Filter], Err::<(), _>(error))?,
                    Ok(()) => {
                        shapes(&what, &*bound, &array)?;
                        any_bytes(&what, &*bound, &noise(array.bytes(), 11))?;
                    }
                }
            }
        }
    }
    Ok(())
}
