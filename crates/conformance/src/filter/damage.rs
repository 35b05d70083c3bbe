//! Checks damaged streams and invalid descriptions.

use std::slice;

use nczarr_codec::{Filter, FilterClass, Json, ZarrFormat};
use nczarr_model::ErrorKind;
use serde_json::json;

use super::{guarded, into_output, parse, sample};
use crate::failure::{Outcome, broken, fails};

/// Decodes damaged streams. The filter may return data or `NC_EFILTER`-like errors, but must not panic or
/// overrun.
pub(crate) fn check(what: &str, filter: &dyn Filter, data: &[u8], encoded: &[u8]) -> Outcome {
    let decode = |how: &str, stream: &[u8]| -> Outcome {
        let what = format!("{what}: decode of a stream {how}");
        let decoded = into_output(&what, data.len(), |out| filter.decode(stream, out))?;
        only_filter(&what, decoded)?;
        let wanted = 0..data.len();
        let decoded = into_output(&what, data.len(), |out| {
            filter.decode_ranges(stream, data.len(), slice::from_ref(&wanted), out).unwrap_or(Ok(()))
        })?;
        only_filter(&what, decoded)
    };
    // All positions of a short stream, some of a long one, its ends among them.
    let step = encoded.len() / 40 + 1;
    let places = (0..encoded.len()).filter(|&at| at < 24 || at + 24 > encoded.len() || at % step == 0);
    for at in places {
        decode(&format!("cut at {at}"), &encoded[..at])?;
        let mut altered = encoded.to_vec();
        for bits in [0x01, 0x80, 0xff] {
            altered[at] = encoded[at] ^ bits;
            decode(&format!("altered at {at}"), &altered)?;
        }
    }
    for len in [1, 4, 16, 17, 100, encoded.len()] {
        decode(&format!("of {len} random bytes"), &sample::noise(len, len as u64))?;
        decode(&format!("of {len} times 0xff"), &vec![0xff; len])?;
        decode(&format!("of {len} zeros"), &vec![0; len])?;
    }
    let more = [encoded, &[0; 9]].concat();
    decode("with trailing bytes", &more)
}

fn only_filter<T>(what: &str, outcome: nczarr_model::Result<T>) -> Outcome {
    match outcome {
        Ok(_) => Ok(()),
        failed => fails(what, &[ErrorKind::Filter], failed),
    }
}

/// Checks unusual parameters and descriptions.
pub(crate) fn check_class(class: &dyn FilterClass) -> Outcome {
    for count in [0, 1, 2, 3, 5, 6, 7, 8, 9, 40] {
        for value in [0, 1, 9, 10, 0x8000_0000, u32::MAX] {
            if let Ok(filter) = parse(class, &vec![value; count])? {
                guarded("params", || filter.params().len())?;
            }
        }
    }
    let name = class.info().name;
    let odd =
        [json!(null), json!(-1), json!(1.5), json!(u64::MAX), json!("x"), json!([]), json!({}), json!(true)];
    for format in [ZarrFormat::V2, ZarrFormat::V3] {
        let mut codecs = odd.to_vec();
        codecs.extend([
            json!({"id": name}),
            json!({"name": name}),
            json!({"name": name, "configuration": null}),
        ]);
        // Replaces each member of an accepted description.
        let accepted = [vec![], vec![1], vec![4]].iter().find_map(|params| parse(class, params).ok()?.ok());
        if let Some(filter) = accepted {
            let codec = filter.to_json(format);
            for value in &odd {
                codecs.extend(replaced(&codec, value));
            }
        }
        for codec in codecs {
            match guarded(&format!("parse_json of {codec}"), || class.parse_json(&codec, format))? {
                Ok(filter) => guarded("to_json", || drop(filter.to_json(format)))?,
                Err(error) if matches!(error.kind(), ErrorKind::Filter | ErrorKind::Inval) => {}
                Err(error) => {
                    return Err(broken(
                        format!("parse_json of {codec}"),
                        "a filter, NC_EFILTER or NC_EINVAL",
                        error,
                    ));
                }
            }
        }
    }
    Ok(())
}

/// Returns the description with each of its members, in turn, replaced.
fn replaced(codec: &Json, value: &Json) -> Vec<Json> {
    let Json::Object(members) = codec else { return Vec::new() };
    let mut all = Vec::new();
    for (member, inner) in members {
        let mut other = members.clone();
        other.insert(member.clone(), value.clone());
        all.push(Json::Object(other));
        for inner in replaced(inner, value) {
            let mut other = members.clone();
            other.insert(member.clone(), inner);
            all.push(Json::Object(other));
        }
    }
    all
}
