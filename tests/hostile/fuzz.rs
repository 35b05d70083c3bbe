//! A short run of all fuzz targets. The long one is by command.

use std::process::Command;

/// Cases of each target.
const RUNS: &str = "500";

#[test]
fn no_fuzz_target_fails_in_a_short_run() {
    let folder = tempfile::tempdir().expect("a temporary folder");
    let output = Command::new(env!("CARGO_BIN_EXE_fuzz"))
        .args(["all", "--runs", RUNS, "--jobs", "2", "--save"])
        .arg(folder.path())
        .output()
        .expect("the program");
    let text = String::from_utf8_lossy(&output.stdout);
    assert!(output.status.success(), "{text}{}", String::from_utf8_lossy(&output.stderr));
    eprintln!("{}", text.lines().last().unwrap_or_default());
}
