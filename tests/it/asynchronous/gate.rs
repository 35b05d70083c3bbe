//! [`Gate`]: a map that counts reads of chunks and holds them until it is opened.

use std::sync::{Arc, Condvar, Mutex};

use nczarr::Result;
use nczarr::storage::{Key, ListMode, MapCaps, ObjectInfo, Precondition, ReadOptions, WriteOutcome, ZMap};

#[derive(Debug)]
pub struct Gate {
    inner: Arc<dyn ZMap>,
    state: Mutex<State>,
    changed: Condvar,
}

#[derive(Debug, Default)]
struct State {
    is_shut: bool,
    reads: usize,
    writes: usize,
}

impl Gate {
    pub fn new(inner: Arc<dyn ZMap>) -> Arc<Self> {
        Arc::new(Self { inner, state: Mutex::default(), changed: Condvar::new() })
    }

    pub fn shut(&self) {
        self.state.lock().unwrap().is_shut = true;
    }

    pub fn open(&self) {
        self.state.lock().unwrap().is_shut = false;
        self.changed.notify_all();
    }

    /// Waits until this many reads and writes of chunks have begun.
    pub fn wait_for(&self, requests: usize) {
        let state = self.state.lock().unwrap();
        let long = std::time::Duration::from_secs(60);
        let waited =
            self.changed.wait_timeout_while(state, long, |state| state.reads + state.writes < requests);
        assert!(!waited.unwrap().1.timed_out(), "no request came");
    }

    /// The reads of chunks, and the writes, since the start.
    pub fn counts(&self) -> (usize, usize) {
        let state = self.state.lock().unwrap();
        (state.reads, state.writes)
    }

    fn pass(&self, count: impl Fn(&mut State)) {
        let mut state = self.state.lock().unwrap();
        count(&mut state);
        self.changed.notify_all();
        drop(self.changed.wait_while(state, |state| state.is_shut).unwrap());
    }
}

fn is_chunk(key: &Key) -> bool {
    let name = key.as_str().rsplit('/').next().unwrap();
    name.bytes().all(|byte| byte.is_ascii_digit() || byte == b'.')
}

impl ZMap for Gate {
    fn caps(&self) -> MapCaps {
        self.inner.caps()
    }

    fn len(&self, key: &Key) -> Result<Option<u64>> {
        self.inner.len(key)
    }

    fn read_with(&self, key: &Key, options: ReadOptions, out: &mut Vec<u8>) -> Result<Option<ObjectInfo>> {
        if is_chunk(key) {
            self.pass(|state| state.reads += 1);
        }
        self.inner.read_with(key, options, out)
    }

    fn list(&self, prefix: &Key, mode: ListMode) -> Result<Option<Vec<String>>> {
        self.inner.list(prefix, mode)
    }

    fn write_if(&self, key: &Key, value: &[u8], expect: &Precondition) -> Result<WriteOutcome> {
        if is_chunk(key) {
            self.pass(|state| state.writes += 1);
        }
        self.inner.write_if(key, value, expect)
    }

    fn delete(&self, key: &Key) -> Result<bool> {
        self.inner.delete(key)
    }
}
