//! Copies the data of a file to another layout.
//!
//! Source and target are different stores, so uncopied data are never overwritten.

use nczarr_chunkio::ByteStore as _;
use nczarr_model::{ErrorKind, Result};

use crate::file_state::{FileState, VarPlacement};
use crate::fill;
use crate::store::FileStore;

/// The approximate memory for copying, in bytes.
const BUDGET: u64 = 4 << 20;

/// Copies the data of all variables of `old`, and fills those that only `new` has. All of `old` is ready.
///
/// # Errors
/// `NC_ETRUNC` if data are missing in the old file; otherwise the storage's error.
pub(crate) fn all(old: &FileState, new: &FileState, records: u64) -> Result<()> {
    for (at, here) in new.vars.iter().enumerate().filter(|(_, here)| !here.slot.record) {
        match old.vars.get(at) {
            Some(from) => run(&old.store, from.slot.begin, &new.store, here.slot.begin, from.own)?,
            None => empty(new, here, 0)?,
        }
    }
    let recsize = new.layout.recsize;
    if records == 0 || recsize == 0 {
        return Ok(());
    }
    if same_records(old, new) {
        return run(&old.store, old.layout.begin_rec, &new.store, new.layout.begin_rec, recsize * records);
    }
    if recsize.max(old.layout.recsize) <= BUDGET {
        return in_blocks(old, new, records);
    }
    for record in 0..records {
        for (at, here) in new.vars.iter().enumerate().filter(|(_, here)| here.slot.record) {
            match old.vars.get(at) {
                Some(from) => {
                    empty_padding(new, here, record)?;
                    let len = from.own.min(here.own);
                    run(&old.store, old.offset(from, record), &new.store, new.offset(here, record), len)?;
                }
                None => empty(new, here, record)?,
            }
        }
    }
    Ok(())
}

/// Whether both layouts have the same records.
fn same_records(old: &FileState, new: &FileState) -> bool {
    let parts = |of: &FileState| {
        let records = of.vars.iter().filter(|here| here.slot.record);
        records.map(|here| (here.slot.begin - of.layout.begin_rec, here.own)).collect::<Vec<_>>()
    };
    old.layout.recsize == new.layout.recsize && parts(old) == parts(new)
}

/// Copies `len` bytes.
fn run(from: &FileStore, mut start: u64, to: &FileStore, mut target: u64, mut len: u64) -> Result<()> {
    while len > 0 {
        let bytes = part(from, start, len.min(BUDGET))?;
        to.write_at(target, &bytes)?;
        let done = bytes.len() as u64;
        (start, target, len) = (start + done, target + done, len - done);
    }
    Ok(())
}

/// Reads `len` bytes; padding at the end of the file may be missing.
fn part(from: &FileStore, start: u64, len: u64) -> Result<Vec<u8>> {
    let mut bytes = from.read(start, len)?;
    let missing = len - bytes.len() as u64;
    if missing > 3 {
        return Err(ErrorKind::Trunc.context(format!(
            "byte {start}: unexpected end of the file (expected {len} bytes, {missing} are missing)"
        )));
    }
    bytes.resize(bytes.len() + missing as usize, 0);
    Ok(bytes)
}

/// Fills one record of a variable, or a whole fixed variable.
fn empty(new: &FileState, here: &VarPlacement, record: u64) -> Result<()> {
    match here.pattern.as_ref() {
        Some(pattern) => fill::write(&new.store, pattern, new.offset(here, record), here.own),
        None if here.own > 0 => new.store.write_at(new.offset(here, record) + here.own - 1, &[0]),
        None => Ok(()),
    }
}

fn empty_padding(new: &FileState, here: &VarPlacement, record: u64) -> Result<()> {
    let bytes = here.slot.bytes;
    match here.pattern.as_ref().filter(|_| here.own > bytes) {
        Some(pattern) => fill::write(&new.store, pattern, new.offset(here, record) + bytes, here.own - bytes),
        // The file extends to the end of its records.
        None if here.own > bytes => new.store.write_at(new.offset(here, record) + here.own - 1, &[0]),
        None => Ok(()),
    }
}

/// Rearranges records, many at a time.
fn in_blocks(old: &FileState, new: &FileState, records: u64) -> Result<()> {
    // Both sizes are within the budget.
    let (was, is) = (old.layout.recsize as usize, new.layout.recsize as usize);
    let mut empty = vec![0; is];
    let mut moves = Vec::new();
    for (at, here) in new.vars.iter().enumerate().filter(|(_, here)| here.slot.record) {
        let place = (here.slot.begin - new.layout.begin_rec) as usize;
        if let Some(pattern) = here.pattern.as_ref() {
            let fill = fill::block(pattern, here.own);
            for (byte, fill) in empty[place..place + here.own as usize].iter_mut().zip(fill.iter().cycle()) {
                *byte = *fill;
            }
        }
        if let Some(from) = old.vars.get(at) {
            let source = (from.slot.begin - old.layout.begin_rec) as usize;
            moves.push((source, place, from.own.min(here.own) as usize));
        }
    }
    let at_once = (BUDGET / is.max(was) as u64).max(1);
    let mut record = 0;
    while record < records {
        let count = at_once.min(records - record);
        let from = match was {
            // Without a record variable there is nothing to copy.
            0 => Vec::new(),
            was => part(&old.store, old.layout.begin_rec + record * was as u64, count * was as u64)?,
        };
        let mut to = empty.repeat(count as usize);
        for (number, to) in to.chunks_exact_mut(is).enumerate() {
            for &(source, place, len) in &moves {
                let source = number * was + source;
                to[place..place + len].copy_from_slice(&from[source..source + len]);
            }
        }
        new.store.write_at(new.layout.begin_rec + record * is as u64, &to)?;
        record += count;
    }
    Ok(())
}
