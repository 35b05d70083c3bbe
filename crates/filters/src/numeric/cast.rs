//! Converts values between types: [`CastRules`].

use nczarr_codec::ItemKind;
use nczarr_model::convert::Half;

use super::number::{NumberFormat, WideValue};

/// The direction of rounding.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Rounding {
    NearestEven,
    TowardsZero,
    TowardsPositive,
    TowardsNegative,
    NearestAway,
}

impl Rounding {
    /// All directions with their names; the first is the default.
    pub(super) const ALL: &[(Self, &str)] = &[
        (Self::NearestEven, "nearest-even"),
        (Self::TowardsZero, "towards-zero"),
        (Self::TowardsPositive, "towards-positive"),
        (Self::TowardsNegative, "towards-negative"),
        (Self::NearestAway, "nearest-away"),
    ];

    /// Rounds to a whole number.
    fn whole(self, value: f64) -> f64 {
        match self {
            Self::NearestEven => value.round_ties_even(),
            Self::TowardsZero => value.trunc(),
            Self::TowardsPositive => value.ceil(),
            Self::TowardsNegative => value.floor(),
            Self::NearestAway => value.round(),
        }
    }
}

/// The treatment of a value out of range.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum OutOfRange {
    Error,
    Clamp,
    Wrap,
}

impl OutOfRange {
    /// All treatments with their names; the first is the default.
    pub(super) const ALL: &[(Self, &str)] =
        &[(Self::Error, "error"), (Self::Clamp, "clamp"), (Self::Wrap, "wrap")];
}

/// The rules for one direction.
#[derive(Debug, Clone)]
pub(super) struct CastRules {
    pub(super) rounding: Rounding,
    pub(super) range: OutOfRange,
    /// Values with a fixed replacement, regardless of the rules.
    pub(super) pairs: Vec<(f64, f64)>,
}

impl CastRules {
    pub(super) fn new(rounding: Rounding, range: OutOfRange, pairs: Vec<(f64, f64)>) -> Self {
        Self { rounding, range, pairs }
    }

    /// Converts the value to the type `to`; `None` if the rules refuse it.
    pub(super) fn cast(&self, value: WideValue, to: &NumberFormat) -> Option<WideValue> {
        let is_it = |from: f64| match value {
            WideValue::Int(value) => from.fract() == 0.0 && from.abs() < 1e20 && from as i128 == value,
            WideValue::Float(value) => from == value || from.is_nan() && value.is_nan(),
        };
        if let Some((_, mapped)) = self.pairs.iter().find(|(from, _)| is_it(*from)) {
            // The replacement is already a value of the type.
            return if to.is_float() {
                to.cast(WideValue::Float(*mapped))
            } else {
                to.keep(WideValue::Float(*mapped)).filter(|kept| kept.float() == *mapped)
            };
        }
        if to.is_float() { self.float(value, to) } else { self.integer(value, to) }
    }

    fn integer(&self, value: WideValue, to: &NumberFormat) -> Option<WideValue> {
        let bits = 8 * to.item.size as u32;
        let (least, most) = match to.item.kind {
            ItemKind::UInt => (0, (1i128 << bits) - 1),
            _ => (-(1i128 << (bits - 1)), (1i128 << (bits - 1)) - 1),
        };
        let whole = match value {
            WideValue::Int(value) => value,
            WideValue::Float(value) if value.is_nan() => return None,
            WideValue::Float(value) => {
                let whole = self.rounding.whole(value);
                if whole.abs() < 1e30 {
                    whole as i128
                } else if self.range == OutOfRange::Clamp {
                    // Infinity is also out of every range, and has no remainder.
                    return Some(WideValue::Int(if whole < 0.0 { least } else { most }));
                } else if whole.is_infinite() {
                    return None;
                } else {
                    // Remainders of floats are exact.
                    (whole % (1i128 << bits) as f64) as i128
                }
            }
        };
        let is_beyond = whole < least || whole > most;
        let is_huge = matches!(value, WideValue::Float(value) if value.abs() >= 1e30);
        match self.range {
            _ if !is_beyond && !is_huge => Some(WideValue::Int(whole)),
            OutOfRange::Error => None,
            OutOfRange::Clamp => Some(WideValue::Int(whole.clamp(least, most))),
            OutOfRange::Wrap => Some(WideValue::Int((whole - least).rem_euclid(1i128 << bits) + least)),
        }
    }

