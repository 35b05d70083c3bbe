//! Servers that refuse listing: they answer 403 for a list, and for every missing key.
//!
//! Web servers and S3 buckets behave the same.

use std::path::Path;

use nczarr::dispatch::FaultKind;
use nczarr::{ErrorKind, File, ForbiddenKeys, OpenOptions, Place, Result};
use nczarr_s3_server::{Config, Fault, Op, Rule, Server};

const BUCKETS: [&str; 2] = ["web", "bucket"];

/// A server with buckets that refuse listing.
fn unlisted() -> Server {
    Server::start(Config::default().web("web").unlisted("web").unlisted("bucket"))
}

/// Puts all files of a directory into both buckets.
fn upload(server: &Server, path: &Path, key: &str) {
    if path.is_file() {
        for bucket in BUCKETS {
            server.put(bucket, key, std::fs::read(path).unwrap());
        }
        return;
    }
    for entry in std::fs::read_dir(path).unwrap() {
        let entry = entry.unwrap();
        upload(server, &entry.path(), &format!("{key}/{}", entry.file_name().to_str().unwrap()));
    }
}

/// Makes a dataset of a group and three variables, and puts it on the server.
fn make(server: &Server, name: &str, modes: &str) -> Result<()> {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join(name);
    let file = nczarr::create(Place::url(format!("{}#mode={modes},file", path.display())))?;
    file.add_dimension("x", 40)?;
    file.put_attribute("title", "far away")?;
    file.add_variable::<i32>("v", &["x"])?.put(&(0..40).collect::<Vec<i32>>(), ..)?;
    file.add_variable::<f64>("bare", &["x"])?.put(&[0.5; 40], ..)?;
    file.add_group("g")?.add_variable::<i32>("w", &["x"])?.put(&[7; 40], ..)?;
    file.close()?;
    upload(server, &path, name);
    Ok(())
}

/// Returns the URL of a store in a bucket, with these modes.
fn url(server: &Server, bucket: &str, name: &str, modes: &str) -> String {
    let (keys, s3) = if bucket == "web" { ("", "") } else { ("key:secret@", "s3,") };
    let modes = format!("{s3}{modes}");
    let modes = modes.trim_end_matches(',');
    let fragment = if modes.is_empty() { String::new() } else { format!("#mode={modes}") };
    format!("http://{keys}{}/{bucket}/{name}{fragment}", server.host())
}

fn check(file: &File, is_array: bool) {
    let read = |path: &str| file.variable(path).unwrap().get_values::<f64>(..).unwrap();
    if is_array {
        let (_, var) = file.model().vars().next().map(|(id, var)| (id, var.name.clone())).unwrap();
        assert_eq!(read(&var), (0..40).map(f64::from).collect::<Vec<_>>());
        return;
    }
    assert_eq!(read("v"), (0..40).map(f64::from).collect::<Vec<_>>());
    assert_eq!(read("bare"), [0.5; 40]);
    assert_eq!(read("g/w"), [7.0; 40]);
    assert!(file.attribute("title").is_some());
}

#[test]
fn a_store_opens_if_its_main_document_is_readable() {
    let server = unlisted();
    // The requests of opening: without a mode, with the format, and with the version too. Listing a bucket
    // takes one more.
    for (name, modes, version, requests) in [
        ("n2.zarr", "nczarr", "v2", [14, 13, 12]),
        ("n3.zarr", "nczarr,v3", "v3", [10, 9, 5]),
        ("nc2.zarr", "nczarr,consolidated", "v2", [6, 5, 4]),
        ("nc3.zarr", "nczarr,v3,consolidated", "v3", [6, 5, 1]),
        ("z2.zarr", "zarr,consolidated", "v2", [6, 5, 4]),
        ("z3.zarr", "zarr,v3,consolidated", "v3", [6, 5, 1]),
        ("z2.zarr/v", "", "v2", [6, 5, 4]),
        ("z3.zarr/v", "", "v3", [6, 5, 1]),
    ] {
        let is_array = modes.is_empty();
        if !is_array {
            make(&server, name, modes).unwrap();
        }
        let format = if modes.starts_with("nczarr") { "nczarr" } else { "zarr" };
        for bucket in BUCKETS {
            for (form, requests) in ["", format, &format!("{format},{version}")].into_iter().zip(requests) {
                let url = url(&server, bucket, name, form);
                server.clear_log();
                let file = nczarr::open(&url).unwrap_or_else(|error| panic!("{url}: {error:#}"));
                let counts = server.counts();
                assert_eq!(file.info().faults, [], "{url}");
                check(&file, is_array);
                assert_eq!(counts.of(Op::Get), requests, "{url}: {:?}", server.log());
                assert!(counts.of(Op::List) <= usize::from(bucket != "web") as u64, "{url}: {counts:?}");
            }
        }
    }
}

