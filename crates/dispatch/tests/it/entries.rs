//! The results and errors of the entries of the dispatch table.

use std::sync::atomic::Ordering;

use nczarr_codec::FilterInfo;
use nczarr_dispatch::{
    CacheConfig, Dataset, Format, FormatX, KnownPlugin, MemMut, MemRef, PluginKind, PluginTable, Registry,
};
use nczarr_model::{
    Chunking, DimId, Endian, ErrorKind, FillMode, GroupId, NcString, NcType, Quantize, Result, Slab, Values,
    VarFill, VarId,
};
use nczarr_nc_table::{AttInquiry, MappedMut, MappedRef, NcDispatch, VarAccess};
use nczarr_runtime::OutBuf;

use crate::registry::{Class, filter_info};
use crate::world::TestDataset;

const ROOT: GroupId = GroupId::ROOT;

static SHUFFLE: FilterInfo = filter_info("shuffle", Some(2), &[], "");
static DEFLATE: FilterInfo = filter_info("deflate", Some(1), &[], "");
static CLASSES: [Class; 2] = [Class(&SHUFFLE), Class(&DEFLATE)];
static TABLE: PluginTable = PluginTable {
    filters: &[&CLASSES[0], &CLASSES[1]],
    known: &[KnownPlugin {
        hdf5_id: Some(3),
        ..KnownPlugin::new(PluginKind::Filter, "fletcher32", "fletcher32")
    }],
    ..PluginTable::EMPTY
};

fn dataset() -> TestDataset {
    TestDataset::new(Registry::new().with_table(&TABLE))
}

fn kind<T>(outcome: Result<T>) -> Option<ErrorKind> {
    outcome.err().map(|error| error.kind())
}

/// A dataset with `t(time, x)` of type int, `x` of length 3.
fn with_variable() -> (TestDataset, VarId) {
    let ds = dataset();
    let time = ds.def_dim(ROOT, "time", None).unwrap();
    let x = ds.def_dim(ROOT, "x", Some(3)).unwrap();
    let t = ds.def_var(ROOT, "t", NcType::Int, &[time, x]).unwrap();
    (ds, t)
}

fn ints(values: &[i32]) -> Vec<u8> {
    values.iter().flat_map(|value| value.to_ne_bytes()).collect()
}

fn put(ds: &dyn Dataset, var: VarId, start: &[u64], count: &[u64], values: &[i32]) -> Result<()> {
    ds.put_vara(var, start, count, MemRef::Fixed { ty: NcType::Int, bytes: &ints(values) })
}

fn get(
    ds: &dyn Dataset,
    var: VarId,
    start: &[u64],
    count: &[u64],
    stride: Option<&[u64]>,
) -> Result<Vec<i32>> {
    let len = count.iter().product::<u64>() as usize;
    let mut bytes = vec![0xEE; len * 4];
    let out = &mut OutBuf::from_slice(&mut bytes);
    let out = MemMut::Fixed { ty: NcType::Int, out };
    match stride {
        None => ds.get_vara(var, start, count, out)?,
        Some(stride) => ds.get_vars(var, start, count, stride, out)?,
    }
    Ok(bytes.as_chunks().0.iter().map(|bytes| i32::from_ne_bytes(*bytes)).collect())
}

#[test]
fn define_mode_is_entered_and_left() {
    let ds = dataset();
    assert_eq!(kind(ds._enddef(0, 0, 0, 0)), Some(ErrorKind::NotInDefine));
    ds.redef().unwrap();
    assert_eq!(kind(ds.redef()), Some(ErrorKind::InDefine));
    ds._enddef(0, 4, 0, 4).unwrap();
    assert_eq!(ds.commits.load(Ordering::Relaxed), 1);

    // An edit enters define mode by itself, and a write leaves it.
    let (ds, t) = with_variable();
    assert!(ds.model().is_defining());
    put(&ds, t, &[0, 0], &[1, 3], &[1, 2, 3]).unwrap();
    assert!(!ds.model().is_defining());
    assert_eq!(ds.commits.load(Ordering::Relaxed), 1);

    // A failed edit does not leave the dataset changed or in define mode.
    assert_eq!(kind(ds.def_var(ROOT, "t", NcType::Int, &[])), Some(ErrorKind::NameInUse));
    assert_eq!(kind(ds.def_var(ROOT, "forbidden", NcType::Int, &[])), Some(ErrorKind::StrictNc3));
    assert!(!ds.model().is_defining());

    ds.def_grp(ROOT, "g").unwrap();
    ds.abort().unwrap();
    assert_eq!(kind(ds.inq_ncid(ROOT, "g")), Some(ErrorKind::NoGrp));
    ds.inq_varid(ROOT, "t").unwrap();
}

