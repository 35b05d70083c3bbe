//! [`ReadAhead`]: small reads of a file elsewhere, out of blocks that are kept; and blocks that are probably wanted next.

use std::collections::HashMap;
use std::fmt;
use std::sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError};

use model::{Error, Result};

use super::ByteSource;
use crate::{ByteRange, OutBuf};

/// Bytes of a block.
const BLOCK: u64 = 512 << 10;

/// Blocks that are kept.
const KEPT: usize = 64;

/// Blocks that are asked for before they are wanted, once blocks were wanted one after another.
const AHEAD: u64 = 16;

/// A file elsewhere that is read in small pieces, by any number of threads.
pub struct ReadAhead {
    source: Arc<dyn ByteSource>,
    shared: Arc<Shared>,
}

#[derive(Default)]
struct Shared {
    blocks: Mutex<Blocks>,
    came: Condvar,
}

#[derive(Default)]
struct Blocks {
    found: HashMap<u64, Block>,
    /// When a block was wanted last, counted.
    now: u64,
}

enum Block {
    Coming,
    Here { bytes: Arc<Vec<u8>>, wanted: u64 },
    Failed(Error),
}

impl Shared {
    fn lock(&self) -> MutexGuard<'_, Blocks> {
        self.blocks.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Blocks {
    /// Gives the oldest blocks back.
    fn shrink(&mut self) {
        let here = |(number, block): (&u64, &Block)| match block {
            Block::Here { wanted, .. } => Some((*wanted, *number)),
            _ => None,
        };
        while self.found.len() > KEPT
            && let Some((_, oldest)) = self.found.iter().filter_map(here).min()
        {
            self.found.remove(&oldest);
        }
    }
}

impl ReadAhead {
    /// Reads this file so.
    pub fn new(source: Arc<dyn ByteSource>) -> Self {
        Self { source, shared: Arc::default() }
    }

    /// How many bytes there are.
    pub fn len(&self) -> u64 {
        self.source.len()
    }

    /// Whether there are none.
    pub fn is_empty(&self) -> bool {
        self.source.is_empty()
    }

    /// Appends bytes from `offset` on to `out`, at most [`OutBuf::room`]; fewer only where the file ends.
    ///
    /// # Errors
    /// As [`ByteSource::read`].
    pub fn read_at(&self, offset: u64, out: &mut OutBuf<'_>) -> Result<()> {
        let mut at = offset;
        let end = offset.saturating_add(out.room() as u64).min(self.len());
        while at < end {
            let number = at / BLOCK;
            let bytes = self.block(number, (end - 1) / BLOCK)?;
            let from = (at - number * BLOCK) as usize;
            let take = (end - at).min((bytes.len().saturating_sub(from)) as u64) as usize;
            if take == 0 {
                let what = format!("block {number} has {} bytes", bytes.len());
                return Err(model::ErrorKind::Internal.context(what));
            }
            out.put(&bytes[from..from + take])?;
            at += take as u64;
        }
        Ok(())
    }

    /// A block, of which those up to `last` are wanted as well.
    fn block(&self, number: u64, last: u64) -> Result<Arc<Vec<u8>>> {
        let mut blocks = self.shared.lock();
        // Who reads two blocks that follow one another probably reads on.
        let has = |before: u64| number.checked_sub(before).is_some_and(|number| blocks.found.contains_key(&number));
        let follows = has(1) && has(2);
        let ahead = if follows { number + AHEAD } else { number };
        let until = ahead.max(last.min(number + AHEAD)).min(self.len().saturating_sub(1) / BLOCK);
        let missing: Vec<u64> = (number..=until).filter(|number| !blocks.found.contains_key(number)).collect();
        for &number in &missing {
            blocks.found.insert(number, Block::Coming);
        }
        if !missing.is_empty() {
            // Whoever answers at once takes the lock.
            drop(blocks);
            missing.iter().for_each(|&number| self.ask(number));
            blocks = self.shared.lock();
        }
        loop {
            blocks.now += 1;
            let now = blocks.now;
            match blocks.found.get_mut(&number) {
                Some(Block::Here { bytes, wanted }) => {
                    *wanted = now;
                    return Ok(Arc::clone(bytes));
                }
                Some(Block::Coming) => {
                    blocks = self.shared.came.wait(blocks).unwrap_or_else(PoisonError::into_inner);
                }
                // The next who wants it asks again.
                Some(Block::Failed(error)) => {
                    let error = error.clone();
                    blocks.found.remove(&number);
                    return Err(error);
                }
                // It was given back before this thread woke up, or another one took its failure.
                None => {
                    blocks.found.insert(number, Block::Coming);
                    drop(blocks);
                    self.ask(number);
                    blocks = self.shared.lock();
                }
            }
        }
    }

