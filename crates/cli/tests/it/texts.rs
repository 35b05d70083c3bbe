//! Round trips CDL → dataset → CDL: every text of the reference's tests, through every format that this
//! library writes.
//!
//! Only the whole corpus has the texts; `NCZ_CORPUS` names it. The expectation for a text is one of these:
//!
//! * the same bytes as the reference's output. Some outputs have blanks that were changed by hand. The test
//!   ignores blanks there, like the reference's scripts;
//! * for a text without such output: the printed text must print as itself.

use std::fs;
use std::path::{Path, PathBuf};
use std::sync::Mutex;
use std::sync::atomic::{AtomicUsize, Ordering};

use crate::{run, text};

/// A format: its name here, `-k`, and its URL fragment.
struct Format {
    name: &'static str,
    kind: &'static str,
    fragment: &'static str,
}

const FORMATS: [Format; 6] = [
    Format { name: "nczarr2", kind: "nczarr", fragment: "" },
    Format { name: "nczarr3", kind: "", fragment: "#mode=nczarr,v3" },
    Format { name: "nc4", kind: "nc4", fragment: "" },
    Format { name: "cdf1", kind: "classic", fragment: "" },
    Format { name: "cdf2", kind: "64bitoffset", fragment: "" },
    Format { name: "cdf5", kind: "cdf5", fragment: "" },
];

/// Texts with results that differ from the reference: ends of the paths of text and expectation, formats
/// (empty: all), and the reason.
const EXCEPTIONS: &[(&str, &str, &[&str], &str)] = &[
    (
        "",
        "expected/ref_tst_special_atts.dmp",
        &[],
        "written by hand: no printer writes `_Shuffle = 0`. The reference lists it as a failure of its own",
    ),
    (
        "expected/ref_tst_special_atts3.dmp",
        "",
        &[],
        "written by hand, special attributes in any order. The reference lists it as a failure of its own",
    ),
    (
        "expected/ref_tst_unlim2.dmp",
        "",
        &[],
        "printed without the braces that an unlimited dimension needs. The reference lists it as a failure of its own",
    ),
    (
        "cdl/ref_typescope.cdl",
        "expected/ref_typescope.dmp",
        &[],
        "types that are equal but for their names are one to the reference; here a variable keeps the type it was given",
    ),
    (
        "cdl/ref_tst_vlen_data2.cdl",
        "expected/ref_tst_vlen_data2.dmp",
        &[],
        "ncgen sorts types by what they are made of; here they keep the order of the text, so that the text of any dataset comes \
         back",
    ),
];

const BY_HAND: &str = "blanks of the expectation were changed by hand: no printer sets them so";
const JSON: &str = "text that is JSON is stored as JSON, whose blanks were others in releases before 4.10";
const MACHINE: &str =
    "lines that depend on the machine and the version of the writer are missing or others, and those only";

/// Expectations that match except for blanks, and the reason: release 4.10 of the reference differs from them
/// too.
const BLANKS: &[(&str, &str)] = &[
    ("ncdump/expected/ref_tst_econst.dmp", BY_HAND),
    ("ncdump/expected/ref_tst_nul4.dmp", BY_HAND),
    ("ncdump/ref_tst_nc4_utf8_4.cdl", BY_HAND),
    ("ncdump/ref_tst_ncf213.cdl", BY_HAND),
    ("ncdump/ref_tst_radix.cdl", BY_HAND),
    ("ncdump/ref_tst_special_atts.cdl", MACHINE),
    ("ncdump/ref_tst_utf8.cdl", BY_HAND),
    ("ncdump/ref_tst_utf8_4.cdl", BY_HAND),
    ("ncdump/scope_ancestor_only.cdl", BY_HAND),
    ("ncdump/scope_ancestor_subgroup.cdl", BY_HAND),
    ("ncdump/test_corrupt_magic.cdl", BY_HAND),
    ("nczarr_test/ref_byte.cdl", MACHINE),
    ("nczarr_test/ref_byte_fill_value_null.cdl", MACHINE),
    ("nczarr_test/ref_bzip2.cdl", JSON),
    ("nczarr_test/ref_filtered.cdl", JSON),
    ("nczarr_test/ref_groups_regular.cdl", MACHINE),
    ("nczarr_test/ref_jsonconvention.cdl", BY_HAND),
    ("nczarr_test/ref_multi.cdl", JSON),
    ("nczarr_test/ref_newformatpure.cdl", BY_HAND),
    ("nczarr_test/ref_t_meta_dim1.cdl", JSON),
    ("nczarr_test/ref_t_meta_var1.cdl", JSON),
    ("nczarr_test/ref_ut_testmap_create.cdl", JSON),
    ("nczarr_test/ref_xarrayanon.cdl", BY_HAND),
    ("nczarr_test/refs/ref_ut_map_write2meta.cdl", JSON),
    ("nczarr_test/refs/ref_ut_map_writedata.cdl", JSON),
    ("nczarr_test/refs/ref_ut_map_writemeta.cdl", JSON),
];