#[test]
fn a_read_only_dataset_is_not_defined() {
    let ds = TestDataset { writable: false, ..dataset() };
    for outcome in [
        kind(ds.redef()),
        kind(ds.def_dim(ROOT, "x", None)),
        kind(ds.put_att(ROOT, None, "a", NcType::Char, &Values::text("x"))),
        kind(ds.set_fill(FillMode::NoFill)),
        kind(ds.del_att(ROOT, None, "a")),
    ] {
        assert_eq!(outcome, Some(ErrorKind::Perm));
    }
    assert!(!ds.model().is_defining());
}

#[test]
fn the_classic_model_is_strict_about_its_modes() {
    let ds = TestDataset { format: Format::NetCdf4Classic, ..dataset() };
    assert_eq!(kind(ds.def_dim(ROOT, "x", Some(2))), Some(ErrorKind::NotInDefine));
    ds.redef().unwrap();
    let x = ds.def_dim(ROOT, "x", Some(2)).unwrap();
    let v = ds.def_var(ROOT, "v", NcType::Int, &[x]).unwrap();
    ds.put_att(ROOT, Some(v), "units", NcType::Char, &Values::text("metre")).unwrap();
    assert_eq!(kind(put(&ds, v, &[0], &[2], &[1, 2])), Some(ErrorKind::InDefine));
    ds._enddef(0, 0, 0, 0).unwrap();
    put(&ds, v, &[0], &[2], &[1, 2]).unwrap();
    // In data mode, only changes that need no more room are allowed.
    ds.put_att(ROOT, Some(v), "units", NcType::Char, &Values::text("mile")).unwrap();
    let att = |name, text| kind(ds.put_att(ROOT, Some(v), name, NcType::Char, &Values::text(text)));
    ds._enddef(0, 0, 0, 0).unwrap();
    assert_eq!(att("units", "kilometre"), Some(ErrorKind::NotInDefine));
    assert_eq!(att("new", ""), Some(ErrorKind::NotInDefine));
    assert_eq!(kind(ds.rename_var(v, "longer")), Some(ErrorKind::NotInDefine));
    ds.rename_var(v, "w").unwrap();
}

#[test]
fn a_dataset_reports_its_format_and_metadata() {
    let ds = dataset();
    assert_eq!(ds.inq_format().unwrap(), Format::NetCdf4);
    assert_eq!(ds.inq_format_extended().unwrap(), (FormatX::Udf(0), 0x1001));
    let classic = TestDataset { format: Format::NetCdf4Classic, writable: false, ..dataset() };
    assert_eq!(classic.inq_format_extended().unwrap().1, 0x1100);
    assert_eq!(ds.set_fill(FillMode::NoFill).unwrap(), FillMode::Fill);
    assert_eq!(ds.set_fill(FillMode::Fill).unwrap(), FillMode::NoFill);
    let (ds, _) = with_variable();
    let text = ds.show_metadata().unwrap();
    assert!(text.contains("variable int t(time, x)") && text.contains("time: 0, unlimited"), "{text}");
}

