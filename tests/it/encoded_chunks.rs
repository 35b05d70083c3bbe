//! Stored chunks as bytes: read, decoded, written and erased without the elements in between.

use std::sync::atomic::{AtomicU32, AtomicUsize, Ordering};

use nczarr::dispatch::{EncodedCheck, EncodedChunk};
use nczarr::{ErrorKind, File, Group, MemMut, NcString, NcType, Result, Slab, Values, Variable};
use nczarr_tests::plan::{Plan, Var};
use nczarr_tests::samples;
use proptest::prelude::*;

fn kind<T: std::fmt::Debug>(outcome: Result<T>) -> ErrorKind {
    outcome.unwrap_err().kind()
}

fn fresh(mode: &str) -> File {
    static NEXT: AtomicU32 = AtomicU32::new(0);
    nczarr::create(format!("memory://encoded-{}#mode={mode}", NEXT.fetch_add(1, Ordering::Relaxed))).unwrap()
}

/// All variables of a group and of the groups below it.
fn variables(group: &Group) -> Vec<Variable> {
    let mut all = group.variables();
    group.groups().iter().for_each(|group| all.extend(variables(group)));
    all
}

fn only<'a>(variables: &'a [Variable], like: &Variable) -> &'a Variable {
    variables.iter().find(|variable| variable.full_name() == like.full_name()).unwrap()
}

/// The plan without values for variables that have chunks in `file`.
fn without_values(plan: &Plan, group: &Group) -> Plan {
    let mut plan = plan.clone();
    for var in &mut plan.vars {
        let variable = group.variables().into_iter().find(|variable| variable.name() == var.name).unwrap();
        var.written &= variable.chunks().is_err();
    }
    plan.groups = (plan.groups.iter().zip(group.groups()))
        .map(|((name, plan), group)| (name.clone(), without_values(plan, &group)))
        .collect();
    plan
}

/// Every element of a chunk as text, read or decoded.
fn elements(variable: &Variable, slab: &Slab<'_>, chunk: Option<(&[u64], &EncodedChunk)>) -> String {
    let read = |out: MemMut<'_, '_>| match chunk {
        None => variable.read(slab, out),
        Some((index, stored)) => variable.decode_chunk_into(index, stored, out),
    };
    if variable.nc_type() == NcType::String {
        let mut strings = vec![NcString::new(); slab.len() as usize];
        read(MemMut::Strings(&mut strings)).unwrap();
        return format!("{strings:?}");
    }
    let ty = variable.nc_type();
    let mut bytes = vec![0; slab.len() as usize * ty.size().unwrap()];
    read(MemMut::Fixed { ty, out: &mut nczarr::OutBuf::from_slice(&mut bytes) }).unwrap();
    format!("{bytes:?}")
}

/// Copies every stored chunk of every variable as bytes; returns their number.
fn pass_through(from: &File, to: &File) -> usize {
    let mut count = 0;
    let targets = variables(&to.root());
    for variable in variables(&from.root()).iter().filter(|variable| variable.chunks().is_ok()) {
        let target = only(&targets, variable);
        assert_eq!(
            variable.chunk_encoding().unwrap(),
            target.chunk_encoding().unwrap(),
            "{}",
            variable.full_name()
        );
        for chunk in variable.stored_chunks().unwrap() {
            let stored = chunk.read_encoded().unwrap().unwrap();
            assert_eq!(chunk.encoded_len().unwrap(), Some(stored.bytes.len() as u64));
            assert_eq!(
                elements(variable, &chunk.slab(), Some((chunk.index(), &stored))),
                elements(variable, &chunk.slab(), None),
                "{}",
                variable.full_name()
            );
            // As a copy does: dimensions end where those of the source end.
            for (dim, &end) in target.dimensions().iter().zip(&variable.shape().unwrap()) {
                if dim.is_unlimited() {
                    to.model().dim(dim.id()).unwrap().grow(end);
                }
            }
            target.write_encoded(chunk.index(), &stored).unwrap();
            assert_eq!(target.read_encoded(chunk.index()).unwrap().unwrap(), stored);
            count += 1;
        }
    }
    count
}

