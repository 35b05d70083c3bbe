//! Definitions that the formats cannot hold, and invalid files.

use std::fs;

use nczarr_dispatch::{Clobber, Dataset, Options, Place};
use nczarr_model::{Chunking, DimId, Endian, ErrorKind, FillMode, NcString, NcType, Slab, Values};
use nczarr_nc_table::NcDispatch as _;

use crate::support::{
    ROOT, all, create, dim, enddef, files, get, open, place, put, registry, try_get, try_open, var, with_mode,
};

fn kind<T>(outcome: nczarr_model::Result<T>) -> Option<ErrorKind> {
    outcome.err().map(|error| error.kind())
}

#[test]
fn unsupported_definitions_are_refused() {
    for (mode, wide) in [("cdf1", false), ("cdf2", false), ("cdf5", true)] {
        let (_folder, path) = place("x.nc");
        let ds = create(&path, mode);
        let t = dim(&*ds, "t", 0);
        let x = dim(&*ds, "x", 2);
        let v = var(&*ds, "v", NcType::Int, &[t, x]);
        let bad_type = Some(ErrorKind::BadType);
        assert_eq!(kind(ds.def_dim(ROOT, "u", None)), Some(ErrorKind::Unlimit));
        assert_eq!(kind(ds.def_var(ROOT, "w", NcType::Int, &[x, t])), Some(ErrorKind::UnlimPos));
        assert_eq!(kind(ds.def_var(ROOT, "w", NcType::String, &[x])), bad_type);
        for ty in [NcType::UByte, NcType::UShort, NcType::UInt, NcType::Int64, NcType::UInt64] {
            assert_eq!(
                kind(ds.def_var(ROOT, ty.name(), ty, &[x])),
                bad_type.filter(|_| !wide),
                "{mode} {ty:?}"
            );
        }
        let strings = Values::String(vec![NcString::new()]);
        assert_eq!(kind(ds.put_att(ROOT, None, "s", NcType::String, &strings)), bad_type);
        let long = Values::Int64(vec![1]);
        assert_eq!(kind(ds.put_att(ROOT, None, "l", NcType::Int64, &long)), bad_type.filter(|_| !wide));
        let nc4 = Some(ErrorKind::NotNc4);
        assert_eq!(kind(ds.def_grp(ROOT, "g")), nc4);
        assert_eq!(kind(ds.def_opaque(ROOT, 3, "o")), nc4);
        assert_eq!(kind(ds.def_var_chunking(v, &Chunking::Chunked(vec![1, 1]))), nc4);
        assert_eq!(kind(ds.def_var_endian(v, Endian::Little)), nc4);
        assert_eq!(kind(ds.def_var_endian(v, Endian::Big)), None);
        assert_eq!(kind(ds.def_dim(ROOT, "a/b", Some(1))), Some(ErrorKind::BadName));
        let too_long = if wide { i64::MAX as u64 - 2 } else { u64::from(u32::MAX) };
        assert_eq!(kind(ds.def_dim(ROOT, "long", Some(too_long))), Some(ErrorKind::DimSize));
        enddef(&*ds);
        ds.close().unwrap();
    }
}

#[test]
fn names_are_stored_in_nfc() {
    let (_folder, path) = place("x.nc");
    let ds = create(&path, "cdf1");
    var(&*ds, "a\u{308}", NcType::Int, &[]);
    enddef(&*ds);
    ds.close().unwrap();
    let bytes = fs::read(&path).unwrap();
    assert!(bytes.windows(2).any(|pair| pair == "ä".as_bytes()));
    open(&path, false).inq_varid(ROOT, "a\u{308}").unwrap();
}