/// Comparisons of the reference's scripts: text, flags, expectation, formats (empty: all).
const PAIRS: &[(&str, &str, &str, &[&str])] = &[
    ("ncdump/tst_calendars.cdl", "-t -n tst_times", "ncdump/ref_times.cdl", &[]),
    (
        "ncdump/tst_calendars_nc4.cdl",
        "-t -n tst_times",
        "ncdump/ref_times_nc4.cdl",
        &["nczarr2", "nczarr3", "nc4", "cdf5"],
    ),
    ("ncdump/tst_charfill.cdl", "", "ncdump/ref_tst_charfill.cdl", &[]),
    ("ncdump/tst_radix.cdl", "", "ncdump/ref_tst_radix.cdl", &[]),
    ("ncdump/inttags.cdl", "", "ncdump/ref_inttags.cdl", &[]),
    ("ncdump/inttags4.cdl", "", "ncdump/ref_inttags4.cdl", &[]),
    ("ncdump/ref_tst_group_data.cdl", "-v /g2/g3/var", "ncdump/ref_tst_group_data_v23.cdl", &[]),
    ("ncdump/ref_tst_grp_spec0.cdl", "-g g1,g4", "ncdump/ref_tst_grp_spec.cdl", &[]),
    ("ncdump/ref_tst_mud4.cdl", "-b c", "ncdump/ref_tst_mud4-bc.cdl", &[]),
    ("ncdump/tst_mslp.cdl", "-s", "ncdump/ref_tst_format_att.cdl", &["cdf1"]),
    ("ncdump/tst_mslp.cdl", "-s", "ncdump/ref_tst_format_att_64.cdl", &["cdf2"]),
    ("ncdump/ref_tst_special_atts.cdl", "-c -s", "ncdump/ref_tst_special_atts.cdl", &["nc4"]),
    ("ncdump/ref_tst_ncf213.cdl", "-h -s -F", "ncdump/ref_tst_ncf213.cdl", &["nc4"]),
    ("ncdump/scope_group_only.cdl", "-h", "ncdump/scope_group_only.cdl", &[]),
    ("ncdump/scope_ancestor_only.cdl", "-h", "ncdump/scope_ancestor_only.cdl", &[]),
    ("ncdump/scope_ancestor_subgroup.cdl", "-h", "ncdump/scope_ancestor_subgroup.cdl", &[]),
    ("ncdump/scope_preorder.cdl", "-h", "ncdump/scope_preorder.cdl", &[]),
    (
        "nczarr_test/ref_nulls.cdl",
        "",
        "nczarr_test/ref_nulls_nczarr.baseline",
        &["nczarr2", "nczarr3", "nc4"],
    ),
    ("nczarr_test/ref_string.cdl", "", "nczarr_test/ref_string_nczarr.baseline", &["nczarr2"]),
    ("nczarr_test/ref_scalar.cdl", "", "nczarr_test/ref_scalar_nczarr.cdl", &[]),
    ("nczarr_test/ref_byte.cdl", "-s", "nczarr_test/ref_byte.cdl", &["nczarr2", "nczarr3", "nc4"]),
    (
        "nczarr_test/ref_byte_fill_value_null.cdl",
        "-s",
        "nczarr_test/ref_byte_fill_value_null.cdl",
        &["nczarr2", "nczarr3", "nc4"],
    ),
    ("nczarr_test/ref_bzip2.cdl", "-s", "nczarr_test/ref_bzip2.cdl", &["nczarr2"]),
    ("nczarr_test/ref_multi.cdl", "-h -s -F", "nczarr_test/ref_multi.cdl", &["nczarr2"]),
    ("nczarr_test/ref_filtered.cdl", "-s", "nczarr_test/ref_filtered.cdl", &["nczarr2"]),
    (
        "nczarr_test/ref_groups_regular.cdl",
        "-s",
        "nczarr_test/ref_groups_regular.cdl",
        &["nczarr2", "nczarr3", "nc4"],
    ),
];

