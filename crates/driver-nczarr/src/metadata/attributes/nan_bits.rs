//! NaNs with unusual bits: `_nczarr_attr` keeps their bits in the member `nan`.
//!
//! JSON has only `"NaN"`. `{"types": {"a": "<f4"}, "nan": {"a": ["ffc00000"]}}` gives the bits of each NaN of
//! an attribute in order. Readers that do not know the member still read NaN.

use nczarr_model::Values;

use crate::metadata::json::{Json, Value};

/// Returns the bits of the NaNs in `values`, in order; `None` if all are the usual NaN.
pub(crate) fn bits(values: &Values) -> Option<Json> {
    let bits: Vec<String> = match values {
        Values::Float(v) => v.iter().filter(|v| v.is_nan()).map(|v| format!("{:08x}", v.to_bits())).collect(),
        Values::Double(v) => {
            v.iter().filter(|v| v.is_nan()).map(|v| format!("{:016x}", v.to_bits())).collect()
        }
        _ => return None,
    };
    let usual = [format!("{:08x}", f32::NAN.to_bits()), format!("{:016x}", f64::NAN.to_bits())];
    let unusual = bits.iter().any(|bits| !usual.contains(bits));
    unusual.then(|| Json::Array(bits.into_iter().map(Json::string).collect()))
}

/// Returns `values` with their recorded NaN bits. Records that do not fit change nothing.
pub(crate) fn restore(mut values: Values, bits: Option<&Value<'_>>) -> Values {
    let Some(bits) = bits.and_then(Value::as_array) else { return values };
    let mut bits = bits.iter().map(|bits| bits.as_str());
    match &mut values {
        Values::Float(v) => {
            for value in v.iter_mut().filter(|value| value.is_nan()) {
                let kept = bits.next().flatten().and_then(|bits| u32::from_str_radix(bits, 16).ok());
                *value = kept.map(f32::from_bits).filter(|kept| kept.is_nan()).unwrap_or(*value);
            }
        }
        Values::Double(v) => {
            for value in v.iter_mut().filter(|value| value.is_nan()) {
                let kept = bits.next().flatten().and_then(|bits| u64::from_str_radix(bits, 16).ok());
                *value = kept.map(f64::from_bits).filter(|kept| kept.is_nan()).unwrap_or(*value);
            }
        }
        _ => {}
    }
    values
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::metadata::json::{parse, text};

    #[test]
    fn only_nan_bits_without_a_json_form_are_kept() {
        let odd = f32::from_bits(0xffc0_0001);
        for (values, expected) in [
            (Values::Float(vec![1.0, f32::NAN, f32::INFINITY]), None),
            (Values::Double(vec![f64::NAN]), None),
            (Values::Int(vec![1]), None),
            (Values::Float(vec![odd, 2.0, f32::NAN]), Some("[\"ffc00001\",\"7fc00000\"]")),
            (Values::Double(vec![-f64::NAN]), Some("[\"fff8000000000000\"]")),
        ] {
            let kept = bits(&values);
            assert_eq!(kept.as_ref().map(text).as_deref(), expected);
            let plain = match &values {
                Values::Float(v) => {
                    Values::Float(v.iter().map(|v| if v.is_nan() { f32::NAN } else { *v }).collect())
                }
                Values::Double(v) => {
                    Values::Double(v.iter().map(|v| if v.is_nan() { f64::NAN } else { *v }).collect())
                }
                other => other.clone(),
            };
            assert_eq!(restore(plain, kept.as_ref()), values);
        }
    }

    #[test]
    fn invalid_nan_bits_change_nothing() {
        let values = Values::Float(vec![f32::NAN, 1.0, f32::NAN]);
        for kept in
            ["[]", "[\"3f800000\"]", "[\"xyz\",7]", "{}", "[\"7fc00000\",\"fffffffffffffffff\"]", "null"]
        {
            let kept = parse(kept.as_bytes(), &nczarr_dispatch::Limits::default()).unwrap();
            assert_eq!(restore(values.clone(), Some(&kept)), values, "{kept:?}");
        }
    }
}
