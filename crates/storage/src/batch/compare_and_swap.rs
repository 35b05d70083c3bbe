//! The loop of a conditional update: read, change, write if the object is unchanged, else repeat.

use std::hash::{BuildHasher, Hasher, RandomState};
use std::time::Duration;

use nczarr_model::{ErrorKind, Result};

use super::read::too_long;
use crate::Key;
use crate::{Precondition, UpdateFn, WriteOutcome, ZMap, ZMapExt};

/// The number of attempts. With four writers on one key, up to half of the attempts lose.
const TRIES: u32 = 32;

/// The upper bound of the first pause. Each further bound is twice as long, up to 2^`DOUBLINGS` times.
const PAUSE: Duration = Duration::from_micros(20);
const DOUBLINGS: u32 = 10;

pub(crate) fn compare_and_swap<M: ZMap + ?Sized>(
    map: &M,
    key: &Key,
    limit: usize,
    change: &mut UpdateFn<'_>,
) -> Result<()> {
    let (mut old, mut new) = (Vec::new(), Vec::new());
    for lost in 0..TRIES {
        old.clear();
        let version = map.read_versioned(key, limit.saturating_add(1), &mut old)?;
        if old.len() > limit {
            return Err(too_long(key, limit as u64));
        }
        new.clear();
        change(version.is_some().then_some(old.as_slice()), &mut new)?;
        match map.write_if(key, &new, &Precondition::unchanged(version))? {
            WriteOutcome::Done(_) => return Ok(()),
            WriteOutcome::Conflict => std::thread::sleep(pause(lost)),
        }
    }
    Err(ErrorKind::CantWrite
        .context(format!("{key}: other writers changed it between read and write {TRIES} times")))
}

/// Returns a random pause that grows with the number of lost attempts, so that writers drift apart.
fn pause(lost: u32) -> Duration {
    let most = PAUSE * (1 << lost.min(DOUBLINGS));
    // Each `RandomState` has its own keys.
    let random = RandomState::new().build_hasher().finish();
    most.mul_f64(random as f64 / u64::MAX as f64)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn pauses_grow_and_stay_bounded() {
        assert!(pause(0) <= PAUSE);
        assert!((0..200).all(|lost| pause(lost) <= PAUSE * (1 << DOUBLINGS)));
        assert!((0..50).any(|_| pause(TRIES) > PAUSE), "pauses are random up to a growing bound");
    }
}
