//! Checks round trips of data through a filter.

use std::ops::Range;
use std::slice;
use std::thread;

use nczarr_codec::{Filter, Stage};
use nczarr_model::{ErrorKind, Result};
use nczarr_runtime::OutBuf;

use super::into_output;
use crate::failure::{Outcome, broken, fails, ok, same_bytes};

/// Checks the round trip of one run of data, with the result `expected`; returns the encoded form.
pub(crate) fn check(what: &str, filter: &dyn Filter, data: &[u8], expected: &[u8]) -> Outcome<Vec<u8>> {
    let encoded = encode(what, filter, data)?;
    for capacity in [data.len(), data.len() + 1, data.len() * 2 + 100] {
        let decoded = into_output(what, capacity, |out| filter.decode(&encoded, out))?;
        let decoded = ok(format!("{what}: decode into {capacity} bytes"), decoded)?;
        same_bytes(format!("{what}: decode of the encoded data, into {capacity} bytes"), expected, &decoded)?;
    }
    if !data.is_empty() {
        for capacity in [0, data.len() / 2, data.len() - 1] {
            let decoded = into_output(what, capacity, |out| filter.decode(&encoded, out))?;
            fails(format!("{what}: decode into {capacity} bytes, too few"), &[ErrorKind::Filter], decoded)?;
        }
    }
    for capacity in [0, encoded.len() / 2, encoded.len().saturating_sub(1)] {
        match into_output(what, capacity, |out| filter.encode(data, out))? {
            Ok(short) => {
                // Some filters find a shorter form in a smaller output.
                let decoded = into_output(what, data.len(), |out| filter.decode(&short, out))?;
                same_bytes(format!("{what}: encode into {capacity} bytes"), expected, &ok(what, decoded)?)?;
            }
            short => {
                fails(format!("{what}: encode into {capacity} bytes, too few"), &[ErrorKind::Filter], short)?
            }
        }
    }
    stage(what, filter, data, &encoded)?;
    parts(what, filter, expected, &encoded)?;
    units(what, filter, expected, &encoded)?;
    Ok(encoded)
}

/// Encodes bytes that do not fit the filter: it may fail or produce a decodable stream, but must not panic.
pub(crate) fn check_odd(what: &str, filter: &dyn Filter, data: &[u8]) -> Outcome {
    let what = format!("{what}: encode of {} bytes that may not be elements", data.len());
    let room = filter.encode_bound(data.len()).unwrap_or(data.len() * 2 + 64);
    match into_output(&what, room, |out| filter.encode(data, out))? {
        Ok(encoded) => {
            let decoded = into_output(&what, data.len(), |out| filter.decode(&encoded, out))?;
            let decoded = ok(format!("{what}: decode"), decoded)?;
            if decoded.len() == data.len() {
                Ok(())
            } else {
                Err(broken(format!("{what}: decode"), data.len(), decoded.len()))
            }
        }
        failed => fails(what, &[ErrorKind::Filter], failed),
    }
}

/// Encodes into the bound, or into growing outputs without one.
fn encode(what: &str, filter: &dyn Filter, data: &[u8]) -> Outcome<Vec<u8>> {
    if let Some(bound) = filter.encode_bound(data.len()) {
        let encoded = into_output(what, bound, |out| filter.encode(data, out))?;
        return ok(format!("{what}: encode into the bound of {bound} bytes"), encoded);
    }
    let mut capacity = data.len() + 64;
    loop {
        match into_output(what, capacity, |out| filter.encode(data, out))? {
            Err(_) if capacity < data.len() * 64 + (1 << 20) => capacity *= 2,
            encoded => return ok(format!("{what}: encode into {capacity} bytes"), encoded),
        }
    }
}

/// Checks that the engine's stage gives the same result as the filter.
fn stage(what: &str, filter: &dyn Filter, data: &[u8], encoded: &[u8]) -> Outcome {
    let expected: Vec<u8> = match filter.stage() {
        Stage::Transpose { item } if item > 0 => {
            let count = data.len() / item;
            let (whole, tail) = data.split_at(count * item);
            let byte = |at: usize| whole[at % count * item + at / count];
            (0..whole.len()).map(byte).chain(tail.iter().copied()).collect()
        }
        Stage::Swap { item } if item > 0 => {
            let mut items = data.chunks_exact(item);
            let mut swapped: Vec<_> = items.by_ref().flat_map(|item| item.iter().rev().copied()).collect();
            swapped.extend(items.remainder());
            swapped
        }
        Stage::Opaque => return Ok(()),
        stage => return Err(broken(format!("{what}: its stage"), "elements of at least a byte", stage)),
    };
    same_bytes(format!("{what}: encode matches the stage {:?}", filter.stage()), &expected, encoded)
}

