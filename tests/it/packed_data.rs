//! Packed data: scale, offset and missing values, from the caller and from attributes, compared with a slow
//! reference.

use std::sync::atomic::{AtomicU64, Ordering};

use nczarr::model::Scalar;
use nczarr::model::convert::convert_values;
use nczarr::{Endian, ErrorKind, Extent, IntoValues, NcType, Values, Variable};
use proptest::prelude::*;

const NUMBERS: [NcType; 10] = [
    NcType::Byte,
    NcType::UByte,
    NcType::Short,
    NcType::UShort,
    NcType::Int,
    NcType::UInt,
    NcType::Int64,
    NcType::UInt64,
    NcType::Float,
    NcType::Double,
];

static NEXT: AtomicU64 = AtomicU64::new(0);

fn variable(ty: NcType, shape: &[u64], chunks: &[u64]) -> Variable {
    let path = format!("memory://unpack-{}#mode=nczarr", NEXT.fetch_add(1, Ordering::Relaxed));
    let file = nczarr::create(&path).unwrap();
    let names: Vec<String> = (0..shape.len()).map(|dim| format!("d{dim}")).collect();
    for (name, &len) in names.iter().zip(shape) {
        file.add_dimension(name, len).unwrap();
    }
    let names: Vec<&str> = names.iter().map(String::as_str).collect();
    let v = file.add_variable_with_type("v", ty, &names).unwrap();
    let chunks: Vec<u64> = chunks.iter().zip(shape).map(|(chunk, len)| *chunk.min(len)).collect();
    v.set_chunking(&chunks).unwrap();
    v
}

fn shorts(values: &[i16], attributes: &[(&str, Values)]) -> Variable {
    let v = variable(NcType::Short, &[values.len() as u64], &[2]);
    for (name, value) in attributes {
        v.put_attribute(name, value).unwrap();
    }
    v.put(values, ..).unwrap();
    v
}

fn unpacked(v: &Variable) -> Vec<f64> {
    v.get_unpacked::<f64>(..).unwrap().into_vec()
}

/// Compares bit by bit, but accepts any NaN for a NaN.
fn same(found: &[f64], expected: &[f64]) -> bool {
    let pairs = found.iter().zip(expected);
    found.len() == expected.len()
        && pairs.into_iter().all(|(a, b)| a.to_bits() == b.to_bits() || (a.is_nan() && b.is_nan()))
}

fn double(values: &Values, at: usize) -> f64 {
    match values.scalar(at).unwrap() {
        Scalar::Int(value) => value as f64,
        Scalar::Float(value) => value,
    }
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 200, ..ProptestConfig::default() })]

    #[test]
    fn one_and_two_pass_unpacking_agree(
        ty in prop::sample::select(&NUMBERS[..]),
        big in any::<bool>(),
        rows in 1u64..7, columns in 1u64..40, chunk in (1u64..7, 1u64..40),
        start in any::<prop::sample::Index>(), stride in (1u64..3, 1u64..4),
        values in prop::collection::vec(-100i32..120, 40 * 7),
        written in any::<prop::sample::Index>(),
        fill in -100i32..120, missing in prop::option::of(-100i32..120),
        scale in prop::sample::select(vec![None, Some(0.01), Some(-3.0)]),
        offset in prop::sample::select(vec![None, Some(273.15)]),
        shuffled in any::<bool>(),
    ) {
        let v = variable(ty, &[rows, columns], &[chunk.0, chunk.1]);
        v.set_endian(if big { Endian::Big } else { Endian::Little }).unwrap();
        if shuffled {
            v.set_deflate(1, true).unwrap();
        }
        let as_type = |values: Vec<i32>| convert_values(&Values::Int(values), ty).unwrap().0;
        v.put_attribute("_FillValue", as_type(vec![fill])).unwrap();
        if let Some(missing) = missing {
            // Its type differs from the variable's type, as in many datasets.
            v.put_attribute("missing_value", f64::from(missing)).unwrap();
        }
        if let Some(scale) = scale {
            v.put_attribute("scale_factor", scale).unwrap();
        }
        if let Some(offset) = offset {
            v.put_attribute("add_offset", offset).unwrap();
        }
        // The rows from `written` on are missing: part of a chunk, or whole chunks.
        let written = written.index(rows as usize + 1) as u64;
        let count = (written * columns) as usize;
        let stored = as_type(values[..count].to_vec());
        v.put_raw(&stored.to_native_bytes().unwrap(), (0..written, ..)).unwrap();

        let start = start.index(rows as usize) as u64;
        let extents = [
            Extent::Strided { start, count: None, stride: stride.0 },
            Extent::Strided { start: 0, count: None, stride: stride.1 },
        ];
        let fills = as_type(vec![fill]);
        let mut expected = Vec::new();
        for row in (start..rows).step_by(stride.0 as usize) {
            for column in (0..columns).step_by(stride.1 as usize) {
                let at = (row * columns + column) as usize;
                let (value, exact) = if row < written {
(double(&stored, at), stored.scalar(at))
} else {
(double(&fills, 0), fills.scalar(0))
};
                // A missing value that the variable's type cannot hold has no effect.
                let is_missing = exact == fills.scalar(0) || missing.is_some_and(|missing| match exact.unwrap() {
                    Scalar::Int(value) => value == i128::from(missing),
                    Scalar::Float(value) => value == f64::from(missing),
                });
                let scaled = scale.map_or(value, |scale| value * scale);
                let scaled = offset.map_or(scaled, |offset| scaled + offset);
                expected.push(if is_missing { f64::NAN } else { scaled });
            }
        }
        let found = v.get_unpacked::<f64>(&extents[..]).unwrap();
        prop_assert!(same(&found, &expected), "{:?}\n{:?}", found.as_slice(), expected);
        let found = v.get_unpacked::<f32>(&extents[..]).unwrap();
        let found: Vec<f64> = found.iter().map(|&value| value.into()).collect();
        let expected: Vec<f64> = expected.iter().map(|&value| f64::from(value as f32)).collect();
        prop_assert!(same(&found, &expected), "{found:?}\n{expected:?}");

        let plain = v.get::<f64>(&extents[..]).unwrap();
        let linear = v.get_linear::<f64>(&extents[..], 0.5, -1.25).unwrap();
        prop_assert_eq!(linear.shape(), plain.shape());
        let expected: Vec<f64> = plain.iter().map(|value| value * 0.5 + -1.25).collect();
        prop_assert!(same(&linear, &expected));
    }
}

