//! A map that keeps datasets in memory with every byte inverted, `veil://name`.

use std::sync::Arc;

use nczarr::Result;
use nczarr::storage::{ByteRange, CreateMap, Key, MapCaps, MapFactory, MapInfo, MapPlugin, OpenMap, ZMap, inventory};
use nczarr_zmap_mem::MemMaps;

static INFO: MapInfo = MapInfo { name: "veil", schemes: &["veil"], magic: &[], about: "datasets in memory, inverted" };

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
    fn caps(&self) -> MapCaps { self.0.caps().conditional_write(false) }
    fn len(&self, key: &Key) -> Result<Option<u64>> { self.0.len(key) }
    fn read(&self, key: &Key, range: ByteRange, out: &mut Vec<u8>) -> Result<bool> {
        let found = self.0.read(key, range, out)?;
        out.iter_mut().for_each(|byte| *byte = !*byte);
        Ok(found)
    }
    fn children(&self, prefix: &Key) -> Result<Vec<String>> { self.0.children(prefix) }
    fn write(&self, key: &Key, value: &[u8]) -> Result<()> { self.0.write(key, &value.iter().map(|byte| !byte).collect::<Vec<_>>()) }
    fn delete(&self, key: &Key) -> Result<bool> { self.0.delete(key) }
    fn close(&self) -> Result<()> { self.0.close() }
}

inventory::submit! { MapPlugin(&Veils) }
