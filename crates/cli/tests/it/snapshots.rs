//! The output of every command: transcripts in `snapshots`, each a list of commands (`$ ncz …`) with their
//! output.
//!
//! A test runs the commands of a transcript in a separate folder, one after another, and compares everything.
//! Standard output has no prefix, each line of standard error has `! `, an exit code other than 0 has `? `;
//! `| head -N` shows the first lines only. With `NCZ_UPDATE_SNAPSHOTS=1` the test rewrites the transcripts:
//! to add a command, write its line and run that.

use std::fmt::Write as _;
use std::fs;
use std::path::{Path, PathBuf};

use crate::ncz;

/// The files in the folder of the commands.
const FILES: &[(&str, &str)] = &[
    (
        "ocean.cdl",
        "netcdf ocean {
types:
  byte enum sky { clear = 0, cloudy = 1 } ;
dimensions:
	time = UNLIMITED ;
	lat = 3 ;
	lon = 8 ;
variables:
	double time(time) ;
		time:units = \"days since 2000-01-01\" ;
	float lat(lat) ;
		lat:units = \"degrees_north\" ;
	short t(time, lat, lon) ;
		t:units = \"K\" ;
		t:scale_factor = 0.5 ;
		t:_FillValue = -1s ;
		t:_ChunkSizes = 1, 3, 4 ;
		t:_DeflateLevel = 4 ;
	string name(lat) ;
	sky state ;
	int line(lon) ;
// global attributes:
		:title = \"small <ocean>\" ;
data:
 time = 0.5, 1.5 ;
 lat = -30, 0, 30 ;
 t = 0, 1, 2, 3, 4, 5, 6, 7, 10, 11, 12, 13, 14, 15, 16, 17, 20, 21, 22, 23, 24, 25, 26, _,
     1, 2, 3, 4, 5, 6, 7, 8, 11, 12, 13, 14, 15, 16, 17, 18, 21, 22, 23, 24, 25, 26, 27, 28 ;
 name = \"south\", \"\", \"north é\" ;
 state = cloudy ;
 line = 3, 1, 4, 1, 5, 9, 2, 6 ;
group: deep {
  variables:
  	int t(lat) ;
  data:
   t = 7, -8, 9 ;
  }
}
",
    ),
    ("bad.cdl", "netcdf bad {\ndimensions:\n\tx = 3 ;\nvariables:\n\tint v(y) ;\n}\n"),
    ("junk", "this is no chunk"),
];

fn folder() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/it/snapshots")
}

/// Splits a command line into words; those in single quotes may contain blanks.
fn words(line: &str) -> Vec<String> {
    let pieces = line.split('\'').enumerate();
    let words = pieces.flat_map(|(at, piece)| match at % 2 {
        0 => piece.split_whitespace().map(str::to_owned).collect(),
        _ => vec![piece.to_owned()],
    });
    words.collect()
}

/// Removes output that differs between runs: the version, rates, and times.
fn masked(text: &str, is_measured: bool) -> String {
    let text = text.replace(env!("CARGO_PKG_VERSION"), "VERSION");
    let line = |line: &str| {
        let rate = line.split_once(" %  ").filter(|_| line.ends_with(" left"));
        match rate {
            Some((percent, _)) => format!("{percent} %  N MB/s  M:SS left\n"),
            None if is_measured => format!("{}\n", numbers(line)),
            None => format!("{line}\n"),
        }
    };
    text.lines().map(line).collect()
}

/// Returns a line without its numbers and their alignment.
fn numbers(line: &str) -> String {
    let word = |word: &str| {
        if word.contains(|c: char| c.is_ascii_digit()) { "N".to_owned() } else { word.to_owned() }
    };
    line.split_whitespace().map(word).collect::<Vec<_>>().join(" ")
}

/// Runs a command; returns its output.
fn said(line: &str, place: &Path) -> String {
    let (command, head) = match line.split_once(" | head -") {
        Some((command, lines)) => (command, lines.parse().expect("a number of lines")),
        None => (line, usize::MAX),
    };
    let words = words(command);
    assert_eq!(words[0], "ncz", "{line}");
    let output = ncz().args(&words[1..]).current_dir(place).env("NO_COLOR", "1").output().unwrap();
    let is_measured = words[1] == "bench" && output.status.success() && !words.contains(&"--help".to_owned());
    let [printed, message] = [&output.stdout, &output.stderr]
        .map(|bytes| masked(&String::from_utf8(bytes.clone()).unwrap(), is_measured));
    let mut said = String::new();
    for line in printed.lines().take(head) {
        let _ = writeln!(said, "{line}");
    }
    for line in message.lines() {
        let _ = writeln!(said, "! {line}");
    }
    match output.status.code() {
        Some(0) => {}
        code => {
            let _ = writeln!(said, "? {}", code.unwrap());
        }
    }
    said
}

fn check(name: &str) {
    let path = folder().join(format!("{name}.txt"));
    let expected = fs::read_to_string(&path).unwrap();
    let place = tempfile::tempdir().unwrap();
    for (name, text) in FILES {
        fs::write(place.path().join(name), text).unwrap();
    }
    let mut found = String::new();
    for command in expected.lines().filter_map(|line| line.strip_prefix("$ ")) {
        let said = said(command, place.path());
        // Hide the system's temporary folder.
        let said = said.replace(place.path().to_str().unwrap(), "HERE");
        let _ = write!(found, "$ {command}\n{said}\n");
    }
    if std::env::var_os("NCZ_UPDATE_SNAPSHOTS").is_some() {
        return fs::write(path, found).unwrap();
    }
    if let Some((at, (expected, found))) =
        expected.lines().zip(found.lines()).enumerate().find(|(_, (expected, found))| expected != found)
    {
        panic!("{name}.txt:{}:\n  expected {expected}\n  found    {found}", at + 1);
    }
    assert_eq!(expected.lines().count(), found.lines().count(), "{name}.txt");
}

macro_rules! transcripts {
    ($($name:ident)*) => {
        $(#[test]
        fn $name() {
            check(stringify!($name));
        })*

        /// Every transcript has a test.
        #[test]
        fn every_transcript_is_run() {
            let mut there: Vec<String> = fs::read_dir(folder()).unwrap()
                .map(|entry| entry.unwrap().path().file_stem().unwrap().to_str().unwrap().to_owned()).collect();
            there.sort();
            assert_eq!(there, [$(stringify!($name)),*]);
        }
    };
}

transcripts!(bench cat copy diff dump explain gen_ help info manual map validate view);

#[test]
fn masks_hide_only_varying_numbers() {
    assert_eq!(masked(" 25 %  13 MB/s  0:03 left", false), " 25 %  N MB/s  M:SS left\n");
    assert_eq!(masked("v 12 of 13", false), "v 12 of 13\n");
    assert_eq!(masked("mem  zstd:3   1.25  x", true), "mem N N x\n");
}
