//! Sample datasets with every kind of content, as [`Plan`]s.

use nczarr::{Endian, NcString, NcType, Values};

use crate::plan::{Dim, Plan, Var};

/// All samples by name. Each covers one subject. Content that some reader cannot open has its own sample.
pub fn all() -> Vec<(&'static str, Plan)> {
    vec![
        ("types", types()),
        ("chars", chars()),
        ("scalars", scalars()),
        ("strings", strings()),
        ("attributes", attributes()),
        ("wide", wide()),
        ("filters", filters()),
        ("chains", chains()),
        ("codecs", codecs()),
        ("negative", negative()),
        ("chunks", chunks()),
        ("fills", fills()),
        ("groups", groups()),
        ("unlimited", unlimited()),
        ("names", names()),
        ("empty", Plan::default()),
    ]
}

/// Five values of each number type, including its extremes.
fn extremes() -> Vec<(&'static str, Values)> {
    vec![
        ("byte", Values::Byte(vec![i8::MIN, -1, 0, 1, i8::MAX])),
        ("ubyte", Values::UByte(vec![0, 1, 2, 254, u8::MAX])),
        ("short", Values::Short(vec![i16::MIN, -1, 0, 258, i16::MAX])),
        ("ushort", Values::UShort(vec![0, 1, 258, 65534, u16::MAX])),
        ("int", Values::Int(vec![i32::MIN, -1, 0, 16_909_060, i32::MAX])),
        ("uint", Values::UInt(vec![0, 1, 16_909_060, u32::MAX - 1, u32::MAX])),
        ("int64", Values::Int64(vec![i64::MIN, -1, 0, 9_007_199_254_740_993, i64::MAX])),
        ("uint64", Values::UInt64(vec![0, 1, 9_007_199_254_740_993, u64::MAX - 1, u64::MAX])),
        ("float", Values::Float(vec![f32::MIN, -0.0, 0.1, f32::INFINITY, f32::NAN])),
        ("double", Values::Double(vec![f64::MIN, f64::MIN_POSITIVE, 0.1, f64::NEG_INFINITY, f64::NAN])),
    ]
}

fn types() -> Plan {
    let mut plan = Plan { dims: vec![Dim::fixed("x", 5)], ..Plan::default() };
    for (name, values) in extremes() {
        plan.vars.push(Var::new(name, &["x"], values.clone()));
        for (order, endian) in [("little", Endian::Little), ("big", Endian::Big)] {
            let var = Var { endian, ..Var::new(&format!("{name}_{order}"), &["x"], values.clone()) };
            plan.vars.push(var.chunked(&[2]));
        }
    }
    plan
}

/// A separate sample, because some readers cannot open a group with such a variable.
fn chars() -> Plan {
    let mut plan = Plan { dims: vec![Dim::fixed("x", 5), Dim::fixed("len", 2)], ..Plan::default() };
    plan.vars.push(Var::new("scalar", &[], Values::text("q")));
    plan.vars.push(Var::new("vector", &["x"], Values::text("a\"b\\c")));
    plan.vars.push(
        Var::new("matrix", &["x", "len"], Values::text("abcdefghij"))
            .chunked(&[2, 2])
            .filter("deflate", &[1]),
    );
    plan
}

fn scalars() -> Plan {
    let mut plan = Plan::default();
    for (name, values) in extremes() {
        let one = match values {
            Values::Byte(v) => Values::Byte(v[4..].to_vec()),
            Values::Double(_) => Values::Double(vec![0.1]),
            Values::Float(_) => Values::Float(vec![0.1]),
            Values::Int64(v) => Values::Int64(v[3..4].to_vec()),
            other => Values::from_native_bytes(
                other.nc_type(),
                &other.to_native_bytes().expect("numbers")[..other.nc_type().size().expect("numbers")],
            )
            .expect("one number"),
        };
        plan.vars.push(Var::new(name, &[], one));
    }
    plan.vars.push(Var::new("string", &[], texts(&["one string"])).att("_nczarr_maxstrlen", 16));
    plan
}

fn texts(items: &[&str]) -> Values {
    Values::String(items.iter().map(|item| NcString::from(*item)).collect())
}

