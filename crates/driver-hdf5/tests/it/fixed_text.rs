//! A file of h5py with strings of a fixed size. A session that writes it keeps everything that it does not
//! change.
//!
//! `fixed-text.h5` has strings of 6 bytes in three kinds: ended by a zero (`zero_ended`), padded with zeros
//! in UTF-8 (`zeros`), and padded with blanks (`blanks`). Of each kind it has contiguous, chunked and empty
//! arrays, and two attributes.

use std::sync::Arc;

use nczarr_dispatch::{Dataset, Options, Place, Registry};
use nczarr_driver_hdf5::Hdf5Driver;
use nczarr_model::{ErrorKind, NcString, NcType, Slab, Values};
use nczarr_nc_table::NcDispatch as _;

use crate::support::{ROOT, all, put};

const FILE: &[u8] = include_bytes!("../foreign/fixed-text.h5");

/// The stored cells of each kind, and their form: padding, and character set in the upper half.
const KINDS: [(&str, u8, [&[u8]; 5]); 3] = [
    ("zero_ended", 0x00, [b"one\0\0\0", b"sixsix", b"\0\0\0\0\0\0", b"ab\0zz\0", b"tail\0\0"]),
    ("zeros", 0x11, [b"\xc3\xa91\0\0\0", b"sixsix", b"\0\0\0\0\0\0", b"a\0b\0\0\0", b"tail\0\0"]),
    ("blanks", 0x02, [b"one   ", b"sixsix", b"      ", b"a b   ", b"tail  "]),
];

fn open(bytes: &[u8], writable: bool) -> Arc<dyn Dataset> {
    let registry = Arc::new(Registry::new().with_driver(Hdf5Driver));
    registry.open_bytes(&Place::url("x.nc"), bytes.to_vec().into(), writable, &Options::default()).unwrap()
}

/// Returns the text that readers see in a cell.
fn shown(cell: &[u8]) -> NcString {
    cell.split(|&byte| byte == 0).next().unwrap_or_default().into()
}

fn count(image: &[u8], part: &[u8]) -> usize {
    image.windows(part.len()).filter(|found| *found == part).count()
}

/// Returns the start of an attribute's message: version, name, and the datatype of a string.
fn attribute(name: &str, form: u8) -> Vec<u8> {
    [name.as_bytes(), &[0, 0x13, form, 0, 0, 6, 0, 0, 0]].concat()
}

#[test]
fn fixed_size_strings_survive_foreign_writes() {
    let ds = open(FILE, true);
    for (kind, ..) in KINDS {
        let chunked = ds.inq_varid(ROOT, &format!("{kind}_chunked")).unwrap();
        // Its chunk has another string, which is stored anew.
        put(&*ds, chunked, &[2], &[1], &Values::String(vec!["new".into()]));
    }
    ds.put_att(ROOT, None, "added", NcType::Int, &Values::Int(vec![1])).unwrap();
    ds.close().unwrap();
    let image = ds.image().unwrap();
    for writable in [false, true] {
        let ds = open(&image, writable);
        let model = ds.model().snapshot();
        let atts = &model.group(ROOT).unwrap().atts;
        for (kind, _, cells) in KINDS {
            let mut strings = cells.map(shown).to_vec();
            let read = |form: &str| all(&*ds, ds.inq_varid(ROOT, &format!("{kind}_{form}")).unwrap());
            assert_eq!(read("flat"), Values::String(strings.clone()), "{kind}");
            assert_eq!(atts[&format!("{kind}_list")], Values::String(strings.clone()), "{kind}");
            assert_eq!(atts[kind], Values::Char(cells[0].to_vec()), "{kind}");
            assert_eq!(read("empty"), Values::String(vec!["".into(); 5]), "{kind}");
            strings[2] = if kind == "blanks" { "new   ".into() } else { "new".into() };
            assert_eq!(read("chunked"), Values::String(strings), "{kind}");
        }
        ds.close().unwrap();
    }
    for (kind, form, cells) in KINDS {
        for name in [kind.to_owned(), format!("{kind}_list")] {
            let stored = attribute(&name, form);
            assert!(count(&image, &stored) > count(FILE, &stored), "{name} is described anew and as before");
        }
        let cells = cells.concat();
        assert_eq!(count(&image, &cells), count(FILE, &cells) + 1, "{kind}: also in the new attribute");
    }
}

