//! Any sequence of edits of an existing dataset has the same result in Zarr V3 as in V2.

use nczarr::model::Slab;
use nczarr::{Dimension, ErrorKind, File, Group, MemRef, NcString, NcType, Result, Values, Variable};
use nczarr_tests::plan::Plan;
use proptest::prelude::*;

mod foreign;

/// One edit. Numbers choose among the existing objects.
#[derive(Debug, Clone)]
enum Edit {
    Dimension(u8, u8, u64),
    Group(u8, u8),
    Variable { group: u8, name: u8, ty: u8, dims: Vec<u8>, packed: bool },
    Chunks(u8, u64),
    Fill(u8, i8),
    Attribute(u8, u8, u8),
    DeleteAttribute(u8, u8),
    RenameAttribute(u8, u8, u8),
    RenameDimension(u8, u8),
    RenameVariable(u8, u8),
    RenameGroup(u8, u8),
    Put(u8, [u8; 3], [u8; 3]),
    Sync,
    Reopen,
}

const TYPES: [NcType; 8] = [
    NcType::Byte,
    NcType::Short,
    NcType::Int,
    NcType::Float,
    NcType::Double,
    NcType::UInt64,
    NcType::Char,
    NcType::String,
];

fn values(number: u8) -> Values {
    match number % 9 {
        0 => Values::Int(vec![number.into()]),
        1 => Values::Double(vec![f64::from_bits(0xfff8_0000_0000_0001), 1.0]),
        2 => Values::text("K"),
        3 => Values::text("{\"a\": [1,2]}"),
        4 => Values::String(vec!["a".into(), "ü".into()]),
        5 => Values::Short(vec![1, -2]),
        6 => Values::Float(vec![0.1]),
        7 => Values::Char(Vec::new()),
        _ => Values::UInt64(vec![u64::MAX]),
    }
}

fn pick<T: Clone>(all: &[T], number: u8) -> Result<T> {
    all.get(usize::from(number) % all.len().max(1)).cloned().ok_or_else(|| ErrorKind::NotFound.into())
}

fn groups(file: &File) -> Vec<Group> {
    let mut all = vec![file.root()];
    let mut next = 0;
    while let Some(group) = all.get(next) {
        all.extend(group.groups());
        next += 1;
    }
    all
}

fn variables(file: &File) -> Vec<Variable> {
    groups(file).iter().flat_map(Group::variables).collect()
}

/// The dimensions that are visible in a group.
fn dimensions(group: &Group) -> Vec<Dimension> {
    let mut all = group.dimensions();
    let mut here = group.parent();
    while let Some(group) = here {
        all.extend(group.dimensions());
        here = group.parent();
    }
    all
}

