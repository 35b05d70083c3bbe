//! Variables of types that only plain Zarr has, made by a typed call.

use std::fs;

use nczarr::{Codec, CreateOptions, ErrorKind, File, Kind, NcType, TimeStep, Values, Variable, ZarrType};
use nczarr_tests::fuzz::Rng;
use serde_json::{Value, json};

const KINDS: [Kind; 2] = [Kind::ZarrV2, Kind::ZarrV3];

fn create(kind: Kind, path: &str) -> File {
    let file = CreateOptions::new().kind(kind).create(path).unwrap();
    file.add_dimension("x", 5).unwrap();
    file
}

fn document(kind: Kind, path: &str, variable: &str) -> Value {
    let name = if kind == Kind::ZarrV2 { ".zarray" } else { "zarr.json" };
    serde_json::from_str(&fs::read_to_string(format!("{path}/{variable}/{name}")).unwrap()).unwrap()
}

fn floats(variable: &Variable) -> Vec<f32> {
    variable.get_values::<f32>(..).unwrap()
}

#[test]
fn each_type_is_stored_and_reads_back() {
    let folder = tempfile::tempdir().unwrap();
    for kind in KINDS {
        let path = &format!("{}/{kind:?}", folder.path().display());
        let file = create(kind, path);
        let add = |name: &str, ty| {
            let v = file.add_zarr_variable(name, ty, &["x"]).unwrap();
            v.set_chunking(&[2]).unwrap();
            v
        };
        let mask = add("mask", ZarrType::Bool);
        mask.set_codecs([Codec::zstd(3)]).unwrap();
        let half = add("half", ZarrType::Float16);
        half.set_codecs([Codec::shuffle(), Codec::zstd(3)]).unwrap();
        half.put_attribute("units", "K").unwrap();
        let complex = add("complex", ZarrType::Complex64);
        let wide = add("wide", ZarrType::Complex128);
        let time = add("time", ZarrType::DateTime64(TimeStep::Second));
        let span = add("span", ZarrType::TimeDelta64(TimeStep::Milli));
        assert_eq!(
            (mask.nc_type(), half.nc_type(), time.nc_type()),
            (NcType::UByte, NcType::Float, NcType::String)
        );
        assert!(matches!(complex.nc_type(), NcType::User(_)) && complex.nc_type() != wide.nc_type());
        // The last two elements stay unwritten, and one chunk of them is absent.
        let check = |file: &File| {
            let v = |name: &str| file.variable(name).unwrap();
            assert_eq!(v("mask").get_values::<u8>(..).unwrap(), [1, 0, 1, 0, 0]);
            let found = floats(&v("half"));
            assert_eq!(found[..3], [0.099_975_586, 65504.0, -1.5]);
            assert!(found[3].is_nan() && found[4].is_nan());
            assert_eq!(raw::<16>(&v("complex"), 1..3)[..], native(&[2.0, -0.5, 7.0, f32::INFINITY]));
            assert_eq!(raw::<8>(&v("complex"), 4..5), [0; 8]);
            assert_eq!(
                v("time").get_strings(..).unwrap().as_slice(),
                ["1969-12-31T23:59:59", "2024-02-29T12:30:00", "NaT", "NaT", "NaT"]
            );
            assert_eq!(
                v("span").get_strings(..).unwrap().as_slice(),
                ["1ms", "-2000ms", "NaT", "NaT", "NaT"]
            );
        };
        mask.put(&[1u8, 0, 1], ..3).unwrap();
        half.put(&[0.1f32, 65504.0, -1.5], ..3).unwrap();
        complex.put_raw(&native(&[1.0, 0.0, 2.0, -0.5, 7.0, f32::INFINITY]), ..3).unwrap();
        time.put_strings(&["1969-12-31T23:59:59", "2024-02-29T12:30:00", "NaT"], ..3).unwrap();
        span.put_strings(&["1ms", "-2s"], ..2).unwrap();
        check(&file);
        file.close().unwrap();
        check(&nczarr::open(path).unwrap());

        for (variable, v2, v3, fill) in [
            ("mask", "|b1", json!("bool"), json!(false)),
            ("half", "<f2", json!("float16"), json!("NaN")),
            ("complex", "<c8", json!("complex64"), json!([0.0, 0.0])),
            ("wide", "<c16", json!("complex128"), json!([0.0, 0.0])),
            (
                "time",
                "<M8[s]",
                json!({"name": "numpy.datetime64", "configuration": {"unit": "s", "scale_factor": 1}}),
                json!(i64::MIN),
            ),
            (
                "span",
                "<m8[ms]",
                json!({"name": "numpy.timedelta64", "configuration": {"unit": "ms", "scale_factor": 1}}),
                json!(i64::MIN),
            ),
        ] {
            let found = document(kind, path, variable);
            match kind {
                Kind::ZarrV2 => assert_eq!(found["dtype"], v2),
                _ => assert_eq!(found["data_type"], v3),
            }
            assert_eq!(found["fill_value"], fill, "{kind:?} {variable}");
        }
        assert!(!fs::exists(format!("{path}/mask/2")).unwrap(), "a chunk of nothing but fill values");

        // Further writes keep the type, in this session and the next.
        let file = nczarr::append(path).unwrap();
        file.variable("mask").unwrap().put(&[1u8], 4).unwrap();
        file.variable("time").unwrap().put_strings(&["2000-01-01"], 4).unwrap();
        file.variable("half").unwrap().put_attribute("units", "1").unwrap();
        file.close().unwrap();
        let file = nczarr::open(path).unwrap();
        assert_eq!(file.variable("mask").unwrap().get_values::<u8>(..).unwrap(), [1, 0, 1, 0, 1]);
        assert_eq!(file.variable("time").unwrap().get_string(4).unwrap(), "2000-01-01T00:00:00");
        let dtype = if kind == Kind::ZarrV2 { "dtype" } else { "data_type" };
        assert_eq!(document(kind, path, "half")[dtype], if kind == Kind::ZarrV2 { "<f2" } else { "float16" });
    }
}

