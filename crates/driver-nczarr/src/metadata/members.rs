//! Reads members of documents that are lists of sizes, and makes errors about members.

use nczarr_model::{Error, ErrorKind, Result};
use nczarr_storage::Key;

use crate::metadata::json::{ObjectMembers, Value, text};

/// Returns the error for an invalid member of a document.
pub(crate) fn bad_member(name: &str, expected: &str, found: Option<&Value<'_>>) -> Error {
    let found = match found {
        None => "nothing".to_owned(),
        Some(value @ (Value::Array(_) | Value::Object(_))) => value.kind().to_owned(),
        Some(value) => {
            let mut found = text(value);
            if let Some((cut, _)) = found.char_indices().nth(60) {
                found.truncate(cut);
                found.push('…');
            }
            found
        }
    };
    ErrorKind::NcZarr.context(format!("member \"{name}\": expected {expected}, found {found}"))
}

/// Reads a member that is a list of sizes.
///
/// # Errors
/// `NC_ENCZARR` for another value, `NC_EMAXDIMS` for too many sizes.
pub(crate) fn sizes(raw: &ObjectMembers<'_>, name: &str, rank_limit: usize) -> Result<Vec<u64>> {
    let expected = "a list of sizes from 0 to 2^64-1";
    let value = raw.get(name).ok_or_else(|| bad_member(name, expected, None))?;
    let items = value.as_array().ok_or_else(|| bad_member(name, expected, Some(value)))?;
    if items.len() > rank_limit {
        return Err(ErrorKind::MaxDims.context(format!(
            "member \"{name}\": too many entries (expected at most {rank_limit}, found {})",
            items.len()
        )));
    }
    let mut sizes = Vec::with_capacity(items.len());
    for item in items {
        sizes.push(item.as_u64().ok_or_else(|| bad_member(name, expected, Some(item)))?);
    }
    Ok(sizes)
}

/// Adds the key of a node's document to an error.
pub(crate) fn at_document(error: Error, node: &Key, name: &str) -> Error {
    match node.join(name) {
        Ok(key) => error.in_key(&key).at(key),
        Err(_) => error.in_key(name).at(name),
    }
}

/// Records the first problem.
pub(crate) fn note_problem(problem: &mut Option<Error>, error: Error) {
    problem.get_or_insert(error);
}
