//! Decodes run-length coding: a count, then that many bytes, or one byte to repeat.

use nczarr_model::{ErrorKind, Result};
use nczarr_runtime::OutBuf;

/// Flag of a repeated byte.
const RUN: u8 = 0x80;
/// Shortest run, and shortest sequence of literal bytes.
const SHORTEST_RUN: usize = 3;
const SHORTEST_MIX: usize = 1;

/// Decodes until the output is full.
///
/// # Errors
/// `NC_EFILTER` if a run is longer than the rest of the output.
pub(super) fn decode(mut src: &[u8], dst: &mut OutBuf<'_>) -> Result<()> {
    while dst.remaining() > 0
        && let Some((&count, rest)) = src.split_first()
    {
        let len = usize::from(count & !RUN);
        if count & RUN == 0 {
            let len = len + SHORTEST_MIX;
            let taken = rest.split_at_checked(len);
            let (bytes, after) = taken.ok_or_else(|| short(len, rest.len()))?;
            dst.put(bytes)?;
            src = after;
        } else {
            let (&byte, after) = rest.split_first().ok_or_else(|| short(1, 0))?;
            dst.put_zeros(len + SHORTEST_RUN)?.fill(byte);
            src = after;
        }
    }
    Ok(())
}

fn short(expected: usize, found: usize) -> nczarr_model::Error {
    ErrorKind::Filter
        .context(format!("run-length coding: wrong run (expected {expected} bytes, found {found})"))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn decoded(src: &[u8], room: usize) -> Result<Vec<u8>> {
        let mut memory = vec![0; room];
        let mut out = OutBuf::from_slice(&mut memory);
        decode(src, &mut out)?;
        Ok(out.filled().to_vec())
    }

    #[test]
    fn rows_and_runs() {
        assert_eq!(decoded(&[1, 7, 8, 0x80 | 2, 5, 0, 9], 8).unwrap(), [7, 8, 5, 5, 5, 5, 5, 9]);
        // Bytes behind a full output are ignored. A stream that ends early gives a shorter output.
        assert_eq!(decoded(&[0, 7, 0, 8], 1).unwrap(), [7]);
        assert_eq!(decoded(&[0, 7], 4).unwrap(), [7]);
        for damaged in [&[3, 1][..], &[0x80], &[0xff, 1]] {
            assert_eq!(decoded(damaged, 4).unwrap_err().kind(), ErrorKind::Filter);
        }
    }
}