fn strings() -> Plan {
    let mut plan = Plan { dims: vec![Dim::fixed("x", 3)], ..Plan::default() };
    plan.vars.push(Var::new("default", &["x"], texts(&["a", "größe 水温", "c d"])));
    plan.vars.push(Var::new("short", &["x"], texts(&["abc", "d", "ef"])).att("_nczarr_maxstrlen", 3));
    plan.vars.push(Var::new("deflated", &["x"], texts(&["abc", "d", "ef"])).filter("deflate", &[4]));
    plan
}

fn attributes() -> Plan {
    let mut plan = Plan { dims: vec![Dim::fixed("x", 1)], ..Plan::default() };
    let mut atts = Vec::new();
    for (name, values) in extremes() {
        let (ty, bytes) = (values.nc_type(), values.to_native_bytes().expect("numbers"));
        let size = ty.size().expect("numbers");
        for (which, item) in bytes.chunks(size).enumerate() {
            atts.push((format!("{name}_{which}"), Values::from_native_bytes(ty, item).expect("one number")));
        }
        // The widest number comes first, because some readers take the type from the first number.
        let down: Vec<u8> = bytes[..3 * size].chunks(size).rev().flatten().copied().collect();
        if ty != NcType::Int64 {
            atts.push((format!("{name}_list"), Values::from_native_bytes(ty, &down).expect("numbers")));
        }
    }
    for (name, text) in [
        ("text", "some text"),
        ("unicode", "größe 日本 🌊"),
        ("escapes", "a \"quoted\" \\ back\\slash\nline\ttab"),
        ("number", "1.10"),
        ("nan", "NaN"),
        ("true", "true"),
        ("empty", ""),
    ] {
        atts.push((name.to_owned(), Values::text(text)));
    }
    atts.push(("string".to_owned(), texts(&["a string"])));
    atts.push(("strings".to_owned(), texts(&["a", "bcd", "e f"])));
    plan.atts.clone_from(&atts);
    plan.vars.push(Var { atts, ..Var::new("v", &["x"], Values::Int(vec![1])) });
    plan
}

/// A separate sample of numbers whose first element fits a narrower type than the others.
fn wide() -> Plan {
    let mut plan = Plan::default();
    plan.att("unsigned", Values::UInt(vec![0, u32::MAX]));
    plan.att("long", Values::Int64(vec![1, i64::MAX]));
    plan.att("fraction", Values::Double(vec![1.0, 2.5]));
    plan
}

/// Values that compress moderately.
fn ramp(ty: NcType, len: usize) -> Values {
    let number = |i: usize| (i / 3 * 7 % 251) as f64;
    match ty {
        NcType::Short => Values::Short((0..len).map(|i| number(i) as i16 * 100).collect()),
        NcType::Float => Values::Float((0..len).map(|i| number(i) as f32 / 8.0).collect()),
        _ => Values::Double((0..len).map(|i| number(i) / 10.0).collect()),
    }
}

