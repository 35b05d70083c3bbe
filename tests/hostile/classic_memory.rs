//! Classic files with large declared sizes never take more memory than the file size plus 32 MiB.

use std::path::Path;

use nczarr::{ErrorKind, OpenOptions, Result};

use crate::alloc;

const SPARE: usize = 32 << 20;

/// Builds a header.
#[derive(Default)]
struct Head(Vec<u8>);

impl Head {
    fn new(records: u32) -> Self {
        Self(b"CDF\x01".to_vec()).word(records)
    }

    fn word(mut self, word: u32) -> Self {
        self.0.extend_from_slice(&word.to_be_bytes());
        self
    }

    fn name(mut self, name: &[u8]) -> Self {
        self = self.word(name.len() as u32);
        self.0.extend_from_slice(name);
        self.0.resize(self.0.len().next_multiple_of(4), 0);
        self
    }

    /// Appends a list of entries.
    fn list(self, tag: u32, entries: u32, entry: impl FnMut(Self, u32) -> Self) -> Self {
        let head = self.word(if entries == 0 { 0 } else { tag }).word(entries);
        (0..entries).fold(head, entry)
    }

    fn dims(self, entries: u32, len: u32) -> Self {
        self.list(10, entries, |head, number| head.name(&short(number)).word(len))
    }

    /// Appends attributes with one value of type byte each.
    fn atts(self, entries: u32) -> Self {
        self.list(12, entries, |head, number| head.name(&short(number)).word(1).word(1).word(0))
    }

    /// Appends variables of type int with these dimensions and attributes. All have the same offset.
    fn vars(self, entries: u32, dims: &[u32], atts: u32) -> Self {
        self.list(11, entries, |head, number| {
            let head = head.name(&short(number)).word(dims.len() as u32);
            let head = dims.iter().fold(head, |head, &dim| head.word(dim)).atts(atts);
            head.word(4).word(4).word(0x7FFF_0000)
        })
    }
}

/// Returns a unique name for each number, as short as possible.
fn short(number: u32) -> Vec<u8> {
    let digits = b"0123456789abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ";
    let mut rest = number as usize;
    let mut name = Vec::new();
    loop {
        name.push(digits[rest % digits.len()]);
        rest /= digits.len();
        if rest == 0 {
            return name;
        }
    }
}

/// The files and their expected errors; `None` means success.
fn headers() -> Vec<(&'static str, Vec<u8>, Option<ErrorKind>)> {
    let (long, large) = (vec![b'n'; 40 << 20], 48u32 << 20);
    let too_much = Some(ErrorKind::FileMeta);
    vec![
        (
            "a large attribute",
            {
                let mut head = Head::new(0).dims(0, 0).word(12).word(1).name(b"a").word(6).word(large / 8);
                head.0.resize(head.0.len() + large as usize, 7);
                head.vars(0, &[], 0).0
            },
            None,
        ),
        ("100,000 dimensions", Head::new(0).dims(100_000, 1).atts(0).vars(0, &[], 0).0, None),
        ("700,000 dimensions", Head::new(0).dims(700_000, 1).atts(0).vars(0, &[], 0).0, too_much),
        ("100,000 attributes", Head::new(0).dims(0, 1).atts(100_000).vars(0, &[], 0).0, None),
        ("1,000,000 attributes", Head::new(0).dims(0, 1).atts(1_000_000).vars(0, &[], 0).0, too_much),
        // All variables have the same offset, which is inserted when it is known.
        (
            "20,000 variables and 50,000 dimensions",
            Head::new(0).dims(50_000, 1).atts(0).vars(20_000, &[1, 2], 0).0,
            Some(ErrorKind::NotNc),
        ),
        ("500,000 variables", Head::new(0).dims(0, 1).atts(0).vars(500_000, &[], 0).0, too_much),
        (
            "variables with many dimensions",
            Head::new(0).dims(1, 1).atts(0).vars(10_000, &[0; 1000], 0).0,
            Some(ErrorKind::NotNc),
        ),
        ("variables with attributes", Head::new(0).dims(0, 1).atts(0).vars(60_000, &[], 4).0, too_much),
        (
            "a long name",
            Head::new(0).word(10).word(1).name(&long).word(1).atts(0).vars(0, &[], 0).0,
            too_much,
        ),
        (
            "a long name that is no text",
            {
                let odd = vec![0xFF; 10 << 20];
                Head::new(0).word(0).word(0).word(12).word(1).name(&odd).word(1).word(0).vars(0, &[], 0).0
            },
            too_much,
        ),
    ]
}