fn raw<const N: usize>(variable: &Variable, extent: std::ops::Range<u64>) -> [u8; N] {
    let mut bytes = [0; N];
    variable.get_raw(&mut bytes, extent).unwrap();
    bytes
}

fn native(values: &[f32]) -> Vec<u8> {
    values.iter().flat_map(|value| value.to_ne_bytes()).collect()
}

#[test]
fn layout_and_fill_value_can_be_set() {
    let folder = tempfile::tempdir().unwrap();
    for kind in KINDS {
        let path = &format!("{}/{kind:?}", folder.path().display());
        let file = create(kind, path);
        let half = file.add_zarr_variable("half", ZarrType::Float16, &["x"]).unwrap();
        half.set_endian(nczarr::Endian::Big).unwrap();
        half.set_fill(2.0f32).unwrap();
        assert_eq!(half.set_fill(1e9f32).unwrap_err().kind(), ErrorKind::Range);
        let small = file.add_zarr_variable("small", ZarrType::Float16, &["x"]).unwrap();
        assert_eq!(small.put(&[1e6f32], 4..5).unwrap_err().kind(), ErrorKind::Range);
        let mask = file.add_zarr_variable("mask", ZarrType::Bool, &["x"]).unwrap();
        assert_eq!(mask.set_fill(2u8).unwrap_err().kind(), ErrorKind::Range);
        assert_eq!(mask.set_fill(1.0f32).unwrap_err().kind(), ErrorKind::BadType);
        mask.set_fill(1u8).unwrap();
        let time = file.add_zarr_variable("time", ZarrType::DateTime64(TimeStep::Day), &["x"]).unwrap();
        time.set_fill("1970-01-03").unwrap_err();
        time.set_fill(vec!["1970-01-03".to_owned()]).unwrap();
        half.put(&[1.0f32], 0).unwrap();
        file.close().unwrap();
        let file = nczarr::open(path).unwrap();
        assert_eq!(floats(&file.variable("half").unwrap()), [1.0, 2.0, 2.0, 2.0, 2.0]);
        assert_eq!(file.variable("mask").unwrap().get_values::<u8>(..).unwrap(), [1; 5]);
        assert_eq!(file.variable("mask").unwrap().fill_value(), Some(Values::UByte(vec![1])));
        assert_eq!(file.variable("time").unwrap().get_string(3).unwrap(), "1970-01-03");
        let bytes = match kind {
            Kind::ZarrV2 => fs::read(format!("{path}/half/0")).unwrap(),
            _ => fs::read(format!("{path}/half/c/0")).unwrap(),
        };
        assert_eq!(bytes[..4], [0x3c, 0, 0x40, 0]);
    }
}

