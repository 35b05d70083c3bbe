//! Where the chunks of a variable are: [`Chunks`], the engine's view of the map.
//!
//! A rename moves them. Who reads or writes some stays with them meanwhile: a key that was told is the right one as long as it is
//! used, and of what is being moved nobody sees one half.

use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, OnceLock, PoisonError, RwLock};

use chunkio::ChunkStore;
use dispatch::{Gate, Key, Moving, Writing, ZMap};
use model::{ErrorKind, Result};

/// The chunks of one variable: objects named by their indices below the variable's key.
#[derive(Debug)]
pub(crate) struct Chunks {
    map: Arc<dyn ZMap>,
    /// The variable's key in the beginning.
    base: Key,
    /// Where a rename has moved it, also under arrays that somebody holds. Most are never renamed, and need no lock.
    moved: OnceLock<RwLock<Key>>,
    separator: char,
    /// Whether indices come after a `c`.
    prefix: bool,
    /// Who is at the chunks; nobody is while they move. `None` where nothing ever moves.
    gate: Option<Gate>,
    /// They were moved when somebody may have been at them.
    torn: AtomicBool,
}

impl Chunks {
    /// The chunks below a key, with what is between their indices, and whether those come after a `c`.
    pub(crate) fn new(map: Arc<dyn ZMap>, (base, separator, prefix): (Key, char, bool), moves: bool) -> Self {
        let gate = moves.then(Gate::default);
        Self { map, base, moved: OnceLock::new(), separator, prefix, gate, torn: AtomicBool::new(false) }
    }

    /// Does something with the chunks, which stay where they are meanwhile.
    ///
    /// # Errors
    /// What `work` says; `NC_EBADID` if the dataset was closed so that this could not be waited for.
    pub(crate) fn stay<T>(&self, work: impl FnOnce() -> Result<T>) -> Result<T> {
        let Some(gate) = &self.gate else { return work() };
        let staying: Writing<'_> = gate.write();
        let outcome = work();
        if self.torn.load(Ordering::SeqCst) {
            let what = "the dataset was closed meanwhile, and what was renamed moved";
            return outcome.and(Err(ErrorKind::BadId.context(what)));
        }
        drop(staying);
        outcome
    }

    /// Whether the chunks stay where they are, whatever happens.
    pub(crate) fn is_fixed(&self) -> bool {
        self.gate.is_none()
    }

    /// Lets nobody at the chunks as long as the answer is held. `last`: they have to move now, and who
    /// stays too long is told.
    ///
    /// # Errors
    /// `NC_EINDEFINE` if somebody stays too long.
    pub(crate) fn alone(&self, last: bool) -> Result<Option<Moving<'_>>> {
        match self.gate.as_ref().map(Gate::alone).transpose() {
            Err(_) if last => {
                self.torn.store(true, Ordering::SeqCst);
                Ok(None)
            }
            alone => alone,
        }
    }

    /// The chunks are elsewhere from now on.
    pub(crate) fn move_to(&self, base: Key) {
        let moved = self.moved.get_or_init(|| RwLock::new(base.clone()));
        *moved.write().unwrap_or_else(PoisonError::into_inner) = base;
    }
}

impl ChunkStore for Chunks {
    fn map(&self) -> &dyn ZMap {
        &*self.map
    }

    fn locate(&self, index: &[u64], key: &mut Key) {
        match self.moved.get() {
            None => key.set(&self.base),
            Some(moved) => key.set(&moved.read().unwrap_or_else(PoisonError::into_inner)),
        }
        match (self.prefix, index) {
            // The one chunk of a scalar is called 0.
            (false, []) => key.push_index(&[0], self.separator),
            (false, index) => key.push_index(index, self.separator),
            (true, index) => key.push_index_after('c', index, self.separator),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[derive(Debug)]
    struct NoMap;

    impl ZMap for NoMap {
        fn caps(&self) -> dispatch::MapCaps {
            dispatch::MapCaps::default()
        }
        fn len(&self, _: &Key) -> model::Result<Option<u64>> {
            Ok(None)
        }
        fn read(&self, _: &Key, _: dispatch::ByteRange, _: &mut Vec<u8>) -> model::Result<bool> {
            Ok(false)
        }
        fn search(&self, _: &Key) -> model::Result<Vec<String>> {
            Ok(Vec::new())
        }
    }

    #[test]
    fn chunk_keys() {
        let chunks = Chunks::new(Arc::new(NoMap), (Key::new("g/v").unwrap(), '.', false), true);
        let mut key = Key::root();
        for (index, expected) in [(&[][..], "g/v/0"), (&[7], "g/v/7"), (&[1, 0, 12], "g/v/1.0.12")] {
            chunks.locate(index, &mut key);
            assert_eq!(key.as_str(), expected);
        }
        for (base, expected) in [("", "1.2"), ("h/w", "h/w/1.2"), ("g/v", "g/v/1.2")] {
            chunks.move_to(Key::new(base).unwrap());
            chunks.locate(&[1, 2], &mut key);
            assert_eq!(key.as_str(), expected);
        }
        let nested = Chunks::new(Arc::new(NoMap), (Key::new("v").unwrap(), '/', false), true);
        nested.locate(&[1, 2], &mut key);
        assert_eq!(key.as_str(), "v/1/2");
        for (base, separator, expected) in
            [("g/v", '/', ["g/v/c", "g/v/c/7", "g/v/c/1/0/12"]), ("", '.', ["c", "c.7", "c.1.0.12"])]
        {
            let chunks = Chunks::new(Arc::new(NoMap), (Key::new(base).unwrap(), separator, true), true);
            for (index, expected) in [&[][..], &[7], &[1, 0, 12]].into_iter().zip(expected) {
                chunks.locate(index, &mut key);
                assert_eq!(key.as_str(), expected);
            }
        }
    }
}
