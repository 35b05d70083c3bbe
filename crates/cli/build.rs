//! Has the code that opens and reads datasets lie together in the program.
//!
//! The system takes 64 KiB of a program into memory where one byte of it runs, and linkers leave code in the order of crates and
//! names: a read was in some 40 places. `link/together.ld`, which `benches/peers/together.py` makes, names that code. It is
//! no part of what the program does: where the linker does not know such scripts, nothing is asked of it.

use std::env;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

fn main() {
    println!("cargo::rerun-if-changed=link/together.ld");
    let script = PathBuf::from(env::var_os("CARGO_MANIFEST_DIR").unwrap_or_default()).join("link/together.ld");
    let is = |name, value| env::var(name).is_ok_and(|found| found == value);
    if is("CARGO_CFG_TARGET_OS", "linux") && is("PROFILE", "release") && links(&script) == Some(true) {
        println!("cargo::rustc-link-arg-bins=-Wl,-T,{}", script.display());
    }
}

/// Whether an empty program can be linked with the script, by the linker and with the flags in use.
fn links(script: &Path) -> Option<bool> {
    let out = PathBuf::from(env::var_os("OUT_DIR")?);
    let source = out.join("empty.rs");
    std::fs::write(&source, "fn main() {}\n").ok()?;
    let mut rustc = Command::new(env::var_os("RUSTC")?);
    rustc.arg("--target").arg(env::var_os("TARGET")?).arg("-o").arg(out.join("empty")).arg(source);
    let flags = env::var("CARGO_ENCODED_RUSTFLAGS").unwrap_or_default();
    rustc.args(flags.split('\x1f').filter(|flag| !flag.is_empty()));
    if let Some(linker) = env::var_os("RUSTC_LINKER") {
        let mut flag = std::ffi::OsString::from("linker=");
        flag.push(linker);
        rustc.arg("-C").arg(flag);
    }
    rustc.arg("-C").arg(format!("link-arg=-Wl,-T,{}", script.to_str()?));
    Some(rustc.stdout(Stdio::null()).stderr(Stdio::null()).status().ok()?.success())
}
