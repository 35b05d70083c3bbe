//! A process is killed while it appends to a dataset or redefines it. All synced data survive.
//!
//! A test starts itself as a child. The child writes one line before and after each step. The parent kills it
//! after a certain line and a busy wait, so the kills are spread over the child's work. `NCZ_TEST_ROUNDS`
//! sets the number of kills (default 200).

use std::io::{BufRead as _, BufReader, Write as _};
use std::path::Path;
use std::process::{Command, Stdio};
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};

use nczarr::{File, OpenOptions, Variable};

const WIDTH: usize = 37;
const ROUNDS: usize = 6;
/// The ending of the names of Zarr V3 datasets.
const VERSION_3: &str = "v3.zarr";
const PLACE: &str = "NCZ_TEST_KILLED";

fn moments() -> u64 {
    std::env::var("NCZ_TEST_ROUNDS").map_or(200, |rounds| rounds.parse().expect("a number of rounds"))
}

fn row(record: usize) -> Vec<i32> {
    (0..WIDTH).map(|at| (record * 1000 + at) as i32).collect()
}

/// Does the child's work until it is killed or done.
fn child(path: &str) -> nczarr::Result<()> {
    let say = |what: String| {
        let mut out = std::io::stdout().lock();
        writeln!(out, "\n@{what}").and_then(|()| out.flush()).expect("a parent that reads");
    };
    let file = nczarr::create(
        &(if path.ends_with(VERSION_3) { format!("file://{path}#mode=nczarr,v3") } else { path.to_owned() }),
    )?;
    file.add_unlimited_dimension("t")?;
    file.add_dimension("x", WIDTH as u64)?;
    let fixed = file.add_variable::<f64>("fixed", &["x"])?;
    let v = file.add_variable::<i32>("v", &["t", "x"])?;
    let n = file.add_variable::<i8>("n", &["t"])?;
    let m = file.add_variable::<i16>("m", &["t"])?;
    fixed.put(&[0.5f64; WIDTH], ..)?;
    file.sync()?;
    say("synced 0 0".to_owned());
    let (done, stop) = (AtomicUsize::new(0), AtomicBool::new(false));
    std::thread::scope(|scope| {
        // Another thread appends records at the same time, so the counts include both.
        let other = scope.spawn(|| -> nczarr::Result<()> {
            while !stop.load(Ordering::Acquire) {
                let record = done.load(Ordering::Acquire);
                for ahead in 0..3 {
                    m.put_value(7, (record + ahead) as u64)?;
                }
            }
            Ok(())
        });
        let outcome = steps(&file, &v, &n, &done, &say);
        stop.store(true, Ordering::Release);
        other.join().expect("it does not panic").and(outcome)
    })?;
    file.close()
}

fn steps(
    file: &File,
    v: &Variable,
    n: &Variable,
    done: &AtomicUsize,
    say: &dyn Fn(String),
) -> nczarr::Result<()> {
    let mut record = 0;
    for round in 1..=ROUNDS {
        for _ in 0..3 {
            for _ in 0..2 {
                say("putting".to_owned());
                v.put(&row(record), (record as u64, ..))?;
                n.put_value(record as i8, record as u64)?;
                record += 1;
                done.store(record, Ordering::Release);
            }
            say("syncing".to_owned());
            file.sync()?;
            say(format!("synced {record} {}", round - 1));
        }
        say("redefining".to_owned());
        let later = file.add_variable::<i16>(&format!("later{round}"), &["t"])?;
        later.put_attribute("note", "x".repeat(100 * round).as_str())?;
        file.put_attribute(&format!("round{round}"), round as i32)?;
        file.sync()?;
        say(format!("synced {record} {round}"));
    }
    Ok(())
}

/// Checks a file that must have at least this many records and rounds.
fn check(path: &Path, records: usize, rounds: usize) -> Result<(), String> {
    let look = || -> nczarr::Result<Result<(), String>> {
        let file = nczarr::open(path.display().to_string())?;
        let v = file.variable("v")?;
        let there = v.shape()?[0] as usize;
        if there < records {
            return Ok(Err(format!("{there} records of {records}")));
        }
        if file.variable("fixed")?.get_values::<f64>(..)? != [0.5; WIDTH] {
            return Ok(Err("fixed values are others".to_owned()));
        }
        let (found, small) = (v.get_values::<i32>(..)?, file.variable("n")?.get_values::<i8>(..)?);
        for record in 0..records {
            if found[record * WIDTH..][..WIDTH] != row(record) || small[record] != record as i8 {
                return Ok(Err(format!("record {record} is another one")));
            }
        }
        let fills = |value: i32| value == nczarr::model::fill::INT;
        for record in records..there {
            let there = &found[record * WIDTH..][..WIDTH];
            if there.iter().zip(row(record)).any(|(&value, put)| value != put && !fills(value)) {
                return Ok(Err(format!("record {record}, not synced: {there:?}")));
            }
        }
        let other = file.variable("m")?.get_values::<i16>(..)?;
        if other.iter().any(|&value| value != 7 && value != nczarr::model::fill::SHORT) {
            return Ok(Err(format!("values of the other thread: {other:?}")));
        }
        for round in 1..=rounds {
            let later = file.variable(&format!("later{round}"))?;
            let values = later.get_values::<i16>(..)?;
            let fill = nczarr::model::fill::SHORT;
            if values.iter().any(|&value| value != fill) || values.len() != there {
                return Ok(Err(format!("values of round {round}: {values:?}")));
            }
            let note = later.attribute("note").is_some_and(|note| note.values().len() == 100 * round);
            if !note || file.attribute(&format!("round{round}")).is_none() {
                return Ok(Err(format!("attributes of round {round}")));
            }
        }
        Ok(Ok(()))
    };
    look().unwrap_or_else(|error| Err(error.to_string()))
}