#[test]
fn every_sample_passes_through_as_bytes() {
    let folder = tempfile::tempdir().unwrap();
    for (name, plan) in samples::all() {
        for (number, mode) in
            ["nczarr", "zarr,annotate", "nczarr,v3", "zarr,v3,annotate", "nczarr,v3,sharded", "hdf5"]
                .iter()
                .enumerate()
        {
            let sharded = mode.strip_suffix(",sharded");
            let plan = if sharded.is_some() { plan.sharded() } else { plan.clone() };
            let mode = sharded.unwrap_or(mode);
            let url = |side: &str| match mode {
                "hdf5" => format!("{}/{name}-{side}.nc", folder.path().display()),
                mode => format!("memory://encoded-{name}-{number}-{side}#mode={mode}"),
            };
            // HDF5 does not hold everything that the samples have.
            if let Err(error) = plan.create(&url("a")) {
                assert!(mode == "hdf5" || name == "negative", "{name} {mode}: {error}");
                continue;
            }
            let from = nczarr::open(url("a")).unwrap();
            let to = nczarr::create(url("b")).unwrap();
            without_values(&plan, &from.root()).write(&to).unwrap();
            let vlen = |variable: &Variable| mode == "hdf5" && variable.nc_type() == NcType::String;
            if variables(&from.root()).iter().any(vlen) {
                to.close().unwrap();
                continue;
            }
            pass_through(&from, &to);
            to.close().unwrap();
            let found = Plan::of(&nczarr::open(url("b")).unwrap()).unwrap();
            let expected = Plan::of(&from).unwrap();
            assert_eq!(format!("{found:?}"), format!("{expected:?}"), "{name} {mode}");
        }
    }
}

fn made(file: &File) -> Variable {
    file.add_dimension("y", 10).unwrap();
    file.add_dimension("x", 7).unwrap();
    let v = file.add_variable::<i32>("v", &["y", "x"]).unwrap();
    v.set_chunking(&[4, 3]).unwrap();
    v.set_fill(-1).unwrap();
    v
}

#[test]
fn encoded_bytes_equal_the_stored_object() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("a");
    let file = nczarr::create(format!("file://{}#mode=zarr", path.display())).unwrap();
    let v = made(&file);
    v.set_deflate(3, true).unwrap();
    let values: Vec<i32> = (0..70).collect();
    v.put(&values, ..).unwrap();
    file.close().unwrap();
    let file = nczarr::open(path.display().to_string()).unwrap();
    let v = file.variable("v").unwrap();
    for chunk in v.chunks().unwrap() {
        let [y, x] = chunk.index() else { panic!() };
        let object = std::fs::read(path.join(format!("v/{y}.{x}"))).unwrap();
        assert_eq!(chunk.read_encoded().unwrap().unwrap().bytes, object);
    }
    assert_eq!(kind(v.erase_chunk(&[0, 0])), ErrorKind::Perm);
    assert_eq!(kind(v.write_encoded(&[0, 0], &EncodedChunk::default())), ErrorKind::Perm);
}

#[test]
fn encoded_bytes_in_a_shard_equal_the_inner_chunk() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("a");
    let file = nczarr::create(format!("file://{}#mode=zarr,v3", path.display())).unwrap();
    let v = made(&file);
    v.set_deflate(3, true).unwrap();
    v.set_shards(&[8, 6]).unwrap();
    v.put(&(0..70).collect::<Vec<i32>>(), ..).unwrap();
    assert!(v.erase_chunk(&[1, 0]).unwrap());
    file.close().unwrap();
    let file = nczarr::open(path.display().to_string()).unwrap();
    let v = file.variable("v").unwrap();
    let shard = std::fs::read(path.join("v/c/0/0")).unwrap();
    // The index ends the shard: offset and length of four chunks, then a checksum.
    let index = &shard[shard.len() - 4 - 4 * 16..];
    let number = |at: usize| u64::from_le_bytes(index[8 * at..8 * at + 8].try_into().unwrap());
    for (at, place) in [[0, 0], [0, 1], [1, 0], [1, 1]].iter().enumerate() {
        let (offset, len) = (number(2 * at), number(2 * at + 1));
        let stored = v.read_encoded(place).unwrap();
        if offset == u64::MAX {
            assert!(stored.is_none() && *place == [1, 0]);
        } else {
            assert_eq!(stored.unwrap().bytes, shard[offset as usize..(offset + len) as usize]);
        }
    }
    let stored: Vec<_> = v.stored_chunks().unwrap().map(|chunk| chunk.index().to_vec()).collect();
    assert_eq!(stored.len(), 8);
    assert!(!stored.contains(&vec![1, 0]));
}

