//! Servers without effective conditional writes. The map refuses writes unless the caller promises to be the
//! only writer.
//!
//! `NCZ_S3_UNCONDITIONAL` may name another such server with its keys: `http://id:secret@host:port`.

use nczarr::{CreateOptions, ErrorKind, OpenOptions};
use nczarr_storage::ZMapExt;
use s3_server::{Config, Fault, Op, Rule, Server};

use crate::common::url;

/// The kinds of store, with the shards of those that have any.
const KINDS: [(&str, &[u64]); 7] = [
    ("nczarr", &[]),
    ("nczarr,v3", &[]),
    ("nczarr,consolidated", &[]),
    ("zarr", &[]),
    ("zarr,v3", &[]),
    ("zarr,v3,consolidated", &[]),
    ("zarr,v3", &[20]),
];

/// Makes a server that ignores conditions.
fn careless() -> Server {
    let server = Server::start(Config::default());
    server.fault(Rule::new(Fault::Unconditional));
    server
}

fn create(options: &CreateOptions, at: &str, shards: &[u64]) -> nczarr::Result<()> {
    let file = options.create(at)?;
    file.add_unlimited_dimension("t")?;
    file.add_dimension("x", 40)?;
    file.put_attribute("title", "alone")?;
    let v = file.add_variable::<i32>("v", &["x"])?;
    v.set_chunking(&[10])?;
    if !shards.is_empty() {
        v.set_shards(shards)?;
    }
    // Parts of chunks, and records.
    v.put(&(0..25).collect::<Vec<i32>>(), 0..25)?;
    file.sync()?;
    v.put(&(25..40).collect::<Vec<i32>>(), 25..40)?;
    let r = file.add_variable::<f64>("r", &["t"])?;
    for record in 0..3u32 {
        r.put(&[f64::from(record)], record as usize)?;
    }
    file.close()
}

#[test]
fn an_exclusive_user_writes_every_kind_of_store() {
    let own = careless();
    let elsewhere = std::env::var("NCZ_S3_UNCONDITIONAL").ok();
    for (number, (kind, shards)) in KINDS.into_iter().enumerate() {
        let name = format!("alone{number}-{}", std::process::id());
        let at = match &elsewhere {
            Some(endpoint) => format!("{endpoint}/bucket/{name}#mode={kind},s3"),
            None => url(&own, &name, kind),
        };
        let is_empty = |at: &str| {
            OpenOptions::new().open_map(at).unwrap().keys(&nczarr_storage::Key::root()).unwrap().is_empty()
        };
        for (by, refused) in [
            ("default", create(&CreateOptions::new(), &at, shards).unwrap_err()),
            ("clobber", create(&CreateOptions::new().clobber(true), &at, shards).unwrap_err()),
        ] {
            let text = refused.to_string();
            assert_eq!(refused.kind(), ErrorKind::Perm, "{kind} {by}: {text}");
            assert!(text.contains("--exclusive") && text.contains("#exclusive=true"), "{kind} {by}: {text}");
            assert!(is_empty(&at), "{kind} {by}");
        }
        let by_url = number % 2 == 0;
        if by_url {
            create(&CreateOptions::new(), &format!("{at}&exclusive=true"), shards).unwrap()
        } else {
            create(&CreateOptions::new().exclusive(true), &at, shards).unwrap()
        }
        // Changes are refused too.
        let error = nczarr::append(&at).and_then(|file| {
            file.put_attribute("more", 1i32)?;
            file.close()
        });
        assert_eq!(error.unwrap_err().kind(), ErrorKind::Perm, "{kind}");
        assert!(nczarr::open(&at).unwrap().attribute("more").is_none(), "{kind}");
        let file = OpenOptions::new().writable(true).exclusive(true).open(&at).unwrap();
        file.put_attribute("more", 1i32).unwrap();
        file.variable("v").unwrap().put(&[-1; 3], 8..11).unwrap();
        // Plain Zarr has no unlimited dimensions.
        let records = if kind.starts_with("nczarr") { 4 } else { 3 };
        file.variable("r").unwrap().put(&[7.0f64], records - 1).unwrap();
        file.close().unwrap();
        let file = nczarr::open(&at).unwrap();
        let expected: Vec<i32> = (0..40).map(|at| if (8..11).contains(&at) { -1 } else { at }).collect();
        assert_eq!(file.variable("v").unwrap().get_values::<i32>(..).unwrap(), expected, "{kind}");
        let mut expected = vec![0.0, 1.0, 2.0, 7.0];
        expected.drain(records - 1..3);
        assert_eq!(file.variable("r").unwrap().get_values::<f64>(..).unwrap(), expected, "{kind}");
        assert_eq!(file.attribute("more").unwrap().number(), Some(1.0), "{kind}");
        nczarr::delete(&at).unwrap();
        assert!(is_empty(&at), "{kind}");
    }
    assert_eq!(own.keys("bucket"), [""; 0]);
    assert!(elsewhere.is_some() || own.counts().of(Op::PutIf) > 0);
}

