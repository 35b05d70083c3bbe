//! Datasets through the facade, with their requests counted.

use std::time::Duration;

use nczarr::{CreateOptions, ErrorKind};
use s3_server::{Config, Op, Server};

use crate::common::url;

/// A variable of `chunks` chunks of 100 floats, and what is in it.
fn write(at: &str, chunks: u64) -> Vec<f32> {
    let values: Vec<f32> = (0..chunks * 100).map(|i| i as f32 * 0.5).collect();
    let file = nczarr::create(at).unwrap();
    file.put_attribute("title", "in a bucket").unwrap();
    file.add_dimension("x", chunks * 100).unwrap();
    let v = file.add_variable::<f32>("v", &["x"]).unwrap();
    v.set_chunking(&[100]).unwrap();
    v.set_deflate(1, true).unwrap();
    v.put(&values, ..).unwrap();
    file.close().unwrap();
    values
}

#[test]
fn written_read_changed_and_deleted() {
    let server = Server::start(Config::default());
    for modes in ["nczarr", "zarr", "zarr,consolidated"] {
        let at = url(&server, &format!("dir/{}", modes.replace(',', "-")), modes);
        let mut values = write(&at, 20);
        let file = nczarr::open(&at).unwrap();
        assert_eq!(&file.variable("v").unwrap().get::<f32, _>(..).unwrap()[..], values, "{modes}");
        drop(file);

        let file = nczarr::append(&at).unwrap();
        file.variable("v").unwrap().put(&[7.0f32; 150], 30..180).unwrap();
        file.put_attribute("more", 5i32).unwrap();
        file.close().unwrap();
        values[30..180].fill(7.0);
        let file = nczarr::open(&at).unwrap();
        assert_eq!(&file.variable("v").unwrap().get::<f32, _>(..).unwrap()[..], values, "{modes}");
        assert_eq!(file.attribute("more").unwrap().number(), Some(5.0));

        let refused = nczarr::create(&at).unwrap_err();
        assert_eq!(refused.kind(), ErrorKind::Object, "{refused}");
        CreateOptions::new().clobber(true).create(&at).unwrap().close().unwrap();
        assert_eq!(nczarr::open(&at).unwrap().variables().len(), 0, "{modes}");
        nczarr::delete(&at).unwrap();
        assert_eq!(server.keys("bucket"), [""; 0], "{modes}");
        let missing = nczarr::open(&at).unwrap_err();
        assert!(matches!(missing.kind(), ErrorKind::NotZarr | ErrorKind::NotFound | ErrorKind::NotNc), "{missing}");
    }
}

#[test]
fn all_chunks_by_one_request_each() {
    let server = Server::start(Config::default().latency(Duration::from_millis(5)));
    let at = url(&server, "x", "zarr");
    let values = write(&at, 128);
    let file = nczarr::open(&at).unwrap();
    let v = file.variable("v").unwrap();
    server.clear_log();
    assert_eq!(&v.get::<f32, _>(..).unwrap()[..], values);
    let counts = server.counts();
    assert_eq!((counts.total(), counts.of(Op::Get)), (128, 128));
    assert!(counts.at_once > 8, "{} at once", counts.at_once);
}

#[test]
fn one_element_of_a_dataset_nobody_has_open() {
    let server = Server::start(Config::default());
    let at = url(&server, "x", "nczarr");
    let values = write(&at, 8);
    let v = nczarr::open_variable(&at, "v").unwrap();
    server.clear_log();
    assert_eq!(v.get::<f32, _>(333).unwrap()[0], values[333]);
    let counts = server.counts();
    assert_eq!((counts.total(), counts.of(Op::Get)), (1, 1));
}

#[test]
fn opening_asks_in_as_few_requests_as_it_can() {
    let server = Server::start(Config::default());
    // A dataset's documents: of the root all at once, then two of each variable.
    for (written, opened, requests) in [
        ("zarr,consolidated", "zarr,v2,consolidated", 1),
        ("zarr,consolidated", "zarr,consolidated", 2),
        ("zarr,consolidated", "zarr", 5),
        ("zarr,v3,consolidated", "zarr,v3,consolidated", 1),
        ("zarr,v3,consolidated", "zarr,consolidated", 2),
        ("nczarr,v3,consolidated", "nczarr,v3,consolidated", 1),
        ("zarr,v3,consolidated", "zarr", 5),
        ("nczarr", "nczarr", 5 + 2),
    ] {
        write(&url(&server, written, written), 2);
        server.clear_log();
        let file = nczarr::open(&url(&server, written, opened)).unwrap();
        assert_eq!(file.variables().len(), 1);
        assert_eq!(server.counts().total(), requests, "{written} opened as {opened}");
        nczarr::delete(&url(&server, written, written)).unwrap();
    }
}
