//! Datasets on web servers, through the facade.

use std::io::{Read as _, Write as _};
use std::net::{TcpListener, TcpStream};
use std::path::Path;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};

use nczarr::{ErrorKind, Place, Result};
use nczarr_s3_server::{Config as Kind, Fault, Op, Rule, Server};

const ROWS: u64 = 100;

fn values() -> Vec<i32> {
    (0..ROWS as i32 * 40).map(|at| at * at - 7).collect()
}

/// Makes a dataset.
fn make(url: &str) -> Result<()> {
    let file = nczarr::create(Place::url(url))?;
    file.add_dimension("y", ROWS)?;
    file.add_dimension("x", 40)?;
    file.put_attribute("title", "far away")?;
    file.add_variable::<i32>("v", &["y", "x"])?.put(&values(), ..)?;
    file.add_variable::<f64>("w", &["x"])?.put(&[0.5; 40], ..)?;
    file.close()
}

/// Puts a file, or all files of a directory, on a server.
fn upload(server: &Server, path: &Path, key: &str) {
    if path.is_file() {
        return server.put("web", key, std::fs::read(path).unwrap());
    }
    for entry in std::fs::read_dir(path).unwrap() {
        let entry = entry.unwrap();
        upload(server, &entry.path(), &format!("{key}/{}", entry.file_name().to_str().unwrap()));
    }
}

/// Checks the content of a dataset.
fn check(url: &str) -> Result<()> {
    let file = nczarr::open(url)?;
    let v = file.variable("v")?;
    assert_eq!(v.get_values::<i32>(..)?, values());
    let box_of = [2003, 2004, 2043, 2044].map(|at: i32| at * at - 7);
    assert_eq!(v.get_values::<i32>((50..52, 3..5))?, box_of);
    assert_eq!(file.variable("w")?.get_values::<f64>(..)?, [0.5; 40]);
    assert!(file.attribute("title").is_some() && file.attribute("other").is_none());
    file.close()
}

#[test]
fn all_forms_are_read() {
    let folder = tempfile::tempdir().unwrap();
    let place = |name: &str| folder.path().join(name).display().to_string();
    let server = Server::start(Kind::default().web("web"));
    for (made, name, asked) in [
        ("#mode=nczarr,file", "n.zarr", ""),
        ("#mode=nczarr,file", "n.zarr", "#mode=nczarr"),
        ("#mode=zarr,consolidated,file", "z.zarr", "#mode=zarr"),
        ("#mode=zarr,consolidated,file", "z.zarr", ""),
        ("#mode=zarr,zip", "z.zip", "#mode=zarr,zip"),
        ("#mode=zarr,zip", "z.zip", "#mode=bytes"),
        ("#mode=nczarr,zip", "n.zip", "#mode=zip"),
        ("#mode=cdf1", "c.nc", "#mode=bytes"),
        ("#mode=cdf5", "c5.nc", "#mode=bytes"),
        ("#mode=cdf5", "c5.nc", "#mode=cdf5,bytes"),
        ("#mode=netcdf-4", "h.nc", "#mode=bytes"),
        ("#mode=netcdf-4", "h.nc", "#mode=hdf5,bytes"),
    ] {
        let path = place(name);
        if !Path::new(&path).exists() {
            make(&format!("{path}{made}")).unwrap();
            upload(&server, Path::new(&path), name);
        }
        server.clear_log();
        let url = format!("{}/web/{name}{asked}", server.url());
        check(&url).unwrap_or_else(|error| panic!("{name}{asked}: {error}"));
        let counts = server.counts();
        assert_eq!(counts.of(Op::Get), counts.total(), "{name}{asked}: {counts:?}");
        println!("{name}{asked}: {} requests, {} bytes", counts.total(), counts.sent);
        // The same with chunked responses, and without ranges.
        for fault in [Fault::Chunked, Fault::RangeIgnored] {
            server.fault(Rule::new(fault.clone()));
            server.clear_log();
            check(&url).unwrap_or_else(|error| panic!("{name}{asked} {fault:?}: {error}"));
            server.no_faults();
            // A file that the server sends whole is requested once.
            if fault == Fault::RangeIgnored && Path::new(&path).is_file() {
                let counts = server.counts();
                let len = std::fs::metadata(&path).unwrap().len();
                assert_eq!((counts.total(), counts.sent), (1, len), "{name}{asked}: {counts:?}");
            }
        }
        // Writing, replacing and deleting are refused.
        for refused in
            [nczarr::OpenOptions::new().writable(true).open(&url).err(), nczarr::delete(&url).err()]
        {
            let error = refused.expect("an error");
            assert_eq!(error.kind(), ErrorKind::Perm, "{name}{asked}: {error}");
        }
    }
}