#[test]
fn a_string_that_does_not_fit_is_refused() {
    let ds = open(FILE, true);
    for (kind, ..) in KINDS {
        for form in ["flat", "chunked", "empty"] {
            let id = ds.inq_varid(ROOT, &format!("{kind}_{form}")).unwrap();
            let before = all(&*ds, id);
            let slab = Slab::new(&[1], &[1]).check(&[5], |_| false).unwrap();
            for (text, error) in [("sevensx", ErrorKind::Inval), ("a\0b", ErrorKind::Char)] {
                let memory = [NcString::from(text)];
                let found = ds.data(id).unwrap().put(&slab, nczarr_dispatch::MemRef::Strings(&memory));
                assert_eq!(found.unwrap_err().kind(), error, "{kind}_{form}: {text:?}");
            }
            assert_eq!(all(&*ds, id), before, "{kind}_{form}");
        }
    }
}

/// The data of a variable without data may get another layout, but no other type.
#[test]
fn a_new_fill_value_keeps_the_size_of_strings() {
    let ds = open(FILE, true);
    let id = ds.inq_varid(ROOT, "blanks_empty").unwrap();
    ds.put_att(ROOT, Some(id), "_FillValue", NcType::String, &Values::String(vec!["no".into()])).unwrap();
    assert_eq!(all(&*ds, id), Values::String(vec!["no    ".into(); 5]));
    put(&*ds, id, &[1], &[1], &Values::String(vec!["yes".into()]));
    ds.close().unwrap();
    let image = ds.image().unwrap();
    assert_eq!(count(&image, b"no    yes   no    no    no    "), 1);
    let strings = ["no    ", "yes   ", "no    ", "no    ", "no    "].map(NcString::from);
    assert_eq!(all(&*open(&image, false), id), Values::String(strings.to_vec()));
}

/// As in netCDF-C, an attribute in a form that netCDF would not give it moves to the end when it is written.
#[test]
fn an_attribute_in_a_foreign_form_moves_when_it_is_put() {
    let ds = open(FILE, true);
    let names = |ds: &dyn Dataset| {
        let model = ds.model().snapshot();
        model.group(ROOT).unwrap().atts.keys().cloned().collect::<Vec<_>>()
    };
    let mut before = names(&*ds);
    let same = Values::Char(KINDS[2].2[0].to_vec());
    ds.put_att(ROOT, None, "blanks", NcType::Char, &same).unwrap();
    assert_eq!(names(&*ds), before);
    ds.close().unwrap();
    before.retain(|name| name != "blanks");
    before.push("blanks".to_owned());
    assert_eq!(names(&*open(&ds.image().unwrap(), false)), before);
}

/// `text-field.h5` has a compound type with text of 6 bytes, and an attribute of that type. The model shows
/// the text as characters, so the type would be stored as another one.
#[test]
fn a_type_with_text_of_a_fixed_size_is_not_written() {
    let file = include_bytes!("../foreign/text-field.h5");
    let atts = open(file, false).model().snapshot().group(ROOT).unwrap().atts.clone();
    assert!(atts.contains_key("c"));
    let registry = Registry::new().with_driver(Hdf5Driver);
    let opened =
        Arc::new(registry).open_bytes(&Place::url("x.nc"), file.to_vec().into(), true, &Options::default());
    let error = opened.unwrap_err();
    assert!(error.kind() == ErrorKind::Perm && error.to_string().contains("text of 6 bytes"), "{error}");
}
