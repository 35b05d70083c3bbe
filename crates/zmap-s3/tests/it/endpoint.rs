//! A map of any server: the one in `NCZ_S3_ENDPOINT`, else the one in this process.

use std::sync::Arc;
use std::sync::atomic::{AtomicU32, Ordering};

use nczarr_storage::{ByteRange, Precondition, WriteOutcome, ZMap as _, ZMapExt};
use nczarr_zmap_s3::S3Map;
use s3_server::{Config, Server};

use crate::common::{KEYS, access_as, key};

/// Returns the address of the server.
fn endpoint(own: &Server) -> String {
    std::env::var("NCZ_S3_ENDPOINT").unwrap_or_else(|_| own.url())
}

#[test]
fn a_map_on_the_server_that_is_named() {
    let own = Server::start(Config::default());
    let endpoint = endpoint(&own);
    let number = AtomicU32::new(0);
    let new = || {
        let name = format!("map{}-{}", std::process::id(), number.fetch_add(1, Ordering::Relaxed));
        S3Map::open(access_as(&format!("{endpoint}/bucket/{name}#mode=s3"), KEYS), true).unwrap()
    };
    nczarr_conformance::check_map(&|| Arc::new(new())).unwrap();
}

#[test]
fn parts_on_the_server_that_is_named() {
    let own = Server::start(Config::default());
    let at = format!("{}/bucket/parts{}#mode=s3", endpoint(&own), std::process::id());
    let mut access = access_as(&at, KEYS);
    (access.multipart_above, access.part) = (5 << 20, 5 << 20);
    let map = S3Map::open(access, true).unwrap();
    let value = |seed: usize| (0..11_000_000).map(|at| (at * 7 + seed) as u8).collect::<Vec<u8>>();
    let (name, first, second) = (key("big"), value(1), value(2));
    let mut found = Vec::new();
    map.write(&name, &first).unwrap();
    assert!(map.read(&name, ByteRange::ALL, &mut found).unwrap() && found == first);
    // Servers without conditions skip this part.
    match map.write_if(&name, &second, &Precondition::Absent) {
        Ok(written) => {
            assert!(matches!(written, WriteOutcome::Conflict));
            let version = map.read_versioned(&name, 20_000_000, &mut found).unwrap().expect("it is there");
            assert!(matches!(
                map.write_if(&name, &second, &Precondition::Unchanged(version.clone())).unwrap(),
                WriteOutcome::Done(_)
            ));
            assert!(map.read(&name, ByteRange::ALL, &mut found).unwrap() && found == second);
        }
        Err(error) => {
            assert!(error.to_string().contains("conditions"), "{error}");
            assert!(map.read(&name, ByteRange::ALL, &mut found).unwrap() && found == first);
        }
    }
    map.delete(&name).unwrap();
}