fn apply(file: &File, edit: &Edit) -> Result<()> {
    let name = |letter: char, number: u8| format!("{letter}{}", number % 5);
    let att = |number: u8| ["a", "ä b", "units", "x_long_name"][usize::from(number % 4)];
    match *edit {
        Edit::Dimension(group, number, len) => {
            let group = pick(&groups(file), group)?;
            match len {
                0 => group.add_unlimited_dimension(&name('d', number)).map(drop),
                len => group.add_dimension(&name('d', number), len).map(drop),
            }
        }
        Edit::Group(parent, number) => pick(&groups(file), parent)?.add_group(&name('g', number)).map(drop),
        Edit::Variable { group, name: number, ty, ref dims, packed } => {
            let group = pick(&groups(file), group)?;
            let seen = dimensions(&group);
            let dims = dims.iter().map(|&dim| Ok(pick(&seen, dim)?.name())).collect::<Result<Vec<_>>>()?;
            let dims: Vec<&str> = dims.iter().map(String::as_str).collect();
            let variable = group.add_variable_with_type(&name('v', number), pick(&TYPES, ty)?, &dims)?;
            if packed && variable.nc_type() != NcType::String && variable.rank() > 0 {
                variable.set_deflate(3, true)?;
            }
            Ok(())
        }
        Edit::Chunks(variable, size) => {
            let variable = pick(&variables(file), variable)?;
            let shape: Vec<u64> = variable
                .dimensions()
                .iter()
                .map(|dim| if dim.is_unlimited() { size } else { size.min(dim.len()) })
                .collect();
            if shape.is_empty() { Ok(()) } else { variable.set_chunking(&shape) }
        }
        Edit::Fill(variable, value) => {
            let variable = pick(&variables(file), variable)?;
            match variable.nc_type() {
                NcType::Byte => variable.set_fill(value),
                NcType::Short => variable.set_fill(i16::from(value)),
                NcType::Int => variable.set_fill(i32::from(value)),
                NcType::Float => variable.set_fill(f32::from(value) / 2.0),
                NcType::Double => {
                    variable.set_fill(if value == 0 { f64::NAN } else { f64::from(value) / 4.0 })
                }
                NcType::UInt64 => variable.set_fill(u64::from(value.unsigned_abs())),
                NcType::Char => variable.set_fill(Values::Char(vec![b'a' + value.unsigned_abs() % 20])),
                _ => Ok(()),
            }
        }
        Edit::Attribute(of, number, value) => match of % 3 {
            0 => pick(&groups(file), of / 3)?.put_attribute(att(number), values(value)),
            _ => pick(&variables(file), of / 3)?.put_attribute(att(number), values(value)),
        },
        Edit::DeleteAttribute(of, number) => match of % 3 {
            0 => pick(&groups(file), of / 3)?.delete_attribute(att(number)),
            _ => pick(&variables(file), of / 3)?.delete_attribute(att(number)),
        },
        Edit::RenameAttribute(of, number, to) => match of % 3 {
            0 => pick(&groups(file), of / 3)?.rename_attribute(att(number), att(to)),
            _ => pick(&variables(file), of / 3)?.rename_attribute(att(number), att(to)),
        },
        Edit::RenameDimension(dim, number) => {
            let all: Vec<Dimension> = groups(file).iter().flat_map(Group::dimensions).collect();
            pick(&all, dim)?.rename(&name('d', number))
        }
        Edit::RenameVariable(variable, number) => {
            pick(&variables(file), variable)?.rename(&name('v', number))
        }
        Edit::RenameGroup(group, number) => {
            let all = groups(file);
            pick(&all[1..], group)?.rename(&name('g', number))
        }
        Edit::Put(variable, start, count) => {
            let variable = pick(&variables(file), variable)?;
            let (mut from, mut lens) = (Vec::new(), Vec::new());
            for (at, dim) in variable.dimensions().iter().enumerate() {
                let room = if dim.is_unlimited() { dim.len() + 3 } else { dim.len() };
                let first = u64::from(start[at % 3]) % room;
                from.push(first);
                lens.push((1 + u64::from(count[at % 3]) % 4).min(room - first));
            }
            let slab = Slab::new(&from, &lens);
            let numbers = (0..slab.len()).map(|at| at as f64 + f64::from(count[0] % 90));
            match variable.nc_type() {
                NcType::String => {
                    let texts: Vec<NcString> =
                        numbers.map(|number| NcString::from(format!("n{number}"))).collect();
                    variable.write(&slab, MemRef::Strings(&texts))
                }
                NcType::Char => {
                    let bytes: Vec<u8> = numbers.map(|number| b' ' + number as u8 % 90).collect();
                    variable.write(&slab, MemRef::Fixed { ty: NcType::Char, bytes: &bytes })
                }
                _ => {
                    let bytes: Vec<u8> = numbers.flat_map(f64::to_ne_bytes).collect();
                    variable.write(&slab, MemRef::Fixed { ty: NcType::Double, bytes: &bytes })
                }
            }
        }
        Edit::Sync | Edit::Reopen => file.sync(),
    }
}

fn edits() -> impl Strategy<Value = Vec<Edit>> {
    let small = 0u8..12;
    let number = any::<u8>;
    prop::collection::vec(
        prop_oneof![
            3 => (number(), number(), 0u64..5).prop_map(|(a, b, c)| Edit::Dimension(a, b, c)),
            2 => (number(), number()).prop_map(|(a, b)| Edit::Group(a, b)),
            5 => (number(), number(), number(), prop::collection::vec(number(), 0..4), any::<bool>())
                .prop_map(|(group, name, ty, dims, packed)| Edit::Variable { group, name, ty, dims, packed }),
            2 => (number(), 1u64..5).prop_map(|(a, b)| Edit::Chunks(a, b)),
            2 => (number(), any::<i8>()).prop_map(|(a, b)| Edit::Fill(a, b)),
            5 => (number(), number(), number()).prop_map(|(a, b, c)| Edit::Attribute(a, b, c)),
            2 => (number(), number()).prop_map(|(a, b)| Edit::DeleteAttribute(a, b)),
            2 => (number(), number(), number()).prop_map(|(a, b, c)| Edit::RenameAttribute(a, b, c)),
            1 => (number(), number()).prop_map(|(a, b)| Edit::RenameDimension(a, b)),
            2 => (number(), number()).prop_map(|(a, b)| Edit::RenameVariable(a, b)),
            1 => (number(), number()).prop_map(|(a, b)| Edit::RenameGroup(a, b)),
            8 => (number(), any::<[u8; 3]>(), prop::array::uniform3(small)).prop_map(|(a, b, c)| Edit::Put(a, b, c)),
            2 => Just(Edit::Sync),
            4 => Just(Edit::Reopen),
        ],
        1..60,
    )
}

