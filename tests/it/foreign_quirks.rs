//! Stores with unusual content: valid parts still work, and nothing outside the store changes.

use std::fs;
use std::path::Path;

use nczarr::{ErrorKind, NcType, OpenOptions};

fn put(store: &Path, key: &str, text: impl AsRef<[u8]>) {
    let path = store.join(key);
    fs::create_dir_all(path.parent().unwrap()).unwrap();
    fs::write(path, text).unwrap();
}

const INTS: &str = r#"{"zarr_format": 2, "shape": [2], "chunks": [2], "dtype": "<i4", "fill_value": 0,
    "order": "C", "compressor": null, "filters": null}"#;

#[test]
fn one_bad_variable_does_not_close_the_file() {
    let folder = tempfile::tempdir().unwrap();
    let store = folder.path().join("x.zarr");
    put(&store, ".zgroup", r#"{"zarr_format": 2}"#);
    put(&store, "good/.zarray", INTS);
    put(&store, "good/0", [1, 0, 0, 0, 2, 0, 0, 0]);
    for (name, from, to) in [
        ("codec", r#""compressor": null"#, r#""compressor": {"id": "nosuch"}"#),
        ("filter", r#""filters": null"#, r#""filters": [{"id": "nosuch", "level": 1}]"#),
        ("dtype", r#""<i4""#, r#""<c32""#),
        ("fill", r#""fill_value": 0"#, r#""fill_value": "many""#),
    ] {
        put(&store, &format!("{name}/.zarray"), INTS.replace(from, to));
        put(&store, &format!("{name}/.zattrs"), r#"{"units": "m"}"#);
        put(&store, &format!("{name}/0"), [0; 8]);
    }
    let file = nczarr::open(store.display().to_string()).unwrap();
    assert_eq!(file.variable("good").unwrap().get_values::<i32>(..).unwrap(), [1, 2]);
    assert_eq!(file.variables().len(), 5);
    for (name, kind, named) in [
        ("codec", ErrorKind::NoFilter, "nosuch"),
        ("filter", ErrorKind::NoFilter, "nosuch"),
        ("dtype", ErrorKind::BadType, "<c32"),
        ("fill", ErrorKind::NcZarr, "fill_value"),
    ] {
        let variable = file.variable(name).unwrap();
        assert_eq!(variable.shape().unwrap(), [2], "{name}");
        assert_eq!(variable.attribute("units").unwrap().text(), Some("m"), "{name}");
        let error = variable.get::<f64>(..).unwrap_err();
        assert_eq!(error.kind(), kind, "{error}");
        assert!(
            error.to_string().contains(&format!("{name}/.zarray")) && error.to_string().contains(named),
            "{error}"
        );
    }
}

#[test]
fn unknown_content_is_kept_unchanged() {
    let folder = tempfile::tempdir().unwrap();
    let store = folder.path().join("x.zarr");
    put(&store, ".zgroup", r#"{"zarr_format": 2}"#);
    put(&store, ".zattrs", r#"{"nested": {"a": [1, {"b": null}]}, "title": "t"}"#);
    put(&store, "v/.zarray", INTS);
    put(&store, "v/0", [1, 0, 0, 0, 2, 0, 0, 0]);
    put(
        &store,
        "bad/.zarray",
        INTS.replace(r#""compressor": null"#, r#""compressor": {"id": "nosuch", "x": [1.50]}"#),
    );
    put(&store, "bad/0", "secret");
    put(&store, "notes/readme.txt", "mine");
    let before = fs::read_to_string(store.join("bad/.zarray")).unwrap();
    let file = nczarr::append(store.display().to_string()).unwrap();
    file.put_attribute("title", "new").unwrap();
    file.variable("v").unwrap().put(&[7, 8], ..).unwrap();
    assert_eq!(file.variable("bad").unwrap().put(&[7, 8], ..).unwrap_err().kind(), ErrorKind::NoFilter);
    file.close().unwrap();
    assert_eq!(fs::read_to_string(store.join("bad/.zarray")).unwrap(), before);
    assert_eq!(fs::read_to_string(store.join("bad/0")).unwrap(), "secret");
    assert_eq!(fs::read_to_string(store.join("notes/readme.txt")).unwrap(), "mine");
    let attributes = fs::read_to_string(store.join(".zattrs")).unwrap();
    let attributes: serde_json::Value = serde_json::from_str(&attributes).unwrap();
    assert_eq!(attributes, serde_json::json!({"nested": {"a": [1, {"b": null}]}, "title": "new"}));
}

#[cfg(unix)]
#[test]
fn nothing_is_written_through_a_link() {
    use std::os::unix::fs::symlink;

    let folder = tempfile::tempdir().unwrap();
    let store = folder.path().join("x.zarr");
    put(&store, ".zgroup", r#"{"zarr_format": 2}"#);
    put(&store, "v/.zarray", INTS);
    put(&store, "w/.zarray", INTS);
    let outside = folder.path().join("outside");
    fs::create_dir(&outside).unwrap();
    fs::write(outside.join("file"), "mine").unwrap();
    symlink(outside.join("file"), store.join("v/0")).unwrap();
    symlink(&outside, store.join("linked")).unwrap();
    let path = store.display().to_string();
    let file = nczarr::append(&path).unwrap();
    assert_eq!(file.groups().len(), 0);
    // The writer replaces or refuses the link, but never follows it.
    let _ = file.variable("v").unwrap().put(&[7, 8], ..);
    file.variable("w").unwrap().put(&[7, 8], ..).unwrap();
    let _ = file.close();
    assert_eq!(fs::read_to_string(outside.join("file")).unwrap(), "mine");
    let _ = nczarr::delete(&path);
    assert_eq!(fs::read_to_string(outside.join("file")).unwrap(), "mine");
}

#[test]
fn an_array_at_the_root_is_the_one_variable() {
    let folder = tempfile::tempdir().unwrap();
    let store = folder.path().join("some data.zarr");
    put(&store, ".zarray", INTS);
    put(&store, "0", [1, 0, 0, 0, 2, 0, 0, 0]);
    let file = nczarr::open(store.display().to_string()).unwrap();
    let variable = file.variable("some\\ data").unwrap();
    assert_eq!(variable.nc_type(), NcType::Int);
    assert_eq!(variable.get_values::<i64>(..).unwrap(), [1, 2]);
}

/// Text that is not UTF-8 reads back byte for byte, or the writer refuses it. It never becomes a different
/// text.
#[test]
fn text_that_is_not_utf_8_is_kept_or_refused() {
    for modes in ["nczarr", "zarr", "nczarr,v3", "zarr,v3", "zarr,v3,annotate"] {
        let folder = tempfile::tempdir().unwrap();
        let url = format!("file://{}#mode={modes}", folder.path().join("x.zarr").display());
        let file = nczarr::create(&url).unwrap();
        let latin = nczarr::Values::Char(vec![b'a', 0xf6]);
        // Plain Zarr stores attributes as JSON, which cannot express these bytes.
        let is_kept = modes.starts_with("nczarr") || modes.ends_with("annotate");
        let put = file.put_attribute("a", latin.clone());
        assert_eq!(
            put.map_err(|error| error.kind()),
            if is_kept { Ok(()) } else { Err(ErrorKind::Char) },
            "{modes}"
        );
        file.add_dimension("x", 3).unwrap();
        file.add_variable_with_type("c", NcType::Char, &["x"]).unwrap().put_chars(b"\xf6\x80z", ..).unwrap();
        file.close().unwrap();
        let c = nczarr::open(&url).unwrap();
        assert_eq!(c.model().root().atts.get("a"), is_kept.then_some(&latin), "{modes}");
        let c = c.variable("c").unwrap();
        let mut bytes = [0; 3];
        match c.nc_type() {
            NcType::Char => bytes.copy_from_slice(c.get_chars(..).unwrap().as_slice()),
            // Zarr has no char type.
            NcType::UByte => bytes.copy_from_slice(&c.get_values::<u8>(..).unwrap()),
            _ => {
                let texts = c.get_nc_strings(..).unwrap();
                bytes = std::array::from_fn(|at| texts.as_slice()[at].as_bytes()[0]);
            }
        }
        assert_eq!(&bytes, b"\xf6\x80z", "{modes}");

        let file = OpenOptions::new().writable(true).open(&url).unwrap();
        let s = file.add_variable_with_type("s", NcType::String, &["x"]).unwrap();
        let strings: [&[u8]; 3] = [b"a", b"\xf6", b""];
        match s.put_strings(&strings, ..).and_then(|()| file.sync()) {
            Ok(()) => {
                let found = nczarr::open(&url).unwrap().variable("s").unwrap().get_nc_strings(..).unwrap();
                let found: Vec<&[u8]> = found.as_slice().iter().map(|text| text.as_bytes()).collect();
                assert_eq!(found, strings, "{modes}");
            }
            Err(error) => {
                assert!(modes.contains("v3"), "{modes}: {error}");
                assert!(
                    error.kind() == ErrorKind::Filter && error.to_string().contains("not UTF-8"),
                    "{error}"
                );
            }
        }
    }
}
