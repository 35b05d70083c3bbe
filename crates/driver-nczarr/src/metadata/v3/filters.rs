//! Maps netCDF filters to V3 codecs that other readers know: [`interoperable`].
//!
//! Deflate becomes gzip; shuffle with deflate or zstd becomes one blosc; fletcher32 becomes a final crc32c. A
//! codec unknown to other readers keeps numcodecs' name (`numcodecs.bz2`); szip is rejected. `keys` records
//! the original filters, so that definitions read back.
//!
//! Source: rows 14 to 20 of the table of resolutions in the format notes.

use nczarr_codec::{Filter, Json as Serde, ZarrFormat};
use nczarr_dispatch::Registry;
use nczarr_model::{ErrorKind, FilterSpec, Result};
use serde_json::json;

use super::chain::CodecChain;
use crate::metadata::codecs::filters::make_filter;

/// The largest element size that blosc supports.
const MAX_TYPESIZE: usize = 255;

/// Returns the codecs for a list of filters, on elements of `item` bytes.
///
/// # Errors
/// `NC_EFILTER` for szip, which no reader of V3 knows; errors of the registry for missing codecs.
pub(crate) fn interoperable(
    filters: &[Box<dyn Filter>],
    item: usize,
    registry: &Registry,
) -> Result<Vec<Box<dyn Filter>>> {
    let mut codecs: Vec<Box<dyn Filter>> = Vec::new();
    let mut checked = false;
    let sums = filters.iter().filter(|filter| filter.info().name == "fletcher32").count();
    let rest: Vec<_> = filters.iter().filter(|filter| filter.info().name != "fletcher32").collect();
    let mut rest = rest.into_iter().peekable();
    while let Some(filter) = rest.next() {
        let level = |filter: &dyn Filter| filter.params().first().copied().unwrap_or(0);
        match filter.info().name {
            "shuffle" => match rest.next_if(|next| matches!(next.info().name, "deflate" | "zstd")) {
                Some(next) if next.info().name == "deflate" => {
                    if level(&**next) > 0 {
                        codecs.push(shuffled("zlib", level(&**next).min(9), item, registry)?);
                    }
                }
                // Maps zstd's levels to the nine levels of blosc.
                Some(next) => {
                    let level = level(&**next).cast_signed();
                    codecs.push(shuffled(
                        "zstd",
                        (level.clamp(1, 18) + 1).unsigned_abs() / 2,
                        item,
                        registry,
                    )?);
                }
                // Shuffle alone compresses nothing, and blosc shuffles anyway.
                None if rest.peek().is_none_or(|next| next.info().name == "blosc") => {}
                // The filter does not know its element size yet.
                None if filter.working_params().first() == Some(&0) => {
                    codecs.push(named("numcodecs.shuffle", json!({"elementsize": item}), registry)?);
                }
                None => codecs.push(filter.clone()),
            },
            "deflate" if level(&**filter) == 0 => {}
            "deflate" => codecs.push(named("gzip", json!({"level": level(&**filter).min(9)}), registry)?),
            "szip" => {
                return Err(
                    ErrorKind::Filter.context("szip: it cannot be written in Zarr V3; choose another filter")
                );
            }
            "crc32c" => {
                checked = true;
                codecs.push(filter.clone());
            }
            _ => codecs.push(filter.clone()),
        }
    }
    if sums > 0 && !checked {
        codecs.push(named("crc32c", json!({}), registry)?);
    }
    Ok(codecs)
}

/// Returns a codec's description. V2 lacks some; members that V3 adds follow from the elements.
fn describe(codec: &dyn Filter) -> Serde {
    match codec.to_json(ZarrFormat::V2) {
        Serde::Null => codec.to_json(ZarrFormat::V3),
        other => other,
    }
}