#[test]
fn values_without_attributes_are_unchanged() {
    assert_eq!(unpacked(&shorts(&[1, -2, 3], &[])), [1.0, -2.0, 3.0]);
    let v = variable(NcType::Double, &[3], &[3]);
    v.put(&[-0.0, f64::INFINITY, 1e-320], ..).unwrap();
    assert!(same(&unpacked(&v), &[-0.0, f64::INFINITY, 1e-320]));
    v.put_attribute("missing_value", f64::INFINITY).unwrap();
    assert!(same(&unpacked(&v), &[-0.0, f64::NAN, 1e-320]));
}

#[test]
fn several_values_may_be_missing() {
    let missing = ("missing_value", vec![-1i16, 7].into_values());
    let v = shorts(&[7, 8, -1, 9, 0], &[missing, ("_FillValue", 9i16.into_values())]);
    assert!(same(&unpacked(&v), &[f64::NAN, 8.0, f64::NAN, f64::NAN, 0.0]));
}

#[test]
fn missing_values_of_another_type_count_if_elements_can_equal_them() {
    for (missing, expected) in [
        (1.0f64.into_values(), f64::NAN),
        (1.5f64.into_values(), 1.0),
        (65537i32.into_values(), 1.0),
        (1u64.into_values(), f64::NAN),
        (f64::NAN.into_values(), 1.0),
    ] {
        let v = shorts(&[1], &[("missing_value", missing.clone())]);
        assert!(same(&unpacked(&v), &[expected]), "{missing:?}");
    }
    let v = variable(NcType::Float, &[2], &[2]);
    v.put_attribute("missing_value", 1e20).unwrap();
    v.put(&[1e20f32, 1.0], ..).unwrap();
    assert!(same(&unpacked(&v), &[f64::NAN, 1.0]));
}

#[test]
fn integers_are_taken_as_the_attribute_says() {
    let attributes = |unsigned: &str| {
        [
            ("_Unsigned", Values::text(unsigned)),
            ("scale_factor", 0.5.into_values()),
            ("_FillValue", (-1i16).into_values()),
        ]
    };
    let v = shorts(&[-2, 4, -1], &attributes("true"));
    assert!(same(&unpacked(&v), &[32767.0, 2.0, f64::NAN]));
    let v = shorts(&[-2, 4, -1], &attributes("false"));
    assert!(same(&unpacked(&v), &[-1.0, 2.0, f64::NAN]));
    let v = shorts(&[-2], &attributes("perhaps"));
    assert_eq!(v.get_unpacked::<f32>(..).unwrap_err().kind(), ErrorKind::BadType);
    let v = variable(NcType::UByte, &[2], &[2]);
    v.put_attribute("_Unsigned", "false").unwrap();
    v.put(&[255u8, 1], ..).unwrap();
    assert_eq!(unpacked(&v), [-1.0, 1.0]);
    let float = v.get_unpacked::<f32>(1).unwrap();
    assert_eq!((float.shape(), float[0]), (&[][..], 1.0));
}

#[test]
fn invalid_packing_attributes_are_refused() {
    let kind = |v: &Variable| v.get_unpacked::<f64>(..).unwrap_err();
    for (name, value) in [
        ("scale_factor", Values::text("0.1")),
        ("scale_factor", vec![0.1, 0.2].into_values()),
        ("add_offset", Values::Double(vec![])),
        ("missing_value", Values::text("-999")),
    ] {
        let error = kind(&shorts(&[1], &[(name, value)]));
        assert_eq!(error.kind(), ErrorKind::BadType);
        assert!(error.to_string().contains(&format!("/v: attribute {name}")), "{error}");
    }
    let text = variable(NcType::Char, &[1], &[1]);
    assert_eq!(kind(&text).kind(), ErrorKind::Char);
    assert_eq!(text.get_linear::<f32>(.., 1.0, 0.0).unwrap_err().kind(), ErrorKind::Char);
    let text = variable(NcType::String, &[1], &[1]);
    assert_eq!(kind(&text).kind(), ErrorKind::Char);
    let v = shorts(&[1], &[]);
    assert_eq!(v.get_linear::<f32>(1.., 1.0, 0.0).unwrap().len(), 0);
    assert_eq!(v.get_linear::<f32>(2, 1.0, 0.0).unwrap_err().kind(), ErrorKind::InvalCoords);
    assert_eq!(v.get_linear::<f32>(.., 1e300, 0.0).unwrap_err().kind(), ErrorKind::Range);
    assert_eq!(v.get_linear::<f64>(.., 1e300, 0.0).unwrap()[0], 1e300);
}
