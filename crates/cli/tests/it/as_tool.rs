//! Under the name of a netCDF tool, the program behaves like that tool in version 4.9.0.

use std::fs::{self, File};
use std::path::{Path, PathBuf};
use std::process::{Command, Output, Stdio};

use tempfile::TempDir;

use crate::{failure, out, text};

/// The program under other names, and a folder for its calls.
struct Tools {
    bin: TempDir,
    here: TempDir,
}

impl Tools {
    fn new() -> Self {
        let tools = Self { bin: tempfile::tempdir().unwrap(), here: tempfile::tempdir().unwrap() };
        for name in ["ncdump", "ncgen", "nccopy"] {
            std::os::unix::fs::symlink(env!("CARGO_BIN_EXE_ncz"), tools.bin.path().join(name)).unwrap();
        }
        tools
    }

    fn at(&self, name: &str) -> PathBuf {
        self.here.path().join(name)
    }

    fn write(&self, name: &str, content: &str) {
        fs::write(self.at(name), content).unwrap();
    }

    /// Calls the program, with `input` as standard input if given.
    fn call(&self, name: &str, args: &[&str], input: Option<&str>) -> Output {
        let input = input.map_or(Stdio::null(), |file| File::open(self.at(file)).unwrap().into());
        let mut command = Command::new(self.bin.path().join(name));
        command
            .args(args)
            .current_dir(self.here.path())
            .env_remove("NCTRACING")
            .stdin(input)
            .output()
            .unwrap()
    }

    /// Returns the output of a successful call.
    fn out(&self, name: &str, args: &[&str]) -> String {
        let output = self.call(name, args, None);
        assert!(output.status.success(), "{name} {args:?}: {}", String::from_utf8_lossy(&output.stderr));
        String::from_utf8(output.stdout).unwrap()
    }

    fn kind(&self, file: &str) -> String {
        self.out("ncdump", &["-k", file]).trim_end().to_owned()
    }

    /// Returns the names of all files here, sorted.
    fn files(&self) -> Vec<String> {
        let entries = fs::read_dir(self.here.path()).unwrap();
        let mut names: Vec<String> =
            entries.map(|entry| entry.unwrap().file_name().into_string().unwrap()).collect();
        names.sort();
        names
    }
}

const CDL: &str = "netcdf other { dimensions: x = 2 ; variables: int v(x) ; data: v = 1, 2 ; }";

#[test]
fn ncgen_calls_its_file_after_that_of_the_text() {
    let tools = Tools::new();
    fs::create_dir(tools.at("texts")).unwrap();
    for (file, args, want) in [
        ("texts/c3.cdl", &["-b"][..], "c3.nc"),
        ("texts/c3.cdl", &["-3", "-N", "foo"], "c3.nc"),
        ("texts/a.b.cdl", &["-lb"], "a.b.nc"),
        ("texts/plain", &["-k", "nc3"], "plain.nc"),
        ("texts/f#x.cdl", &["-b"], "f#x.nc"),
    ] {
        tools.write(file, CDL);
        // It replaces existing targets.
        for _ in 0..2 {
            tools.out("ncgen", &[args, &[file]].concat());
        }
        assert_eq!(tools.files(), [want, "texts"], "{file} {args:?}");
        fs::remove_file(tools.at(want)).unwrap();
    }
    for (args, want) in
        [(&["-b"][..], "other.nc"), (&["-b", "-"], "other.nc"), (&["-b", "-N", "foo"], "foo.nc")]
    {
        let made = tools.call("ncgen", args, Some("texts/c3.cdl"));
        assert!(made.status.success(), "{}", String::from_utf8_lossy(&made.stderr));
        assert_eq!(tools.files(), [want, "texts"], "{args:?}");
        fs::remove_file(tools.at(want)).unwrap();
    }
}

