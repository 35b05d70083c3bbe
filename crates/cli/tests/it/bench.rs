//! `ncz bench`: every combination appears and is read back, and no temporary store remains. Times are not
//! checked.

use std::path::Path;
use std::process::{Command, Stdio};

use serde_json::{Value, json};

use crate::{failure, ncz, out, store, text};

const SMALL: &[&str] = &["bench", "--repeats", "2"];

fn compare(args: &[&str]) -> String {
    out(&[SMALL, args].concat())
}

fn is_empty(dir: &Path) -> bool {
    std::fs::read_dir(dir).unwrap().next().is_none()
}

#[test]
fn every_combination_is_measured_and_nothing_stays() {
    let dir = tempfile::tempdir().unwrap();
    let given = [
        "--shape",
        "5x12x9",
        "--chunks",
        "2x5x9,5x12x9,9x99x9",
        "-F",
        "none",
        "-F",
        "shuffle|deflate,5",
        "-F",
        "zstd,3",
    ];
    let all: Value =
        serde_json::from_str(&compare(&[&given[..], &["--json", "--dir", text(dir.path())]].concat()))
            .unwrap();
    assert!(is_empty(dir.path()));
    assert_eq!(all["shape"], json!([5, 12, 9]));
    assert_eq!((&all["bytes"], &all["type"]), (&json!(5 * 12 * 9 * 4), &json!("float")));
    assert_eq!(all["threads"], json!([0]));
    let cells = all["cells"].as_array().unwrap();
    let names: Vec<String> =
        cells.iter().map(|cell| format!("{} {} {}", cell["map"], cell["filters"], cell["chunks"])).collect();
    let mut want = Vec::new();
    for map in ["file", "mem"] {
        for filters in ["none", "shuffle|deflate,5", "zstd,3"] {
            // A chunk longer than the data is cut to its length, and no combination appears twice.
            want.extend(["[2,5,9]", "[5,12,9]"].map(|chunks| format!("\"{map}\" \"{filters}\" {chunks}")));
        }
    }
    assert_eq!(names, want);
    for cell in cells {
        for pattern in ["write", "read", "box", "element", "series", "open", "list"] {
            let figures = &cell["patterns"][pattern];
            assert!(cell[format!("{pattern}_seconds")].as_f64().unwrap() > 0.0, "{cell}");
            assert_eq!(cell[format!("{pattern}_seconds")], figures["p50"], "{cell}");
            assert_eq!(figures["rounds"].as_array().unwrap().len(), 2, "{cell}");
        }
        let whole_chunks = if cell["chunks"] == json!([5, 12, 9]) { 5 * 12 * 9 } else { 3 * 3 * 2 * 5 * 9 };
        let stored = cell["stored_bytes"].as_u64().unwrap();
        match cell["filters"].as_str() {
            Some("none") => assert_eq!(stored, whole_chunks * 4, "{cell}"),
            _ => assert!(stored > 0 && stored < whole_chunks * 4, "{cell}"),
        }
    }
}

#[test]
fn a_variable_is_measured_in_its_type_and_shape() {
    let dir = tempfile::tempdir().unwrap();
    let url = store::ocean(dir.path());
    let url = text(&url);
    let measured = |args: &[&str]| -> Value {
        let fixed = ["--json", "--maps", "mem", "--filter", "none"];
        serde_json::from_str(&compare(&[args, &fixed].concat())).unwrap()
    };
    let all = measured(&[url, "/t"]);
    assert_eq!((&all["data"], &all["type"], &all["shape"]), (&json!("/t"), &json!("float"), &json!([2, 3])));
    let chunks: Vec<&Value> = all["cells"].as_array().unwrap().iter().map(|cell| &cell["chunks"]).collect();
    assert_eq!(chunks, [&json!([1, 3]), &json!([2, 3])]);
    assert_eq!(measured(&[url, "tag"])["type"], "char");
    assert_eq!(measured(&[url, "/t", "--size", "0"])["shape"], json!([1, 1]));
}

