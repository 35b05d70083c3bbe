//! Checks threads: readers see atomic replacements, and conditional writes lose no update.

use std::sync::Mutex;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::thread;

use nczarr_model::{ErrorKind, Result};
use nczarr_runtime::OutBuf;
use nczarr_storage::{ByteRange, Key, Precondition, WriteOutcome, ZMap, ZMapExt};

use super::{MapMaker, key};
use crate::failure::{Outcome, broken, ok, same};

const WRITERS: u64 = 4;

pub(super) fn check(make: MapMaker<'_>) -> Outcome {
    let caps = make().caps();
    if caps.overwrite {
        replacing(&*make())?;
    }
    if caps.conditional_write {
        counting(&*make())?;
        creating(&*make())?;
    }
    if caps.delete && caps.overwrite {
        pruning(&*make())?;
    }
    Ok(())
}

/// Runs threads that each return a result; returns the first failure.
fn together(threads: &[&(dyn Fn() -> Outcome + Sync)]) -> Outcome {
    let first = Mutex::new(Ok(()));
    thread::scope(|scope| {
        for work in threads {
            scope.spawn(|| {
                if let Err(failure) = work() {
                    let mut first = first.lock().expect("nothing panics while it is held");
                    if first.is_ok() {
                        *first = Err(failure);
                    }
                }
            });
        }
    });
    first.into_inner().expect("nothing panics while it is held")
}

/// Makes a value of equal bytes, with a length that follows from the byte.
fn whole(seed: u8) -> Vec<u8> {
    vec![seed; 1 + usize::from(seed) * 331]
}

fn want_whole(bytes: &[u8]) -> Outcome {
    let seed = bytes.first().copied().unwrap_or_default();
    if bytes == whole(seed) {
        return Ok(());
    }
    let odd = bytes.iter().position(|&byte| byte != seed);
    Err(broken("a reader sees a whole object", whole(seed).len(), (bytes.len(), odd)))
}

fn replacing(map: &dyn ZMap) -> Outcome {
    let key = key("race/replaced")?;
    ok("write", map.write(&key, &whole(1)))?;
    let ended = AtomicBool::new(false);
    let write = || {
        for round in 0..200_u32 {
            ok("write", map.write(&key, &whole((round * 7 % 251) as u8)))?;
        }
        ended.store(true, Ordering::Release);
        Ok(())
    };
    let read = || {
        let (mut out, mut memory) = (Vec::new(), vec![0; 100_000]);
        while !ended.load(Ordering::Acquire) {
            let found = ok("read", map.read(&key, ByteRange::ALL, &mut out))?;
            same("an object exists throughout a replacement", true, found)?;
            want_whole(&out)?;
            let mut into = OutBuf::from_slice(&mut memory);
            ok("read_into", map.read_into(&key, 0, &mut into))?;
            want_whole(into.filled())?;
        }
        Ok(())
    };
    let read = || {
        let outcome = read();
        ended.store(true, Ordering::Release);
        outcome
    };
    together(&[&write, &read, &read])
}

fn increment(old: Option<&[u8]>, new: &mut Vec<u8>) -> Result<()> {
    let count = match old {
        None => 0,
        Some(old) => old
            .try_into()
            .map(u64::from_le_bytes)
            .map_err(|_| ErrorKind::Internal.context(format!("a counter of {} bytes", old.len())))?,
    };
    new.extend_from_slice(&(count + 1).to_le_bytes());
    Ok(())
}

fn counting(map: &dyn ZMap) -> Outcome {
    const ROUNDS: u64 = 200;
    let key = key("race/counter")?;
    let add = || {
        for _ in 0..ROUNDS {
            ok("update", map.update(&key, 8, &mut increment))?;
        }
        Ok(())
    };
    // One of them does by hand the work that the map does for the others.
    let by_hand = || {
        let mut done = 0;
        let (mut old, mut new) = (Vec::new(), Vec::new());
        while done < ROUNDS {
            let version = ok("read_versioned", map.read_versioned(&key, usize::MAX, &mut old))?;
            new.clear();
            ok("change", increment(version.is_some().then_some(&old[..]), &mut new))?;
            let expect = Precondition::unchanged(version);
            match ok("write_if", map.write_if(&key, &new, &expect))? {
                WriteOutcome::Done(_) => done += 1,
                WriteOutcome::Conflict => thread::yield_now(),
            }
        }
        Ok(())
    };
    together(&[&add, &add, &add, &by_hand])?;
    let mut out = Vec::new();
    ok("read", map.read(&key, ByteRange::ALL, &mut out))?;
    same("no update is lost between threads", (WRITERS * ROUNDS).to_le_bytes().to_vec(), out)
}

fn creating(map: &dyn ZMap) -> Outcome {
    for round in 0..20 {
        let key = key(&format!("race/new/{round}"))?;
        let winners = AtomicU64::new(0);
        let create = || {
            if let WriteOutcome::Done(_) =
                ok("write_if", map.write_if(&key, &whole(7), &Precondition::Absent))?
            {
                winners.fetch_add(1, Ordering::Relaxed);
            }
            Ok(())
        };
        together(&[&create, &create, &create])?;
        same("one of several creations wins", 1, winners.load(Ordering::Relaxed))?;
    }
    Ok(())
}

/// Checks concurrent writes and deletes in folders that appear and disappear meanwhile.
fn pruning(map: &dyn ZMap) -> Outcome {
    let work = |mine: &'static str| {
        move || {
            let key: Key = key(mine)?;
            let mut out = Vec::new();
            for round in 0..100_u8 {
                ok("write", map.write(&key, &whole(round)))?;
                let found = ok("read", map.read(&key, ByteRange::ALL, &mut out))?;
                same("an object exists after its write", (true, &whole(round)), (found, &out))?;
                same("an object exists until its delete", true, ok("delete", map.delete(&key))?)?;
                same("an object is absent after its delete", false, ok("exists", map.exists(&key))?)?;
            }
            Ok(())
        }
    };
    let (one, two, three) = (work("race/x/y/1"), work("race/x/y/2"), work("race/x/z/3"));
    together(&[&one, &two, &three])
}