/// Returns the filters to show: the recorded ones if they lead to this chain, else the chain's.
pub(crate) fn shown_filters(
    chain: &CodecChain,
    kept: Option<&[FilterSpec]>,
    item: usize,
    registry: &Registry,
) -> Vec<FilterSpec> {
    let stored = chain.all_specs();
    let Some(kept) = kept else { return stored };
    let made = || -> Result<Vec<Serde>> {
        let filters = kept
            .iter()
            .map(|spec| make_filter(spec, ZarrFormat::V3, registry))
            .collect::<Result<Vec<_>>>()?;
        Ok(interoperable(&filters, item, registry)?.iter().map(|codec| describe(&**codec)).collect())
    };
    let inner = &chain.innermost().filters;
    let found: Vec<Serde> = inner.iter().map(|codec| describe(&**codec)).collect();
    match made() {
        Ok(made) if made == found => kept.iter().map(|spec| complete(spec, registry)).collect(),
        // Another writer changed the codecs, so the stored ones are shown.
        _ => stored,
    }
}

/// Returns the filters to record; `None` if the codecs imply them.
pub(crate) fn recorded_filters(
    asked: &[FilterSpec],
    stored: &[Box<dyn Filter>],
    item: usize,
    registry: &Registry,
) -> Option<Vec<FilterSpec>> {
    let agrees = |spec: &FilterSpec, codec: &dyn Filter| {
        spec.params == *codec.params()
            && make_filter(spec, ZarrFormat::V3, registry)
                .is_ok_and(|filter| filter.info().name == codec.info().name)
    };
    let same =
        asked.len() == stored.len() && asked.iter().zip(stored).all(|(spec, codec)| agrees(spec, &**codec));
    let made = || {
        let filters = asked
            .iter()
            .map(|spec| make_filter(spec, ZarrFormat::V3, registry))
            .collect::<Result<Vec<_>>>()?;
        interoperable(&filters, item, registry)
    };
    // Codecs of another writer need no record.
    (!same && made().is_ok()).then(|| asked.iter().map(FilterSpec::anew).collect())
}

/// Adds the name to a recorded filter.
fn complete(spec: &FilterSpec, registry: &Registry) -> FilterSpec {
    let class = match spec.hdf5_id {
        Some(id) => registry.filter_by_id(id),
        None => registry.filter(&spec.name),
    };
    let name = class.map_or_else(|_| spec.name.clone(), |class| class.info().name.to_owned());
    FilterSpec { name, ..spec.clone() }
}

fn shuffled(cname: &str, level: u32, item: usize, registry: &Registry) -> Result<Box<dyn Filter>> {
    let typesize = if (1..=MAX_TYPESIZE).contains(&item) { item } else { 1 };
    let configuration =
        json!({"cname": cname, "clevel": level, "shuffle": "shuffle", "typesize": typesize, "blocksize": 0});
    named("blosc", configuration, registry)
}