#[test]
fn changes_in_the_cache_are_stored_before_a_read_and_dropped_by_a_write() {
    for mode in ["nczarr", "zarr,v3", "nczarr,v3,sharded"] {
        let file = fresh(mode.trim_end_matches(",sharded"));
        let v = made(&file);
        if mode.ends_with("sharded") {
            v.set_shards(&[8, 6]).unwrap();
        }
        v.put(&[5, 6], (1, 1..3)).unwrap();
        let stored = v.read_encoded(&[0, 0]).unwrap().unwrap();
        assert_eq!(v.decode_chunk::<i32>(&[0, 0], &stored).unwrap().at(&[1, 2]), Some(&6), "{mode}");
        v.put(&[7], (1, 1)).unwrap();
        v.write_encoded(&[0, 0], &stored).unwrap();
        assert_eq!(v.get_values::<i32>((1, 0..4)).unwrap(), [-1, 5, 6, -1], "{mode}");
        v.put(&[8], (2, 2)).unwrap();
        assert!(v.erase_chunk(&[0, 0]).unwrap());
        file.sync().unwrap();
        assert_eq!(v.get_values::<i32>(..).unwrap(), [-1; 70], "{mode}");
        assert_eq!(v.read_encoded(&[0, 0]).unwrap(), None);
        v.put(&[9], (0, 0)).unwrap();
        assert!(v.chunk(&[0, 0]).unwrap().is_stored().unwrap());
        assert!(v.erase_chunk(&[0, 0]).unwrap(), "it is only in the cache");
        assert_eq!(v.stored_chunks().unwrap().len(), 0);
    }
}

#[test]
fn the_last_chunk_of_an_unlimited_dimension() {
    let folder = tempfile::tempdir().unwrap();
    for url in ["memory://encoded-unlimited".to_owned(), folder.path().join("u.nc").display().to_string()] {
        let file = nczarr::create(&url).unwrap();
        file.add_unlimited_dimension("t").unwrap();
        let v = file.add_variable::<u8>("v", &["t"]).unwrap();
        v.set_chunking(&[4]).unwrap();
        assert!(v.chunks().unwrap().is_empty());
        v.write_encoded(&[1], &vec![1u8, 2, 3, 4].into()).unwrap();
        assert_eq!(v.shape().unwrap(), [8], "to the end of the chunk");
        assert_eq!(kind(v.read_encoded(&[2])), ErrorKind::InvalCoords);
        file.close().unwrap();
        let file = nczarr::open(&url).unwrap();
        let v = file.variable("v").unwrap();
        assert_eq!(v.get_values::<u8>(4..).unwrap(), [1, 2, 3, 4]);
        assert_eq!(v.read_encoded(&[0]).unwrap(), None);
    }
}