#[test]
fn only_the_last_variable_may_exceed_the_size_limit() {
    let big = |ds: &dyn Dataset, name: &str, first: DimId, bytes: u64| {
        let x = dim(ds, &format!("{name}_x"), bytes / 4);
        var(ds, name, NcType::Int, &[first, x])
    };
    // The rows give the bytes of the fixed and of the record variables. `None` means that the write succeeds.
    let (g2, g4) = (2u64 << 30, 4u64 << 30);
    let too_large = Some(ErrorKind::VarSize);
    for (mode, fixed, records, expected) in [
        ("cdf1", vec![g2], vec![], None),
        ("cdf1", vec![8, g2], vec![], None),
        ("cdf1", vec![g2, 8], vec![], too_large),
        ("cdf1", vec![g2], vec![8], too_large),
        ("cdf1", vec![8], vec![g2], None),
        ("cdf1", vec![], vec![8, g2], None),
        ("cdf1", vec![], vec![g2, 8], too_large),
        // Each variable is small enough, but the third would begin at too large an offset.
        ("cdf1", vec![g2 - 8, g2 - 8, 8], vec![], too_large),
        ("cdf2", vec![g2 - 8, g2 - 8, 8], vec![], None),
        ("cdf2", vec![g2, g2, 8], vec![8, g2], None),
        ("cdf2", vec![8, g4], vec![], None),
        ("cdf2", vec![g4, 8], vec![], too_large),
        ("cdf2", vec![8, g4], vec![8], too_large),
        ("cdf5", vec![g4, g4 * 16, 8], vec![g4, 8], None),
    ] {
        let (_folder, path) = place("x.nc");
        let ds = create(&path, mode);
        // Only offsets matter here, so the gigabytes are not filled.
        ds.set_fill(FillMode::NoFill).unwrap();
        let (t, one) = (dim(&*ds, "t", 0), dim(&*ds, "one", 1));
        for (at, &bytes) in fixed.iter().enumerate() {
            big(&*ds, &format!("f{at}"), one, bytes);
        }
        for (at, &bytes) in records.iter().enumerate() {
            big(&*ds, &format!("r{at}"), t, bytes);
        }
        assert_eq!(kind(ds._enddef(0, 0, 0, 0)), expected, "{mode} {fixed:?} {records:?}");
        ds.abort().unwrap();
        if expected.is_some() {
            assert!(!path.exists(), "an unfinished file is gone");
        }
    }
}

#[test]
fn sizes_beyond_a_field_are_stored_as_its_largest_number() {
    let (_folder, path) = place("x.nc");
    let ds = create(&path, "cdf2");
    // The gigabytes are not filled.
    ds.set_fill(FillMode::NoFill).unwrap();
    let x = dim(&*ds, "x", (4 << 30) - 8);
    let y = dim(&*ds, "y", 2);
    let v = var(&*ds, "v", NcType::Byte, &[y, x]);
    enddef(&*ds);
    put(&*ds, v, &[1, (4 << 30) - 9], &[1, 1], &Values::Byte(vec![5]));
    ds.close().unwrap();
    let ds = open(&path, false);
    assert_eq!(get(&*ds, v, &[1, (4 << 30) - 10], &[1, 2]), Values::Byte(vec![0, 5]));
    let mut head = vec![0; 200];
    use std::io::Read as _;
    let read = fs::File::open(&path).unwrap().read(&mut head).unwrap();
    assert!(head[..read].windows(4).any(|word| word == [0xFF; 4]));
}

#[test]
fn truncated_files() {
    let (_folder, path) = place("x.nc");
    let ds = create(&path, "cdf1");
    let (t, x) = (dim(&*ds, "t", 0), dim(&*ds, "x", 2));
    let v = var(&*ds, "v", NcType::Int, &[t, x]);
    let w = var(&*ds, "w", NcType::Int, &[t]);
    enddef(&*ds);
    put(&*ds, v, &[0, 0], &[3, 2], &Values::Int(vec![1, 2, 3, 4, 5, 6]));
    put(&*ds, w, &[0], &[3], &Values::Int(vec![7, 8, 9]));
    ds.close().unwrap();
    let whole = fs::read(&path).unwrap();
    let cut = |missing: usize| fs::write(&path, &whole[..whole.len() - missing]).unwrap();
    // The missing rest of the last record reads as zeros.
    cut(6);
    let ds = open(&path, true);
    assert_eq!(all(&*ds, "v"), Values::Int(vec![1, 2, 3, 4, 5, 0]));
    assert_eq!(all(&*ds, "w"), Values::Int(vec![7, 8, 0]));
    ds.close().unwrap();
    // A larger loss is an error. The remaining values can be read.
    cut(20);
    let ds = open(&path, false);
    assert_eq!(get(&*ds, v, &[0, 0], &[1, 2]), Values::Int(vec![1, 2]));
    assert_eq!(get(&*ds, w, &[0], &[1]), Values::Int(vec![7]));
    assert_eq!(kind(try_get(&*ds, w, &[1], &[1])), Some(ErrorKind::Trunc));
    assert_eq!(kind(try_open(&path, true)), Some(ErrorKind::Trunc));
    // Every truncated header is refused.
    let header = whole.len() - 3 * 12;
    for len in 0..header {
        fs::write(&path, &whole[..len]).unwrap();
        let error = try_open(&path, false).unwrap_err();
        assert!(matches!(error.kind(), ErrorKind::NotNc | ErrorKind::Trunc), "{len}: {error}");
    }
}

