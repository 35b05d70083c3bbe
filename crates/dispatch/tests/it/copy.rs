//! Copying attributes and variables between datasets.

use nczarr_dispatch::{Dataset, MemMut, MemRef, Registry, settings};
use nczarr_model::{
    Chunking, Endian, ErrorKind, FilterSpec, GroupId, NcString, NcType, Result, Values, VarFill,
};
use nczarr_nc_table::{AttOwner, NcDispatch, copy_att, copy_var};
use nczarr_runtime::OutBuf;

use crate::world::TestDataset;

const ROOT: GroupId = GroupId::ROOT;

fn dataset() -> TestDataset {
    TestDataset::new(Registry::new())
}

fn kind<T>(outcome: Result<T>) -> Option<ErrorKind> {
    outcome.err().map(|error| error.kind())
}

#[test]
fn a_variable_is_copied_with_all_it_has() {
    let from = dataset();
    let time = from.def_dim(ROOT, "time", None).unwrap();
    let x = from.def_dim(ROOT, "x", Some(5)).unwrap();
    let v = from.def_var(ROOT, "v", NcType::Short, &[time, x]).unwrap();
    from.put_att(ROOT, Some(v), "units", NcType::Char, &Values::text("K")).unwrap();
    from.put_att(ROOT, Some(v), "_FillValue", NcType::Short, &Values::Short(vec![-1])).unwrap();
    from.put_att(ROOT, Some(v), "last", NcType::Int, &Values::Int(vec![1])).unwrap();
    from.def_var_chunking(v, &Chunking::Chunked(vec![2, 3])).unwrap();
    from.def_var_endian(v, Endian::Big).unwrap();
    let filter = FilterSpec { name: "mine".to_owned(), ..FilterSpec::default() };
    from.def_var_filter_spec(v, &filter).unwrap();
    let values: Vec<u8> = (0..35i16).flat_map(i16::to_ne_bytes).collect();
    from.put_vara(v, &[0, 0], &[7, 5], MemRef::Fixed { ty: NcType::Short, bytes: &values }).unwrap();

    let to = dataset();
    to.def_dim(ROOT, "x", Some(5)).unwrap();
    to.def_dim(ROOT, "time", None).unwrap();
    let group = to.def_grp(ROOT, "g").unwrap();
    let new = copy_var(&from, v, &to, group).unwrap();

    assert_eq!(to.inq_varid(group, "v").unwrap(), new);
    let (all, model) = (to.inq_var_all(new).unwrap(), to.model().snapshot());
    assert_eq!(
        (all.chunking, all.endian, all.filters),
        (Chunking::Chunked(vec![2, 3]), Endian::Big, vec![filter])
    );
    assert_eq!(all.fill, VarFill::Value(Values::Short(vec![-1])));
    assert_eq!(model.var(new).unwrap().atts, from.model().snapshot().var(v).unwrap().atts);
    assert!(model.var(new).unwrap().atts.keys().eq(["units", "_FillValue", "last"]));
    assert_eq!(model.shape(new).unwrap(), [7, 5]);
    let mut back = vec![0; 70];
    let out = MemMut::Fixed { ty: NcType::Short, out: &mut OutBuf::from_slice(&mut back) };
    to.get_vara(new, &[0, 0], &[7, 5], out).unwrap();
    assert_eq!(back, values);

    assert_eq!(kind(copy_var(&from, v, &to, group)), Some(ErrorKind::NameInUse));
    let error = copy_var(&from, v, &dataset(), ROOT).unwrap_err();
    assert!(error.kind() == ErrorKind::BadDim && error.to_string().contains("copy of /v"), "{error}");
    let short = dataset();
    short.def_dim(ROOT, "x", Some(4)).unwrap();
    short.def_dim(ROOT, "time", None).unwrap();
    assert_eq!(kind(copy_var(&from, v, &short, ROOT)), Some(ErrorKind::DimSize));
}

#[test]
fn strings_scalars_and_empty_variables_are_copied() {
    let (from, to) = (dataset(), dataset());
    for ds in [&from, &to] {
        ds.def_dim(ROOT, "n", Some(3)).unwrap();
        ds.def_dim(ROOT, "time", None).unwrap();
    }
    let n = from.inq_dimid(ROOT, "n").unwrap();
    let s = from.def_var(ROOT, "s", NcType::String, &[n]).unwrap();
    let strings = ["one", "", "three"].map(NcString::from);
    from.put_vara(s, &[0], &[3], MemRef::Strings(&strings)).unwrap();
    let scalar = from.def_var(ROOT, "scalar", NcType::Double, &[]).unwrap();
    from.def_var_fill(scalar, true, None).unwrap();
    let pi = std::f64::consts::PI.to_ne_bytes();
    from.put_vara(scalar, &[], &[], MemRef::Fixed { ty: NcType::Double, bytes: &pi }).unwrap();
    let empty = from.def_var(ROOT, "empty", NcType::Int, &[from.inq_dimid(ROOT, "time").unwrap()]).unwrap();

    let new = copy_var(&from, s, &to, ROOT).unwrap();
    let mut back = vec![NcString::new(); 3];
    to.get_vara(new, &[0], &[3], MemMut::Strings(&mut back)).unwrap();
    assert_eq!(back, strings);
    let new = copy_var(&from, scalar, &to, ROOT).unwrap();
    let mut back = [0; 8];
    to.get_vara(new, &[], &[], MemMut::Fixed { ty: NcType::Double, out: &mut OutBuf::from_slice(&mut back) })
        .unwrap();
    assert_eq!(back, pi);
    assert_eq!(to.inq_var_all(new).unwrap().fill, VarFill::NoFill);
    copy_var(&from, empty, &to, ROOT).unwrap();
}

#[test]
fn a_user_type_becomes_its_equal() {
    let (from, to) = (dataset(), dataset());
    to.def_opaque(ROOT, 9, "first").unwrap();
    let blob = from.def_opaque(ROOT, 2, "blob").unwrap();
    from.put_att(ROOT, None, "a", NcType::User(blob), &Values::User(blob, vec![1, 2])).unwrap();
    let root = AttOwner { group: ROOT, var: None };
    let copy = || copy_att(&from, root, "a", &to, root);
    assert_eq!(kind(copy()), Some(ErrorKind::BadType));
    to.def_opaque(ROOT, 3, "blob").unwrap();
    assert_eq!(kind(copy()), Some(ErrorKind::BadType));
    let g = to.def_grp(ROOT, "g").unwrap();
    let same = to.def_opaque(g, 2, "blob").unwrap();
    copy().unwrap();
    assert_eq!(to.get_att(ROOT, None, "a", None).unwrap().0, Values::User(same, vec![1, 2]));
    assert_eq!(kind(copy_att(&from, root, "b", &to, root)), Some(ErrorKind::NotAtt));
}

#[test]
fn settings_are_kept() {
    let before = settings::chunk_cache();
    let wanted = nczarr_dispatch::CacheConfig::BUILT_IN.bytes(123).slots(7).preemption(0.5);
    settings::set_chunk_cache(wanted).unwrap();
    assert_eq!(settings::chunk_cache(), wanted);
    assert_eq!(nczarr_dispatch::Options::default().cache_bytes, Some(123));
    assert_eq!(kind(settings::set_chunk_cache(wanted.preemption(2.0))), Some(ErrorKind::Inval));
    settings::set_chunk_cache(before).unwrap();
    assert!(settings::library_version().starts_with("nczarr "));
}
