//! Suggests alternatives after a failure, from the contents of a local folder.

use std::fs;
use std::io::Read as _;
use std::path::Path;

use nczarr_model::ErrorKind;

/// The maximum number of suggested names.
const MOST: usize = 5;

/// Returns advice for a failure of this kind at a place, if the place is local.
pub fn of(place: &str, kind: ErrorKind) -> Option<String> {
    let target = nczarr_url_infer::parse(place).ok().filter(|target| target.scheme.is_local())?;
    let path = Path::new(&target.path);
    match kind {
        ErrorKind::NotFound if fs::symlink_metadata(path).is_err() => missing(path),
        ErrorKind::NotNc if path.is_dir() => inside(path),
        ErrorKind::NotNc if begins_as_cdl(path) => {
            Some("it begins like CDL text; `ncz gen -o TARGET` makes a dataset from it".to_owned())
        }
        ErrorKind::Exist | ErrorKind::Object if path.exists() => {
            Some("use --clobber to replace a dataset".to_owned())
        }
        _ => None,
    }
}

/// Returns similar names in a folder, or the last existing folder of the path.
fn missing(path: &Path) -> Option<String> {
    let folder = path.parent().filter(|parent| !parent.as_os_str().is_empty()).unwrap_or(Path::new("."));
    let name = path.file_name()?.to_str()?;
    if !folder.is_dir() {
        let there = |folder: &&Path| folder.is_dir() && *folder != Path::new("/");
        let last =
            folder.ancestors().find(there).map_or(String::new(), |last| format!(", only {}", last.display()));
        return Some(format!("no such folder: {}{last}", folder.display()));
    }
    let mut near: Vec<_> =
        names(folder).into_iter().filter_map(|other| Some((distance(name, &other)?, other))).collect();
    near.sort();
    let near: Vec<_> = near.into_iter().take(MOST).map(|(_, name)| name).collect();
    (!near.is_empty()).then(|| format!("there is {}", near.join(", ")))
}

/// Returns the entries of a folder that may be datasets.
fn inside(folder: &Path) -> Option<String> {
    const ENDINGS: [&str; 6] = [".zarr", ".zip", ".nc", ".nc4", ".h5", ".hdf"];
    let mut found: Vec<_> = names(folder)
        .into_iter()
        .filter(|name| ENDINGS.iter().any(|ending| name.ends_with(ending)))
        .collect();
    found.sort();
    let more = if found.len() > MOST { ", …" } else { "" };
    found.truncate(MOST);
    (!found.is_empty()).then(|| format!("it contains {}{more}", found.join(", ")))
}

fn names(folder: &Path) -> Vec<String> {
    let entries = fs::read_dir(folder).into_iter().flatten().flatten();
    entries
        .filter_map(|entry| entry.file_name().into_string().ok())
        .filter(|name| !name.starts_with('.'))
        .collect()
}

/// Only regular files are opened: a pipe would block, and a device may react.
fn begins_as_cdl(path: &Path) -> bool {
    let mut head = [0; 7];
    let read = fs::canonicalize(path)
        .and_then(|path| nczarr::dispatch::single_file::open_regular(&path))
        .and_then(|file| file.map_or(Ok(()), |mut file| file.read_exact(&mut head)));
    read.is_ok() && head == *b"netcdf "
}

/// Returns the number of letters to change, remove or insert; `None`: too many for a typing mistake. A name
/// without its ending counts as equal.
fn distance(wanted: &str, other: &str) -> Option<usize> {
    if other.strip_prefix(wanted).is_some_and(|rest| rest.starts_with('.')) {
        return Some(0);
    }
    let wanted: Vec<char> = wanted.to_lowercase().chars().collect();
    let mut row: Vec<usize> = (0..=wanted.len()).collect();
    for (at, letter) in other.to_lowercase().chars().enumerate() {
        let mut before = std::mem::replace(&mut row[0], at + 1);
        for place in 1..row.len() {
            let changed = before + usize::from(wanted[place - 1] != letter);
            before = row[place];
            row[place] = changed.min(before + 1).min(row[place - 1] + 1);
        }
    }
    let distance = row.last().copied().unwrap_or(0);
    (distance <= wanted.len().div_ceil(4)).then_some(distance)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_that_are_alike() {
        for (wanted, other, far) in [
            ("ocean.zarr", "ocean.zarr", Some(0)),
            ("ocean", "ocean.zarr", Some(0)),
            ("ocaen.nc", "ocean.nc", Some(2)),
            ("Ocean.nc", "ocean.nc", Some(0)),
            ("ocean.nc", "ocean.nc4", Some(1)),
            ("ocean.nc", "land.nc", None),
            ("a", "b", Some(1)),
        ] {
            assert_eq!(distance(wanted, other), far, "{wanted} {other}");
        }
    }
}