/// Sequential writers are refused as they should be. Of concurrent ones several win: with `If-None-Match` or
/// with `If-Match`.
#[test]
fn a_server_without_atomic_conditions_is_detected() {
    for before in [8, 20] {
        let server = Server::start(Config::default());
        server.fault(Rule::new(Fault::Unconditional).on(Op::PutIf).after(before).times(4));
        let error = create(&CreateOptions::new(), &url(&server, "x", "nczarr"), &[]).unwrap_err();
        assert_eq!(error.kind(), ErrorKind::Perm, "{before}: {error}");
        assert!(error.to_string().contains("not atomic"), "{before}: {error}");
        assert_eq!(server.keys("bucket"), [""; 0], "{before}");
        // Existing objects are neither replaced nor changed.
        server.no_faults();
        create(&CreateOptions::new(), &url(&server, "x", "nczarr"), &[]).unwrap();
        let there = server.keys("bucket");
        server.fault(Rule::new(Fault::Unconditional).on(Op::PutIf).after(before).times(4));
        let options = CreateOptions::new().clobber(true);
        let error = create(&options, &url(&server, "x", "nczarr"), &[]).unwrap_err();
        assert_eq!((error.kind(), server.keys("bucket")), (ErrorKind::Perm, there), "{before}: {error}");
    }
}

/// A server that reports conditions as unimplemented is detected too.
#[test]
fn a_server_that_refuses_conditions_is_detected() {
    let server = Server::start(Config::default());
    server.fault(Rule::new(Fault::Status(501, "NotImplemented")).on(Op::PutIf));
    let at = url(&server, "x", "zarr");
    let error = create(&CreateOptions::new(), &at, &[]).unwrap_err();
    assert!(error.kind() == ErrorKind::Perm && error.to_string().contains("--exclusive"), "{error}");
    assert_eq!(server.keys("bucket"), [""; 0]);
    create(&CreateOptions::new().exclusive(true), &at, &[]).unwrap();
}

/// The probe takes two rounds for all later writes, and leaves nothing behind.
#[test]
fn the_check_of_conditions_takes_two_rounds_and_leaves_nothing() {
    let server = Server::start(Config::default());
    let at = url(&server, "x", "nczarr");
    create(&CreateOptions::new(), &at, &[]).unwrap();
    let probes =
        |op: Op| server.log().iter().filter(|entry| entry.op == op && entry.key.contains("probe")).count();
    assert_eq!((probes(Op::PutIf), probes(Op::Delete)), (24, 3));
    assert!(!server.keys("bucket").iter().any(|key| key.contains("probe")), "{:?}", server.keys("bucket"));
    server.clear_log();
    create(&CreateOptions::new().clobber(true).exclusive(true), &at, &[]).unwrap();
    assert_eq!((probes(Op::PutIf), server.counts().of(Op::PutIf)), (0, 0));
}
