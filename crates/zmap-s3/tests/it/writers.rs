//! Several processes write parts of one chunk, and no write is lost. `NCZ_TEST_ROUNDS` sets the number of
//! rounds (default 5).

use std::process::{Command, Stdio};

use s3_server::{Config, Server};

use crate::common::url;

const PROCESSES: u64 = 8;
const AT: &str = "NCZ_S3_WRITER_AT";
const WHO: &str = "NCZ_S3_WRITER";
const ROUNDS: &str = "NCZ_TEST_ROUNDS";

fn rounds() -> u64 {
    std::env::var(ROUNDS).map_or(5, |rounds| rounds.parse().expect("a number of rounds"))
}

#[test]
fn parts_of_one_chunk_by_many_processes() {
    if let (Ok(at), Ok(who)) = (std::env::var(AT), std::env::var(WHO)) {
        return write(&at, who.parse().unwrap());
    }
    let server = Server::start(Config::default());
    let at = url(&server, "shared", "nczarr");
    let file = nczarr::create(&at).unwrap();
    file.add_dimension("x", rounds() * PROCESSES).unwrap();
    let v = file.add_variable::<i64>("v", &["x"]).unwrap();
    v.set_chunking(&[rounds() * PROCESSES]).unwrap();
    v.set_deflate(1, true).unwrap();
    file.close().unwrap();
    let children: Vec<_> = (0..PROCESSES)
        .map(|who| {
            Command::new(std::env::current_exe().unwrap())
                .args(["--exact", "writers::parts_of_one_chunk_by_many_processes"])
                .envs([(AT, at.clone()), (WHO, who.to_string())])
                .stdout(Stdio::null())
                .spawn()
                .unwrap()
        })
        .collect();
    for mut child in children {
        assert!(child.wait().unwrap().success());
    }
    let file = nczarr::open(&at).unwrap();
    let values = file.variable("v").unwrap().get::<i64>(..).unwrap();
    let expected: Vec<i64> = (0..(rounds() * PROCESSES) as i64).map(|i| i + 1).collect();
    assert_eq!(&values[..], expected);
    assert!(!server.keys("bucket").iter().any(|key| key.contains("probe")));
}

/// Writes one separate element in each round.
fn write(at: &str, who: u64) {
    let file = nczarr::append(at).unwrap();
    let v = file.variable("v").unwrap();
    for round in 0..rounds() {
        let place = round * PROCESSES + who;
        v.put(&[place as i64 + 1], place as usize).unwrap();
        file.sync().unwrap();
    }
    file.close().unwrap();
}
