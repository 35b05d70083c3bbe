//! Measures the maps and some filters of this project: `cargo run --release -p nczarr-conformance --example
//! bench`.

use std::error::Error;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};

use nczarr_conformance::{bench_filter, bench_map};
use nczarr_storage::{MapOptions, ZMap};
use nczarr_zmap_file::FileMap;
use nczarr_zmap_mem::MemMap;
use nczarr_zmap_zip::ZipMap;

type Make<'a> = &'a dyn Fn() -> Arc<dyn ZMap>;

fn main() -> Result<(), Box<dyn Error>> {
    let (place, count, options) = (tempfile::tempdir()?, AtomicUsize::new(0), MapOptions::default());
    let fresh = || place.path().join(count.fetch_add(1, Ordering::Relaxed).to_string());
    let makes: [(&str, Make<'_>); 3] = [
        ("mem", &|| Arc::new(MemMap::new())),
        ("file", &|| Arc::new(FileMap::create(fresh(), None, &options).expect("a folder of our own"))),
        ("zip", &|| Arc::new(ZipMap::create(&fresh(), "", false, &options).expect("a folder of our own"))),
    ];
    for (name, make) in makes {
        println!("{name}\n{}", bench_map(make)?);
    }
    let samples: [(&str, &[&[u32]]); 9] = [
        ("shuffle", &[&[]]),
        ("deflate", &[&[1], &[6]]),
        ("zstd", &[&[1], &[9]]),
        ("blosc", &[&[0, 0, 0, 0, 5, 1, 1], &[0, 0, 0, 0, 5, 2, 5]]),
        ("lz4", &[&[]]),
        ("bzip2", &[&[9]]),
        ("lzma", &[&[1]]),
        ("szip", &[&[32, 32]]),
        ("crc32c", &[&[]]),
    ];
    for class in nczarr_filters::BUILTIN {
        if let Some((_, samples)) = samples.iter().find(|(name, _)| *name == class.info().name) {
            println!("{}", bench_filter(*class, samples)?);
        }
    }
    Ok(())
}