#[test]
fn a_name_in_a_text_replaces_nothing() {
    let tools = Tools::new();
    let keep = |path: &Path| {
        fs::write(path, "CDF\u{1}\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0").unwrap()
    };
    fs::create_dir(tools.at("in")).unwrap();
    for (name, kept) in
        [("../precious", "precious.nc"), ("in/precious", "in/precious.nc"), ("precious", "precious.nc")]
    {
        tools.write("a.cdl", &CDL.replace("other", &name.replace('/', "\\/")));
        keep(&tools.at(kept));
        let before = fs::read(tools.at(kept)).unwrap();
        let from = if name.starts_with("..") { "in" } else { "." };
        for (program, args) in [("ncgen", &["-b"][..]), ("ncz", &["gen"]), ("ncz", &["gen", "--clobber"])] {
            let program = match program {
                "ncz" => PathBuf::from(env!("CARGO_BIN_EXE_ncz")),
                name => tools.bin.path().join(name),
            };
            let input = File::open(tools.at("a.cdl")).unwrap();
            let folder = tools.at(from);
            let made = Command::new(program).args(args).current_dir(folder).stdin(input).output().unwrap();
            let message = String::from_utf8_lossy(&made.stderr).into_owned();
            assert_eq!(made.status.code(), Some(1), "{name} {args:?}: {message}");
            let what = if name.contains('/') { "NC_EBADNAME" } else { "NC_EEXIST" };
            assert!(message.contains(what) && message.contains("precious"), "{message}");
            assert_eq!(fs::read(tools.at(kept)).unwrap(), before, "{name} {args:?}");
        }
        fs::remove_file(tools.at(kept)).unwrap();
    }
}

#[test]
fn a_text_may_have_any_name_as_a_file() {
    let tools = Tools::new();
    for name in ["f#x.cdl", "f#mode=zarr.cdl", "s3:x.cdl"] {
        tools.write(name, CDL);
        let target = tools.at("f");
        assert_eq!(out(&["gen", "-o", text(&target), text(&tools.at(name))]), "", "{name}");
        fs::remove_dir_all(target).unwrap();
        let (_, message) = failure(&["gen", "-o", text(&tools.at(name)), text(&tools.at(name))]);
        assert!(!message.is_empty() && fs::read_to_string(tools.at(name)).unwrap() == CDL, "{message}");
    }
}

/// Compares with the real tool's result for each text, except for texts on which it fails.
#[test]
fn ncgen_chooses_the_kind_that_a_text_needs() {
    let tools = Tools::new();
    for (content, args, want) in [
        ("dimensions: x = 2; u = UNLIMITED; variables: int v(u, x); :a = 1s;", &["-b"][..], "classic"),
        ("dimensions: x = 2; variables: int v(x); v:_DeflateLevel = 2;", &["-b"], "netCDF-4"),
        ("variables: int v; v:_Endianness = \"little\";", &["-b"], "netCDF-4"),
        ("variables: int v; v:_NoFill = \"true\";", &["-b"], "netCDF-4"),
        ("types: int(*) t; variables: int v;", &["-b"], "netCDF-4"),
        ("variables: int v; group: g { }", &["-b"], "netCDF-4"),
        ("variables: int v; :_Format = \"64-bit offset\";", &["-b"], "64-bit offset"),
        ("variables: int v; :_NCProperties = \"version=2\";", &["-b"], "netCDF-4"),
        ("variables: int v;", &["-4"], "netCDF-4"),
        ("variables: int v;", &["-v4"], "netCDF-4 classic model"),
        ("variables: int v;", &["-k", "nc3", "-k", "nc6"], "64-bit offset"),
        ("variables: int v;", &["-D", "1", "-b"], "classic"),
        // For these, the tool tries a classic file and fails.
        ("variables: string v;", &["-b"], "netCDF-4"),
        ("variables: uint v;", &["-b"], "netCDF-4"),
        ("variables: int v; :a = 1ull;", &["-b"], "netCDF-4"),
        ("dimensions: u = UNLIMITED; w = UNLIMITED; variables: int v;", &["-b"], "netCDF-4"),
        ("dimensions: x = 2; u = UNLIMITED; variables: int v(x, u);", &["-b"], "netCDF-4"),
    ] {
        tools.write("a.cdl", &format!("netcdf a {{ {content} }}"));
        tools.out("ncgen", &[args, &["a.cdl"]].concat());
        assert_eq!(tools.kind("a.nc"), want, "{content} {args:?}");
        // The ending of the name does not matter.
        tools.out("ncgen", &[args, &["-o", "a.h5", "a.cdl"]].concat());
        assert_eq!(tools.kind("a.h5"), want, "{content} {args:?}");
    }
    tools.write("a.cdl", CDL);
    tools.out("ncgen", &["-b", "-o", "a.zarr", "a.cdl"]);
    assert!(tools.at("a.zarr").is_dir());
}