    fn float(&self, value: WideValue, to: &NumberFormat) -> Option<WideValue> {
        let size = to.item.size;
        // A detour through a 64-bit float would round an integer twice.
        let near = match (value, size) {
            (WideValue::Int(value), 4) => f64::from(value as f32),
            (value, _) => to.cast(WideValue::Float(value.float()))?.float(),
        };
        let beyond = |of: f64| match value {
            WideValue::Int(value) => of.is_finite().then(|| (of as i128).cmp(&value)),
            WideValue::Float(value) => of.partial_cmp(&value),
        };
        let is_finite = !matches!(value, WideValue::Float(value) if !value.is_finite());
        if near.is_infinite() && is_finite {
            return (self.range == OutOfRange::Clamp).then_some(WideValue::Float(near));
        }
        let (above, below) = match beyond(near) {
            Some(std::cmp::Ordering::Greater) => (near, step(near, size, false)),
            Some(std::cmp::Ordering::Less) => (step(near, size, true), near),
            _ => return Some(WideValue::Float(near)),
        };
        let is_negative = near < 0.0 || near == 0.0 && value.float() < 0.0;
        let rounded = match self.rounding {
            Rounding::NearestEven => near,
            Rounding::TowardsPositive => above,
            Rounding::TowardsNegative => below,
            Rounding::TowardsZero if is_negative => above,
            Rounding::TowardsZero => below,
            Rounding::NearestAway => {
                // A value in the middle has two equally near neighbours, also among 64-bit integers.
                let (away, other) = if is_negative { (below, above) } else { (above, below) };
                let is_tie = match value {
                    WideValue::Int(value) => above as i128 - value == value - below as i128,
                    WideValue::Float(value) => above - value == value - below,
                };
                if is_tie || near == away { away } else { other }
            }
        };
        (rounded.is_finite() || self.range == OutOfRange::Clamp).then_some(WideValue::Float(rounded))
    }
}

/// Returns the next float of `size` bytes.
fn step(value: f64, size: usize, up: bool) -> f64 {
    match (size, up) {
        (2, _) => {
            let bits = Half::Binary16.of_double(value);
            let (sign, magnitude) = (bits & 0x8000, bits & 0x7fff);
            let is_away = (sign == 0) == up;
            let bits = match (magnitude, is_away) {
                (0, _) => {
                    if up {
                        1
                    } else {
                        0x8001
                    }
                }
                (_, true) => bits + 1,
                (_, false) => bits - 1,
            };
            Half::Binary16.to_single(bits).into()
        }
        (4, true) => (value as f32).next_up().into(),
        (4, false) => (value as f32).next_down().into(),
        (_, true) => value.next_up(),
        (_, false) => value.next_down(),
    }
}

#[cfg(test)]
mod tests {
    use nczarr_codec::ItemType;
    use proptest::prelude::*;

    use super::*;

    fn form(kind: ItemKind, size: usize) -> NumberFormat {
        NumberFormat::new(ItemType { kind, size, big_endian: false }).unwrap()
    }

    fn cast(
        value: WideValue,
        kind: ItemKind,
        size: usize,
        rounding: Rounding,
        range: OutOfRange,
    ) -> Option<WideValue> {
        CastRules::new(rounding, range, Vec::new()).cast(value, &form(kind, size))
    }

    /// The results of cast-value-rs.
    #[test]
    fn values_of_another_implementation() {
        use {OutOfRange as Range, Rounding as By};
        let float = WideValue::Float;
        for (value, kind, size, by, range, expected) in [
            (
                float(0.1),
                ItemKind::Float,
                4,
                By::TowardsZero,
                Range::Error,
                Some(float(f64::from(0.099999994f32))),
            ),
            (
                float(0.1),
                ItemKind::Float,
                4,
                By::TowardsPositive,
                Range::Error,
                Some(float(f64::from(0.1f32))),
            ),
            (float(1e300), ItemKind::Float, 4, By::NearestEven, Range::Error, None),
            (float(1e300), ItemKind::Float, 4, By::NearestEven, Range::Clamp, Some(float(f64::INFINITY))),
            (float(1e300), ItemKind::Float, 4, By::NearestEven, Range::Wrap, None),
            (
                WideValue::Int(70_000),
                ItemKind::Float,
                2,
                By::NearestEven,
                Range::Clamp,
                Some(float(f64::INFINITY)),
            ),
            (
                WideValue::Int(16_777_217),
                ItemKind::Float,
                4,
                By::TowardsZero,
                Range::Error,
                Some(float(16_777_216.0)),
            ),
            (float(-1e30), ItemKind::UInt, 2, By::NearestEven, Range::Wrap, Some(WideValue::Int(0))),
            (float(300.5), ItemKind::UInt, 1, By::NearestEven, Range::Wrap, Some(WideValue::Int(44))),
            (float(-1.5), ItemKind::UInt, 1, By::NearestEven, Range::Wrap, Some(WideValue::Int(254))),
            (float(255.4), ItemKind::UInt, 1, By::NearestEven, Range::Error, Some(WideValue::Int(255))),
            (float(255.5), ItemKind::UInt, 1, By::NearestEven, Range::Error, None),
            (WideValue::Int(-129), ItemKind::Int, 1, By::NearestEven, Range::Wrap, Some(WideValue::Int(127))),
            (float(f64::NAN), ItemKind::UInt, 1, By::NearestEven, Range::Clamp, None),
            (float(f64::INFINITY), ItemKind::UInt, 1, By::NearestEven, Range::Wrap, None),
            // This case follows the text of the specification.
            (
                float(f64::NEG_INFINITY),
                ItemKind::Int,
                1,
                By::NearestEven,
                Range::Clamp,
                Some(WideValue::Int(-128)),
            ),
        ] {
            assert_eq!(
                cast(value, kind, size, by, range),
                expected,
                "{value} {kind:?}{size} {by:?} {range:?}"
            );
        }
    }

