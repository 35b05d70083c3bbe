//! New files, as their writer sees them.

use nczarr_dispatch::{Options, Place};
use nczarr_model::{Chunking, ErrorKind, NcString, NcType, Values, fill};
use nczarr_nc_table::NcDispatch as _;

use crate::support::{ROOT, all, create, create_at, dim, enddef, put, registry, var};

/// A file with such a variable could be written but not read.
#[test]
fn a_variable_with_uncountable_elements_is_refused() {
    let ds = create("nc4");
    let dims = [1_804_289_383, 846_930_886, 1_681_692_777].map(|len| dim(&*ds, &format!("d{len}"), len));
    let error = ds.def_var(ROOT, "v", NcType::Float, &dims).unwrap_err();
    assert_eq!(error.kind(), ErrorKind::VarSize, "{error:#}");
    ds.def_var(ROOT, "v", NcType::Float, &dims[..2]).unwrap();
    enddef(&*ds);
}

#[test]
fn unwritten_elements_read_as_fill_values() {
    let ds = create("nc4");
    let (t, x) = (dim(&*ds, "t", 0), dim(&*ds, "x", 4));
    let grows = var(&*ds, "grows", NcType::Short, &[t, x]);
    let whole = var(&*ds, "whole", NcType::Int, &[x, x]);
    let small = var(&*ds, "small", NcType::Byte, &[x]);
    ds.def_var_chunking(small, &Chunking::Compact).unwrap();
    let texts = var(&*ds, "texts", NcType::String, &[t]);
    let one = var(&*ds, "one", NcType::Double, &[]);
    enddef(&*ds);
    put(&*ds, whole, &[2, 1], &[1, 2], &Values::Int(vec![7, 8]));
    let mut expected = vec![fill::INT; 16];
    expected[9..11].copy_from_slice(&[7, 8]);
    for _ in 0..2 {
        assert_eq!(all(&*ds, whole), Values::Int(expected.clone()));
        assert_eq!(all(&*ds, small), Values::Byte(vec![fill::BYTE; 4]));
        assert_eq!(all(&*ds, one), Values::Double(vec![fill::DOUBLE]));
        ds.sync().unwrap();
    }
    put(&*ds, whole, &[0, 0], &[1, 1], &Values::Int(vec![5]));
    expected[0] = 5;
    put(&*ds, small, &[1], &[2], &Values::Byte(vec![1, 2]));
    let long = "long ".repeat(30_000);
    put(&*ds, texts, &[1], &[2], &Values::String(vec![NcString::from("a"), NcString::from(long.as_str())]));
    put(&*ds, grows, &[4, 3], &[1, 1], &Values::Short(vec![9]));
    put(&*ds, one, &[], &[], &Values::Double(vec![0.5]));
    let mut grown = vec![fill::SHORT; 20];
    grown[19] = 9;
    let strings = ["", "a", &long, "", ""].map(NcString::from).to_vec();
    for _ in 0..2 {
        assert_eq!(all(&*ds, whole), Values::Int(expected.clone()));
        assert_eq!(all(&*ds, small), Values::Byte(vec![fill::BYTE, 1, 2, fill::BYTE]));
        assert_eq!(all(&*ds, grows), Values::Short(grown.clone()));
        assert_eq!(all(&*ds, texts), Values::String(strings.clone()));
        assert_eq!(all(&*ds, one), Values::Double(vec![0.5]));
        ds.sync().unwrap();
    }
    ds.close().unwrap();
}

#[test]
fn long_fill_values_of_many_strings_never_written_are_read() {
    let ds = create("nc4");
    let x = dim(&*ds, "x", 100_000);
    let texts = var(&*ds, "s", NcType::String, &[x]);
    let text = NcString::from("0123456789".repeat(20).as_str());
    ds.def_var_fill(texts, false, Some(&Values::String(vec![text.clone()]))).unwrap();
    enddef(&*ds);
    ds.close().unwrap();
    let ds = registry()
        .open_bytes(&Place::url("x.nc"), ds.image().unwrap().into(), false, &Options::default())
        .unwrap();
    let Values::String(found) = all(&*ds, texts) else { panic!("no strings") };
    assert!(found.len() == 100_000 && found.iter().all(|found| *found == text));
}

