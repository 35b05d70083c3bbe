//! `ncz map`: raw access to the objects of a store by key, without decoding.

use std::io::Read as _;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use clap::Subcommand;
use nczarr::Place;
use nczarr::dispatch::Options;
use nczarr::storage::{ByteRange, Key, ZMap, ZMapExt};
use nczarr_model::{Error, ErrorKind, Result};

use crate::exclusive;
use crate::failure::{Failure, at};
use crate::output::Output;

/// Commands on the objects of a store.
#[derive(Debug, Subcommand)]
pub enum MapCommand {
    /// List names
    Ls {
        /// Path or URL
        url: String,
        /// List the children of this key [default: the root]
        prefix: Option<String>,
        /// List all keys below the prefix, not only children
        #[arg(short = 'r', long)]
        recursive: bool,
        /// Print the length of each object in bytes
        #[arg(short = 'l', long)]
        long: bool,
    },
    /// Print an object
    Cat {
        /// Path or URL
        url: String,
        /// Key of the object
        key: String,
    },
    /// Write an object
    Put {
        /// Path or URL
        url: String,
        /// Key of the object
        key: String,
        /// File with the bytes [default: standard input]
        file: Option<PathBuf>,
        /// Assume that no other process writes the store
        #[arg(long)]
        exclusive: bool,
    },
    /// Delete an object
    Rm {
        /// Path or URL
        url: String,
        /// Key of the object
        key: String,
        /// Delete all objects at and below the key
        #[arg(short = 'r', long)]
        recursive: bool,
    },
}

/// Runs the subcommand.
///
/// # Errors
///
/// Errors of the storage; `NC_ENOOBJECT` for a key without an object.
pub fn run(command: &MapCommand) -> std::result::Result<(), Failure> {
    match command {
        MapCommand::Ls { url, prefix, recursive, long } => {
            ls(url, prefix.as_deref(), *recursive, *long).map_err(at(url))
        }
        MapCommand::Cat { url, key } => cat(url, key).map_err(at(url)),
        MapCommand::Put { url, key, file, exclusive } => {
            put(&exclusive::url(url.clone(), *exclusive), key, file.as_deref()).map_err(at(url))
        }
        MapCommand::Rm { url, key, recursive } => rm(url, key, *recursive).map_err(at(url)),
    }
}

fn map_at(url: &str, writable: bool) -> Result<Arc<dyn ZMap>> {
    nczarr::registry()?.open_storage(&Place::url(url), writable, &Options::default())
}

fn ls(url: &str, prefix: Option<&str>, recursive: bool, long: bool) -> Result<()> {
    let map = map_at(url, false)?;
    let prefix = Key::new(prefix.unwrap_or_default().trim_matches('/'))?;
    let (mut out, mut odd) = (Output::standard(), Vec::new());
    let mut line = |name: &str, key: &Key| {
        // A name that is only a prefix has no length.
        let len = match map.len(key) {
            _ if !long => return out.put(format!("{name}\n")),
            Ok(len) => len,
            Err(error) if error.kind() == ErrorKind::Empty => None,
            Err(error) => return Err(error),
        };
        let len = len.map_or_else(|| "-".to_owned(), |len| len.to_string());
        out.put(format!("{len:>12} {name}\n"))
    };
    if recursive {
        let keys = map.keys(&prefix)?;
        for key in &keys {
            line(key.as_str(), key)?;
        }
        odd_below(&*map, &prefix, &keys, &mut odd)?;
    } else {
        odd = map.invalid_names(&prefix)?;
        for name in map.children(&prefix)? {
            let path = if prefix.is_root() { name.clone() } else { format!("{}/{name}", prefix.as_str()) };
            line(&name, &Key::new(&path)?)?;
        }
    }
    // No method reads them, so only their names are known.
    for name in odd {
        out.put(if long { format!("{:>12} {name}\n", "?") } else { format!("{name}\n") })?;
    }
    out.finish()?;
    map.close()
}

/// Returns all names at or below a prefix that are not valid keys, with the prefix of each. `keys`: all
/// objects there, sorted.
fn odd_below(map: &dyn ZMap, prefix: &Key, keys: &[Key], odd: &mut Vec<String>) -> Result<()> {
    let before = if prefix.is_root() { String::new() } else { format!("{prefix}/") };
    odd.extend(map.invalid_names(prefix)?.iter().map(|name| format!("{before}{name}")));
    for name in map.possible_children(prefix)? {
        let below = prefix.join(&name)?;
        if keys.binary_search(&below).is_err() {
            odd_below(map, &below, keys, odd)?;
        }
    }
    Ok(())
}

fn cat(url: &str, key: &str) -> Result<()> {
    let map = map_at(url, false)?;
    let mut bytes = Vec::new();
    if !map.read(&Key::new(key)?, ByteRange::ALL, &mut bytes)? {
        return Err(ErrorKind::NoObject.context(format!("{key}: no such object")));
    }
    let mut out = Output::standard();
    out.put(&bytes)?;
    out.finish()?;
    map.close()
}

fn put(url: &str, key: &str, file: Option<&Path>) -> Result<()> {
    let mut bytes = Vec::new();
    let read = match file {
        Some(path) => std::fs::File::open(path).and_then(|mut file| file.read_to_end(&mut bytes)),
        None => std::io::stdin().lock().read_to_end(&mut bytes),
    };
    read.map_err(|error| {
        Error::io(file.map_or_else(|| "standard input".to_owned(), |path| path.display().to_string()), error)
    })?;
    let map = map_at(url, true)?;
    map.write(&Key::new(key)?, &bytes)?;
    map.close()
}

fn rm(url: &str, key: &str, recursive: bool) -> Result<()> {
    let key = Key::new(key.trim_matches('/'))?;
    if key.is_root() {
        let what = "the key names the whole store; use `ncz rm` to delete a dataset";
        return Err(ErrorKind::Inval.context(what));
    }
    let map = map_at(url, true)?;
    let found = if recursive {
        let keys = map.keys(&key)?;
        keys.iter().try_for_each(|key| map.delete(key).map(drop))?;
        !keys.is_empty()
    } else {
        map.delete(&key)?
    };
    map.close()?;
    if found { Ok(()) } else { Err(ErrorKind::NoObject.context(format!("{key}: no such object"))) }
}
