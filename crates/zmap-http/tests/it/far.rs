//! Large remote files: only the needed parts are read, in few requests.

use std::io::Read as _;
use std::path::Path;

use nczarr::{File, Place};
use nczarr_s3_server::{Config as Kind, Counts, Op, Server};

fn server() -> Server {
    Server::start(Kind::default().web("web"))
}

/// Opens a file of a server, with nothing cached.
fn open(server: &Server, name: &str) -> File {
    server.clear_log();
    nczarr::open(format!("{}/web/{name}#mode=bytes", server.url())).unwrap()
}

/// Counts the requests so far. All of them are GET.
fn asked(server: &Server) -> Counts {
    let counts = server.counts();
    assert_eq!(counts.of(Op::Get), counts.total(), "{counts:?}");
    counts
}

/// Writes a netCDF-4 file of `count` chunks of 100 bytes, one for each index of the first dimension.
fn large(folder: &Path, count: u64) -> Vec<u8> {
    let path = folder.join(format!("{count}.nc")).display().to_string();
    let file = nczarr::create(Place::url(format!("{path}#mode=netcdf-4"))).unwrap();
    file.put_attribute("title", "a large one").unwrap();
    file.add_unlimited_dimension("t").unwrap();
    for (name, len) in [("y", 10), ("x", 10)] {
        file.add_dimension(name, len).unwrap();
        file.add_variable::<f64>(name, &[name]).unwrap().put(&[0.5; 10], ..).unwrap();
    }
    let v = file.add_variable::<u8>("v", &["t", "y", "x"]).unwrap();
    v.put_attribute("units", "K").unwrap();
    v.set_chunking(&[1, 10, 10]).unwrap();
    for from in (0..count).step_by(10_000) {
        let values: Vec<u8> = (from * 100..(from + 10_000) * 100).map(value).collect();
        v.put(&values, (from..from + 10_000, .., ..)).unwrap();
    }
    file.close().unwrap();
    std::fs::read(path).unwrap()
}

fn value(at: u64) -> u8 {
    (at % 251) as u8
}

/// Returns the number of nodes on the way to a chunk. Each has up to 64 children.
fn depth(count: u64) -> u64 {
    (1..).find(|&depth| 64u64.pow(depth) >= count).unwrap().into()
}

#[test]
fn requests_of_a_box_grow_with_the_depth_of_its_index() {
    let (folder, server) = (tempfile::tempdir().unwrap(), server());
    for count in [20_000, 200_000] {
        let bytes = large(folder.path(), count);
        server.put("web", "x.nc", bytes);
        for at in [0, count / 2 + 7, count - 1] {
            let file = open(&server, "x.nc");
            let found = file.variable("v").unwrap().get_values::<u8>((at, .., ..)).unwrap();
            assert_eq!(found, (at * 100..at * 100 + 100).map(value).collect::<Vec<_>>());
            let counts = asked(&server);
            assert!(counts.total() <= depth(count) + 4, "{count} chunks: {counts:?}");
            assert!(counts.sent <= 2 << 20, "{count} chunks: {counts:?}");
            // The location is known now.
            server.clear_log();
            file.variable("v").unwrap().get_values::<u8>((at, 2..4, 5..7)).unwrap();
            assert!(asked(&server).total() <= 1);
        }
        // Consecutive chunks are read together.
        let file = open(&server, "x.nc");
        let found = file.variable("v").unwrap().get_values::<u8>((count - 300..count, .., ..)).unwrap();
        assert_eq!(found, ((count - 300) * 100..count * 100).map(value).collect::<Vec<_>>());
        let counts = asked(&server);
        assert!(counts.total() <= depth(count) + 4 && counts.sent <= 2 << 20, "{count} chunks: {counts:?}");
    }
}