/// Texts that no printer wrote, or that were printed with flags (`PAIRS`) or without existing data.
const NOT_PRINTED: &[&str] = &[
    "ncdump/inttags.cdl",
    "ncdump/inttags4.cdl",
    "ncdump/ref_keyword1.cdl",
    "ncdump/ref_keyword2.cdl",
    "ncdump/ref_keyword3.cdl",
    "ncdump/ref_keyword4.cdl",
    "ncdump/ref_tst_format_att.cdl",
    "ncdump/ref_tst_format_att_64.cdl",
    "ncdump/ref_tst_group_data_v23.cdl",
    "ncdump/ref_tst_grp_spec.cdl",
    "ncdump/ref_tst_mud4-bc.cdl",
    "ncdump/ref_tst_ncf213.cdl",
    "ncdump/ref_tst_nofilters.cdl",
    "ncdump/ref_tst_noncoord.cdl",
    "ncdump/ref_tst_perdimspecs.cdl",
    "ncdump/ref_tst_special_atts.cdl",
    "ncdump/ref_tst_special_atts3.cdl",
    "ncdump/ref_tst_vlen_data2.cdl",
    "ncdump/scope_",
    "ncdump/small.cdl",
    "ncdump/small2.cdl",
    "ncdump/test0.cdl",
    "ncdump/tst_calendars",
    "ncdump/tst_charfill.cdl",
    "ncdump/tst_mslp.cdl",
    "ncdump/tst_ncml.cdl",
    "ncdump/tst_radix.cdl",
    "nczarr_test/ref_byte",
    "nczarr_test/ref_bzip2.cdl",
    "nczarr_test/ref_fillonly.cdl",
    "nczarr_test/ref_filtered.cdl",
    "nczarr_test/ref_groups_regular.cdl",
    "nczarr_test/ref_misc2.cdl",
    "nczarr_test/ref_multi.cdl",
    "nczarr_test/ref_nulls.cdl",
    "nczarr_test/ref_perdimspecs.cdl",
    "nczarr_test/ref_power_901_constants.cdl",
    "nczarr_test/ref_purezarr_base.cdl",
    "nczarr_test/ref_quotes.cdl",
    "nczarr_test/ref_string.cdl",
    "nczarr_test/ref_zarr_test_data_meta.cdl",
];

/// Other expectations of the reference, which belong to earlier texts with other variables or dimensions.
const OF_ANOTHER_TEXT: &[&str] =
    &["cdl/ref_tst_chardata.cdl", "cdl/ref_tst_unlim2.cdl", "cdl/ref_tst_special_atts3.cdl"];

/// Files that are not input for a dataset, and the reasons.
const NO_DATASET: &[(&str, &str)] = &[
    ("ncdump/ref_times", "dates in place of numbers: what -t printed, of `PAIRS`"),
    ("ncdump/ref_test_36", "the same, of files (`dumped`)"),
    ("nczarr_test/ref_any.cdl", "a template"),
];

/// One text, and its expected output.
#[derive(Debug)]
struct Case {
    source: String,
    flags: &'static str,
    /// None: a second round trip must give the same text.
    expected: Option<String>,
    formats: &'static [&'static str],
}

fn upstream() -> Option<PathBuf> {
    Some(PathBuf::from(std::env::var_os("NCZ_CORPUS")?).join("netcdf-c/upstream"))
}

/// The texts in a folder, as paths from the root of all.
fn texts(root: &Path, folder: &str, ending: &str) -> Vec<String> {
    let mut all: Vec<String> = fs::read_dir(root.join(folder))
        .unwrap()
        .map(|entry| format!("{folder}/{}", entry.unwrap().file_name().into_string().unwrap()))
        .filter(|path| path.ends_with(ending))
        // Listings of keys that only end like CDL.
        .filter(|path| fs::read_to_string(root.join(path)).is_ok_and(|text| text.contains("netcdf ")))
        // Terabytes of fill values.
        .filter(|path| !path.contains("cdl/big"))
        .collect();
    all.sort();
    all
}

