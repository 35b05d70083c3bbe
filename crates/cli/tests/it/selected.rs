//! `copy` of a part, and with the flags of nccopy.

use std::fs;
use std::path::{Path, PathBuf};

use crate::{failure, out, run, text};

const CDL: &str = "netcdf a { dimensions: x = 3; t = UNLIMITED; variables: int v(x); short n(t, x); :g = 1; \
    data: v = 1, 2, 3; n = 1, 2, 3, 4, 5, 6; \
    group: g { dimensions: y = 2; variables: int v(y); :h = 1; data: v = 7, 8; \
      group: in { variables: int w(y, x); data: w = 1, 2, 3, 4, 5, 6; } } \
    group: other { variables: int u(t); data: u = 1, 2; } }";

struct Made {
    folder: tempfile::TempDir,
    source: PathBuf,
}

impl Made {
    fn new() -> Self {
        let folder = tempfile::tempdir().unwrap();
        let (cdl, source) = (folder.path().join("a.cdl"), folder.path().join("a.zarr"));
        fs::write(&cdl, CDL).unwrap();
        out(&["gen", "-o", text(&source), text(&cdl)]);
        Self { folder, source }
    }

    fn path(&self, name: &str) -> PathBuf {
        self.folder.path().join(name)
    }

    /// The dump of a copy.
    fn copy(&self, flags: &[&str]) -> String {
        let target = self.path("b.zarr");
        let message = out(&[&["copy", "--clobber"], flags, &[text(&self.source), text(&target)]].concat());
        assert_eq!(message, "");
        out(&["dump", "-n", "b", text(&target)])
    }
}

fn has(dump: &str, lines: &[&str]) -> Vec<bool> {
    lines.iter().map(|line| dump.lines().any(|found| found.trim() == *line)).collect()
}

#[test]
fn data_of_some_variables() {
    let made = Made::new();
    let dump = made.copy(&["-v", "/v,u"]);
    let lines = [
        "v = 1, 2, 3 ;",
        "u = 1, 2 ;",
        "short n(t, x) ;",
        "v = _, _ ;",
        "int w(y, x) ;",
        "t = UNLIMITED ; // (2 currently)",
    ];
    assert_eq!(has(&dump, &lines), [true; 6], "{dump}");
    let dump = made.copy(&["-v", ""]);
    let lines = ["v = _, _, _ ;", "v = _, _ ;", "t = UNLIMITED ; // (2 currently)", ":h = 1 ;", "u = 1, 2 ;"];
    assert_eq!(has(&dump, &lines), [true, true, true, true, false], "{dump}");
    let dump = made.copy(&["-g", "/g"]);
    assert_eq!(
        has(&dump, &["v = _, _, _ ;", "v = 7, 8 ;", "u = _, _ ;", "1, 2, 3,"]),
        [true, true, true, false],
        "{dump}"
    );
    assert!(failure(&["copy", "-v", "nix", text(&made.source), text(&made.path("c"))]).1.contains("-v nix"));
}

#[test]
fn some_variables_alone() {
    let made = Made::new();
    let dump = made.copy(&["-V", "n"]);
    assert_eq!(
        has(&dump, &["short n(t, x) ;", "int v(x) ;", "int v(y) ;", "y = 2 ;"]),
        [true, false, false, true],
        "{dump}"
    );
}

#[test]
fn some_groups_alone() {
    let made = Made::new();
    let dump = made.copy(&["-G", "in"]);
    let lines = [
        "group: g {",
        "group: in {",
        "int w(y, x) ;",
        "group: other {",
        "int v(x) ;",
        "int v(y) ;",
        ":h = 1 ;",
    ];
    assert_eq!(has(&dump, &lines), [true, true, true, false, false, false, true], "{dump}");
    // Objects outside the selection are not reported as losses.
    let target = made.path("c.nc");
    let message = crate::run(["copy", "-3", "-G", "/", text(&made.source), text(&target)]);
    assert!(message.status.success());
    assert_eq!(String::from_utf8_lossy(&message.stderr), "");
}