#[test]
fn groups_and_dimensions_are_found() {
    let (ds, t) = with_variable();
    let g = ds.def_grp(ROOT, "g").unwrap();
    let h = ds.def_grp(g, "h").unwrap();
    let y = ds.def_dim(h, "y", None).unwrap();
    let (time, x) = (DimId(0), DimId(1));

    let at_a_glance = ds.inq(ROOT).unwrap();
    assert_eq!((at_a_glance.ndims, at_a_glance.nvars, at_a_glance.natts), (2, 1, 0));
    assert_eq!(at_a_glance.unlimdim, Some(time));
    assert_eq!(ds.inq_unlimdims(ROOT).unwrap(), [time]);
    assert_eq!(ds.inq_unlimdim(g).unwrap(), None);
    assert_eq!(ds.inq_dimid(h, "x").unwrap(), x);
    assert_eq!(ds.inq_dimids(h, false).unwrap(), [y]);
    assert_eq!(ds.inq_dimids(h, true).unwrap(), [time, x, y]);
    let error = ds.inq_dimid(g, "y").unwrap_err();
    assert_eq!(error.kind(), ErrorKind::BadDim);
    let dim = ds.inq_dim(x).unwrap();
    assert_eq!((dim.name.as_str(), dim.len, dim.unlimited), ("x", 3, false));
    assert_eq!(kind(ds.inq_dim(DimId(9))), Some(ErrorKind::BadDim));

    assert_eq!(ds.inq_ncid(ROOT, "g").unwrap(), g);
    assert_eq!(ds.inq_grps(g).unwrap(), [h]);
    assert_eq!(ds.inq_grpname(ROOT).unwrap(), "/");
    assert_eq!(ds.inq_grpname_full(h).unwrap(), "/g/h");
    assert_eq!(ds.inq_grp_parent(h).unwrap(), g);
    assert_eq!(kind(ds.inq_grp_parent(ROOT)), Some(ErrorKind::NoGrp));
    assert_eq!(ds.inq_grp_full_ncid(ROOT, "/g/h").unwrap(), h);
    assert_eq!(kind(ds.inq_grp_full_ncid(ROOT, "/g/i")), Some(ErrorKind::NoGrp));
    assert_eq!(kind(ds.inq_grps(GroupId(9))), Some(ErrorKind::BadGrpId));
    ds.rename_grp(g, "k").unwrap();
    assert_eq!(ds.inq_grpname_full(h).unwrap(), "/k/h");

    assert_eq!(ds.inq_varids(ROOT).unwrap(), [t]);
    let error = ds.inq_varid(ROOT, "u").unwrap_err();
    assert!(error.kind() == ErrorKind::NotVar && error.to_string().contains("the group has: t"), "{error}");
    ds.rename_dim(x, "z").unwrap();
    assert_eq!(ds.inq_dimid(ROOT, "z").unwrap(), x);
}

#[test]
fn attributes_convert_and_are_counted() {
    let (ds, t) = with_variable();
    let doubles = Values::Double(vec![1.5, 300.0]);
    ds.put_att(ROOT, Some(t), "a", NcType::Double, &doubles).unwrap();
    ds.put_att(ROOT, Some(t), "b", NcType::Char, &Values::text("text")).unwrap();
    assert_eq!(ds.inq_att(ROOT, Some(t), "a").unwrap(), AttInquiry { ty: NcType::Double, len: 2 });
    assert_eq!(ds.inq_attid(ROOT, Some(t), "b").unwrap(), 1);
    assert_eq!(ds.inq_attname(ROOT, Some(t), 1).unwrap(), "b");
    assert_eq!(kind(ds.inq_attname(ROOT, Some(t), 2)), Some(ErrorKind::NotAtt));
    assert_eq!(kind(ds.inq_attid(ROOT, Some(t), "c")), Some(ErrorKind::NotAtt));
    assert_eq!(ds.get_att(ROOT, Some(t), "a", None).unwrap(), (doubles, false));
    let (values, out_of_range) = ds.get_att(ROOT, Some(t), "a", Some(NcType::Byte)).unwrap();
    assert_eq!((values, out_of_range), (Values::Byte(vec![1, 44]), true));
    assert_eq!(kind(ds.get_att(ROOT, Some(t), "b", Some(NcType::Int))), Some(ErrorKind::Char));

    // The value is out of range. It is stored all the same and reported.
    let wide = Values::Int(vec![7, 300]);
    assert_eq!(kind(ds.put_att(ROOT, Some(t), "c", NcType::UByte, &wide)), Some(ErrorKind::Range));
    assert_eq!(ds.get_att(ROOT, Some(t), "c", None).unwrap().0, Values::UByte(vec![7, 44]));

    ds.rename_att(ROOT, Some(t), "b", "d").unwrap();
    ds.del_att(ROOT, Some(t), "a").unwrap();
    assert_eq!(ds.inq_var_all(t).unwrap().natts, 2);
}