#[test]
fn a_box_across_chunks_requests_no_byte_twice() {
    let (folder, server) = (tempfile::tempdir().unwrap(), server());
    for (deflate, kind) in [(false, "no filter"), (true, "deflate")] {
        let path = folder.path().join(format!("{deflate}.nc")).display().to_string();
        let file = nczarr::create(Place::url(format!("{path}#mode=netcdf-4"))).unwrap();
        file.add_dimension("y", 1600).unwrap();
        file.add_dimension("x", 800).unwrap();
        let v = file.add_variable::<f32>("v", &["y", "x"]).unwrap();
        v.set_chunking(&[16, 16]).unwrap();
        if deflate {
            v.set_deflate(1, false).unwrap();
        }
        let values: Vec<f32> = (0..1600 * 800).map(|at| at as f32).collect();
        v.put(&values, ..).unwrap();
        file.close().unwrap();
        server.put("web", "x.nc", std::fs::read(path).unwrap());
        let file = open(&server, "x.nc");
        let found = file.variable("v").unwrap().get_values::<f32>((1000..1010, 395..405)).unwrap();
        let expected = (1000..1010).flat_map(|y| (395..405).map(move |x| (y * 800 + x) as f32));
        assert!(found == expected.collect::<Vec<_>>(), "{kind}");
        let mut ranges: Vec<(u64, u64)> =
            server.log().iter().map(|entry| span(entry.range.as_deref())).collect();
        ranges.sort_unstable();
        assert!(ranges.windows(2).all(|pair| pair[0].1 < pair[1].0), "{kind}: {ranges:?}");
        assert!(ranges.len() as u64 <= depth(5_000) + 4, "{kind}: {ranges:?}");
    }
}

/// Returns the first and the last byte of a range request.
fn span(range: Option<&str>) -> (u64, u64) {
    let (first, last) = range.and_then(|range| range.strip_prefix("bytes=")?.split_once('-')).unwrap();
    (first.parse().unwrap(), last.parse().unwrap())
}

/// A compressed file of 200,000 chunks by the HDF5 library, from `make.py` beside them.
fn packed(name: &str) -> Vec<u8> {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/it/hdf5").join(format!("far-{name}.h5.gz"));
    let mut bytes = Vec::new();
    flate2::read::GzDecoder::new(std::fs::File::open(path).unwrap()).read_to_end(&mut bytes).unwrap();
    bytes
}

#[test]
fn each_kind_of_index_is_read_in_part() {
    let server = server();
    // Structures on the way to a chunk.
    for (name, depth) in [
        ("implicit", 0),
        ("fixed", 3),
        ("fixed-filtered", 3),
        ("extensible", 5),
        ("extensible-filtered", 5),
        ("tree2", 2),
        ("tree2-filtered", 2),
    ] {
        let bytes = packed(name);
        let local = nczarr::open_bytes(bytes.clone()).unwrap();
        let all = local.variable("v").unwrap().get_values::<u8>(..).unwrap();
        assert_eq!(all.iter().filter(|&&value| value != 0).count(), 347, "{name}");
        server.put("web", "x.nc", bytes);
        for rows in
            [0..10u64, 700..710, 1019..1029, 4090..4100, 65_530..65_540, 123_455..123_465, 199_990..200_000]
        {
            let file = open(&server, "x.nc");
            let found = file.variable("v").unwrap().get_values::<u8>((rows.clone(), ..)).unwrap();
            assert_eq!(found, all[rows.start as usize * 4..rows.end as usize * 4], "{name}: {rows:?}");
            let counts = asked(&server);
            assert!(counts.total() <= depth + 4, "{name}: {rows:?}: {counts:?}");
            assert!(counts.sent <= 1 << 20, "{name}: {rows:?}: {counts:?}");
        }
        // Whole reads and single elements agree.
        let file = open(&server, "x.nc");
        let v = file.variable("v").unwrap();
        for at in (0..200_000).step_by(997).chain(0..50) {
            assert_eq!(v.get_values::<u8>((at, 1..2)).unwrap(), [all[at as usize * 4 + 1]], "{name}: {at}");
        }
        let strided = nczarr::Extent::Strided { start: 500, count: Some(300), stride: 3 };
        let every = v.get_values::<u8>((strided, ..)).unwrap();
        let expected = all[2000..].chunks(4).step_by(3).take(300).flatten().copied().collect::<Vec<u8>>();
        assert_eq!(every, expected, "{name}");
        assert!(v.get_values::<u8>((..5000, ..)).unwrap() == all[..20_000], "{name}");
        let whole = name.starts_with("tree2").then(|| v.get_values::<u8>(..).unwrap());
        assert!(whole.is_none_or(|whole| whole == all), "{name}");
    }
}

