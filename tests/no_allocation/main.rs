//! The allocations of transfers: their number does not grow with the number of chunks, and their size not with
//! the stored bytes. The tests use the facade with real maps and filters; the engine has a test of its own.

mod counting;
mod own_memory;
mod stored_bytes;

use nczarr::{CreateOptions, Extent, OpenOptions, Variable};

fn counted(work: impl FnOnce()) -> usize {
    counting::counted(work).count
}

const CHUNKS: u64 = 300;
const CHUNK: u64 = 512;

type Chain<'a> = &'a [(&'a str, &'a [u32])];

#[test]
fn allocations_do_not_grow_with_the_chunks() {
    let folder = tempfile::tempdir().unwrap();
    let chains: &[(&str, Chain<'_>)] = &[
        ("plain", &[]),
        ("shuffle", &[("shuffle", &[])]),
        ("fletcher32", &[("fletcher32", &[])]),
        ("deflate", &[("deflate", &[5])]),
        ("shuffle deflate", &[("shuffle", &[]), ("deflate", &[5])]),
        ("gzip", &[("gzip", &[5])]),
        ("zstd", &[("zstd", &[3])]),
        ("lz4", &[("lz4", &[])]),
        ("sums", &[("crc32", &[]), ("crc32c", &[]), ("adler32", &[1]), ("jenkins_lookup3", &[])]),
        ("all", &[("shuffle", &[]), ("fletcher32", &[]), ("zstd", &[3]), ("deflate", &[1])]),
        ("blosc lz4 bits", &[("blosc", &[0, 0, 0, 0, 5, 2, 1])]),
        ("blosc blosclz", &[("blosc", &[0, 0, 0, 0, 5, 1, 0])]),
        ("blosc lz4hc", &[("blosc", &[0, 0, 0, 0, 5, 1, 2])]),
        ("blosc zlib", &[("blosc", &[0, 0, 0, 0, 5, 1, 4])]),
        ("blosc zstd", &[("blosc", &[0, 0, 0, 0, 5, 1, 5])]),
    ];
    let values: Vec<i32> = (0..(CHUNKS * CHUNK) as i32).map(|i| i / 3 % 1000).collect();
    for (name, chain) in chains {
        for map in ["file", "memory"] {
            let url = match map {
                "file" => {
                    format!("file://{}/{}.zarr#mode=nczarr", folder.path().display(), name.replace(' ', "-"))
                }
                _ => format!("memory://{}#mode=nczarr", name.replace(' ', "-")),
            };
            let file = CreateOptions::new().threads(1).exclusive(true).create(&url).unwrap();
            file.add_dimension("x", CHUNKS * CHUNK).unwrap();
            let v = file.add_variable::<i32>("v", &["x"]).unwrap();
            v.set_chunking(&[CHUNK]).unwrap();
            for (filter, params) in *chain {
                v.set_filter(filter, params).unwrap();
            }
            v.put(&values, ..).unwrap();
            file.close().unwrap();

            let file = OpenOptions::new().threads(1).open(&url).unwrap();
            let v = file.variable("v").unwrap();
            // A chunk that is read in part is cached, and the next read uses the cache.
            for ty in ["int", "double", "strided"] {
                let read = |chunks: u64| counted(|| read(&v, ty, chunks));
                read(CHUNKS);
                let (few, many) = (read(30), read(CHUNKS));
                assert!(many <= few + 4, "{name}, {map}, {ty}: {few} for 30 chunks, {many} for {CHUNKS}");
            }
            hits_allocate_their_result(&url);
        }
    }
}

/// Checks that a read from a cached chunk allocates only the result.
fn hits_allocate_their_result(url: &str) {
    let v = OpenOptions::new().threads(1).cache_bytes(64 << 20).open(url).unwrap().variable("v").unwrap();
    let mut some = [0; 20];
    let mut each = |at: u64| {
        let value = counted(|| v.get_value::<i32>((at,)).map(drop).unwrap());
        let into = counted(|| v.get_into(&mut some, at..at + 20).unwrap());
        let wider = counted(|| v.get_value::<f64>(std::slice::from_ref(&(at..at + 1))).map(drop).unwrap());
        let fresh = counted(|| v.get::<i32>(at..at + 20).map(drop).unwrap());
        [value, into, wider, fresh]
    };
    each(7);
    assert_eq!(each(100), [0, 0, 0, 1], "{url}");
}

fn read(v: &Variable, ty: &str, chunks: u64) {
    let end = chunks * CHUNK;
    match ty {
        "int" => drop(v.get::<i32>(0..end).unwrap()),
        "double" => drop(v.get::<f64>(0..end).unwrap()),
        _ => drop(v.get::<i32>(Extent::Strided { start: 0, count: Some(end / 3), stride: 3 }).unwrap()),
    }
}