#[test]
fn hostile_arguments_are_refused() {
    let folder = tempfile::tempdir().unwrap();
    let nc = folder.path().join("h.nc").display().to_string();
    let files = [fresh("nczarr"), fresh("zarr,v3"), nczarr::create(&nc).unwrap()];
    for file in files {
        let v = made(&file);
        v.put(&(0..70).collect::<Vec<i32>>(), ..).unwrap();
        let chunk = v.read_encoded(&[0, 0]).unwrap().unwrap();
        for index in [&[3, 0][..], &[0, 3], &[u64::MAX, 0], &[0, u64::MAX / 2]] {
            assert_eq!(kind(v.read_encoded(index)), ErrorKind::InvalCoords, "{index:?}");
            assert_eq!(kind(v.write_encoded(index, &chunk)), ErrorKind::InvalCoords, "{index:?}");
            assert_eq!(kind(v.erase_chunk(index)), ErrorKind::InvalCoords, "{index:?}");
            assert_eq!(kind(v.decode_chunk::<i32>(index, &chunk)), ErrorKind::InvalCoords, "{index:?}");
        }
        for index in [&[][..], &[0], &[0, 0, 0]] {
            assert_eq!(kind(v.read_encoded(index)), ErrorKind::Inval, "{index:?}");
        }
        let (mut long, mut short) = (chunk.clone(), chunk.clone());
        long.bytes.push(0);
        short.bytes.pop();
        let huge = EncodedChunk::from(vec![0; 4 << 20]);
        for wrong in [&long, &short, &huge, &EncodedChunk::default()] {
            assert!(v.write_encoded(&[0, 0], wrong).is_err());
            assert!(v.write_encoded_unchecked(&[0, 0], wrong).is_err(), "its size is known");
            assert!(v.decode_chunk::<i32>(&[0, 0], wrong).is_err());
        }
        let masked = chunk.clone().filter_mask(1);
        assert_eq!(kind(v.write_encoded(&[0, 0], &masked)), ErrorKind::Filter);
        assert_eq!(v.read_encoded(&[0, 0]).unwrap().unwrap(), chunk, "nothing was replaced");
        assert_eq!(
            kind(v.decode_chunk::<i8>(&[2, 2], &chunk).and(v.decode_chunk::<i8>(
                &[2, 2],
                &EncodedChunk::from(chunk.bytes.iter().map(|_| 1).collect::<Vec<u8>>())
            ))),
            ErrorKind::Range
        );
        // The contract takes any slabs and many chunks.
        let data = file.dataset().data(v.id()).unwrap();
        let encoded = data.encoded_chunks().unwrap();
        let slab = |start: &'static [u64], count: &'static [u64]| {
            Slab::new(start, count).check(&[10, 7], |_| false).unwrap()
        };
        for no_chunk in [slab(&[1, 0], &[4, 3]), slab(&[0, 0], &[5, 3]), slab(&[0, 0], &[0, 3])] {
            assert_eq!(kind(encoded.read_encoded(&[no_chunk])), ErrorKind::Inval);
        }
        let one = slab(&[0, 0], &[4, 3]);
        let twice = [chunk.clone(), chunk.clone()];
        assert_eq!(kind(encoded.write_encoded(&[one, one], &twice, EncodedCheck::Decode)), ErrorKind::Inval);
        assert_eq!(kind(encoded.write_encoded(&[one], &twice, EncodedCheck::Decode)), ErrorKind::Inval);
        assert!(encoded.read_encoded(&[]).unwrap().is_empty());
        encoded.write_encoded(&[], &[], EncodedCheck::Decode).unwrap();
        let scalar = file.add_variable::<i32>("s", &[]).unwrap();
        if file.info().driver == "hdf5" {
            assert_eq!(kind(scalar.chunks()), ErrorKind::BadChunk, "it is contiguous");
        }
    }
}

#[test]
fn chunks_are_listed_lazily_and_in_parallel() {
    let file = fresh("nczarr");
    file.add_dimension("y", 1 << 40).unwrap();
    file.add_dimension("x", 5).unwrap();
    let v = file.add_variable::<u8>("v", &["y", "x"]).unwrap();
    v.set_chunking(&[1, 2]).unwrap();
    let mut chunks = v.chunks().unwrap();
    assert_eq!(chunks.len(), 3 << 40);
    let first: Vec<_> = chunks.by_ref().take(4).map(|chunk| chunk.index().to_vec()).collect();
    assert_eq!(first, [[0, 0], [0, 1], [0, 2], [1, 0]]);
    assert_eq!(chunks.len(), (3 << 40) - 4);
    let w = file.add_variable::<u8>("w", &["x"]).unwrap();
    w.set_chunking(&[2]).unwrap();
    for threads in [0, 1, 2, 9] {
        let seen = AtomicUsize::new(0);
        let each = |_: &nczarr::Chunk<'_>| {
            seen.fetch_add(1, Ordering::Relaxed);
            Ok(())
        };
        w.chunks().unwrap().for_each_parallel(threads, each).unwrap();
        assert_eq!(seen.into_inner(), 3);
    }
    let failing = v.chunks().unwrap().for_each_parallel(2, |chunk| match chunk.index() {
        [100, 1] => Err(ErrorKind::Cancelled.context("enough")),
        _ => Ok(()),
    });
    assert_eq!(kind(failing), ErrorKind::Cancelled);
    let empty = fresh("nczarr");
    empty.add_unlimited_dimension("t").unwrap();
    let v = empty.add_variable::<u8>("v", &["t"]).unwrap();
    v.chunks().unwrap().for_each_parallel(0, |_| panic!("there is none")).unwrap();
}

