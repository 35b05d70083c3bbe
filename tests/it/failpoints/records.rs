//! A record is stored before it is counted. A writer that appends records is killed before each of its
//! operations.
//!
//! A round writes a record to two variables and sets an attribute, so `sync` must end define mode. In some
//! rounds the next write or `close` ends it. Records have no fill values, so the test detects a record that
//! was counted too early.

use std::path::Path;
use std::process::Command;

use nczarr::{Durability, File, OpenOptions, Result};

use super::trace::{Ended, Fault, run};
use super::{PLACE, folder};

const WIDTH: u64 = 6;
const ROUNDS: u64 = 6;

/// The fragment of the URL that names the format, from the extension of the path.
fn url(path: &str) -> String {
    let modes = [
        (".nc3", "cdf5"),
        (".nc4", "nc4"),
        (".plain", "zarr,v2,annotate"),
        (".v3", "nczarr,v3"),
        (".x3", "zarr,v3,annotate"),
    ];
    match modes.iter().find(|(end, _)| path.ends_with(end)) {
        Some((_, modes)) => format!("file://{path}#mode={modes}"),
        None => path.to_owned(),
    }
}

fn record(at: u64) -> Vec<i32> {
    (0..WIDTH).map(|column| (1 + at * 100 + column) as i32).collect()
}

fn append(path: &str) -> Result<File> {
    OpenOptions::new().writable(true).threads(1).durability(Durability::Fsync).open(url(path))
}

/// Appends records until the parent kills this process.
fn work(path: &str) -> Result<()> {
    let file = nczarr::create(url(path))?;
    file.add_unlimited_dimension("t")?;
    file.add_dimension("x", WIDTH)?;
    for name in ["one", "two"] {
        let v = file.add_variable::<i32>(name, &["t", "x"])?;
        if !path.ends_with(".nc3") {
            v.set_chunking(if name == "one" { &[2, WIDTH] } else { &[1, 4] })?;
        }
    }
    file.close()?;
    let mut file = append(path)?;
    println!("\n@ready");
    std::io::stdin().read_line(&mut String::new()).expect("a parent that talks");
    for round in 0..ROUNDS {
        for name in ["one", "two"] {
            file.variable(name)?.put(&record(round), (round, ..))?;
        }
        file.put_attribute("last", round as i32)?;
        match round {
            2 | 4 => {}
            3 => {
                file.close()?;
                file = append(path)?;
            }
            _ => file.sync()?,
        }
    }
    file.close()
}

/// Checks that every counted record has its values. Returns the number of records.
fn check(path: &str) -> std::result::Result<u64, String> {
    let look = || -> Result<std::result::Result<u64, String>> {
        let file = nczarr::open(url(path))?;
        let mut counts = Vec::new();
        for name in ["one", "two"] {
            let v = file.variable(name)?;
            let count = v.shape()?[0];
            counts.push(count);
            for at in 0..count {
                let found = v.get_values::<i32>((at, ..))?;
                if found != record(at) {
                    return Ok(Err(format!("record {at} of {count} of {name} is {found:?}")));
                }
            }
        }
        Ok(Ok(counts.into_iter().min().unwrap_or(0)))
    };
    look().unwrap_or_else(|error| Err(error.to_string()))
}

fn attempt(test: &str, name: &str, fault: Fault, at: usize) -> (Ended, std::result::Result<u64, String>) {
    let folder = folder();
    let path = folder.path().join(name);
    let mut command = Command::new(std::env::current_exe().expect("this program"));
    command.args(["--nocapture", "--test-threads=1", "--exact"]).arg(format!("failpoints::records::{test}"));
    command.env(PLACE, &path);
    let ended = run(&mut command, folder.path(), fault, at);
    let outcome = check(&path.display().to_string());
    (ended, outcome)
}

/// Kills the writer before each of its operations. Returns the result of a run without a fault.
fn everywhere(test: &str, name: &str) -> Ended {
    let (whole, outcome) = attempt(test, name, Fault::None, 0);
    assert!(whole.good, "{}", whole.complaints);
    assert_eq!(outcome, Ok(ROUNDS));
    let count = whole.operations.iter().filter(|operation| operation.changes).count();
    let (mut failed, mut least) = (Vec::new(), ROUNDS);
    for at in 0..count {
        let (ended, outcome) = attempt(test, name, Fault::Kill, at);
        match outcome {
            Ok(records) => least = least.min(records),
            Err(why) => failed.push(format!("killed before {at}, {:?}: {why}", ended.hit)),
        }
    }
    eprintln!("{name}: killed before each of {count} operations, {} failed", failed.len());
    assert!(failed.is_empty() && least == 0, "{least}, {} of {count}:\n{}", failed.len(), failed.join("\n"));
    whole
}

fn child() -> bool {
    let Some(path) = std::env::var_os(PLACE) else { return false };
    work(&Path::new(&path).display().to_string()).expect("nothing stands in its way");
    true
}

macro_rules! kinds {
    ($($test:ident $name:literal)*) => {
        $(#[test]
        fn $test() {
            if !child() {
                everywhere(stringify!($test), $name);
            }
        })*
    };
}

kinds! {
    of_nczarr_no_record_is_counted_before_it_is_stored "x.zarr"
    of_nczarr_v3_no_record_is_counted_before_it_is_stored "x.v3"
    of_plain_zarr_no_record_is_counted_before_it_is_stored "x.plain"
    of_plain_zarr_v3_no_record_is_counted_before_it_is_stored "x.x3"
    of_an_archive_no_record_is_counted_before_it_is_stored "x.zip"
    of_a_classic_file_no_record_is_counted_before_it_is_stored "x.nc3"
}

/// Each `sync` writes the metadata once and syncs the file twice. No other call syncs the file.
#[test]
fn a_netcdf_4_file_counts_only_stored_records() {
    if child() {
        return;
    }
    let whole = everywhere("a_netcdf_4_file_counts_only_stored_records", "x.nc4");
    let synced = whole.operations.iter().filter(|operation| operation.call == "fdatasync").count();
    // Three rounds call `sync` and one closes. Writes that end define mode leave the metadata to the next
    // of these. The last `close` writes only the end of the file.
    assert_eq!(synced, 2 * 4 + 1);
}
