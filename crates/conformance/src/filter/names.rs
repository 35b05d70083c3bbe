//! Checks names, parameters and codec descriptions.

use std::collections::BTreeSet;

use nczarr_codec::{Filter, FilterClass, Json, ZarrFormat};

use super::{guarded, parse};
use crate::failure::{Outcome, broken, holds, ok, same};

pub(crate) fn check_class(class: &dyn FilterClass) -> Outcome {
    let info = class.info();
    holds("a filter has a name", !info.name.is_empty())?;
    holds(format!("{} has an id that is not 0, or none", info.name), info.hdf5_id != Some(0))?;
    let names: BTreeSet<_> = info.aliases.iter().chain([&info.name]).collect();
    same(format!("the names of {} differ", info.name), info.aliases.len() + 1, names.len())?;
    holds(format!("{} has a description", info.name), !info.about.is_empty())
}

/// Checks that parameters and descriptions of one instance lead to equal instances.
pub(super) fn check(class: &dyn FilterClass, params: &[u32], filter: &dyn Filter) -> Outcome {
    let what = format!("{} with {params:?}", class.info().name);
    same(format!("{what} names its class"), class.info().name, filter.info().name)?;
    same(format!("{what} has the id of its class"), class.info().hdf5_id, filter.info().hdf5_id)?;
    holds(format!("{what} can be printed"), !format!("{filter:?}").is_empty())?;
    let again = ok(format!("the parameters of {what} are accepted"), parse(class, &filter.params())?)?;
    same(format!("the parameters of {what} make the same filter"), filter.params(), again.params())?;
    for format in [ZarrFormat::V2, ZarrFormat::V3] {
        let codec = filter.to_json(format);
        same(format!("the parameters of {what} make the same codec"), &codec, &again.to_json(format))?;
        let member = match format {
            ZarrFormat::V2 => "id",
            ZarrFormat::V3 => "name",
        };
        let name = codec.get(member).and_then(Json::as_str).unwrap_or_default();
        let info = class.info();
        let is_name = match format {
            ZarrFormat::V2 => name == info.name || info.aliases.contains(&name),
            ZarrFormat::V3 => info.is_v3_name(name),
        };
        if !is_name {
            return Err(broken(format!("the {member} of {codec} finds {what}"), class.info(), name));
        }
        let read = guarded(&format!("parse_json of {codec}"), || class.parse_json(&codec, format))?;
        let read = ok(format!("{what} reads its own codec {codec}"), read)?;
        same(format!("the codec {codec} of {what} keeps the parameters"), filter.params(), read.params())?;
        same(format!("the codec of {what} comes back"), codec, read.to_json(format))?;
    }
    Ok(())
}
