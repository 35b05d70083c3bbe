//! Checks batches: each ticket comes back once, with the right bytes.

use std::collections::HashMap;
use std::sync::Mutex;
use std::sync::atomic::{AtomicUsize, Ordering};

use nczarr_model::{ErrorKind, Result};
use nczarr_runtime::OutBuf;
use nczarr_storage::batch::{
    Payload, PutPart, Ranges, ReadJob, ReadOutcome, ReadTicket, WriteJob, WriteTicket,
};
use nczarr_storage::{ByteRange, Key, Precondition, Version, WriteOutcome, ZMap, ZMapExt};

use super::objects::get;
use super::{MapMaker, key, value};
use crate::failure::{Outcome, broken, fails, holds, ok, same, same_bytes};

pub(super) fn check(make: MapMaker<'_>) -> Outcome {
    for threads in [1, 4] {
        whole(&*make(), threads)?;
        parts(&*make(), threads)?;
        for in_parts in [false, true] {
            writes(&*make(), threads, in_parts)?;
        }
    }
    empty(&*make())
}

/// The result for one ticket.
#[derive(Debug)]
enum ReadResult {
    Absent,
    Bytes { bytes: Vec<u8>, in_place: bool, version: Option<Version> },
    Failed(nczarr_model::Error),
}

/// One read of a batch.
#[derive(Debug, Clone)]
struct BatchRead {
    key: Key,
    ranges: Ranges,
    hint: usize,
    limit: usize,
    versioned: bool,
    /// The size of the memory passed with the ticket, in bytes.
    into: Option<usize>,
}

/// Makes a plain read of the whole object `key`.
fn plain(key: Key) -> BatchRead {
    BatchRead { key, ranges: Ranges::All, hint: 0, limit: usize::MAX, versioned: false, into: None }
}

/// A batch over a list of reads that keeps the results.
struct RecordingBatch<'m> {
    pieces: &'m [BatchRead],
    memory: Vec<Mutex<Option<&'m mut [u8]>>>,
    threads: usize,
    next: AtomicUsize,
    back: Mutex<HashMap<usize, Vec<ReadResult>>>,
}

impl ReadJob for RecordingBatch<'_> {
    fn threads(&self) -> usize {
        self.threads
    }

    fn next<'j>(&'j self, key: &mut Key) -> Option<ReadTicket<'j>> {
        let index = self.next.fetch_add(1, Ordering::Relaxed);
        let piece = self.pieces.get(index)?;
        key.set(&piece.key);
        let into = self.memory[index]
            .lock()
            .expect("nothing panics while it is held")
            .take()
            .map(OutBuf::from_slice);
        let ticket = ReadTicket::new(index, piece.ranges.clone(), piece.limit);
        Some(ticket.hint(piece.hint).versioned(piece.versioned).into(into))
    }

    fn done(&self, ticket: ReadTicket<'_>, found: Result<Option<(ReadOutcome<'_>, Option<Version>)>>) {
        let back = match found {
            Err(error) => ReadResult::Failed(error),
            Ok(None) => ReadResult::Absent,
            Ok(Some((ReadOutcome::Bytes(bytes), version))) => {
                ReadResult::Bytes { bytes: bytes.to_vec(), in_place: false, version }
            }
            Ok(Some((ReadOutcome::InPlace, version))) => match &ticket.into {
                Some(into) => ReadResult::Bytes { bytes: into.filled().to_vec(), in_place: true, version },
                None => ReadResult::Failed(ErrorKind::Internal.context("in place without memory")),
            },
        };
        self.back
            .lock()
            .expect("nothing panics while it is held")
            .entry(ticket.index)
            .or_default()
            .push(back);
    }
}

