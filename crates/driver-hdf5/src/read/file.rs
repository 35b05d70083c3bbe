//! [`HdfFile`]: the bytes of a file by address, and the sizes of its numbers.
//!
//! Metadata are read through a cache of blocks. Raw data are not cached here.

use std::collections::HashMap;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex, PoisonError};

use nczarr_chunkio::ByteStore as _;
use nczarr_model::{ErrorKind, Result};
use nczarr_runtime::OutBuf;

use super::cursor::{MetadataCursor, damaged};
use super::external::ExternalFileCache;
use super::file_bytes::FileBytes;
use super::global_heap::GlobalHeap;
use super::paths::LinkTargets;
use super::shared_messages::SharedTable;
use crate::lookup3::lookup3;

/// Size of a cached block in bytes.
const BLOCK: u64 = 64 << 10;

/// Most cached blocks.
const KEPT: usize = 256;

/// How often each byte of a file may be read as metadata. Shared headers and types, and cached index entries,
/// count too.
pub(super) const TIMES: u64 = 16;

/// Bytes of metadata that may be read beyond that, from any file.
const SPARE: u64 = 32 << 20;

/// An open file.
#[derive(Debug)]
pub(crate) struct HdfFile {
    pub(crate) store: Arc<FileBytes>,
    /// Size of the file in bytes.
    pub(crate) len: u64,
    /// Offset of address 0 in the file.
    pub(crate) base: u64,
    /// Size of an address in bytes.
    pub(crate) offsets: u8,
    /// Size of a length in bytes.
    pub(crate) lengths: u8,
    /// The shared messages.
    pub(crate) shared: SharedTable,
    /// Open files beside it that hold some of its data.
    pub(super) external_files: ExternalFileCache,
    /// Cached collections of its global heap.
    pub(super) heap: GlobalHeap,
    /// Address of the root group's object header.
    pub(crate) root: u64,
    /// Links of groups on the way of earlier paths, by group address.
    pub(super) visited_groups: Mutex<HashMap<u64, Arc<LinkTargets>>>,
    blocks: Mutex<HashMap<u64, Arc<[u8]>>>,
    /// Bytes of metadata that may still be read. A sound file has each structure once. A damaged one might
    /// refer to the same megabyte a thousand times.
    left: AtomicU64,
}

/// Returns the bytes of metadata that may be read from a file of `len` bytes.
fn allowance(len: u64) -> u64 {
    len.saturating_mul(TIMES).saturating_add(SPARE)
}

impl HdfFile {
    /// Makes a file before its superblock is read.
    pub(crate) fn new(store: Arc<FileBytes>) -> Result<Self> {
        let len = store.size()?;
        let left = AtomicU64::new(allowance(len));
        Ok(Self {
            store,
            len,
            base: 0,
            offsets: 8,
            lengths: 8,
            shared: SharedTable::default(),
            external_files: ExternalFileCache::default(),
            heap: GlobalHeap::default(),
            root: 0,
            visited_groups: Mutex::default(),
            blocks: Mutex::default(),
            left,
        })
    }

    /// Returns the same file with empty caches and a full budget.
    pub(crate) fn with_fresh_budget(&self) -> Self {
        let left = AtomicU64::new(allowance(self.len));
        Self {
            store: Arc::clone(&self.store),
            len: self.len,
            base: self.base,
            offsets: self.offsets,
            lengths: self.lengths,
            shared: SharedTable::default(),
            external_files: ExternalFileCache::default(),
            heap: GlobalHeap::default(),
            root: self.root,
            visited_groups: Mutex::default(),
            blocks: Mutex::default(),
            left,
        }
    }

    /// Whether each read may be a request.
    pub(crate) fn is_remote(&self) -> bool {
        matches!(*self.store, FileBytes::Remote(..))
    }

    /// Announces reads, as addresses and lengths. In a remote file they are requested at once.
    pub(crate) fn prefetch(&self, ranges: impl IntoIterator<Item = (u64, u64)>) {
        if !self.is_remote() {
            return;
        }
        self.store.expect(ranges.into_iter().filter_map(|(address, len)| {
            let start = address.checked_add(self.base).filter(|&start| start < self.len)?;
            Some(start..start.saturating_add(len))
        }));
    }

    /// Returns the file offset of an address.
    ///
    /// # Errors
    /// `NC_EHDFERR` if the file ends within `len` bytes from there.
    pub(crate) fn place(&self, address: u64, len: u64) -> Result<u64> {
        let start = address.checked_add(self.base);
        match start.filter(|start| start.checked_add(len).is_some_and(|end| end <= self.len)) {
            Some(start) => Ok(start),
            None => Err(damaged(format!(
                "{len} bytes at address {address}: beyond the end of the file (found {} bytes)",
                self.len
            ))),
        }
    }

