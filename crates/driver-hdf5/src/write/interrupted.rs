//! A writer that is stopped after any write leaves the file as at its last commit.

use std::sync::{Arc, PoisonError};

use nczarr_dispatch::{CreateRequest, Dataset, MemMut, MemRef, Options, Place, Registry};
use nczarr_model::{Chunking, GroupId, NcString, NcType, Slab, Values, VarId};
use nczarr_nc_table::NcDispatch as _;
use nczarr_runtime::OutBuf;

use super::committed::CommittedFile;
use super::create::start;
use super::dataset::WritableDataset;
use super::file::WritableFile;
use crate::Hdf5Driver;

const ROOT: GroupId = GroupId::ROOT;
const ROWS: u64 = 6;

fn registry() -> Arc<Registry> {
    Arc::new(Registry::new().with_driver(Hdf5Driver))
}

fn new() -> Arc<WritableDataset> {
    let (registry, options) = (registry(), Options::default());
    let target = nczarr_url_infer::parse("x.nc#mode=nc4").unwrap();
    let request = CreateRequest::new(&target, &options, &registry);
    start(&request, WritableFile::memory(Vec::new()), CommittedFile::default(), None)
}

/// Returns all numbers and strings, and an attribute.
fn content(ds: &dyn Dataset) -> (Vec<i32>, Vec<NcString>, Option<Values>) {
    let model = ds.model().snapshot();
    let attribute = model.root().atts.get("round").cloned();
    let (mut numbers, mut strings) = (Vec::new(), Vec::new());
    for (id, var) in model.vars() {
        let shape = model.shape(id).unwrap();
        let (start, len) = (vec![0; shape.len()], shape.iter().product::<u64>() as usize);
        let slab = Slab::new(&start, &shape).check(&shape, |_| false).unwrap();
        let data = ds.data(id).unwrap();
        if var.xtype == NcType::String {
            strings.resize(len, NcString::new());
            data.get(&slab, MemMut::Strings(&mut strings)).unwrap();
        } else {
            let mut bytes = vec![0; len * 4];
            data.get(&slab, MemMut::Fixed { ty: NcType::Int, out: &mut OutBuf::from_slice(&mut bytes) })
                .unwrap();
            numbers.extend(bytes.chunks(4).map(|chunk| i32::from_ne_bytes(chunk.try_into().unwrap())));
        }
    }
    (numbers, strings, attribute)
}

fn put(ds: &WritableDataset, var: VarId, row: u64, value: i32) {
    let bytes = [value; 8].map(i32::to_ne_bytes).concat();
    let start = [row, 0];
    let slab = Slab::new(&start, &[1, 8]).check(&[row + 1, 8], |_| false).unwrap();
    ds.data(var).unwrap().put(&slab, MemRef::Fixed { ty: NcType::Int, bytes: &bytes }).unwrap();
}