/// Runs a batch; returns the results in the order of the reads.
fn run(map: &dyn ZMap, pieces: &[BatchRead], threads: usize) -> Outcome<Vec<ReadResult>> {
    let mut memory: Vec<_> = pieces.iter().map(|piece| piece.into.map(|len| vec![0xee; len])).collect();
    let memory = memory.iter_mut().map(|place| Mutex::new(place.as_deref_mut())).collect();
    let job = RecordingBatch { pieces, memory, threads, next: AtomicUsize::new(0), back: Mutex::default() };
    map.read_batch(&job);
    let taken = job.next.load(Ordering::Relaxed);
    holds("a batch takes tickets until there are none", taken > pieces.len())?;
    let mut back = job.back.into_inner().expect("nothing panics while it is held");
    let mut all = Vec::new();
    for (index, piece) in pieces.iter().enumerate() {
        let mut mine = back.remove(&index).unwrap_or_default();
        match (mine.pop(), mine.len()) {
            (Some(one), 0) => all.push(one),
            (last, more) => {
                return Err(broken(
                    format!("ticket of {piece:?} comes back once"),
                    1,
                    more + usize::from(last.is_some()),
                ));
            }
        }
    }
    Ok(all)
}

/// Checks the result of a read. Memory of the wrong size may cause a refusal, but never truncated bytes.
fn want_bytes(piece: &BatchRead, expected: &[u8], back: &ReadResult) -> Outcome {
    let to_the_end = matches!(piece.ranges, Ranges::All | Ranges::One(ByteRange { len: None, .. }));
    let overflows = to_the_end && piece.into.is_some_and(|room| room < expected.len());
    let placeable = !piece.versioned && matches!(piece.ranges, Ranges::All | Ranges::One(_));
    match back {
        ReadResult::Bytes { in_place: true, .. } if !placeable => {
            Err(broken(format!("the result of {piece:?}"), "bytes not in place", back))
        }
        ReadResult::Bytes { bytes, .. } => same_bytes(format!("the result of {piece:?}"), expected, bytes),
        ReadResult::Failed(error) if overflows && error.kind() == ErrorKind::Io => Ok(()),
        back => Err(broken(format!("the result of {piece:?}"), expected, back)),
    }
}

fn whole(map: &dyn ZMap, threads: usize) -> Outcome {
    let lens = [0, 1, 512, 1000, 4096, 8191, 8192, 8193, 40_000, 150_000];
    let (mut pieces, mut expected) = (Vec::new(), Vec::new());
    for (i, &len) in lens.iter().enumerate() {
        let key = key(&format!("whole/{i}"))?;
        ok("write", map.write(&key, &value(len)))?;
        let hints = [0, len, 100_000, len.saturating_sub(1), len + 1, 1 << 20, 100 << 20];
        // The longest ones take their time.
        for hint in hints.into_iter().take(if len > 50_000 { 3 } else { hints.len() }) {
            for into in [None, Some(0), Some(len.saturating_sub(1)), Some(len), Some(len + 1)] {
                for limit in [len, usize::MAX].into_iter().skip(usize::from(into.is_some())) {
                    pieces.push(BatchRead { hint, into, limit, ..plain(key.clone()) });
                    expected.push(value(len));
                }
            }
        }
    }
    let absent = pieces.len();
    pieces.push(plain(key("whole/absent")?));
    pieces.push(BatchRead { into: Some(10_000), ..plain(key("absent/1")?) });
    pieces.push(BatchRead { ranges: Ranges::Suffix(4), ..plain(key("absent/1")?) });
    let failing = pieces.len();
    pieces.push(plain(key("whole")?));
    pieces.push(BatchRead { into: Some(10_000), hint: 10_000, ..plain(key("whole")?) });
    pieces.push(BatchRead { ranges: Ranges::One(ByteRange::first(4)), ..plain(key("whole")?) });
    let limited = pieces.len();
    for into in [None, Some(40_000)] {
        for hint in [0, 39_999, 40_000, 50_000] {
            pieces.push(BatchRead { limit: 39_999, hint, into, ..plain(key("whole/8")?) });
        }
    }
    for hint in [0, 100_000, 149_999, 150_000] {
        pieces.push(BatchRead { limit: 149_999, hint, ..plain(key("whole/9")?) });
    }
    let back = run(map, &pieces, threads)?;
    for ((piece, expected), back) in pieces.iter().zip(&expected).zip(&back) {
        want_bytes(piece, expected, back)?;
    }
    for (piece, back) in pieces[absent..failing].iter().zip(&back[absent..failing]) {
        holds(format!("{piece:?} is absent, found {back:?}"), matches!(back, ReadResult::Absent))?;
    }
    for (piece, back) in pieces[failing..limited].iter().zip(&back[failing..limited]) {
        let empty = matches!(back, ReadResult::Failed(error) if error.kind() == ErrorKind::Empty);
        let absent = map.caps().remote && matches!(back, ReadResult::Absent);
        holds(format!("{piece:?} is a prefix (NC_EEMPTY), found {back:?}"), empty || absent)?;
    }
    for (piece, back) in pieces[limited..].iter().zip(&back[limited..]) {
        // Memory of the right size needs no allocation, so the limit does not apply.
        let placed = matches!(back, ReadResult::Bytes { in_place: true, .. });
        holds(
            format!("{piece:?} is beyond its limit, found {back:?}"),
            placed || matches!(back, ReadResult::Failed(_)),
        )?;
    }
    Ok(())
}