/// Filters by name and parameters, in the order of encoding.
type Chain = Vec<(&'static str, Vec<u32>)>;

fn filters() -> Plan {
    let mut plan = Plan { dims: vec![Dim::fixed("y", 11), Dim::fixed("x", 70)], ..Plan::default() };
    let mut chains: Vec<(String, Chain)> = vec![
        ("shuffle".to_owned(), vec![("shuffle", vec![])]),
        ("fletcher32".to_owned(), vec![("fletcher32", vec![])]),
        ("shuffle_zstd".to_owned(), vec![("shuffle", vec![]), ("zstd", vec![3])]),
        ("fletcher32_deflate".to_owned(), vec![("fletcher32", vec![]), ("deflate", vec![1])]),
        ("all".to_owned(), vec![("shuffle", vec![]), ("fletcher32", vec![]), ("deflate", vec![6])]),
    ];
    for level in [1, 9] {
        chains.push((format!("bzip2_{level}"), vec![("bzip2", vec![level])]));
    }
    for level in [0, 1, 9] {
        chains.push((format!("deflate{level}"), vec![("deflate", vec![level])]));
        chains.push((format!("shuffle_deflate{level}"), vec![("shuffle", vec![]), ("deflate", vec![level])]));
        chains.push((format!("zstd{level}"), vec![("zstd", vec![level])]));
    }
    for (compressor, name) in [(0, "blosclz"), (1, "lz4"), (2, "lz4hc"), (4, "zlib"), (5, "zstd")] {
        for shuffle in 0..3 {
            chains.push((
                format!("blosc_{name}_{shuffle}"),
                vec![("blosc", vec![0, 0, 0, 0, 5, shuffle, compressor])],
            ));
        }
    }
    for (name, chain) in chains {
        for ty in [NcType::Short, NcType::Float, NcType::Double] {
            let mut var =
                Var::new(&format!("{name}_{}", ty.name()), &["y", "x"], ramp(ty, 11 * 70)).chunked(&[4, 32]);
            for (filter, params) in &chain {
                var = var.filter(filter, params);
            }
            plan.vars.push(var);
        }
    }
    plan
}

/// A separate sample of filters that few readers support.
fn codecs() -> Plan {
    let (xz, alone, none) = (1, 2, u32::MAX);
    let sums = ["crc32", "crc32c", "adler32"].map(|name| [(name, vec![]), (name, vec![0]), (name, vec![1])]);
    let others: [(&str, Vec<u32>); 8] = [
        ("lz4", vec![]),
        ("lz4", vec![0, 100]),
        ("lzma", vec![]),
        ("lzma", vec![9]),
        ("lzma", vec![xz, 10, 2, 0]),
        ("lzma", vec![alone, none, none, 0]),
        // Raw LZMA: a delta of four bytes, then LZMA2 with preset 1.
        ("lzma", vec![3, none, none, 0, 3, 1 << 9, 4, 33, 1, 1]),
        ("jenkins_lookup3", vec![7]),
    ];
    let mut plan = Plan { dims: vec![Dim::fixed("y", 11), Dim::fixed("x", 70)], ..Plan::default() };
    for (at, (name, params)) in sums.into_iter().flatten().chain(others).enumerate() {
        for ty in [NcType::Int, NcType::Double] {
            let var = Var::new(&format!("{name}_{at}_{}", ty.name()), &["y", "x"], ramp(ty, 11 * 70));
            plan.vars.push(var.chunked(&[4, 32]).filter(name, &params));
        }
    }
    plan
}

/// Every order of one, two and three filters on numbers and on text.
fn chains() -> Plan {
    let mut plan = Plan { dims: vec![Dim::fixed("x", 90), Dim::fixed("s", 4)], ..Plan::default() };
    let filters: [(&str, &[u32]); 5] = [
        ("shuffle", &[]),
        ("fletcher32", &[]),
        ("deflate", &[6]),
        ("zstd", &[3]),
        ("blosc", &[0, 0, 0, 0, 5, 1, 1]),
    ];
    let mut chains: Vec<Vec<usize>> = vec![Vec::new()];
    for _ in 0..3 {
        let longer = chains.iter().flat_map(|chain| {
            let rest = (0..filters.len()).filter(|next| !chain.contains(next));
            rest.map(|next| [chain.as_slice(), &[next]].concat())
        });
        chains.extend(longer.collect::<Vec<_>>());
    }
    chains.sort();
    chains.dedup();
    for chain in &chains[1..] {
        let name = chain.iter().map(|&at| filters[at].0).collect::<Vec<_>>().join("_");
        let numbers = Var::new(&name, &["x"], ramp(NcType::Short, 90)).chunked(&[40]);
        let words = Var::new(&format!("{name}_text"), &["s"], texts(&["abc", "größe", "", "d"]));
        for mut var in [numbers, words.chunked(&[3])] {
            for &at in chain {
                var = var.filter(filters[at].0, filters[at].1);
            }
            plan.vars.push(var);
        }
    }
    plan
}

/// A separate sample, because some readers refuse such a level and the whole dataset.
fn negative() -> Plan {
    let var = Var::new("zstd", &["x"], ramp(NcType::Double, 700))
        .chunked(&[320])
        .filter("zstd", &[5u32.wrapping_neg()]);
    Plan { dims: vec![Dim::fixed("x", 700)], vars: vec![var], ..Plan::default() }
}

fn chunks() -> Plan {
    let lengths = [("a", 5), ("b", 4), ("c", 3), ("d", 2)];
    let dims = lengths.iter().map(|(name, len)| Dim::fixed(name, *len)).collect();
    let mut plan = Plan { dims, ..Plan::default() };
    for rank in 1..=4 {
        let names: Vec<&str> = lengths[..rank].iter().map(|(name, _)| *name).collect();
        let shape: Vec<u64> = lengths[..rank].iter().map(|(_, len)| *len).collect();
        let count = shape.iter().product::<u64>() as i32;
        for (kind, chunk) in [("ones", vec![1; rank]), ("twos", vec![2; rank]), ("whole", shape.clone())] {
            let values = Values::Int((0..count).map(|i| i * 1001 - 7).collect());
            plan.vars.push(Var::new(&format!("{kind}{rank}"), &names, values).chunked(&chunk));
        }
        let unwritten = Values::Int(vec![nczarr::model::fill::INT; count as usize]);
        plan.vars.push(Var { written: false, ..Var::new(&format!("unwritten{rank}"), &names, unwritten) });
    }
    plan
}

fn fills() -> Plan {
    let mut plan = Plan { dims: vec![Dim::fixed("x", 4)], ..Plan::default() };
    for (name, values) in extremes() {
        let (ty, bytes) = (values.nc_type(), values.to_native_bytes().expect("numbers"));
        let size = ty.size().expect("numbers");
        for (which, item) in bytes.chunks(size).enumerate().filter(|(which, _)| [0, 2, 3, 4].contains(which))
        {
            let fill = Values::from_native_bytes(ty, item).expect("one number");
            let data = Values::from_native_bytes(ty, &item.repeat(4)).expect("four numbers");
            let var = Var::new(&format!("{name}_{which}"), &["x"], data);
            plan.vars.push(
                Var { fill: Some(fill.clone()), written: false, ..var }.att("_FillValue", fill).chunked(&[3]),
            );
        }
        let data =
            nczarr::model::fill::default(ty).expect("numbers").to_native_bytes().expect("numbers").repeat(4);
        let data = Values::from_native_bytes(ty, &data).expect("four numbers");
        plan.vars.push(Var { written: false, ..Var::new(&format!("{name}_default"), &["x"], data) });
    }
    plan
}

fn groups() -> Plan {
    let var = |name: &str, dims: &[&str], values: &[i32]| Var::new(name, dims, Values::Int(values.to_vec()));
    let inner = Plan {
        dims: vec![Dim::fixed("z", 2)],
        vars: vec![
            var("own", &["z"], &[1, 2]),
            var("inherited", &["x"], &[3, 4, 5]),
            var("both", &["z", "x"], &[6; 6]),
        ],
        atts: vec![("depth".to_owned(), Values::Int(vec![2]))],
        ..Plan::default()
    };
    let sibling = Plan {
        dims: vec![Dim::fixed("x", 1)],
        vars: vec![var("own", &["x"], &[9])],
        groups: vec![("inner".to_owned(), Plan::default())],
        ..Plan::default()
    };
    Plan {
        dims: vec![Dim::fixed("x", 3)],
        vars: vec![var("own", &["x"], &[0, 1, 2])],
        groups: vec![
            ("g1".to_owned(), Plan { groups: vec![("inner".to_owned(), inner)], ..Plan::default() }),
            ("g2".to_owned(), sibling),
            ("empty".to_owned(), Plan::default()),
        ],
        ..Plan::default()
    }
}

fn unlimited() -> Plan {
    let shorts = |len: i16| Values::Short((0..len).collect());
    Plan {
        dims: vec![Dim::unlimited("time", 4), Dim::unlimited("cell", 3), Dim::fixed("x", 2)],
        vars: vec![
            Var::new("time", &["time"], Values::Double(vec![0.0, 0.5, 1.0, 1.5]))
                .att("units", "days since 2000-01-01"),
            Var::new("t", &["time", "x"], shorts(8)).chunked(&[1, 2]),
            Var::new("both", &["time", "cell"], shorts(12)).chunked(&[2, 2]),
            Var::new("packed", &["time", "x"], shorts(8))
                .chunked(&[3, 2])
                .filter("shuffle", &[])
                .filter("deflate", &[4]),
        ],
        ..Plan::default()
    }
}

fn names() -> Plan {
    let names = ["größe", "日本", "with space", "dot.dash-plus+", "a@b", "x(1)", "_leading", "MiXed", "100"];
    let mut plan = Plan { dims: vec![Dim::fixed("dim größe", 2)], ..Plan::default() };
    for name in names {
        plan.vars.push(Var::new(name, &["dim größe"], Values::Int(vec![1, 2])).att(name, "attribute"));
    }
    plan.groups.push((
        "gruppe ü".to_owned(),
        Plan { vars: vec![Var::new("v", &["dim größe"], Values::Int(vec![7, 8]))], ..Plan::default() },
    ));
    plan
}
