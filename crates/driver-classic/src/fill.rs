//! Writes fill values: a repeated pattern of bytes.

use nczarr_chunkio::ByteStore as _;
use nczarr_model::Result;

use crate::store::FileStore;

/// The approximate size of a write, in bytes.
const BLOCK: usize = 256 << 10;

/// Returns a buffer of the repeated pattern, of at most `len` bytes.
pub(crate) fn block(pattern: &[u8], len: u64) -> Vec<u8> {
    let most = usize::try_from(len).unwrap_or(usize::MAX).min(BLOCK - BLOCK % pattern.len().max(1));
    pattern.iter().copied().cycle().take(most).collect()
}

/// Writes a repeated pattern to `len` bytes.
///
/// # Errors
/// The storage's error.
pub(crate) fn write(store: &FileStore, pattern: &[u8], offset: u64, len: u64) -> Result<()> {
    let block = block(pattern, len);
    let mut done = 0;
    while done < len {
        let part = (len - done).min(block.len() as u64);
        // At most a block.
        store.write_at(offset + done, &block[..part as usize])?;
        done += part;
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn patterns_start_at_the_first_byte_of_each_fill() {
        for (len, item) in [(0, 4), (3, 1), (5, 2), (BLOCK as u64 * 2 + 7, 8), (BLOCK as u64, 1)] {
            let pattern: Vec<u8> = (1..=item).collect();
            let store = FileStore::memory(vec![9; 3]);
            write(&store, &pattern, 3, len).unwrap();
            let mut expected = vec![9; 3];
            expected.extend(pattern.iter().copied().cycle().take(len as usize));
            assert!(store.image().unwrap() == expected, "{len} bytes of {item}");
        }
    }
}