    /// Finds the whole number of a rounding among all near ones, by its definition.
    fn whole(quarters: i64, rounding: Rounding) -> i64 {
        let near: Vec<i64> = (quarters / 4 - 2..=quarters / 4 + 2).collect();
        let distance = |n: &i64| (4 * n - quarters).abs();
        let best = near.iter().map(distance).min().unwrap();
        let nearest: Vec<i64> = near.iter().copied().filter(|n| distance(n) == best).collect();
        match rounding {
            Rounding::NearestEven => {
                nearest.iter().copied().find(|n| nearest.len() == 1 || n % 2 == 0).unwrap()
            }
            Rounding::NearestAway => nearest.into_iter().max_by_key(|n| n.abs()).unwrap(),
            Rounding::TowardsPositive => near.into_iter().filter(|n| 4 * n >= quarters).min().unwrap(),
            Rounding::TowardsNegative => near.into_iter().filter(|n| 4 * n <= quarters).max().unwrap(),
            Rounding::TowardsZero => near
                .into_iter()
                .filter(|n| (4 * n).abs() <= quarters.abs())
                .max_by_key(|n| n * quarters.signum())
                .unwrap(),
        }
    }

    proptest! {
        #[test]
        fn integers_agree_with_a_slow_oracle(
            quarters in -2000i64..2000, by in prop::sample::select(Rounding::ALL), range in prop::sample::select(OutOfRange::ALL),
            signed: bool,
        ) {
            let (least, most) = if signed { (-128, 127) } else { (0, 255) };
            let whole = whole(quarters, by.0);
            let expected = match range.0 {
                _ if (least..=most).contains(&whole) => Some(whole),
                OutOfRange::Error => None,
                OutOfRange::Clamp => Some(if whole < least { least } else { most }),
                // Tries all multiples of 256.
                OutOfRange::Wrap => (-20..20).map(|laps| whole + 256 * laps).find(|n| (least..=most).contains(n)),
            };
            let kind = if signed { ItemKind::Int } else { ItemKind::UInt };
            let found = cast(WideValue::Float(quarters as f64 / 4.0), kind, 1, by.0, range.0);
            prop_assert_eq!(found, expected.map(|n| WideValue::Int(n.into())));
        }

        #[test]
        fn floats_are_neighbours_on_the_right_side(bits: u64, by in prop::sample::select(Rounding::ALL)) {
            let value = f64::from_bits(bits);
            prop_assume!(value.is_finite() && value.abs() < 1e38);
            let Some(WideValue::Float(found)) = cast(WideValue::Float(value), ItemKind::Float, 4, by.0, OutOfRange::Error) else {
                return Err(TestCaseError::fail("refused"));
            };
            prop_assert_eq!(f64::from(found as f32), found);
            let (low, high) = (f64::from((found as f32).next_down()), f64::from((found as f32).next_up()));
            match by.0 {
                Rounding::TowardsPositive => prop_assert!(found >= value && low < value),
                Rounding::TowardsNegative => prop_assert!(found <= value && high > value),
                Rounding::TowardsZero => prop_assert!(found.abs() <= value.abs()),
                _ => prop_assert!((found - value).abs() <= (low - value).abs().min((high - value).abs())),
            }
        }
    }
}