#[test]
fn memory_of_headers_is_bounded_by_the_file_size() {
    let _alone = alloc::alone();
    let folder = tempfile::tempdir().expect("a temporary folder");
    let path = folder.path().join("x.nc");
    let mut failed = Vec::new();
    for (what, bytes, expected) in headers() {
        std::fs::write(&path, &bytes).expect("room");
        let size = bytes.len();
        let (mut opened, mut places) =
            (Vec::new(), vec![("file", alloc::peak(|| nczarr::open(text(&path))))]);
        let bytes: std::sync::Arc<[u8]> = bytes.into();
        places.push(("memory", alloc::peak(|| nczarr::open_bytes(bytes))));
        for (place, (outcome, peak)) in places {
            let kind = outcome.as_ref().err().map(nczarr::Error::kind);
            if kind != expected {
                failed.push(format!("{what}, {place}: {:?}", outcome.as_ref().err()));
            }
            if peak > size + SPARE {
                failed.push(format!("{what}, {place}: {} KiB for a file of {} KiB", peak >> 10, size >> 10));
            }
            opened.push(outcome);
        }
    }
    assert!(failed.is_empty(), "{}", failed.join("\n"));
}

fn text(path: &Path) -> String {
    path.display().to_string()
}

#[test]
fn a_short_file_fails_before_it_allocates_memory() {
    let _alone = alloc::alone();
    let folder = tempfile::tempdir().expect("a temporary folder");
    let path = folder.path().join("x.nc");
    let (x, records) = (40u32 << 20, 90_000_000);
    // The file declares a fixed variable and a record variable of two ints each. It lacks their data or ends
    // inside them.
    let make = |cut: bool| -> Result<()> {
        let head = Head::new(records).word(10).word(2).name(b"t").word(0).name(b"x").word(x).atts(0);
        let head = head.word(11).word(2);
        let head = head.name(b"v").word(1).word(1).atts(0).word(4).word(x * 4).word(200);
        let head = head.name(b"r").word(1).word(0).atts(0).word(4).word(4).word(200 + x * 4);
        let mut bytes = head.0;
        bytes.resize(200 + if cut { 0 } else { 1 << 20 }, 0);
        std::fs::write(&path, bytes).map_err(|error| ErrorKind::Io.context(error.to_string()))
    };
    for (cut, mapped) in [(true, false), (false, false), (true, true), (false, true)] {
        make(cut).expect("room");
        let size = std::fs::metadata(&path).expect("a file").len() as usize;
        for name in ["v", "r"] {
            let (outcome, peak) = alloc::peak(|| {
                let file = OpenOptions::new().memory_map(mapped).open(text(&path))?;
                let variable = file.variable(name)?;
                let plain = variable.get::<i32>(..).map(drop);
                let other = variable.get::<f64>(..).map(drop);
                Ok::<_, nczarr::Error>((plain, other, variable.get_unpacked::<f64>(..).map(drop)))
            });
            let (plain, other, unpacked) = outcome.expect("it opens");
            for outcome in [plain, other, unpacked] {
                assert_eq!(outcome.map_err(|error| error.kind()), Err(ErrorKind::Trunc), "{name}");
            }
            assert!(peak < size + SPARE, "{name}: {} KiB", peak >> 10);
        }
    }
}
