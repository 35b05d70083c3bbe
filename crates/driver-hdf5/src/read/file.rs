//! [`Hdf`]: a file as its structures see it: addresses from the superblock on, and the sizes of numbers.
//!
//! What is read of metadata comes out of blocks that are kept. Raw data are read past them.

use std::collections::HashMap;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex, PoisonError};

use nczarr_chunkio::ByteStore as _;
use nczarr_dispatch::OutBuf;
use nczarr_model::{ErrorKind, Result};

use super::cursor::{Cursor, bad};
use super::external::Beside;
use super::global_heap::GlobalHeap;
use super::paths::Goals;
use super::shared::SharedTable;
use super::store::Store;
use crate::lookup3::lookup3;

/// Bytes of a block that is kept.
const BLOCK: u64 = 64 << 10;

/// Blocks that are kept.
const KEPT: usize = 256;

/// How often each byte of a file may be read as metadata: shared headers and types, and what is kept of an index, count too.
pub(super) const TIMES: u64 = 16;

/// Bytes of metadata that may be read of any file beyond that.
const SPARE: u64 = 32 << 20;

/// An open file.
#[derive(Debug)]
pub(crate) struct Hdf {
    pub(crate) store: Arc<Store>,
    /// Bytes in the file.
    pub(crate) len: u64,
    /// Where address 0 is.
    pub(crate) base: u64,
    /// Bytes of an address.
    pub(crate) offsets: u8,
    /// Bytes of a length.
    pub(crate) lengths: u8,
    /// Messages that objects share.
    pub(crate) shared: SharedTable,
    /// Files beside it that hold some of its data.
    pub(super) beside: Beside,
    /// What was read of its global heap.
    pub(super) heap: GlobalHeap,
    /// The root group's object header.
    pub(crate) root: u64,
    /// Groups that paths went through.
    pub(super) passed: Mutex<HashMap<u64, Arc<Goals>>>,
    blocks: Mutex<HashMap<u64, Arc<[u8]>>>,
    /// Bytes of metadata that may still be read. Sound files have each structure once; a damaged one might name the same
    /// megabyte a thousand times.
    left: AtomicU64,
}

/// Bytes of metadata that may be read of a file of that length.
fn allowance(len: u64) -> u64 {
    len.saturating_mul(TIMES).saturating_add(SPARE)
}

impl Hdf {
    /// A file of which nothing is known yet.
    pub(crate) fn new(store: Arc<Store>) -> Result<Self> {
        let len = store.size()?;
        let left = AtomicU64::new(allowance(len));
        Ok(Self {
            store,
            len,
            base: 0,
            offsets: 8,
            lengths: 8,
            shared: SharedTable::default(),
            beside: Beside::default(),
            heap: GlobalHeap::default(),
            root: 0,
            passed: Mutex::default(),
            blocks: Mutex::default(),
            left,
        })
    }

    /// The same file, before anything was read.
    pub(crate) fn anew(&self) -> Self {
        let left = AtomicU64::new(allowance(self.len));
        Self {
            store: Arc::clone(&self.store),
            len: self.len,
            base: self.base,
            offsets: self.offsets,
            lengths: self.lengths,
            shared: SharedTable::default(),
            beside: Beside::default(),
            heap: GlobalHeap::default(),
            root: self.root,
            passed: Mutex::default(),
            blocks: Mutex::default(),
            left,
        }
    }

    /// Whether each read of it may be a request.
    pub(crate) fn is_elsewhere(&self) -> bool {
        matches!(*self.store, Store::Elsewhere(..))
    }

    /// Says which bytes will be read soon, as addresses and lengths: of a file elsewhere they are asked for at once.
    pub(crate) fn expect(&self, ranges: impl IntoIterator<Item = (u64, u64)>) {
        if !self.is_elsewhere() {
            return;
        }
        self.store.expect(ranges.into_iter().filter_map(|(address, len)| {
            let start = address.checked_add(self.base).filter(|&start| start < self.len)?;
            Some(start..start.saturating_add(len))
        }));
    }

