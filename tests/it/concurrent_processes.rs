//! Several processes write one dataset in a directory at the same time, and no write is lost.
//!
//! The test program starts copies of itself as children. Each child writes its part of shared chunks and
//! appends records. Every round writes new numbers. `NCZ_TEST_ROUNDS` sets the number of rounds (default 30).

use std::process::{Child, Command, Stdio};

use nczarr::{File, OpenOptions, Place};

const PROCESSES: usize = 8;
/// Number of elements that each process writes in each chunk.
const PART: usize = 5;
/// Number of records that a process appends in each round.
const RECORDS: usize = 2;
const VERSION_3: &str = "#mode=nczarr,v3";
const PLACE: &str = "NCZ_TEST_PROCESSES";
const TURN: &str = "NCZ_TEST_PROCESS";
const ROUNDS: &str = "NCZ_TEST_ROUNDS";

fn rounds() -> usize {
    std::env::var(ROUNDS).map_or(30, |rounds| rounds.parse().expect("a number of rounds"))
}

/// Returns the test and number of a child process; `None` in the parent.
fn task() -> Option<(String, usize)> {
    let place = std::env::var(PLACE).ok()?;
    Some((place, std::env::var(TURN).expect("which one it is").parse().expect("a number")))
}

fn run(test: &str, place: &str) {
    let start = |turn: usize| -> Child {
        Command::new(std::env::current_exe().expect("this program"))
            .args(["--nocapture", "--test-threads=1", "--exact"])
            .arg(format!("concurrent_processes::{test}"))
            .env(PLACE, place)
            .env(TURN, turn.to_string())
            .stdout(Stdio::null())
            .spawn()
            .expect("a child")
    };
    let children: Vec<Child> = (0..PROCESSES).map(start).collect();
    let failed: Vec<usize> = children
        .into_iter()
        .enumerate()
        .filter_map(|(turn, mut child)| (!child.wait().expect("a child that ends").success()).then_some(turn))
        .collect();
    assert!(failed.is_empty(), "children that failed: {failed:?}");
}

fn append(place: &str) -> nczarr::Result<File> {
    OpenOptions::new().writable(true).threads(1).open(place)
}

fn value(turn: usize, round: usize, at: usize) -> i32 {
    ((turn * 10_000 + round) * 10 + at) as i32
}

#[test]
fn parts_of_a_chunk_are_not_lost() {
    if let Some((place, turn)) = task() {
        let file = append(&place).unwrap();
        let v = file.variable("v").unwrap();
        let from = turn * PART;
        for round in 0..rounds() {
            let values: Vec<i32> = (0..PART).map(|at| value(turn, round, at)).collect();
            v.put(&values, (round as u64 % 2, from as u64..(from + PART) as u64)).unwrap();
            file.sync().unwrap();
            // The values of this process are intact, because the others write only their own elements.
            let seen = v.get_values::<i32>((round as u64 % 2, ..)).unwrap();
            assert_eq!(&seen[from..from + PART], values, "round {round} of {turn}");
        }
        return file.close().unwrap();
    }
    let dir = tempfile::tempdir().unwrap();
    for (name, filter, mode) in
        [("plain", None, ""), ("packed", Some(1), ""), ("version3", Some(1), VERSION_3)]
    {
        let place = dir.path().join(name).with_extension("zarr").display().to_string();
        let file = nczarr::create(Place::url(format!("{place}{mode}"))).unwrap();
        file.add_dimension("row", 2).unwrap();
        file.add_dimension("x", (PROCESSES * PART) as u64).unwrap();
        let v = file.add_variable::<i32>("v", &["row", "x"]).unwrap();
        v.set_chunking(&[1, (PROCESSES * PART) as u64]).unwrap();
        if let Some(level) = filter {
            v.set_deflate(level, true).unwrap();
        }
        file.close().unwrap();
        run("parts_of_a_chunk_are_not_lost", &place);
        let v = nczarr::open(&place).unwrap().variable("v").unwrap();
        for row in 0..2 {
            let last = (0..rounds()).filter(|round| round % 2 == row).max().expect("two rounds");
            let expected: Vec<i32> =
                (0..PROCESSES).flat_map(|turn| (0..PART).map(move |at| value(turn, last, at))).collect();
            assert_eq!(v.get_values::<i32>((row as u64, ..)).unwrap(), expected, "{name}, row {row}");
        }
    }
}