#[test]
fn one_variable_opens_too() {
    let server = unlisted();
    make(&server, "n2.zarr", "nczarr").unwrap();
    make(&server, "n3.zarr", "nczarr,v3").unwrap();
    make(&server, "z2.zarr", "zarr,consolidated").unwrap();
    make(&server, "z3.zarr", "zarr,v3,consolidated").unwrap();
    for bucket in BUCKETS {
        for (name, modes) in
            [("n2.zarr", "nczarr"), ("n3.zarr", "nczarr"), ("z2.zarr", "zarr"), ("z3.zarr", "zarr")]
        {
            for modes in ["", modes] {
                let url = url(&server, bucket, name, modes);
                let w = nczarr::open_variable(&url, "g/w").unwrap_or_else(|error| panic!("{url}: {error:#}"));
                assert_eq!(w.get_values::<i32>(3..5).unwrap(), [7, 7], "{url}");
                let v = OpenOptions::new()
                    .open_data(&url, "v")
                    .unwrap_or_else(|error| panic!("{url}: {error:#}"));
                assert_eq!(v.get_values::<i32>(3..5).unwrap(), [3, 4], "{url}");
            }
        }
    }
}

/// A refused document beside the readable one of its node counts as absent. This is reported as a fault only
/// where the server reports absent keys, because then content may be missing.
#[test]
fn a_refused_document_counts_as_absent_and_is_reported() {
    for (config, reported) in [
        (Config::default().web("web"), true),
        (Config::default().web("web").unlisted("web").unlisted("bucket"), false),
    ] {
        let server = Server::start(config);
        make(&server, "n2.zarr", "nczarr").unwrap();
        make(&server, "z2.zarr", "zarr,consolidated").unwrap();
        for bucket in BUCKETS {
            server.fault(Rule::new(Fault::Status(403, "AccessDenied")).key("bare/.zattrs"));
            let n2 = url(&server, bucket, "n2.zarr", "nczarr,v2");
            let file = nczarr::open(&n2).unwrap_or_else(|error| panic!("{n2}: {error:#}"));
            let faults = file.info().faults;
            assert_eq!(
                faults.iter().any(|fault| fault.path == "/bare/.zattrs"),
                reported,
                "{n2}: {faults:?}"
            );
            assert!(faults.iter().all(|fault| fault.kind == FaultKind::LeftOut), "{n2}: {faults:?}");
            assert_eq!(file.variable("v").unwrap().get_values::<i32>(3..5).unwrap(), [3, 4]);
            server.no_faults();
            // The root's own attributes, when an array of the store is opened.
            server.fault(Rule::new(Fault::Status(403, "AccessDenied")).key("v/.zattrs"));
            let v = url(&server, bucket, "z2.zarr/v", "zarr,v2");
            let file = nczarr::open(&v).unwrap_or_else(|error| panic!("{v}: {error:#}"));
            let faults = file.info().faults;
            assert_eq!(faults.len(), usize::from(reported), "{v}: {faults:?}");
            server.no_faults();
        }
    }
}

/// Other codes of a 403 concern the credentials, not the key.
#[test]
fn expired_credentials_are_an_error() {
    let server = unlisted();
    make(&server, "n2.zarr", "nczarr").unwrap();
    let url = url(&server, "bucket", "n2.zarr", "nczarr,v2");
    for code in ["ExpiredToken", "InvalidAccessKeyId", "SignatureDoesNotMatch", "InvalidObjectState"] {
        server.fault(Rule::new(Fault::Status(403, code)).key("bare/.zattrs"));
        let file = nczarr::open(&url).unwrap();
        let problem =
            file.variable("bare").unwrap().get_values::<f64>(..).err().map(|error| error.to_string());
        let faults = file.info().faults;
        let mut messages = problem.into_iter().chain(faults.iter().map(ToString::to_string));
        assert!(messages.any(|text| text.contains(code)), "{code}");
        server.no_faults();
    }
}