/// HDF4 files written by the HDF library.
#[test]
fn hdf4_files_are_read_by_ranges() {
    let corpus = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../tests/corpus/hdf4");
    let server = Server::start(Kind::default().web("web"));
    upload(&server, &corpus.join("codings.hdf"), "x.hdf");
    let local = nczarr::open(corpus.join("codings.hdf").to_str().unwrap()).unwrap();
    for asked in ["#mode=bytes", "#mode=hdf4,bytes"] {
        let file = nczarr::open(format!("{}/web/x.hdf{asked}", server.url())).unwrap();
        for (id, var) in local.model().vars() {
            let read = |file: &nczarr::File| file.variable_by_id(id).unwrap().get_values::<f64>(..).unwrap();
            assert_eq!(read(&file), read(&local), "{}", var.name);
        }
    }
    let counts = server.counts();
    assert_eq!(counts.of(Op::Get), counts.total(), "{counts:?}");
}

#[test]
fn few_requests_open_and_read() {
    let folder = tempfile::tempdir().unwrap();
    let place = |name: &str| folder.path().join(name).display().to_string();
    let server = Server::start(Kind::default().web("web"));
    for (made, name, asked, open, read) in [
        ("#mode=zarr,consolidated,file", "z.zarr", "#mode=zarr", 5, 1),
        ("#mode=nczarr,zip", "n.zip", "#mode=nczarr,zip", 1, 0),
        ("#mode=cdf5", "c.nc", "#mode=bytes", 1, 0),
        ("#mode=netcdf-4", "h.nc", "#mode=bytes", 1, 0),
    ] {
        make(&format!("{}{made}", place(name))).unwrap();
        upload(&server, Path::new(&place(name)), name);
        server.clear_log();
        let file = nczarr::open(format!("{}/web/{name}{asked}", server.url())).unwrap();
        assert!(server.counts().total() <= open, "{name}: {:?}", server.counts());
        server.clear_log();
        assert_eq!(file.variable("v").unwrap().get_values::<i32>(..).unwrap(), values());
        assert!(server.counts().total() <= read, "{name}: {:?}", server.counts());
        file.close().unwrap();
    }
}

#[test]
fn missing_datasets_are_errors_with_their_url() {
    let server = Server::start(Kind::default().web("web"));
    server.put("web", "x.zarr/.zgroup", "{\"zarr_format\": 2}");
    server.put("web", "text", "no dataset of any kind");
    for (path, kind) in [
        ("none.zarr", ErrorKind::NotFound),
        ("none.zarr#mode=zarr", ErrorKind::NotFound),
        ("none.zarr#mode=nczarr,v3", ErrorKind::NotFound),
        ("none#mode=bytes", ErrorKind::NotFound),
        ("none.zip#mode=zarr,zip", ErrorKind::NotFound),
        ("x.zarr", ErrorKind::Perm),
        ("text#mode=bytes", ErrorKind::NotNc),
        ("text#mode=zip", ErrorKind::NotNc),
        ("text#mode=bytes,cdf1", ErrorKind::NotNc),
    ] {
        let error = nczarr::open(format!("{}/web/{path}", server.url())).expect_err("an error");
        assert_eq!(error.kind(), kind, "{path}: {error}");
        assert!(error.to_string().contains(path.split('#').next().unwrap()), "{path}: {error}");
    }
}

#[test]
fn a_file_that_is_replaced_while_it_is_open_is_an_error() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("c.nc").display().to_string();
    let server = Server::start(Kind::default().web("web"));
    let file = nczarr::create(Place::url(format!("{path}#mode=cdf5"))).unwrap();
    file.add_dimension("x", 3_000_000).unwrap();
    file.add_variable::<i32>("v", &["x"]).unwrap().put(&vec![7; 3_000_000], ..).unwrap();
    file.close().unwrap();
    upload(&server, Path::new(&path), "c.nc");
    let file = nczarr::open(format!("{}/web/c.nc#mode=bytes", server.url())).unwrap();
    server.fault(Rule::new(Fault::Replaced).after(2).times(1));
    let error = file.variable("v").unwrap().get_values::<i32>(..).unwrap_err();
    assert!(error.to_string().contains("changed"), "{error}");
}

