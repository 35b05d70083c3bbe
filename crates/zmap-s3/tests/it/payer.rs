//! With requester pays, every request has the header.

use nczarr_storage::{ByteRange, Key, Precondition, ZMap as _, ZMapExt};
use nczarr_zmap_s3::{Access, S3Map};
use s3_server::{Config, Op, Server, content};

use crate::common::{KEYS, access_as, key};

/// Runs all kinds of requests.
fn everything(mut access: Access) {
    (access.multipart_above, access.part) = (1000, 400);
    let map = S3Map::open(access, true).unwrap();
    let mut bytes = Vec::new();
    map.write(&key("a"), b"1").unwrap();
    map.write_if(&key("b"), b"2", &Precondition::Absent).unwrap();
    map.write(&key("c"), &content(1, 1500)).unwrap();
    assert!(map.read(&key("c"), ByteRange::ALL, &mut bytes).unwrap() && bytes == content(1, 1500));
    assert_eq!(map.keys(&Key::root()).unwrap().len(), 3);
    map.rename(&key("a"), &key("d")).unwrap();
    assert!(map.delete(&key("d")).unwrap());
}

#[test]
fn every_request_has_the_payer_header() {
    let payer = [KEYS, &[("AWS_REQUEST_PAYER", "requester")]].concat();
    for (variables, value) in [(&payer[..], Some("requester")), (KEYS, None)] {
        let server = Server::start(Config::default());
        everything(access_as(&format!("{}/bucket/set#mode=s3", server.url()), variables));
        let log = server.log();
        for op in
            [Op::Get, Op::Put, Op::PutIf, Op::Copy, Op::Delete, Op::List, Op::UploadBegin, Op::UploadPart]
        {
            assert!(log.iter().any(|entry| entry.op == op), "{op:?}");
        }
        for entry in log {
            assert_eq!(entry.header("x-amz-request-payer"), value, "{:?} {}", entry.op, entry.key);
        }
    }
}
