//! Error messages: for each user mistake, the exit code and the text. The text names the attempt, the
//! problem, and the nearest right form.

use std::fs;
use std::path::Path;
use std::process::Command;

const CDL: &str = "netcdf x {\ndimensions:\n\tx = 3 ;\nvariables:\n\tint v(x) ;\ndata:\n v = 1, 2, 3 ;\n}\n";

/// A folder with a directory, a classic file, a truncated one, an archive, texts, and an empty directory
/// `empty`.
fn folder() -> tempfile::TempDir {
    let folder = tempfile::tempdir().unwrap();
    let at = |name: &str| folder.path().join(name);
    fs::write(at("ok.cdl"), CDL).unwrap();
    fs::write(at("bad.cdl"), CDL.replace("v(x)", "v(y)")).unwrap();
    fs::write(at("open.cdl"), "netcdf x {\ndimensions:\n\tx = ;\n}\n").unwrap();
    fs::write(at("note.txt"), "hello\n").unwrap();
    fs::create_dir(at("empty")).unwrap();
    fs::create_dir(at("data")).unwrap();
    for name in ["data/a.nc", "data/b.nc", "data/log"] {
        fs::write(at(name), "").unwrap();
    }
    for (target, flags) in [("ocean.zarr", &[][..]), ("ocean.nc", &["-3"]), ("ocean.zip", &[])] {
        let args = [&["gen", "-o", target], flags, &["ok.cdl"]].concat();
        assert_eq!(ncz(folder.path(), &args), (0, String::new()), "{target}");
    }
    let whole = fs::read(at("ocean.nc")).unwrap();
    fs::write(at("cut.nc"), &whole[..20]).unwrap();
    fs::write(at("short.nc"), &whole[..whole.len() - 8]).unwrap();
    folder
}

/// Returns exit code and standard error.
fn ncz(folder: &Path, args: &[&str]) -> (i32, String) {
    let mut command = Command::new(env!("CARGO_BIN_EXE_ncz"));
    let output = command.env_remove("NCTRACING").current_dir(folder).args(args).output().unwrap();
    (output.status.code().unwrap(), String::from_utf8(output.stderr).unwrap())
}