/// Checks that parts decode like the whole, if the filter decodes parts.
fn parts(what: &str, filter: &dyn Filter, data: &[u8], encoded: &[u8]) -> Outcome {
    let len = data.len();
    // Starts and ends, in pairs.
    let lists: [&[(usize, usize)]; 5] = [
        &[(0, len)],
        &[(0, len / 2), (len / 2, len)],
        &[(len / 3, len / 3 + len / 5), (len - len / 7, len)],
        &[(len / 2, len / 2 + len.min(1))],
        &[],
    ];
    for list in lists {
        let wanted: Vec<Range<usize>> = list.iter().map(|&(from, to)| from..to).collect();
        let expected: Vec<u8> = wanted.iter().flat_map(|range| &data[range.clone()]).copied().collect();
        let mut able = true;
        let decoded = into_output(what, expected.len(), |out| {
            match filter.decode_ranges(encoded, len, &wanted, out) {
                Some(outcome) => outcome,
                None => {
                    able = false;
                    Ok(())
                }
            }
        })?;
        if able {
            let decoded = ok(format!("{what}: decode of {wanted:?}"), decoded)?;
            same_bytes(format!("{what}: decode of {wanted:?}"), &expected, &decoded)?;
        }
    }
    Ok(())
}

/// Checks that its units, one after another, are the whole.
fn units(what: &str, filter: &dyn Filter, data: &[u8], encoded: &[u8]) -> Outcome {
    let Some(unit) = filter.decode_unit(encoded, data.len()) else { return Ok(()) };
    if unit == 0 {
        return Err(broken(format!("{what}: its units"), "units of at least a byte", unit));
    }
    // Asks for many small units at once, as the engine does.
    let many = unit * (data.len() / 16 / unit).max(1);
    for start in (0..data.len()).step_by(many) {
        let range = start..data.len().min(start + many);
        let asked = format!("{what}: decode of {range:?}, in units of {unit} bytes");
        let decoded = into_output(what, range.len(), |out| {
            let decoded = filter.decode_ranges(encoded, data.len(), slice::from_ref(&range), out);
            decoded.unwrap_or_else(|| Err(ErrorKind::NotBuilt.context("it declines")))
        })?;
        same_bytes(asked.clone(), &data[range], &ok(asked, decoded)?)?;
    }
    Ok(())
}

/// Checks one instance, and copies of it, on several threads at once.
pub(crate) fn check_threads(what: &str, filter: Box<dyn Filter>, data: &[u8], expected: &[u8]) -> Outcome {
    let encoded_len = encode(what, &*filter, data)?.len();
    let round = |filter: &dyn Filter| -> Result<Vec<u8>> {
        let (mut encoded, mut decoded) = (vec![0; encoded_len + 1024], vec![0; data.len()]);
        let (mut out, mut back) = (OutBuf::from_slice(&mut encoded), OutBuf::from_slice(&mut decoded));
        filter.encode(data, &mut out)?;
        filter.decode(out.filled(), &mut back)?;
        Ok(back.filled().to_vec())
    };
    let copies = [filter.clone(), filter.clone()];
    let rounds: Vec<_> = thread::scope(|scope| {
        let all = [&*filter, &*filter, &*copies[0], &*copies[1]];
        let threads = all.map(|filter| scope.spawn(move || round(filter)));
        threads.into_iter().map(thread::ScopedJoinHandle::join).collect()
    });
    for outcome in rounds {
        let Ok(outcome) = outcome else {
            return Err(broken(format!("{what}: threads"), "no panic", "a panic"));
        };
        same_bytes(
            format!("{what}: decoded in threads"),
            expected,
            &ok(format!("{what}: threads"), outcome)?,
        )?;
    }
    Ok(())
}
