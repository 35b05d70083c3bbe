//! Datasets through the facade, with request counts.

use std::time::Duration;

use nczarr::{CreateOptions, ErrorKind};
use s3_server::{Config, Fault, Op, Rule, Server};

use crate::common::url;

/// Writes a variable of `chunks` chunks of 100 floats, and returns its values.
fn write(at: &str, chunks: u64) -> Vec<f32> {
    let values: Vec<f32> = (0..chunks * 100).map(|i| i as f32 * 0.5).collect();
    let file = nczarr::create(at).unwrap();
    file.put_attribute("title", "in a bucket").unwrap();
    file.add_dimension("x", chunks * 100).unwrap();
    let v = file.add_variable::<f32>("v", &["x"]).unwrap();
    v.set_chunking(&[100]).unwrap();
    v.set_deflate(1, !at.contains("v3")).unwrap();
    v.put_attribute("scale_factor", 2.0).unwrap();
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
        assert_eq!(&file.variable("v").unwrap().get::<f32>(..).unwrap()[..], values, "{modes}");
        drop(file);

        let file = nczarr::append(&at).unwrap();
        file.variable("v").unwrap().put(&[7.0f32; 150], 30..180).unwrap();
        file.put_attribute("more", 5i32).unwrap();
        file.close().unwrap();
        values[30..180].fill(7.0);
        let file = nczarr::open(&at).unwrap();
        assert_eq!(&file.variable("v").unwrap().get::<f32>(..).unwrap()[..], values, "{modes}");
        assert_eq!(file.attribute("more").unwrap().number(), Some(5.0));

        let refused = nczarr::create(&at).unwrap_err();
        assert_eq!(refused.kind(), ErrorKind::Object, "{refused}");
        CreateOptions::new().clobber(true).create(&at).unwrap().close().unwrap();
        assert_eq!(nczarr::open(&at).unwrap().variables().len(), 0, "{modes}");
        nczarr::delete(&at).unwrap();
        assert_eq!(server.keys("bucket"), [""; 0], "{modes}");
        let missing = nczarr::open(&at).unwrap_err();
        assert!(
            matches!(missing.kind(), ErrorKind::NotZarr | ErrorKind::NotFound | ErrorKind::NotNc),
            "{missing}"
        );
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
    assert_eq!(&v.get::<f32>(..).unwrap()[..], values);
    let counts = server.counts();
    assert_eq!((counts.total(), counts.of(Op::Get)), (128, 128));
    assert!(counts.at_once > 8, "{} at once", counts.at_once);
}

#[test]
fn one_element_of_a_variable_takes_one_request() {
    let server = Server::start(Config::default());
    let at = url(&server, "x", "nczarr");
    let values = write(&at, 8);
    let v = nczarr::open_variable(&at, "v").unwrap();
    server.clear_log();
    assert_eq!(v.get::<f32>(333).unwrap()[0], values[333]);
    let counts = server.counts();
    assert_eq!((counts.total(), counts.of(Op::Get)), (1, 1));
}

/// Writes a dataset of `count` variables in ten groups, and a few in the root.
fn write_many(at: &str, count: usize) {
    let file = nczarr::create(at).unwrap();
    file.add_dimension("x", 4).unwrap();
    for number in 0..count {
        let group = format!("g{}", number % 10);
        let group = file.group(&group).or_else(|_| file.add_group(&group)).unwrap();
        let v = group.add_variable::<f32>(&format!("v{number}"), &["x"]).unwrap();
        v.put_attribute("number", number as i32).unwrap();
        v.put(&[number as f32; 4], ..).unwrap();
    }
    file.close().unwrap();
}

fn is_document(key: &str) -> bool {
    [".zarray", ".zattrs", ".zgroup", "zarr.json"].contains(&key.rsplit('/').next().unwrap())
}

/// Checks that every variable has its attribute.
fn check_many(file: &nczarr::File, count: usize) {
    let model = file.model();
    assert_eq!(model.vars().count(), count);
    for (id, _) in model.vars() {
        let v = file.variable_by_id(id).unwrap();
        let number: f64 = v.name()[1..].parse().unwrap();
        assert_eq!(v.attribute("number").unwrap().number(), Some(number));
        assert_eq!(v.group().name(), format!("g{}", number % 10.0));
    }
}

