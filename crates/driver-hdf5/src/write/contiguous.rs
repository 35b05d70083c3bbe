//! [`ContiguousData`]: a contiguous array, which gets its space at the first write.
//!
//! All bytes up to `mark` are in the file. Bytes beyond it were never written, and read as fill value. So
//! sequential writing writes each byte once.

use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use nczarr_chunkio::ByteStore;
use nczarr_model::{ErrorKind, Result};
use nczarr_runtime::OutBuf;

use super::file::WritableFile;

/// A contiguous array.
#[derive(Debug)]
pub(super) struct ContiguousData {
    file: Arc<WritableFile>,
    len: u64,
    /// One unwritten element.
    fill: Vec<u8>,
    state: Mutex<ContiguousState>,
}

#[derive(Debug, Default)]
struct ContiguousState {
    address: Option<u64>,
    /// Number of leading bytes that are in the file, or being written.
    mark: u64,
}

/// Approximate bytes of fill values written at once.
const STEP: u64 = 1 << 20;

impl ContiguousData {
    pub(super) fn new(file: Arc<WritableFile>, len: u64, fill: Vec<u8>) -> Self {
        Self { file, len, fill, state: Mutex::default() }
    }

    /// Sets the address of data that the file already has.
    pub(super) fn set_existing(&self, address: u64) {
        *self.lock() = ContiguousState { address: Some(address), mark: self.len };
    }

    /// Returns the address, if allocated, after writing all fill values that are missing.
    ///
    /// # Errors
    /// I/O errors.
    pub(super) fn settle(&self) -> Result<Option<u64>> {
        let mut state = self.lock();
        let Some(address) = state.address else { return Ok(None) };
        self.fill_to(address, &mut state, self.len)?;
        Ok(Some(address))
    }

    fn lock(&self) -> MutexGuard<'_, ContiguousState> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Returns the address. Allocates space if necessary.
    fn allocated(&self) -> Result<u64> {
        if let Some(address) = self.lock().address {
            return Ok(address);
        }
        // Locked before the state, in the same order as a commit does.
        let _changing = self.file.change();
        let mut state = self.lock();
        match state.address {
            Some(address) => Ok(address),
            None => Ok(*state.address.insert(self.file.allocate(self.len)?)),
        }
    }

    /// Writes fill values from the mark to `end`.
    fn fill_to(&self, address: u64, state: &mut ContiguousState, end: u64) -> Result<()> {
        let item = self.fill.len().max(1) as u64;
        let whole = self.fill.repeat((STEP / item).max(1) as usize);
        while state.mark < end {
            let at = (state.mark % item) as usize;
            let count = (end - state.mark).min((whole.len() - at) as u64);
            self.file.write_at(address + state.mark, &whole[at..at + count as usize])?;
            state.mark += count;
        }
        Ok(())
    }
}

impl ByteStore for ContiguousData {
    fn read_at(&self, offset: u64, out: &mut OutBuf<'_>) -> Result<()> {
        let (address, mark) = {
            let state = self.lock();
            (state.address, state.mark)
        };
        let mut at = offset;
        if let Some(address) = address
            && at < mark
        {
            let wanted = usize::try_from(mark - at).unwrap_or(usize::MAX).min(out.remaining());
            let found = out.fill_limited(wanted, |out| self.file.read_at(address + at, out))?;
            if found < wanted {
                return Err(ErrorKind::Trunc.context("the file became shorter"));
            }
            at += found as u64;
        }
        let rest = usize::try_from(self.len.saturating_sub(at)).unwrap_or(usize::MAX).min(out.remaining());
        let from = (at % self.fill.len().max(1) as u64) as usize;
        out.extend(self.fill.iter().copied().cycle().skip(from).take(rest))
    }

    fn write_at(&self, offset: u64, bytes: &[u8]) -> Result<()> {
        let end = offset + bytes.len() as u64;
        let address = self.allocated()?;
        let mut state = self.lock();
        if offset > state.mark {
            self.fill_to(address, &mut state, offset)?;
        }
        if end > state.mark {
            // The bytes are being written. If that fails, the mark moves back.
            state.mark = end;
            drop(state);
            let written = self.file.write_at(address + offset, bytes);
            if written.is_err() {
                let mut state = self.lock();
                state.mark = state.mark.min(offset);
            }
            return written;
        }
        drop(state);
        self.file.write_at(address + offset, bytes)
    }

    fn size(&self) -> Result<u64> {
        Ok(self.len)
    }
}