#[test]
fn fixed_dimensions_and_layout() {
    let made = Made::new();
    let dump = made.copy(&["-u", "-s", "-d", "4", "-c", "x/2"]);
    assert_eq!(has(&dump, &["t = 2 ;"]), [true], "{dump}");
    let special = out(&["dump", "-hs", text(&made.path("b.zarr"))]);
    for line in ["v:_ChunkSizes = 2 ;", "v:_DeflateLevel = 4 ;", "n:_Shuffle = \"true\" ;"] {
        assert_eq!(has(&special, &[line]), [true], "{line}\n{special}");
    }
    let special = {
        made.copy(&["-d", "0"]);
        out(&["dump", "-hs", text(&made.path("b.zarr"))])
    };
    assert!(!special.contains("_DeflateLevel"), "{special}");
}

#[test]
fn kinds_and_flags_of_old_command_lines() {
    let made = Made::new();
    let kind = |path: &Path| out(&["dump", "-k", text(path)]);
    let plain = made.path("p.nc");
    out(&[
        "copy",
        "-V",
        "/v",
        "-G",
        "/",
        "-3",
        "-w",
        "-r",
        "-m",
        "5M",
        "-h",
        "1000",
        "-e",
        "5",
        "-M",
        "10",
        "-L1",
        text(&made.source),
        text(&plain),
    ]);
    assert_eq!(kind(&plain), "classic\n");
    out(&["copy", "-4", text(&made.source), text(&made.path("q.nc"))]);
    let url = format!("file://{}#mode=nczarr,file", text(&made.path("r.nc")));
    out(&["copy", "-4", text(&made.source), &url]);
    for (name, is_file) in [("q.nc", true), ("r.nc", false)] {
        assert_eq!(kind(&made.path(name)), "netCDF-4\n");
        assert_eq!(made.path(name).is_file(), is_file, "{name}");
    }
}

#[test]
fn a_dry_run_prints_the_plan_and_writes_nothing() {
    let folder = tempfile::tempdir().unwrap();
    let (cdl, source, target) =
        (folder.path().join("a.cdl"), folder.path().join("a.zarr"), folder.path().join("b.zarr"));
    fs::write(
        &cdl,
        "netcdf a { dimensions: t = 64; y = 64; x = 64; variables: float v(t, y, x); v:_ChunkSizes = 64, 8, 8; data: v = 1; }",
    )
    .unwrap();
    out(&["gen", "-o", text(&source), text(&cdl)]);
    let plan = |memory: &str| {
        out(&["copy", "--dry-run", "--memory", memory, "-c", "v:1,64,64", text(&source), text(&target)])
    };
    let start = "/v: 1048576 bytes in ";
    assert_eq!(
        plan("128K"),
        format!("{start}16 blocks of 4x64x64; 64 chunks, each read 16.0 times\n1048576 bytes in all\n")
    );
    assert_eq!(
        plan("2M"),
        format!("{start}1 blocks of 64x64x64; 64 chunks, each read 1.0 times\n1048576 bytes in all\n")
    );
    assert!(!target.exists());
    assert_eq!(fs::read_dir(folder.path()).unwrap().count(), 2);
    for memory in ["1", "16K", "1G"] {
        out(&["copy", "--clobber", "--memory", memory, "-c", "v:1,64,64", text(&source), text(&target)]);
        assert_eq!(out(&["diff", text(&source), text(&target)]), "");
    }
    assert!(failure(&["copy", "--memory", "0", text(&source), text(&target)]).1.contains("--memory"));
}

