//! Texts that omit values or lengths: the amount of filled data is limited, and lines form the right rows.

use std::sync::Arc;

use nczarr_cdl::{Cdl, CdlTarget, SpecialLayout};
use nczarr_model::{Defined, Edit, ErrorKind, Item, Model, Result, Values, VarId};

/// The written data, and the sizes of the writes.
#[derive(Default)]
struct Written {
    model: Model,
    /// The number of elements, and their bytes.
    elements: u64,
    bytes: u64,
    /// Bytes of the largest block of more than one element.
    largest: u64,
    /// The last block.
    last: Option<Values>,
    /// Characters with their positions.
    chars: Vec<(Vec<u64>, Vec<u8>)>,
}

impl CdlTarget for Written {
    fn model(&self) -> Arc<Model> {
        Arc::new(self.model.clone())
    }

    fn edit(&mut self, edit: &Edit<'_>) -> Result<Defined> {
        self.model.apply(edit)
    }

    fn lay_out(&mut self, _var: VarId, _layout: &SpecialLayout) -> Result<()> {
        Ok(())
    }

    fn defined(&mut self) -> Result<()> {
        Ok(())
    }

    fn put(&mut self, _var: VarId, start: &[u64], count: &[u64], values: Values) -> Result<()> {
        let elements: u64 = count.iter().product();
        assert_eq!(elements, self.model.count(&values)? as u64);
        let bytes = match &values {
            Values::User(_, bytes) => bytes.len() as u64,
            Values::Packed(_, list) => list.iter().map(|one| one.as_bytes().len() as u64).sum(),
            Values::Char(bytes) => {
                self.chars.push((start.to_vec(), bytes.clone()));
                bytes.len() as u64
            }
            other => other.len() as u64,
        };
        (self.elements, self.bytes) = (self.elements + elements, self.bytes + bytes);
        if elements > 1 {
            self.largest = self.largest.max(bytes);
        }
        self.last = Some(values);
        Ok(())
    }
}

fn written(text: &str) -> std::result::Result<Written, nczarr_cdl::CdlError> {
    let mut written = Written::default();
    Cdl::parse(text.as_bytes()).and_then(|cdl| cdl.build(&mut written)).map(|()| written)
}

#[test]
fn a_short_text_cannot_expand_to_gigabytes() {
    let text = |ty: &str, n: u64, data: &str| {
        format!(
            "netcdf x {{ types: compound C {{ {ty} }}; dimensions: n = {n}; variables: C v(n); data: v = {data}; }}"
        )
    };
    // Above the limit for omitted data, only the values of the text are written.
    for (ty, n) in [("string s; int a(1000000);", 5_000_000), ("int b; int a(1000000);", 16_000_000)] {
        let data = if ty.starts_with("string") { "{\"x\"}" } else { "{1}" };
        let found = written(&text(ty, n, data)).unwrap();
        assert_eq!(found.elements, 1, "{ty}");
        assert!(found.bytes < 5_000_000, "{ty}: {}", found.bytes);
    }
    // Consecutive large elements are written one by one.
    let found = written(&text("string s; int a(1000000);", 3, "{\"x\"}, {\"y\"}, {\"z\"}")).unwrap();
    assert_eq!((found.elements, found.largest), (3, 0));
    // Below the limit, everything is written in blocks.
    for (ty, data) in [("string s; int a(1000);", "{\"x\"}"), ("int b; int a(1000);", "{1}")] {
        let found = written(&text(ty, 3000, data)).unwrap();
        assert_eq!(found.elements, 3000, "{ty}");
        assert!(
            found.bytes > 12_000_000 && found.largest <= 4 << 20,
            "{ty}: {} {}",
            found.bytes,
            found.largest
        );
        let items = found.model.items(&found.last.unwrap()).unwrap();
        let Some(Item::Compound(parts)) = items.last() else { panic!("{items:?}") };
        assert_eq!(
            (parts[1].len(), &parts[1][999]),
            (1000, &Item::Int(nczarr_model::fill::INT.into())),
            "{ty}"
        );
    }
}

#[test]
fn all_variables_share_one_limit_of_omitted_elements() {
    let vars: Vec<String> = (0..40).map(|at| format!("C v{at}(n);")).collect();
    let data: Vec<String> = (0..40).map(|at| format!("v{at} = {{1}};")).collect();
    let (vars, data) = (vars.concat(), data.concat());
    let text = format!(
        "netcdf x {{ types: compound C {{ int b; int a(1023); }}; dimensions: n = 4096; variables: {vars} data: {data} }}"
    );
    let found = written(&text).unwrap();
    // Each variable has one element in the text. The limit applies to all other elements.
    assert_eq!((found.elements, found.bytes), (16 * 4095 + 40, (16 * 4095 + 40) * 4096));
}