#[test]
fn reserved_attributes_are_read_and_not_changed() {
    let ds = dataset();
    for (name, values) in [
        ("_NCProperties", Values::text("version=2,test=1")),
        ("_IsNetcdf4", Values::Int(vec![1])),
        ("_SuperblockVersion", Values::Int(vec![0])),
    ] {
        assert_eq!(ds.get_att(ROOT, None, name, None).unwrap().0, values);
        assert_eq!(
            kind(ds.put_att(ROOT, None, name, NcType::Int, &Values::Int(vec![1]))),
            Some(ErrorKind::NameInUse)
        );
        assert_eq!(kind(ds.del_att(ROOT, None, name)), Some(ErrorKind::NameInUse));
        assert_eq!(kind(ds.rename_att(ROOT, None, "a", name)), Some(ErrorKind::NameInUse));
    }
    assert_eq!(ds.inq(ROOT).unwrap().natts, 0);
    let g = ds.def_grp(ROOT, "g").unwrap();
    ds.put_att(g, None, "_IsNetcdf4", NcType::Int, &Values::Int(vec![3])).unwrap();
    assert_eq!(ds.get_att(g, None, "_IsNetcdf4", None).unwrap().0, Values::Int(vec![3]));
}

#[test]
fn hyperslabs_are_checked_once_here() {
    let (ds, t) = with_variable();
    put(&ds, t, &[0, 0], &[2, 3], &[1, 2, 3, 4, 5, 6]).unwrap();
    assert_eq!(ds.inq_dim(DimId(0)).unwrap().len, 2);
    assert_eq!(get(&ds, t, &[0, 1], &[2, 2], None).unwrap(), [2, 3, 5, 6]);
    assert_eq!(get(&ds, t, &[0, 0], &[2, 2], Some(&[1, 2])).unwrap(), [1, 3, 4, 6]);
    assert_eq!(get(&ds, t, &[2, 3], &[0, 0], None).unwrap(), [0i32; 0]);
    for (start, count, stride, wanted) in [
        (&[3, 0][..], &[0, 1][..], None, ErrorKind::InvalCoords),
        (&[0, 3], &[1, 1], None, ErrorKind::InvalCoords),
        (&[0, 1], &[1, 3], None, ErrorKind::Edge),
        (&[1, 0], &[2, 1], None, ErrorKind::Edge),
        (&[0, 0], &[1, 2], Some(&[1, 3][..]), ErrorKind::Edge),
        (&[0, 0], &[1, 1], Some(&[1, 0]), ErrorKind::Stride),
        (&[0], &[1], None, ErrorKind::Inval),
        (&[0, 0], &[1, 1], Some(&[1]), ErrorKind::Inval),
    ] {
        let error = get(&ds, t, start, count, stride).unwrap_err();
        assert_eq!(error.kind(), wanted, "{start:?} {count:?} {stride:?}");
        assert!(error.to_string().contains("/t: "), "{error}");
    }
    assert_eq!(kind(put(&ds, t, &[0, 2], &[1, 2], &[1, 2])), Some(ErrorKind::Edge), "x does not grow");
    let values = MemRef::Fixed { ty: NcType::Int, bytes: &ints(&[7, 9]) };
    ds.put_vars(t, &[4, 0], &[1, 2], &[1, 2], values).unwrap();
    assert_eq!(get(&ds, t, &[3, 0], &[2, 3], None).unwrap(), [0, 0, 0, 7, 0, 9]);
    assert_eq!(kind(ds.get_vara(VarId(9), &[], &[], MemMut::Strings(&mut []))), Some(ErrorKind::NotVar));
}

