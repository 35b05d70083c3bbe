//! Only the listed files contain `unsafe`, and every crate root says so.
//!
//! Clippy checks that each block has a safety comment (`undocumented_unsafe_blocks`).

use std::collections::BTreeSet;
use std::fs;
use std::path::{Path, PathBuf};

/// The only files with `unsafe` in them, and the reason for each.
const ALLOWED: &[(&str, &str)] = &[
    ("crates/capi/src/boundary/dispatch_table/layout.rs", "types of the entries of user-defined formats"),
    ("crates/capi/src/boundary/dispatch_table/library.rs", "tables in shared libraries"),
    ("crates/capi/src/boundary/dispatch_table/mod.rs", "the entries of user-defined formats"),
    ("crates/capi/src/boundary/exit.rs", "a function that the system calls at the end of the process"),
    ("crates/capi/src/boundary/export.rs", "names of exported functions"),
    ("crates/capi/src/boundary/globals.rs", "names of exported variables"),
    ("crates/capi/src/boundary/lent_memory.rs", "memory of C programs that holds a dataset"),
    ("crates/capi/src/boundary/memory.rs", "memory that C programs free"),
    ("crates/capi/src/boundary/plugin_list.rs", "lists of directories of C programs"),
    ("crates/capi/src/boundary/pointer.rs", "pointers of C programs"),
    ("crates/capi/src/boundary/user_memory.rs", "elements with pointers in the memory of C programs"),
    ("crates/chunkio/src/cache.rs", "a look at the elements of an entry, under its lock"),
    ("crates/chunkio/src/kernel/bytes.rs", "kernels: elements that lie in the result already"),
    ("crates/chunkio/src/kernel/convert.rs", "kernels: vector code, and elements into uninitialised memory"),
    ("crates/chunkio/src/kernel/half_floats.rs", "kernels: vector code"),
    ("crates/chunkio/src/kernel/linear.rs", "kernels: vector code"),
    ("crates/chunkio/src/kernel/linear_avx2.rs", "kernels: vector code"),
    ("crates/chunkio/src/kernel/mod.rs", "kernels"),
    ("crates/chunkio/src/kernel/moves.rs", "kernels"),
    ("crates/chunkio/src/kernel/row_side.rs", "kernels: elements on the stack"),
    ("crates/chunkio/src/kernel/shuffle.rs", "kernels"),
    ("crates/chunkio/src/kernel/simd.rs", "kernels"),
    ("crates/chunkio/src/kernel/stream.rs", "kernels"),
    ("crates/chunkio/src/memory.rs", "the scatter of several threads into one array"),
    ("crates/chunkio/src/output.rs", "the scatter of several threads into one array"),
    ("crates/runtime/src/buffer.rs", "the allocation of results"),
    ("crates/runtime/src/outbuf.rs", "the allocation of results"),
    ("crates/runtime/src/alloc.rs", "the allocation of results"),
    (
        "crates/derive/src/output.rs",
        "the code that the macro writes states the layout of a struct or an enum",
    ),
    ("crates/driver-classic/src/mapped.rs", "a file as memory"),
    ("crates/filter-plugins/src/host/library.rs", "types of functions of plugins"),
    ("crates/filter-plugins/src/host/plugin.rs", "functions of plugins, in their own process"),
    ("crates/filters/src/blosc/bits.rs", "vector code is called"),
    ("crates/filters/src/blosc/encode.rs", "the C libraries"),
    ("crates/filters/src/blosc/ffi.rs", "the C library"),
    ("crates/filters/src/blosc/reference.rs", "the C library, in tests"),
    ("crates/filters/src/deflate/fast/encode.rs", "the C library"),
    ("crates/filters/src/deflate/fast/mod.rs", "the C library"),
    ("crates/filters/src/deflate/fast_inflate/mod.rs", "processor features were detected"),
    ("crates/filters/src/deflate/fast_inflate/symbols.rs", "output memory, and bytes read ahead"),
    ("crates/filters/src/deflate/fast_inflate/tables.rs", "one processor instruction"),
    ("crates/filters/src/deflate/pure.rs", "output memory for the decoder"),
    ("crates/filters/src/lz4_ffi.rs", "the C library"),
    ("crates/filters/src/lz4_library.rs", "the C library"),
    ("crates/filters/src/raw_out.rs", "output memory for the C libraries"),
    ("crates/filters/src/transpose/mod.rs", "vector code is called"),
    ("crates/filters/src/transpose/simd.rs", "vector code"),
    ("crates/filters/src/zstd_ffi.rs", "the C library"),
    ("crates/filters/src/zstd_sequences/bit_window.rs", "bytes read ahead"),
    ("crates/filters/src/zstd_sequences/copy.rs", "output memory"),
    ("crates/filters/src/zstd_sequences/mod.rs", "processor features were detected"),
    ("crates/filters/src/zstd_sequences/sequences.rs", "output memory, and bytes read ahead"),
    (
        "crates/filters/src/zstd_sequences/short_sequences.rs",
        "output memory, bytes read ahead, processor features",
    ),
    ("python/src/memory.rs", "memory of Python's buffers"),
    ("src/value/layout.rs", "Rust values as bytes, and bytes as Rust values"),
];

