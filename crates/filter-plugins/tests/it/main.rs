//! Filter plugins in shared libraries, built from C by the test.
#![cfg(unix)]

mod datasets;
mod faults;

use std::path::{Path, PathBuf};
use std::process::Command;
use std::sync::OnceLock;

use nczarr_codec::{Filter, FilterClass as _, OutBuf};
use nczarr_filter_plugins::PluginClass;
use nczarr_model::Result;

fn host() -> &'static Path {
    Path::new(env!("CARGO_BIN_EXE_nczarr-plugin-host"))
}

/// The plugin of `tests/c/xor.c`.
fn plugin() -> &'static PathBuf {
    static PLUGIN: OnceLock<PathBuf> = OnceLock::new();
    PLUGIN.get_or_init(|| {
        let source = concat!(env!("CARGO_MANIFEST_DIR"), "/tests/c/xor.c");
        let library =
            Path::new(env!("CARGO_TARGET_TMPDIR")).join(format!("libxor-{}.so", std::process::id()));
        let status = Command::new("cc")
            .args(["-shared", "-fPIC", "-Wall", "-Wextra", "-Werror", "-o"])
            .arg(&library)
            .arg(source)
            .status();
        assert!(status.expect("cc starts").success());
        library
    })
}

fn class() -> PluginClass {
    PluginClass::describe(host(), plugin()).unwrap()
}

fn filter(key: u32) -> Box<dyn Filter> {
    class().parse_params(&[key]).unwrap()
}

/// Decodes into memory of `capacity` bytes.
fn decode(filter: &dyn Filter, data: &[u8], capacity: usize) -> Result<Vec<u8>> {
    let mut memory = vec![0; capacity];
    let mut decoded = OutBuf::from_slice(&mut memory);
    filter.decode(data, &mut decoded)?;
    Ok(decoded.filled().to_vec())
}