/// Overlapping chunks; some are absent, and others contain missing values.
#[test]
fn encoded_chunks_are_decoded_once_by_a_stage() {
    let folder = tempfile::tempdir().unwrap();
    let at = |name: &str| folder.path().join(name);
    let source = at("a.zarr");
    let data: Vec<String> = (0..40 * 30 * 20)
        .map(|at| if at % 7 == 0 { "_".to_owned() } else { (at % 30000).to_string() })
        .collect();
    let cdl = format!(
        "netcdf a {{ dimensions: t = 40; y = 30; x = 20; variables: \
         short v(t, y, x); v:_ChunkSizes = 40, 4, 3; v:_DeflateLevel = 1; v:_FillValue = -1s; \
         int w(t, y, x); w:_ChunkSizes = 40, 4, 3; w:_DeflateLevel = 1; w:_NoFill = \"true\"; \
         float none(t, y, x); none:_ChunkSizes = 40, 4, 3; none:_DeflateLevel = 1; data: v = {0}; w = {1}; }}",
        data.join(", "),
        data.join(", ").replace('_', "-5"),
    );
    fs::write(at("a.cdl"), cdl).unwrap();
    out(&["gen", "-o", text(&source), text(&at("a.cdl"))]);
    fs::remove_file(source.join("v/0.2.2")).unwrap();
    let args = ["-c", "t/1,y/30,x/20", "--memory", "12K"];
    let plan = out(&[&["copy", "--dry-run"], &args[..], &[text(&source), text(&at("p.zarr"))]].concat());
    for (name, bytes) in [("v", 48_000), ("w", 96_000), ("none", 96_000)] {
        let line = plan.lines().find(|line| line.starts_with(&format!("/{name}:"))).unwrap();
        assert!(
            line.ends_with(&format!("each read 1.0 times, decoded to a stage of {bytes} bytes")),
            "{plan}"
        );
    }
    for target in ["b.zarr", "b.zip"] {
        out(&[&["copy"], &args[..], &[text(&source), text(&at(target))]].concat());
        assert_eq!(out(&["diff", text(&source), text(&at(target))]), "", "{target}");
    }
    // For any target name.
    out(&[&["copy"], &args[..], &[text(&source), text(&at("stage.zarr"))]].concat());
    assert_eq!(out(&["diff", text(&source), text(&at("stage.zarr"))]), "");
    // An absent object is an error if it is selected.
    let strict = format!("file://{}#missing_chunks=error", text(&source));
    let message = failure(&[&["copy"], &args[..], &[&strict, text(&at("c.zarr"))]].concat());
    assert!(message.1.contains("NC_ENOOBJECT") && !at("c.zarr").exists(), "{message:?}");
    // Absent objects stay absent.
    assert!(!at("b.zarr").join("none/0.0.0").exists());
    let left =
        fs::read_dir(folder.path()).unwrap().map(|entry| entry.unwrap().file_name().into_string().unwrap());
    assert!(left.into_iter().all(|name| !name.starts_with('.')));
}

/// The recorded length of a field's strings grows with the strings, and never shrinks.
#[test]
fn strings_in_compounds_get_enough_room() {
    let folder = tempfile::tempdir().unwrap();
    let at = |name: &str| folder.path().join(name);
    for (said, expected) in [(10, "t.s.strlen = 36"), (300, "t.s.strlen = 300")] {
        let cdl = format!(
            "netcdf s {{ types: compound t {{ string s; int i; }}; dimensions: x = 2; variables: t v(x); \
             :t.s.strlen = {said}; data: v = {{\"short\", 1}}, {{\"a text that is longer than ten bytes\", 2}}; }}"
        );
        fs::write(at("s.cdl"), cdl).unwrap();
        out(&["gen", "--clobber", "-4", "-o", text(&at("s.nc")), text(&at("s.cdl"))]);
        let target = format!("file://{}#mode=nczarr", text(&at("s.zarr")));
        let copied = run(["copy", "--clobber", text(&at("s.nc")), &target]);
        assert!(copied.status.success(), "{copied:?}");
        // The growth is reported.
        assert_eq!(String::from_utf8_lossy(&copied.stderr).contains("/:t.s.strlen"), said == 10);
        let found = out(&["dump", text(&at("s.zarr"))]);
        assert!(found.contains(expected) && found.contains("longer than ten bytes"), "{found}");
    }
}

/// Makes a file with one variable of a type that netCDF lacks, beside normal variables.
fn with_a_reference(folder: &Path) -> PathBuf {
    let from = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../tests/corpus/reports/reference.h5");
    let to = folder.join("in.h5");
    fs::copy(from, &to).unwrap();
    to
}