/// Crates that use `unsafe`. Their roots deny it and allow it module by module. All other roots forbid it.
const WITH_MODULES: &[&str] = &[
    "crates/capi",
    "crates/chunkio",
    "crates/driver-classic",
    "crates/filter-plugins",
    "crates/filters",
    "crates/runtime",
    "python",
    "src",
];

fn root() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).parent().unwrap().to_path_buf()
}

/// The Rust files below a folder.
fn sources(folder: &Path, found: &mut Vec<PathBuf>) {
    for entry in fs::read_dir(folder).unwrap() {
        let path = entry.unwrap().path();
        if path.is_dir() {
            sources(&path, found);
        } else if path.extension().is_some_and(|ending| ending == "rs") {
            found.push(path);
        }
    }
}

/// Whether a file uses `unsafe` before a block, a function, an implementation, a trait or an import.
fn has_unsafe(text: &str) -> bool {
    let words = ["{", "fn ", "impl", "extern ", "trait "];
    let lines = text.lines().map(|line| line.split("//").next().unwrap_or_default());
    lines.flat_map(|line| line.match_indices("unsafe").map(move |(at, _)| &line[at + "unsafe".len()..])).any(
        |rest| {
            let after = rest.trim_start();
            // A block can begin on the next line.
            rest.trim().is_empty()
                || words.iter().any(|word| after.starts_with(word))
                || rest.starts_with('(')
        },
    )
}

#[test]
fn unsafe_stands_in_named_modules_only() {
    let root = root();
    let mut files = Vec::new();
    for entry in fs::read_dir(root.join("crates")).unwrap() {
        sources(&entry.unwrap().path().join("src"), &mut files);
    }
    for folder in ["src", "python/src", "tests/src", "examples"] {
        sources(&root.join(folder), &mut files);
    }
    assert!(files.len() > 150, "{} files", files.len());
    let found: BTreeSet<String> = files
        .iter()
        // Unit tests can pass memory in the same way as the engine.
        .filter(|path| path.file_name().is_none_or(|name| name != "tests.rs"))
        .filter(|path| has_unsafe(&fs::read_to_string(path).unwrap()))
        .map(|path| path.strip_prefix(&root).unwrap().display().to_string())
        .collect();
    let allowed: BTreeSet<String> = ALLOWED.iter().map(|(file, _)| (*file).to_owned()).collect();
    assert_eq!(found.difference(&allowed).collect::<Vec<_>>(), Vec::<&String>::new(), "not named");
    assert_eq!(
        allowed.difference(&found).collect::<Vec<_>>(),
        Vec::<&String>::new(),
        "listed modules without unsafe code"
    );
}

#[test]
fn every_crate_root_forbids_or_denies_it() {
    let root = root();
    let mut roots = vec![
        root.join("src/lib.rs"),
        root.join("python/src/lib.rs"),
        root.join("tests/src/lib.rs"),
        root.join("examples/third-party/src/lib.rs"),
    ];
    for entry in fs::read_dir(root.join("crates")).unwrap() {
        let folder = entry.unwrap().path().join("src");
        roots.extend(
            ["lib.rs", "main.rs"].map(|file| folder.join(file)).into_iter().filter(|file| file.exists()),
        );
    }
    for file in roots {
        let text = fs::read_to_string(&file).unwrap();
        let with_modules = WITH_MODULES.iter().any(|name| file.starts_with(root.join(name)));
        let is_forbidden = text.lines().any(|line| line == "#![forbid(unsafe_code)]");
        let is_denied = text.lines().any(|line| line == "#![deny(unsafe_code)]");
        assert!(is_forbidden || (with_modules && is_denied), "{}", file.display());
    }
}

#[test]
fn unsafe_is_found_in_every_form() {
    for text in [
        "unsafe { f() }",
        "pub unsafe fn f() {}",
        "unsafe impl Send for X {}",
        "unsafe extern \"C\" {}",
        "unsafe\n{",
        "#[unsafe(no_mangle)]",
    ] {
        assert!(has_unsafe(text), "{text}");
    }
    for text in ["#![forbid(unsafe_code)]", "// unsafe { f() }", "an unsafe thing", "let unsafe_ = 1;"] {
        assert!(!has_unsafe(text), "{text}");
    }
}
