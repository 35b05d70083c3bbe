//! Codec chains by typed calls, in each format that has filters.

use nczarr::{
    Codec, CreateOptions, ErrorKind, File, FilterSpec, Kind, OpenOptions, Quantize, SzipCoding, Variable,
};
use proptest::prelude::*;

const KINDS: [Kind; 5] = [Kind::NcZarrV2, Kind::ZarrV2, Kind::NcZarrV3, Kind::ZarrV3, Kind::NetCdf4];

/// The formats without the codec.
type Lacking = &'static [Kind];

const V3: Lacking = &[Kind::NcZarrV3, Kind::ZarrV3];
const HDF5: Lacking = &[Kind::NetCdf4];

struct TempFile {
    _folder: tempfile::TempDir,
    path: String,
}

fn temp(kind: Kind) -> TempFile {
    let folder = tempfile::tempdir().unwrap();
    let ending = if kind == Kind::NetCdf4 { "nc" } else { "zarr" };
    let path = folder.path().join(format!("x.{ending}")).to_str().unwrap().to_owned();
    TempFile { _folder: folder, path }
}

/// Creates a dataset with a variable `v` of 60 floats in three chunks.
fn create(kind: Kind, path: &str) -> (File, Variable) {
    let file = CreateOptions::new().kind(kind).annotate(true).create(path).unwrap();
    file.add_dimension("y", 6).unwrap();
    file.add_dimension("x", 10).unwrap();
    let v = file.add_variable::<f32>("v", &["y", "x"]).unwrap();
    v.set_chunking(&[2, 10]).unwrap();
    (file, v)
}

fn values() -> Vec<f32> {
    (0..60).map(|i| (i as f32 * 0.1).sin()).collect()
}

fn names_and_params(filters: &[FilterSpec]) -> Vec<(&str, &[u32])> {
    filters.iter().map(|filter| (filter.name.as_str(), &filter.params[..])).collect()
}

/// Returns names and the parameters that users choose.
fn setting(filters: &[FilterSpec]) -> Vec<(&str, Vec<u32>)> {
    let chosen = |filter: &FilterSpec| match (filter.name.as_str(), &filter.params[..]) {
        ("blosc", params) => params[4..].to_vec(),
        ("szip", params) => vec![params[0] & 36, params[1]],
        (_, params) => params.to_vec(),
    };
    filters.iter().map(|filter| (filter.name.as_str(), chosen(filter))).collect()
}

fn in_memory(kind: Kind) -> (File, Variable) {
    let options = CreateOptions::new().kind(kind).annotate(true);
    let file = match kind {
        Kind::NetCdf4 => options.create_in_memory("x.nc", false).unwrap(),
        _ => {
            use std::sync::atomic::{AtomicUsize, Ordering};
            static COUNT: AtomicUsize = AtomicUsize::new(0);
            let count = COUNT.fetch_add(1, Ordering::Relaxed);
            options.create(format!("memory://codecs-{count}")).unwrap()
        }
    };
    file.add_dimension("x", 10).unwrap();
    let v = file.add_variable::<f32>("v", &["x"]).unwrap();
    (file, v)
}

