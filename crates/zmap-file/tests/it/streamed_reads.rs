//! Reads objects piece by piece.

use std::fs;
use std::sync::Mutex;
use std::sync::atomic::{AtomicUsize, Ordering};

use nczarr_model::{ErrorKind, Result};
use nczarr_storage::batch::{ObjectSink, Ranges, ReadJob, ReadOutcome, ReadTicket};
use nczarr_storage::{Key, MapOptions, Version, ZMap};
use nczarr_zmap_file::FileMap;

/// Reads one object in pieces of these lengths.
struct Job {
    wants: &'static [usize],
    next: AtomicUsize,
    /// The received pieces.
    came: Mutex<Vec<Vec<u8>>>,
    /// Whether the object exists.
    found: Mutex<Option<Result<bool>>>,
}

struct Taken<'j>(&'j Job);

impl ObjectSink for Taken<'_> {
    fn wants(&self) -> usize {
        let came = self.0.came.lock().unwrap().len();
        self.0.wants.get(came).copied().unwrap_or(0)
    }

    fn take(&mut self, piece: &[u8]) -> Result<()> {
        self.0.came.lock().unwrap().push(piece.to_vec());
        if piece == b"bad" { Err(ErrorKind::Filter.context("bad")) } else { Ok(()) }
    }
}

impl ReadJob for Job {
    fn threads(&self) -> usize {
        1
    }

    fn next<'j>(&'j self, key: &mut Key) -> Option<ReadTicket<'j>> {
        key.set(&Key::new("x").unwrap());
        let first = self.next.fetch_add(1, Ordering::Relaxed) == 0;
        let ticket = ReadTicket::new(0, Ranges::All, 100).hint(9);
        first.then_some(ticket)
    }

    fn sink<'j>(&'j self, _: &ReadTicket<'_>) -> Option<Box<dyn ObjectSink + 'j>> {
        Some(Box::new(Taken(self)))
    }

    fn done(&self, ticket: ReadTicket<'_>, found: Result<Option<(ReadOutcome<'_>, Option<Version>)>>) {
        assert!(ticket.into.is_none());
        let found = found.map(|found| {
            assert!(found.as_ref().is_none_or(|(found, _)| matches!(found, ReadOutcome::InPlace)));
            found.is_some()
        });
        *self.found.lock().unwrap() = Some(found);
    }
}

fn take(map: &FileMap, wants: &'static [usize]) -> (Vec<Vec<u8>>, Result<bool>) {
    let job = Job { wants, next: AtomicUsize::new(0), came: Mutex::default(), found: Mutex::default() };
    map.read_batch(&job);
    (job.came.into_inner().unwrap(), job.found.into_inner().unwrap().unwrap())
}

#[test]
fn an_object_comes_in_the_pieces_that_are_wanted() {
    let scratch = tempfile::tempdir().unwrap();
    let map = FileMap::open(scratch.path(), false, &MapOptions::default()).unwrap();
    assert!(matches!(take(&map, &[1]), (came, Ok(false)) if came.is_empty()), "there is none");
    let object = scratch.path().join("x");
    fs::create_dir(&object).unwrap();
    assert!(matches!(take(&map, &[1]), (came, Ok(false)) if came.is_empty()), "a directory");
    fs::remove_dir(&object).unwrap();
    fs::write(&object, "0123456789").unwrap();
    for (wants, expected) in [
        (&[3, 5, 3][..], &["012", "34567", "89"][..]),
        (&[11], &["0123456789"]),
        (&[10], &["0123456789"]),
        (&[2, 3], &["01", "234"]),
        (&[4, 6, 1], &["0123", "456789", ""]),
        (&[20, 1], &["0123456789"]),
        (&[], &[]),
    ] {
        let (came, found) = take(&map, wants);
        assert!(found.unwrap());
        assert_eq!(
            came,
            expected.iter().map(|piece| piece.as_bytes().to_vec()).collect::<Vec<_>>(),
            "{wants:?}"
        );
    }
    let large: Vec<u8> = (0..3_000_000u32).map(|i| (i.wrapping_mul(i) >> 5) as u8).collect();
    fs::write(&object, &large).unwrap();
    let (came, found) = take(&map, &[1_000_000, 8192, 1_991_808, 1]);
    assert!(found.unwrap() && came.concat() == large && came.len() == 4);
    fs::write(&object, "").unwrap();
    assert!(matches!(take(&map, &[1]), (came, Ok(true)) if came == [b""]), "empty");
    fs::write(&object, "badly").unwrap();
    let (came, found) = take(&map, &[3, 3]);
    assert_eq!((came.len(), found.unwrap_err().kind()), (1, ErrorKind::Filter), "what a piece is, is said");
}