#[test]
fn a_refused_chunk_is_an_error_unless_declared_absent() {
    let server = unlisted();
    for (name, modes) in [("n2.zarr", "nczarr"), ("z3.zarr", "zarr,v3,consolidated")] {
        make(&server, name, modes).unwrap();
        let key = if name == "n2.zarr" { format!("{name}/v/0") } else { format!("{name}/v/c/0") };
        for bucket in BUCKETS {
            assert!(server.remove(bucket, &key), "{:?}", server.keys(bucket));
            let url = url(&server, bucket, name, "");
            let read = |file: &File, at: usize| file.variable("v").unwrap().get_values::<i32>(at..at + 2);
            let all = |file: &File| file.variable("v").unwrap().get_values::<i32>(..);
            let file = nczarr::open(&url).unwrap();
            for error in [read(&file, 3).unwrap_err(), all(&file).unwrap_err()] {
                assert_eq!(error.kind(), ErrorKind::Auth, "{url}: {error}");
                let text = error.to_string();
                assert!(
                    text.contains("forbidden=absent") && text.contains(&key) && text.contains("403"),
                    "{text}"
                );
            }
            let fill = file.variable("bare").unwrap();
            assert_eq!(fill.get_values::<f64>(1..2).unwrap(), [0.5]);
            let separator = if url.contains('#') { '&' } else { '#' };
            for file in [
                OpenOptions::new().forbidden(ForbiddenKeys::Absent).open(&url).unwrap(),
                nczarr::open(format!("{url}{separator}forbidden=absent")).unwrap(),
            ] {
                let values = all(&file).unwrap();
                assert!(
                    values.len() == 40 && values.iter().all(|value| *value == values[0] && *value != 3),
                    "{url}"
                );
                assert_eq!(read(&file, 3).unwrap(), values[..2], "{url}");
            }
            // An object that counts as absent must not be overwritten.
            let error =
                OpenOptions::new().writable(true).forbidden(ForbiddenKeys::Absent).open(&url).err().unwrap();
            assert_eq!(error.kind(), ErrorKind::Inval, "{error}");
        }
    }
}

#[test]
fn an_undetectable_store_lists_the_refused_requests() {
    let server = unlisted();
    make(&server, "z2.zarr", "zarr").unwrap();
    make(&server, "z3.zarr", "zarr,v3").unwrap();
    for bucket in BUCKETS {
        for (name, modes) in
            [("z2.zarr", ""), ("z2.zarr", "zarr"), ("z3.zarr", "zarr"), ("z3.zarr", "zarr,v3")]
        {
            let url = url(&server, bucket, name, modes);
            let error = nczarr::open(&url).err().unwrap();
            assert!(error.to_string().contains("consolidated metadata"), "{url}: {error}");
        }
        for modes in ["", "zarr", "nczarr", "zarr,v2", "zarr,v3", "zarr,v3,consolidated"] {
            let url = url(&server, bucket, "none.zarr", modes);
            let error = nczarr::open(&url).err().unwrap();
            assert_eq!(error.kind(), ErrorKind::Auth, "{url}: {error}");
            let text = error.to_string();
            let tried = format!("{bucket}/none.zarr/zarr.json");
            assert!(
                text.contains("403") && text.contains(&tried) && text.contains("absent"),
                "{url}: {text}"
            );
        }
    }
}

/// A writer must know which objects exist.
#[test]
fn a_store_that_hides_absent_keys_is_read_only() {
    let server = unlisted();
    make(&server, "n2.zarr", "nczarr").unwrap();
    let before = server.keys("bucket");
    let error = nczarr::append(url(&server, "bucket", "n2.zarr", "nczarr")).err().unwrap();
    assert_eq!(error.kind(), ErrorKind::Auth, "{error}");
    assert_eq!(server.keys("bucket"), before);
}
