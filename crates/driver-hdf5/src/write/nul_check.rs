//! Refuses strings with a NUL inside. HDF5 readers end a string at its first NUL, so the rest would be lost.

use nczarr_model::{ErrorKind, Model, NcType, PackedPart, Result, Values};

/// Returns the string if it has no NUL.
///
/// # Errors
/// `NC_ECHAR` if it has one.
pub(super) fn whole(text: &[u8]) -> Result<&[u8]> {
    match text.iter().position(|&byte| byte == 0) {
        None => Ok(text),
        Some(at) => Err(ErrorKind::Char.context(format!(
            "a string of {} bytes has a NUL at byte {at}; HDF5 readers would end it there",
            text.len()
        ))),
    }
}

/// Checks all strings in an attribute or fill value called `name`.
///
/// # Errors
/// As [`whole`], with the number of the element. Elements that do not match their type are skipped.
pub(super) fn check(model: &Model, name: &str, values: &Values) -> Result<()> {
    let (ty, elements) = match values {
        Values::String(elements) => (NcType::String, elements),
        Values::Packed(id, elements) => (NcType::User(*id), elements),
        _ => return Ok(()),
    };
    for (at, element) in elements.iter().enumerate() {
        let checked = model.parts(ty, element.as_bytes(), &mut |part| match part {
            PackedPart::String(text) => whole(text).map(drop),
            _ => Ok(()),
        });
        // The model reports any other problem.
        match checked {
            Err(error) if error.kind() == ErrorKind::Char => {
                return Err(error.at(format_args!("{name}[{at}]")));
            }
            _ => {}
        }
    }
    Ok(())
}