#[test]
fn nccopy_keeps_the_kind_of_its_source() {
    let tools = Tools::new();
    tools.write(
        "a.cdl",
        "netcdf a { dimensions: n = 6; variables: int v(n); int w(n); data: v = 1, 2, 3, 4, 5, 6; }",
    );
    let deflated = "v:_DeflateLevel = 5 ;";
    for (kind, name) in [
        ("nc3", "classic"),
        ("nc6", "64-bit offset"),
        ("cdf5", "cdf5"),
        ("nc4", "netCDF-4"),
        ("nc7", "netCDF-4 classic model"),
    ] {
        tools.out("ncgen", &["-k", kind, "a.cdl"]);
        let hdf5 = if kind == "nc4" { "netCDF-4" } else { "netCDF-4 classic model" };
        for (flags, want) in [
            (&[][..], name),
            (&["-u"], name),
            (&["-d", "0"], name),
            (&["-d", "5"], hdf5),
            (&["-d", "1", "-d", "5"], hdf5),
            (&["-s"], hdf5),
            (&["-c", "n/3"], hdf5),
            (&["-4"], "netCDF-4"),
            (&["-3"], "classic"),
        ] {
            for target in if flags.is_empty() { &["y.nc", "y"][..] } else { &["y"] } {
                let message = tools.call("nccopy", &[flags, &["a.nc", target]].concat(), None);
                assert!(
                    message.status.success() && message.stderr.is_empty(),
                    "{}",
                    String::from_utf8_lossy(&message.stderr)
                );
                assert_eq!(tools.kind(target), want, "{kind} {flags:?}");
                let special = tools.out("ncdump", &["-hs", target]);
                assert_eq!(
                    special.contains(deflated),
                    flags.ends_with(&["5"]),
                    "{kind} {flags:?}: {special}"
                );
                let data = |file: &str| {
                    tools.out("ncdump", &["-v", "v", file]).split_once("data:").unwrap().1.to_owned()
                };
                assert_eq!(data(target), data("a.nc"));
            }
        }
    }
}

#[test]
fn the_last_of_repeated_flags_counts() {
    let tools = Tools::new();
    tools.write("a.cdl", "netcdf a { variables: int v; int w; data: v = 1; w = 2; }");
    tools.out("ncgen", &["-b", "a.cdl"]);
    let printed = tools.out("ncdump", &["-v", "v", "-v", "w", "-n", "x", "-n", "y", "a.nc"]);
    assert!(
        printed.starts_with("netcdf y ") && printed.contains(" w = 2") && !printed.contains(" v = "),
        "{printed}"
    );
    tools.out("nccopy", &["-V", "v", "-V", "w", "a.nc", "y.nc"]);
    let printed = tools.out("ncdump", &["y.nc"]);
    assert!(printed.contains("int w ;") && !printed.contains("int v"), "{printed}");
    // Asking for both is an error.
    let (code, message) = failure(&["dump", "-v", "v", "-v", "w", text(&tools.at("a.nc"))]);
    assert!(code == 2 && message.contains("multiple times"), "{message}");
}

#[test]
fn nccopy_takes_chunks_without_lengths() {
    let tools = Tools::new();
    let content = "netcdf a { dimensions: a = 100; n = 200; u = UNLIMITED; variables: int v(a, n); int z(u, n); \
                   v:_ChunkSizes = 10, 20; z:_ChunkSizes = 5, 20; data: z = 1; }";
    tools.write("a.cdl", content);
    tools.out("ncgen", &["-k", "nc4", "a.cdl"]);
    for (flags, v, z) in [
        ("n/", "10, 200", "5, 200"),
        ("u/", "10, 20", "1, 20"),
        ("a/50,n/", "50, 200", "5, 200"),
        ("v:", "100, 200", "5, 20"),
        ("z:", "10, 20", "5, 20"),
    ] {
        tools.out("nccopy", &["-c", flags, "a.nc", "y.nc"]);
        let special = tools.out("ncdump", &["-hs", "y.nc"]);
        for line in [format!("v:_ChunkSizes = {v} ;"), format!("z:_ChunkSizes = {z} ;")] {
            assert!(special.contains(&line), "{flags}: {special}");
        }
    }
    for flags in ["nosuch/", "nosuch:", "n/0", "a:"] {
        let message = tools.call("nccopy", &["-c", flags, "a.nc", "x.nc"], None);
        assert!(!message.status.success() && !tools.at("x.nc").exists(), "{flags}");
    }
}

const SMALL: &str =
    "netcdf a { dimensions: t = UNLIMITED; variables: int v(t); v:_FillValue = 7; data: v = 1, 2; }";