#[test]
fn other_formats_and_wrong_definitions_are_refused() {
    for kind in [Kind::NcZarrV2, Kind::NcZarrV3, Kind::NetCdf4, Kind::Cdf5] {
        let options = CreateOptions::new().kind(kind);
        let file = match kind {
            Kind::NetCdf4 | Kind::Cdf5 => options.create_in_memory("x.nc", false).unwrap(),
            _ => options.create(format!("memory://zarr-types-{kind:?}")).unwrap(),
        };
        file.add_dimension("x", 5).unwrap();
        for ty in [ZarrType::Bool, ZarrType::Complex64, ZarrType::DateTime64(TimeStep::Nano)] {
            let error = file.add_zarr_variable("v", ty, &["x"]).unwrap_err();
            assert_eq!(error.kind(), ErrorKind::BadType, "{kind:?}: {error}");
            assert!(error.to_string().contains("plain Zarr"), "{error}");
        }
        assert!(file.variables().is_empty() && file.model().user_types().len() == 0);
    }
    for kind in KINDS {
        let file = CreateOptions::new().kind(kind).create(format!("memory://zarr-types-{kind:?}")).unwrap();
        file.add_dimension("x", 5).unwrap();
        file.add_zarr_variable("v", ZarrType::Bool, &["x"]).unwrap();
        let error = |name: &str, dims: &[&str]| {
            file.add_zarr_variable(name, ZarrType::Complex64, dims).unwrap_err().kind()
        };
        assert_eq!(error("v", &["x"]), ErrorKind::NameInUse);
        assert_eq!(error("w", &["y"]), ErrorKind::BadDim);
        let bfloat = file.add_zarr_variable("b", ZarrType::Bfloat16, &["x"]);
        match kind {
            Kind::ZarrV2 => assert_eq!(bfloat.unwrap_err().kind(), ErrorKind::BadType),
            _ => drop(bfloat.unwrap()),
        }
        file.add_group("g").unwrap().add_zarr_variable("c", ZarrType::Complex64, &[]).unwrap();
        assert_eq!(file.model().user_types().len(), 1);
        // A type that netCDF has needs no stored form.
        let stored =
            nczarr::dispatch::StoredType { data_type: "\"float32\"".into(), endian: nczarr::Endian::Little };
        let error = file.add_variable_as_stored("f", NcType::Float, &["x"], &stored).unwrap_err();
        assert_eq!(error.kind(), ErrorKind::BadType);
    }
    let folder = tempfile::tempdir().unwrap();
    let path = &format!("{}/x.zarr", folder.path().display());
    create(Kind::ZarrV2, path).close().unwrap();
    let file = nczarr::open(path).unwrap();
    for ty in [ZarrType::Bool, ZarrType::Complex64] {
        assert_eq!(file.add_zarr_variable("v", ty, &[]).unwrap_err().kind(), ErrorKind::Perm);
    }
}

/// Writes of random boxes, with an array in memory as the oracle.
#[test]
fn random_writes_of_half_floats_and_truth_values() {
    let mut rng = Rng::of("zarr_types", 0, 7);
    for kind in KINDS {
        let file = CreateOptions::new().kind(kind).create(format!("memory://zarr-random-{kind:?}")).unwrap();
        file.add_dimension("n", 40).unwrap();
        let half = file.add_zarr_variable("h", ZarrType::Float16, &["n"]).unwrap();
        let mask = file.add_zarr_variable("m", ZarrType::Bool, &["n"]).unwrap();
        half.set_chunking(&[7]).unwrap();
        mask.set_chunking(&[9]).unwrap();
        let (mut halves, mut truths) = (vec![f32::NAN; 40], vec![0u8; 40]);
        for _ in 0..30 {
            let start = rng.below(40);
            let end = start + 1 + rng.below(40 - start);
            // Half floats hold whole numbers up to 2048.
            let values: Vec<f32> = (start..end).map(|_| rng.below(4097) as f32 - 2048.0).collect();
            let bits: Vec<u8> = (start..end).map(|_| rng.below(2) as u8).collect();
            half.put(&values, start as u64..end as u64).unwrap();
            mask.put(&bits, start as u64..end as u64).unwrap();
            halves[start..end].copy_from_slice(&values);
            truths[start..end].copy_from_slice(&bits);
        }
        file.close().unwrap();
        let file = nczarr::open(format!("memory://zarr-random-{kind:?}")).unwrap();
        let found = floats(&file.variable("h").unwrap());
        assert!(found.iter().zip(&halves).all(|(a, b)| a == b || a.is_nan() && b.is_nan()), "{found:?}");
        assert_eq!(file.variable("m").unwrap().get_values::<u8>(..).unwrap(), truths);
    }
}
