//! Fill values as bytes in a file: one pattern over and over.

use nczarr_chunkio::ByteStore as _;
use nczarr_model::{Result, Values};

use crate::store::Store;
use crate::write::big_endian;

/// About so much is written at once.
const BLOCK: usize = 256 << 10;

/// One fill value as it is stored.
///
/// # Errors
/// `NC_EBADTYPE` for a type without bytes of its own.
pub(crate) fn pattern(value: &Values) -> Result<Vec<u8>> {
    big_endian(value)
}

/// As many bytes of a pattern, over and over, as a buffer of a handy size holds, at most `len`.
pub(crate) fn block(pattern: &[u8], len: u64) -> Vec<u8> {
    let most = usize::try_from(len).unwrap_or(usize::MAX).min(BLOCK - BLOCK % pattern.len().max(1));
    pattern.iter().copied().cycle().take(most).collect()
}

/// Writes a pattern over and over into `len` bytes.
///
/// # Errors
/// What the storage says.
pub(crate) fn write(store: &Store, pattern: &[u8], offset: u64, len: u64) -> Result<()> {
    let block = block(pattern, len);
    let mut done = 0;
    while done < len {
        let part = (len - done).min(block.len() as u64);
        // At most a block, which is in memory.
        store.write_at(offset + done, &block[..part as usize])?;
        done += part;
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn patterns_start_anew_where_they_begin() {
        for (len, item) in [(0, 4), (3, 1), (5, 2), (BLOCK as u64 * 2 + 7, 8), (BLOCK as u64, 1)] {
            let pattern: Vec<u8> = (1..=item).collect();
            let store = Store::memory(vec![9; 3]);
            write(&store, &pattern, 3, len).unwrap();
            let mut expected = vec![9; 3];
            expected.extend(pattern.iter().copied().cycle().take(len as usize));
            assert!(store.image().unwrap() == expected, "{len} bytes of {item}");
        }
    }
}
