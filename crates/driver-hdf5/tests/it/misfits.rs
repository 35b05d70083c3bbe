//! Files that can be read but not written without damage. Opening them for writing is refused.

use std::sync::Arc;

use nczarr_dispatch::{Dataset, MemMut, Options, OutBuf, Place};
use nczarr_model::{Chunking, ErrorKind, NcString, NcType, Result, Values};
use nczarr_nc_table::NcDispatch as _;

use crate::support::{ROOT, all, create, dim, enddef, put, registry, var};

fn open(bytes: Vec<u8>) -> Result<Arc<dyn Dataset>> {
    registry().open_bytes(&Place::url("x.nc"), bytes.into(), true, &Options::default())
}

/// Jenkins' `lookup3`, by its definition.
fn checksum(bytes: &[u8]) -> u32 {
    let start = 0xdead_beef_u32.wrapping_add(bytes.len() as u32);
    let [mut a, mut b, mut c] = [start; 3];
    let blocks = bytes.chunks(12).count();
    for (number, block) in bytes.chunks(12).enumerate() {
        let mut padded = [0; 12];
        padded[..block.len()].copy_from_slice(block);
        let word = |at: usize| u32::from_le_bytes(padded[at..at + 4].try_into().unwrap());
        (a, b, c) = (a.wrapping_add(word(0)), b.wrapping_add(word(4)), c.wrapping_add(word(8)));
        if number + 1 < blocks {
            let step = |x: &mut u32, y: &mut u32, z: u32, bits| {
                *x = x.wrapping_sub(*y) ^ y.rotate_left(bits);
                *y = y.wrapping_add(z);
            };
            step(&mut a, &mut c, b, 4);
            step(&mut b, &mut a, c, 6);
            step(&mut c, &mut b, a, 8);
            step(&mut a, &mut c, b, 16);
            step(&mut b, &mut a, c, 19);
            step(&mut c, &mut b, a, 4);
        } else {
            let step = |x: &mut u32, y: u32, bits| *x = (*x ^ y).wrapping_sub(y.rotate_left(bits));
            step(&mut c, b, 14);
            step(&mut a, c, 11);
            step(&mut b, a, 25);
            step(&mut c, b, 16);
            step(&mut a, c, 4);
            step(&mut b, a, 14);
            step(&mut c, b, 24);
        }
    }
    c
}

/// Changes the last object header that has `mark`, and its checksum. Earlier ones belong to older metadata.
fn change(image: &mut [u8], mark: &[u8], change: impl Fn(&mut [u8])) {
    let starts: Vec<usize> =
        image.windows(4).enumerate().filter(|(_, found)| found == b"OHDR").map(|(at, _)| at).collect();
    for start in starts.into_iter().rev() {
        let flags = image[start + 5];
        let times = if flags & 0x20 != 0 { 16 } else { 0 };
        let phases = if flags & 0x10 != 0 { 4 } else { 0 };
        let at = start + 6 + times + phases;
        let width = 1 << (flags & 3);
        let len = (0..width).fold(0, |len, byte| len | usize::from(image[at + byte]) << (8 * byte));
        let end = at + width + len;
        if image[start..end].windows(mark.len()).any(|found| found == mark) {
            let stored = u32::from_le_bytes(image[end..end + 4].try_into().unwrap());
            assert_eq!(stored, checksum(&image[start..end]));
            change(&mut image[start..end]);
            let new = checksum(&image[start..end]);
            image[end..end + 4].copy_from_slice(&new.to_le_bytes());
            return;
        }
    }
    panic!("no header has the mark");
}

/// Replaces bytes of a header.
fn replace(header: &mut [u8], old: &[u8], new: &[u8]) {
    let at = header.windows(old.len()).position(|found| found == old).unwrap();
    header[at..at + new.len()].copy_from_slice(new);
}

/// Makes a file with three adjacent contiguous arrays. The first one has the attribute `mark`.
fn image() -> Vec<u8> {
    let ds = create("nc4");
    let (short, long) = (dim(&*ds, "short", 4), dim(&*ds, "long", 400));
    let v = var(&*ds, "v", NcType::Int, &[short]);
    ds.put_att(ROOT, Some(v), "which", NcType::Char, &Values::Char(b"the-mark".to_vec())).unwrap();
    let w = var(&*ds, "w", NcType::Int, &[long]);
    enddef(&*ds);
    put(&*ds, v, &[0], &[4], &Values::Int(vec![1; 4]));
    put(&*ds, w, &[0], &[400], &Values::Int(vec![2; 400]));
    ds.close().unwrap();
    ds.image().unwrap()
}

fn refused(image: Vec<u8>, kind: ErrorKind, says: &str) {
    let error = open(image).unwrap_err();
    assert_eq!(error.kind(), kind, "{error}");
    assert!(error.to_string().contains(says), "{error}");
}

