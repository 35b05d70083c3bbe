//! Conversion of every type to every other at every boundary, against exact arithmetic.

use std::mem::MaybeUninit;

use nczarr_model::{ErrorKind, NcString, NcType, Scalar, TypeId, Values, convert};
use proptest::prelude::*;

const NUMBERS: [NcType; 10] = [
    NcType::Byte,
    NcType::Short,
    NcType::Int,
    NcType::Float,
    NcType::Double,
    NcType::UByte,
    NcType::UShort,
    NcType::UInt,
    NcType::Int64,
    NcType::UInt64,
];

/// Returns the least and the greatest value of an integer type.
fn range(ty: NcType) -> (i128, i128) {
    match ty {
        NcType::Byte => (i8::MIN.into(), i8::MAX.into()),
        NcType::Short => (i16::MIN.into(), i16::MAX.into()),
        NcType::Int => (i32::MIN.into(), i32::MAX.into()),
        NcType::Int64 => (i64::MIN.into(), i64::MAX.into()),
        NcType::UByte => (0, u8::MAX.into()),
        NcType::UShort => (0, u16::MAX.into()),
        NcType::UInt => (0, u32::MAX.into()),
        NcType::UInt64 => (0, u64::MAX.into()),
        _ => panic!("{ty:?} is no integer type"),
    }
}

/// Returns one value of type `ty` from an exact number. Integers keep the low bits.
fn one(ty: NcType, value: Scalar) -> Values {
    match (ty, value) {
        (NcType::Byte, Scalar::Int(v)) => Values::Byte(vec![v as i8]),
        (NcType::Short, Scalar::Int(v)) => Values::Short(vec![v as i16]),
        (NcType::Int, Scalar::Int(v)) => Values::Int(vec![v as i32]),
        (NcType::Int64, Scalar::Int(v)) => Values::Int64(vec![v as i64]),
        (NcType::UByte, Scalar::Int(v)) => Values::UByte(vec![v as u8]),
        (NcType::UShort, Scalar::Int(v)) => Values::UShort(vec![v as u16]),
        (NcType::UInt, Scalar::Int(v)) => Values::UInt(vec![v as u32]),
        (NcType::UInt64, Scalar::Int(v)) => Values::UInt64(vec![v as u64]),
        (NcType::Float, Scalar::Float(v)) => Values::Float(vec![v as f32]),
        (NcType::Double, Scalar::Float(v)) => Values::Double(vec![v]),
        (NcType::Float, Scalar::Int(v)) => Values::Float(vec![v as f32]),
        (NcType::Double, Scalar::Int(v)) => Values::Double(vec![v as f64]),
        _ => panic!("{value:?} is no {ty:?}"),
    }
}

/// Converts the value by exact arithmetic, case by case, and reports whether it was out of range.
fn oracle(value: Scalar, to: NcType) -> (Values, bool) {
    match (value, to) {
        (Scalar::Int(_), NcType::Float | NcType::Double) | (Scalar::Float(_), NcType::Double) => {
            (one(to, value), false)
        }
        (Scalar::Float(v), NcType::Float) => {
            (one(to, value), v.is_finite() && (v > f64::from(f32::MAX) || v < f64::from(f32::MIN)))
        }
        (Scalar::Int(v), _) => {
            let (low, high) = range(to);
            (one(to, value), v < low || v > high)
        }
        (Scalar::Float(v), _) if v.is_nan() => (one(to, Scalar::Int(0)), true),
        (Scalar::Float(v), _) => {
            let (low, high) = range(to);
            // The cast may saturate beyond 2^100. Such values are out of every range.
            let whole = v.trunc() as i128;
            let rest = v - v.trunc();
            let out =
                whole > high || whole < low || (whole == high && rest > 0.0) || (whole == low && rest < 0.0);
            let top = if to == NcType::UInt64 { u64::MAX.into() } else { i64::MAX.into() };
            (one(to, Scalar::Int(whole.clamp(i64::MIN.into(), top))), out)
        }
    }
}

