//! Hostile keys and hostile directory entries never read, write or remove anything outside a store.

use std::fs;
use std::path::Path;

use nczarr::storage::{ByteRange, Key, Precondition, ZMap, ZMapExt};
use nczarr::{CreateOptions, ErrorKind, OpenOptions};

use crate::zips::{Sandbox, is_leak};

/// Texts that are not keys, and keys with a special meaning on some systems.
fn texts() -> Vec<String> {
    let mut texts: Vec<String> = [
        "..",
        ".",
        "../up",
        "../outside/secret",
        "v/../../outside/secret",
        "v/..",
        "v/.",
        "./v",
        "/outside/secret",
        "/etc/passwd",
        "//etc/passwd",
        "v//0",
        "v/",
        "/",
        "v/0/",
        "nul\0byte",
        "v\0/../../outside/secret",
        "\0",
        "line\nbreak",
        "\r",
        "bell\u{7}",
        "escape\u{1b}[2J",
        "delete\u{7f}",
        "C:\\x",
        "C:/x",
        "C:x",
        "c:..\\up",
        "\\\\server\\share\\x",
        "\\\\?\\C:\\x",
        "..\\up",
        "a\\..\\..\\outside\\secret",
        "\\outside",
        "CON",
        "con",
        "NUL",
        "NUL.txt",
        "aux",
        "COM1",
        "LPT9.zarray",
        "a/CON/b",
        "stream:x",
        "x::$DATA",
        "trailing.",
        "trailing ",
        "...",
        "%2e%2e/outside/secret",
        "..%2foutside",
        "%00",
        "~",
        "~root/x",
        "$(touch escaped)",
        "$HOME/x",
        "`touch escaped`",
        ";touch escaped",
        "|touch escaped",
        "*",
        "?",
        "[a]",
        "-rf",
        "--",
        "\u{202e}gpj",
        "\u{feff}bom",
        "\u{2024}\u{2024}/outside",
        "\u{ff0e}\u{ff0e}/outside",
        "\u{2215}etc",
        "e\u{301}",
        "\u{1f600}",
        ".nczarr-lock",
        ".nczarr-tmp-1-1",
        "a/.nczarr-lock/x",
        ".nfs000000000a0b1c2d00000001",
        "self/fd/0",
        "proc/self/environ",
        ".git/config",
        "con/../../x",
    ]
    .map(str::to_owned)
    .into();
    texts.extend([
        "x".repeat(255),
        "x".repeat(256),
        "x".repeat(5000),
        "x/".repeat(2000) + "x",
        "../".repeat(500) + "x",
        "ü".repeat(128),
    ]);
    texts
}

/// Runs every operation of a map with a key. Returns the bytes read.
fn ask(map: &dyn ZMap, key: &Key, other: &Key) -> Vec<u8> {
    let mut read = Vec::new();
    let mut bytes = Vec::new();
    let mut keep = |bytes: &[u8]| read.extend_from_slice(bytes);
    let _ = map.len(key);
    for range in [ByteRange::ALL, ByteRange::new(0, 100), ByteRange::first(7)] {
        if map.read(key, range, &mut bytes).unwrap_or(false) {
            keep(&bytes);
        }
    }
    let _ = map.children(key);
    let _ = map.possible_children(key);
    let _ = map.keys(key);
    let _ = map.write(key, b"escaped");
    let _ = map.write_if(key, b"escaped", &Precondition::Absent);
    let _ = map.update(key, 1 << 20, &mut |old, new| {
        keep(old.unwrap_or_default());
        new.extend_from_slice(b"escaped");
        Ok(())
    });
    let _ = map.rename(key, other);
    let _ = map.rename(other, key);
    let _ = map.delete(key);
    let _ = map.sync();
    read
}

#[test]
fn no_key_leads_out_of_a_store() {
    let (mut legal, mut refused, mut failed) = (0, 0, Vec::new());
    for name in ["x.zarr", "x.zip"] {
        for text in texts() {
            let sandbox = Sandbox::new();
            let path = sandbox.store(name).display().to_string();
            let map = CreateOptions::new().create_map(&path).expect("a map");
            map.write(&Key::new("v/0").expect("a key"), b"mine").expect("an object");
            let key = match Key::new(&text) {
                Ok(key) => key,
                Err(error) => {
                    refused += 1;
                    if error.to_string().is_empty() || error.kind() == ErrorKind::Internal {
                        failed.push(format!("{text:?}: {error}"));
                    }
                    // The text is not allowed as a name below a valid key either.
                    if Key::new("v").expect("a key").join(&text).is_ok() {
                        failed.push(format!("{text:?} is refused alone, and not below a key"));
                    }
                    continue;
                }
            };
            legal += 1;
            let read = ask(&*map, &key, &Key::new("other/place").expect("a key"));
            let mut mine = Vec::new();
            let is_mine = map.read(&Key::new("v/0").expect("a key"), ByteRange::ALL, &mut mine);
            if is_leak(&read) || !is_mine.unwrap_or(false) || mine != b"mine" {
                failed.push(format!("{name}: {text:?}: read {read:?}, of another {mine:?}"));
            }
            map.close().expect("it is closed");
            let escapes = sandbox.escapes(name);
            if !escapes.is_empty() {
                failed.push(format!("{name}: {text:?} escaped: {escapes:?}"));
            }
        }
    }
    eprintln!("hostile keys: {legal} legal, {refused} refused, {} failed", failed.len());
    assert!(legal >= 100 && refused >= 50);
    assert!(failed.is_empty(), "{}", failed.join("\n"));
}