/// Returns the offset of the numbers of the dimensions.
fn coordinates(header: &[u8]) -> usize {
    let name = b"_Netcdf4Coordinates\0";
    let at = header.windows(name.len()).position(|found| found == name).unwrap();
    // After the name: type and shape. Their lengths are stored before it.
    let len = |back: usize| usize::from(u16::from_le_bytes([header[at - back], header[at - back + 1]]));
    at + name.len() + len(5) + len(3)
}

#[test]
fn a_shape_that_is_not_that_of_the_dimensions_is_not_written() {
    let mut image = image();
    open(image.clone()).unwrap();
    // With the other dimension, 400 elements would overwrite the data behind.
    change(&mut image, b"the-mark", |header| {
        let number = coordinates(header);
        assert_eq!(header[number..number + 4], [0; 4]);
        header[number] = 1;
    });
    refused(image, ErrorKind::Perm, "shape");
}

/// Without the check of the dataset's own shape, a longer row would read as elements of the next one.
#[test]
fn elements_beyond_the_own_shape_are_not_read() {
    let ds = create("nc4");
    let (short, _) = (dim(&*ds, "short", 4), dim(&*ds, "long", 8));
    let v = var(&*ds, "v", NcType::Int, &[short, short]);
    ds.def_var_fill(v, false, Some(&Values::Int(vec![-7]))).unwrap();
    ds.put_att(ROOT, Some(v), "which", NcType::Char, &Values::Char(b"the-mark".to_vec())).unwrap();
    enddef(&*ds);
    put(&*ds, v, &[0, 0], &[4, 4], &Values::Int((0..16).collect()));
    ds.close().unwrap();
    let mut image = ds.image().unwrap();
    change(&mut image, b"the-mark", |header| {
        let number = coordinates(header) + 4;
        assert_eq!(header[number..number + 4], [0; 4]);
        header[number] = 1;
    });
    let ds = registry().open_bytes(&Place::url("x.nc"), image.into(), false, &Options::default()).unwrap();
    let v = ds.inq_varid(ROOT, "v").unwrap();
    let read = |start: &[u64], count: &[u64]| {
        let mut bytes = vec![0; 4 * count.iter().product::<u64>() as usize];
        let out = MemMut::Fixed { ty: NcType::Int, out: &mut OutBuf::from_slice(&mut bytes) };
        ds.get_vara(v, start, count, out).map(|()| Values::from_native_bytes(NcType::Int, &bytes).unwrap())
    };
    assert_eq!(ds.model().snapshot().shape(v).unwrap(), [4, 8]);
    assert_eq!(read(&[1, 0], &[2, 4]).unwrap(), Values::Int((4..12).collect()));
    for (start, count, kind) in [([0, 0], [1, 8], ErrorKind::Edge), ([0, 4], [1, 1], ErrorKind::InvalCoords)]
    {
        let error = read(&start, &count).unwrap_err();
        assert_eq!(error.kind(), kind, "{error}");
    }
}

/// Returns the offset of a message of a type that has `mark`.
fn message(header: &[u8], kind: u8, mark: &[u8]) -> usize {
    let flags = header[5];
    let ordered = if flags & 4 != 0 { 2 } else { 0 };
    let times = if flags & 0x20 != 0 { 16 } else { 0 };
    let mut at = 6 + times + if flags & 0x10 != 0 { 4 } else { 0 } + (1 << (flags & 3));
    loop {
        let end = at + 4 + ordered + usize::from(u16::from_le_bytes([header[at + 1], header[at + 2]]));
        if header[at] == kind
            && (mark.is_empty() || header[at..end].windows(mark.len()).any(|found| found == mark))
        {
            return at;
        }
        at = end;
    }
}

const ATTRIBUTE: u8 = 12;

#[test]
fn dangling_dimension_references_are_damage() {
    let mut image = image();
    change(&mut image, b"the-mark", |header| {
        replace(header, b"_Netcdf4Coordinates", b"_Netcdf4coordinates");
        // After the name: type, shape, and one reference as number and heap place.
        let name = b"DIMENSION_LIST\0";
        let at = header.windows(name.len()).position(|found| found == name).unwrap();
        let len = |back: usize| usize::from(u16::from_le_bytes([header[at - back], header[at - back + 1]]));
        let place = at + name.len() + len(5) + len(3);
        assert_eq!(header[place..place + 4], [1, 0, 0, 0]);
        header[place + 4..place + 12].copy_from_slice(&(1_u64 << 40).to_le_bytes());
    });
    // A reader gets a fault. A writer would lose the attributes.
    let read =
        registry().open_bytes(&Place::url("x.nc"), image.clone().into(), false, &Options::default()).unwrap();
    let faults = read.info().faults;
    assert!(faults.len() == 1 && faults[0].path == "/v", "{faults:?}");
    let error =
        registry().open_bytes(&Place::url("x.nc"), image.into(), true, &Options::default()).unwrap_err();
    assert!(error.kind() == ErrorKind::Perm && error.to_string().contains("/v"), "{error}");
}

