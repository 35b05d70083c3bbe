//! [`VariableChunks`]: the chunks of a variable as objects of the map, for the engine.
//!
//! A rename moves chunks to other keys. While a caller reads or writes chunks, they do not move. So a key
//! stays valid during the whole call, and no reader sees a half-moved variable.

use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, OnceLock, PoisonError, RwLock};

use nczarr_chunkio::ChunkStore;
use nczarr_model::{ErrorKind, Result};
use nczarr_runtime::{ExclusiveGuard, RenameLock, SharedGuard};
use nczarr_storage::{Key, ZMap, ZMapExt};

use crate::open::metadata_reader::cannot_list;

/// The chunks of one variable: objects named by their indices below the variable's key.
#[derive(Debug)]
pub(crate) struct VariableChunks {
    map: Arc<dyn ZMap>,
    /// The variable's key at the start.
    base: Key,
    /// The key after a rename; arrays in use follow it. Most variables are never renamed and need no lock.
    renamed_base: OnceLock<RwLock<Key>>,
    separator: char,
    /// Whether a `c` precedes the indices.
    prefix: bool,
    /// Keeps chunks in place while they are used; `None` if they never move.
    move_gate: Option<RenameLock>,
    /// Chunks moved while a caller may have used them.
    moved_in_use: AtomicBool,
}

impl VariableChunks {
    /// Chunks below the key `base`, with the separator and the `c` prefix. `moves`: renames may move them.
    pub(crate) fn new(map: Arc<dyn ZMap>, (base, separator, prefix): (Key, char, bool), moves: bool) -> Self {
        let gate = moves.then(RenameLock::default);
        Self {
            map,
            base,
            renamed_base: OnceLock::new(),
            separator,
            prefix,
            move_gate: gate,
            moved_in_use: AtomicBool::new(false),
        }
    }

    /// Runs `work` while the chunks stay in place.
    ///
    /// # Errors
    /// Errors of `work`; `NC_EBADID` if the dataset was closed and chunks moved meanwhile.
    pub(crate) fn with_stable_keys<T>(&self, work: impl FnOnce() -> Result<T>) -> Result<T> {
        let Some(gate) = &self.move_gate else { return work() };
        let staying: SharedGuard<'_> = gate.lock_shared();
        let outcome = work();
        if self.moved_in_use.load(Ordering::SeqCst) {
            let what = "the dataset was closed during this access, and its renamed chunks moved";
            return outcome.and(Err(ErrorKind::BadId.context(what)));
        }
        drop(staying);
        outcome
    }

    /// Whether the chunks never move.
    pub(crate) fn never_moves(&self) -> bool {
        self.move_gate.is_none()
    }

    /// Waits for all users of the chunks and excludes new ones while the guard is held. `last`: the chunks
    /// must move now, so remaining users get an error later.
    ///
    /// # Errors
    /// `NC_EINDEFINE` if a user stays too long.
    pub(crate) fn lock_for_move(&self, last: bool) -> Result<Option<ExclusiveGuard<'_>>> {
        match self.move_gate.as_ref().map(RenameLock::lock_exclusive).transpose() {
            Err(_) if last => {
                self.moved_in_use.store(true, Ordering::SeqCst);
                Ok(None)
            }
            alone => alone,
        }
    }

    /// Sets the new key of the chunks.
    pub(crate) fn move_to(&self, base: Key) {
        let moved = self.renamed_base.get_or_init(|| RwLock::new(base.clone()));
        *moved.write().unwrap_or_else(PoisonError::into_inner) = base;
    }
}

impl ChunkStore for VariableChunks {
    fn map(&self) -> &dyn ZMap {
        &*self.map
    }

    fn locate(&self, index: &[u64], key: &mut Key) {
        match self.renamed_base.get() {
            None => key.set(&self.base),
            Some(moved) => key.set(&moved.read().unwrap_or_else(PoisonError::into_inner)),
        }
        match (self.prefix, index) {
            // The only chunk of a scalar is called 0.
            (false, []) => key.push_index(&[0], self.separator),
            (false, index) => key.push_index(index, self.separator),
            (true, index) => key.push_index_after('c', index, self.separator),
        }
    }

