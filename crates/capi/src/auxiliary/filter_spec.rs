//! Filters as text: an id and parameters joined by commas, and lists of filters joined by bars.
//!
//! The last letters of a parameter name its type: `b`, `s`, `l` for integers of 8, 16 and 64 bits, with `u`
//! before them for unsigned ones, `f` for a float and `d` for a double. Other integers have 32 bits. A
//! parameter of 64 bits is stored as its low and its high half.

use std::ffi::{c_int, c_uint, c_void};
use std::mem::offset_of;

use nczarr::{ErrorKind, Result};

use crate::boundary::memory;
use crate::boundary::pointer::{OutPtr, TargetPtr, TextPtr};

/// A filter in C: `NC_H5_Filterspec`.
#[repr(C)]
struct FilterLayout {
    id: c_uint,
    count: usize,
    params: *mut c_void,
}

const POINTER: usize = size_of::<*mut c_void>();

c_functions! {
    /// Parses a filter. The caller frees the parameters.
    fn ncaux_h5filterspec_parse(
        txt: TextPtr, idp: OutPtr<c_uint>, nparamsp: OutPtr<usize>, paramsp: OutPtr<*mut c_void>,
    ) {
        let filter = parse(text(&txt)?)?;
        idp.set(filter.id);
        nparamsp.set(filter.params.len());
        if !paramsp.is_null() {
            paramsp.set(hand_out(&filter.params)?);
        }
        Ok(())
    }

    /// Parses a list of filters, which may begin with the number of a format in brackets. The caller frees
    /// each filter with `ncaux_h5filterspec_free`, and then the vector.
    fn ncaux_h5filterspec_parselist(
        txt0: TextPtr, formatp: OutPtr<c_int>, nspecsp: OutPtr<usize>, vectorp: OutPtr<*mut c_void>,
    ) {
        let mut list = text(&txt0)?;
        let mut format = 0;
        if let Some(rest) = list.strip_prefix('[') {
            let (number, filters) = rest.split_once(']').ok_or_else(|| wrong(list))?;
            format = number.trim().parse().map_err(|_| wrong(list))?;
            list = filters;
        }
        let pieces = list.strip_suffix('|').unwrap_or(list);
        let pieces = pieces.split('|').filter(|_| !list.is_empty());
        let filters = pieces.map(parse).collect::<Result<Vec<_>>>()?;
        formatp.set(format);
        nspecsp.set(filters.len());
        if !vectorp.is_null() {
            vectorp.set(vector(&filters)?);
        }
        Ok(())
    }

    /// Parses one parameter, which takes one or two places.
    fn ncaux_h5filterspec_parse_parameter(
        txt: TextPtr, nuiparamsp: OutPtr<usize>, uiparams: OutPtr<c_uint>,
    ) {
        let params = parameter(text(&txt)?)?;
        nuiparamsp.set(params.len());
        uiparams.set_all(params);
        Ok(())
    }

    /// Frees a filter with its parameters.
    fn ncaux_h5filterspec_free(f: TargetPtr) {
        if f.is_null() {
            return Ok(());
        }
        f.with_initialised(size_of::<FilterLayout>(), |bytes| {
            let at = offset_of!(FilterLayout, params);
            memory::free_texts(&mut bytes[at..at + POINTER]);
            Ok(())
        })?;
        memory::free(f);
        Ok(())
    }

    /// Changes a parameter of 64 bits from the order of this system to that of two halves, or back.
    fn ncaux_h5filterspec_fix8(mem: TargetPtr, _decode: c_int) {
        if cfg!(target_endian = "big") && !mem.is_null() {
            return mem.with_initialised(8, |bytes| {
                bytes.rotate_left(4);
                Ok(())
            });
        }
        Ok(())
    }
}

/// A filter of a list.
#[derive(Debug, PartialEq)]
struct ParsedFilter {
    id: u32,
    params: Vec<u32>,
}

fn text(text: &TextPtr) -> Result<&str> {
    let null = || ErrorKind::Inval.context("the text of the filter is null");
    let bytes = text.bytes().ok_or_else(null)?;
    str::from_utf8(bytes).map_err(|_| ErrorKind::Inval.context("the text of the filter is not UTF-8"))
}