fn named(name: &str, configuration: Serde, registry: &Registry) -> Result<Box<dyn Filter>> {
    registry
        .v3_codec(name)?
        .parse_json(&json!({"name": name, "configuration": configuration}), ZarrFormat::V3)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::metadata::v3::tests::registry;

    fn filter(id: u32, params: &[u32]) -> Box<dyn Filter> {
        registry().filter_by_id(id).unwrap().parse_params(params).unwrap()
    }

    fn stored(filters: &[(u32, &[u32])], item: usize) -> Vec<Serde> {
        let filters: Vec<_> = filters.iter().map(|(id, params)| filter(*id, params)).collect();
        let codecs = interoperable(&filters, item, &registry()).unwrap();
        codecs.iter().map(|codec| codec.to_json(ZarrFormat::V3)).collect()
    }

    #[test]
    fn the_rows_of_the_table() {
        let codec = |name: &str, configuration: Serde| json!({"name": name, "configuration": configuration});
        let blosc = |cname: &str, level: u32, size: usize| {
            codec(
                "blosc",
                json!({"cname": cname, "clevel": level, "shuffle": "shuffle", "typesize": size, "blocksize": 0}),
            )
        };
        let gzip = |level: u32| codec("gzip", json!({"level": level}));
        let crc = || codec("crc32c", json!({}));
        type Case<'a> = (&'a [(u32, &'a [u32])], usize, Vec<Serde>);
        let cases: [Case<'_>; 14] = [
            (&[(1, &[5])], 4, vec![gzip(5)]),
            (&[(1, &[0])], 4, vec![]),
            (&[(2, &[]), (1, &[5])], 2, vec![blosc("zlib", 5, 2)]),
            (&[(2, &[]), (1, &[0])], 2, vec![]),
            (&[(2, &[])], 8, vec![]),
            (&[(3, &[])], 8, vec![crc()]),
            (&[(3, &[]), (2, &[]), (1, &[9])], 8, vec![blosc("zlib", 9, 8), crc()]),
            (&[(2, &[]), (3, &[]), (1, &[9])], 300, vec![blosc("zlib", 9, 1), crc()]),
            (&[(2, &[]), (32015, &[9])], 4, vec![blosc("zstd", 5, 4)]),
            (&[(2, &[]), (32015, &[4_294_967_295])], 4, vec![blosc("zstd", 1, 4)]),
            (&[(32015, &[9])], 4, vec![codec("zstd", json!({"level": 9, "checksum": false}))]),
            (&[(307, &[9])], 4, vec![codec("numcodecs.bz2", json!({"level": 9}))]),
            (&[(1, &[1]), (3, &[]), (3, &[])], 4, vec![gzip(1), crc()]),
            (
                &[(2, &[]), (307, &[1])],
                4,
                vec![
                    codec("numcodecs.shuffle", json!({"elementsize": 4})),
                    codec("numcodecs.bz2", json!({"level": 1})),
                ],
            ),
        ];
        for (filters, item, expected) in cases {
            assert_eq!(stored(filters, item), expected, "{filters:?}");
        }
        let szip = filter(4, &[4, 8]);
        assert_eq!(interoperable(&[szip], 4, &registry()).unwrap_err().kind(), ErrorKind::Filter);
    }

    #[test]
    fn recorded_filters_count_only_if_they_match_the_codecs() {
        let registry = registry();
        let spec = |id, params: &[u32]| FilterSpec {
            hdf5_id: Some(id),
            params: params.into(),
            ..FilterSpec::default()
        };
        let kept = [spec(2, &[]), spec(1, &[5]), spec(3, &[])];
        let filters: Vec<_> = kept.iter().map(|spec| filter(spec.hdf5_id.unwrap(), &spec.params)).collect();
        let chain =
            CodecChain { filters: interoperable(&filters, 4, &registry).unwrap(), ..CodecChain::default() };
        let found = shown_filters(&chain, Some(&kept), 4, &registry);
        let names: Vec<_> = found.iter().map(|spec| (spec.name.as_str(), &spec.params[..])).collect();
        assert_eq!(names, [("shuffle", &[][..]), ("deflate", &[5]), ("fletcher32", &[])]);
        // A separate shuffle codec is stored with the element size.
        let kept_alone = [spec(2, &[]), spec(307, &[1]), spec(3, &[])];
        let codec = |name: &str, configuration: Serde| named(name, configuration, &registry).unwrap();
        let codecs = vec![
            codec("numcodecs.shuffle", json!({"elementsize": 4})),
            codec("numcodecs.bz2", json!({"level": 1})),
            codec("crc32c", json!({})),
        ];
        let found = shown_filters(
            &CodecChain { filters: codecs, ..CodecChain::default() },
            Some(&kept_alone),
            4,
            &registry,
        );
        assert_eq!(
            found.iter().map(|spec| spec.name.as_str()).collect::<Vec<_>>(),
            ["shuffle", "bzip2", "fletcher32"]
        );
        assert!(shown_filters(&chain, Some(&kept[1..]), 4, &registry).is_empty());
        assert!(shown_filters(&chain, Some(&[spec(65_000, &[])]), 4, &registry).is_empty());
        assert!(shown_filters(&chain, None, 4, &registry).is_empty());
    }
}