#[test]
fn detectable_damage_is_an_error() {
    let (_folder, path) = place("x.nc");
    let ds = create(&path, "cdf1");
    let (t, x) = (dim(&*ds, "t", 0), dim(&*ds, "x", 6));
    let v = var(&*ds, "v", NcType::Int, &[x]);
    let w = var(&*ds, "w", NcType::Int, &[t, x]);
    enddef(&*ds);
    put(&*ds, v, &[0], &[6], &Values::Int(vec![1; 6]));
    put(&*ds, w, &[0, 0], &[2, 6], &Values::Int(vec![2; 12]));
    ds.close().unwrap();
    let whole = fs::read(&path).unwrap();
    let find = |what: &[u8]| whole.windows(what.len()).position(|window| window == what).unwrap();
    let with = |at: usize, bytes: &[u8]| {
        let mut damaged = whole.clone();
        damaged[at..at + bytes.len()].copy_from_slice(bytes);
        fs::write(&path, damaged).unwrap();
    };
    // The length does not match the sizes any more. These variables are unreadable, the others are readable.
    with(find(b"x\0\0\0") + 7, &[5]);
    let ds = open(&path, false);
    assert_eq!(kind(try_get(&*ds, v, &[0], &[1])), Some(ErrorKind::VarMeta));
    assert_eq!(kind(try_open(&path, true)), Some(ErrorKind::VarMeta));
    for (what, at, bytes, expected) in [
        ("the version", 3, &[3u8][..], ErrorKind::NotNc),
        ("the tag of the dimensions", 11, &[11], ErrorKind::NotNc),
        ("the number of dimensions", 12, &[0x7F], ErrorKind::Trunc),
        ("the length of a name", 16, &[0x7F], ErrorKind::Trunc),
        ("an empty name", 19, &[0], ErrorKind::BadName),
        ("a second record dimension", find(b"x\0\0\0") + 7, &[0], ErrorKind::Unlimit),
        ("a type", find(b"v\0\0\0") + 22, &[1], ErrorKind::BadType),
        ("a dimension", find(b"v\0\0\0") + 11, &[2], ErrorKind::BadDim),
        ("a place in the header", find(b"v\0\0\0") + 28, &[0, 0, 0, 4], ErrorKind::NotNc),
        ("a place in another variable", find(b"w\0\0\0") + 35, &[0], ErrorKind::NotNc),
        ("a second variable of one name", find(b"w\0\0\0"), b"v", ErrorKind::NameInUse),
    ] {
        with(at, bytes);
        // The record dimension and the offset of this byte depend on the layout above.
        let error = try_open(&path, false).err().unwrap_or_else(|| panic!("{what} was believed"));
        assert_eq!(error.kind(), expected, "{what}: {error}");
    }
}

/// Bytes of a file with one or two short fixed variables and one or two record variables of two records.
fn small(fixed: &[&str], records: &[&str]) -> Vec<u8> {
    let (_folder, path) = place("x.nc");
    let ds = create(&path, "cdf1");
    let (t, x) = (dim(&*ds, "t", 0), dim(&*ds, "x", 2));
    let fixed: Vec<_> = fixed.iter().map(|name| var(&*ds, name, NcType::Int, &[x])).collect();
    let records: Vec<_> = records.iter().map(|name| var(&*ds, name, NcType::Double, &[t])).collect();
    enddef(&*ds);
    fixed.iter().for_each(|&id| put(&*ds, id, &[0], &[2], &Values::Int(vec![1, 2])));
    records.iter().for_each(|&id| put(&*ds, id, &[0], &[2], &Values::Double(vec![0.5, 1.5])));
    ds.close().unwrap();
    fs::read(&path).unwrap()
}

