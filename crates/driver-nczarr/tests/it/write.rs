//! Creating, writing, reading back.

use dispatch::{Dataset, MemMut, MemRef, NcDispatch, OutBuf};
use model::{Chunking, Edit, Endian, ErrorKind, FilterSpec, GroupId, NcString, NcType, Slab, Values, VarFill, VarId};

use crate::support::{TestMap, create, open, open_rw};

fn put<T: Copy>(dataset: &dyn Dataset, var: VarId, start: &[u64], count: &[u64], ty: NcType, values: &[T])
where
    T: Into<f64>,
{
    let doubles: Vec<u8> = values.iter().flat_map(|&value| value.into().to_ne_bytes()).collect();
    let _ = ty;
    dataset.put_vara(var, start, count, MemRef::Fixed { ty: NcType::Double, bytes: &doubles }).unwrap();
}

fn get(dataset: &dyn Dataset, var: VarId) -> Vec<f64> {
    let shape = dataset.model().snapshot().shape(var).unwrap();
    let start = vec![0; shape.len()];
    let mut bytes = vec![0u8; shape.iter().product::<u64>() as usize * 8];
    dataset
        .data(var)
        .unwrap()
        .get(&Slab::new(&start, &shape), MemMut::Fixed { ty: NcType::Double, out: &mut OutBuf::over(&mut bytes) })
        .unwrap();
    bytes.as_chunks::<8>().0.iter().map(|bytes| f64::from_ne_bytes(*bytes)).collect()
}

#[test]
fn a_small_dataset_is_what_the_reference_writes() {
    let map = TestMap::new(&[]);
    let d = create(&map, "mode=nczarr,file");
    let t = d.def_dim(GroupId::ROOT, "t", None).unwrap();
    let x = d.def_dim(GroupId::ROOT, "x", Some(3)).unwrap();
    let v = d.def_var(GroupId::ROOT, "v", NcType::Int, &[t, x]).unwrap();
    let s = d.def_var(GroupId::ROOT, "s", NcType::Double, &[]).unwrap();
    let g = d.def_grp(GroupId::ROOT, "g").unwrap();
    let _ = g;
    d.edit(&Edit::PutAtt { group: GroupId::ROOT, var: None, name: "title", values: &Values::text("1.10") }).unwrap();
    d.edit(&Edit::PutAtt { group: GroupId::ROOT, var: Some(v), name: "_FillValue", values: &Values::Int(vec![-7]) })
        .unwrap();
    put(&*d, v, &[0, 0], &[2, 3], NcType::Int, &[1, 2, 3, 4, 5, 6]);
    put(&*d, s, &[], &[], NcType::Double, &[2.5]);
    d.close().unwrap();
    for (k, v) in map.objects() {
        println!("{k}: {}", String::from_utf8_lossy(&v));
    }
    let d = open(&map).unwrap();
    let m = d.model().snapshot();
    let v = m.find_var(GroupId::ROOT, "v").unwrap();
    let s = m.find_var(GroupId::ROOT, "s").unwrap();
    assert_eq!(get(&*d, v), [1.0, 2.0, 3.0, 4.0, 5.0, 6.0]);
    assert_eq!(get(&*d, s), [2.5]);
}
