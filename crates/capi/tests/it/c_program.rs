//! A program in C, compiled with the headers and linked with the shared library.

use std::path::{Path, PathBuf};
use std::process::Command;

/// Returns the folder with the shared library of this build.
fn library() -> PathBuf {
    let tests = std::env::current_exe().unwrap();
    let folder = tests.parent().unwrap().to_path_buf();
    assert!(folder.join("libnetcdf.so").exists(), "{}: no libnetcdf.so", folder.display());
    folder
}

fn output(command: &mut Command) -> String {
    let output = command.output().unwrap_or_else(|error| panic!("{command:?}: {error}"));
    let text = [output.stdout, output.stderr].concat();
    let text = String::from_utf8_lossy(&text).into_owned();
    assert!(output.status.success(), "{command:?}: {}\n{text}", output.status);
    text
}

/// Compiles a program of `tests/c` in a folder, with the library under the name that the program asks for.
#[cfg(target_os = "linux")]
fn compile(folder: &Path, name: &str) -> PathBuf {
    let source = Path::new(env!("CARGO_MANIFEST_DIR"));
    std::os::unix::fs::symlink(library().join("libnetcdf.so"), folder.join("libnetcdf.so.22")).unwrap();
    let program = folder.join(name);
    output(
        Command::new("cc")
            .args(["-std=c99", "-Wall", "-Wextra", "-Werror", "-o"])
            .arg(&program)
            .arg(source.join("tests/c").join(name).with_extension("c"))
            .arg("-I")
            .arg(source.join("include"))
            .arg(library().join("libnetcdf.so"))
            .args(["-lm", "-lpthread"]),
    );
    program
}

#[test]
#[cfg(target_os = "linux")]
fn datasets_are_complete_after_an_exit_without_a_close() {
    let folder = tempfile::tempdir().unwrap();
    let program = compile(folder.path(), "never_closes");
    let files = [folder.path().join("a.nc"), folder.path().join("b.nc")];
    output(Command::new(program).env("LD_LIBRARY_PATH", folder.path()).args(&files));
    for file in &files {
        let path = crate::c::path_in(file.parent().unwrap(), file.file_name().unwrap().to_str().unwrap());
        let (mut id, mut values) = (0, [0; 1000]);
        crate::c::ok(crate::c::nc_open(path.as_ptr(), 0, &mut id));
        crate::c::ok(crate::c::nc_get_var_int(id, 0, values.as_mut_ptr()));
        assert!((0..1000).eq(values), "{}", file.display());
        crate::c::ok(crate::c::nc_close(id));
    }
}

#[test]
#[cfg(target_os = "linux")]
fn it_writes_and_reads_files_and_stores() {
    let folder = tempfile::tempdir().unwrap();
    let program = compile(folder.path(), "round_trip");
    let store = format!("file://{}#mode=nczarr,file", folder.path().join("s.zarr").display());
    let text = output(
        Command::new(&program)
            .env("LD_LIBRARY_PATH", folder.path())
            .arg(folder.path().join("a.nc"))
            .arg(store),
    );
    assert_eq!(text, "0 failures\n");
}

#[test]
#[cfg(target_os = "linux")]
fn helpers_beside_the_interface_work() {
    let folder = tempfile::tempdir().unwrap();
    let program = compile(folder.path(), "helpers");
    let text =
        output(Command::new(program).env("LD_LIBRARY_PATH", folder.path()).arg(folder.path().join("a.nc")));
    assert_eq!(text, "0 failures\n");
}

/// A format whose datasets lie in the memory of the program.
#[test]
#[cfg(target_os = "linux")]
fn a_table_of_the_program_is_a_format() {
    let folder = tempfile::tempdir().unwrap();
    let program = compile(folder.path(), "user_format");
    let text =
        output(Command::new(program).env("LD_LIBRARY_PATH", folder.path()).arg(folder.path().join("a.my")));
    assert_eq!(text, "0 failures\n");
}

#[test]
#[cfg(target_os = "linux")]
fn a_table_of_the_program_has_groups_types_and_stored_forms() {
    for name in ["user_format_tree", "user_format_storage"] {
        let folder = tempfile::tempdir().unwrap();
        let program = compile(folder.path(), name);
        let text = output(Command::new(program).env("LD_LIBRARY_PATH", folder.path()));
        assert_eq!(text, "0 failures\n", "{name}");
    }
}

/// Foreign code runs only if the feature is built and the environment enables it.
#[test]
#[cfg(target_os = "linux")]
fn an_rc_file_names_a_shared_library_with_a_format() {
    let folder = tempfile::tempdir().unwrap();
    let program = compile(folder.path(), "user_format_library");
    let plugin = folder.path().join("plugin.so");
    let source = Path::new(env!("CARGO_MANIFEST_DIR"));
    output(
        Command::new("cc")
            .args(["-std=c99", "-Wall", "-Wextra", "-Werror", "-shared", "-fPIC", "-o"])
            .args([&plugin, &source.join("tests/c/format_plugin.c")])
            .arg("-I")
            .arg(source.join("include")),
    );
    let key = |number: u8, library: &str, function: &str| {
        format!("NETCDF.UDF{number}.LIBRARY={library}\nNETCDF.UDF{number}.INIT={function}\n")
    };
    let library = plugin.to_str().unwrap();
    let rc = [
        key(0, library, "give_table"),
        "NETCDF.UDF0.MAGIC=TREE\n".to_owned(),
        key(1, library, "register_itself"),
        "NETCDF.UDF1.MAGIC=SELF\n".to_owned(),
        format!("NETCDF.UDF2.LIBRARY={library}\n"),
        key(3, library, "fail"),
        key(4, library, "no_such_function"),
        key(5, "plugin.so", "give_table"),
        key(6, "/no/such/library.so", "give_table"),
        key(7, library, "register_another"),
    ];
    std::fs::write(folder.path().join("rc"), rc.concat()).unwrap();
    let run = |enable: &str, expected: &str| {
        let mut command = Command::new(&program);
        command.env("LD_LIBRARY_PATH", folder.path()).env("NCRCENV_RC", folder.path().join("rc"));
        command.current_dir(folder.path()).env("NCZARR_FORMAT_PLUGINS", enable);
        assert_eq!(output(command.args([library, expected])), "0 failures\n", "{enable:?}");
    };
    if cfg!(feature = "format-plugins") {
        run("1", "enabled");
        run("0", "NCZARR_FORMAT_PLUGINS=1");
        run("", "NCZARR_FORMAT_PLUGINS=1");
    } else {
        run("1", "without the feature format-plugins");
    }
}