fn layouts() -> impl Strategy<Value = (Vec<(u64, u64, u64)>, usize, usize, u64)> {
    let dims = prop::collection::vec((1u64..9, 1u64..5, 1u64..3), 1..4);
    (dims, 0usize..5, 0usize..5, any::<u64>())
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(64))]

    /// A dataset made of the encoded chunks of another is equal to it. Absent chunks stay absent, and erased
    /// ones read as the fill value.
    #[test]
    fn chunks_pass_through((dims, filters, mode, written) in layouts()) {
        let mode = ["nczarr", "zarr", "nczarr,v3", "zarr,v3", "zarr,v3"][mode];
        let names: Vec<String> = (0..dims.len()).map(|dim| format!("d{dim}")).collect();
        let names: Vec<&str> = names.iter().map(String::as_str).collect();
        let define = |file: &File| {
            for (name, (len, ..)) in names.iter().zip(&dims) {
                file.add_dimension(name, *len).unwrap();
            }
            let v = file.add_variable::<i32>("v", &names).unwrap();
            v.set_chunking(&dims.iter().map(|dim| dim.1.min(dim.0)).collect::<Vec<_>>()).unwrap();
            if mode.contains("v3") && written % 2 == 0 {
                v.set_shards(&dims.iter().map(|dim| dim.1.min(dim.0) * dim.2).collect::<Vec<_>>()).unwrap();
            }
            match filters {
                1 => v.set_deflate(1, true).unwrap(),
                2 => v.set_filter("zstd", &[1]).unwrap(),
                3 => v.set_filter("fletcher32", &[]).unwrap(),
                4 => v.set_endian(nczarr::Endian::Big).unwrap(),
                _ => {}
            }
            v.set_fill(-7).unwrap();
            v
        };
        let (one, two) = (fresh(mode), fresh(mode));
        let (from, to) = (define(&one), define(&two));
        for (number, chunk) in from.chunks().unwrap().enumerate() {
            if written >> (number % 64) & 1 == 1 {
                let values = vec![number as i32; chunk.slab().len() as usize];
                from.put(&values, chunk.extents()).unwrap();
            }
        }
        let expected = from.get_values::<i32>(..).unwrap();
        let stored = from.stored_chunks().unwrap();
        prop_assert!(stored.clone().eq_by_index(from.chunks().unwrap().enumerate().filter(
            |(number, _)| written >> (number % 64) & 1 == 1).map(|(_, chunk)| chunk)));
        for chunk in stored.clone() {
            to.write_encoded(chunk.index(), &chunk.read_encoded().unwrap().unwrap()).unwrap();
        }
        prop_assert_eq!(to.get_values::<i32>(..).unwrap(), &*expected);
        prop_assert_eq!(to.stored_chunks().unwrap().len(), stored.len());
        for chunk in stored {
            prop_assert!(to.erase_chunk(chunk.index()).unwrap());
            prop_assert!(to.get_values::<i32>(chunk.extents()).unwrap().iter().all(|value| *value == -7));
        }
        two.sync().unwrap();
        prop_assert!(to.stored_chunks().unwrap().is_empty());
        prop_assert!(to.get_values::<i32>(..).unwrap().iter().all(|value| *value == -7));
    }
}

trait EqByIndex<'v>: Iterator<Item = nczarr::Chunk<'v>> + Sized {
    fn eq_by_index<'w>(self, other: impl Iterator<Item = nczarr::Chunk<'w>>) -> bool {
        self.map(|chunk| chunk.index().to_vec()).eq(other.map(|chunk| chunk.index().to_vec()))
    }
}

impl<'v, I: Iterator<Item = nczarr::Chunk<'v>>> EqByIndex<'v> for I {}

#[test]
fn a_chunk_of_text_is_decoded_as_strings() {
    let file = fresh("zarr,v3");
    let plan = Plan {
        dims: vec![nczarr_tests::plan::Dim::fixed("x", 3)],
        vars: vec![
            Var::new("s", &["x"], Values::String(["a", "", "ü"].map(NcString::from).to_vec())).chunked(&[2]),
        ],
        ..Plan::default()
    };
    plan.write(&file.root()).unwrap();
    let s = file.variable("s").unwrap();
    let last = s.read_encoded(&[1]).unwrap().unwrap();
    let mut out = [NcString::new()];
    s.decode_chunk_into(&[1], &last, MemMut::Strings(&mut out)).unwrap();
    assert_eq!(out[0], NcString::from("ü"));
    assert!(s.decode_chunk_into(&[0], &last, MemMut::Strings(&mut out)).is_err(), "memory for two");
    assert_eq!(kind(s.decode_chunk::<i32>(&[1], &last)), ErrorKind::Char);
}