    /// The place in the store of an address.
    ///
    /// # Errors
    /// `NC_EHDFERR` if `len` bytes from there are not in the file.
    pub(crate) fn place(&self, address: u64, len: u64) -> Result<u64> {
        let start = address.checked_add(self.base);
        match start.filter(|start| start.checked_add(len).is_some_and(|end| end <= self.len)) {
            Some(start) => Ok(start),
            None => Err(bad(format!("{len} bytes at address {address}: the file has {}", self.len))),
        }
    }

    /// Bytes of metadata at an address.
    ///
    /// # Errors
    /// `NC_EHDFERR` if they are not in the file, or more is read than a file of this size can have; what the storage says.
    pub(crate) fn read(&self, address: u64, len: u64) -> Result<Vec<u8>> {
        self.place(address, len)?;
        self.spend(len)?;
        self.read_again(address, len)
    }

    /// Counts bytes of metadata that are read, or kept of what was read.
    ///
    /// # Errors
    /// `NC_EHDFERR` if they are more than a file of this size can have.
    pub(crate) fn spend(&self, bytes: u64) -> Result<()> {
        let spent = self.left.fetch_update(Ordering::Relaxed, Ordering::Relaxed, |left| left.checked_sub(bytes));
        spent.map(drop).map_err(|_| bad("more metadata than a file of this size can have"))
    }

    /// As [`Hdf::read`], for what may be read many times: it is not counted.
    pub(crate) fn read_again(&self, address: u64, len: u64) -> Result<Vec<u8>> {
        let start = self.place(address, len)?;
        let room = usize::try_from(len).map_err(|_| ErrorKind::NoMem.context(format!("{len} bytes")))?;
        let mut bytes = Vec::new();
        bytes.try_reserve_exact(room).map_err(|error| ErrorKind::NoMem.context("metadata").caused_by(error))?;
        if let Some(all) = self.store.as_bytes() {
            // In the file, hence in memory.
            bytes.extend_from_slice(&all[start as usize..][..room]);
            return Ok(bytes);
        }
        if len > BLOCK || self.is_elsewhere() {
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
                return Err(ErrorKind::Trunc.context(format!("the file ends at {at}")));
            }
            bytes.extend_from_slice(part);
            at += part.len() as u64;
        }
        Ok(bytes)
    }

    /// As [`Hdf::read`], fewer bytes where the file ends.
    pub(crate) fn read_most(&self, address: u64, len: u64) -> Result<Vec<u8>> {
        let left = self.len.saturating_sub(address.saturating_add(self.base));
        self.read(address, len.min(left))
    }

    /// A structure whose last four bytes are the checksum of the others; without them.
    ///
    /// # Errors
    /// As [`Hdf::read`]; `NC_EHDFERR` if it is another one.
    pub(crate) fn checked(&self, address: u64, len: u64, what: &str) -> Result<Vec<u8>> {
        let mut bytes = self.read(address, len)?;
        let whole = bytes.len().saturating_sub(4);
        let found = lookup3(&bytes[..whole]);
        let stored = Cursor::new(&bytes[whole..], "checksum").u32()?;
        if found != stored {
            return Err(bad(format!(
                "{what} at address {address}: its checksum is {stored:08x}, that of its bytes {found:08x}"
            )));
        }
        bytes.truncate(whole);
        Ok(bytes)
    }

    fn fill(&self, start: u64, bytes: &mut [u8]) -> Result<()> {
        let mut out = OutBuf::over(bytes);
        self.store.read_at(start, &mut out)?;
        match out.room() {
            0 => Ok(()),
            left => Err(ErrorKind::Trunc.context(format!("{left} bytes are missing that were there before"))),
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

    /// Bytes that hold the numbers up to `most`.
    pub(crate) fn bytes_for(most: u64) -> u8 {
        (most.max(1).ilog2() / 8 + 1) as u8
    }
}

/// A limit for a walk through structures that lead to one another: more of them than the file can have is a circle.
#[derive(Debug)]
pub(crate) struct Budget(u64);

impl Budget {
    /// For structures of at least `least` bytes.
    pub(crate) fn new(file: &Hdf, least: u64) -> Self {
        Self(file.len / least + 16)
    }

    pub(crate) fn spend(&mut self, what: &str) -> Result<()> {
        self.0 = self.0.checked_sub(1).ok_or_else(|| bad(format!("{what}: there are more than the file can have")))?;
        Ok(())
    }
}
