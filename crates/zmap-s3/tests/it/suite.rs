//! The conformance suite for maps.

use std::sync::Arc;

use nczarr_zmap_s3::S3Map;
use s3_server::{Config, Server};

use crate::common::{access, new};

#[test]
fn a_map_like_any_other() {
    // Small pages, so listings have many.
    let server = Server::start(Config::default().page(7));
    nczarr_conformance::check_map(&|| Arc::new(new(&server))).unwrap();
}

#[test]
fn a_map_that_is_only_read() {
    let server = Server::start(Config::default());
    nczarr_conformance::check_map(&|| Arc::new(S3Map::open(access(&server, "empty"), false).unwrap()))
        .unwrap();
}