    fn ask(&self, number: u64) {
        let shared = Arc::clone(&self.shared);
        let from = number * BLOCK;
        let len = BLOCK.min(self.len().saturating_sub(from));
        self.source.start(
            ByteRange::new(from, len),
            Box::new(move |read| {
                let mut blocks = shared.lock();
                let wanted = blocks.now;
                let block = match read {
                    Ok(bytes) => Block::Here { bytes: Arc::new(bytes), wanted },
                    Err(error) => Block::Failed(error),
                };
                blocks.found.insert(number, block);
                blocks.shrink();
                drop(blocks);
                shared.came.notify_all();
            }),
        );
    }
}

impl fmt::Debug for ReadAhead {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("ReadAhead").field("source", &self.source).finish_non_exhaustive()
    }
}

#[cfg(test)]
mod tests {
    use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};

    use super::*;
    use crate::WhenRead;

    /// Bytes that say where they are, and a count of what was asked.
    #[derive(Debug)]
    struct Known(u64, AtomicUsize, AtomicBool);

    fn known(at: u64) -> u8 {
        (at ^ at >> 8 ^ at >> 16) as u8
    }

    impl ByteSource for Known {
        fn len(&self) -> u64 {
            self.0
        }

        fn start(&self, range: ByteRange, then: WhenRead) {
            self.1.fetch_add(1, Ordering::Relaxed);
            if self.2.swap(false, Ordering::Relaxed) {
                return then(Err(model::ErrorKind::Io.into()));
            }
            let end = range.offset.saturating_add(range.len.unwrap_or(0)).min(self.0);
            let bytes = (range.offset..end).map(known).collect();
            std::thread::spawn(move || then(Ok(bytes)));
        }
    }

    fn read(ahead: &ReadAhead, at: u64, len: usize) -> Result<Vec<u8>> {
        let mut bytes = vec![0; len];
        let mut out = OutBuf::over(&mut bytes);
        ahead.read_at(at, &mut out)?;
        let filled = out.filled().len();
        bytes.truncate(filled);
        Ok(bytes)
    }

    #[test]
    fn whatever_is_read_is_what_is_there() {
        let len = 100 * BLOCK + 77;
        let source = Arc::new(Known(len, AtomicUsize::new(0), AtomicBool::new(false)));
        let ahead = ReadAhead::new(source.clone());
        for (at, size) in
            [(0, 10), (BLOCK - 3, 7), (5, BLOCK as usize * 3), (len - 5, 20), (len + 9, 4), (90 * BLOCK, 9)]
        {
            let expected: Vec<u8> = (at..len.min(at + size as u64)).map(known).collect();
            assert_eq!(read(&ahead, at, size).unwrap(), expected, "{at} {size}");
        }
        assert!(source.1.load(Ordering::Relaxed) <= 4 + 2 + AHEAD as usize + 2);
        std::thread::scope(|scope| {
            for thread in 0..4 {
                let ahead = &ahead;
                scope.spawn(move || {
                    for piece in 0..200 {
                        let at = (thread * 50 + piece) * BLOCK / 2;
                        let expected: Vec<u8> = (at..len.min(at + 99)).map(known).collect();
                        assert_eq!(read(ahead, at, 99).unwrap(), expected);
                    }
                });
            }
        });
        assert!(ahead.shared.lock().found.len() <= KEPT + 5 * AHEAD as usize);
    }

    #[test]
    fn a_failure_is_told_once() {
        let source = Arc::new(Known(10, AtomicUsize::new(0), AtomicBool::new(true)));
        let ahead = ReadAhead::new(source);
        assert_eq!(read(&ahead, 2, 3).unwrap_err().kind(), model::ErrorKind::Io);
        assert_eq!(read(&ahead, 2, 3).unwrap(), [2, 3, 4]);
    }
}