/// Makes an entry at the first path. The second path is the secret outside the store.
type Make = fn(&Path, &Path);

/// Directory entries that can replace an object or a directory.
#[cfg(unix)]
fn things() -> Vec<(&'static str, Make)> {
    use std::os::unix::fs::symlink;
    fn link(to: impl AsRef<Path>, at: &Path) {
        symlink(to, at).expect("a link");
    }
    vec![
        ("a link to a file outside", |at, secret| link(secret, at)),
        ("a link upwards", |at, _| link("../../../outside/secret", at)),
        ("a link upwards from the root of the store", |at, _| link("../../outside/secret", at)),
        ("a link to a folder outside", |at, secret| link(secret.parent().expect("a folder"), at)),
        ("a link to a link", |at, secret| {
            let way = at.with_extension("way");
            link(secret, &way);
            link(&way, at);
        }),
        ("a link to itself", |at, _| link(at, at)),
        ("a link to nothing", |at, _| link("nowhere", at)),
        ("a link to where nothing is yet, outside", |at, secret| link(secret.with_extension("new"), at)),
        ("a link to the root of all", |at, _| link("/", at)),
        ("a link by way of the process", |at, secret| {
            link(format!("/proc/self/root{}", secret.display()), at);
        }),
        ("a link to a device", |at, _| link("/dev/zero", at)),
        ("a link to the terminal", |at, _| link("/dev/tty", at)),
        ("a socket", |at, _| drop(std::os::unix::net::UnixListener::bind(at))),
        ("a fifo", |at, _| {
            let made = std::process::Command::new("mkfifo").arg(at).status();
            assert!(made.is_ok_and(|status| status.success()), "mkfifo");
        }),
        ("a folder", |at, _| fs::create_dir(at).expect("a folder")),
    ]
}

#[cfg(unix)]
#[test]
fn nothing_in_a_directory_leads_out_of_it() {
    let (mut cases, mut failed) = (0, Vec::new());
    for place in
        ["v/0", "v/.zarray", "v/.zattrs", ".zattrs", ".zgroup", "v", ".nczarr-lock", "v/.nczarr-tmp-1-1"]
    {
        for (what, make) in things() {
            cases += 1;
            let sandbox = Sandbox::new();
            let store = sandbox.store("x.zarr");
            let path = store.display().to_string();
            let file = nczarr::create(&path).expect("a dataset");
            file.add_dimension("x", 4).expect("a dimension");
            let v = file.add_variable::<i32>("v", &["x"]).expect("a variable");
            v.put(&[1, 2, 3, 4], ..).expect("values");
            file.close().expect("a dataset");
            let at = store.join(place);
            let _ = fs::remove_dir_all(&at).or_else(|_| fs::remove_file(&at));
            make(&at, &sandbox.secret());
            let mut wrong = |why: String| failed.push(format!("{what} at {place}: {why}"));
            // Reads, writes, creates a new dataset in the same place, and deletes it.
            let read = nczarr::open(&path).and_then(|file| file.variable("v")?.get_values::<i32>(..));
            match read {
                Ok(values) if values == [1, 2, 3, 4] => {}
                // A folder in the place of a chunk counts as a missing chunk, so the fill value is read.
                Ok(values) if what == "a folder" && values == [nczarr::model::fill::INT; 4] => {}
                Ok(values) => wrong(format!("reads {values:?}")),
                Err(error) if error.kind() == ErrorKind::Internal => wrong(error.to_string()),
                Err(error) if !error.to_string().contains("x.zarr") && !error.to_string().contains('v') => {
                    wrong(error.to_string());
                }
                Err(_) => {}
            }
            if let Ok(map) = OpenOptions::new().writable(true).open_map(&path) {
                for key in [place, "v/0", "v/1"] {
                    let key = Key::new(key).expect("a key");
                    if is_leak(&ask(&*map, &key, &Key::new("other").expect("a key"))) {
                        wrong(format!("{key} reads what lies outside"));
                    }
                }
            }
            let write = || -> nczarr::Result<()> {
                let file = OpenOptions::new().writable(true).open(&path)?;
                file.variable("v")?.put(&[5, 6, 7, 8], ..)?;
                file.put_attribute("more", 1)?;
                file.close()
            };
            let _ = write();
            let _ = CreateOptions::new().clobber(true).create(&path).and_then(nczarr::File::close);
            let _ = nczarr::delete(&path);
            let escapes = sandbox.escapes("x.zarr");
            if !escapes.is_empty() {
                wrong(format!("escaped: {escapes:?}"));
            }
        }
    }
    eprintln!("hostile directories: {cases}, {} failed", failed.len());
    assert!(failed.is_empty(), "{}", failed.join("\n"));
}