    fn for_each_stored(&self, rank: usize, each: &mut dyn FnMut(&[u64])) -> Result<bool> {
        if !self.map.caps().list {
            return Ok(false);
        }
        let base = match self.renamed_base.get() {
            None => self.base.clone(),
            Some(moved) => moved.read().unwrap_or_else(PoisonError::into_inner).clone(),
        };
        let naming = ChunkNaming { separator: self.separator, prefix: self.prefix, rank };
        let mut index = Vec::new();
        let keys = match self.map.keys(&base) {
            Ok(keys) => keys,
            // Without a listing the caller checks each chunk.
            Err(error) if cannot_list(&error) => return Ok(false),
            Err(error) => return Err(error),
        };
        for key in keys {
            let name = if base.is_root() {
                Some(key.as_str())
            } else {
                key.as_str().strip_prefix(base.as_str()).and_then(|rest| rest.strip_prefix('/'))
            };
            if name.is_some_and(|name| naming.parse(name, &mut index)) {
                each(&index);
            }
        }
        Ok(true)
    }
}

/// The naming of an array's chunks, below the array's key.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct ChunkNaming {
    /// The separator of the indices.
    pub(crate) separator: char,
    /// Whether a `c` precedes the indices.
    pub(crate) prefix: bool,
    /// The number of indices.
    pub(crate) rank: usize,
}

impl ChunkNaming {
    /// Parses the name of a chunk into `index`; `false` if no chunk has this name.
    ///
    /// Each chunk has one name: indices are decimal numbers without leading zeros.
    pub(crate) fn parse(&self, name: &str, index: &mut Vec<u64>) -> bool {
        index.clear();
        let name = match (self.prefix, self.rank) {
            (true, 0) => return name == "c",
            (false, 0) => return name == "0",
            (true, _) => name.strip_prefix('c').and_then(|rest| rest.strip_prefix(self.separator)),
            (false, _) => Some(name),
        };
        let is_number = |part: &&str| !part.is_empty() && part.bytes().all(|byte| byte.is_ascii_digit());
        for part in name.into_iter().flat_map(|name| name.split(self.separator)) {
            let number = Some(part).filter(is_number).filter(|part| *part == "0" || !part.starts_with('0'));
            match number.and_then(|number| number.parse().ok()) {
                Some(number) if index.len() < self.rank => index.push(number),
                _ => return false,
            }
        }
        index.len() == self.rank
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[derive(Debug)]
    struct NoMap;

    impl ZMap for NoMap {
        fn caps(&self) -> nczarr_storage::MapCaps {
            nczarr_storage::MapCaps::default()
        }
        fn len(&self, _: &Key) -> nczarr_model::Result<Option<u64>> {
            Ok(None)
        }
        fn read_with(
            &self,
            _: &Key,
            _: nczarr_storage::ReadOptions,
            _: &mut Vec<u8>,
        ) -> nczarr_model::Result<Option<nczarr_storage::ObjectInfo>> {
            Ok(None)
        }
    }

    #[test]
    fn chunk_keys() {
        let chunks = VariableChunks::new(Arc::new(NoMap), (Key::new("g/v").unwrap(), '.', false), true);
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
        let nested = VariableChunks::new(Arc::new(NoMap), (Key::new("v").unwrap(), '/', false), true);
        nested.locate(&[1, 2], &mut key);
        assert_eq!(key.as_str(), "v/1/2");
        for (base, separator, expected) in
            [("g/v", '/', ["g/v/c", "g/v/c/7", "g/v/c/1/0/12"]), ("", '.', ["c", "c.7", "c.1.0.12"])]
        {
            let chunks =
                VariableChunks::new(Arc::new(NoMap), (Key::new(base).unwrap(), separator, true), true);
            for (index, expected) in [&[][..], &[7], &[1, 0, 12]].into_iter().zip(expected) {
                chunks.locate(index, &mut key);
                assert_eq!(key.as_str(), expected);
            }
        }
    }

    #[test]
    fn only_names_of_chunks_are_taken_for_such() {
        let naming = |separator, prefix, rank| ChunkNaming { separator, prefix, rank };
        let mut index = Vec::new();
        for (naming, name, expected) in [
            (naming('.', false, 2), "1.20", Some(&[1, 20][..])),
            (naming('/', false, 2), "1/20", Some(&[1, 20])),
            (naming('/', true, 2), "c/1/20", Some(&[1, 20])),
            (naming('.', true, 1), "c.7", Some(&[7])),
            (naming('/', true, 0), "c", Some(&[])),
            (naming('.', false, 0), "0", Some(&[])),
            (naming('.', false, 2), "1.020", None),
            (naming('.', false, 2), "1.2.3", None),
            (naming('.', false, 2), "1", None),
            (naming('.', false, 1), "+1", None),
            (naming('.', false, 1), ".zarray", None),
            (naming('/', true, 1), "zarr.json", None),
            (naming('.', false, 1), "99999999999999999999", None),
        ] {
            let found = naming.parse(name, &mut index).then_some(&index[..]);
            assert_eq!(found, expected, "{name}");
        }
    }
}