/// Every file of the HDF5 library in other tests has the same content when read remotely.
#[test]
fn files_hold_the_same_far_away() {
    let corpus = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../tests/corpus/hdf5");
    let (server, mut seen) = (server(), 0);
    for entry in std::fs::read_dir(corpus).unwrap() {
        let path = entry.unwrap().path();
        if path.extension().is_none_or(|extension| extension != "h5") {
            continue;
        }
        let bytes = std::fs::read(&path).unwrap();
        // In memory it has no external files either.
        let local = nczarr::open_bytes(bytes.clone()).unwrap();
        server.put("web", "x.nc", bytes);
        let far = open(&server, "x.nc");
        let what = |file: &File| format!("{:?} {:?}", file.model(), file.faults().unwrap());
        assert_eq!(what(&far), what(&local), "{}", path.display());
        for (id, var) in local.model().vars() {
            let read = |file: &File| {
                let var = file.variable_by_id(id)?;
                Ok::<_, nczarr::Error>(match var.get::<f64>(..) {
                    Ok(values) => format!("{:?}", values.to_vec()),
                    Err(_) => format!("{:?}", var.get_strings(..).map_err(|error| error.kind())),
                })
            };
            let (far, local) = (read(&far), read(&local));
            match (far, local) {
                (Ok(far), Ok(local)) => assert_eq!(far, local, "{}: {}", path.display(), var.name),
                (far, local) => assert_eq!(far.is_err(), local.is_err(), "{}: {}", path.display(), var.name),
            }
            seen += 1;
        }
    }
    assert!(seen > 100, "{seen}");
}

/// One of several record variables is read without the others.
#[test]
fn records_are_read_without_other_variables() {
    let (folder, server) = (tempfile::tempdir().unwrap(), server());
    for mode in ["cdf2", "cdf5"] {
        let path = folder.path().join(mode).display().to_string();
        let file = nczarr::create(Place::url(format!("{path}#mode={mode}"))).unwrap();
        file.add_unlimited_dimension("time").unwrap();
        file.add_dimension("lat", 90).unwrap();
        file.add_dimension("lon", 120).unwrap();
        for name in ["a", "b", "c", "d", "e", "f"] {
            file.add_variable::<f32>(name, &["time", "lat", "lon"]).unwrap();
        }
        let values: Vec<f32> = (0..40 * 90 * 120).map(|at| at as f32).collect();
        for name in ["a", "b", "c", "d", "e", "f"] {
            file.variable(name).unwrap().put(&values, (0..40, .., ..)).unwrap();
        }
        file.close().unwrap();
        server.put("web", "x.nc", std::fs::read(&path).unwrap());
        let file = open(&server, "x.nc");
        assert!(file.variable("c").unwrap().get_values::<f32>(..).unwrap() == values);
        let (counts, wanted) = (asked(&server), 4 * values.len() as u64);
        assert!(counts.sent <= wanted + wanted / 2, "{mode}: {counts:?}");
        assert!(counts.total() <= 42, "{mode}: {counts:?}");
        // A box of some records.
        let file = open(&server, "x.nc");
        let found = file.variable("d").unwrap().get_values::<f32>((7..9, 10..20, 30..40)).unwrap();
        assert_eq!(found[..2], [((7 * 90 + 10) * 120 + 30) as f32, ((7 * 90 + 10) * 120 + 31) as f32]);
        let counts = asked(&server);
        assert!(counts.sent <= 256 << 10 && counts.total() <= 3, "{mode}: {counts:?}");
    }
}

/// Many groups, variables, attributes and strings take few round trips.
#[test]
fn many_objects_are_opened_in_a_few_rounds() {
    let (folder, server) = (tempfile::tempdir().unwrap(), server());
    let path = folder.path().join("many.nc").display().to_string();
    let file = nczarr::create(Place::url(format!("{path}#mode=netcdf-4"))).unwrap();
    file.add_dimension("x", 4000).unwrap();
    for group in 0..12 {
        let group = file.add_group(&format!("g{group}")).unwrap();
        for var in 0..10 {
            let var = group.add_variable::<f64>(&format!("v{var}"), &["x"]).unwrap();
            for attribute in 0..12 {
                var.put_attribute(&format!("a{attribute}"), [0.5, 1.5, f64::from(attribute)]).unwrap();
            }
            var.put(&vec![0.25; 4000], ..).unwrap();
        }
    }
    let names: Vec<String> = (0..4000).map(|at| format!("the name of {at}")).collect();
    file.add_string_variable("names", &["x"]).unwrap().put_strings(&names, ..).unwrap();
    file.close().unwrap();
    server.put("web", "x.nc", std::fs::read(&path).unwrap());
    let far = open(&server, "x.nc");
    let counts = asked(&server);
    assert!(counts.total() <= 8 && counts.sent <= 2 << 20, "{counts:?}");
    let local = nczarr::open(&path).unwrap();
    assert_eq!(format!("{:?}", far.model()), format!("{:?}", local.model()));
    server.clear_log();
    assert_eq!(far.variable("names").unwrap().get_strings(..).unwrap().to_vec(), names);
    let counts = asked(&server);
    assert!(counts.total() <= 12, "{counts:?}");
}