#[test]
fn records_that_are_appended_are_not_lost() {
    if let Some((place, turn)) = task() {
        let file = append(&place).unwrap();
        let v = file.variable("v").unwrap();
        for round in 0..rounds() {
            for record in (0..RECORDS).map(|record| (round * RECORDS + record) * PROCESSES + turn) {
                v.put(&[value(turn, record, 0), value(turn, record, 1)], (record as u64, ..)).unwrap();
            }
            file.sync().unwrap();
            let least = (round * RECORDS + RECORDS - 1) * PROCESSES + turn + 1;
            assert!(v.shape().unwrap()[0] as usize >= least, "round {round} of {turn}: {:?}", v.shape());
        }
        return file.close().unwrap();
    }
    records_are_appended("records_that_are_appended_are_not_lost", "");
}

/// One document holds all metadata of a node. Neither lengths nor attributes are lost.
#[test]
fn records_and_attributes_of_version_3_are_not_lost() {
    if let Some((place, turn)) = task() {
        let file = append(&place).unwrap();
        let v = file.variable("v").unwrap();
        for round in 0..rounds() {
            for record in (0..RECORDS).map(|record| (round * RECORDS + record) * PROCESSES + turn) {
                v.put(&[value(turn, record, 0), value(turn, record, 1)], (record as u64, ..)).unwrap();
            }
            v.put_attribute(&format!("of{turn}"), round as i32).unwrap();
            file.put_attribute(&format!("of{turn}"), round as i32).unwrap();
            if round == turn {
                file.add_variable::<i8>(&format!("by{turn}"), &["t"]).unwrap();
            }
            file.sync().unwrap();
        }
        return file.close().unwrap();
    }
    let (_dir, place) = records_are_appended("records_and_attributes_of_version_3_are_not_lost", VERSION_3);
    let file = nczarr::open(&place).unwrap();
    let v = file.variable("v").unwrap();
    for turn in 0..PROCESSES {
        let last = rounds() as i32 - 1;
        for found in [v.attribute(&format!("of{turn}")), file.attribute(&format!("of{turn}"))] {
            assert_eq!(
                found.expect("it was written").into_values(),
                nczarr::Values::Int(vec![last]),
                "of {turn}"
            );
        }
        if turn < rounds() {
            assert_eq!(
                file.variable(&format!("by{turn}")).unwrap().shape().unwrap(),
                v.shape().unwrap()[..1]
            );
        }
    }
}

fn records_are_appended(test: &str, mode: &str) -> (tempfile::TempDir, String) {
    let dir = tempfile::tempdir().unwrap();
    let place = dir.path().join("x.zarr").display().to_string();
    let file = nczarr::create(Place::url(format!("{place}{mode}"))).unwrap();
    file.add_unlimited_dimension("t").unwrap();
    file.add_dimension("x", 2).unwrap();
    let v = file.add_variable::<i32>("v", &["t", "x"]).unwrap();
    // Records of several processes share each chunk.
    v.set_chunking(&[5, 2]).unwrap();
    file.close().unwrap();
    run(test, &place);
    let v = nczarr::open(&place).unwrap().variable("v").unwrap();
    let records = rounds() * RECORDS * PROCESSES;
    assert_eq!(v.shape().unwrap(), [records as u64, 2]);
    let expected: Vec<i32> = (0..records)
        .flat_map(|record| [value(record % PROCESSES, record, 0), value(record % PROCESSES, record, 1)])
        .collect();
    assert_eq!(v.get_values::<i32>(..).unwrap(), expected);
    (dir, place)
}
