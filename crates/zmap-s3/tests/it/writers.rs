//! Several processes write parts of one chunk, or append records, and no write is lost. `NCZ_TEST_ROUNDS`
//! sets the number of rounds (default 5).

use std::process::{Command, Stdio};

use s3_server::{Config, Server};

use crate::common::url;

const PROCESSES: u64 = 8;
const AT: &str = "NCZ_S3_WRITER_AT";
const WRITER: &str = "NCZ_S3_WRITER";
const ROUNDS: &str = "NCZ_TEST_ROUNDS";

fn rounds() -> u64 {
    std::env::var(ROUNDS).map_or(5, |rounds| rounds.parse().expect("a number of rounds"))
}

#[test]
fn parts_of_one_chunk_by_many_processes() {
    if let (Ok(at), Ok(writer)) = (std::env::var(AT), std::env::var(WRITER)) {
        return write(&at, writer.parse().unwrap());
    }
    let server = Server::start(Config::default());
    let at = url(&server, "shared", "nczarr");
    let file = nczarr::create(&at).unwrap();
    file.add_dimension("x", rounds() * PROCESSES).unwrap();
    let v = file.add_variable::<i64>("v", &["x"]).unwrap();
    v.set_chunking(&[rounds() * PROCESSES]).unwrap();
    v.set_deflate(1, true).unwrap();
    file.close().unwrap();
    run("parts_of_one_chunk_by_many_processes", &at);
    let file = nczarr::open(&at).unwrap();
    let values = file.variable("v").unwrap().get::<i64>(..).unwrap();
    let expected: Vec<i64> = (0..(rounds() * PROCESSES) as i64).map(|i| i + 1).collect();
    assert_eq!(&values[..], expected);
    assert!(!server.keys("bucket").iter().any(|key| key.contains("probe")));
}

/// Runs a test in several processes, and waits for them.
fn run(test: &str, at: &str) {
    let children: Vec<_> = (0..PROCESSES)
        .map(|writer| {
            Command::new(std::env::current_exe().unwrap())
                .args(["--exact", &format!("writers::{test}")])
                .envs([(AT, at.to_owned()), (WRITER, writer.to_string())])
                .stdout(Stdio::null())
                .spawn()
                .unwrap()
        })
        .collect();
    for mut child in children {
        assert!(child.wait().unwrap().success());
    }
}

#[test]
fn records_that_many_processes_reserve() {
    if let (Ok(at), Ok(writer)) = (std::env::var(AT), std::env::var(WRITER)) {
        return append(&at, writer.parse().unwrap());
    }
    let server = Server::start(Config::default());
    for modes in ["nczarr", "nczarr,v3,consolidated", "zarr,annotate,consolidated", "zarr,v3,annotate"] {
        let at = url(&server, &modes.replace(',', "-"), modes);
        let file = nczarr::create(&at).unwrap();
        file.add_unlimited_dimension("t").unwrap();
        for name in ["t", "v"] {
            file.add_variable::<i64>(name, &["t"]).unwrap().set_chunking(&[16]).unwrap();
        }
        file.close().unwrap();
        let before = server.keys("bucket").len();
        run("records_that_many_processes_reserve", &at);
        let file = nczarr::open(&at).unwrap();
        let mut values = file.variable("v").unwrap().get_values::<i64>(..).unwrap();
        assert_eq!(values, file.variable("t").unwrap().get_values::<i64>(..).unwrap(), "{modes}");
        for writer in 0..PROCESSES as i64 {
            let own: Vec<i64> = values.iter().copied().filter(|value| value / 1000 == writer).collect();
            assert!(own.is_sorted(), "{modes}: {own:?}");
        }
        values.sort_unstable();
        let expected: Vec<i64> = (0..PROCESSES as i64)
            .flat_map(|writer| (0..2 * rounds() as i64).map(move |at| writer * 1000 + at))
            .collect();
        assert_eq!(values, expected, "{modes}");
        // Nothing but chunks was added.
        let chunks = 2 * (2 * rounds() * PROCESSES).div_ceil(16) as usize;
        assert_eq!(server.keys("bucket").len(), before + chunks, "{modes}");
    }
}

/// Appends two records in each round.
fn append(at: &str, writer: i64) {
    let file = nczarr::append(at).unwrap();
    let dimension = file.dimension("t").unwrap();
    for round in 0..rounds() as i64 {
        let start = dimension.reserve(2).unwrap();
        for name in ["v", "t"] {
            let values = [writer * 1000 + 2 * round, writer * 1000 + 2 * round + 1];
            file.variable(name).unwrap().put(&values, start..start + 2).unwrap();
        }
        file.sync().unwrap();
    }
    file.close().unwrap();
}

/// Writes one separate element in each round.
fn write(at: &str, writer: u64) {
    let file = nczarr::append(at).unwrap();
    let v = file.variable("v").unwrap();
    for round in 0..rounds() {
        let place = round * PROCESSES + writer;
        v.put(&[place as i64 + 1], place as usize).unwrap();
        file.sync().unwrap();
    }
    file.close().unwrap();
}
