//! Cases that the reference texts lack: formats of variables, bytes of any value, parts of a dataset, and
//! sources that fail or return wrong data.

use nczarr_cdl::{DataSource, Facts, NoData, Options, PrintedPart};
use nczarr_model::{
    ErrorKind, Field, GroupId, Model, NcType, Result, TypeClass, TypeId, UserType, Values, Var, VarId,
};

/// A source with one fixed answer for each variable.
struct Answers(Vec<Result<Values>>);

impl DataSource for Answers {
    fn read(&mut self, var: VarId, _: &[u64], _: &[u64]) -> Result<Values> {
        self.0[var.index()].clone()
    }
}

fn printed(model: &Model, options: &Options, source: &mut dyn DataSource) -> (String, Result<()>) {
    let mut out = Vec::new();
    let outcome = nczarr_cdl::print(model, &Facts::default(), options, source, &mut out);
    (String::from_utf8_lossy(&out).into_owned(), outcome)
}

/// Name, type, lengths, attributes and values of a variable.
type Given<'a> = (&'a str, NcType, &'a [u64], &'a [(&'a str, Values)], Values);

/// Returns the data section of a dataset with these variables.
fn data(vars: &[Given<'_>], options: &Options) -> (String, Result<()>) {
    let mut model = Model::new();
    let mut answers = Vec::new();
    for (name, xtype, lens, atts, values) in vars {
        let mut var = Var { name: (*name).into(), xtype: *xtype, ..Var::default() };
        for (i, &len) in lens.iter().enumerate() {
            var.dims.push(model.add_dim(GroupId::ROOT, format!("{name}{i}"), len, false).unwrap());
        }
        var.atts = atts.iter().map(|(name, values)| ((*name).to_owned(), values.clone())).collect();
        model.add_var(var).unwrap();
        answers.push(Ok(values.clone()));
    }
    let (text, outcome) = printed(&model, options, &mut Answers(answers));
    let (_, data) = text.split_once("data:\n").unwrap_or_default();
    (data.to_owned(), outcome)
}

#[test]
fn a_format_of_the_variable_is_used_unless_digits_are_asked_for() {
    let format = |text: &str| ("C_format", Values::text(text));
    let vars: [Given<'_>; 4] = [
        ("f", NcType::Float, &[3], &[format("%4.1f")], Values::Float(vec![1.25, f32::NAN, 1e10])),
        ("i", NcType::Int, &[3], &[format("%05x")], Values::Int(vec![1, nczarr_model::fill::INT, -1])),
        ("d", NcType::Double, &[], &[format("v=%8.3e")], Values::Double(vec![3.5])),
        ("bad", NcType::Double, &[], &[format("%n%s")], Values::Double(vec![3.5])),
    ];
    assert_eq!(
        data(&vars, &Options::default()).0,
        "\n f =  1.2, NaNf, 10000000000.0 ;\n\n i = 00001, _, ffffffff ;\n\n d = v=3.500e+00 ;\n\n bad = 3.5 ;\n}\n"
    );
    let options = Options { float_digits: Some(3), ..Options::default() };
    assert!(data(&vars, &options).0.starts_with("\n f = 1.25, NaNf, 1e+10 ;\n\n i = 00001, "));
}

#[test]
fn text_of_any_bytes() {
    let text = |bytes: &[u8]| Values::Char(bytes.to_vec());
    let vars: [Given<'_>; 3] = [
        ("a", NcType::Char, &[10], &[], text("a\nb\n'é\x01\x7f\0".as_bytes())),
        ("b", NcType::Char, &[3, 3], &[], text(b"x\n\0y\0z\n\0\0")),
        ("s", NcType::String, &[2], &[], Values::String(vec![b"\xff\n\"".as_slice().into(), "".into()])),
    ];
    let (text, outcome) = data(&vars, &Options::default());
    outcome.unwrap();
    assert_eq!(
        text,
        "\n a = \"a\\n\",\n    \"b\\n\",\n    \"\\'\\303\\251\\001\\177\" ;\n\n b =\n  \"x\\n\",\n    \"\",\n  \"y\\000z\",\n  \
         \"\\n\",\n    \"\" ;\n\n s = \"\u{fffd}\\n\\\"\", _ ;\n}\n"
    );
}

#[test]
fn fill_values_are_compared_as_numbers() {
    let fill = |values: Values| ("_FillValue", values);
    let vars: [Given<'_>; 5] = [
        ("z", NcType::Float, &[2], &[fill(Values::Float(vec![0.0]))], Values::Float(vec![-0.0, 1.0])),
        (
            "n",
            NcType::Double,
            &[2],
            &[fill(Values::Double(vec![f64::NAN]))],
            Values::Double(vec![-f64::NAN, 1.0]),
        ),
        // The fill value has another type, so the default one applies.
        (
            "t",
            NcType::Short,
            &[2],
            &[fill(Values::Int(vec![5]))],
            Values::Short(vec![5, nczarr_model::fill::SHORT]),
        ),
        // Unsigned bytes have no default fill value in print: each may be a valid value.
        ("b", NcType::UByte, &[1], &[], Values::UByte(vec![255])),
        (
            "s",
            NcType::String,
            &[2],
            &[fill(Values::String(vec!["x".into()]))],
            Values::String(vec!["x".into(), "".into()]),
        ),
    ];
    assert_eq!(
        data(&vars, &Options::default()).0,
        "\n z = _, 1 ;\n\n n = _, 1 ;\n\n t = 5, _ ;\n\n b = 255 ;\n\n s = _, \"\" ;\n}\n"
    );
}

fn two() -> Model {
    let mut model = Model::new();
    let x = model.add_dim(GroupId::ROOT, "x", 2, false).unwrap();
    for name in ["x", "y"] {
        model
            .add_var(Var { name: name.into(), xtype: NcType::Int, dims: vec![x], ..Var::default() })
            .unwrap();
    }
    model
}

#[test]
fn parts_of_a_dataset() {
    let model = two();
    let values = || Ok(Values::Int(vec![1, 2]));
    let header = "netcdf  {\ndimensions:\n\tx = 2 ;\nvariables:\n\tint x(x) ;\n\tint y(x) ;\n";
    for (options, want) in [
        (Options { part: PrintedPart::Header, ..Options::default() }, ""),
        (Options { part: PrintedPart::Coordinates, ..Options::default() }, "data:\n\n x = 1, 2 ;\n"),
        (Options { vars: vec![VarId(1)], ..Options::default() }, "data:\n\n y = 1, 2 ;\n"),
        (Options::default(), "data:\n\n x = 1, 2 ;\n\n y = 1, 2 ;\n"),
    ] {
        let (text, outcome) = printed(&model, &options, &mut Answers(vec![values(), values()]));
        outcome.unwrap();
        assert_eq!(text, format!("{header}{want}}}\n"));
    }
    let (text, outcome) = printed(&model, &Options::default(), &mut NoData);
    assert_eq!((text, outcome.unwrap_err().kind()), (format!("{header}data:\n}}\n"), ErrorKind::NoData));
}

#[test]
fn an_unreadable_variable_is_omitted_and_reported() {
    let broken = Err(ErrorKind::NoFilter.context("/x: no filter"));
    let values = Ok(Values::Int(vec![1, 2]));
    let (text, outcome) = printed(&two(), &Options::default(), &mut Answers(vec![broken, values]));
    assert!(text.ends_with("data:\n\n y = 1, 2 ;\n}\n"), "{text}");
    assert_eq!(outcome.unwrap_err().to_string(), "NC_ENOFILTER: /x: no filter");
}

#[test]
fn wrong_answers_of_a_source_are_errors() {
    for values in [Values::Int(vec![1]), Values::Int(vec![1, 2, 3]), Values::Short(vec![1, 2])] {
        let answers = vec![Ok(values), Ok(Values::Int(vec![1, 2]))];
        let (_, outcome) = printed(&two(), &Options::default(), &mut Answers(answers));
        assert_eq!(outcome.unwrap_err().kind(), ErrorKind::Internal);
    }
}

#[test]
fn types_that_contain_themselves_end() {
    let mut model = Model::new();
    let ty = NcType::User(TypeId(0));
    let fields = vec![Field { name: "me".into(), offset: 0, ty, shape: Vec::new() }];
    let class = TypeClass::Compound { size: 4, fields };
    model.add_type(UserType { name: "t".into(), group: GroupId::ROOT, class }).unwrap();
    model.group_mut(GroupId::ROOT).unwrap().atts.insert("a".into(), Values::User(TypeId(0), vec![0; 4]));
    let (_, outcome) = printed(&model, &Options::default(), &mut NoData);
    assert_eq!(outcome.unwrap_err().kind(), ErrorKind::BadType);
}