#[test]
fn each_chain_is_stored_and_read_back() {
    let chains: Vec<(Vec<Codec>, Lacking)> = vec![
        (vec![], &[]),
        (vec![Codec::zstd(3)], &[]),
        (vec![Codec::zstd(-7)], &[]),
        (vec![Codec::shuffle(), Codec::zstd(22)], &[]),
        (vec![Codec::shuffle(), Codec::deflate(5)], &[]),
        (vec![Codec::deflate(9), Codec::fletcher32()], &[]),
        (vec![Codec::gzip(5)], HDF5),
        (vec![Codec::bzip2(9)], &[]),
        (vec![Codec::shuffle(), Codec::bzip2(1)], &[]),
        (vec![Codec::lz4(1)], &[]),
        (vec![Codec::lz4(9)], &[]),
        (vec![Codec::szip(SzipCoding::NearestNeighbour, 8)], V3),
        (vec![Codec::szip(SzipCoding::Entropy, 4)], V3),
        (vec![Codec::blosc().into()], &[]),
        (vec![Codec::blosc().zstd().level(9).bitshuffle().into()], &[]),
        (vec![Codec::blosc().blosclz().no_shuffle().into()], &[]),
        (vec![Codec::blosc().lz4hc().level(1).shuffle().into()], &[]),
        (vec![Codec::blosc().zlib().level(0).into(), Codec::fletcher32()], &[]),
        (vec![Codec::named("307", &[4])], &[]),
        (vec![Codec::named("crc32c", &[])], HDF5),
        (vec![Codec::json(r#"{"id": "zlib", "level": 7}"#)], &[]),
        (vec![Codec::json(r#"{"id": "lzma", "preset": 1}"#)], HDF5),
        (vec![Codec::json(r#"{"name": "gzip", "configuration": {"level": 2}}"#)], HDF5),
        (vec![Codec::json(r#""crc32c""#)], HDF5),
        (vec![Codec::json(r#"{"id": "zstd", "level": 3, "checksum": true}"#)], HDF5),
    ];
    for kind in KINDS {
        for (chain, lacking) in &chains {
            let place = temp(kind);
            let (file, v) = create(kind, &place.path);
            let outcome = v.set_codecs(chain.iter().cloned());
            if lacking.contains(&kind) {
                let error = outcome.unwrap_err();
                assert_eq!(error.kind(), ErrorKind::Filter, "{kind:?} {chain:?}: {error}");
                assert!(v.filters().is_empty());
                continue;
            }
            outcome.unwrap_or_else(|error| panic!("{kind:?} {chain:?}: {error}"));
            let asked = v.filters();
            assert_eq!(asked.len(), chain.len());
            v.put(&values(), ..).unwrap();
            file.close().unwrap();

            let file = nczarr::open(&place.path).unwrap();
            let v = file.variable("v").unwrap();
            let found = v.filters();
            match kind {
                // HDF5 stores more parameters for blosc and szip: sizes of the elements and chunks.
                Kind::NetCdf4 => {
                    assert_eq!(setting(&found), setting(&asked), "{chain:?}");
                    let (_file, w) = in_memory(Kind::NcZarrV2);
                    w.set_codecs(found.clone()).unwrap();
                    let anew = w.filters();
                    assert!(
                        asked[..].iter().any(|f| f.name == "szip")
                            || names_and_params(&anew) == names_and_params(&asked)
                    );
                }
                _ => assert_eq!(names_and_params(&found), names_and_params(&asked), "{kind:?} {chain:?}"),
            }
            assert_eq!(v.get_values::<f32>(..).unwrap(), values(), "{kind:?} {chain:?}");
        }
    }
}

#[test]
fn a_chain_replaces_the_other() {
    for kind in KINDS {
        let (_file, v) = in_memory(kind);
        v.set_deflate(5, true).unwrap();
        v.set_codecs([Codec::zstd(1), Codec::fletcher32()]).unwrap();
        assert_eq!(names_and_params(&v.filters()), [("zstd", &[1][..]), ("fletcher32", &[])]);
        v.set_codecs([Codec::blosc().level(2)]).unwrap();
        assert_eq!(names_and_params(&v.filters()), [("blosc", &[0, 0, 0, 0, 2, 1, 1][..])]);
        v.set_codecs::<Codec>([]).unwrap();
        assert!(v.filters().is_empty());
        v.set_fletcher32().unwrap();
        assert_eq!(names_and_params(&v.filters()), [("fletcher32", &[][..])]);
    }
}

#[test]
fn an_invalid_codec_changes_nothing() {
    let invalid = [
        (Codec::zstd(23), ErrorKind::Inval, "expected a level of -131072 to 22, found 23"),
        (Codec::deflate(10), ErrorKind::Inval, "the level 0 to 9, found [10]"),
        (Codec::gzip(10), ErrorKind::Inval, "the level 0 to 9, found [10]"),
        (Codec::bzip2(0), ErrorKind::Inval, "the level 1 to 9, found [0]"),
        (Codec::lz4(0), ErrorKind::Inval, "an acceleration of 1 to 65537"),
        (Codec::blosc().level(10).into(), ErrorKind::Inval, "0 to 9, not 10"),
        (Codec::szip(SzipCoding::Entropy, 7), ErrorKind::Inval, "2 to 32 pixels per block, found 7"),
        (Codec::named("shuffle", &[1, 2]), ErrorKind::Inval, "expected no parameters"),
        (Codec::named("no_such", &[]), ErrorKind::NoFilter, "no_such"),
        (Codec::named("4711", &[]), ErrorKind::NoFilter, "4711"),
        (Codec::json("{"), ErrorKind::Inval, "not JSON"),
        (Codec::json("{}"), ErrorKind::Inval, "expected a member \"id\""),
        (Codec::json("[1]"), ErrorKind::Inval, "expected a member \"id\""),
        (Codec::json(r#"{"id": "no_such"}"#), ErrorKind::NoFilter, "no_such"),
        (Codec::json(r#"{"name": "transpose"}"#), ErrorKind::NoFilter, "transpose"),
        (Codec::json(r#"{"id": "zlib", "level": 12}"#), ErrorKind::Inval, "expected 9, found 12"),
        (Codec::json(r#"{"id": "zlib", "lvl": 5}"#), ErrorKind::Filter, "\"lvl\" is unknown"),
        (
            Codec::json(r#"{"name": "zstd", "configuration": {"level": 30}}"#),
            ErrorKind::Inval,
            "expected 22, found 30",
        ),
        (Codec::json(r#"{"id": "blosc", "cname": "lzo"}"#), ErrorKind::Filter, "\"cname\""),
    ];
    for kind in KINDS {
        let (_file, v) = in_memory(kind);
        v.set_codecs([Codec::shuffle(), Codec::bzip2(3)]).unwrap();
        let before = v.filters();
        for (codec, expected, text) in &invalid {
            for chain in [
                vec![codec.clone(), Codec::deflate(1)],
                vec![Codec::deflate(1), codec.clone()],
                vec![codec.clone()],
            ] {
                let error = v.set_codecs(chain).unwrap_err();
                assert_eq!(error.kind(), *expected, "{codec:?}: {error}");
                assert!(error.to_string().contains(text), "{codec:?}: {error}");
                assert!(error.to_string().contains("/v: "), "{error}");
                assert_eq!(v.filters(), before);
            }
        }
    }
}

#[test]
fn data_and_formats_without_filters_refuse_a_chain() {
    for kind in KINDS {
        let (file, v) = in_memory(kind);
        v.put(&[1.0f32; 10], ..).unwrap();
        assert_eq!(v.set_codecs([Codec::zstd(3)]).unwrap_err().kind(), ErrorKind::LateDef, "{kind:?}");
        let scalar = file.add_variable::<f32>("s", &[]).unwrap();
        assert_eq!(scalar.set_codecs([Codec::zstd(3)]).unwrap_err().kind(), ErrorKind::Inval, "{kind:?}");
    }
    let file = CreateOptions::new().kind(Kind::Cdf5).create_in_memory("x.nc", false).unwrap();
    file.add_dimension("x", 10).unwrap();
    let v = file.add_variable::<f32>("v", &["x"]).unwrap();
    assert!(v.set_codecs([Codec::zstd(3)]).is_err());
    v.set_codecs::<Codec>([]).unwrap();
}

/// A description with more than the HDF5 parameters keeps that where the format has JSON.
#[test]
fn a_description_keeps_all_members() {
    let checked = r#"{"id": "zstd", "level": 3, "checksum": true}"#;
    for (kind, document, text) in [
        (Kind::ZarrV2, ".zarray", r#"{"id":"zstd","level":3,"checksum":true}"#),
        (Kind::ZarrV3, "zarr.json", r#"{"name":"zstd","configuration":{"level":3,"checksum":true}}"#),
    ] {
        let place = temp(kind);
        let (file, v) = create(kind, &place.path);
        v.set_codecs([Codec::json(checked)]).unwrap();
        file.close().unwrap();
        let stored = std::fs::read_to_string(format!("{}/v/{document}", place.path)).unwrap();
        let compact: String = stored.chars().filter(|c| !c.is_whitespace()).collect();
        assert!(compact.contains(text), "{stored}");
    }
    let place = temp(Kind::ZarrV3);
    let (file, v) = create(Kind::ZarrV3, &place.path);
    let cast = [
        Codec::json(r#"{"name": "scale_offset", "configuration": {"offset": 0, "scale": 16}}"#),
        Codec::json(r#"{"name": "cast_value", "configuration": {"data_type": "int16"}}"#),
    ];
    v.set_codecs(cast.clone()).unwrap();
    v.put(&[0.5f32; 60], ..).unwrap();
    file.close().unwrap();
    let file = nczarr::open(&place.path).unwrap();
    assert_eq!(file.variable("v").unwrap().get_values::<f32>(..).unwrap(), [0.5f32; 60]);
    // Only Zarr V3 has these.
    for kind in [Kind::ZarrV2, Kind::NcZarrV2, Kind::NetCdf4] {
        let (_file, v) = in_memory(kind);
        let error = v.set_codecs(cast.clone()).unwrap_err();
        assert!(matches!(error.kind(), ErrorKind::NoFilter | ErrorKind::Filter), "{error}");
        assert!(v.filters().is_empty());
    }
}

#[test]
fn filters_of_a_variable_serve_another() {
    for from in KINDS {
        for to in KINDS {
            let ((_one, v), (_other, w)) = (in_memory(from), in_memory(to));
            v.set_codecs([Codec::shuffle(), Codec::zstd(5), Codec::fletcher32()]).unwrap();
            w.set_codecs(v.filters()).unwrap();
            assert_eq!(names_and_params(&w.filters()), names_and_params(&v.filters()));
        }
    }
}

#[test]
fn quantization_is_recorded_and_rounds() {
    let modes = [
        (Quantize::BitGroom(3), 0.5e-3),
        (Quantize::GranularBitRound(3), 0.5e-2),
        (Quantize::BitRound(9), 0.5e-2),
    ];
    for kind in [Kind::NcZarrV2, Kind::ZarrV2, Kind::NcZarrV3, Kind::ZarrV3, Kind::NetCdf4] {
        for (mode, relative) in modes {
            let place = temp(kind);
            let (file, v) = create(kind, &place.path);
            v.set_quantize(mode).unwrap();
            v.set_codecs([Codec::shuffle(), Codec::deflate(5)]).unwrap();
            assert_eq!(v.quantize(), Some(mode));
            v.put(&values(), ..).unwrap();
            file.close().unwrap();
            let file = nczarr::open(&place.path).unwrap();
            let v = file.variable("v").unwrap();
            assert_eq!(v.quantize(), Some(mode), "{kind:?}");
            let found = v.get_values::<f32>(..).unwrap();
            assert_ne!(found, values(), "{kind:?} {mode:?}");
            for (found, right) in found.iter().zip(values()) {
                assert!((found - right).abs() <= relative * 2.0 * right.abs(), "{mode:?}: {found} {right}");
            }
        }
        let (file, v) = in_memory(kind);
        for wrong in [Quantize::BitGroom(0), Quantize::GranularBitRound(7), Quantize::BitRound(24)] {
            v.set_quantize(Quantize::BitGroom(2)).unwrap();
            let error = v.set_quantize(wrong).unwrap_err();
            assert_eq!(error.kind(), ErrorKind::Inval);
            assert!(error.to_string().contains("expected 1 to"), "{error}");
            assert_eq!(v.quantize(), Some(Quantize::BitGroom(2)));
        }
        v.set_quantize(None).unwrap();
        assert_eq!(v.quantize(), None);
        let whole = file.add_variable::<i32>("i", &["x"]).unwrap();
        assert_eq!(whole.set_quantize(Quantize::BitRound(3)).unwrap_err().kind(), ErrorKind::Inval);
    }
    let file = CreateOptions::new().kind(Kind::Cdf1).create_in_memory("x.nc", false).unwrap();
    file.add_dimension("x", 10).unwrap();
    let v = file.add_variable::<f32>("v", &["x"]).unwrap();
    assert_eq!(v.set_quantize(Quantize::BitRound(3)).unwrap_err().kind(), ErrorKind::NotNc4);
}

fn compressor() -> impl Strategy<Value = Codec> {
    prop_oneof![
        (-5..=22).prop_map(Codec::zstd),
        (0..=9u32).prop_map(Codec::deflate),
        (1..=9u32).prop_map(Codec::bzip2),
        (1..=20u32).prop_map(Codec::lz4),
        (0..=9u32, any::<bool>()).prop_map(|(level, bits)| {
            let blosc = Codec::blosc().level(level);
            if bits { blosc.bitshuffle().into() } else { blosc.zstd().into() }
        }),
        Just(Codec::shuffle()),
        Just(Codec::fletcher32()),
    ]
}

proptest! {
    /// Any chain reads back with its order, and the data with it.
    #[test]
    fn random_chains(chain in prop::collection::vec(compressor(), 0..4), values: [f64; 10]) {
        for kind in [Kind::NcZarrV2, Kind::NcZarrV3] {
            let (file, _) = in_memory(kind);
            let w = file.add_variable::<f64>("w", &["x"]).unwrap();
            w.set_codecs(chain.clone()).unwrap();
            let asked = w.filters();
            w.put(&values, ..).unwrap();
            let path = file.path().into_owned();
            file.close().unwrap();
            let file = OpenOptions::new().open(&*path).unwrap();
            let w = file.variable("w").unwrap();
            let found = w.get_values::<f64>(..).unwrap();
            prop_assert!(found.iter().zip(&values).all(|(a, b)| a.to_bits() == b.to_bits()));
            let filters = w.filters();
            prop_assert_eq!(names_and_params(&filters), names_and_params(&asked));
        }
    }
}