#[test]
fn damage_found_only_by_a_full_check_is_an_error() {
    let (_folder, path) = place("x.nc");
    // The entry of a one-letter name: padding, rank, dimension, attributes, type, size and begin.
    let entry =
        |bytes: &[u8], name: u8| bytes.windows(4).rposition(|window| window == [name, 0, 0, 0]).unwrap();
    let (ty, begin) = (23, 31);
    let with = |bytes: &[u8], at: usize, change: u8| {
        let mut damaged = bytes.to_vec();
        damaged[at] ^= change;
        fs::write(&path, damaged).unwrap();
    };
    let read = |name: &str| {
        let ds = open(&path, false);
        let id = ds.inq_varid(ROOT, name).unwrap();
        kind(try_get(&*ds, id, &[0], &[1]))
    };
    // The list of variables claims one variable less than the file has.
    let bytes = small(&["a", "b"], &["r", "s"]);
    let number = entry(&bytes, b'a') - 5;
    assert_eq!(bytes[number], 4);
    with(&bytes, number, 4 ^ 3);
    assert_eq!(kind(try_open(&path, false)), Some(ErrorKind::NotNc));
    // The last part of a record has another type, so all records have another size.
    with(&bytes, entry(&bytes, b's') + ty, 6 ^ 4);
    assert_eq!((read("r"), read("s"), read("a")), (Some(ErrorKind::VarMeta), Some(ErrorKind::VarMeta), None));
    // A variable has a begin that is too large, and the file ends before its values do.
    for (fixed, records, name) in
        [(&["a", "b"][..], &[][..], b'b'), (&["a"], &["r"], b'r'), (&["a"], &[], b'a')]
    {
        let bytes = small(fixed, records);
        let at = entry(&bytes, name) + begin;
        with(&bytes, at, bytes[at] ^ (bytes[at] + 4));
        assert_eq!(read(&char::from(name).to_string()), Some(ErrorKind::VarMeta), "{fixed:?} {records:?}");
    }
    // The file has no records. Bytes cut from the fixed part are lost for any record size.
    let bytes = small(&["a"], &["r"]);
    let mut cut = bytes[..bytes.len() - 2 * 8 - 4].to_vec();
    cut[7] = 0;
    fs::write(&path, cut).unwrap();
    let ds = open(&path, false);
    assert_eq!(kind(try_get(&*ds, ds.inq_varid(ROOT, "a").unwrap(), &[0], &[2])), Some(ErrorKind::Trunc));
    assert_eq!(kind(try_open(&path, true)), Some(ErrorKind::Trunc));
    // A count without data is reported before memory is allocated. Existing values can be read.
    with(&bytes, 4, 1);
    assert_eq!((read("r"), read("a")), (None, None));
    let ds = open(&path, false);
    let r = ds.inq_varid(ROOT, "r").unwrap();
    let data = ds.data(r).unwrap();
    let look = |records: u64| {
        kind(data.check_readable(&Slab::new(&[0], &[records]).check(&[records], |_| false).unwrap()))
    };
    assert_eq!((look(2), look(1 << 24)), (None, Some(ErrorKind::Trunc)));
}

