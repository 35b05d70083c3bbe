//! Injected faults and simulated time.

use std::sync::Arc;
use std::time::Duration;

use nczarr_model::{ErrorKind, Result};
use nczarr_storage::batch::Ranges;
use nczarr_storage::{ByteRange, OutBuf, Precondition, ZMap, ZMapExt};
use nczarr_zmap_mem::MemMap;
use nczarr_zmap_wrap::{Fault, Faults, Op, Slow, When};

use crate::{Batch, key, read};

fn over(inner: &Arc<MemMap>, op: Op, fault: Fault) -> Slow {
    Slow::new(inner.clone()).faults(Faults::new(0).with(&[op], When::Nth(2), fault))
}

/// Writes `value` at `a` by one method.
fn write(map: &dyn ZMap, op: Op, value: &[u8]) -> Result<()> {
    match op {
        Op::Write => map.write(&key("a"), value),
        Op::WriteIf => {
            let version = map.read_versioned(&key("a"), 100, &mut Vec::new())?;
            let expect = Precondition::unchanged(version);
            map.write_if(&key("a"), value, &expect).map(drop)
        }
        Op::Update => map.update(&key("a"), 100, &mut |_, new| {
            new.extend_from_slice(value);
            Ok(())
        }),
        _ => {
            let job = Batch::writes(&[str::from_utf8(value).unwrap()]);
            map.write_batch(&job);
            job.outcomes().remove(0).1.map(drop)
        }
    }
}

#[test]
fn a_write_fails_before_or_after_or_half_way() {
    let kind = ErrorKind::CantWrite;
    for op in [Op::Write, Op::WriteIf, Op::Update, Op::WriteBatch] {
        // A batch writes its key as text.
        let [first, second, third] =
            if op == Op::WriteBatch { ["a"; 3] } else { ["first.", "second", "third!"] };
        let half = &second[..second.len() / 2];
        let before = if op == Op::WriteBatch { "gone" } else { first };
        for (fault, expected) in [
            (Fault::Fail(kind), before),
            (Fault::Late(kind), second),
            (Fault::Torn(kind), half),
            (Fault::Short, second),
        ] {
            let inner = Arc::new(MemMap::new());
            let map = over(&inner, op, fault);
            write(&map, op, first.as_bytes()).unwrap();
            if op == Op::WriteBatch {
                inner.write(&key("a"), b"gone").unwrap();
            }
            match (fault, write(&map, op, second.as_bytes())) {
                (Fault::Short, outcome) => outcome.unwrap(),
                (_, outcome) => {
                    let error = outcome.unwrap_err();
                    assert_eq!(error.kind(), kind);
                    assert!(error.to_string().contains("\"a\""), "{error}");
                }
            }
            assert_eq!(read(&*inner, "a").unwrap(), expected.as_bytes(), "{op}, {fault:?}");
            write(&map, op, third.as_bytes()).unwrap();
            assert_eq!(read(&*inner, "a").unwrap(), third.as_bytes(), "{op}, {fault:?}");
        }
    }
}

/// Reads `a` by one method.
fn fetch(map: &dyn ZMap, op: Op) -> Result<Vec<u8>> {
    let mut out = Vec::new();
    match op {
        Op::Read => drop(map.read(&key("a"), ByteRange::ALL, &mut out)?),
        Op::ReadVersioned => drop(map.read_versioned(&key("a"), 100, &mut out)?),
        Op::ReadInto => {
            let mut memory = [0; 6];
            let mut into = OutBuf::from_slice(&mut memory);
            map.read_into(&key("a"), 0, &mut into)?;
            out = into.filled().to_vec();
        }
        _ => {
            let job = Batch::reads(&[("a", Ranges::All)]);
            map.read_batch(&job);
            out = job.fetched().remove(0).1?.unwrap();
        }
    }
    Ok(out)
}

#[test]
fn a_read_fails_or_is_short() {
    let inner = Arc::new(MemMap::from_objects([("a".to_owned(), "object")]).unwrap());
    let kind = ErrorKind::Access;
    for op in [Op::Read, Op::ReadVersioned, Op::ReadInto, Op::ReadBatch] {
        for fault in [Fault::Fail(kind), Fault::Late(kind), Fault::Torn(kind), Fault::Short] {
            let map = over(&inner, op, fault);
            let seen: Vec<_> = (0..3).map(|_| fetch(&map, op).map_err(|error| error.kind())).collect();
            let second = if fault == Fault::Short { Ok(b"obj".to_vec()) } else { Err(kind) };
            let sound = || Ok(b"object".to_vec());
            assert_eq!(seen, [sound(), second, sound()], "{op}, {fault:?}");
        }
    }
    for op in [Op::Len, Op::Search, Op::Names, Op::List, Op::Delete, Op::Rename, Op::Sync, Op::Close] {
        let map = Slow::new(inner.clone()).faults(Faults::new(0).with(
            Op::ALL.as_slice(),
            When::From(1),
            Fault::Fail(kind),
        ));
        let error = match op {
            Op::Len => map.len(&key("a")).map(drop),
            Op::Search => map.children(&key("a")).map(drop),
            Op::Names => map.possible_children(&key("a")).map(drop),
            Op::List => map.keys(&key("a")).map(drop),
            Op::Delete => map.delete(&key("a")).map(drop),
            Op::Rename => map.rename(&key("a"), &key("b")),
            Op::Sync => map.sync(),
            _ => map.close(),
        };
        assert_eq!(error.unwrap_err().kind(), kind, "{op}");
    }
    assert_eq!(read(&*inner, "a").unwrap(), b"object");
}

#[test]
fn latencies_add_up_without_sleeping() {
    let (hour, second) = (Duration::from_secs(3600), Duration::from_secs(1));
    let map = Slow::new(Arc::new(MemMap::new())).per_request(hour).per_byte(second);
    map.write(&key("a"), &[0; 100]).unwrap();
    assert_eq!(map.elapsed(), hour + second * 100);
    assert!(map.exists(&key("a")).unwrap());
    map.read_batch(&Batch::reads(&[("a", Ranges::Suffix(7)), ("b", Ranges::All)]));
    assert_eq!(map.elapsed(), hour * 4 + second * 107);
    map.write_batch(&Batch::writes(&["abc"]));
    map.update(&key("a"), 100, &mut |_, new| {
        new.push(1);
        Ok(())
    })
    .unwrap();
    assert_eq!(map.elapsed(), hour * 6 + second * (107 + 3 + 101));
    // A caller may choose to wait.
    let map = Slow::new(Arc::new(MemMap::new())).per_request(Duration::from_nanos(1)).sleeping();
    map.sync().unwrap();
    assert_eq!(map.elapsed(), Duration::from_nanos(1));
}
