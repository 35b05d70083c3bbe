//! Writes and reads structs of `derive(NcType)`, against the raw bytes of the same elements.

use criterion::{BenchmarkId, Criterion, Throughput};
use nczarr::{NcType, NcValue, Place, Variable};
use nczarr_benches::{StoreKind, create, sized};

/// Twelve bytes without padding: its bytes are stored.
#[derive(NcType, Debug, Clone, Copy, PartialEq)]
#[repr(C)]
#[nc(name = "point")]
struct Point {
    id: i32,
    at: [f32; 2],
}

/// The same fields in another order, one of them of another type: each element is converted.
#[derive(NcType, Debug, Clone, Copy, PartialEq)]
#[repr(C)]
#[nc(name = "point")]
struct Turned {
    at: [f32; 2],
    id: i64,
}

#[derive(NcType, Debug, Clone, Copy, PartialEq)]
#[repr(u8)]
enum Quality {
    Good = 1,
    Bad = 4,
}

/// Twelve bytes with padding and an enum: values are checked one by one.
#[derive(NcType, Debug, Clone, Copy, PartialEq)]
#[repr(C)]
#[nc(name = "graded")]
struct Graded {
    at: [f32; 2],
    quality: Quality,
}

pub fn bench(criterion: &mut Criterion) {
    let len = sized(1 << 20, 1 << 8);
    let points: Vec<Point> = (0..len).map(|id| Point { id, at: [id as f32, -1.0] }).collect();
    let turned: Vec<Turned> = (0..len).map(|id| Turned { id: id.into(), at: [id as f32, -1.0] }).collect();
    let graded: Vec<Graded> = (0..len)
        .map(|id| Graded { at: [id as f32, 0.5], quality: [Quality::Good, Quality::Bad][id as usize % 2] })
        .collect();
    let mut group = criterion.benchmark_group("structs");
    group.throughput(Throughput::Elements(points.len() as u64));
    for place in [StoreKind::Mem, StoreKind::File] {
        let (url, _dir) = place.url("structs", "").expect("a place");
        // Plain Zarr has no enums.
        let url = url.replace("#mode=zarr", "#mode=nczarr");
        let file = create(&url).expect("created");
        file.add_dimension("x", points.len() as u64).expect("a dimension");
        let variable = |name: &str, ty: NcType| {
            let var = file.add_variable_with_type(name, ty, &["x"]).expect("a variable");
            var.set_chunking(&[points.len() as u64]).expect("chunked");
            var
        };
        let ty = file.add_type_of::<Point>().expect("a type").nc_type();
        let [raw, same, other] = ["raw", "same", "other"].map(|name| variable(name, ty));
        let checked = variable("checked", file.add_type_of::<Graded>().expect("a type").nc_type());
        let bytes = raw_bytes(&points);
        let id = |op: &str, way: &str| BenchmarkId::new(format!("{op}/{}", place.name()), way);
        group.bench_function(id("write", "raw bytes"), |bencher| {
            bencher.iter(|| raw.put_raw(&bytes, ..).expect("written"));
        });
        group.bench_function(id("write", "same layout"), |bencher| {
            bencher.iter(|| same.put_elements(&points, ..).expect("written"));
        });
        group.bench_function(id("write", "other layout"), |bencher| {
            bencher.iter(|| other.put_elements(&turned, ..).expect("written"));
        });
        group.bench_function(id("write", "enum and padding"), |bencher| {
            bencher.iter(|| checked.put_elements(&graded, ..).expect("written"));
        });
        // A filter on the command line can skip the write benchmarks, so the data are written here.
        raw.put_raw(&bytes, ..).expect("written");
        same.put_elements(&points, ..).expect("written");
        other.put_elements(&turned, ..).expect("written");
        checked.put_elements(&graded, ..).expect("written");
        file.close().expect("closed");

        let file = nczarr::open(Place::url(&url)).expect("opened");
        let [raw, same, other, checked] =
            ["raw", "same", "other", "checked"].map(|name| file.variable(name).expect("a variable"));
        assert_eq!(elements::<Point>(&raw), points);
        assert_eq!(elements::<Point>(&other), points);
        assert_eq!(elements::<Graded>(&checked), graded);
        // Each read allocates its result, as most callers do.
        group.bench_function(id("read", "raw bytes"), |bencher| {
            bencher.iter(|| {
                let mut out = vec![0; bytes.len()];
                raw.get_raw(&mut out, ..).expect("read");
                out
            });
        });
        group.bench_function(id("read", "same layout"), |bencher| bencher.iter(|| elements::<Point>(&same)));
        group.bench_function(id("read", "other layout"), |bencher| {
            bencher.iter(|| elements::<Turned>(&other))
        });
        group.bench_function(id("read", "enum and padding"), |bencher| {
            bencher.iter(|| elements::<Graded>(&checked));
        });
    }
    group.finish();
}

fn elements<T: NcValue>(variable: &Variable) -> Vec<T> {
    variable.get_elements(..).expect("read")
}

fn raw_bytes(points: &[Point]) -> Vec<u8> {
    let point = |point: &Point| {
        let [x, y] = point.at.map(f32::to_ne_bytes);
        [point.id.to_ne_bytes(), x, y].concat()
    };
    points.iter().flat_map(point).collect()
}
