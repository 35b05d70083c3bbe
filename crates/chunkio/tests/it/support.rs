//! Helpers that build arrays for tests.

use std::mem::MaybeUninit;
use std::sync::Arc;
use std::sync::atomic::AtomicU64;

use nczarr_chunkio::{ArrayDim, ArraySpec, ChunkStore, ChunkedArray, DimOrder, ElementLayout};
use nczarr_codec::Filter;
use nczarr_dispatch::{MemMut, MemRef, Options, VarData};
use nczarr_model::{NcString, NcType, Result, Slab, Values};
use nczarr_runtime::OutBuf;
use nczarr_storage::{Key, ZMap};

use crate::map::Mem;

#[derive(Debug)]
pub struct Cells(pub Arc<Mem>);

impl ChunkStore for Cells {
    fn map(&self) -> &dyn ZMap {
        &*self.0
    }

    fn locate(&self, index: &[u64], key: &mut Key) {
        key.set(&Key::root());
        key.push_index(if index.is_empty() { &[0] } else { index }, '.');
    }
}

/// The parts of an array. All but the map can change before [`Setup::open`].
pub struct Setup {
    pub map: Arc<Mem>,
    pub dims: Vec<ArrayDim>,
    pub chunk: Vec<u64>,
    pub element: ElementLayout,
    pub order: DimOrder,
    pub filters: Vec<Box<dyn Filter>>,
    pub fill: Option<Values>,
    pub shards: Vec<nczarr_chunkio::ShardSpec>,
    pub options: Options,
    pub writable: bool,
}

impl Setup {
    pub fn new(map: &Arc<Mem>, shape: &[u64], chunk: &[u64], ty: NcType) -> Self {
        Self {
            map: map.clone(),
            dims: shape
                .iter()
                .map(|&len| ArrayDim { len: Arc::new(AtomicU64::new(len)), unlimited: false })
                .collect(),
            chunk: chunk.to_vec(),
            element: ElementLayout::Number { ty, big_endian: false },
            order: DimOrder::C,
            filters: Vec::new(),
            fill: None,
            shards: Vec::new(),
            options: Options::default(),
            writable: true,
        }
    }

    pub fn unlimited(mut self, dim: usize) -> Self {
        self.dims[dim].unlimited = true;
        self
    }

    pub fn filters(mut self, filters: Vec<Box<dyn Filter>>) -> Self {
        self.filters = filters;
        self
    }

    pub fn spec(&self) -> ArraySpec {
        ArraySpec {
            name: "/v".to_owned(),
            dims: self.dims.clone(),
            chunk_shape: self.chunk.clone(),
            element: self.element.clone(),
            order: self.order.clone(),
            filters: self.filters.clone(),
            fill: self.fill.clone(),
            shards: self.shards.clone(),
            store: Arc::new(Cells(self.map.clone())),
            options: self.options.clone(),
            writable: self.writable,
        }
    }

    pub fn open(&self) -> ChunkedArray {
        ChunkedArray::new(self.spec()).unwrap()
    }
}

/// Reads bytes of type `ty`. The bytes are complete even after a range error.
pub fn get(array: &ChunkedArray, slab: &Slab<'_>, ty: NcType) -> (Vec<u8>, Result<()>) {
    let len = slab.len() as usize * ty.size().unwrap();
    let mut memory = vec![MaybeUninit::uninit(); len];
    let mut out = OutBuf::new(&mut memory);
    let result =
        array.check_read(slab).and_then(|slab| array.get(&slab, MemMut::Fixed { ty, out: &mut out }));
    (out.filled().to_vec(), result)
}

pub fn put(array: &ChunkedArray, slab: &Slab<'_>, ty: NcType, bytes: &[u8]) -> Result<()> {
    array.put(&array.check_write(slab)?, MemRef::Fixed { ty, bytes })
}

pub fn get_ints(array: &ChunkedArray, start: &[u64], count: &[u64]) -> Result<Vec<i32>> {
    let (bytes, result) = get(array, &Slab::new(start, count), NcType::Int);
    result.map(|()| bytes.as_chunks().0.iter().map(|item| i32::from_ne_bytes(*item)).collect())
}

pub fn put_ints(array: &ChunkedArray, start: &[u64], count: &[u64], values: &[i32]) -> Result<()> {
    let bytes: Vec<u8> = values.iter().flat_map(|value| value.to_ne_bytes()).collect();
    put(array, &Slab::new(start, count), NcType::Int, &bytes)
}

pub fn get_strings(array: &ChunkedArray, slab: &Slab<'_>) -> Result<Vec<NcString>> {
    let mut out = vec![NcString::from("unset"); slab.len() as usize];
    array.get(&array.check_read(slab)?, MemMut::Strings(&mut out)).map(|()| out)
}