#[test]
fn rewriting_data_does_not_grow_a_file() {
    let ds = create("nc4");
    let x = dim(&*ds, "x", 10_000);
    let v = var(&*ds, "v", NcType::Int, &[x]);
    ds.def_var_chunking(v, &Chunking::Chunked(vec![1000])).unwrap();
    enddef(&*ds);
    let mut sizes = Vec::new();
    for round in 0..6 {
        put(&*ds, v, &[0], &[10_000], &Values::Int(vec![round; 10_000]));
        sizes.push(ds.image().unwrap().len());
    }
    assert!(sizes[0] > 40_000 && sizes[5] < 100_000, "{sizes:?}");
    assert_eq!(sizes[2], sizes[5]);
    assert_eq!(all(&*ds, v), Values::Int(vec![5; 10_000]));
}

fn kind<T>(result: nczarr_model::Result<T>) -> ErrorKind {
    result.map(drop).unwrap_err().kind()
}

#[test]
fn unsupported_definitions_are_refused() {
    let ds = create("nc4");
    let x = dim(&*ds, "x", 2);
    assert_eq!(kind(ds.def_var(ROOT, "v", NcType::Int, &[x; 33])), ErrorKind::MaxDims);
    assert_eq!(kind(ds.def_var(ROOT, "_nc4_non_coord_x", NcType::Int, &[x])), ErrorKind::BadName);
    let v = var(&*ds, "v", NcType::Int, &[x; 32]);
    let number = Values::Int(vec![1]);
    assert_eq!(kind(ds.put_att(ROOT, Some(v), "DIMENSION_LIST", NcType::Int, &number)), ErrorKind::NameInUse);
    assert_eq!(kind(ds.put_att(ROOT, None, "_NCProperties", NcType::Int, &number)), ErrorKind::NameInUse);
    // Reserved attributes are hidden from readers.
    ds.put_att(ROOT, None, "plain", NcType::Int, &number).unwrap();
    for (owner, name) in
        [(None, "DIMENSION_LIST"), (None, "CLASS"), (Some(v), "_nc3_strict"), (Some(v), "_NCProperties")]
    {
        assert_eq!(kind(ds.put_att(ROOT, owner, name, NcType::Int, &number)), ErrorKind::NameInUse, "{name}");
    }
    assert_eq!(kind(ds.rename_att(ROOT, None, "plain", "NAME")), ErrorKind::NameInUse);
    assert_eq!(kind(ds.def_grp(ROOT, "x")), ErrorKind::NameInUse);
    ds.close().unwrap();
    // A message that is too long fails when it is written. Earlier content stays.
    let ds = create("nc4");
    let long = ds.def_opaque(ROOT, 70_000, "long").unwrap();
    let w = var(&*ds, "w", NcType::User(long), &[]);
    put(&*ds, w, &[], &[], &Values::User(long, vec![3; 70_000]));
    ds.sync().unwrap();
    let many = ds.def_enum(ROOT, NcType::Int, "many").unwrap();
    for i in 0..5000 {
        ds.insert_enum(many, &format!("member_number_{i}"), i).unwrap();
    }
    assert_eq!(ds.sync().unwrap_err().kind(), ErrorKind::HdfErr);
    assert_eq!(all(&*ds, w), Values::User(long, vec![3; 70_000]));
    drop(ds);
    let strict = create("nc4-classic");
    assert_eq!(kind(strict.def_grp(ROOT, "g")), ErrorKind::StrictNc3);
    dim(&*strict, "t", 0);
    assert_eq!(kind(strict.def_dim(ROOT, "u", None)), ErrorKind::Unlimit);
    strict.close().unwrap();
}

#[test]
fn a_layout_changes_until_there_are_data() {
    let ds = create("nc4");
    let x = dim(&*ds, "x", 8);
    let v = var(&*ds, "v", NcType::Int, &[x]);
    enddef(&*ds);
    let before = ds.data(v).unwrap();
    assert_eq!(before.chunk_shape(), None);
    ds.redef().unwrap();
    ds.def_var_chunking(v, &Chunking::Chunked(vec![4])).unwrap();
    enddef(&*ds);
    assert_eq!(ds.data(v).unwrap().chunk_shape(), Some(vec![4]));
    put(&*ds, v, &[0], &[1], &Values::Int(vec![3]));
    ds.redef().unwrap();
    let late = ds.def_var_chunking(v, &Chunking::Contiguous).unwrap_err();
    assert_eq!(late.kind(), ErrorKind::LateDef);
    let late = ds.put_att(ROOT, Some(v), "_FillValue", NcType::Int, &Values::Int(vec![1])).unwrap_err();
    assert_eq!(late.kind(), ErrorKind::LateFill);
    ds.close().unwrap();
}