/// A name that ends like a file's is first opened as one. Of other names the object itself is tried last.
#[test]
fn files_open_without_a_mode() {
    let folder = tempfile::tempdir().unwrap();
    let place = |name: &str| folder.path().join(name).display().to_string();
    let server = Server::start(Kind::default().web("web"));
    for (made, name, before) in [
        ("#mode=cdf5", "c.nc", 0),
        ("#mode=netcdf-4", "h.nc", 0),
        ("#mode=nczarr,zip", "n.zip", 0),
        ("#mode=zarr,v3,zip", "z3.zip", 0),
        // All markers of stores are tried first.
        ("#mode=cdf1", "classic", 6),
        ("#mode=netcdf-4", "hdf5.dat", 6),
        ("#mode=zarr,zip", "archive", 6),
    ] {
        make(&format!("{}{made}", place(name))).unwrap();
        upload(&server, Path::new(&place(name)), name);
        let url = format!("{}/web/{name}", server.url());
        server.clear_log();
        let file = nczarr::open(&url).unwrap_or_else(|error| panic!("{name}: {error}"));
        let (log, counts) = (server.log(), server.counts());
        assert_eq!(log.iter().take_while(|entry| entry.status == 404).count(), before, "{name}: {log:?}");
        // Few requests find the format; then the driver opens the file.
        assert!(counts.total() <= before as u64 + 3, "{name}: {counts:?}");
        assert!(log[before].range.is_some() && log[before].sent <= 65_536, "{name}: {:?}", log[before]);
        drop(file);
        check(&url).unwrap_or_else(|error| panic!("{name}: {error}"));
    }
    // A store with such a name is a store.
    make(&format!("{}#mode=nczarr,file", place("store.nc"))).unwrap();
    upload(&server, Path::new(&place("store.nc")), "store.nc");
    check(&format!("{}/web/store.nc", server.url())).unwrap();
    // A store needs no more requests.
    make(&format!("{}#mode=nczarr,v3,file", place("n3.zarr"))).unwrap();
    upload(&server, Path::new(&place("n3.zarr")), "n3.zarr");
    server.clear_log();
    nczarr::open(format!("{}/web/n3.zarr", server.url())).unwrap().close().unwrap();
    assert_eq!(server.log().iter().filter(|entry| entry.key == "n3.zarr").count(), 0, "{:?}", server.log());
}

#[test]
fn a_mistyped_url_lists_the_requested_urls() {
    let server = Server::start(Kind::default().web("web"));
    for (path, tried) in [
        ("none.zarr", &["none.zarr", "none.zarr/.zgroup", "none.zarr/zarr.json"][..]),
        ("none.zarr#mode=zarr", &["none.zarr/.zgroup", "none.zarr/.zmetadata", "none.zarr/zarr.json"]),
        ("none.zarr#mode=nczarr,v2", &["none.zarr/.zgroup"]),
        ("none.zarr#mode=zarr,v3", &["none.zarr/zarr.json"]),
        ("none.nc", &["none.nc", "none.nc/zarr.json"]),
        ("none.nc#mode=bytes", &["none.nc"]),
    ] {
        server.clear_log();
        let error = nczarr::open(format!("{}/web/{path}", server.url())).expect_err("an error");
        let text = error.to_string();
        assert_eq!(error.kind(), ErrorKind::NotFound, "{text}");
        assert!(text.contains("no dataset found"), "{text}");
        for url in tried {
            assert!(text.contains(&format!("{}/web/{url}", server.url())), "{url}: {text}");
        }
        assert!(server.counts().total() <= 8, "{path}: {:?}", server.counts());
    }
}

/// A retry cannot help if the server speaks plain HTTP.
#[test]
fn https_to_a_plain_http_port_fails_without_retries() {
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let host = listener.local_addr().unwrap();
    let (stop, asked) = (Arc::new(AtomicBool::new(false)), Arc::new(AtomicUsize::new(0)));
    let serving = std::thread::spawn({
        let (stop, connections) = (Arc::clone(&stop), Arc::clone(&asked));
        move || {
            for stream in listener.incoming() {
                if stop.load(Ordering::Acquire) {
                    return;
                }
                connections.fetch_add(1, Ordering::AcqRel);
                let mut stream = stream.unwrap();
                // A server answers an invalid request after reading it.
                let _ = stream.read(&mut [0; 4096]);
                let _ = stream
                    .write_all(b"HTTP/1.1 400 Bad Request\r\nContent-Length: 0\r\nConnection: close\r\n\r\n");
            }
        }
    });
    for (path, most) in [
        ("x.zarr#mode=zarr,v3", 1),
        ("x.nc#mode=bytes", 1),
        // The list is requested together with the document.
        ("bucket/x.zarr#mode=zarr,v3,s3", 3),
    ] {
        asked.store(0, Ordering::Release);
        let error = nczarr::open(format!("https://key:secret@{host}/{path}")).expect_err("an error");
        let text = format!("{error:#}");
        assert!(text.contains("the server speaks plain HTTP"), "{path}: {text}");
        assert!(!text.contains("times") && !text.contains("secret"), "{path}: {text}");
        assert!(
            asked.load(Ordering::Acquire) <= most,
            "{path}: {} connections",
            asked.load(Ordering::Acquire)
        );
    }
    stop.store(true, Ordering::Release);
    drop(TcpStream::connect(host));
    serving.join().unwrap();
}