#[test]
fn an_interrupted_file_has_its_last_written_metadata() {
    let ds = new();
    let (t, x) = (ds.def_dim(ROOT, "t", None).unwrap(), ds.def_dim(ROOT, "x", Some(8)).unwrap());
    let v = ds.def_var(ROOT, "v", NcType::Int, &[t, x]).unwrap();
    ds.def_var_chunking(v, &Chunking::Chunked(vec![2, 4])).unwrap();
    let s = ds.def_var(ROOT, "s", NcType::String, &[x]).unwrap();
    // The content expected after a number of writes.
    let mut states = Vec::new();
    let written =
        |ds: &WritableDataset| ds.shared.file.log.lock().unwrap_or_else(PoisonError::into_inner).len();
    let strings = |round: i32| -> Vec<NcString> {
        (0..8).map(|i| NcString::from("text ".repeat(round as usize * 40 + i).as_str())).collect()
    };
    for round in 0..8 {
        ds.put_att(ROOT, None, "round", NcType::Int, &Values::Int(vec![round])).unwrap();
        for row in 0..ROWS {
            if (row as i32 + round) % 3 != 0 {
                put(&ds, v, row, round * 10 + row as i32);
            }
        }
        let data = ds.data(s).unwrap();
        let all = Slab::new(&[0], &[8]).check(&[8], |_| false).unwrap();
        data.put(&all, MemRef::Strings(&strings(round))).unwrap();
        if round % 2 == 1 {
            let name = format!("w{round}");
            let w = ds.def_var(ROOT, &name, NcType::Int, &[t, x]).unwrap();
            put(&ds, w, 1, round);
        }
        if round == 7 {
            break;
        }
        // A write before the commit must not show to a later reader.
        let before = written(&ds);
        ds.sync().unwrap();
        states.push((before, written(&ds), content(&*ds)));
    }
    let before = written(&ds);
    let last = content(&*ds);
    ds.close().unwrap();
    states.push((before, written(&ds), last));

    let log = std::mem::take(&mut *ds.shared.file.log.lock().unwrap_or_else(PoisonError::into_inner));
    let (mut bytes, mut looked) = (Vec::new(), 0);
    for (done, (offset, piece)) in log.iter().enumerate() {
        // In the middle of a write, and after it.
        let offset = *offset as usize;
        let halves = match piece {
            Some(piece) if offset > 0 => vec![&piece[..piece.len() / 2], &piece[..]],
            Some(piece) => vec![&piece[..]],
            None => {
                bytes.resize(offset, 0);
                vec![&[][..]]
            }
        };
        for half in halves {
            if bytes.len() < offset + half.len() {
                bytes.resize(offset + half.len(), 0);
            }
            bytes[offset..offset + half.len()].copy_from_slice(half);
            let whole = states.iter().rposition(|(_, end, _)| *end <= done + 1);
            let begun = states.iter().position(|(begin, end, _)| *begin <= done && done < *end);
            if whole.is_none() {
                continue;
            }
            let opened =
                registry().open_bytes(&Place::url("x.nc"), bytes.clone().into(), false, &Options::default());
            let found = content(&*opened.unwrap_or_else(|error| panic!("after {done} writes: {error}")));
            let known: Vec<_> = whole.into_iter().chain(begun).map(|at| &states[at].2).collect();
            assert!(known.contains(&&found), "after {done} writes: {found:?}");
            looked += 1;
        }
    }
    assert!(looked > 100, "{looked} states");
}

#[test]
fn definitions_between_data_do_not_store_the_metadata_each_time() {
    const VARS: u64 = 64;
    let ds = new();
    let (t, x) = (ds.def_dim(ROOT, "t", None).unwrap(), ds.def_dim(ROOT, "x", Some(8)).unwrap());
    for i in 0..VARS {
        let var = ds.def_var(ROOT, &format!("v{i}"), NcType::Int, &[t, x]).unwrap();
        nczarr_nc_table::to_data_mode(&*ds).unwrap();
        put(&ds, var, 0, i as i32);
    }
    let superblocks = |ds: &WritableDataset| {
        let log = ds.shared.file.log.lock().unwrap_or_else(PoisonError::into_inner);
        log.iter().filter(|(offset, _)| *offset == 0).count()
    };
    assert_eq!(superblocks(&ds), 1, "the first commit gives the file its name");
    ds.sync().unwrap();
    assert_eq!(superblocks(&ds), 2);
    let bytes = ds.image().unwrap();
    let opened =
        registry().open_bytes(&Place::url("x.nc"), bytes.into(), false, &Options::default()).unwrap();
    let expected: Vec<i32> = (0..VARS as i32).flat_map(|i| [i; 8]).collect();
    assert_eq!(content(&*opened).0, expected);
    // An abort keeps everything that was defined before the last redef.
    let late = ds.def_var(ROOT, "late", NcType::Int, &[t, x]).unwrap();
    nczarr_nc_table::to_data_mode(&*ds).unwrap();
    put(&ds, late, 0, 7);
    ds.redef().unwrap();
    ds.def_var(ROOT, "later", NcType::Int, &[t, x]).unwrap();
    ds.abort().unwrap();
    let bytes = ds.image().unwrap();
    let opened =
        registry().open_bytes(&Place::url("x.nc"), bytes.into(), false, &Options::default()).unwrap();
    let model = opened.model().snapshot();
    assert!(model.root().vars.contains_key("late"));
    assert!(!model.root().vars.contains_key("later"));
}
