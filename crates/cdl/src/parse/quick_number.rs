//! A fast path for plain decimal numbers.

use super::cursor::{CdlCursor, is_blank};
use super::values::CdlNumber;

/// Parses a plain decimal number followed by the end of its item. Skips nothing if it is anything else.
#[inline]
pub(super) fn quick<T: CdlNumber>(cursor: &mut CdlCursor<'_>) -> Option<T> {
    let rest = cursor.rest();
    let (negative, start) = match rest.first()? {
        b'-' => (true, 1),
        _ => (false, 0),
    };
    let mut value = 0i64;
    let mut at = start;
    while let Some(digit @ b'0'..=b'9') = rest.get(at) {
        if at == start + 18 {
            return None;
        }
        value = value * 10 + i64::from(digit - b'0');
        at += 1;
    }
    let ends =
        |at: usize| rest.get(at).is_none_or(|&byte| matches!(byte, b',' | b';' | b'}') || is_blank(byte));
    if at == start || (rest[start] == b'0' && at > start + 1 && ends(at)) {
        // No digits, or an octal number.
        return None;
    }
    if ends(at) && negative && value == 0 {
        // A float keeps the sign of a zero.
        cursor.seek(cursor.at() + at);
        return T::from_float("-0");
    }
    if ends(at) {
        let value = T::from_int(if negative { -value } else { value }.into())?;
        cursor.seek(cursor.at() + at);
        return Some(value);
    }
    if rest[at] == b'.' {
        // Most floats have few digits around a point.
        let (point, mut digits) = (at, value as u64);
        let mut end = at + 1;
        while let Some(digit @ b'0'..=b'9') = rest.get(end) {
            if end > start + 18 {
                break;
            }
            digits = digits * 10 + u64::from(digit - b'0');
            end += 1;
        }
        if ends(end)
            && let Some(value) = T::from_decimal(negative, digits, end - point - 1)
        {
            cursor.seek(cursor.at() + end);
            return Some(value);
        }
    }
    if !matches!(rest[at], b'.' | b'e' | b'E') {
        return None;
    }
    let end = at
        + rest[at..]
            .iter()
            .take_while(|byte| matches!(byte, b'0'..=b'9' | b'.' | b'e' | b'E' | b'-' | b'+'))
            .count();
    if !ends(end) {
        return None;
    }
    let text = std::str::from_utf8(&rest[..end]).ok()?;
    let value = T::from_float(text)?;
    cursor.seek(cursor.at() + end);
    Some(value)
}