#[test]
fn arrays_and_groups_open_by_their_own_urls() {
    let folder = tempfile::tempdir().unwrap();
    for config in [Kind::default().web("web"), Kind::default().web("web").unlisted("web").unlisted("bucket")]
    {
        let server = Server::start(config);
        for (name, modes) in [
            ("n2.zarr", "nczarr"),
            ("n3.zarr", "nczarr,v3"),
            ("z2.zarr", "zarr,consolidated"),
            ("z3.zarr", "zarr,v3,consolidated"),
        ] {
            let path = folder.path().join(name).display().to_string();
            let file = nczarr::CreateOptions::new()
                .clobber(true)
                .create(Place::url(format!("{path}#mode={modes},file")))
                .unwrap();
            file.add_dimension("x", 3).unwrap();
            file.add_variable::<i32>("temperature", &["x"]).unwrap().put(&[1, 2, 3], ..).unwrap();
            let inner = file.add_group("g").unwrap().add_group("h").unwrap();
            inner.add_variable::<f32>("salinity", &["x"]).unwrap().put(&[4.5f32; 3], ..).unwrap();
            file.close().unwrap();
            upload(&server, Path::new(&path), name);
            for key in server.keys("web") {
                server.put("bucket", &key, server.get("web", &key).unwrap());
            }
            let version = if modes.contains("v3") { "v3" } else { "v2" };
            for (bucket, keys, modes) in [
                ("web", "", [String::new(), "#mode=zarr".to_owned(), format!("#mode=zarr,{version}")]),
                (
                    "bucket",
                    "key:secret@",
                    ["#mode=s3".to_owned(), "#mode=s3,zarr".to_owned(), format!("#mode=s3,zarr,{version}")],
                ),
            ] {
                for mode in modes {
                    for (array, values) in [("temperature", [1.0, 2.0, 3.0]), ("g/h/salinity", [4.5; 3])] {
                        let url = format!("http://{keys}{}/{bucket}/{name}/{array}{mode}", server.host());
                        let file = nczarr::open(&url).unwrap_or_else(|error| panic!("{url}: {error:#}"));
                        let name = array.rsplit('/').next().unwrap();
                        let read = file.variable(name).unwrap().get_values::<f64>(..).unwrap();
                        assert_eq!(read, values, "{url}");
                        let alone = nczarr::open_variable(&url, name)
                            .unwrap_or_else(|error| panic!("{url}: {error:#}"));
                        assert_eq!(alone.get_values::<f64>(1..2).unwrap(), values[1..2], "{url}");
                    }
                }
            }
        }
    }
}

/// A listed child that does not exist is the only one missing.
#[test]
fn a_missing_child_leaves_others_readable() {
    let folder = tempfile::tempdir().unwrap();
    for config in [Kind::default().web("web"), Kind::default().web("web").unlisted("web")] {
        let server = Server::start(config);
        for (name, modes) in [("n2.zarr", "nczarr"), ("n3.zarr", "nczarr,v3")] {
            let path = folder.path().join(name).display().to_string();
            let options = nczarr::CreateOptions::new().clobber(true);
            let file = options.create(Place::url(format!("{path}#mode={modes},file"))).unwrap();
            file.add_dimension("x", 3).unwrap();
            file.add_variable::<i32>("v", &["x"]).unwrap().put(&[1, 2, 3], ..).unwrap();
            file.add_variable::<i32>("gone", &["x"]).unwrap();
            file.close().unwrap();
            upload(&server, Path::new(&path), name);
            for key in server.keys("web").iter().filter(|key| key.contains("/gone/")) {
                server.remove("web", key);
            }
            let file = nczarr::open(format!("{}/web/{name}", server.url())).unwrap();
            assert_eq!(file.variable("v").unwrap().get_values::<i32>(..).unwrap(), [1, 2, 3]);
            let gone = file.variable("gone").and_then(|gone| gone.get_values::<i32>(..)).unwrap_err();
            assert!(gone.to_string().contains("gone"), "{gone}");
        }
    }
}
