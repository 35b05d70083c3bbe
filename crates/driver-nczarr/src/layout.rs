//! Where the chunks of a variable are: [`Chunks`], the engine's view of the map.

use std::sync::{Arc, PoisonError, RwLock};

use chunkio::ChunkStore;
use dispatch::{Key, ZMap};

/// The chunks of one variable: objects named by their indices below the variable's key.
#[derive(Debug)]
pub(crate) struct Chunks {
    map: Arc<dyn ZMap>,
    /// The variable's key; a rename moves it, also under arrays that somebody holds.
    base: RwLock<Key>,
    separator: char,
    /// Whether indices come after a `c`.
    prefix: bool,
}

impl Chunks {
    pub(crate) fn new(map: Arc<dyn ZMap>, base: Key, separator: char, prefix: bool) -> Self {
        Self { map, base: RwLock::new(base), separator, prefix }
    }

    /// The chunks are elsewhere from now on.
    pub(crate) fn move_to(&self, base: Key) {
        *self.base.write().unwrap_or_else(PoisonError::into_inner) = base;
    }
}

impl ChunkStore for Chunks {
    fn map(&self) -> &dyn ZMap {
        &*self.map
    }

    fn locate(&self, index: &[u64], key: &mut Key) {
        key.set(&self.base.read().unwrap_or_else(PoisonError::into_inner));
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
        let chunks = Chunks::new(Arc::new(NoMap), Key::new("g/v").unwrap(), '.', false);
        let mut key = Key::root();
        for (index, expected) in [(&[][..], "g/v/0"), (&[7], "g/v/7"), (&[1, 0, 12], "g/v/1.0.12")] {
            chunks.locate(index, &mut key);
            assert_eq!(key.as_str(), expected);
        }
        chunks.move_to(Key::root());
        chunks.locate(&[1, 2], &mut key);
        assert_eq!(key.as_str(), "1.2");
        let nested = Chunks::new(Arc::new(NoMap), Key::new("v").unwrap(), '/', false);
        nested.locate(&[1, 2], &mut key);
        assert_eq!(key.as_str(), "v/1/2");
        for (base, separator, expected) in
            [("g/v", '/', ["g/v/c", "g/v/c/7", "g/v/c/1/0/12"]), ("", '.', ["c", "c.7", "c.1.0.12"])]
        {
            let chunks = Chunks::new(Arc::new(NoMap), Key::new(base).unwrap(), separator, true);
            for (index, expected) in [&[][..], &[7], &[1, 0, 12]].into_iter().zip(expected) {
                chunks.locate(index, &mut key);
                assert_eq!(key.as_str(), expected);
            }
        }
    }
}