fn wrong(text: &str) -> nczarr::Error {
    ErrorKind::Inval.context(format!("filter {text:?} (expected id,parameter,... with numbers)"))
}

fn parse(filter: &str) -> Result<ParsedFilter> {
    let mut pieces = filter.split(',');
    let id = pieces.next().and_then(|id| id.trim().parse().ok()).ok_or_else(|| wrong(filter))?;
    let params = pieces.map(parameter).collect::<Result<Vec<_>>>()?;
    Ok(ParsedFilter { id, params: params.concat() })
}

fn parameter(parameter: &str) -> Result<Vec<u32>> {
    let text = parameter.trim();
    let number = text.trim_end_matches(|letter: char| "fdbslu".contains(letter.to_ascii_lowercase()));
    let bad = || wrong(parameter);
    let integer = || -> Result<i128> {
        number
            .parse::<i64>()
            .map(i128::from)
            .or_else(|_| number.parse::<u64>().map(i128::from))
            .map_err(|_| bad())
    };
    let real = || number.parse::<f64>().map_err(|_| bad());
    let halves = |bits: u64| vec![bits as u32, (bits >> 32) as u32];
    Ok(match text[number.len()..].to_ascii_lowercase().as_str() {
        "b" | "ub" => vec![integer()? as u32 & 0xff],
        "s" | "us" => vec![integer()? as u32 & 0xffff],
        "" if number.ends_with('.') => vec![(real()? as f32).to_bits()],
        "" | "u" => vec![integer()? as u32],
        "l" | "ul" => halves(integer()? as u64),
        "f" => vec![(real()? as f32).to_bits()],
        "d" => halves(real()?.to_bits()),
        _ => return Err(bad()),
    })
}

/// Copies parameters to memory of `malloc`.
fn hand_out(params: &[u32]) -> Result<*mut c_void> {
    memory::hand_out(&params.iter().flat_map(|param| param.to_ne_bytes()).collect::<Vec<_>>())
}

/// Copies filters to memory of `malloc`: a vector of pointers.
fn vector(filters: &[ParsedFilter]) -> Result<*mut c_void> {
    if filters.is_empty() {
        return Ok(std::ptr::null_mut());
    }
    let mut pointers = Vec::new();
    for filter in filters {
        let mut bytes = [0; size_of::<FilterLayout>()];
        let mut put = |at: usize, value: &[u8]| bytes[at..at + value.len()].copy_from_slice(value);
        put(offset_of!(FilterLayout, id), &filter.id.to_ne_bytes());
        put(offset_of!(FilterLayout, count), &filter.params.len().to_ne_bytes());
        put(offset_of!(FilterLayout, params), &hand_out(&filter.params)?.expose_provenance().to_ne_bytes());
        pointers.extend(memory::hand_out(&bytes)?.expose_provenance().to_ne_bytes());
    }
    memory::hand_out(&pointers)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn parameters_have_types() {
        let minus_one = u32::MAX;
        for (text, expected) in [
            ("17", vec![17]),
            (" -27", vec![(-27i32) as u32]),
            ("77u", vec![77]),
            ("-17b", vec![0xef]),
            ("23UB", vec![23]),
            ("-25s", vec![0xffe7]),
            ("27us", vec![27]),
            ("789f", vec![789f32.to_bits()]),
            ("2.", vec![2f32.to_bits()]),
            ("1e3f", vec![1e3f32.to_bits()]),
            ("-1L", vec![minus_one, minus_one]),
            ("18446744073709551615uL", vec![minus_one, minus_one]),
            ("4294967298l", vec![2, 1]),
            ("1d", vec![0, 0x3ff0_0000]),
        ] {
            assert_eq!(parameter(text).unwrap(), expected, "{text}");
        }
        for wrong in ["", "x", "1x", "b", "1.5", "--1", "1bb", "99999999999999999999"] {
            assert!(parameter(wrong).is_err(), "{wrong}");
        }
        assert_eq!(parse("32015, 7,1l").unwrap(), ParsedFilter { id: 32015, params: vec![7, 1, 0] });
        assert!(parse("").is_err() && parse("zstd").is_err() && parse("1,").is_err());
    }
}
