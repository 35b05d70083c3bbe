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

/// Parses a number of bytes: digits, with the suffix K, M or G in units of 1024.
pub fn bytes(text: &str) -> Option<u64> {
    let (digits, unit) = match text.strip_suffix(['K', 'M', 'G']) {
        Some(digits) => (digits, 10 * (1 + "KMG".find(&text[digits.len()..])? as u32)),
        None => (text, 0),
    };
    let plain = !digits.is_empty() && digits.bytes().all(|byte| byte.is_ascii_digit());
    let number = plain.then(|| digits.parse::<u64>().ok())??;
    number.checked_mul(1 << unit).filter(|&bytes| bytes > 0)
}