#[test]
fn an_aborted_file_is_removed_and_a_written_one_is_locked() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("x.nc");
    let ds = create_at(&path).unwrap();
    assert!(create_at(&path).is_err());
    ds.abort().unwrap();
    assert!(!path.exists());
    let ds = create_at(&path).unwrap();
    ds.sync().unwrap();
    let again = registry().create(
        &Place::path(&path).mode("nc4"),
        nczarr_dispatch::Clobber::Replace,
        false,
        &Options::default(),
    );
    assert_eq!(again.unwrap_err().kind(), ErrorKind::Access);
    let x = ds.def_dim(ROOT, "x", Some(3)).unwrap();
    let v = var(&*ds, "v", NcType::Int, &[x]);
    put(&*ds, v, &[0], &[3], &Values::Int(vec![1, 2, 3]));
    ds.close().unwrap();
    let bytes = std::fs::read(&path).unwrap();
    assert!(bytes.starts_with(b"\x89HDF\r\n\x1a\n\x02"));
    // The superblock states the end of the file.
    assert_eq!(bytes.len() as u64, u64::from_le_bytes(bytes[28..36].try_into().unwrap()));
}

#[test]
fn a_write_during_closing_is_stored_or_an_error() {
    for _ in 0..20 {
        let ds = create("nc4");
        let x = dim(&*ds, "x", 64);
        let (v, w) = (var(&*ds, "v", NcType::Int, &[x]), var(&*ds, "w", NcType::Int, &[x]));
        ds.def_var_chunking(w, &Chunking::Chunked(vec![8])).unwrap();
        enddef(&*ds);
        let begin = std::sync::Barrier::new(3);
        let (ds, begin) = (&ds, &begin);
        // The last values of each writer.
        let write = |id| {
            let data = ds.data(id).unwrap();
            let all = nczarr_model::Slab::new(&[0], &[64]).check(&[64], |_| false).unwrap();
            begin.wait();
            (1_i32..)
                .find(|value| {
                    let bytes = [*value; 64].map(i32::to_ne_bytes).concat();
                    let memory = nczarr_dispatch::MemRef::Fixed { ty: NcType::Int, bytes: &bytes };
                    match data.put(&all, memory) {
                        Ok(()) => false,
                        Err(error) => {
                            assert_eq!(error.kind(), ErrorKind::BadId);
                            true
                        }
                    }
                })
                .unwrap()
                - 1
        };
        let last = std::thread::scope(|scope| {
            let others = [v, w].map(|id| scope.spawn(move || write(id)));
            begin.wait();
            ds.close().unwrap();
            others.map(|other| other.join().unwrap())
        });
        let image = ds.image().unwrap();
        let again =
            registry().open_bytes(&Place::url("x.nc"), image.into(), false, &Options::default()).unwrap();
        for (id, last) in [v, w].into_iter().zip(last) {
            let expected = if last == 0 { fill::INT } else { last };
            assert_eq!(all(&*again, id), Values::Int(vec![expected; 64]));
        }
    }
}

#[test]
fn a_reader_locks_out_writers() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("x.nc");
    let open = |writable| registry().open(&Place::url(path.to_str().unwrap()), writable, &Options::default());
    let ds = create_at(&path).unwrap();
    ds.sync().unwrap();
    assert_eq!(kind(open(false)), ErrorKind::Access);
    ds.close().unwrap();
    let (first, second) = (open(false).unwrap(), open(false).unwrap());
    for reader in [first, second] {
        assert_eq!(kind(open(true)), ErrorKind::Access);
        // Other references to the file do not matter.
        reader.close().unwrap();
    }
    let writer = open(true).unwrap();
    assert_eq!(kind(open(false)), ErrorKind::Access);
    assert_eq!(
        kind(registry().open_in_memory(
            &Place::url(path.to_str().unwrap()),
            false,
            &Options::default(),
            false
        )),
        ErrorKind::Access
    );
    writer.close().unwrap();
    open(false).unwrap().close().unwrap();
}