/// Kills a child at a moment. Returns the synced state, and whether the child had finished.
fn kill(test: &str, path: &Path, moment: u64) -> (Option<(usize, usize)>, bool) {
    let mut child = Command::new(std::env::current_exe().expect("this program"))
        .args(["--nocapture", "--test-threads=1", "--exact"])
        .arg(format!("kill_during_write::{test}"))
        .env(PLACE, path)
        .stdout(Stdio::piped())
        .stderr(Stdio::null())
        .spawn()
        .expect("a child");
    let mut lines = BufReader::new(child.stdout.take().expect("a pipe")).lines();
    let mut synced = None;
    let note = |line: &str, synced: &mut Option<(usize, usize)>| {
        if let Some(numbers) = line.strip_prefix("@synced ") {
            let mut numbers = numbers.split(' ').filter_map(|number| number.parse().ok());
            *synced = numbers.next().zip(numbers.next());
        }
    };
    // The moment determines a number of output lines to wait for, and then the length of a busy wait.
    let mut left = moment % 72 + 1;
    while left > 0 {
        let Some(Ok(line)) = lines.next() else {
            child.wait().expect("a child that ended");
            return (synced, true);
        };
        left -= u64::from(line.starts_with('@'));
        note(&line, &mut synced);
    }
    for turn in 0..moment.wrapping_mul(7919) % 40_000 {
        std::hint::black_box(turn);
    }
    child.kill().expect("SIGKILL");
    child.wait().expect("a child that was killed");
    // Lines that the child wrote before it died still count.
    lines.map_while(Result::ok).for_each(|line| note(&line, &mut synced));
    (synced, false)
}

#[test]
fn a_classic_file_keeps_synced_data() {
    synced_data_survive("a_classic_file_keeps_synced_data", "x.cdf");
}

#[test]
fn a_netcdf4_file_keeps_synced_data() {
    synced_data_survive("a_netcdf4_file_keeps_synced_data", "x.nc");
}

#[test]
fn a_directory_keeps_synced_data() {
    synced_data_survive("a_directory_keeps_synced_data", "x.zarr");
}

#[test]
fn a_v3_directory_keeps_synced_data() {
    synced_data_survive("a_v3_directory_keeps_synced_data", "x.v3.zarr");
}

#[test]
fn an_archive_keeps_synced_data() {
    synced_data_survive("an_archive_keeps_synced_data", "x.zip");
}

/// Kills `test` at many moments while it writes a dataset of this name.
fn synced_data_survive(test: &str, name: &str) {
    if let Some(path) = std::env::var_os(PLACE) {
        return child(&path.to_string_lossy()).expect("only a kill stops it");
    }
    let (mut failed, mut killed, mut most) = (Vec::new(), 0, (0, 0));
    let moments = moments();
    for moment in 0..moments {
        let folder = tempfile::tempdir().expect("a temporary folder");
        let path = folder.path().join(name);
        let (synced, done) = kill(test, &path, moment);
        killed += u64::from(!done);
        let Some((records, rounds)) = synced else { continue };
        most = most.max((records, rounds));
        if let Err(why) = check(&path, records, rounds) {
            failed.push(format!("moment {moment}, {records} records and {rounds} rounds synced: {why}"));
            continue;
        }
        // The next writer finds the dataset unlocked, continues it, and removes the temporary files of the
        // dead process.
        let on = || -> nczarr::Result<()> {
            let file = OpenOptions::new().writable(true).open(path.display().to_string())?;
            file.add_variable::<i32>("on", &["x"])?;
            file.close()
        };
        let names = || {
            std::fs::read_dir(folder.path()).expect("a folder").map(|entry| entry.expect("one").file_name())
        };
        let outcome = on().map_err(|error| error.to_string()).and_then(|()| check(&path, records, rounds));
        if let Err(why) = outcome {
            failed.push(format!("moment {moment}, written on: {why}"));
        } else if names().count() != 1 {
            failed.push(format!("moment {moment}: left over: {:?}", names().collect::<Vec<_>>()));
        }
    }
    eprintln!(
        "killed writers of {name}: {killed} of {moments}, at most {most:?} synced, {} failed",
        failed.len()
    );
    assert!(failed.is_empty() && killed > moments / 2, "{killed} killed\n{}", failed.join("\n"));
}