/// Number of cases: `usual`, or `PROPTEST_CASES`.
fn cases(usual: u32) -> ProptestConfig {
    let asked = std::env::var("PROPTEST_CASES").is_ok();
    let config = ProptestConfig::default();
    if asked { config } else { ProptestConfig { cases: usual, ..config } }
}

/// Applies the edits to both and compares the contents after each opening.
fn same(edits: &[Edit], urls: [String; 2]) {
    let mut files = urls.each_ref().map(|url| nczarr::create(url).unwrap());
    let content = |url: &String| -> nczarr::Result<String> {
        let file = nczarr::open(url)?;
        let plan = Plan::of(&file)?;
        let fills: Vec<_> = variables(&file).iter().map(Variable::fill_value).collect();
        Ok(format!("{plan:#?}\n{fills:#?}"))
    };
    for (at, edit) in edits.iter().chain([&Edit::Reopen]).enumerate() {
        let [two, three] = files.each_ref().map(|file| apply(file, edit).map_err(|error| error.kind()));
        assert_eq!(three, two, "edit {at}, {edit:?}");
        if matches!(edit, Edit::Reopen) {
            files.into_iter().for_each(|file| file.close().unwrap());
            let [two, three] = match urls.each_ref().map(content) {
                [Ok(two), Ok(three)] => [two, three],
                [two, three] => {
                    panic!("before edit {at}: version 3: {:?}, version 2: {:?}", three.err(), two.err())
                }
            };
            let differs = two.lines().zip(three.lines()).position(|(two, three)| two != three);
            if differs.is_some() || two.len() != three.len() {
                let from = differs.unwrap_or(0).saturating_sub(8);
                let part = |text: &str| text.lines().skip(from).take(24).collect::<Vec<_>>().join("\n");
                panic!("before edit {at}: version 3\n{}\nversion 2\n{}", part(&three), part(&two));
            }
            files = urls.each_ref().map(|url| nczarr::append(url).unwrap());
        }
    }
    files.into_iter().for_each(|file| file.close().unwrap());
}

proptest! {
    #![proptest_config(cases(32))]

    #[test]
    fn edits_of_version_2_and_3_agree(edits in edits()) {
        let urls = ["nczarr", "nczarr,v3"].map(|mode| {
            let folder = tempfile::Builder::new().prefix("edits").tempdir().unwrap();
            let name = folder.path().file_name().unwrap().to_string_lossy().into_owned();
            format!("memory://{name}#mode={mode}")
        });
        same(&edits, urls.clone());
        for url in &urls {
            nczarr::delete(url).unwrap();
        }
    }
}

#[test]
fn a_new_dimension_with_an_old_name_has_a_length_of_its_own() {
    for (len, old) in [(0, 3), (4, 0)] {
        let edits = [
            Edit::Dimension(0, 0, len),
            Edit::Variable { group: 0, name: 0, ty: 2, dims: vec![0], packed: false },
            Edit::Put(0, [0, 0, 0], [old, 0, 0]),
            Edit::Reopen,
            Edit::RenameDimension(0, 4),
            Edit::Dimension(0, 0, 0),
            Edit::Sync,
            Edit::Group(0, 0),
        ];
        let folder = tempfile::tempdir().unwrap();
        same(
            &edits,
            ["nczarr", "nczarr,v3"]
                .map(|mode| format!("file://{}/{mode}.zarr#mode={mode}", folder.path().display())),
        );
        let file =
            nczarr::open(format!("file://{}/nczarr.zarr#mode=nczarr", folder.path().display())).unwrap();
        assert_eq!(file.dimension("d0").unwrap().len(), 0);
        assert_ne!(file.dimension("d4").unwrap().len(), 0);
    }
}

proptest! {
    #![proptest_config(cases(12))]

    #[test]
    fn edits_of_directories_of_version_2_and_3_agree(edits in edits()) {
        let folder = tempfile::tempdir().unwrap();
        same(&edits, ["nczarr", "nczarr,v3"].map(|mode| {
            format!("file://{}/{mode}.zarr#mode={mode}", folder.path().display())
        }));
    }
}