#[test]
fn a_kept_variable_follows_its_lengths() {
    let (ds, t) = with_variable();
    let access = VarAccess::new(&ds, t).unwrap();
    assert_eq!((access.path(), access.xtype(), access.shape()[0]), ("/t", NcType::Int, 0));
    let mut memory = [0; 12];
    let mut get = |start| {
        let out = MemMut::Fixed { ty: NcType::Int, out: &mut OutBuf::from_slice(&mut memory) };
        access.get(&Slab::new(&[start, 0], &[1, 3]), out).map_err(|error| error.kind())
    };
    assert_eq!(get(0), Err(ErrorKind::InvalCoords));
    put(&ds, t, &[0, 0], &[2, 3], &[1, 2, 3, 4, 5, 6]).unwrap();
    assert_eq!((access.shape()[0], get(1), get(2)), (2, Ok(()), Err(ErrorKind::InvalCoords)));
    let values = MemRef::Fixed { ty: NcType::Int, bytes: &ints(&[7, 8, 9]) };
    access.put(&Slab::new(&[2, 0], &[1, 3]), values).unwrap();
    assert_eq!(kind(access.put(&Slab::new(&[2, 1], &[1, 3]), values)), Some(ErrorKind::Edge));
    assert_eq!((get(2), memory.as_slice()), (Ok(()), ints(&[7, 8, 9]).as_slice()));
}

#[test]
fn any_rank_is_checked() {
    let ds = dataset();
    let dims: Vec<DimId> = (0..12).map(|i| ds.def_dim(ROOT, &format!("d{i}"), Some(2)).unwrap()).collect();
    for rank in 0..=12 {
        let var = ds.def_var(ROOT, &format!("v{rank}"), NcType::Int, &dims[..rank]).unwrap();
        put(&ds, var, &vec![0; rank], &vec![1; rank], &[5]).unwrap();
        assert_eq!(get(&ds, var, &vec![0; rank], &vec![1; rank], None).unwrap(), [5]);
        if let Some(last) = rank.checked_sub(1) {
            let mut start = vec![0; rank];
            start[last] = 2;
            assert_eq!(kind(get(&ds, var, &start, &vec![1; rank], None)), Some(ErrorKind::InvalCoords));
        }
    }
}

#[test]
fn memory_must_fit_type_and_count() {
    let (ds, t) = with_variable();
    put(&ds, t, &[0, 0], &[1, 3], &[1, 300, 3]).unwrap();
    for (ty, bytes, wanted) in [
        (NcType::Int, 8, Some(ErrorKind::Inval)),
        (NcType::Int, 13, Some(ErrorKind::Inval)),
        (NcType::Double, 12, Some(ErrorKind::Inval)),
        (NcType::Char, 3, Some(ErrorKind::Char)),
        (NcType::String, 3, Some(ErrorKind::Char)),
        (NcType::Byte, 3, Some(ErrorKind::Range)),
        (NcType::Double, 24, None),
    ] {
        let mut memory = vec![0; bytes];
        let out = MemMut::Fixed { ty, out: &mut OutBuf::from_slice(&mut memory) };
        assert_eq!(kind(ds.get_vara(t, &[0, 0], &[1, 3], out)), wanted, "{ty:?} {bytes}");
    }
    let mut strings = vec![NcString::new(); 3];
    assert_eq!(kind(ds.get_vara(t, &[0, 0], &[1, 3], MemMut::Strings(&mut strings))), Some(ErrorKind::Char));
    let short = MemRef::Fixed { ty: NcType::Int, bytes: &[0; 11] };
    assert_eq!(kind(ds.put_vara(t, &[0, 0], &[1, 3], short)), Some(ErrorKind::Inval));
}