fn cases(root: &Path) -> Vec<Case> {
    let is_one_of = |list: &[&str], path: &str| list.iter().any(|known| path.contains(known));
    let plain = |source: String, expected| Case { source, flags: "", expected, formats: &[] };
    let mut all = Vec::new();
    for printed in texts(root, "ncdump/expected", ".dmp") {
        let source = printed.replace("/expected/", "/cdl/").replace(".dmp", ".cdl");
        let expected = (!is_one_of(OF_ANOTHER_TEXT, &source)).then(|| printed.clone());
        all.push(plain(source, expected));
        all.push(plain(printed.clone(), Some(printed)));
    }
    for folder in ["ncdump", "nczarr_test", "nczarr_test/refs"] {
        for source in texts(root, folder, ".cdl") {
            let expected = (!is_one_of(NOT_PRINTED, &source)).then(|| source.clone());
            if !NO_DATASET.iter().any(|(known, _)| source.starts_with(known)) {
                all.push(plain(source, expected));
            }
        }
    }
    all.extend(PAIRS.iter().map(|&(source, flags, expected, formats)| Case {
        source: source.to_owned(),
        flags,
        expected: Some(expected.to_owned()),
        formats,
    }));
    all
}

/// Returns a line without blanks, also those of JSON text, which NCZarr stores as JSON.
fn bare(line: &str) -> String {
    let line: String = line.chars().filter(|c| !c.is_whitespace()).collect();
    if line.contains("=\"{") { line.replace("\\n", "") } else { line }
}

/// Returns the lines of a text for a comparison like the reference's scripts. It removes blanks, and parts
/// that depend on the machine or the writer's version.
fn loose(text: &str) -> Vec<String> {
    let apart = ["_NCProperties", "_SuperblockVersion", "_IsNetcdf4", "_Endianness"];
    let all = text.lines().filter(|line| !apart.iter().any(|name| line.contains(name)));
    all.map(bare).filter(|line| !line.is_empty()).collect()
}

/// Returns the text after its first line, which contains the name. In the classic formats, lines of text are
/// printed as lines.
fn body(text: &str, classic: bool) -> String {
    let body = text[text.find("netcdf ").unwrap_or(0)..].split_once('\n').map_or("", |(_, body)| body);
    if classic { body.replace("\\n\",\n\t\t\t\"", "\\n") } else { body.to_owned() }
}

/// The result of a text's round trip.
#[derive(Debug, PartialEq)]
enum Outcome {
    Identical,
    ButForBlanks,
    /// Without expectation; the second text equals the first.
    Stays,
    /// The format lacks a feature of the text.
    Lacking,
    Wrong(String),
}

/// Features that formats lack: types, groups, names and dimensions in the classic ones; text that is not
/// UTF-8 in Zarr.
fn lacks(format: &Format, message: &str) -> bool {
    match format.name {
        "nczarr2" | "nczarr3" => message.contains("is not UTF-8"),
        "nc4" => false,
        _ => [
            "NC_ESTRICTNC3",
            "NC_ENOTNC4",
            "NC_EUNLIMIT",
            "NC_EUNLIMPOS",
            "NC_EBADTYPE",
            "NC_EBADNAME",
            "NC_EINVAL",
            "NC_EVARSIZE",
        ]
        .iter()
        .any(|code| message.contains(code)),
    }
}

fn make(format: &Format, source: &Path, target: &Path) -> Result<(), String> {
    let to = format!("{}{}", text(target), format.fragment);
    let mut args = vec!["gen", "--truncate", "--clobber", "-o", &to];
    if !format.kind.is_empty() {
        args.extend(["-k", format.kind]);
    }
    args.push(text(source));
    let message = String::from_utf8_lossy(&run(args).stderr).into_owned();
    if message.is_empty() { Ok(()) } else { Err(message) }
}

fn print(target: &Path, flags: &str) -> String {
    let printed = run(["dump"].into_iter().chain(flags.split_whitespace()).chain([text(target)]));
    String::from_utf8_lossy(&printed.stdout).into_owned() + &String::from_utf8_lossy(&printed.stderr)
}

