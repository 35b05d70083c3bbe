//! Random faults of every kind. Every read is right or an error, and in time.

use std::sync::Arc;
use std::time::{Duration, Instant};

use nczarr_s3_server::{Config as Kind, Fault, Rule, Server};
use nczarr_storage::batch::Ranges;
use nczarr_storage::{ByteRange, Key, ZMapExt};

use crate::support::{Answer, batch, content, map, patience};

/// The faults, and whether retried reads succeed in the end.
pub fn faults() -> Vec<(Fault, bool)> {
    vec![
        (Fault::Status(400, "BadRequest"), false),
        (Fault::Status(400, "ExpiredToken"), false),
        (Fault::Status(401, "Unauthorized"), false),
        (Fault::Status(403, "AccessDenied"), false),
        (Fault::Status(408, "RequestTimeout"), true),
        (Fault::Status(409, "OperationAborted"), false),
        (Fault::Status(412, "PreconditionFailed"), false),
        (Fault::Status(416, "InvalidRange"), true),
        (Fault::Status(429, "TooManyRequests"), true),
        (Fault::Status(500, "InternalError"), true),
        (Fault::Status(503, "SlowDown"), true),
        (Fault::Page(200), true),
        (Fault::Page(502), true),
        (Fault::ErrorBody, true),
        (Fault::Reset, true),
        (Fault::Close, true),
        (Fault::Stall, true),
        (Fault::Garbage, true),
        (Fault::Redirect(302, "http://127.0.0.1:1/".to_owned()), true),
        (Fault::Redirect(302, "http://169.254.169.254/".to_owned()), false),
        (Fault::LostReply, true),
        (Fault::CutBody, true),
        (Fault::ResetBody, true),
        (Fault::StallBody, true),
        (Fault::Drip, true),
        (Fault::ShortRange, true),
        (Fault::LyingRange, true),
        (Fault::OverlongRange, true),
        (Fault::OtherRange, true),
        (Fault::NoContentRange, true),
        (Fault::BadContentRange, true),
        (Fault::RangeIgnored, true),
        (Fault::Replaced, true),
        (Fault::Grown, true),
        // Parts with and without an ETag may be of two states.
        (Fault::NoETag, false),
        (Fault::Chunked, true),
        (Fault::ChunkedCut, true),
        (Fault::NoLength, false),
        (Fault::Gzip, false),
        (Fault::OddEncoding, false),
    ]
}

/// Number of rounds of the long tests.
fn rounds(few: u64) -> u64 {
    std::env::var("NCZ_TEST_ROUNDS").ok().and_then(|rounds| rounds.parse().ok()).unwrap_or(few)
}

const LEN: usize = 3000;

/// Whether a result is of exactly one state, before or after.
fn is_right(found: &[u8], ranges: &Ranges, states: &[Vec<u8>]) -> bool {
    let key = Key::new("k").unwrap();
    states.iter().any(|state| ranges.cut(&key, state, usize::MAX).is_ok_and(|right| *right == *found))
}

/// Returns every state of an object: `Replaced` inverts it and back, `Grown` extends it each time.
fn states(number: usize, fault: &Fault, now: Vec<u8>) -> Vec<Vec<u8>> {
    let first = content(number, LEN);
    let mut states = vec![first.clone()];
    if matches!(fault, Fault::Replaced | Fault::Grown) {
        let mut state = first;
        while state != now && states.len() < 100 {
            state.iter_mut().for_each(|byte| *byte ^= 0x55);
            if *fault == Fault::Grown {
                state.extend_from_slice(b"and more");
            }
            states.push(state.clone());
        }
    }
    states
}

