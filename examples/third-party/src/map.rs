//! A map that keeps datasets in memory with every byte inverted, `veil://name`.

use std::sync::Arc;

use nczarr::Result;
use nczarr::storage::*;
use nczarr_zmap_mem::MemMaps;

static INFO: MapInfo = MapInfo::new("veil", "datasets in memory, inverted").schemes(&["veil"]);

/// Opens and creates veiled datasets.
pub struct Veils;

impl MapFactory for Veils {
    fn info(&self) -> &MapInfo { &INFO }
    fn open(&self, request: &OpenMap<'_>) -> Result<Arc<dyn ZMap>> { Ok(Arc::new(Veil(MemMaps.open(request)?))) }
    fn create(&self, request: &CreateMap<'_>) -> Result<Arc<dyn ZMap>> { Ok(Arc::new(Veil(MemMaps.create(request)?))) }
    fn delete(&self, request: &OpenMap<'_>) -> Result<()> { MemMaps.delete(request) }
}

#[derive(Debug)]
struct Veil(Arc<dyn ZMap>);

impl ZMap for Veil {
    fn caps(&self) -> MapCaps { self.0.caps() }
    fn len(&self, key: &Key) -> Result<Option<u64>> { self.0.len(key) }
    fn read_with(&self, key: &Key, options: ReadOptions, out: &mut Vec<u8>) -> Result<Option<ObjectInfo>> {
        let found = self.0.read_with(key, options, out)?;
        out.iter_mut().for_each(|byte| *byte = !*byte);
        Ok(found)
    }
    fn list(&self, prefix: &Key, mode: ListMode) -> Result<Option<Vec<String>>> { self.0.list(prefix, mode) }
    fn write_if(&self, key: &Key, value: &[u8], expect: &Precondition) -> Result<WriteOutcome> {
        self.0.write_if(key, &value.iter().map(|byte| !byte).collect::<Vec<_>>(), expect)
    }
    fn delete(&self, key: &Key) -> Result<bool> { self.0.delete(key) }
    fn close(&self) -> Result<()> { self.0.close() }
}

inventory::submit! { MapPlugin(&Veils) }
