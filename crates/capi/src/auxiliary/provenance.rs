//! `ncaux_parse_provenance`: the attribute `_NCProperties` as keys and values.

use std::ffi::c_void;

use nczarr::{ErrorKind, NcString, Result};

use crate::boundary::memory::{self, Texts};
use crate::boundary::pointer::{OutPtr, TextPtr};

c_functions! {
    /// Splits text. The caller frees keys, values and their vector, which two null pointers end.
    fn ncaux_parse_provenance(ncprop: TextPtr, pairsp: OutPtr<*mut c_void>) {
        let text = ncprop.bytes().unwrap_or_default();
        if text.is_empty() {
            pairsp.set(std::ptr::null_mut());
            return Ok(());
        }
        let mut texts: Vec<_> = pairs(text)?.into_iter().flatten().map(NcString::from).collect();
        texts.extend([NcString::nil(), NcString::nil()]);
        if !pairsp.is_null() {
            pairsp.set(memory::hand_out(&Texts::copy(&texts)?.hand_out())?);
        }
        Ok(())
    }
}

/// Returns keys and values. A comma or bar separates pairs, and a backslash escapes a character.
fn pairs(text: &[u8]) -> Result<Vec<[Vec<u8>; 2]>> {
    let (mut pairs, mut pair, mut in_value) = (Vec::new(), [Vec::new(), Vec::new()], false);
    let mut bytes = text.iter().copied().chain([b',']);
    while let Some(byte) = bytes.next() {
        match byte {
            b',' | b'|' => {
                if pair[0].is_empty() {
                    return Err(ErrorKind::Inval.context("_NCProperties: a key is empty"));
                }
                pairs.push(std::mem::take(&mut pair));
                in_value = false;
            }
            b'=' if !in_value => in_value = true,
            b'\\' => pair[usize::from(in_value)].extend(bytes.next()),
            byte => pair[usize::from(in_value)].push(byte),
        }
    }
    Ok(pairs)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn text_becomes_pairs() {
        let found = pairs(b"version=2,a\\,b=x=y|empty").unwrap();
        let expected = [["version", "2"], ["a,b", "x=y"], ["empty", ""]];
        assert_eq!(found, expected.map(|pair| pair.map(|text| text.as_bytes().to_vec())));
        for wrong in ["", ",a=1", "a=1,,b=2", "=1"] {
            assert!(pairs(wrong.as_bytes()).is_err(), "{wrong}");
        }
    }
}
