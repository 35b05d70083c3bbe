//! Parses the reference dump tool's output and prints it again. The result has the same bytes.

mod again;
mod any;
mod by_hand;
mod left_out;
mod parse;
mod read;

use std::panic::catch_unwind;
use std::path::{Path, PathBuf};

use nczarr_cdl::{Options, PrintedPart};

/// One reference text and its options.
struct Case {
    suffix: &'static str,
    part: PrintedPart,
    special: bool,
    digits: Option<(usize, usize)>,
}

const CASES: [Case; 4] = [
    Case { suffix: ".cdl", part: PrintedPart::All, special: false, digits: None },
    Case { suffix: ".h.cdl", part: PrintedPart::Header, special: false, digits: None },
    Case { suffix: ".s.cdl", part: PrintedPart::All, special: true, digits: None },
    Case { suffix: ".p17.cdl", part: PrintedPart::All, special: true, digits: Some((9, 17)) },
];

/// Returns the correct form of a reference text. The reference omits the sizes and the line end of a scalar's
/// `_ChunkSizes`. It also omits the path of a type that another type of the same name hides.
fn corrected(text: &[u8]) -> Vec<u8> {
    const HOLE: &[u8] = b":_ChunkSizes = ";
    const HIDDEN: &[u8] = b"\tcc rootc(y) ;";
    if let Some(at) = text.windows(HIDDEN.len()).position(|window| window == HIDDEN) {
        return corrected(&[&text[..=at], b"/", &text[at + 1..]].concat());
    }
    let mut out = Vec::new();
    let mut rest = text;
    while let Some(at) = rest.windows(HOLE.len()).position(|window| window == HOLE) {
        let end = at + HOLE.len();
        let from = if rest[end].is_ascii_digit() {
            end
        } else {
            rest[..at].iter().rposition(|&byte| byte == b'\n').map_or(0, |line| line + 1)
        };
        out.extend_from_slice(&rest[..from]);
        rest = &rest[end..];
    }
    out.extend_from_slice(rest);
    out
}

/// Prints the dataset at `stem` in all forms of the corpus. Returns the number of forms, or a difference.
fn check(stem: &Path) -> Result<usize, String> {
    let read = |suffix: &str| {
        let mut path = stem.as_os_str().to_owned();
        path.push(suffix);
        std::fs::read(path).ok().map(|text| corrected(&text))
    };
    let source =
        read(".p17.cdl").or_else(|| read(".s.cdl")).or_else(|| read(".cdl")).ok_or("nothing to read")?;
    let mut parsed = catch_unwind(|| parse::parse(&source)).map_err(|panic| {
        panic
            .downcast_ref::<String>()
            .cloned()
            .or_else(|| panic.downcast_ref::<&str>().map(|s| (*s).to_owned()))
            .unwrap_or_default()
    })?;
    let mut compared = 0;
    for case in &CASES {
        let Some(want) = read(case.suffix) else { continue };
        let options = Options {
            name: parsed.name.clone(),
            part: case.part,
            // The reference cannot show the special attributes of every format.
            special: case.special && want.windows(11).any(|window| window == b":_Format = "),
            float_digits: case.digits.map(|digits| digits.0),
            double_digits: case.digits.map(|digits| digits.1),
            ..Options::default()
        };
        let mut got = Vec::new();
        nczarr_cdl::print(&parsed.model, &parsed.facts, &options, &mut parsed.data, &mut got)
            .map_err(|error| error.to_string())?;
        if got != want {
            let (got, want) = (String::from_utf8_lossy(&got), String::from_utf8_lossy(&want));
            let line = got.lines().zip(want.lines()).position(|(got, want)| got != want).unwrap_or(0);
            return Err(format!(
                "{} line {}:\n  printed  {:?}\n  expected {:?}",
                case.suffix,
                line + 1,
                got.lines().nth(line).unwrap_or_default(),
                want.lines().nth(line).unwrap_or_default()
            ));
        }
        compared += 1;
    }
    Ok(compared)
}

fn stems(folder: &Path) -> Vec<PathBuf> {
    let mut stems = Vec::new();
    let mut folders = vec![folder.to_owned()];
    while let Some(folder) = folders.pop() {
        for entry in
            std::fs::read_dir(&folder).unwrap_or_else(|error| panic!("{}: {error}", folder.display()))
        {
            let path = entry.unwrap().path();
            let name = path.file_name().unwrap().to_string_lossy().into_owned();
            if path.is_dir() {
                folders.push(path);
            } else if let Some(stem) = name.strip_suffix(".cdl")
                && ![".s", ".h", ".p17", ".right"].iter().any(|end| stem.ends_with(end))
            {
                stems.push(path.with_file_name(stem));
            }
        }
    }
    stems.sort();
    stems
}

fn check_all(folder: &Path) {
    let (mut passed, mut failed) = (0, Vec::new());
    for stem in stems(folder) {
        match check(&stem) {
            Ok(_) => passed += 1,
            Err(why) => failed.push(format!("{}: {why}", stem.display())),
        }
    }
    println!("{}: {passed} passed, {} failed", folder.display(), failed.len());
    assert!(failed.is_empty(), "{}", failed.join("\n"));
    assert!(passed > 0, "no reference texts in {}", folder.display());
}

#[test]
fn the_reference_texts_here_are_printed_again() {
    check_all(&Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/data"));
}

/// Checks the whole corpus if `NCZ_CORPUS` names its folder.
#[test]
fn the_corpus_is_printed_again() {
    let Some(corpus) = std::env::var_os("NCZ_CORPUS") else {
        println!("skipped: NCZ_CORPUS is not set");
        return;
    };
    for folder in ["nczarr", "classic", "hdf5"] {
        check_all(&Path::new(&corpus).join("netcdf-c").join(folder));
    }
}