fn parts(map: &dyn ZMap, threads: usize) -> Outcome {
    let (len, key) = (300_000_u64, key("parts")?);
    let bytes = value(len as usize);
    ok("write", map.write(&key, &bytes))?;
    let range = |offset, len| ByteRange { offset, len: Some(len) };
    let every = |offset, len, step, count| Ranges::Strided { first: range(offset, len), step, count };
    let list = |ranges: &[ByteRange]| Ranges::List(ranges.into());
    let table = [
        Ranges::One(ByteRange::ALL),
        Ranges::One(range(0, 1)),
        Ranges::One(range(5, 0)),
        Ranges::One(range(299_990, 20)),
        Ranges::One(range(300_000, 1)),
        Ranges::One(range(400_000, 10)),
        Ranges::One(range(10, u64::MAX - 10)),
        Ranges::One(ByteRange { offset: 299_000, len: None }),
        Ranges::One(ByteRange { offset: u64::MAX, len: None }),
        Ranges::Suffix(0),
        Ranges::Suffix(1),
        Ranges::Suffix(5000),
        Ranges::Suffix(300_001),
        Ranges::Suffix(u64::MAX),
        every(0, 4, 8, 1000),
        every(3, 128, 256, 1100),
        every(7, 100, 5000, 60),
        every(7, 100, 100, 60),
        every(7, 100, 50, 60),
        every(9, 3, 0, 4),
        every(299_000, 100, 150, 10),
        every(0, 0, 8, u32::MAX),
        every(0, 4, 8, 0),
        list(&[]),
        list(&[range(10, 10)]),
        list(&[
            range(100, 10),
            range(90, 10),
            range(90, 20),
            range(250_000, 7),
            range(250_008, 1),
            range(299_999, 9),
        ]),
        list(&[range(0, 0), range(5, 5), range(5, 0)]),
        list(&[range(0, 200_000), range(200_001, 99_999), range(200_100, 100_000)]),
        list(&[range(310_000, 10), range(0, 2)]),
    ];
    // A single range is cut at the end of the object; several must each lie inside it.
    let cut = |range: &ByteRange, whole: bool| {
        let from = range.offset.min(len);
        let to = from.saturating_add(range.len.unwrap_or(len)).min(len);
        let part = &bytes[from as usize..to as usize];
        (!whole || range.len == Some(part.len() as u64)).then_some(part)
    };
    let expected = |ranges: &Ranges| -> Option<Vec<u8>> {
        match ranges {
            Ranges::One(range) => cut(range, false).map(<[u8]>::to_vec),
            Ranges::Suffix(last) => Some(bytes[len.saturating_sub(*last) as usize..].to_vec()),
            Ranges::Strided { first: ByteRange { len: Some(0), .. }, .. } => Some(Vec::new()),
            Ranges::Strided { first, step, count } => {
                let parts = (0..u64::from(*count))
                    .map(|i| cut(&ByteRange { offset: first.offset + i * step, len: first.len }, true));
                parts.collect::<Option<Vec<_>>>().map(|parts| parts.concat())
            }
            Ranges::List(list) => {
                let parts = list.iter().filter(|range| range.len != Some(0)).map(|range| cut(range, true));
                parts.collect::<Option<Vec<_>>>().map(|parts| parts.concat())
            }
            _ => Some(bytes.clone()),
        }
    };
    let mut pieces = Vec::new();
    for ranges in &table {
        let want = expected(ranges).unwrap_or_default().len();
        for into in [None, Some(0), Some(want), Some(400_000)] {
            for (hint, versioned) in [(0, false), (want, map.caps().conditional_write)] {
                pieces.push(BatchRead {
                    ranges: ranges.clone(),
                    hint,
                    into,
                    versioned,
                    ..plain(key.clone())
                });
            }
        }
    }
    for (piece, back) in pieces.iter().zip(&run(map, &pieces, threads)?) {
        match (expected(&piece.ranges), back) {
            (Some(expected), back) => want_bytes(piece, &expected, back)?,
            (None, ReadResult::Failed(error)) if error.kind() == ErrorKind::Io => {}
            (None, back) => {
                return Err(broken(format!("a range of {piece:?} beyond the end"), "NC_EIO", back));
            }
        }
        if let (true, ReadResult::Bytes { version, .. }) = (piece.versioned, back) {
            holds(format!("{piece:?} brings a version"), version.is_some())?;
        }
    }
    let limited: Vec<_> = [
        Ranges::One(range(0, 100)),
        Ranges::Suffix(100),
        every(0, 10, 20, 10),
        list(&[range(0, 50), range(9, 50)]),
    ]
    .map(|ranges| BatchRead { ranges, limit: 99, ..plain(key.clone()) })
    .into();
    for (piece, back) in limited.iter().zip(&run(map, &limited, threads)?) {
        holds(
            format!("{piece:?} is beyond its limit, found {back:?}"),
            matches!(back, ReadResult::Failed(_)),
        )?;
    }
    Ok(())
}

