//! Large objects in parts: request counts, faults, and concurrent writers.

use nczarr_storage::{Precondition, WriteOutcome, ZMap as _, ZMapExt};
use nczarr_zmap_s3::S3Map;
use s3_server::{Config, Fault, Op, Rule, Server, content};

use crate::common::{access, key};

/// Objects larger than this are uploaded in parts of this size.
const ABOVE: u64 = 10_000;
const PART: u64 = 4_000;

fn map(server: &Server) -> S3Map {
    let mut access = access(server, "set");
    (access.multipart_above, access.part) = (ABOVE, PART);
    access.retries.stall = std::time::Duration::from_millis(500);
    S3Map::open(access, true).unwrap()
}

#[test]
fn large_objects_are_uploaded_in_parts() {
    let server = Server::start(Config::default());
    let map = map(&server).exclusive(true);
    for (len, parts) in [(0, 0), (ABOVE, 0), (ABOVE + 1, 3), (12_000, 3), (25_000, 7)] {
        let value = content(len as usize, len as usize);
        server.clear_log();
        map.write(&key("big"), &value).unwrap();
        assert!(server.get("bucket", "set/big").unwrap() == value, "{len}");
        let counts = server.counts();
        let of = [
            counts.of(Op::Put),
            counts.of(Op::UploadBegin),
            counts.of(Op::UploadPart),
            counts.of(Op::UploadEnd),
        ];
        let expected = if parts == 0 { [1, 0, 0, 0] } else { [0, 1, parts, 1] };
        assert_eq!(of, expected, "{len}");
        assert_eq!(counts.total(), expected.iter().sum::<u64>(), "{len}");
        assert_eq!(server.uploads(), 0);
    }
}

#[test]
fn conditions_hold_for_parts_too() {
    let server = Server::start(Config::default());
    let map = map(&server);
    let (first, second, third) = (content(1, 25_000), content(2, 24_000), content(3, 23_000));
    let name = key("big");
    let WriteOutcome::Done(Some(version)) = map.write_if(&name, &first, &Precondition::Absent).unwrap()
    else {
        panic!("the first write must succeed")
    };
    assert!(matches!(map.write_if(&name, &second, &Precondition::Absent).unwrap(), WriteOutcome::Conflict));
    assert!(matches!(
        map.write_if(&name, &second, &Precondition::Unchanged(version.clone())).unwrap(),
        WriteOutcome::Done(_)
    ));
    // That version is outdated.
    assert!(matches!(
        map.write_if(&name, &third, &Precondition::Unchanged(version.clone())).unwrap(),
        WriteOutcome::Conflict
    ));
    assert!(server.get("bucket", "set/big").unwrap() == second);
    assert_eq!(server.uploads(), 0, "a lost upload is aborted");
    assert_eq!(server.keys("bucket"), ["set/big"], "nothing is left of finding out");
    // A server that ignores the condition is detected before data are lost.
    let careless = Server::start(Config::default());
    careless.put("bucket", "set/big", first.clone());
    careless.fault(Rule::new(Fault::Unconditional).on(Op::UploadEnd));
    let map = self::map(&careless);
    let error = map.write_if(&name, &second, &Precondition::Absent).unwrap_err();
    assert!(error.to_string().contains("conditions"), "{error}");
    assert!(careless.get("bucket", "set/big").unwrap() == first);
}

#[test]
fn parts_are_retried_and_failed_uploads_are_aborted() {
    let (old, new) = (content(1, 100), content(2, 25_000));
    for conditional in [false, true] {
        for (op, fault, times, done) in [
            (Op::UploadBegin, Fault::Status(503, "SlowDown"), 2, true),
            (Op::UploadPart, Fault::Status(500, "InternalError"), 3, true),
            (Op::UploadPart, Fault::LostReply, 3, true),
            (Op::UploadPart, Fault::NoETag, 1, true),
            (Op::UploadPart, Fault::Stall, 1, true),
            (Op::UploadEnd, Fault::LostReply, 1, true),
            (Op::UploadEnd, Fault::ErrorBody, 1, true),
            (Op::UploadEnd, Fault::Reset, 2, true),
            (Op::UploadEnd, Fault::CutBody, 1, true),
            (Op::UploadEnd, Fault::NoETag, 1, true),
            (Op::UploadAbort, Fault::Status(503, "SlowDown"), 2, true),
            (Op::UploadBegin, Fault::Status(403, "AccessDenied"), 9, false),
            (Op::UploadPart, Fault::Status(403, "AccessDenied"), 9, false),
            (Op::UploadPart, Fault::Status(500, "InternalError"), 999, false),
            (Op::UploadEnd, Fault::Status(400, "InvalidPart"), 9, false),
        ] {
            let server = Server::start(Config::default());
            let map = map(&server);
            let name = key("big");
            // The server is probed before the upload.
            assert!(matches!(
                map.write_if(&key("other"), &new, &Precondition::Absent).unwrap(),
                WriteOutcome::Done(_)
            ));
            map.write(&name, &old).unwrap();
            let mut bytes = Vec::new();
            let version = map.read_versioned(&name, 1000, &mut bytes).unwrap().expect("it is there");
            server.fault(Rule::new(fault.clone()).on(op).times(times));
            let written = if conditional {
                map.write_if(&name, &new, &Precondition::Unchanged(version.clone())).map(|written| {
                    assert!(
                        matches!(written, WriteOutcome::Done(_)),
                        "{op:?} {fault:?}: a conflict without another writer"
                    );
                })
            } else {
                map.write(&name, &new)
            };
            assert_eq!(written.is_ok(), done, "{op:?} {fault:?} {conditional}: {written:?}");
            let there = server.get("bucket", "set/big").unwrap();
            assert!(there == if done { &new[..] } else { &old[..] }, "{op:?} {fault:?} {conditional}");
            assert_eq!(server.uploads(), 0, "{op:?} {fault:?} {conditional}: something is left");
            if let Err(error) = written {
                assert!(error.to_string().contains("set/big"), "{error}");
            }
        }
    }
}

#[test]
fn parts_by_every_kind_of_fault() {
    let (mut all, mut done) = (0, 0);
    for fault in crate::campaign::faults() {
        let server = Server::start(Config::default());
        let map = map(&server);
        let meddles = matches!(fault, Fault::Replaced | Fault::Grown);
        let chance = if matches!(fault, Fault::Stall | Fault::StallBody) { 50 } else { 200 };
        server.fault(Rule::new(fault.clone()).chance(7, chance));
        for number in 0..4 {
            let (old, new) = (content(number, 100), content(10 + number, 17_000));
            let object = format!("set/{number}");
            server.put("bucket", &object, old.clone());
            all += 1;
            let written = map.write(&key(&number.to_string()), &new);
            let there = server.get("bucket", &object).expect("one of the two");
            match written {
                Ok(()) => {
                    done += 1;
                    assert!(there == new || meddles, "{fault:?}: a write is done, and was not");
                }
                Err(_) => assert!(there == new || there == old || meddles, "{fault:?}: a part was written"),
            }
        }
    }
    println!("{all} writes in parts, {done} done, others errors");
    assert!(done * 2 > all, "{done} of {all}");
}
