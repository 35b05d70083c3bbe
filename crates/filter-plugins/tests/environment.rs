//! The environment enables plugins, and a program without it has none. Each case is a process of its own.

#[cfg(not(unix))]
fn main() {}

#[cfg(unix)]
fn main() {
    use std::env;
    use std::process::Command;

    const CASE: &str = "NCZARR_TEST_CASE";
    const CASES: [(&str, &str, usize); 3] = [("no", "", 0), ("zero", "0", 0), ("yes", "1", 1)];
    if let Ok(case) = env::var(CASE) {
        let (_, _, expected) = CASES.iter().find(|known| known.0 == case).unwrap();
        let registry = nczarr::registry().unwrap();
        assert_eq!(usize::from(registry.filter_by_id(40000).is_ok()), *expected, "{case}");
        // Those of the build stay.
        assert_eq!(registry.filter_by_id(307).unwrap().info().name, "bzip2");
        // A directory without plugins adds nothing, and the same plugin is added once.
        let again: Vec<_> = env::var_os("HDF5_PLUGIN_PATH").into_iter().map(Into::into).collect();
        assert_eq!(nczarr::load_filter_plugins(&again).unwrap(), 0);
        return;
    }
    let folder = tempfile::tempdir().unwrap();
    let status = Command::new("cc")
        .args(["-shared", "-fPIC", "-o"])
        .arg(folder.path().join("libxor.so"))
        .arg(concat!(env!("CARGO_MANIFEST_DIR"), "/tests/c/xor.c"))
        .status();
    assert!(status.unwrap().success());
    std::fs::write(folder.path().join("other.so"), "not a library").unwrap();
    for (case, value, _) in CASES {
        let status = Command::new(env::current_exe().unwrap())
            .env(CASE, case)
            .env("NCZARR_FILTER_PLUGINS", value)
            .env("NCZARR_PLUGIN_HOST", env!("CARGO_BIN_EXE_nczarr-plugin-host"))
            .env("HDF5_PLUGIN_PATH", folder.path())
            .status();
        assert!(status.unwrap().success(), "{case}");
    }
}