/// Returns every type's boundaries that type `ty` can hold, and their neighbours.
fn boundaries(ty: NcType) -> Vec<Scalar> {
    let integers = NUMBERS.into_iter().filter(|ty| ty.is_integer()).flat_map(|ty| {
        let (low, high) = range(ty);
        [low - 1, low, low + 1, -1, 0, 1, high - 1, high, high + 1]
    });
    if ty.is_integer() {
        let (low, high) = range(ty);
        return integers.filter(|v| (low..=high).contains(v)).map(Scalar::Int).collect();
    }
    let mut floats = vec![
        f64::NAN,
        -f64::NAN,
        f64::INFINITY,
        f64::NEG_INFINITY,
        -0.0,
        0.4999,
        -0.4999,
        f64::MAX,
        f64::MIN,
        f64::MIN_POSITIVE,
        f64::from_bits(1),
        f64::from(f32::MIN_POSITIVE),
        f64::from(f32::from_bits(1)),
        1e18,
        1e19,
        -1e19,
        1e20,
        1e30,
        -1e30,
        f64::from(f32::MAX) * 2.0,
    ];
    for near in integers.map(|v| v as f64).chain([f32::MAX.into(), f32::MIN.into()]) {
        floats.extend([near, near.next_up(), near.next_down(), near + 0.5, near - 0.5]);
        let near = near as f32;
        floats.extend([near, near.next_up(), near.next_down()].map(f64::from));
    }
    if ty == NcType::Float {
        floats.retain(|v| f64::from(*v as f32).to_bits() == v.to_bits());
    }
    floats.into_iter().map(Scalar::Float).collect()
}

/// Runs a row over unaligned memory, twice over different garbage. A byte that the row skips shows as a
/// difference.
fn run(row: convert::Row, src: &[u8], dst_len: usize) -> (Vec<u8>, bool) {
    let mut shifted = vec![0];
    shifted.extend(src);
    let mut results = [0x00, 0xff].map(|garbage| {
        let mut dst = vec![MaybeUninit::new(garbage); dst_len + 1];
        let flag = row(&shifted[1..], &mut dst[1..]);
        // SAFETY: the memory was initialised when it was created.
        let bytes: Vec<u8> = dst[1..].iter().map(|byte| unsafe { byte.assume_init() }).collect();
        (bytes, flag)
    });
    assert_eq!(results[0], results[1], "part of the destination is not written");
    std::mem::take(&mut results[0])
}

fn swapped(bytes: &[u8], size: usize) -> Vec<u8> {
    bytes.chunks(size).flat_map(|item| item.iter().rev().copied()).collect()
}

/// Converts `values` by all rows and by `convert_values`, and compares each element with the oracle.
fn check(from: NcType, to: NcType, values: &[Scalar]) {
    let mut src = Vec::new();
    let mut expected = Vec::new();
    let mut flag = false;
    for value in values {
        let item = one(from, *value);
        let (converted, out) =
            if from == to { (item.clone(), false) } else { oracle(item.scalar(0).unwrap(), to) };
        src.extend(item.to_native_bytes().unwrap());
        expected.extend(converted.to_native_bytes().unwrap());
        flag |= out;
    }
    let (from_size, to_size) = (from.size().unwrap(), to.size().unwrap());
    let (src_swapped, expected_swapped) = (swapped(&src, from_size), swapped(&expected, to_size));
    let bits = |bytes: &[u8]| Values::from_native_bytes(to, bytes).unwrap();
    for (what, row, src, expected) in [
        ("read", convert::read_row(from, to, false), &src, &expected),
        ("read swapped", convert::read_row(from, to, true), &src_swapped, &expected),
        ("write", convert::write_row(from, to, false), &src, &expected),
        ("write swapped", convert::write_row(from, to, true), &src, &expected_swapped),
    ] {
        let (found, out) = run(row.unwrap(), src, expected.len());
        assert_eq!(bits(&found), bits(expected), "{what} {from:?} to {to:?}: {values:?}");
        assert_eq!(out, flag, "{what} {from:?} to {to:?}: {values:?}");
    }
    let mut found = vec![0; expected.len()];
    let out = convert::native_row(from, to).unwrap()(&src, &mut found);
    assert_eq!((bits(&found), out), (bits(&expected), flag), "native {from:?} to {to:?}: {values:?}");
    let (found, out) = convert::convert_values(&Values::from_native_bytes(from, &src).unwrap(), to).unwrap();
    assert_eq!((found, out), (bits(&expected), flag), "{from:?} to {to:?}: {values:?}");
}

#[test]
fn every_boundary_of_every_pair() {
    for from in NUMBERS {
        let values = boundaries(from);
        for to in NUMBERS {
            for value in &values {
                check(from, to, &[*value]);
            }
            check(from, to, &values);
            check(from, to, &[]);
        }
    }
}

#[test]
fn one_bad_value_is_found_at_any_place_of_a_long_row() {
    for (bad, at) in [(0, 0), (5, 1023), (7, 1024), (9, 2999)] {
        let mut values = vec![Scalar::Float(7.75); 3000];
        values[at] = Scalar::Float(1e10 + f64::from(bad));
        for to in [NcType::Byte, NcType::Int, NcType::UInt, NcType::Float] {
            check(NcType::Double, to, &values);
        }
    }
}