fn empty(map: &dyn ZMap) -> Outcome {
    run(map, &[], 1)?;
    run(map, &[], 4).map(|_| ())
}

/// One write of a batch.
struct BatchWrite {
    key: Key,
    expect: Precondition,
    /// `None`: making the bytes fails.
    value: Option<Vec<u8>>,
    lent: bool,
}

/// The result of one write.
struct RecordingWrites<'p> {
    puts: &'p [BatchWrite],
    threads: usize,
    /// Whether values can be passed in parts.
    in_parts: bool,
    next: AtomicUsize,
    back: Mutex<HashMap<usize, Vec<Result<WriteOutcome>>>>,
}

impl WriteJob for RecordingWrites<'_> {
    fn threads(&self) -> usize {
        self.threads
    }

    fn next(&self, key: &mut Key) -> Option<WriteTicket> {
        let index = self.next.fetch_add(1, Ordering::Relaxed);
        let put = self.puts.get(index)?;
        key.set(&put.key);
        Some(WriteTicket { index, precondition: put.expect.clone() })
    }

    fn value(&self, index: usize, scratch: &mut Vec<u8>) -> Result<Payload<'_>> {
        let put = &self.puts[index];
        match &put.value {
            None => {
                scratch.extend_from_slice(b"half a value");
                Err(ErrorKind::Filter.context("cannot be made"))
            }
            Some(value) if put.lent => Ok(Payload::Borrowed(value)),
            Some(value) => {
                scratch.clear();
                scratch.extend_from_slice(value);
                Ok(Payload::Scratch)
            }
        }
    }

    fn has_parts(&self) -> bool {
        self.in_parts
    }

    fn parts(&self, index: usize, put: &mut PutPart<'_>) -> Result<()> {
        match &self.puts[index].value {
            None => {
                put(b"half a value")?;
                Err(ErrorKind::Filter.context("cannot be made"))
            }
            Some(value) => value.chunks(1000).try_for_each(put),
        }
    }

    fn done(&self, ticket: WriteTicket, outcome: Result<WriteOutcome>) {
        self.back
            .lock()
            .expect("nothing panics while it is held")
            .entry(ticket.index)
            .or_default()
            .push(outcome);
    }
}