#[test]
fn no_fault_gives_wrong_bytes() {
    let part = ByteRange::new;
    let shapes: [fn(usize) -> Ranges; 5] = [
        |_| Ranges::All,
        |number| Ranges::One(ByteRange::new(number as u64 * 10 + 1, 500)),
        |_| Ranges::Suffix(100),
        |_| Ranges::Strided { first: ByteRange::new(7, 50), step: 1000, count: 3 },
        |_| Ranges::List(Arc::from([ByteRange::new(2000, 9), ByteRange::new(0, 5)])),
    ];
    let (mut reads, mut right, mut requests) = (0u64, 0u64, 0u64);
    let all = faults();
    assert!(all.len() >= 20);
    for (fault, passes) in &all {
        for seed in 0..rounds(2) {
            // A fault that delays a request costs its whole timeout.
            let slow = matches!(fault, Fault::Stall | Fault::StallBody);
            let server = Server::start(Kind::default().web("web").pause(Duration::from_micros(100)));
            let names: Vec<String> = (0..10).map(|number| format!("c/{number}")).collect();
            for (number, name) in names.iter().enumerate().take(9) {
                server.put("web", &format!("x/{name}"), content(number, LEN));
            }
            server.fault(Rule::new(fault.clone()).chance(seed, if slow { 100 } else { 300 }));
            let mut config = patience();
            // Distant parts take several requests.
            (config.gap, config.tries) = (100, 12);
            config.idle = Duration::from_millis(if slow { 50 } else { 2000 });
            config.connect = if slow { Duration::from_millis(50) } else { Duration::from_secs(2) };
            let map = map(&server, &config);
            let (start, mut asked) = (Instant::now(), 0);
            for shape in shapes {
                let wanted: Vec<_> =
                    names.iter().enumerate().map(|(number, name)| (name.clone(), shape(number))).collect();
                let found = batch(&map, &wanted, 10 * LEN);
                for (number, (found, (name, ranges))) in found.iter().zip(&wanted).enumerate() {
                    let now = server.get("web", &format!("x/{name}")).unwrap_or_default();
                    reads += 1;
                    asked += 1;
                    right += u64::from(check(found, number, ranges, fault, now));
                    let must = *passes && !slow && !matches!(fault, Fault::Replaced | Fault::Grown);
                    if must {
                        assert!(found.is_ok(), "{fault:?} {seed} {ranges:?}: {:?}", found.as_ref().err());
                    }
                }
                // The same by single reads.
                let (mut bytes, range) = (Vec::new(), part(11, 700));
                let single = map
                    .read(&Key::new("c/0").unwrap(), range, &mut bytes)
                    .map(|found| found.then_some(bytes));
                let now = server.get("web", "x/c/0").unwrap_or_default();
                check(&single, 0, &Ranges::One(range), fault, now);
            }
            assert!(
                start.elapsed() < config.deadline * 2,
                "{fault:?} {seed}: {:?} for {asked}",
                start.elapsed()
            );
            requests += server.counts().total();
            let most = 5 * (10 * 4 + 1) * u64::from(config.tries) * 4;
            assert!(server.counts().total() <= most, "{fault:?}: {} requests", server.counts().total());
        }
    }
    println!("{} kinds, {reads} reads, {right} right, others errors, {requests} requests", all.len());
    assert!(right * 2 > reads, "{right} of {reads}");
}

/// Whether a read succeeded; then its result must be right.
fn check(found: &Answer, number: usize, ranges: &Ranges, fault: &Fault, now: Vec<u8>) -> bool {
    match found {
        Ok(Some(bytes)) => {
            assert!(
                is_right(bytes, ranges, &states(number, fault, now)),
                "{fault:?}: {number} {ranges:?} is wrong"
            );
            true
        }
        Ok(None) => {
            assert_eq!(number, 9, "{fault:?}: {ranges:?} of a stored object read as absent");
            true
        }
        Err(error) => {
            assert!(error.to_string().contains("/web/x/c/"), "{fault:?}: {error} names no place");
            false
        }
    }
}

#[test]
fn a_deadline_is_kept() {
    for fault in [Fault::Stall, Fault::StallBody, Fault::Status(503, "SlowDown"), Fault::Drip] {
        let server = Server::start(Kind::default().web("web").pause(Duration::from_secs(3600)));
        server.put("web", "x/a", content(0, LEN));
        server.fault(Rule::new(fault.clone()));
        let mut config = patience();
        (config.deadline, config.idle) = (Duration::from_millis(400), Duration::from_millis(100));
        let (start, mut bytes) = (Instant::now(), Vec::new());
        map(&server, &config).read(&Key::new("a").unwrap(), ByteRange::ALL, &mut bytes).unwrap_err();
        // A busy machine may be late, within limits.
        assert!(start.elapsed() < Duration::from_secs(30), "{fault:?}");
        assert!(server.counts().total() <= u64::from(config.tries), "{fault:?}");
    }
}
