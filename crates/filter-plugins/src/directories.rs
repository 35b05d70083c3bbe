//! The directories of plugins, and the plugins in them.

use std::collections::BTreeSet;
use std::env;
use std::fs;
use std::path::{Path, PathBuf};

use nczarr_model::Result;

use crate::PluginClass;
use crate::process::host_program;

/// The variable that enables plugins.
const ENABLE: &str = "NCZARR_FILTER_PLUGINS";
/// HDF5's variable with the directories of plugins.
const DIRECTORIES: &str = "HDF5_PLUGIN_PATH";

/// Whether the user enabled plugins: `NCZARR_FILTER_PLUGINS` is neither empty nor `0`.
pub fn is_enabled() -> bool {
    env::var_os(ENABLE).is_some_and(|value| !value.is_empty() && value != "0")
}

/// Returns the directories in `HDF5_PLUGIN_PATH`, separated like those in `PATH`.
pub fn environment_directories() -> Vec<PathBuf> {
    let Some(text) = env::var_os(DIRECTORIES) else { return Vec::new() };
    env::split_paths(&text).filter(|directory| !directory.as_os_str().is_empty()).collect()
}

/// Returns the plugins in these directories. Of several with one HDF5 id the first counts.
///
/// Files are taken in the order of their names. A shared library that is no filter is left out, and the log
/// says why. A missing directory has no plugins.
///
/// # Errors
/// `NC_EPLUGIN` if the program `nczarr-plugin-host` is missing, unless there is no shared library at all.
pub fn load(directories: &[PathBuf]) -> Result<Vec<PluginClass>> {
    let files: Vec<PathBuf> = directories.iter().flat_map(|directory| libraries(directory)).collect();
    if files.is_empty() {
        return Ok(Vec::new());
    }
    let host = host_program()?;
    let mut ids = BTreeSet::new();
    let mut classes = Vec::new();
    for file in files {
        match PluginClass::describe(&host, &file) {
            Ok(class) if ids.insert(class.hdf5_id()) => classes.push(class),
            Ok(class) => {
                tracing::debug!(path = %file.display(), id = class.hdf5_id(), "an earlier plugin has this id");
            }
            Err(error) => {
                tracing::warn!(path = %file.display(), %error, "a shared library is no filter plugin")
            }
        }
    }
    Ok(classes)
}

/// Returns the shared libraries in a directory, sorted by name.
fn libraries(directory: &Path) -> Vec<PathBuf> {
    let entries = match fs::read_dir(directory) {
        Ok(entries) => entries,
        Err(error) => {
            tracing::debug!(path = %directory.display(), %error, "a directory of plugins could not be listed");
            return Vec::new();
        }
    };
    let paths = entries.filter_map(|entry| entry.ok().map(|entry| entry.path()));
    let mut found: Vec<PathBuf> = paths.filter(|path| is_library(path) && path.is_file()).collect();
    found.sort();
    found
}

/// Whether a name is that of a shared library: `name.so`, `name.so.1` or `name.dylib`.
fn is_library(path: &Path) -> bool {
    let Some(name) = path.file_name().and_then(|name| name.to_str()) else { return false };
    let mut parts = name.split('.').skip(1).peekable();
    let is_numbered = |part: &&str| part.bytes().all(|byte| byte.is_ascii_digit());
    match parts.by_ref().find(|part| matches!(*part, "so" | "dylib")) {
        Some("so") => parts.all(|part| is_numbered(&part)),
        Some(_) => parts.next().is_none(),
        None => false,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_of_shared_libraries() {
        for name in ["a.so", "liba.so.1.2", "a.b.so", "a.dylib"] {
            assert!(is_library(Path::new(name)), "{name}");
        }
        for name in ["a", "so", "a.so.txt", "a.dylib.1", "a.sot", "README.md"] {
            assert!(!is_library(Path::new(name)), "{name}");
        }
    }
}