fn put_all(
    map: &dyn ZMap,
    puts: &[BatchWrite],
    threads: usize,
    in_parts: bool,
) -> Outcome<Vec<Result<WriteOutcome>>> {
    let job = RecordingWrites { puts, threads, in_parts, next: AtomicUsize::new(0), back: Mutex::default() };
    map.write_batch(&job);
    let mut back = job.back.into_inner().expect("nothing panics while it is held");
    let mut all = Vec::new();
    for (index, put) in puts.iter().enumerate() {
        let mut mine = back.remove(&index).unwrap_or_default();
        same(format!("tickets back for the write of {}", put.key), 1, mine.len())?;
        all.extend(mine.pop());
    }
    Ok(all)
}

fn writes(map: &dyn ZMap, threads: usize, in_parts: bool) -> Outcome {
    let put = |key: Key, len: usize, lent| BatchWrite {
        key,
        expect: Precondition::Any,
        value: Some(value(len)),
        lent,
    };
    let mut puts = Vec::new();
    for i in 0..300_usize {
        // Runs of neighbours, and now and then another position.
        puts.push(put(key(&format!("w{threads}/{}/{i}", i / 50))?, i * i, i % 2 == 0));
        if i % 10 == 0 {
            puts.push(put(key(&format!("w{threads}/other/{i}"))?, 0, true));
        }
    }
    for (put, back) in puts.iter().zip(put_all(map, &puts, threads, in_parts)?) {
        match ok(format!("batch write of {}", put.key), back)? {
            WriteOutcome::Done(_) => {
                same(format!("read of {}", put.key), put.value.as_ref(), get(map, &put.key)?.as_ref())?
            }
            WriteOutcome::Conflict => {
                return Err(broken(format!("batch write of {}", put.key), "done", "lost"));
            }
        }
    }
    // Checks that errors are reported one by one, and the other writes go on.
    let puts = [
        put(key(&format!("w{threads}/a"))?, 10, false),
        BatchWrite { value: None, ..put(key(&format!("w{threads}/failing"))?, 0, false) },
        put(key(&format!("w{threads}/other"))?, 10, false),
        put(key(&format!("w{threads}/other/0/x"))?, 10, true),
        put(key(&format!("w{threads}/b"))?, 20, false),
    ];
    let back = put_all(map, &puts, threads, in_parts)?;
    let kinds: Vec<_> = back.iter().map(|back| back.as_ref().err().map(nczarr_model::Error::kind)).collect();
    let filter = Some(ErrorKind::Filter);
    let object = Some(ErrorKind::Object);
    let mut expected = vec![None, filter, object, object, None];
    if map.caps().remote {
        // A map with one request per operation need not check whether a key is a prefix.
        for (expected, found) in expected.iter_mut().zip(&kinds).filter(|(expected, _)| **expected == object)
        {
            *expected = expected.and(*found);
        }
    }
    same("failures in a batch of writes", expected, kinds)?;
    same("a failed write stores nothing", None, get(map, &puts[1].key)?)?;
    same("a write after a failure", puts[4].value.as_ref(), get(map, &puts[4].key)?.as_ref())?;
    if map.caps().conditional_write {
        let present = BatchWrite { expect: Precondition::Absent, ..put(puts[0].key.clone(), 5, false) };
        let absent =
            BatchWrite { expect: Precondition::Absent, ..put(key(&format!("w{threads}/c"))?, 5, true) };
        let version = ok("read_versioned", map.read_versioned(&puts[4].key, usize::MAX, &mut Vec::new()))?;
        let swap =
            BatchWrite { expect: Precondition::unchanged(version), ..put(puts[4].key.clone(), 6, false) };
        let puts = [present, absent, swap];
        let mut lost = Vec::new();
        for back in put_all(map, &puts, threads, in_parts)? {
            lost.push(matches!(ok("conditional batch write", back)?, WriteOutcome::Conflict));
        }
        same("the lost conditional writes of a batch", vec![true, false, false], lost)?;
        same("a conditional write of a batch", Some(value(6)), get(map, &puts[2].key)?)?;
    } else {
        let refused =
            BatchWrite { expect: Precondition::Absent, ..put(key(&format!("w{threads}/c"))?, 5, true) };
        for back in put_all(map, &[refused], threads, in_parts)? {
            fails("a conditional batch write without the capability", &[ErrorKind::Perm], back)?;
        }
    }
    Ok(())
}
