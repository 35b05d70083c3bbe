//! Datasets as they lie on web servers, through the facade.

use std::path::Path;

use nczarr::{ErrorKind, Result};
use nczarr_s3_server::{Config as Kind, Fault, Op, Rule, Server};

const ROWS: u64 = 100;

fn values() -> Vec<i32> {
    (0..ROWS as i32 * 40).map(|at| at * at - 7).collect()
}

/// Makes a dataset.
fn make(url: &str) -> Result<()> {
    let file = nczarr::create(url)?;
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

/// Checks what a dataset holds.
fn check(url: &str) -> Result<()> {
    let file = nczarr::open(url)?;
    let v = file.variable("v")?;
    assert_eq!(v.get_values::<i32, _>(..)?, values());
    let box_of = [2003, 2004, 2043, 2044].map(|at: i32| at * at - 7);
    assert_eq!(v.get_values::<i32, _>((50..52, 3..5))?, box_of);
    assert_eq!(file.variable("w")?.get_values::<f64, _>(..)?, [0.5; 40]);
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
        // The same in chunks of the answer, and without ranges.
        for fault in [Fault::Chunked, Fault::RangeIgnored] {
            server.fault(Rule::new(fault.clone()));
            check(&url).unwrap_or_else(|error| panic!("{name}{asked} {fault:?}: {error}"));
            server.no_faults();
        }
        // What is only read is not written, replaced or deleted.
        for refused in [nczarr::OpenOptions::new().writable(true).open(&url).err(), nczarr::delete(&url).err()] {
            let error = refused.expect("an error");
            assert_eq!(error.kind(), ErrorKind::Perm, "{name}{asked}: {error}");
        }
    }
}

/// HDF4 files are only read: one that the HDF library wrote.
#[test]
fn hdf4_files_are_read_by_ranges() {
    let corpus = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../tests/corpus/hdf4");
    let server = Server::start(Kind::default().web("web"));
    upload(&server, &corpus.join("codings.hdf"), "x.hdf");
    let local = nczarr::open(corpus.join("codings.hdf").to_str().unwrap()).unwrap();
    for asked in ["#mode=bytes", "#mode=hdf4,bytes"] {
        let file = nczarr::open(&format!("{}/web/x.hdf{asked}", server.url())).unwrap();
        for (id, var) in local.model().vars() {
            let read = |file: &nczarr::File| file.variable_by_id(id).unwrap().get_values::<f64, _>(..).unwrap();
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
        ("#mode=cdf5", "c.nc", "#mode=bytes", 2, 1),
        ("#mode=netcdf-4", "h.nc", "#mode=bytes", 2, 1),
    ] {
        make(&format!("{}{made}", place(name))).unwrap();
        upload(&server, Path::new(&place(name)), name);
        server.clear_log();
        let file = nczarr::open(&format!("{}/web/{name}{asked}", server.url())).unwrap();
        assert!(server.counts().total() <= open, "{name}: {:?}", server.counts());
        server.clear_log();
        assert_eq!(file.variable("v").unwrap().get_values::<i32, _>(..).unwrap(), values());
        assert!(server.counts().total() <= read, "{name}: {:?}", server.counts());
        file.close().unwrap();
    }
}

#[test]
fn what_is_missing_is_told() {
    let server = Server::start(Kind::default().web("web"));
    server.put("web", "x.zarr/.zgroup", "{\"zarr_format\": 2}");
    server.put("web", "text", "no dataset of any kind");
    for (path, kind) in [
        ("none.zarr", ErrorKind::NotNc),
        ("none#mode=bytes", ErrorKind::NotFound),
        ("none.zip#mode=zarr,zip", ErrorKind::NotFound),
        ("x.zarr", ErrorKind::Perm),
        ("text#mode=bytes", ErrorKind::NotNc),
        ("text#mode=zip", ErrorKind::NotNc),
        ("text#mode=bytes,cdf1", ErrorKind::NotNc),
    ] {
        let error = nczarr::open(&format!("{}/web/{path}", server.url())).expect_err("an error");
        assert_eq!(error.kind(), kind, "{path}: {error}");
        assert!(error.to_string().contains(path.split('#').next().unwrap()), "{path}: {error}");
    }
}

#[test]
fn a_file_that_is_replaced_while_it_is_open_is_an_error() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("c.nc").display().to_string();
    let server = Server::start(Kind::default().web("web"));
    let file = nczarr::create(&format!("{path}#mode=cdf5")).unwrap();
    file.add_dimension("x", 3_000_000).unwrap();
    file.add_variable::<i32>("v", &["x"]).unwrap().put(&vec![7; 3_000_000], ..).unwrap();
    file.close().unwrap();
    upload(&server, Path::new(&path), "c.nc");
    let file = nczarr::open(&format!("{}/web/c.nc#mode=bytes", server.url())).unwrap();
    server.fault(Rule::new(Fault::Replaced).after(2).times(1));
    let error = file.variable("v").unwrap().get_values::<i32, _>(..).unwrap_err();
    assert!(error.to_string().contains("changed"), "{error}");
}
