//! Every method of a wrapper calls the same method of the inner map, once, and no other. So the fast methods
//! of the inner map stay in use.

use std::collections::BTreeMap;
use std::sync::Arc;

use nczarr_model::ErrorKind;
use nczarr_storage::batch::Ranges;
use nczarr_storage::{ByteRange, OutBuf, Precondition, Version, WriteOutcome, ZMap, ZMapExt};
use nczarr_zmap_wrap::{Cached, Counting, Keep, Op, ReadOnly, Slow};

use crate::recorder::{CAPS, MAX_KEY, MAX_SEGMENT, Recorder};
use crate::{Batch, World, key};

/// Calls one method. Checks the recorder's answer, or returns its error.
fn call(map: &dyn ZMap, op: Op) -> nczarr_model::Result<()> {
    // Different keys, so that no cached answer serves another.
    let at = key(op.name());
    let mut out = Vec::new();
    match op {
        Op::Len => assert_eq!(map.len(&at)?, Some(11)),
        Op::Read => {
            assert!(map.read(&at, ByteRange::ALL, &mut out)?);
            assert_eq!(out, b"read");
        }
        Op::ReadInto => {
            let mut memory = [0; 9];
            let mut into = OutBuf::from_slice(&mut memory);
            assert!(map.read_into(&at, 3, &mut into)?);
            assert_eq!(into.filled(), b"into");
        }
        Op::ReadVersioned => {
            let version: Option<Version> = map.read_versioned(&at, 100, &mut out)?;
            assert_eq!((version.unwrap().get(), &out[..]), (Some(&7u8), &b"versioned"[..]));
        }
        Op::ReadBatch => {
            let job = Batch::reads(&[("batch", Ranges::All)]);
            map.read_batch(&job);
            assert_eq!(job.fetched().remove(0).1?.unwrap(), b"batch");
        }
        Op::Search => assert_eq!(map.children(&at)?, ["search"]),
        Op::Names => assert_eq!(map.possible_children(&at)?, ["names"]),
        Op::List => assert_eq!(map.keys(&at)?, [key("list")]),
        Op::ListOnce => assert_eq!(map.keys_in_one_request(&at)?, Some(vec![key("once")])),
        Op::Write => map.write(&at, b"x")?,
        Op::WriteIf => {
            assert!(matches!(map.write_if(&at, b"x", &Precondition::Absent)?, WriteOutcome::Conflict))
        }
        Op::Update => {
            let mut seen = None;
            map.update(&at, 100, &mut |old, _| {
                seen = old.map(<[u8]>::to_vec);
                Ok(())
            })?;
            assert_eq!(seen.unwrap(), b"old");
        }
        Op::WriteBatch => {
            let job = Batch::writes(&["x"]);
            map.write_batch(&job);
            assert!(matches!(job.outcomes().remove(0).1?, WriteOutcome::Conflict));
        }
        Op::Delete => assert!(map.delete(&at)?),
        Op::Rename => map.rename(&at, &key("to"))?,
        Op::Sync => map.sync()?,
        Op::Close => map.close()?,
    }
    Ok(())
}

/// A layer that changes nothing.
#[derive(Debug)]
struct Unchanged(Arc<dyn ZMap>);

impl nczarr_storage::Layer for Unchanged {
    fn inner(&self) -> &dyn ZMap {
        &*self.0
    }
}

#[test]
fn every_method_is_forwarded_to_its_counterpart() {
    let world = World::new();
    let keep = Keep { absent: true, ..Keep::bytes(1 << 20) };
    type Make<'m> = &'m dyn Fn(Arc<dyn ZMap>) -> Arc<dyn ZMap>;
    let wrappers: [(&str, Make<'_>); 5] = [
        ("nothing changed", &|map| Arc::new(Unchanged(map))),
        ("counting", &|map| Arc::new(Counting::new(map))),
        ("slow", &|map| Arc::new(Slow::new(map))),
        ("cached", &|map| Arc::new(Cached::in_memory(map, keep))),
        ("cached on disk", &|map| Arc::new(Cached::on_disk(map, &world.path(), "x", keep).unwrap())),
    ];
    for (name, wrap) in wrappers {
        let recorder = Arc::new(Recorder::default());
        let map = wrap(recorder.clone());
        assert_eq!((map.caps(), map.image().unwrap()), (CAPS, b"image".to_vec()), "{name}");
        for op in Op::ALL {
            call(&*map, op).unwrap();
            assert_eq!(recorder.take(), BTreeMap::from([(op, 1)]), "{name}: {op}");
        }
    }
}

#[test]
fn a_read_only_view_forwards_only_reads() {
    let recorder = Arc::new(Recorder::default());
    let map = ReadOnly::new(recorder.clone());
    for op in Op::ALL {
        let outcome = call(&map, op);
        if Op::WRITES.contains(&op) || op == Op::ReadVersioned {
            assert_eq!(outcome.unwrap_err().kind(), ErrorKind::Perm, "{op}");
            assert_eq!(recorder.take(), BTreeMap::new(), "{op}");
        } else {
            outcome.unwrap();
            assert_eq!(recorder.take(), BTreeMap::from([(op, 1)]), "{op}");
        }
    }
    assert_eq!(map.image().unwrap(), b"image");
    assert_eq!((map.caps().max_key, map.caps().max_segment), (Some(MAX_KEY), Some(MAX_SEGMENT)));
    assert!(map.caps().range_read && map.caps().remote && !map.caps().write);
}

#[test]
fn methods_have_their_places() {
    for (i, op) in Op::ALL.into_iter().enumerate() {
        assert_eq!(op as usize, i, "{op}");
    }
    assert_eq!((Op::READS.len(), Op::WRITES.len()), (9, 6));
    assert_eq!((Op::WRITES[0], Op::WRITES[5]), (Op::Write, Op::Rename));
}