#[test]
fn opening_takes_few_requests() {
    let server = Server::start(Config::default());
    const MANY: usize = 200;
    let mut before = "";
    // Five documents of the root (all markers, if no mode names the format) and the list; then all other
    // documents at once. Consolidated metadata need only the first requests.
    for (written, opened, root, others, lists) in [
        ("zarr,consolidated", "zarr,v2,consolidated", 1, false, 0),
        ("zarr,consolidated", "zarr,consolidated", 2, false, 0),
        ("zarr,consolidated", "zarr", 5, false, 1),
        ("zarr,consolidated", "", 6, false, 1),
        ("zarr", "zarr", 5, true, 1),
        ("zarr", "zarr,v2", 4, true, 1),
        ("zarr", "", 6, true, 1),
        ("nczarr", "nczarr", 5, true, 1),
        ("nczarr", "zarr", 5, true, 1),
        ("nczarr", "", 6, true, 1),
        ("zarr,v3,consolidated", "zarr,v3,consolidated", 1, false, 0),
        ("nczarr,v3,consolidated", "nczarr,v3,consolidated", 1, false, 0),
        ("zarr,v3,consolidated", "zarr,consolidated", 2, false, 0),
        ("zarr,v3,consolidated", "zarr", 5, false, 1),
        ("zarr,v3", "zarr", 5, true, 1),
        ("zarr,v3", "zarr,v3", 1, true, 1),
        ("zarr,v3", "", 6, true, 1),
        ("nczarr,v3", "nczarr", 5, true, 1),
        ("nczarr,v3", "nczarr,v3", 1, true, 1),
    ] {
        if written != before {
            if !before.is_empty() {
                nczarr::delete(url(&server, "many", before)).unwrap();
            }
            write_many(&url(&server, "many", written), MANY);
            before = written;
        }
        let documents =
            server.keys("bucket").iter().filter(|key| is_document(key) && key.contains("/g")).count() as u64;
        server.clear_log();
        let file = nczarr::open(url(&server, "many", opened)).unwrap();
        let counts = server.counts();
        check_many(&file, MANY);
        println!("{written} opened as {opened:?}: {} GET, {} LIST", counts.of(Op::Get), counts.of(Op::List));
        let gets = if others { root + documents } else { root };
        let found = (counts.of(Op::Get), counts.of(Op::List), counts.total());
        assert_eq!(found, (gets, lists, gets + lists), "{written} opened as {opened:?}");
    }
}

/// A dataset of more objects than fit in a listing page is not listed completely.
#[test]
fn many_chunks_are_not_listed() {
    let server = Server::start(Config::default().page(30));
    for (mode, gets, lists) in [("zarr", 5 + 3, 2), ("zarr,v3", 5 + 1, 2), ("nczarr", 5 + 2, 1)] {
        let at = url(&server, "long", mode);
        write(&at, 40);
        server.clear_log();
        let file = nczarr::open(url(&server, "long", &mode.replace(",v3", ""))).unwrap();
        assert_eq!(file.variables().len(), 1);
        let counts = server.counts();
        println!("{mode}: {} GET, {} LIST", counts.of(Op::Get), counts.of(Op::List));
        assert_eq!((counts.of(Op::List), counts.of(Op::Get)), (lists, gets), "{mode}: {counts:?}");
        drop(file);
        nczarr::delete(&at).unwrap();
    }
}

/// Opening without the right to list objects.
#[test]
fn without_the_right_to_list() {
    let server = Server::start(Config::default());
    for (written, opened, works) in
        [("nczarr", "nczarr", true), ("zarr,consolidated", "zarr", true), ("zarr", "zarr", false)]
    {
        let at = url(&server, "shut", written);
        write(&at, 2);
        server.fault(Rule::new(Fault::Status(403, "AccessDenied")).on(Op::List));
        match nczarr::open(url(&server, "shut", opened)) {
            Ok(file) => assert!(works && file.variables().len() == 1, "{written}"),
            Err(error) => assert!(!works && error.to_string().contains("403"), "{written}: {error}"),
        }
        server.no_faults();
        nczarr::delete(&at).unwrap();
    }
}

