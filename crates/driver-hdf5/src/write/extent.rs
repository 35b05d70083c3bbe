//! [`Piece`]: an array in one piece, which gets its place in the file when it is first written.
//!
//! Up to a mark all bytes are in the file; those beyond were never written, and read as the fill value. So whoever writes
//! an array from its start to its end writes it once.

use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use nczarr_chunkio::ByteStore;
use nczarr_dispatch::OutBuf;
use nczarr_model::{ErrorKind, Result};

use super::file::File;

/// An array in one piece.
#[derive(Debug)]
pub(super) struct Piece {
    file: Arc<File>,
    len: u64,
    /// One unwritten element.
    fill: Vec<u8>,
    state: Mutex<State>,
}

#[derive(Debug, Default)]
struct State {
    address: Option<u64>,
    /// Bytes from the start that are in the file, or are being written.
    mark: u64,
}

/// Fill values are written in steps of about so many bytes.
const STEP: u64 = 1 << 20;

impl Piece {
    pub(super) fn new(file: Arc<File>, len: u64, fill: Vec<u8>) -> Self {
        Self { file, len, fill, state: Mutex::default() }
    }

    /// It was there before.
    pub(super) fn stand(&self, address: u64) {
        *self.lock() = State { address: Some(address), mark: self.len };
    }

    /// Where it is, if it is anywhere; all of it is there then.
    ///
    /// # Errors
    /// What the system says.
    pub(super) fn settle(&self) -> Result<Option<u64>> {
        let mut state = self.lock();
        let Some(address) = state.address else { return Ok(None) };
        self.fill_to(address, &mut state, self.len)?;
        Ok(Some(address))
    }

    fn lock(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Its place, from now on at the latest.
    fn allocated(&self) -> Result<u64> {
        if let Some(address) = self.lock().address {
            return Ok(address);
        }
        // Before the state: who looks at all that metadata say comes in this order too.
        let _changing = self.file.change();
        let mut state = self.lock();
        match state.address {
            Some(address) => Ok(address),
            None => Ok(*state.address.insert(self.file.allocate(self.len)?)),
        }
    }

    /// Fill values from the mark to `end`.
    fn fill_to(&self, address: u64, state: &mut State, end: u64) -> Result<()> {
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

impl ByteStore for Piece {
    fn read_at(&self, offset: u64, out: &mut OutBuf<'_>) -> Result<()> {
        let (address, mark) = {
            let state = self.lock();
            (state.address, state.mark)
        };
        let mut at = offset;
        if let Some(address) = address
            && at < mark
        {
            let wanted = usize::try_from(mark - at).unwrap_or(usize::MAX).min(out.room());
            let found = out.limited(wanted, |out| self.file.read_at(address + at, out))?;
            if found < wanted {
                return Err(ErrorKind::Trunc.context("the file was cut short"));
            }
            at += found as u64;
        }
        let rest = usize::try_from(self.len.saturating_sub(at)).unwrap_or(usize::MAX).min(out.room());
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
            // Bytes that are to be written anyway; should that fail, the rest of them is there too.
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
