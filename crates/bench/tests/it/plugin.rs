//! A map that a program adds is a target like the others. A map that returns other bytes fails, and the
//! dataset is deleted.

use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};

use nczarr::storage::{
    CreateMap, Key, ListMode, MapCaps, MapFactory, MapInfo, ObjectInfo, OpenMap, Precondition, ReadOptions,
    WriteOutcome, ZMap,
};
use nczarr::{ErrorKind, Registry, Result};
use nczarr_zmap_mem::MemMaps;

use crate::small;

static INFO: MapInfo = MapInfo::new("lossy", "a map for this test").schemes(&["lossy"]);

/// Maps in memory, the number of existing ones, and whether they change the chunks that are read.
struct LossyMaps {
    existing: Arc<AtomicUsize>,
    changes: bool,
}

#[derive(Debug)]
struct LossyMap {
    inner: Arc<dyn ZMap>,
    changes: bool,
}

impl MapFactory for LossyMaps {
    fn info(&self) -> &MapInfo {
        &INFO
    }

    fn open(&self, request: &OpenMap<'_>) -> Result<Arc<dyn ZMap>> {
        Ok(Arc::new(LossyMap { inner: MemMaps.open(request)?, changes: self.changes }))
    }

    fn create(&self, request: &CreateMap<'_>) -> Result<Arc<dyn ZMap>> {
        let inner = MemMaps.create(request)?;
        self.existing.fetch_add(1, Ordering::Relaxed);
        Ok(Arc::new(LossyMap { inner, changes: self.changes }))
    }

    fn delete(&self, request: &OpenMap<'_>) -> Result<()> {
        MemMaps.delete(request)?;
        self.existing.fetch_sub(1, Ordering::Relaxed);
        Ok(())
    }
}

impl ZMap for LossyMap {
    fn caps(&self) -> MapCaps {
        self.inner.caps().conditional_write(false).versioned_parts(false)
    }

    fn len(&self, key: &Key) -> Result<Option<u64>> {
        self.inner.len(key)
    }

    fn read_with(&self, key: &Key, options: ReadOptions, out: &mut Vec<u8>) -> Result<Option<ObjectInfo>> {
        let found = self.inner.read_with(key, options, out)?;
        if self.changes && !key.name().starts_with('.') {
            out.iter_mut().for_each(|byte| *byte ^= 1);
        }
        Ok(found)
    }

    fn list(&self, prefix: &Key, mode: ListMode) -> Result<Option<Vec<String>>> {
        self.inner.list(prefix, mode)
    }

    fn write_if(&self, key: &Key, value: &[u8], expect: &Precondition) -> Result<WriteOutcome> {
        self.inner.write_if(key, value, expect)
    }

    fn delete(&self, key: &Key) -> Result<bool> {
        self.inner.delete(key)
    }

    fn close(&self) -> Result<()> {
        self.inner.close()
    }
}

fn with_lossy(existing: &Arc<AtomicUsize>, changes: bool) -> Registry {
    let registry = Registry::clone(&*nczarr::registry().unwrap());
    registry.with_map(LossyMaps { existing: Arc::clone(existing), changes })
}

#[test]
fn an_added_map_is_a_target() {
    let existing = Arc::new(AtomicUsize::new(0));
    let registry = with_lossy(&existing, false);
    let report = small().registry(registry).targets(["lossy", "lossy://x", "mem"]).run().unwrap();
    let rows: Vec<_> = report.rows.iter().map(|row| (row.target.as_str(), row.map.as_deref())).collect();
    assert_eq!(rows, [("lossy", Some("lossy")), ("lossy://x", Some("lossy")), ("mem", Some("mem"))]);
    assert_eq!(existing.load(Ordering::Relaxed), 0);
}

#[test]
fn other_values_than_written_are_an_error_and_the_dataset_is_deleted() {
    let existing = Arc::new(AtomicUsize::new(0));
    let error = small().registry(with_lossy(&existing, true)).targets(["lossy"]).run().unwrap_err();
    assert_eq!(error.kind(), ErrorKind::Internal);
    assert!(error.to_string().contains("read other data than was written"), "{error}");
    assert!(error.to_string().contains("lossy none 2x5x9"), "{error}");
    assert_eq!(existing.load(Ordering::Relaxed), 0);
}
