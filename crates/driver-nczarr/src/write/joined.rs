//! Checks of documents that several processes store for the same node (`Options::collective`).
//!
//! `merge` would let the last writer win. Here a definition that differs from the stored one is an error.
//! Lengths of unlimited dimensions and attributes may differ.

use nczarr_codec::ZarrFormat;
use nczarr_dispatch::Limits;
use nczarr_model::{Error, ErrorKind, Result};

use super::length_merge::LengthMerge;
use super::merge::MergeKind;
use super::merge_lists::{declared, group};
use super::merge_v3::EMPTY_BASE;
use crate::metadata::json::{self, Json, Object};
use crate::metadata::v3;
use crate::metadata::v3::document::CONSOLIDATED;

const ATTRIBUTES: &str = "attributes";
const SHAPE: &str = "shape";

/// Checks that the definitions in `ours` that `base` lacks agree with the stored document `old`.
///
/// # Errors
/// `NC_ENAMEINUSE` with the member that differs. `NC_ENCZARR` if a document cannot be parsed.
pub(crate) fn check(
    merge: &LengthMerge,
    kind: MergeKind,
    format: ZarrFormat,
    [ours, base]: [&str; 2],
    old: &[u8],
    limits: &Limits,
) -> Result<()> {
    if old == ours.as_bytes() || base != EMPTY_BASE && old == base.as_bytes() {
        return Ok(());
    }
    let old = json::parse(old, limits)?;
    let (ours, known) = (json::parse(ours.as_bytes(), limits)?, json::parse(base.as_bytes(), limits)?);
    if base == EMPTY_BASE
        && kind != MergeKind::Attrs
        && let (Some(ours), Some(old)) = (ours.as_object(), old.as_object())
    {
        check_members(merge, ours, old)?;
    }
    let group = |document: &Json| -> Result<Json> {
        Ok(match format {
            ZarrFormat::V3 => v3::keys::group_attributes(document)?.unwrap_or(Json::Null),
            ZarrFormat::V2 => document.clone(),
        })
    };
    check_dimensions(&group(&ours)?, &group(&known)?, &group(&old)?)
}

fn different(what: &str, ours: Option<&Json>, old: Option<&Json>) -> Error {
    let text = |value: Option<&Json>| value.map_or_else(|| "nothing".to_owned(), json::text);
    ErrorKind::NameInUse.context(format!(
        "{what}: another process defined it differently (expected {}, found {}); define the same in every process",
        text(ours),
        text(old)
    ))
}

/// Compares the members of two documents, except lengths along unlimited dimensions.
fn check_members(merge: &LengthMerge, ours: &Object, old: &Object) -> Result<()> {
    for (name, value) in ours.iter().filter(|(name, _)| ![ATTRIBUTES, SHAPE, CONSOLIDATED].contains(name)) {
        if old.get(name) != Some(value) {
            return Err(different(name, Some(value), old.get(name)));
        }
    }
    let lens = |document: &Object| document.get(SHAPE).and_then(Json::as_array).map(<[Json]>::to_vec);
    let (our_lens, old_lens) = (lens(ours).unwrap_or_default(), lens(old).unwrap_or_default());
    let is_unlimited = |at: usize| match merge {
        LengthMerge::Shape(dims) => dims.get(at).is_some_and(Option::is_some),
        _ => false,
    };
    let fixed = |lens: &[Json]| -> Vec<Json> {
        let lens = lens.iter().enumerate();
        lens.map(|(at, len)| if is_unlimited(at) { Json::Null } else { len.clone() }).collect()
    };
    if fixed(&our_lens) == fixed(&old_lens) {
        Ok(())
    } else {
        Err(different(SHAPE, ours.get(SHAPE), old.get(SHAPE)))
    }
}

/// Compares the dimensions that two processes added to a group.
fn check_dimensions(ours: &Json, base: &Json, old: &Json) -> Result<()> {
    let dims = |document| group(document).and_then(declared);
    let (Some(ours), Some(old)) = (dims(ours), dims(old)) else { return Ok(()) };
    for (name, ours) in
        ours.iter().filter(|(name, _)| !dims(base).is_some_and(|base| base.contains_key(name)))
    {
        if let Some(old) = old.get(name)
            && length(ours) != length(old)
        {
            return Err(different(&format!("dimension {name:?}"), Some(ours), Some(old)));
        }
    }
    Ok(())
}

/// Returns the length of a dimension in a list; `None` if it is unlimited.
fn length(declared: &Json) -> Option<u64> {
    let Some(members) = declared.as_object() else { return declared.as_u64() };
    let is_unlimited = members.get("unlimited").and_then(Json::as_u64).is_some_and(|flag| flag != 0);
    members.get("size").and_then(Json::as_u64).filter(|_| !is_unlimited)
}

#[cfg(test)]
mod tests {
    use nczarr_model::DimId;

    use super::*;

    #[test]
    fn only_lengths_and_attributes_may_differ() {
        let array = |shape: &str, chunk: u32| {
            format!("{{\"shape\":[{shape}],\"chunks\":[{chunk},5],\"attributes\":{{\"a\":\"{shape}\"}}}}")
        };
        let merge = LengthMerge::shape(vec![Some(DimId(0)), None]);
        let same = |ours: &str, old: &str, base: &str| {
            let kind = MergeKind::SingleDocument;
            let outcome =
                check(&merge, kind, ZarrFormat::V2, [ours, base], old.as_bytes(), &Limits::default());
            outcome.map_err(|error| error.kind())
        };
        let ours = array("3,5", 2);
        assert_eq!(same(&ours, &array("7,5", 2), EMPTY_BASE), Ok(()));
        assert_eq!(same(&ours, &array("3,6", 2), EMPTY_BASE), Err(ErrorKind::NameInUse));
        assert_eq!(same(&ours, &array("3,5", 1), EMPTY_BASE), Err(ErrorKind::NameInUse));
        assert_eq!(same(&ours, "{}", EMPTY_BASE), Err(ErrorKind::NameInUse));
        // A document that this process stored before is changed as usual.
        assert_eq!(same(&ours, &array("3,5", 1), &array("3,5", 4)), Ok(()));
        let group = |dims: &str| format!("{{\"_nczarr_group\":{{\"dimensions\":{{{dims}}}}}}}");
        let ours = group("\"x\":3,\"t\":{\"size\":4,\"unlimited\":1}");
        for (old, outcome) in [
            ("\"x\":3,\"t\":{\"size\":9,\"unlimited\":1}", Ok(())),
            ("\"x\":{\"size\":3,\"unlimited\":0},\"z\":5", Ok(())),
            ("\"x\":4", Err(ErrorKind::NameInUse)),
            ("\"t\":4", Err(ErrorKind::NameInUse)),
        ] {
            assert_eq!(same(&ours, &group(old), &group("\"u\":1")), outcome, "{old}");
        }
    }
}