#[test]
fn tables_and_bars_have_a_line_for_every_combination() {
    let given = ["--shape", "4x6", "-F", "none", "-F", "zstd,-1"];
    let table = compare(&given);
    let lines: Vec<&str> = table.lines().collect();
    assert_eq!(lines[0], "generated field: float 4x6, 96 bytes; box 4x6; medians of 2, all processors");
    assert!(lines[1].starts_with("target  filters  chunks  write MB/s  read MB/s"), "{table}");
    let starts: Vec<String> =
        lines[2..].iter().map(|line| line.split_whitespace().take(3).collect::<Vec<_>>().join(" ")).collect();
    let want = ["file", "mem"].map(|map| {
        ["none", "zstd,-1"].map(|filter| ["4x6", "1x6"].map(|chunks| format!("{map} {filter} {chunks}")))
    });
    assert_eq!(starts, want.into_iter().flatten().flatten().collect::<Vec<_>>());
    let plot = compare(&[&given[..], &["--plot", "--threads", "1"]].concat());
    assert!(
        plot.starts_with("generated field: float 4x6, 96 bytes; box 4x6; medians of 2, 1 thread\n"),
        "{plot}"
    );
    let quantities = [
        "write MB/s",
        "read MB/s",
        "box ms",
        "element µs",
        "series ms",
        "open ms",
        "list ms",
        "stored MB",
        "ratio",
    ];
    for measure in quantities {
        assert_eq!(
            plot.lines().filter(|line| line.starts_with(&format!("{measure} ("))).count(),
            1,
            "{plot}"
        );
    }
    let bars = |map: &str| plot.lines().filter(|line| line.starts_with(map) && line.contains("x6 ")).count();
    assert_eq!((bars("file "), bars("mem  ")), (9 * 4, 9 * 4), "{plot}");
    let details = compare(&[&given[..], &["--percentiles", "--maps", "mem"]].concat());
    assert_eq!(details.lines().count(), 2 + 4 * 7, "{details}");
    let head: Vec<&str> = details.lines().nth(1).unwrap().split_whitespace().collect();
    let want = ["target", "filters", "chunks", "pattern", "p50", "p95", "p99", "min", "spread", "MB/s"];
    assert_eq!(head, want);
}

#[test]
fn maps_places_and_threads_are_compared() {
    let dir = tempfile::tempdir().unwrap();
    let path = |name: &str| dir.path().join(name).display().to_string();
    let places = format!("{},memory://x,{}", path("x"), path("x.zip"));
    let modes = path("y#mode=zarr,v3");
    let args = ["--shape", "4x6", "--chunks", "2x6", "-F", "none", "--threads", "1,2", "--json"];
    let places = ["--maps", "zip", "--targets", &places, "--targets", &modes, "--dir", text(dir.path())];
    let all: Value = serde_json::from_str(&compare(&[&args[..], &places].concat())).unwrap();
    assert!(is_empty(dir.path()));
    assert_eq!(all["threads"], json!([1, 2]));
    let found: Vec<(&Value, &Value)> =
        all["cells"].as_array().unwrap().iter().map(|cell| (&cell["target"], &cell["map"])).collect();
    let want = [
        (json!("zip"), json!("zip")),
        (json!(path("x")), json!("file")),
        (json!("memory://x"), json!("mem")),
        (json!(path("x.zip")), json!("zip")),
        (json!(modes), json!("file")),
    ];
    assert_eq!(found, want.iter().flat_map(|(target, map)| [(target, map); 2]).collect::<Vec<_>>());
}