/// The extended kind with its mode flags, in the form of ncdump 4.9.0.
#[test]
fn ncdump_prints_the_extended_kind() {
    let tools = Tools::new();
    tools.write("a.cdl", SMALL);
    for (kind, expected) in [
        ("1", "classic mode=00000000"),
        ("2", "64-bit offset mode=00000200"),
        ("3", "HDF5 mode=00001000"),
        ("4", "HDF5 mode=00001000"),
        ("5", "64-bit data mode=00000020"),
    ] {
        tools.out("ncgen", &["-k", kind, "-o", "a.nc", "a.cdl"]);
        assert_eq!(tools.out("ncdump", &["-K", "a.nc"]), format!("{expected}\n"), "{kind}");
    }
}

#[test]
fn ncdump_prints_the_type_of_fill_values_if_asked() {
    let tools = Tools::new();
    tools.write("a.cdl", SMALL);
    tools.out("ncgen", &["-k", "nc4", "-o", "a.nc", "a.cdl"]);
    assert!(tools.out("ncdump", &["-h", "a.nc"]).contains("\t\tv:_FillValue = 7 ;"));
    let typed = tools.out("ncdump", &["-Xp", "-XF", "-s", "a.nc"]);
    assert!(typed.contains("\t\tint v:_FillValue = 7 ;") && !typed.contains("_NCProperties"), "{typed}");
    // A text with types makes the same dataset.
    tools.write("typed.cdl", &typed);
    tools.out("ncgen", &["-o", "b.nc", "typed.cdl"]);
    assert_eq!(tools.out("ncdump", &["-n", "a", "b.nc"]), tools.out("ncdump", &["a.nc"]));
}

#[test]
fn ncgen_makes_the_header_only_if_asked() {
    let tools = Tools::new();
    tools.write("a.cdl", SMALL);
    tools.out("ncgen", &["-H", "-o", "a.nc", "a.cdl"]);
    assert!(tools.out("ncdump", &["a.nc"]).contains("t = UNLIMITED ; // (0 currently)"));
    // `-n` is an older `-b`; the other flags change nothing.
    tools.out("ncgen", &["-n", "-P", "-d", "-M", "main", "a.cdl"]);
    assert_eq!(tools.kind("a.cdf"), "classic");
    assert!(tools.out("ncdump", &["a.cdf"]).contains(" v = 1, 2 ;"));
}

#[test]
fn kinds_have_all_the_names_of_ncgen() {
    let tools = Tools::new();
    tools.write("a.cdl", SMALL);
    for (names, expected) in [
        (&["netCDF-4_classic", "netCDF4_classic", "hdf5-nc3", "enhanced-nc3"][..], "netCDF-4 classic model"),
        (&["cdf-5", "64-bit-data"], "cdf5"),
        (&["enhanced", "hdf5", "netCDF4"], "netCDF-4"),
    ] {
        for name in names {
            tools.out("ncgen", &["-k", name, "-o", "a.nc", "a.cdl"]);
            assert_eq!(tools.kind("a.nc"), expected, "{name}");
        }
    }
}

/// The environment and rc files set the defaults of new Zarr datasets.
#[test]
fn the_environment_sets_defaults_of_new_datasets() {
    let tools = Tools::new();
    tools.write("a.cdl", SMALL);
    tools.write(".ncrc", "ZARR.DIMENSION_SEPARATOR=/\n");
    let make = |target: &str, variables: &[(&str, &str)]| {
        let mut command = Command::new(env!("CARGO_BIN_EXE_ncz"));
        command.args(["gen", "-o", target, "a.cdl"]).current_dir(tools.here.path()).env_remove("NCTRACING");
        let output = command.envs(variables.iter().copied()).output().unwrap();
        assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    };
    make("two.zarr", &[("NCZARR_CONSOLIDATED", "true")]);
    assert!(tools.at("two.zarr/.zmetadata").is_file());
    assert!(
        fs::read_to_string(tools.at("two.zarr/v/.zarray"))
            .unwrap()
            .contains("\"dimension_separator\": \"/\"")
    );
    make("three.zarr", &[("NCZARRFORMAT", "3"), ("NCRCENV_IGNORE", "1")]);
    assert!(tools.at("three.zarr/zarr.json").is_file());
    make("again.zarr#mode=v2,noconsolidated", &[("NCZARRFORMAT", "3"), ("NCZARR_CONSOLIDATED", "1")]);
    assert!(tools.at("again.zarr/.zgroup").is_file() && !tools.at("again.zarr/.zmetadata").exists());
}