#[test]
fn damaged_attributes_of_a_named_type_are_ignored_by_readers() {
    let mut image = image();
    change(&mut image, b"the-mark", |header| {
        // Without a shape it is a named type. netCDF ignores its attributes.
        let space = message(header, 1, b"");
        header[space] = 0;
        let version = header.windows(6).position(|found| found == b"which\0").unwrap() - 9;
        header[version] = 99;
    });
    let ds =
        registry().open_bytes(&Place::url("x.nc"), image.clone().into(), false, &Options::default()).unwrap();
    let w = ds.inq_varid(ROOT, "w").unwrap();
    assert_eq!(all(&*ds, w), Values::Int(vec![2; 400]));
    assert_eq!(open(image).unwrap_err().kind(), ErrorKind::Perm);
}

#[test]
fn a_comment_on_the_root_is_not_lost() {
    let ds = create("nc4");
    ds.put_att(ROOT, None, "remark", NcType::Char, &Values::Char(b"of the root".to_vec())).unwrap();
    ds.close().unwrap();
    let mut image = ds.image().unwrap();
    open(image.clone()).unwrap();
    change(&mut image, b"remark", |header| {
        let at = message(header, ATTRIBUTE, b"remark");
        // The type of a comment.
        header[at] = 13;
    });
    refused(image, ErrorKind::Perm, "comment");
}

#[test]
fn an_address_behind_the_end_is_damage_and_not_absence() {
    let whole = image();
    let ds = open(whole.clone()).unwrap();
    let v = ds.inq_varid(ROOT, "v").unwrap();
    assert_eq!(all(&*ds, v), Values::Int(vec![1; 4]));
    // The address of the data is the only one followed by their length.
    let data = [1_i32; 4].map(i32::to_le_bytes).concat();
    let at = whole.windows(16).position(|found| found == data).unwrap() as u64;
    let stored = [at.to_le_bytes(), 16_u64.to_le_bytes()].concat();
    let with = |address: u64, len: u64| {
        let (mut image, new) = (whole.clone(), [address.to_le_bytes(), len.to_le_bytes()].concat());
        change(&mut image, b"the-mark", |header| replace(header, &stored, &new));
        image
    };
    refused(with(1 << 40, 16), ErrorKind::HdfErr, "beyond the end of the file");
    refused(with(at, 12), ErrorKind::Perm, "expected 16 bytes, found 12");
    let ds = open(with(u64::MAX, 16)).unwrap();
    assert_ne!(all(&*ds, v), Values::Int(vec![1; 4]), "never written");
}

#[test]
fn a_writer_reads_strings_of_many_collections() {
    let ds = create("nc4");
    let x = dim(&*ds, "x", 3000);
    let v = var(&*ds, "v", NcType::String, &[x]);
    ds.def_var_chunking(v, &Chunking::Chunked(vec![3000])).unwrap();
    enddef(&*ds);
    let strings =
        Values::String((0..3000).map(|i| NcString::from("text ".repeat(i % 97).as_str())).collect());
    put(&*ds, v, &[0], &[3000], &strings);
    ds.close().unwrap();
    let ds = open(ds.image().unwrap()).unwrap();
    let v = ds.inq_varid(ROOT, "v").unwrap();
    assert_eq!(all(&*ds, v), strings);
}

/// Reserved names on objects where netCDF gives them no meaning: hidden attributes of users.
#[test]
fn attributes_that_are_not_shown_are_not_lost() {
    let cases: [(Option<&str>, &[u8], &[u8]); 3] =
        [(None, b"xLASS", b"CLASS"), (Some("v"), b"xLASS", b"CLASS"), (None, b"name", b"n\xe4me")];
    for (place, from, to) in cases {
        let ds = create("nc4");
        let x = dim(&*ds, "x", 4);
        let v = var(&*ds, "v", NcType::Int, &[x]);
        let name = std::str::from_utf8(from).unwrap();
        ds.put_att(ROOT, place.map(|_| v), name, NcType::Char, &Values::Char(b"GROUP".to_vec())).unwrap();
        ds.close().unwrap();
        let mut image = ds.image().unwrap();
        open(image.clone()).unwrap();
        change(&mut image, from, |header| replace(header, from, to));
        // A reader sees the rest.
        registry().open_bytes(&Place::url("x.nc"), image.clone().into(), false, &Options::default()).unwrap();
        refused(image, ErrorKind::Perm, "it has content that netCDF cannot hold");
    }
}