#[test]
fn mapped_access_follows_its_index_map() {
    let (ds, t) = with_variable();
    let slab = Slab::new(&[0, 0], &[2, 3]);
    // Memory is transposed: the variable's slow dimension is the fast one in memory.
    let values = ints(&[1, 4, 2, 5, 3, 6]);
    let data = MappedRef::Fixed { ty: NcType::Int, bytes: &values };
    ds.put_varm(t, &slab, Some(&[1, 2]), data).unwrap();
    assert_eq!(get(&ds, t, &[0, 0], &[2, 3], None).unwrap(), [1, 2, 3, 4, 5, 6]);

    let mut memory = ints(&[-1; 8]);
    let out = MappedMut::Fixed { ty: NcType::Int, bytes: &mut memory };
    ds.get_varm(t, &slab, Some(&[1, 3]), out).unwrap();
    assert_eq!(memory, ints(&[1, 4, -1, 2, 5, -1, 3, 6]));
    let out = MappedMut::Fixed { ty: NcType::Int, bytes: &mut memory[..24] };
    ds.get_varm(t, &slab, None, out).unwrap();
    assert_eq!(memory[..24], ints(&[1, 2, 3, 4, 5, 6]));

    let mut small = vec![0; 20];
    for (imap, wanted) in
        [(&[3, 1][..], ErrorKind::Inval), (&[1], ErrorKind::Inval), (&[-1, 1], ErrorKind::Inval)]
    {
        let out = MappedMut::Fixed { ty: NcType::Int, bytes: &mut small };
        assert_eq!(kind(ds.get_varm(t, &slab, Some(imap), out)), Some(wanted), "{imap:?}");
    }
    // The values are out of range. All are stored, wrapped, and the error is reported.
    put(&ds, t, &[0, 0], &[1, 3], &[1, 300, 3]).unwrap();
    let mut bytes = [9u8; 6];
    let out = MappedMut::Fixed { ty: NcType::UByte, bytes: &mut bytes };
    assert_eq!(
        kind(ds.get_varm(t, &Slab::new(&[0, 0], &[1, 3]), Some(&[9, 2]), out)),
        Some(ErrorKind::Range)
    );
    assert_eq!(bytes, [1, 9, 44, 9, 3, 9]);

    let opaque = ds.def_opaque(ROOT, 4, "o").unwrap();
    let o = ds.def_var(ROOT, "ov", NcType::User(opaque), &[]).unwrap();
    let out = MappedMut::Fixed { ty: NcType::User(opaque), bytes: &mut small };
    assert_eq!(kind(ds.get_varm(o, &Slab::new(&[], &[]), None, out)), Some(ErrorKind::MapType));
    let s = ds.def_var(ROOT, "s", NcType::String, &[DimId(1)]).unwrap();
    let strings: Vec<NcString> = ["a", "-", "b", "-", "c"].map(NcString::from).to_vec();
    ds.put_varm(s, &Slab::new(&[0], &[3]), Some(&[2]), MappedRef::Strings(&strings)).unwrap();
    let mut back = vec![NcString::new(); 3];
    ds.get_varm(s, &Slab::new(&[0], &[3]), None, MappedMut::Strings(&mut back)).unwrap();
    assert_eq!(back, ["a", "b", "c"].map(NcString::from));
}

#[test]
fn a_slab_beyond_the_variable_makes_no_memory() {
    let (ds, t) = with_variable();
    put(&ds, t, &[0, 0], &[1, 3], &[1, 2, 3]).unwrap();
    let slab = Slab::new(&[0, 0], &[1 << 40, 1 << 20]);
    let out = MappedMut::Fixed { ty: NcType::Int, bytes: &mut [] };
    assert_eq!(kind(ds.get_varm(t, &slab, Some(&[0, 0]), out)), Some(ErrorKind::Edge));
    let data = MappedRef::Fixed { ty: NcType::Int, bytes: &[0; 4] };
    let huge = Slab::new(&[0, 0], &[1 << 60, 3]);
    assert!(ds.put_varm(t, &huge, Some(&[0, 0]), data).is_err());
}

