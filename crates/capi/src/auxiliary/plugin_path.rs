//! The directories of plugins: a list of the process, and lists as text.
//!
//! With the feature `filter-plugins`, a new list loads the plugins in its directories, if the environment
//! enables plugins. Plugins of earlier lists stay. Without the feature the list exists for programs that set
//! and read it.

use std::ffi::{c_char, c_int};
use std::sync::{Mutex, PoisonError};

use nczarr::{ErrorKind, Result};

use crate::boundary::memory;
use crate::boundary::plugin_list::PluginListPtr;
use crate::boundary::pointer::{OutPtr, SourcePtr, TargetPtr, TextPtr};

/// The list of the process; `None` before the first use.
static DIRECTORIES: Mutex<Option<Vec<Vec<u8>>>> = Mutex::new(None);

const SYSTEM_SEPARATOR: u8 = if cfg!(windows) { b';' } else { b':' };
/// The separator of the functions for Fortran.
const FORTRAN_SEPARATOR: u8 = b';';

/// Calls `change` with the list. The first call makes it of the environment.
fn with<T>(change: impl FnOnce(&mut Vec<Vec<u8>>) -> T) -> T {
    let mut list = DIRECTORIES.lock().unwrap_or_else(PoisonError::into_inner);
    let first = || {
        let text = std::env::var_os("HDF5_PLUGIN_PATH").unwrap_or_default();
        split(text.as_encoded_bytes(), SYSTEM_SEPARATOR)
    };
    change(list.get_or_insert_with(first))
}

c_functions! {
    /// Makes the list of the environment, if there is none.
    fn nc_plugin_path_initialize() {
        with(|_| Ok(()))
    }

    /// Forgets the list.
    fn nc_plugin_path_finalize() {
        *DIRECTORIES.lock().unwrap_or_else(PoisonError::into_inner) = None;
        Ok(())
    }

    /// Returns the number of directories.
    fn nc_plugin_path_ndirs(ndirsp: OutPtr<usize>) {
        ndirsp.set(with(|list| list.len()));
        Ok(())
    }

    /// Returns the directories, which the caller frees.
    fn nc_plugin_path_get(dirs: PluginListPtr) {
        if dirs.is_null() { Ok(()) } else { dirs.set(&with(|list| list.clone())) }
    }

    /// Replaces the directories.
    fn nc_plugin_path_set(dirs: PluginListPtr) {
        replace(dirs.texts()?)
    }

    /// Makes a list of `pathlen` bytes of text. The caller frees it.
    fn ncaux_plugin_path_parsen(pathlen: usize, pathlist: SourcePtr, sep: c_char, dirs: PluginListPtr) {
        let text = if pathlist.is_null() { &[] } else { pathlist.bytes(pathlen)? };
        dirs.set(&split(until_zero(text), separator(sep)))
    }

    /// Makes a list of text. The caller frees it.
    fn ncaux_plugin_path_parse(pathlist: TextPtr, sep: c_char, dirs: PluginListPtr) {
        dirs.set(&split(pathlist.bytes().unwrap_or_default(), separator(sep)))
    }

    /// Makes text of a list. The caller frees it.
    fn ncaux_plugin_path_tostring(dirs: PluginListPtr, sep: c_char, catp: OutPtr<*mut c_char>) {
        let text = dirs.texts()?.join(&separator(sep));
        if !catp.is_null() {
            catp.set(memory::copy_text(&text)?);
        }
        Ok(())
    }

    /// Frees the content of a list.
    fn ncaux_plugin_path_clear(dirs: PluginListPtr) {
        if dirs.is_null() { Ok(()) } else { dirs.clear() }
    }

    /// Frees a list and its content.
    fn ncaux_plugin_path_reclaim(dirs: PluginListPtr) {
        if dirs.is_null() { Ok(()) } else { dirs.free() }
    }

    /// Adds a directory at the end of a list.
    fn ncaux_plugin_path_append(dirs: PluginListPtr, dir: TextPtr) {
        dirs.add(directory(&dir)?, false)
    }

    /// Adds a directory at the front of a list.
    fn ncaux_plugin_path_prepend(dirs: PluginListPtr, dir: TextPtr) {
        dirs.add(directory(&dir)?, true)
    }

    /// Copies the list of the process as text to memory of `pathlen` bytes. Zeros fill the rest.
    fn ncaux_plugin_path_stringget(pathlen: c_int, path: TargetPtr) {
        let mut text = with(|list| list.join(&FORTRAN_SEPARATOR));
        text.resize(room(pathlen, path.is_null())?, 0);
        path.put(&text);
        Ok(())
    }

    /// Makes the list of the process of text of `pathlen` bytes.
    fn ncaux_plugin_path_stringset(pathlen: c_int, path: SourcePtr) {
        let text = path.bytes(room(pathlen, path.is_null())?)?;
        replace(split(until_zero(text), FORTRAN_SEPARATOR))
    }
}

/// Replaces the list of the process, and loads the plugins in its directories.
fn replace(directories: Vec<Vec<u8>>) -> Result<()> {
    #[cfg(all(feature = "filter-plugins", unix))]
    {
        use std::os::unix::ffi::OsStringExt as _;
        let paths: Vec<_> =
            directories.iter().map(|path| std::ffi::OsString::from_vec(path.clone()).into()).collect();
        nczarr::load_filter_plugins(&paths)?;
    }
    with(|list| *list = directories);
    Ok(())
}

// Returns the length of the list of the process as text.
export_value!("ncaux_plugin_path_stringlen", () -> c_int, with(|list| list.join(&FORTRAN_SEPARATOR).len()) as c_int);

fn separator(separator: c_char) -> u8 {
    if separator == 0 { SYSTEM_SEPARATOR } else { separator as u8 }
}

fn split(text: &[u8], separator: u8) -> Vec<Vec<u8>> {
    if text.is_empty() {
        return Vec::new();
    }
    text.split(|&byte| byte == separator).map(<[u8]>::to_vec).collect()
}

fn until_zero(text: &[u8]) -> &[u8] {
    text.split(|&byte| byte == 0).next().unwrap_or_default()
}

fn directory(directory: &TextPtr) -> Result<&[u8]> {
    directory.bytes().ok_or_else(|| ErrorKind::Inval.context("the directory is null"))
}

fn room(len: c_int, is_null: bool) -> Result<usize> {
    let len = usize::try_from(len).ok().filter(|&len| len > 0 && !is_null);
    len.ok_or_else(|| ErrorKind::Inval.context("there is no text for the path"))
}