#[test]
fn offsets_overrule_a_wrong_size() {
    let (_folder, path) = place("x.nc");
    let entry =
        |bytes: &[u8], name: u8| bytes.windows(4).rposition(|window| window == [name, 0, 0, 0]).unwrap();
    let values = |name: &str| {
        let ds = open(&path, false);
        let id = ds.inq_varid(ROOT, name).unwrap();
        try_get(&*ds, id, &[0], &[2])
    };
    let (ints, doubles) = (Values::Int(vec![1, 2]), Values::Double(vec![0.5, 1.5]));
    let files: [(&[&str], &[&str]); 5] = [
        (&["a", "b"], &["r", "s"]),
        (&["a"], &[]),
        (&["a", "b"], &[]),
        (&[], &["r"]),
        (&["a"], &["r", "s", "u"]),
    ];
    for (fixed, records) in files {
        let whole = small(fixed, records);
        let names: Vec<_> = fixed.iter().chain(records).copied().collect();
        // The change applies to one variable, and then to all.
        let mut changed: Vec<&[&str]> = names.chunks(1).collect();
        changed.push(&names);
        for (changed, size) in
            changed.into_iter().flat_map(|names| [0u32, 1, 7, 12, 1 << 30].map(|size| (names, size)))
        {
            let mut bytes = whole.clone();
            for name in changed {
                let at = entry(&bytes, name.as_bytes()[0]) + 24;
                bytes[at..at + 4].copy_from_slice(&size.to_be_bytes());
            }
            fs::write(&path, &bytes).unwrap();
            for name in &names {
                let expected = if fixed.contains(name) { &ints } else { &doubles };
                assert_eq!(
                    values(name).as_ref().ok(),
                    Some(expected),
                    "{fixed:?} {records:?}: {changed:?} of {size}, {name}"
                );
            }
            // The file also opens for writing, and a redefinition corrects the sizes.
            let ds = open(&path, true);
            ds.redef().unwrap();
            var(&*ds, "z", NcType::Int, &[]);
            enddef(&*ds);
            ds.close().unwrap();
            for name in &names {
                assert!(values(name).is_ok());
            }
            // If the file does not end at the expected place, the size of the last variable is unknown.
            let last = *names.last().unwrap();
            if changed.contains(&last) && (size != 0 || records.is_empty()) {
                fs::write(&path, &bytes[..bytes.len() - 4]).unwrap();
                assert_eq!(
                    values(last).map_err(|error| error.kind()),
                    Err(ErrorKind::VarMeta),
                    "{changed:?} of {size}"
                );
            }
        }
    }
}

#[test]
fn negative_offsets_are_errors() {
    let (_folder, path) = place("x.nc");
    let mut bytes = small(&["a"], &[]);
    let at = bytes.windows(4).rposition(|window| window == *b"a\0\0\0").unwrap() + 28;
    bytes[at] = 0x80;
    fs::write(&path, &bytes).unwrap();
    assert_eq!(kind(try_open(&path, false)), Some(ErrorKind::NotNc), "a negative number");
}

#[test]
fn only_leftovers_of_dead_processes_are_removed() {
    let (folder, path) = place("x.nc");
    fs::write(&path, small(&["a"], &["r"])).unwrap();
    let names =
        [".x.nc.1-0.tmp", ".x.nc.77-12.tmp", ".x.nc.tmp", ".x.nc.1-a.tmp", ".y.nc.1-0.tmp", "x.nc.1-0.tmp"];
    names.iter().for_each(|name| fs::write(folder.path().join(name), "x").unwrap());
    // Another process works on the second file.
    let at_work = fs::File::open(folder.path().join(names[1])).unwrap();
    at_work.lock().unwrap();
    drop(open(&path, false));
    assert_eq!(files(folder.path()).len(), 7, "a reader removes nothing");
    open(&path, true).close().unwrap();
    assert!(!folder.path().join(names[0]).exists());
    assert_eq!(files(folder.path()).len(), 6);
}

#[test]
fn other_files_are_not_replaced() {
    let (folder, path) = place("x.nc");
    let over = |clobber| {
        registry().create(&Place::url(with_mode(&path, "classic")), clobber, false, &Options::default())
    };
    fs::write(&path, "a text").unwrap();
    for clobber in [Clobber::Refuse, Clobber::Replace] {
        assert_eq!(kind(over(clobber)), Some(ErrorKind::Exist));
    }
    assert_eq!(fs::read(&path).unwrap(), b"a text");
    fs::remove_file(&path).unwrap();
    fs::create_dir(&path).unwrap();
    assert_eq!(kind(over(Clobber::Replace)), Some(ErrorKind::Exist));
    fs::remove_dir(&path).unwrap();
    // A created file that was never finished is empty. Its replacement loses no data.
    fs::write(&path, "").unwrap();
    over(Clobber::Replace).unwrap().close().unwrap();
    assert!(open(&path, false).inq_varids(ROOT).unwrap().is_empty());
    let missing = folder.path().join("no/such.nc");
    assert_eq!(
        kind(registry().create(
            &Place::url(with_mode(&missing, "classic")),
            Clobber::Refuse,
            false,
            &Options::default()
        )),
        Some(ErrorKind::NotFound)
    );
}