#[test]
fn only_selected_variables_must_be_readable() {
    let folder = tempfile::tempdir().unwrap();
    let source = with_a_reference(folder.path());
    let target = folder.path().join("out.nc");
    for flags in [["-V", "/All_Data/rad"], ["-G", "/All_Data"]] {
        out(&["copy", flags[0], flags[1], text(&source), text(&target)]);
        let dump = out(&["dump", text(&target)]);
        assert!(dump.contains("8, 9, 10, 11") && !dump.contains("agg"), "{dump}");
        out(&["rm", text(&target)]);
    }
    // Its definition alone is lost as well, with a report.
    for flags in [["-v", "/All_Data/rad"], ["-g", "/All_Data"]] {
        let output = run(["copy", flags[0], flags[1], text(&source), text(&target)]);
        let message = String::from_utf8(output.stderr).unwrap();
        assert!(
            output.status.success()
                && message.contains("variables skipped, because they cannot be read: /Data_Products/agg"),
            "{message}"
        );
        assert!(out(&["dump", text(&target)]).contains("8, 9, 10, 11"));
        out(&["rm", text(&target)]);
    }
    let (_, message) = failure(&["copy", "--strict", "-v", "/All_Data/rad", text(&source), text(&target)]);
    assert!(message.contains("agg"), "{message}");
}

#[test]
fn unreadable_variables_can_be_left_out() {
    let folder = tempfile::tempdir().unwrap();
    let source = with_a_reference(folder.path());
    for target in ["out.nc", "out.zarr"] {
        let target = folder.path().join(target);
        let (code, message) = failure(&["copy", text(&source), text(&target)]);
        assert!(code == 1 && message.contains("agg") && !target.exists(), "{message}");
        let output = run(["copy", "--skip-unreadable", text(&source), text(&target)]);
        let message = String::from_utf8(output.stderr).unwrap();
        assert!(
            output.status.success() && message.contains("cannot be read: /Data_Products/agg ("),
            "{message}"
        );
        assert!(out(&["dump", text(&target)]).contains("8, 9, 10, 11"));
    }
    let target = folder.path().join("strict.nc");
    let (_, message) = failure(&["copy", "--skip-unreadable", "--strict", text(&source), text(&target)]);
    assert!(message.contains("agg") && !target.exists(), "{message}");
}

/// A damaged chunk costs its elements only, and each is named.
#[test]
fn unreadable_chunks_can_be_left_out() {
    let folder = tempfile::tempdir().unwrap();
    let (cdl, source) = (folder.path().join("a.cdl"), folder.path().join("a.zarr"));
    let of_it = "netcdf a { dimensions: x = 6; variables: int v(x); v:_ChunkSizes = 2; v:_DeflateLevel = 1; \
                 string s(x); s:_ChunkSizes = 2; data: v = 1, 2, 3, 4, 5, 6; s = \"a\", \"b\"; }";
    fs::write(&cdl, of_it).unwrap();
    for damaged in ["v/1", "s/0"] {
        out(&["gen", "--clobber", "-o", text(&source), text(&cdl)]);
        fs::write(source.join(damaged), "junk").unwrap();
        for target in ["out.zarr", "out.nc"] {
            let target = folder.path().join(target);
            let (code, _) = failure(&["copy", text(&source), text(&target)]);
            assert!(code == 1 && !target.exists());
            let output = run(["copy", "--skip-unreadable", text(&source), text(&target)]);
            let message = String::from_utf8(output.stderr).unwrap();
            assert!(output.status.success(), "{message}");
            let dump = out(&["dump", text(&target)]);
            match damaged {
                "v/1" => {
                    assert!(message.contains("elements that cannot be read: /v (2 from 2: "), "{message}");
                    assert!(dump.contains("v = 1, 2, _, _, 5, 6 ;"), "{dump}");
                }
                // Text is scanned before the target is defined.
                _ => assert!(
                    message.contains("cannot be read: /s (") && !dump.contains("string s"),
                    "{message}\n{dump}"
                ),
            }
            out(&["rm", text(&target)]);
        }
    }
}
