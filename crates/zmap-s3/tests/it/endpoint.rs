//! The guarantees of a map with whatever server is named: another's, by `NCZ_S3_ENDPOINT`, else the one in this process.

use std::sync::Arc;
use std::sync::atomic::{AtomicU32, Ordering};

use s3_server::{Config, Server};
use zmap_s3::S3Map;

use crate::common::{KEYS, access_as};

#[test]
fn a_map_on_the_server_that_is_named() {
    let own = Server::start(Config::default());
    let endpoint = std::env::var("NCZ_S3_ENDPOINT").unwrap_or_else(|_| own.url());
    let number = AtomicU32::new(0);
    let new = || {
        let name = format!("map{}-{}", std::process::id(), number.fetch_add(1, Ordering::Relaxed));
        S3Map::open(access_as(&format!("{endpoint}/bucket/{name}#mode=s3"), KEYS), true).unwrap()
    };
    conformance::check_map(&|| Arc::new(new())).unwrap();
}