/// Reading one element of a dataset that is not open takes only the array's document and the chunk, if the
/// fragment names the Zarr format.
#[test]
fn one_element_cold() {
    let server = Server::start(Config::default());
    for (written, opened, requests) in [
        ("zarr", "zarr,v2", 2),
        ("zarr,v3", "zarr,v3", 2),
        ("zarr,consolidated", "zarr,v2,consolidated", 2),
        ("nczarr", "zarr,v2", 2),
        ("nczarr,v3", "zarr,v3", 2),
        ("zarr", "zarr", 3),
        ("zarr,v3", "zarr", 3),
        ("nczarr", "nczarr,v2", 5 + 1),
        ("nczarr,v3", "nczarr,v3", 2 + 1),
    ] {
        let at = url(&server, "cold", written);
        let values = write(&at, 8);
        let opened_at = url(&server, "cold", opened);
        server.clear_log();
        let v = nczarr::OpenOptions::new().open_data(&opened_at, "v").unwrap();
        assert_eq!(v.get::<f32>(333).unwrap()[0], values[333], "{written} opened as {opened}");
        let counts = server.counts();
        println!("{written} opened as {opened}: {} requests", counts.total());
        assert_eq!(
            (counts.total(), counts.of(Op::Get)),
            (requests, requests),
            "{written} opened as {opened}"
        );
        // Skipped metadata are read on demand.
        assert_eq!(v.get_unpacked::<f64>(333).unwrap()[0], 2.0 * f64::from(values[333]));
        let whole = v.complete().unwrap();
        assert_eq!(whole.attribute("scale_factor").unwrap().number(), Some(2.0));
        assert_eq!(whole.dimensions()[0].name(), "x");
        assert_eq!(whole.shape().unwrap(), v.shape().unwrap());
        // Absence and refusal have their own errors.
        let error = nczarr::OpenOptions::new().open_data(&opened_at, "w").unwrap_err();
        assert_eq!(error.kind(), ErrorKind::NotVar, "{error}");
        server.fault(Rule::new(Fault::Status(403, "AccessDenied")).on(Op::Get).key("v/.zarray"));
        server.fault(Rule::new(Fault::Status(403, "AccessDenied")).on(Op::Get).key("v/zarr.json"));
        if !opened.contains("consolidated") {
            let v = nczarr::OpenOptions::new().open_data(&opened_at, "v").and_then(|v| v.get::<f32>(333));
            let error = v.expect_err("an error");
            assert!(error.to_string().contains("403"), "{error}");
        }
        server.no_faults();
        nczarr::delete(&at).unwrap();
    }
}

/// Opening a single variable reads its documents, and those of its groups, at once.
#[test]
fn one_variable_far_away() {
    let server = Server::start(Config::default());
    for (written, requests) in [("zarr", 7), ("zarr,v3", 7), ("nczarr", 7), ("nczarr,v3", 7)] {
        let at = url(&server, "one", written);
        write_many(&at, 30);
        let all = nczarr::open(&at).unwrap();
        for path in ["/g3/v3", "/g9/v29"] {
            server.clear_log();
            let alone = nczarr::open_variable(at.replace(",v3", ""), path).unwrap();
            let counts = server.counts();
            assert!(counts.total() <= requests + 4 && counts.of(Op::List) == 0, "{written}: {counts:?}");
            let whole = all.variable(path).unwrap();
            assert_eq!(alone.attributes().len(), whole.attributes().len());
            assert_eq!(
                alone.attribute("number").unwrap().number(),
                whole.attribute("number").unwrap().number()
            );
            assert_eq!(alone.full_name(), whole.full_name());
            assert_eq!(&alone.get::<f32>(..).unwrap()[..], &whole.get::<f32>(..).unwrap()[..]);
        }
        drop(all);
        nczarr::delete(&at).unwrap();
    }
}

/// Names with keys above S3's limit are refused before any write.
#[test]
fn names_too_long_for_a_key_are_refused_when_they_are_defined() {
    let server = Server::start(Config::default());
    let at = url(&server, "dir/x", "nczarr");
    let file = nczarr::create(&at).unwrap();
    file.add_dimension("x", 4).unwrap();
    let outer = file.add_group(&"o".repeat(250)).unwrap();
    let middle = outer.add_group(&"m".repeat(250)).unwrap();
    let inner = middle.add_group(&"i".repeat(250)).unwrap();
    // Of 1024 bytes, `dir/x/` and the groups above take 759, and 64 are reserved for keys below.
    inner.add_variable::<f32>(&"v".repeat(201), &["x"]).unwrap().put(&[1.5f32; 4], ..).unwrap();
    for refused in [
        inner.add_variable::<f32>(&"w".repeat(202), &["x"]).err(),
        inner.add_group(&"g".repeat(202)).err(),
        inner.variables()[0].rename(&"u".repeat(202)).err(),
    ] {
        let error = refused.expect("an error");
        assert_eq!(error.kind(), ErrorKind::MaxName, "{error}");
        let text = error.to_string();
        for part in [&"o".repeat(250), "955 bytes", "at most 1018"] {
            assert!(text.contains(part), "{part}: {text}");
        }
    }
    file.close().unwrap();
    let file = nczarr::open(&at).unwrap();
    let inner = file.group("oo".repeat(125).as_str()).unwrap().groups()[0].groups()[0].clone();
    assert_eq!(&inner.variables()[0].get::<f32>(..).unwrap()[..], [1.5; 4]);
    assert!(server.keys("bucket").iter().all(|key| key.len() <= 1024));
}