/// The command line, the exit code, and the message, with `…` for any text.
const MISTAKES: &[(&str, i32, &str)] = &[
    // Places.
    ("dump ocaen.nc", 1, "ncz: ocaen.nc: NC_ENOTFOUND: no such file or directory; there is ocean.nc"),
    (
        "dump ocean",
        1,
        "ncz: ocean: NC_ENOTFOUND: no such file or directory; there is ocean.nc, ocean.zarr, ocean.zip",
    ),
    (
        "dump nowhere/at/all.nc",
        1,
        "ncz: nowhere/at/all.nc: NC_ENOTFOUND: no such file or directory; no such folder: nowhere/at",
    ),
    ("dump nothing-like-it.nc", 1, "ncz: nothing-like-it.nc: NC_ENOTFOUND: no such file or directory"),
    ("dump data", 1, "ncz: data: NC_ENOTNC: no dataset: …; it contains a.nc, b.nc"),
    (
        "dump data/2020/x.nc",
        1,
        "ncz: data/2020/x.nc: NC_ENOTFOUND: no such file or directory; no such folder: data/2020, only data",
    ),
    ("dump empty", 1, "ncz: empty: NC_ENOTNC: no dataset: …"),
    ("dump note.txt", 1, "ncz: note.txt: NC_ENOTNC: not a dataset: it starts with 68 65 6c 6c 6f 0a; …"),
    (
        "dump ok.cdl",
        1,
        "ncz: ok.cdl: NC_ENOTNC: not a dataset: …; it begins like CDL text; `ncz gen -o TARGET` makes a dataset from it",
    ),
    ("dump cut.nc", 1, "ncz: cut.nc: NC_ETRUNC: byte …: unexpected end of the file…"),
    (
        "dump ftp://host/x.nc",
        1,
        "ncz: ftp://host/x.nc: NC_ENOTBUILT: no map serves scheme ftp:; there are: …file…",
    ),
    ("info ocaen.zarr", 1, "ncz: ocaen.zarr: NC_ENOTFOUND: no such file or directory; there is ocean.zarr"),
    (
        "explain ocaen.zarr",
        1,
        "ncz: ocaen.zarr: NC_ENOTFOUND: no such file or directory; there is ocean.zarr",
    ),
    ("cat ocaen.zarr v", 1, "ncz: ocaen.zarr: NC_ENOTFOUND: no such file or directory; there is ocean.zarr"),
    ("view ocaen.zarr", 1, "ncz: ocaen.zarr: NC_ENOTFOUND: no such file or directory; there is ocean.zarr"),
    (
        "diff ocean.nc ocaen.zarr",
        2,
        "ncz: ocaen.zarr: NC_ENOTFOUND: no such file or directory; there is ocean.zarr",
    ),
    (
        "copy ocaen.zarr new.zarr",
        1,
        "ncz: ocaen.zarr: NC_ENOTFOUND: no such file or directory; there is ocean.zarr",
    ),
    ("rm ocaen.zarr", 1, "ncz: ocaen.zarr: NC_ENOTFOUND: no such file or directory; there is ocean.zarr"),
    ("rm note.txt", 1, "ncz: note.txt: NC_ENOTNC: not a dataset: …"),
    ("map ls ocaen.zarr", 1, "ncz: ocaen.zarr: NC_ENOTFOUND: no such file or directory; there is ocean.zarr"),
    ("map ls ocean.nc", 1, "ncz: ocean.nc: NC_ENOTNC: not a map: the file belongs to driver classic…"),
    ("map cat ocean.zarr nope", 1, "ncz: ocean.zarr: NC_ENOOBJECT: nope: no such object"),
    ("repack ocean.nc", 1, "ncz: ocean.nc: NC_ENOTNC: …"),
    ("bench ocaen.zarr", 1, "ncz: ocaen.zarr: NC_ENOTFOUND: no such file or directory; there is ocean.zarr"),
    // Targets.
    (
        "gen ok.cdl -o ocean.zarr",
        1,
        "ncz: ocean.zarr: NC_EOBJECT: ocean.zarr exists and is not empty; use --clobber to replace a dataset",
    ),
    ("gen ok.cdl -o ocean.nc", 1, "ncz: ocean.nc: NC_EEXIST: …; use --clobber to replace a dataset"),
    ("gen ok.cdl -o ocean.zip", 1, "ncz: ocean.zip: NC_EEXIST: …; use --clobber to replace a dataset"),
    (
        "copy ocean.nc ocean.zarr",
        1,
        "ncz: ocean.zarr: NC_EOBJECT: ocean.zarr exists and is not empty; use --clobber to replace a dataset",
    ),
    (
        "copy ocean.zarr note.txt --clobber",
        1,
        "ncz: note.txt: NC_EINVAL: the ending .txt names no format (expected .zarr…",
    ),
    (
        "copy ocean.zarr x.xyz",
        1,
        "ncz: x.xyz: NC_EINVAL: the ending .xyz names no format (expected .zarr…; or name a format, for instance #mode=nczarr",
    ),
    (
        "copy ocean.nc ocean.nc --clobber",
        1,
        "ncz: ocean.nc: NC_EINVAL: source and target overlap: …ocean.nc and …ocean.nc",
    ),
    (
        "copy ocean.nc x.zarr#mode=zar",
        1,
        "ncz: x.zarr: NC_EINVAL: …x.zarr#mode=zar: unknown mode `zar`; did you mean `zarr`?",
    ),
    // Fragments, also of existing datasets.
    (
        "dump ocean.nc#mode=zar",
        1,
        "ncz: ocean.nc: NC_EINVAL: ocean.nc#mode=zar: unknown mode `zar`; did you mean `zarr`?",
    ),
    ("dump ocean.zarr#mode=nczar", 1, "ncz: ocean.zarr: NC_EINVAL: …mode `nczar`; did you mean `nczarr`?"),
    ("rm ocean.zarr#mode=nczar", 1, "ncz: ocean.zarr: NC_EINVAL: …mode `nczar`; did you mean `nczarr`?"),
    ("map ls ocean.zarr#mode=flie", 1, "ncz: ocean.zarr: NC_EINVAL: …mode `flie`; did you mean `file`?"),
    ("copy ocean.nc x.zarr#mode=zarr,v33", 1, "ncz: x.zarr: NC_EINVAL: …mode `v33`; did you mean `v3`?"),
    (
        "dump ocean.zarr#mod=zarr",
        1,
        "ncz: ocean.zarr: NC_EINVAL: …unknown option `mod`; did you mean `mode`?",
    ),
    (
        "dump ocean.zarr#missing_chunk=error",
        1,
        "ncz: ocean.zarr: NC_EINVAL: …unknown option `missing_chunk`; did you mean `missing_chunks`?",
    ),
    ("dump ocean.zarr#zarrr", 1, "ncz: ocean.zarr#zarrr: NC_ENOTFOUND: …"),
    // Texts.
    ("gen ko.cdl -o x.zarr", 1, "ncz: ko.cdl: NC_ENOTFOUND: …; there is ok.cdl"),
    ("gen bad.cdl -o x.zarr", 1, "ncz: bad.cdl:5:6: NC_EBADDIM: no dimension \"y\""),
    ("gen open.cdl -o x.zarr", 1, "ncz: open.cdl:3:6: …"),
    // Variables, and parts of them.
    ("dump -v w ocean.nc", 1, "ncz: ocean.nc: NC_ENOTVAR: -v w: no such variable; there are: /v"),
    ("cat ocean.nc w", 1, "ncz: ocean.nc: NC_ENOTVAR: …\"w\"; there are: v"),
    ("cat ocean.nc v --start 9", 1, "ncz: ocean.nc: …9…3…"),
    ("cat ocean.nc v --start 1,1", 2, "ncz: --start: 2 given, the variable has 1 dimensions"),
    ("view ocean.nc w", 1, "ncz: ocean.nc: NC_ENOTVAR: …no variable \"w\"; there are: v"),
    ("copy ocean.nc x.zarr -v w", 1, "ncz: ocean.nc: NC_ENOTVAR: -v w: no such variable; there are: /v"),
    ("copy ocean.nc x.zarr -c y/3", 2, "ncz: --chunks y/3: no dimension \"y\"…"),
    (
        "copy ocean.nc x.zarr -F nope",
        2,
        "ncz: --filter nope: NC_ENOFILTER: no filter \"nope\" in this build; there are: …zstd",
    ),
    // Flags.
    (
        "copy ocean.nc x.zarr -k nope",
        2,
        "error: invalid value 'nope' for '--kind <KIND>': unknown kind \"nope\" (expected one of classic…",
    ),
    ("copy ocean.nc x.zarr -d 12", 2, "error: invalid value '12' for '-d <LEVEL>': 12 is not in 0..=9…"),
    (
        "copy ocean.nc x.zarr --jobs 0",
        2,
        "error: invalid value '0' for '--jobs <N>': expected a number of threads from 1 to 1024, found \"0\"…",
    ),
    ("copy ocean.nc x.nc --resume", 2, "ncz: --resume: x.nc: a copy to one file cannot be resumed…"),
    (
        "copy ocean.nc x.zarr --resume --dry-run",
        2,
        "error: the argument '--resume' cannot be used with '--dry-run'…",
    ),
    (
        "copy ocean.nc x.zarr --memory 5Q",
        2,
        "error: invalid value '5Q' for '--memory <BYTES>': \"5Q\" is not a number of bytes (such as 256M)…",
    ),
    (
        "dump -p x ocean.nc",
        2,
        "error: invalid value 'x' for '-p <F[,D]>': expected a number of digits from 1 to 20, found \"x\"…",
    ),
    ("dump --nope ocean.nc", 2, "error: unexpected argument '--nope' found…"),
    ("dump", 2, "error: the following required arguments were not provided:…<URL>…"),
    ("dmp ocean.nc", 2, "error: unrecognized subcommand 'dmp'…a similar subcommand exists: 'dump'…"),
    ("completions nosh", 2, "error: invalid value 'nosh' for '<SHELL>'…[possible values: bash, …"),
];

