//! Numbers of bytes in flags, such as 256M.

/// Parses a number of bytes in a flag, like [`bytes`].
///
/// # Errors
///
/// If it is not one.
pub fn size(text: &str) -> Result<u64, String> {
    bytes(text)
        .filter(|bytes| *bytes > 0)
        .ok_or_else(|| format!("{text:?} is not a number of bytes (such as 256M)"))
}

/// Parses a number of bytes: digits, with the suffix K, M or G (also KiB, MiB or GiB) in units of 1024.
pub fn bytes(text: &str) -> Option<u64> {
    let text = text.strip_suffix("iB").filter(|text| text.ends_with(['K', 'M', 'G'])).unwrap_or(text);
    let (digits, unit) = match text.strip_suffix(['K', 'M', 'G']) {
        Some(digits) => (digits, 10 * (1 + "KMG".find(&text[digits.len()..])? as u32)),
        None => (text, 0),
    };
    let plain = !digits.is_empty() && digits.bytes().all(|byte| byte.is_ascii_digit());
    let number = plain.then(|| digits.parse::<u64>().ok())??;
    number.checked_mul(1 << unit).filter(|&bytes| bytes > 0)
}

#[cfg(test)]
mod tests {
    use super::bytes;

    #[test]
    fn suffixes_multiply() {
        let sizes = [("7", 7), ("1K", 1 << 10), ("1KiB", 1 << 10), ("256M", 256 << 20), ("2GiB", 2 << 30)];
        for (text, size) in sizes {
            assert_eq!(bytes(text), Some(size), "{text}");
        }
        for wrong in ["", "0", "K", "KiB", "1iB", "1MB", "1 M", "-1", "1.5G", "1KK", "99999999999G"] {
            assert_eq!(bytes(wrong), None, "{wrong:?}");
        }
    }
}
