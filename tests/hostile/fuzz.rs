//! Runs all fuzz targets for a short time. The `fuzz` program does long runs.

use std::path::Path;
use std::process::{Command, Output};

/// Cases of each target.
const RUNS: &str = "500";

fn fuzz(target: &str, runs: &str, save: &Path) -> Output {
    let mut command = Command::new(env!("CARGO_BIN_EXE_fuzz"));
    command.args([target, "--runs", runs, "--jobs", "2", "--save"]).arg(save);
    command.output().expect("the program")
}

#[test]
fn no_fuzz_target_fails_in_a_short_run() {
    let folder = tempfile::tempdir().expect("a temporary folder");
    let output = fuzz("all", RUNS, folder.path());
    let text = String::from_utf8_lossy(&output.stdout);
    assert!(output.status.success(), "{text}{}", String::from_utf8_lossy(&output.stderr));
    eprintln!("{}", text.lines().last().unwrap_or_default());
}

#[test]
fn failures_of_every_kind_are_seen_and_their_inputs_saved() {
    for (fault, expected) in [
        ("panic", "panic: as it should"),
        ("abort", "the process ended: signal"),
        ("memory", "bytes of memory"),
    ] {
        let folder = tempfile::tempdir().expect("a temporary folder");
        let output = fuzz(&format!("fault/{fault}"), "400", folder.path());
        let text = String::from_utf8_lossy(&output.stdout);
        assert!(!output.status.success() && text.contains(expected), "{text}");
        assert!(text.contains("fuzz: 1 targets, 400 runs, "), "cases behind a failure are left out: {text}");
        let saved = folder.path().join(format!("fault-{fault}"));
        let inputs: Vec<_> = std::fs::read_dir(&saved).expect("the saved inputs").collect();
        assert_eq!(inputs.len(), text.lines().filter(|line| line.starts_with("  fault/")).count(), "{text}");
        for input in inputs {
            let input = input.expect("an input").path().join("input/input");
            assert_eq!(std::fs::read(input).expect("an input"), [1], "the case that failed");
        }
    }
}