#[test]
fn layout_is_defined_and_answered() {
    let (ds, t) = with_variable();
    assert_eq!(ds.inq_var_all(t).unwrap().chunking, Chunking::Chunked(vec![2, 2]), "what the format chose");
    ds.def_var_deflate(t, true, true, 0).unwrap();
    ds.def_var_deflate(t, false, false, 99).unwrap();
    let all = ds.inq_var_all(t).unwrap();
    assert_eq!((all.shuffle, all.deflate), (true, None), "level 0 is not applied");
    ds.def_var_deflate(t, true, true, 4).unwrap();
    assert_eq!(ds.inq_var_filter_ids(t).unwrap(), [2, 1]);
    assert_eq!(kind(ds.def_var_deflate(t, false, true, 10)), Some(ErrorKind::Inval));
    assert_eq!(kind(ds.def_var_filter(t, 1, &[77])), Some(ErrorKind::Filter));
    assert_eq!(kind(ds.def_var_filter(t, 999, &[])), Some(ErrorKind::NoFilter));
    assert_eq!(kind(ds.def_var_fletcher32(t, true)), Some(ErrorKind::NotBuilt));
    ds.def_var_fletcher32(t, false).unwrap();
    assert_eq!(kind(ds.inq_var_filter_info(t, 3)), Some(ErrorKind::NoFilter));
    ds.inq_var_filter_info(t, 1).unwrap();
    ds.inq_filter_avail(2).unwrap();
    assert_eq!(kind(ds.inq_filter_avail(4)), Some(ErrorKind::NoFilter));

    ds.def_var_chunking(t, &Chunking::Chunked(vec![1, 3])).unwrap();
    assert_eq!(kind(ds.def_var_chunking(t, &Chunking::Chunked(vec![1, 4]))), Some(ErrorKind::BadChunk));
    ds.def_var_endian(t, Endian::Big).unwrap();
    ds.def_var_fill(t, false, Some(&Values::Int(vec![-9]))).unwrap();
    let all = ds.inq_var_all(t).unwrap();
    assert_eq!((all.chunking, all.endian), (Chunking::Chunked(vec![1, 3]), Endian::Big));
    assert_eq!(all.fill, VarFill::Value(Values::Int(vec![-9])));
    assert_eq!(kind(ds.def_var_fill(t, false, Some(&Values::Float(vec![1.0])))), Some(ErrorKind::BadType));

    let s = ds.def_var(ROOT, "s", NcType::String, &[]).unwrap();
    assert_eq!(ds.inq_var_all(s).unwrap().chunking, Chunking::Contiguous);
    assert_eq!(kind(ds.def_var_endian(s, Endian::Little)), Some(ErrorKind::Inval));
    ds.def_var_endian(s, Endian::Native).unwrap();
    assert_eq!(kind(ds.def_var_quantize(t, Some(Quantize::BitGroom(3)))), Some(ErrorKind::Inval));
    let f = ds.def_var(ROOT, "f", NcType::Float, &[]).unwrap();
    ds.def_var_quantize(f, Some(Quantize::BitRound(9))).unwrap();
    assert_eq!(ds.inq_var_quantize(f).unwrap(), Some(Quantize::BitRound(9)));
    assert_eq!(kind(ds.var_par_access(t, true)), Some(ErrorKind::NoPar));

    let cache = CacheConfig::default().bytes(1 << 20);
    ds.set_var_chunk_cache(t, cache).unwrap();
    ds.get_var_chunk_cache(t).unwrap();
    for preemption in [-0.1, 1.1, f32::NAN] {
        let bad = cache.preemption(preemption);
        assert_eq!(kind(ds.set_var_chunk_cache(t, bad)), Some(ErrorKind::Inval));
    }
}

#[test]
fn one_missing_filter_leaves_the_other_out() {
    static ONLY: PluginTable = PluginTable { filters: &[&CLASSES[0]], ..PluginTable::EMPTY };
    let ds = TestDataset::new(Registry::new().with_table(&ONLY));
    let x = ds.def_dim(ROOT, "x", Some(3)).unwrap();
    let v = ds.def_var(ROOT, "v", NcType::Int, &[x]).unwrap();
    assert_eq!(kind(ds.def_var_deflate(v, true, true, 5)), Some(ErrorKind::NoFilter));
    assert_eq!(ds.inq_var_filter_ids(v).unwrap(), [0u32; 0]);
}

