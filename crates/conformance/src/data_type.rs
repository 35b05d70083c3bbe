//! [`check_data_type`]: the guarantees of a data type.

use std::collections::BTreeSet;

use nczarr_codec::{DataTypeClass, ExtensionType, ItemKind, Json};
use nczarr_model::{ErrorKind, Result};
use serde_json::json;

use crate::failure::{Outcome, broken, fails, holds, ok, same, same_bytes};
use crate::filter::{guarded, into_output, noise};

/// One data type of a class, and fill values.
pub struct DataTypeSample<'a> {
    /// The `data_type` member, with all members of its configuration.
    pub data_type: Json,
    /// Fill values that come back as they are.
    pub fills: &'a [Json],
    /// Values that are not of the type.
    pub wrong_fills: &'a [Json],
}

/// Checks a class of data types with some types.
///
/// * Types and fill values convert into JSON and back. Any other JSON is an error, never a panic.
/// * Whole items become whole elements and the other way round, each alone. Missing bytes are never invented.
/// * An element that was stored reads the same from then on.
/// * No output is overrun, and an output that is too small is an error.
///
/// # Errors
///
/// The first guarantee that does not hold.
pub fn check_data_type(class: &dyn DataTypeClass, samples: &[DataTypeSample<'_>]) -> Outcome {
    let names: BTreeSet<_> = class.names().iter().collect();
    holds("a class of data types has a name", !names.is_empty())?;
    same("its names differ", class.names().len(), names.len())?;
    for sample in samples {
        let what = sample.data_type.to_string();
        let data_type = &*ok(format!("{what} is accepted"), parse(class, &sample.data_type)?)?;
        same(format!("{what} comes back"), &sample.data_type, &guarded(&what, || data_type.to_json())?)?;
        sizes(&what, data_type)?;
        fills(&what, data_type, sample)?;
        for seed in 0..4 {
            elements(&what, data_type, seed)?;
        }
        limits(&what, data_type)?;
    }
    damaged(class, samples)
}

/// Parses a `data_type` member.
fn parse(class: &dyn DataTypeClass, member: &Json) -> Outcome<Result<std::sync::Arc<dyn ExtensionType>>> {
    let none = json!({});
    let name = member.as_str().or_else(|| member.get("name")?.as_str()).unwrap_or_default();
    holds(format!("the name of {member} is one of the class"), class.names().contains(&name))?;
    let configuration = member.get("configuration").unwrap_or(&none);
    guarded(&format!("parse of {member}"), || class.parse(name, configuration))
}

fn held(data_type: &dyn ExtensionType) -> usize {
    data_type.shown().size().unwrap_or(0)
}

fn sizes(what: &str, data_type: &dyn ExtensionType) -> Outcome {
    let (item, word) = (data_type.item(), data_type.word_size());
    holds(format!("{what}: an item has at least a byte"), item.size > 0)?;
    holds(format!("{what}: an item is described as little-endian"), !item.big_endian)?;
    holds(format!("{what}: an item consists of whole words"), word > 0 && item.size.is_multiple_of(word))?;
    // Users see numbers, characters or bytes.
    holds(format!("{what}: its netCDF type has a fixed size"), held(data_type) > 0)?;
    let is_number = matches!(item.kind, ItemKind::Int | ItemKind::UInt | ItemKind::Float);
    holds(format!("{what}: an item that is a number is one word"), !is_number || word == item.size)
}

fn fills(what: &str, data_type: &dyn ExtensionType, sample: &DataTypeSample<'_>) -> Outcome {
    let size = data_type.item().size;
    for fill in sample.fills {
        let what = format!("{what}: fill value {fill}");
        let item = ok(&what, guarded(&what, || data_type.fill_from_json(fill))?)?;
        same(format!("{what} is one item"), size, item.len())?;
        let encoded = ok(&what, guarded(&what, || data_type.fill_to_json(&item))?)?;
        same(format!("{what} comes back"), fill, &encoded)?;
        ok(format!("{what} is an element"), load(&what, data_type, &item)?)?;
    }
    let zero = ok(
        format!("{what}: zero is a fill value"),
        guarded(what, || data_type.fill_to_json(&vec![0; size]))?,
    )?;
    let item = ok(format!("{what}: zero as {zero}"), guarded(what, || data_type.fill_from_json(&zero))?)?;
    same_bytes(format!("{what}: zero comes back from {zero}"), &vec![0; size], &item)?;
    for fill in sample.wrong_fills {
        let what = format!("{what}: {fill} is no fill value");
        let found = guarded(&what, || data_type.fill_from_json(fill))?;
        fails(what, &[ErrorKind::BadType, ErrorKind::Range], found)?;
    }
    for len in [0, size - 1, size + 1, 2 * size] {
        let what = format!("{what}: fill_to_json of {len} bytes");
        fails(&what, &[ErrorKind::BadType], guarded(&what, || data_type.fill_to_json(&noise(len, 2)))?)?;
    }
    Ok(())
}

fn load(what: &str, data_type: &dyn ExtensionType, items: &[u8]) -> Outcome<Result<Vec<u8>>> {
    let count = items.len() / data_type.item().size;
    into_output(&format!("{what}: load"), count * held(data_type), |out| data_type.load(items, out))
}

/// Stores elements. Elements out of range must not stop the others.
fn save(what: &str, data_type: &dyn ExtensionType, elements: &[u8]) -> Outcome<(Vec<u8>, bool)> {
    let what = format!("{what}: save");
    let expected = elements.len() / held(data_type) * data_type.item().size;
    let mut out_of_range = false;
    let saved = into_output(&what, expected, |out| match data_type.save(elements, out) {
        Err(error) if error.kind() == ErrorKind::Range => {
            out_of_range = true;
            Ok(())
        }
        outcome => outcome,
    })?;
    let items = ok(&what, saved)?;
    same(format!("{what} stores all elements, also if some are out of range"), expected, items.len())?;
    Ok((items, out_of_range))
}

/// Checks conversions of random items and random elements.
fn elements(what: &str, data_type: &dyn ExtensionType, seed: u64) -> Outcome {
    const COUNT: usize = 300;
    let (size, held) = (data_type.item().size, held(data_type));
    let from_items = match load(what, data_type, &noise(COUNT * size, seed))? {
        Ok(elements) => {
            same(format!("{what}: load makes an element of each item"), COUNT * held, elements.len())?;
            alone(what, data_type, &noise(COUNT * size, seed), &elements)?;
            elements
        }
        // Items that are no values are damage.
        failed => {
            fails(format!("{what}: load of noise"), &[ErrorKind::Range, ErrorKind::Filter], failed)?;
            return Ok(());
        }
    };
    let (items, out_of_range) = save(what, data_type, &from_items)?;
    holds(format!("{what}: what load returns is in range"), !out_of_range)?;
    let again = ok(format!("{what}: load of saved items"), load(what, data_type, &items)?)?;
    same_bytes(format!("{what}: an element that was loaded reads the same after save"), &from_items, &again)?;
    let (items, _) = save(what, data_type, &noise(COUNT * held, seed + 100))?;
    let stored = ok(format!("{what}: load of saved noise"), load(what, data_type, &items)?)?;
    let (items, out_of_range) = save(what, data_type, &stored)?;
    holds(format!("{what}: what reads from storage is in range"), !out_of_range)?;
    let again = ok(format!("{what}: load of noise saved twice"), load(what, data_type, &items)?)?;
    same_bytes(format!("{what}: an element that was stored reads the same from then on"), &stored, &again)
}

/// Checks that each item is loaded alone.
fn alone(what: &str, data_type: &dyn ExtensionType, items: &[u8], elements: &[u8]) -> Outcome {
    let pairs = items.chunks(data_type.item().size).zip(elements.chunks(held(data_type)));
    for (item, element) in pairs.take(40) {
        let what = format!("{what}: load of the item {item:?} alone");
        same_bytes(&what, element, &ok(&what, load(&what, data_type, item)?)?)?;
    }
    Ok(())
}

/// Checks outputs that are too small, and incomplete items and elements.
fn limits(what: &str, data_type: &dyn ExtensionType) -> Outcome {
    let (size, held) = (data_type.item().size, held(data_type));
    let (items, elements) = (vec![0; 10 * size], vec![0; 10 * held]);
    for capacity in [0, held, 10 * held - 1] {
        let what = format!("{what}: load of 10 items into {capacity} bytes");
        fails(&what, &[], into_output(&what, capacity, |out| data_type.load(&items, out))?)?;
    }
    for capacity in [0, size, 10 * size - 1] {
        let what = format!("{what}: save of 10 elements into {capacity} bytes");
        fails(&what, &[], into_output(&what, capacity, |out| data_type.save(&elements, out))?)?;
    }
    let (items, elements) = (&items[..10 * size - 1], &elements[..10 * held - 1]);
    let room = 20 * size.max(held);
    let load = into_output(what, room, |out| data_type.load(items, out))?;
    let save = into_output(what, room, |out| data_type.save(elements, out))?;
    incomplete(format!("{what}: load of items"), load, 9 * held)?;
    incomplete(format!("{what}: save of elements"), save, 9 * size)
}

/// Checks the result of a conversion whose last item is incomplete.
fn incomplete(what: String, found: Result<Vec<u8>>, most: usize) -> Outcome {
    match found {
        Ok(found) if found.len() > most => {
            let what = format!("{what}, the last one incomplete");
            Err(broken(what, format!("at most {most} bytes"), found.len()))
        }
        _ => Ok(()),
    }
}

/// Checks unusual configurations and fill values.
fn damaged(class: &dyn DataTypeClass, samples: &[DataTypeSample<'_>]) -> Outcome {
    let odd =
        [json!(null), json!(-1), json!(1.5), json!(u64::MAX), json!("x"), json!([]), json!({}), json!(true)];
    let kinds = [ErrorKind::BadType, ErrorKind::NcZarr, ErrorKind::Range];
    for name in class.names() {
        let mut configurations = vec![json!({}), json!({"unknown": 1})];
        for sample in samples {
            let Some(members) = sample.data_type.get("configuration").and_then(Json::as_object) else {
                continue;
            };
            for member in members.keys() {
                configurations.extend(odd.iter().map(|value| {
                    let mut altered = members.clone();
                    altered.insert(member.clone(), value.clone());
                    Json::Object(altered)
                }));
            }
        }
        for configuration in configurations {
            let what = format!("parse of {name} with {configuration}");
            match guarded(&what, || class.parse(name, &configuration))? {
                Err(error) => fails(what, &kinds, Err::<(), _>(error))?,
                Ok(data_type) => {
                    sizes(&what, &*data_type)?;
                    for value in &odd {
                        let what = format!("{what}: fill value {value}");
                        match guarded(&what, || data_type.fill_from_json(value))? {
                            Ok(item) => same(what, data_type.item().size, item.len())?,
                            failed => fails(what, &kinds, failed)?,
                        }
                    }
                }
            }
        }
    }
    Ok(())
}
