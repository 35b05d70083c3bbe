//! Strings of variable length, which end with the first NUL for whoever reads them: one with a NUL inside has no place in the file.

use nczarr_model::{ErrorKind, Model, NcType, Part, Result, Values};

/// The string, if all of it is read again.
///
/// # Errors
/// `NC_ECHAR` if a NUL is in it.
pub(super) fn whole(text: &[u8]) -> Result<&[u8]> {
    match text.iter().position(|&byte| byte == 0) {
        None => Ok(text),
        Some(at) => Err(ErrorKind::Char.context(format!(
            "a string of {} bytes with NUL at byte {at}, where it would end for all who read HDF5",
            text.len()
        ))),
    }
}

/// Checks all strings in values of this name.
///
/// # Errors
/// As [`whole`], with the number of the element; elements that are none of their type are not looked at.
pub(super) fn check(model: &Model, name: &str, values: &Values) -> Result<()> {
    let (ty, elements) = match values {
        Values::String(elements) => (NcType::String, elements),
        Values::Packed(id, elements) => (NcType::User(*id), elements),
        _ => return Ok(()),
    };
    for (at, element) in elements.iter().enumerate() {
        let checked = model.parts(ty, element.as_bytes(), &mut |part| match part {
            Part::String(text) => whole(text).map(drop),
            _ => Ok(()),
        });
        // What is wrong with it otherwise is the model's to say.
        match checked {
            Err(error) if error.kind() == ErrorKind::Char => return Err(error.at(format_args!("{name}[{at}]"))),
            _ => {}
        }
    }
    Ok(())
}