/// Makes an HDF4 file with `far` bytes between its elements.
fn spread(bytes: &[u8], far: usize) -> Vec<u8> {
    let number = |at: usize| u32::from_be_bytes(bytes[at..at + 4].try_into().unwrap()) as usize;
    let (mut out, mut at, mut moved) = (bytes.to_vec(), 4, std::collections::HashMap::new());
    while at != 0 {
        let count = usize::from(bytes[at]) << 8 | usize::from(bytes[at + 1]);
        for descriptor in (0..count).map(|entry| at + 6 + 12 * entry) {
            let (offset, len) = (number(descriptor + 4), number(descriptor + 8));
            if offset == 0 || len == 0 || offset.checked_add(len).is_none_or(|end| end > bytes.len()) {
                continue;
            }
            let place = *moved.entry((offset, len)).or_insert_with(|| {
                let place = out.len().next_multiple_of(far);
                out.resize(place, 0);
                out.extend_from_slice(&bytes[offset..offset + len]);
                place
            });
            out[descriptor + 4..descriptor + 8].copy_from_slice(&(place as u32).to_be_bytes());
        }
        at = number(at + 2);
    }
    out
}

#[test]
fn hdf4_files_are_read_in_part() {
    let corpus = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../tests/corpus/hdf4");
    for name in ["codings.hdf", "old.hdf", "odd.hdf"] {
        let bytes = std::fs::read(corpus.join(name)).unwrap();
        let local = nczarr::open_bytes(bytes.clone()).unwrap();
        let server = server();
        let bytes = spread(&bytes, 150_000);
        let len = bytes.len() as u64;
        server.put("web", "x.hdf", bytes);
        let far = open(&server, "x.hdf");
        assert_eq!(format!("{:?}", far.model()), format!("{:?}", local.model()), "{name}");
        let opened = asked(&server);
        assert!(opened.sent <= len / 8, "{name}: {opened:?} of {len}");
        for (id, var) in local.model().vars() {
            let read = |file: &File| file.variable_by_id(id).unwrap().get_values::<f64>(..);
            match (read(&far), read(&local)) {
                (Ok(far), Ok(local)) => assert_eq!(far, local, "{name}: {}", var.name),
                (far, local) => assert_eq!(far.is_err(), local.is_err(), "{name}: {}", var.name),
            }
        }
    }
}

/// A partial read of a large unfiltered chunk reads only the requested rows.
#[test]
fn a_large_chunk_is_read_in_part() {
    let (folder, server) = (tempfile::tempdir().unwrap(), server());
    let path = folder.path().join("chunk.nc").display().to_string();
    let file = nczarr::create(Place::url(format!("{path}#mode=netcdf-4"))).unwrap();
    for (name, len) in [("t", 4), ("y", 600), ("x", 600)] {
        file.add_dimension(name, len).unwrap();
    }
    let v = file.add_variable::<f32>("v", &["t", "y", "x"]).unwrap();
    v.set_chunking(&[4, 600, 600]).unwrap();
    let values: Vec<f32> = (0..4 * 600 * 600).map(|at| at as f32).collect();
    v.put(&values, ..).unwrap();
    file.close().unwrap();
    server.put("web", "x.nc", std::fs::read(&path).unwrap());
    let file = open(&server, "x.nc");
    let found = file.variable("v").unwrap().get_values::<f32>((.., 10..20, 30..40)).unwrap();
    let expected = (0..400).map(|at| (at / 100 * 360_000 + (10 + at / 10 % 10) * 600 + 30 + at % 10) as f32);
    assert_eq!(found, expected.collect::<Vec<_>>());
    let counts = asked(&server);
    assert!(counts.total() <= 9 && counts.sent <= 512 << 10, "{counts:?}");
}