/// Rc files in a home directory and in the current one, and settings of the program.
#[test]
#[cfg(target_os = "linux")]
fn settings_of_files_and_of_the_program_are_used() {
    let folder = tempfile::tempdir().unwrap();
    let program = compile(folder.path(), "settings");
    let work = folder.path().join("work");
    std::fs::create_dir_all(work.join("home")).unwrap();
    let text = output(Command::new(program).env("LD_LIBRARY_PATH", folder.path()).arg(&work));
    assert_eq!(text, "0 failures\n");
}

/// The rules of netCDF-C that programs depend on. Its version 4.10.1 passes the same programs, except where
/// they say otherwise.
#[test]
#[cfg(target_os = "linux")]
fn codes_are_those_of_netcdf_c() {
    for name in ["traps_files", "traps_definitions", "traps_data"] {
        let folder = tempfile::tempdir().unwrap();
        let program = compile(folder.path(), name);
        let text = output(Command::new(program).env("LD_LIBRARY_PATH", folder.path()).arg(folder.path()));
        assert_eq!(text, "0 failures\n", "{name}");
    }
}

/// Eight threads write and read eight files each. `NCZ_TEST_ROUNDS` sets the number of rounds.
#[test]
#[cfg(target_os = "linux")]
fn every_thread_may_call_it() {
    let folder = tempfile::tempdir().unwrap();
    let program = compile(folder.path(), "threads");
    let rounds = std::env::var("NCZ_TEST_ROUNDS").unwrap_or_else(|_| "10".to_owned());
    let text = output(
        Command::new(&program)
            .env("LD_LIBRARY_PATH", folder.path())
            .arg(folder.path())
            .args(["8", "8", &rounds]),
    );
    assert_eq!(text, "0 failures\n");
}

/// Processes without communication create one store and fill parts of it. `NCZ_TEST_PROCESSES` sets their
/// number.
#[test]
#[cfg(target_os = "linux")]
fn processes_fill_one_store() {
    let folder = tempfile::tempdir().unwrap();
    let program = compile(folder.path(), "processes");
    let processes = std::env::var("NCZ_TEST_PROCESSES").unwrap_or_else(|_| "16".to_owned());
    for (mode, has_records) in [("nczarr,v2,file", "1"), ("nczarr,v3,file", "1"), ("zarr,v3,file", "0")] {
        let store = format!("file://{}/{mode}.zarr#mode={mode}", folder.path().display());
        let text = output(
            Command::new(&program)
                .env("LD_LIBRARY_PATH", folder.path())
                .args([&store, &processes])
                .arg(has_records),
        );
        assert_eq!(text, "0 failures\n", "{mode}");
    }
}

/// The headers declare every function of the library, and the library has every function of the headers.
#[test]
#[cfg(target_os = "linux")]
fn headers_and_library_have_the_same_functions() {
    let symbols =
        output(Command::new("nm").args(["-D", "--defined-only"]).arg(library().join("libnetcdf.so")));
    let mut exported: Vec<_> = symbols.lines().filter_map(|line| line.split(' ').nth(2)).collect();
    let mut text = String::new();
    for name in [
        "ncudfplugins.h",
        "netcdf.h",
        "netcdf_aux.h",
        "netcdf_dispatch.h",
        "netcdf_filter.h",
        "netcdf_mem.h",
        "netcdf_par.h",
    ] {
        let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("include").join(name);
        text.push_str(&std::fs::read_to_string(path).unwrap());
    }
    // No public header of netCDF-C declares them either.
    let undeclared = ["H5get_libversion", "nc_inq_rec", "nc_get_rec", "nc_put_rec"];
    // A dependency of the feature `s3` exports functions for C, which rustc adds to those of the library.
    let of_dependency = "crc_fast_";
    let declares = |name: &str| {
        let forms = [format!(" {name}("), format!("\n{name}("), format!("*{name}("), format!(" {name};")];
        forms.iter().any(|form| text.contains(form))
    };
    for name in &exported {
        let is_known = undeclared.contains(name) || name.starts_with(of_dependency);
        assert!(declares(name) || is_known, "{name} is exported but not declared");
    }
    exported.sort_unstable();
    let words = text.split(|letter: char| !(letter.is_alphanumeric() || letter == '_' || letter == '('));
    let declared = words.filter_map(|word| word.strip_suffix('('));
    for name in declared.filter(|name| name.starts_with("nc")) {
        assert!(exported.binary_search(&name).is_ok(), "{name} is declared but not exported");
    }
}