#[test]
fn results_are_saved_compared_and_drawn() {
    let dir = tempfile::tempdir().unwrap();
    let path = |name: &str| dir.path().join(name).display().to_string();
    let (saved, page) = (path("before.json"), path("page.html"));
    let args = ["bench", "--shape", "4x6", "--chunks", "2x6", "-F", "none", "--maps", "mem"];
    let first = out(&[&args[..], &["--save", &saved, "--html", &page]].concat());
    assert!(!first.contains("baseline"), "{first}");
    assert!(std::fs::read_to_string(&page).unwrap().contains("<svg "));
    let second = out(&[&args[..], &["--baseline", &saved, "--html", &page]].concat());
    assert!(second.contains("compared with the baseline\ntarget  filters  chunks "), "{second}");
    assert!(std::fs::read_to_string(&page).unwrap().contains("than before"));
    let few = out(&[&args[..], &["--baseline", &saved, "--repeats", "2"]].concat());
    assert_eq!(few.matches("cannot tell").count(), 7, "{few}");
    for (args, part) in [
        (&["--shape", "9", "--baseline", &saved][..], "it is of other data"),
        (&["--shape", "9", "--baseline", &page], "NC_EINVAL: baseline: no JSON"),
        (&["--shape", "9", "--baseline", "/no/such/file"], "NC_ENOTFOUND"),
        (&["--shape", "9", "--html", "/no/such/file"], "NC_ENOTFOUND"),
    ] {
        let (code, message) = failure(&[&["bench", "--repeats", "1", "--maps", "mem"], args].concat());
        assert!(code == 1 && message.contains(part), "{args:?}: {code} {message}");
    }
}

#[test]
fn nonsense_is_refused_and_nothing_stays() {
    let dir = tempfile::tempdir().unwrap();
    let (data, temporary) = (dir.path().join("data"), dir.path().join("temporary"));
    [&data, &temporary].into_iter().for_each(|path| std::fs::create_dir(path).unwrap());
    let url = store::ocean(&data);
    let url = text(&url);
    for (args, code, part) in [
        (&["--maps", "tape"][..], 2, "--maps tape: NC_ENOTBUILT"),
        (&["--maps", "/tmp/x"], 2, "--maps /tmp/x: not the name of a map; use --targets /tmp/x"),
        (&["--targets", "s3://[x"], 2, "--targets s3://[x: NC_EURL"),
        (
            &["--filter", "zstd,x"],
            2,
            "--filter zstd,x: NC_EINVAL: filter \"zstd,x\": invalid parameter \"x\": unknown tag",
        ),
        (&["--filter", "none|zstd,3"], 2, "`none` cannot be combined with filters"),
        (&["--filter", "nosuch"], 2, "NC_ENOFILTER"),
        (&["--chunks", "3x3"], 2, "--chunks 3x3: 2 lengths"),
        (&["--chunks", "3x0x3"], 2, "\"0\" is not a chunk length"),
        (&["--shape", "3xx3"], 2, "--shape 3xx3"),
        (&["--shape", "3", url], 2, "cannot be used with"),
        (&["--repeats", "0"], 2, "--repeats"),
        (&["--shape", "4000000000x4000000000"], 1, "NC_ENOMEM"),
        (&["--dir", "/no/such/place"], 1, "NC_ENOTFOUND: /no/such/place"),
        (&["nothing-here"], 1, "NC_ENOTFOUND"),
        (&[url], 1, "which variable?"),
        (&[url, "/name"], 1, "NC_EBADTYPE: /name"),
    ] {
        let dir: &[&str] = if args[0] == "--dir" { &[] } else { &["--dir", text(&temporary)] };
        let named = args.iter().any(|arg| [url, "nothing-here", "--shape"].contains(arg));
        let small: &[&str] = if named { &[] } else { &["--shape", "4x4x4"] };
        let (found, message) = failure(&[&["bench"], args, dir, small].concat());
        assert!(found == code && message.contains(part), "{args:?}: {found} {message}");
        assert!(is_empty(&temporary), "{args:?}");
    }
}

#[test]
fn a_signal_leaves_nothing() {
    let dir = tempfile::tempdir().unwrap();
    let args = ["bench", "--shape", "64x64", "--chunks", "1x1", "--repeats", "1000"];
    let places = ["--dir", text(dir.path()), "--maps", "file", "--targets", text(dir.path())];
    let mut child = ncz().args(args).args(places).stdout(Stdio::null()).spawn().unwrap();
    while is_empty(dir.path()) {
        assert_eq!(child.try_wait().unwrap(), None);
        std::thread::yield_now();
    }
    assert!(Command::new("kill").arg(child.id().to_string()).status().unwrap().success());
    assert_eq!(child.wait().unwrap().code(), Some(128 + 15));
    assert!(is_empty(dir.path()));
}