#[test]
fn too_many_omitted_elements_are_an_error() {
    for (types, data) in [
        ("compound C { int b; int a(2000000); };", "{1}"),
        ("compound I { int a(1000); }; compound C { int b; I i(2000); };", "{1}"),
        ("compound I { int a(1000); }; compound C { int b; I i(2000); };", "_"),
        ("compound C { char c(100000000); };", "{\"x\"}"),
        ("compound I { int b; int a(1000000); }; I(*) C;", "{{1}, {1}, {1}}"),
    ] {
        let text = format!("netcdf x {{ types: {types} variables: C v; data: v = {data}; }}");
        let mistake = written(&text).err().unwrap_or_else(|| panic!("{text}"));
        assert_eq!(mistake.error.kind(), ErrorKind::NoMem, "{mistake}");
    }
    let att = |values: &str| {
        format!(
            "netcdf x {{ types: compound C {{ int b; int a(1000000); }}; // global attributes\n C :a = {values}; }}"
        )
    };
    written(&att("{1}")).unwrap();
    assert_eq!(written(&att("{1}, {1}")).err().unwrap().error.kind(), ErrorKind::NoMem);
}

#[test]
fn lines_are_one_row_only_where_the_dimensions_say_so() {
    let rows = "\n  \"a\\n\",\n    \"b\"";
    let text = |dim: &str, data: &str| {
        format!(
            "netcdf x {{\ndimensions:\n\tr = {dim}\n\tc = 4 ;\nvariables:\n\tchar v(r, c) ;\ndata:\n\n v ={data} ;\n}}\n"
        )
    };
    let (two, one) = (&b"a\n\0\0b\0\0\0"[..], &b"a\nb\0"[..]);
    for (dim, expected) in [
        ("2 ;", two),
        ("1 ;", one),
        ("3 ;", two),
        ("UNLIMITED ; // (1 currently)", one),
        ("UNLIMITED ; // (2 currently)", two),
        // Texts written by hand, without a valid length.
        ("UNLIMITED ;", two),
        ("UNLIMITED ; // one or two", two),
    ] {
        let found = written(&text(dim, rows)).unwrap().chars;
        assert_eq!(found, [(vec![0, 0], expected.to_vec())], "{dim}");
    }
    // A row is at most as long as its dimension.
    let long = text("UNLIMITED ; // (1 currently)", "\n  \"abc\\n\",\n    \"b\"");
    assert_eq!(written(&long).unwrap().chars[0].1, b"abc\nb\0\0\0");
}

#[test]
fn the_length_comment_sets_the_number_of_trailing_nuls() {
    let text = |dim: &str, data: &str| {
        format!(
            "netcdf x {{\ndimensions:\n\tu = {dim}\nvariables:\n\tchar v(u) ;\ndata:\n v = {data} ;\n}}\n"
        )
    };
    let chars =
        |dim: &str, data: &str| written(&text(dim, data)).unwrap().chars.pop().map(|(_, bytes)| bytes);
    assert_eq!(chars("UNLIMITED ; // (3 currently)", "\"a\"").unwrap(), b"a\0\0");
    assert_eq!(chars("UNLIMITED ; // (1 currently)", "\"\"").unwrap(), b"\0");
    assert_eq!(chars("UNLIMITED ; // (1 currently)", "\"abc\"").unwrap(), b"abc");
    assert_eq!(chars("UNLIMITED ; // (9999999999999 currently)", "\"a\"").unwrap(), b"a");
    assert_eq!(chars("UNLIMITED ;", "\"\""), None);
}

#[test]
fn rows_of_characters_keep_their_order() {
    let text = |dims: &str, data: &str| {
        format!("netcdf x {{ dimensions: {dims} variables: char c(n, m); data: c = {data}; }}")
    };
    // The rest of each row stays unwritten and reads as fill values. The last element of a dimension is
    // written, so that its length is known.
    let found = written(&text("n = 1000000000; m = 1000000000;", "\"a\", \"bc\", \"\"")).unwrap();
    assert_eq!((found.elements, found.largest), (6, 2));
    let last = 999_999_999;
    let places: Vec<_> =
        found.chars.iter().map(|(start, bytes)| (start[0], start[1], bytes.as_slice())).collect();
    let expected: [(u64, u64, &[u8]); 5] =
        [(0, 0, b"a"), (0, last, b"\0"), (1, 0, b"bc"), (1, last, b"\0"), (2, last, b"\0")];
    assert_eq!(places, expected);
    // Below the limit, everything is written in blocks.
    let found = written(&text("n = 9; m = 3000001;", "\"a\", \"b\", \"\"")).unwrap();
    assert!(
        found.elements == 3 * 3_000_001 && found.largest <= (8 << 20),
        "{} {}",
        found.elements,
        found.largest
    );
    let all: Vec<u8> = found.chars.iter().flat_map(|(_, bytes)| bytes.iter().copied()).collect();
    assert_eq!((all[0], all[3_000_001], all.iter().filter(|&&byte| byte != 0).count()), (b'a', b'b', 2));
    // Any number of short rows is written.
    let rows = vec!["\"a\""; 100_000].join(", ");
    assert_eq!(written(&text("n = UNLIMITED; m = 4000;", &rows)).unwrap().elements, 400_000_000);
}

#[test]
fn empty_elements_count_as_omitted() {
    let text = |n: usize| {
        let data = vec!["{}"; n].join(", ");
        format!(
            "netcdf x {{ types: compound C {{ int t(100000); }}; dimensions: n = {n}; variables: C v(n); data: v = {data}; }}"
        )
    };
    assert_eq!(written(&text(100)).unwrap().elements, 100);
    assert_eq!(written(&text(1000)).err().unwrap().error.kind(), ErrorKind::NoMem);
}
