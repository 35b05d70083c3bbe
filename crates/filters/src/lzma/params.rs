//! The filter as HDF5 parameters: `[]`, `[preset]`, or `[format, check, preset, delta, filter …]`.
//!
//! A preset of 2^32-1 means none. A filter is its id (1 for LZMA1), a mask of its members in the order of
//! [`MEMBERS`], and their values.

use nczarr_model::{ErrorKind, Result};

use super::chain::{ChainFilter, LZMA1, MEMBERS};
use super::settings::{Lzma, LzmaFormat};

/// The parameter for no preset.
const NONE: u32 = u32::MAX;

pub(super) fn of(lzma: &Lzma) -> Vec<u32> {
    if lzma.form == LzmaFormat::Xz && lzma.check == -1 && lzma.delta == 0 && lzma.chain.is_empty() {
        return Vec::from_iter(lzma.preset);
    }
    let mut params =
        vec![lzma.form as u32, lzma.check.cast_unsigned(), lzma.preset.unwrap_or(NONE), lzma.delta];
    for link in &lzma.chain {
        params.push(if link.id == LZMA1 { 1 } else { link.id as u32 });
        let present = link.values.iter().enumerate().filter(|(_, value)| value.is_some());
        params.push(present.map(|(member, _)| 1 << member).sum());
        params.extend(link.values.iter().flatten());
    }
    params
}

pub(super) fn parse(params: &[u32]) -> Result<Lzma> {
    let wrong = |what: &str| ErrorKind::Inval.context(format!("lzma: expected {what}, found {params:?}"));
    let (form, check, preset, delta, mut rest) = match *params {
        [] => (LzmaFormat::Xz, -1, NONE, 0, &[][..]),
        [preset] => (LzmaFormat::Xz, -1, preset, 0, &[][..]),
        [form, check, preset, delta, ref rest @ ..] => {
            let form = LzmaFormat::ALL.into_iter().find(|known| *known as u32 == form);
            (form.ok_or_else(|| wrong("a format of 1 to 3"))?, check.cast_signed(), preset, delta, rest)
        }
        _ => return Err(wrong("a preset, or at least four parameters")),
    };
    if ![-1, 0, 1, 4, 10].contains(&check) {
        return Err(wrong("a check of -1, 0, 1, 4 or 10"));
    }
    let preset = (preset != NONE).then_some(preset);
    // The highest bit asks for more effort.
    if preset.is_some_and(|preset| preset & !(1 << 31) > 9) {
        return Err(wrong("a preset of 0 to 9"));
    }
    let mut chain = Vec::new();
    while let [id, present, values @ ..] = rest {
        let mut link = ChainFilter::new(if *id == 1 { LZMA1 } else { u64::from(*id) });
        rest = values;
        for (member, value) in link.values.iter_mut().enumerate() {
            if present >> member & 1 == 1 {
                let (first, others) =
                    rest.split_first().ok_or_else(|| wrong("a value for each given member"))?;
                (*value, rest) = (Some(*first), others);
            }
        }
        if !link.is_known() || present >> MEMBERS.len() != 0 {
            return Err(wrong("known filters with valid members"));
        }
        chain.push(link);
    }
    if !rest.is_empty() {
        return Err(wrong("a mask for each filter"));
    }
    if form == LzmaFormat::Raw && chain.is_empty() {
        return Err(wrong("filters, which format 3 cannot be read without"));
    }
    if delta > 256 || delta > 0 && (form != LzmaFormat::Xz || !chain.is_empty()) {
        return Err(wrong("a delta of at most 256 bytes, without filters"));
    }
    Ok(Lzma { form, check, preset, delta, chain })
}