#[test]
fn types_are_defined_and_answered() {
    let ds = dataset();
    let g = ds.def_grp(ROOT, "g").unwrap();
    let point = ds.def_compound(g, 16, "point").unwrap();
    ds.insert_compound(point, "x", 0, NcType::Int).unwrap();
    ds.insert_array_compound(point, "y", 4, NcType::Float, &[3]).unwrap();
    let color = ds.def_enum(ROOT, NcType::UByte, "color").unwrap();
    ds.insert_enum(color, "RED", 1).unwrap();
    let row = ds.def_vlen(ROOT, "row", NcType::Short).unwrap();
    let blob = ds.def_opaque(ROOT, 7, "blob").unwrap();

    assert_eq!(ds.inq_compound_field(point, 1).unwrap().shape, [3]);
    assert_eq!(ds.inq_compound_fieldindex(point, "y").unwrap(), 1);
    assert_eq!(kind(ds.inq_compound_field(point, 2)), Some(ErrorKind::BadField));
    assert_eq!(kind(ds.inq_compound_fieldindex(point, "z")), Some(ErrorKind::BadField));
    assert_eq!(kind(ds.inq_compound_field(color, 0)), Some(ErrorKind::BadType));
    assert_eq!(ds.inq_enum_member(color, 0).unwrap().name, "RED");
    assert_eq!(ds.inq_enum_ident(color, 1).unwrap(), "RED");
    assert_eq!(kind(ds.inq_enum_member(color, 1)), Some(ErrorKind::Inval));
    assert_eq!(kind(ds.inq_enum_ident(color, 2)), Some(ErrorKind::Inval));
    assert_eq!(kind(ds.inq_enum_ident(row, 2)), Some(ErrorKind::BadType));
    assert_eq!(ds.inq_user_type(blob).unwrap().size().unwrap(), Some(7));
    assert_eq!(ds.inq_typeids(ROOT).unwrap(), [color, row, blob]);

    for (ty, name, size) in [
        (NcType::Double, "double", Some(8)),
        (NcType::String, "string", None),
        (NcType::User(point), "point", Some(16)),
        (NcType::User(row), "row", None),
    ] {
        assert_eq!(ds.inq_type(ty).unwrap(), (name.to_owned(), size));
    }
    for (name, wanted) in [
        ("ubyte", Some(NcType::UByte)),
        ("color", Some(NcType::User(color))),
        ("/g/point", Some(NcType::User(point))),
        // No enclosing group has the type, so the first in the dataset counts.
        ("point", Some(NcType::User(point))),
        ("/point", None),
        ("/g/color", None),
        ("/h/point", None),
        ("plane", None),
    ] {
        let found = ds.inq_typeid(ROOT, name);
        assert_eq!(found.as_ref().ok(), wanted.as_ref(), "{name}");
        assert!(wanted.is_some() || kind(found) == Some(ErrorKind::BadType));
    }

    let mut element = Values::Short(Vec::new());
    ds.put_vlen_element(row, &mut element, &Values::Short(vec![1, 2])).unwrap();
    assert_eq!(ds.get_vlen_element(row, &element).unwrap(), Values::Short(vec![1, 2]));
    assert_eq!(kind(ds.put_vlen_element(row, &mut element, &Values::Int(vec![1]))), Some(ErrorKind::BadType));
    assert_eq!(kind(ds.get_vlen_element(blob, &element)), Some(ErrorKind::BadType));
}

#[test]
fn types_of_two_datasets_are_compared() {
    let make = |size, second: &str| {
        let ds = dataset();
        let inner = ds.def_compound(ROOT, 8, "inner").unwrap();
        ds.insert_compound(inner, "a", 0, NcType::Int).unwrap();
        ds.insert_compound(inner, second, 4, NcType::Int).unwrap();
        let outer = ds.def_compound(ROOT, size, "outer").unwrap();
        ds.insert_compound(outer, "i", 0, NcType::User(inner)).unwrap();
        let list = ds.def_vlen(ROOT, "list", NcType::User(outer)).unwrap();
        (ds, NcType::User(list))
    };
    let (one, list) = make(8, "b");
    for (size, second, wanted) in [(8, "b", true), (8, "c", false), (16, "b", false)] {
        let (other, other_list) = make(size, second);
        assert_eq!(one.inq_type_equal(list, &other, other_list).unwrap(), wanted, "{size} {second}");
    }
    assert!(one.inq_type_equal(NcType::Int, &one, NcType::Int).unwrap());
    assert!(!one.inq_type_equal(NcType::Int, &one, list).unwrap());
}
