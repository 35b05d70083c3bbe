//! A whole read does not copy the stored bytes of chunks, except once from a file.
//!
//! Each read runs on a new thread, so a buffer that threads reuse counts once.

use nczarr::{CreateOptions, File, OpenOptions};

use crate::Chain;
use crate::counting::counted;

const CHUNK: usize = 1 << 18;
const CHUNKS: usize = 12;
/// The least number of bytes of a stored chunk: three of the four bytes of a value are random.
const STORED: usize = CHUNK * 3;

fn values() -> Vec<i32> {
    let mut state = 1u32;
    let mut next = || {
        state = state.wrapping_mul(1_664_525).wrapping_add(1_013_904_223);
        (state >> 8) as i32
    };
    (0..CHUNKS * CHUNK).map(|_| next()).collect()
}

fn write(url: &str, chain: Chain<'_>, values: &[i32]) {
    let file = CreateOptions::new().threads(1).create(url).unwrap();
    file.add_dimension("x", values.len() as u64).unwrap();
    let v = file.add_variable::<i32>("v", &["x"]).unwrap();
    v.set_chunking(&[CHUNK as u64]).unwrap();
    for (filter, params) in chain {
        v.set_filter(filter, params).unwrap();
    }
    v.put(values, ..).unwrap();
    file.close().unwrap();
}

/// Returns the bytes that the first read of a thread allocates, without its result.
fn allocated(file: &File, values: &[i32]) -> usize {
    let v = file.variable("v").unwrap();
    let mut found = vec![0; values.len()];
    let read = || counted(|| v.get_into(&mut found, 0..values.len() as u64).unwrap()).bytes;
    let bytes = std::thread::scope(|scope| scope.spawn(read).join().unwrap());
    assert!(found == values);
    bytes
}

#[test]
fn whole_reads_do_not_copy_stored_bytes() {
    let folder = tempfile::tempdir().unwrap();
    let values = values();
    let chains: &[(&str, Chain<'_>)] =
        &[("plain", &[]), ("zstd", &[("zstd", &[1])]), ("deflate", &[("deflate", &[1])])];
    let mut failures = Vec::new();
    for (name, chain) in chains {
        let archive = folder.path().join(format!("{name}.zip"));
        let archive = archive.to_str().unwrap();
        write(&format!("file://{archive}#mode=nczarr,zip"), chain, &values);
        let memory = format!("memory://stored-bytes-{name}#mode=nczarr");
        write(&memory, chain, &values);
        let options = OpenOptions::new().threads(1);
        let held = std::fs::read(archive).unwrap();
        assert!(held.len() > STORED * CHUNKS, "{name}: the chunks are not stored as expected");
        // A plain chunk is read into its place, and an encoded one into the buffer of the thread.
        let buffer = if chain.is_empty() { 0 } else { CHUNK * 4 };
        let places = [
            ("an archive in a file", options.open(archive), buffer),
            ("an archive in memory", options.open_bytes("held.zip", held), 0),
            ("a map in memory", options.open(&memory), 0),
        ];
        for (place, file, buffer) in places {
            let file = file.unwrap();
            let (few, many) = (allocated(&file, &values[..2 * CHUNK]), allocated(&file, &values));
            if many >= buffer + STORED / 2 || many > few + 4096 {
                failures.push(format!("{place}, {name}: {few} bytes for 2 chunks, {many} for {CHUNKS}"));
            }
        }
    }
    assert!(failures.is_empty(), "{failures:#?}");
}