fn check(root: &Path, case: &Case, format: &Format) -> Outcome {
    let folder = tempfile::tempdir().unwrap();
    let target = folder.path().join("x");
    let classic = format.name.starts_with("cdf");
    if let Err(message) = make(format, &root.join(&case.source), &target) {
        return if lacks(format, &message) { Outcome::Lacking } else { Outcome::Wrong(message) };
    }
    let found = body(&print(&target, case.flags), classic);
    let Some(expected) = &case.expected else {
        // The printed text must print as itself.
        let (printed, again) = (folder.path().join("x.cdl"), folder.path().join("y"));
        fs::write(&printed, print(&target, "")).unwrap();
        if let Err(message) = make(format, &printed, &again) {
            return Outcome::Wrong(format!("printed, and not understood: {message}"));
        }
        let again = print(&again, "");
        return match body(&again, classic) == body(&fs::read_to_string(&printed).unwrap(), classic) {
            true => Outcome::Stays,
            false => Outcome::Wrong(format!("does not stay: {again}")),
        };
    };
    let want = body(&fs::read_to_string(root.join(expected)).unwrap(), classic);
    if found == want {
        return Outcome::Identical;
    }
    let (found, want) = (loose(&found), loose(&want));
    match found == want {
        true => Outcome::ButForBlanks,
        false => Outcome::Wrong(format!("{:?}", want.iter().zip(&found).find(|(want, found)| want != found))),
    }
}

#[test]
fn every_text_of_the_reference_comes_back_from_every_format() {
    let Some(root) = upstream() else { return };
    let cases = cases(&root);
    let jobs: Vec<(&Case, &Format)> = cases
        .iter()
        .flat_map(|case| FORMATS.iter().map(move |format| (case, format)))
        .filter(|(case, format)| case.formats.is_empty() || case.formats.contains(&format.name))
        .collect();
    let (next, done) = (AtomicUsize::new(0), Mutex::new(Vec::new()));
    std::thread::scope(|scope| {
        for _ in 0..std::thread::available_parallelism().map_or(2, usize::from) {
            scope.spawn(|| {
                while let Some((case, format)) = jobs.get(next.fetch_add(1, Ordering::Relaxed)) {
                    let outcome = check(&root, case, format);
                    done.lock().unwrap().push((*case, *format, outcome));
                }
            });
        }
    });
    let done = done.into_inner().unwrap();
    let excepted = |case: &Case, format: &Format| {
        EXCEPTIONS.iter().position(|(source, expected, formats, _)| {
            let of = case.expected.as_deref().unwrap_or_default();
            case.source.ends_with(source)
                && of.ends_with(expected)
                && (formats.is_empty() || formats.contains(&format.name))
        })
    };
    let mut used = vec![false; EXCEPTIONS.len()];
    let mut bad = Vec::new();
    let mut blanks = Vec::new();
    let known: Vec<&str> = BLANKS.iter().map(|(expected, _)| *expected).collect();
    for format in &FORMATS {
        let of = |want: fn(&Outcome) -> bool| {
            done.iter().filter(|(_, at, outcome)| at.name == format.name && want(outcome)).count()
        };
        println!(
            "{}: {} byte for byte, {} but for blanks that somebody changed by hand, {} without an expectation stay as they are, {} \
             hold what the format has not",
            format.name,
            of(|outcome| *outcome == Outcome::Identical),
            of(|outcome| *outcome == Outcome::ButForBlanks),
            of(|outcome| *outcome == Outcome::Stays),
            of(|outcome| *outcome == Outcome::Lacking),
        );
    }
    for (case, format, outcome) in &done {
        match (outcome, excepted(case, format)) {
            (Outcome::Wrong(_), Some(known)) => used[known] = true,
            (Outcome::Wrong(why), None) => {
                bad.push(format!(
                    "{} {} {:?}, {}: {why}",
                    case.source, case.flags, case.expected, format.name
                ));
            }
            (Outcome::ButForBlanks, _) => blanks.extend(case.expected.clone()),
            _ => {}
        }
    }
    blanks.sort();
    blanks.dedup();
    assert_eq!(blanks, known, "met but for blanks");
    assert!(bad.is_empty(), "{}:\n{}", bad.len(), bad.join("\n"));
    let unused: Vec<_> = EXCEPTIONS.iter().zip(&used).filter(|(_, used)| !**used).collect();
    assert!(unused.is_empty() && EXCEPTIONS.len() <= 5, "{unused:?}");
}