/// Returns whether a text contains a pattern's pieces in order, from the first to the last.
fn fits(text: &str, pattern: &str) -> bool {
    let mut pieces = pattern.split('…');
    let Some(mut rest) = pieces.next().and_then(|first| text.strip_prefix(first)) else { return false };
    let mut last = None;
    for piece in pieces {
        let Some(at) = rest.find(piece) else { return false };
        rest = &rest[at + piece.len()..];
        last = Some(piece);
    }
    match last {
        Some("") => true,
        Some(piece) => rest.is_empty() || text.ends_with(piece),
        None => rest.is_empty(),
    }
}

#[test]
fn error_messages_help_to_correct_mistakes() {
    let folder = folder();
    let before = contents(folder.path());
    let mut bad = Vec::new();
    for (typed, code, message) in MISTAKES {
        let args: Vec<&str> = typed.split(' ').collect();
        let (found_code, found) = ncz(folder.path(), &args);
        if found_code != *code || !fits(found.trim_end(), message) {
            bad.push(format!(
                "$ ncz {typed}\n  expected {code}: {message}\n  found    {found_code}: {}",
                found.trim_end()
            ));
        }
        // A command that fails changes nothing.
        assert_eq!(contents(folder.path()), before, "ncz {typed}");
    }
    assert!(bad.is_empty(), "{}", bad.join("\n"));
}

/// Every file below a folder, and its bytes.
fn contents(folder: &Path) -> Vec<(String, Vec<u8>)> {
    let mut all = Vec::new();
    for entry in fs::read_dir(folder).unwrap() {
        let path = entry.unwrap().path();
        match path.is_dir() {
            true => all.extend(contents(&path)),
            false => all.push((path.display().to_string(), fs::read(&path).unwrap())),
        }
    }
    all.sort();
    all
}

#[test]
fn errors_name_the_missing_feature() {
    let folder = folder();
    let plugins = Command::new(env!("CARGO_BIN_EXE_ncz")).args(["plugins"]).output().unwrap();
    let plugins = String::from_utf8(plugins.stdout).unwrap();
    for (url, map) in [("s3://bucket/x.zarr", "s3"), ("http://localhost:1/x.zarr", "http")] {
        if plugins.lines().any(|line| line.split_whitespace().any(|word| word == map)) {
            continue;
        }
        let (code, message) = ncz(folder.path(), &["dump", url]);
        assert_eq!(code, 1);
        assert!(
            message.contains("NC_ENOTBUILT") && message.contains(&format!("feature \"{map}\"")),
            "{message}"
        );
    }
}