/// The possible conversions: `.` works, `c` gives NC_ECHAR, `t` gives NC_EBADTYPE. Rows and columns are in
/// the order of the type numbers.
#[test]
fn the_table_of_all_types() {
    let user = NcType::User(TypeId(3));
    let types: Vec<NcType> = NcType::ATOMIC.into_iter().chain([user, NcType::User(TypeId(4))]).collect();
    let table = [
        ".c.........ctt",  // byte
        "c.ccccccccc ctt", // char
        ".c.........ctt",
        ".c.........ctt",
        ".c.........ctt",
        ".c.........ctt",
        ".c.........ctt",
        ".c.........ctt",
        ".c.........ctt",
        ".c.........ctt",
        ".c.........ctt",
        "ccccccccccc.tt", // string
        "tttttttttttt.t",
        "ttttttttttttt.",
    ];
    for (from, row) in types.iter().zip(table) {
        let row = row.replace(' ', "");
        assert_eq!(row.len(), types.len());
        for (to, expected) in types.iter().zip(row.chars()) {
            let expected = match expected {
                '.' => None,
                'c' => Some(ErrorKind::Char),
                _ => Some(ErrorKind::BadType),
            };
            assert_eq!(
                convert::check(*from, *to).err().map(|error| error.kind()),
                expected,
                "{from:?} to {to:?}"
            );
            let values = Values::empty(*from).unwrap();
            let converted = convert::convert_values(&values, *to);
            assert_eq!(converted.as_ref().err().map(|error| error.kind()), expected, "{from:?} to {to:?}");
            if let Ok((converted, _)) = converted {
                assert_eq!(converted, Values::empty(*to).unwrap());
            }
            let is_row = expected.is_none() && from.size().is_some();
            for swap in [false, true] {
                assert_eq!(convert::read_row(*from, *to, swap).is_ok(), is_row, "{from:?} to {to:?}");
                assert_eq!(convert::write_row(*from, *to, swap).is_ok(), is_row, "{from:?} to {to:?}");
            }
        }
    }
}

#[test]
fn text_is_not_converted() {
    for values in [
        Values::text("abc"),
        Values::String(vec![NcString::from("a"), NcString::new()]),
        Values::User(TypeId(1), vec![1, 2]),
    ] {
        assert_eq!(convert::convert_values(&values, values.nc_type()).unwrap(), (values.clone(), false));
    }
    let row = convert::read_row(NcType::Char, NcType::Char, true).unwrap();
    assert_eq!(run(row, b"abc", 3), (b"abc".to_vec(), false));
}

#[test]
fn no_bit_of_a_nan_changes_between_equal_types() {
    for bits in [0x7ff0_0000_0000_0001u64, 0xfff8_0000_dead_beef] {
        let row = convert::read_row(NcType::Double, NcType::Double, false).unwrap();
        assert_eq!(run(row, &bits.to_ne_bytes(), 8).0, bits.to_ne_bytes());
        let row = convert::write_row(NcType::Double, NcType::Double, true).unwrap();
        assert_eq!(run(row, &bits.to_ne_bytes(), 8).0, bits.swap_bytes().to_ne_bytes());
    }
}

#[test]
fn sides_of_different_length_do_not_panic() {
    for (from, to) in
        [(NcType::Int, NcType::Double), (NcType::Int, NcType::Int), (NcType::Char, NcType::Char)]
    {
        for swap in [false, true] {
            let row = convert::read_row(from, to, swap).unwrap();
            for (src, dst) in [(0, 9), (9, 0), (4, 100), (100, 4), (7, 7)] {
                let mut out = vec![MaybeUninit::new(0u8); dst];
                assert!(!row(&vec![1; src], &mut out));
            }
        }
    }
}

proptest! {
    #[test]
    fn any_bits_of_any_pair(bits in prop::collection::vec(any::<u64>(), 0..70), shift in 0u32..64, from in 0usize..10, to in 0usize..10) {
        let from = NUMBERS[from];
        let values: Vec<Scalar> = bits
            .iter()
            .map(|bits| match from {
                NcType::Float => Scalar::Float(f32::from_bits(*bits as u32).into()),
                NcType::Double => Scalar::Float(f64::from_bits(*bits)),
                // Small numbers are as frequent as large ones.
                _ => one(from, Scalar::Int((*bits as i64 >> shift).into())).scalar(0).unwrap(),
            })
            .filter(|value| !matches!(value, Scalar::Float(v) if v.is_nan()))
            .collect();
        check(from, NUMBERS[to], &values);
    }

    #[test]
    fn any_double_near_the_integers(values in prop::collection::vec(-70000.0f64..70000.0, 0..2000), to in 0usize..10) {
        let values: Vec<Scalar> = values.into_iter().map(Scalar::Float).collect();
        check(NcType::Double, NUMBERS[to], &values);
    }
}