    /// Reads `len` bytes of metadata.
    ///
    /// # Errors
    /// `NC_EHDFERR` if the file has fewer, or if more metadata is read than a file of this size can have; I/O
    /// errors.
    pub(crate) fn read(&self, address: u64, len: u64) -> Result<Vec<u8>> {
        self.place(address, len)?;
        self.spend(len)?;
        self.read_again(address, len)
    }

    /// Counts bytes of metadata as read or kept.
    ///
    /// # Errors
    /// `NC_EHDFERR` if there are more than a file of this size can have.
    pub(crate) fn spend(&self, bytes: u64) -> Result<()> {
        let spent =
            self.left.fetch_update(Ordering::Relaxed, Ordering::Relaxed, |left| left.checked_sub(bytes));
        spent.map(drop).map_err(|_| damaged("more metadata than a file of this size can have"))
    }

    /// As [`HdfFile::read`], for bytes that may be read many times. They are not counted.
    pub(crate) fn read_again(&self, address: u64, len: u64) -> Result<Vec<u8>> {
        let start = self.place(address, len)?;
        let room = usize::try_from(len).map_err(|_| ErrorKind::NoMem.context(format!("{len} bytes")))?;
        let mut bytes = Vec::new();
        bytes
            .try_reserve_exact(room)
            .map_err(|error| ErrorKind::NoMem.context("metadata").caused_by(error))?;
        if let Some(all) = self.store.as_bytes() {
            // The range is inside the file, and the file is in memory.
            bytes.extend_from_slice(&all[start as usize..][..room]);
            return Ok(bytes);
        }
        if len > BLOCK || self.is_remote() {
            bytes.resize(room, 0);
            self.fill(start, &mut bytes)?;
            return Ok(bytes);
        }
        let mut at = start;
        while bytes.len() < room {
            let block = self.block(at / BLOCK)?;
            let part = block.get((at % BLOCK) as usize..).unwrap_or(&[]);
            let part = &part[..part.len().min(room - bytes.len())];
            if part.is_empty() {
                return Err(ErrorKind::Trunc.context(format!("the file is cut short at byte {at}")));
            }
            bytes.extend_from_slice(part);
            at += part.len() as u64;
        }
        Ok(bytes)
    }

    /// As [`HdfFile::read`], but shorter at the end of the file.
    pub(crate) fn read_most(&self, address: u64, len: u64) -> Result<Vec<u8>> {
        let left = self.len.saturating_sub(address.saturating_add(self.base));
        self.read(address, len.min(left))
    }

    /// Reads a structure that ends with its checksum, and returns it without the checksum.
    ///
    /// # Errors
    /// As [`HdfFile::read`]; `NC_EHDFERR` if the checksum does not match.
    pub(crate) fn checked(&self, address: u64, len: u64, what: &str) -> Result<Vec<u8>> {
        let mut bytes = self.read(address, len)?;
        let whole = bytes.len().saturating_sub(4);
        let found = lookup3(&bytes[..whole]);
        let stored = MetadataCursor::new(&bytes[whole..], "checksum").u32()?;
        if found != stored {
            return Err(damaged(format!(
                "{what} at address {address}: wrong checksum (expected {stored:08x}, found {found:08x})"
            )));
        }
        bytes.truncate(whole);
        Ok(bytes)
    }

    fn fill(&self, start: u64, bytes: &mut [u8]) -> Result<()> {
        let mut out = OutBuf::from_slice(bytes);
        self.store.read_at(start, &mut out)?;
        match out.remaining() {
            0 => Ok(()),
            left => {
                Err(ErrorKind::Trunc.context(format!("the file became shorter ({left} bytes are missing)")))
            }
        }
    }

    fn block(&self, number: u64) -> Result<Arc<[u8]>> {
        let lock = || self.blocks.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(block) = lock().get(&number) {
            return Ok(Arc::clone(block));
        }
        let start = number * BLOCK;
        let mut bytes = vec![0; BLOCK.min(self.len.saturating_sub(start)) as usize];
        self.fill(start, &mut bytes)?;
        let block: Arc<[u8]> = bytes.into();
        let mut blocks = lock();
        if blocks.len() >= KEPT {
            blocks.clear();
        }
        blocks.insert(number, Arc::clone(&block));
        Ok(block)
    }

    /// Returns the bytes needed for numbers up to `most`.
    pub(crate) fn bytes_for(most: u64) -> u8 {
        (most.max(1).ilog2() / 8 + 1) as u8
    }
}

/// Limits a walk through structures that refer to one another. A walk that exceeds it runs in a circle.
#[derive(Debug)]
pub(crate) struct WalkBudget(u64);

impl WalkBudget {
    /// A budget for structures of at least `least` bytes.
    pub(crate) fn new(file: &HdfFile, least: u64) -> Self {
        Self(file.len / least + 16)
    }

    pub(crate) fn spend(&mut self, what: &str) -> Result<()> {
        self.0 = self
            .0
            .checked_sub(1)
            .ok_or_else(|| damaged(format!("{what}: more than a file of this size can have")))?;
        Ok(())
    }
}
