//! Runs the server as a separate process for measurements. It serves the files of folders and delays each
//! answer.
//!
//! `s3-folder [MILLISECONDS]` prints its URL. The bucket is `bench`, and requests need no signature. Each
//! input line is a command, and the program answers with one line. `load FOLDER` replaces all objects by the
//! files below a folder, under the folder's name. `counts` prints the numbers of requests since the last
//! `counts`. The program ends when its input ends.

use std::io::{self, BufRead as _, Write as _};
use std::path::Path;
use std::time::Duration;

use nczarr_s3_server::{Config, Op, Server};

const BUCKET: &str = "bench";

fn main() -> io::Result<()> {
    let milliseconds = std::env::args().nth(1).and_then(|text| text.parse().ok()).unwrap_or(0);
    let server =
        Server::start(Config::default().anonymous(BUCKET).latency(Duration::from_millis(milliseconds)));
    say(&server.url())?;
    for line in io::stdin().lock().lines() {
        let line = line?;
        match line.split_once(' ') {
            Some(("load", folder)) => {
                for key in server.keys(BUCKET) {
                    server.remove(BUCKET, &key);
                }
                let name = Path::new(folder).file_name().unwrap_or_default().to_string_lossy().into_owned();
                let files = put(&server, Path::new(folder), &name)?;
                say(&format!("{{\"files\":{files}}}"))?;
            }
            _ => {
                let counts = server.counts();
                server.clear_log();
                let (get, head, list) = (counts.of(Op::Get), counts.of(Op::Head), counts.of(Op::List));
                say(&format!(
                    "{{\"requests\":{},\"get\":{get},\"head\":{head},\"list\":{list},\"sent\":{},\"at_once\":{}}}",
                    counts.total(),
                    counts.sent,
                    counts.at_once
                ))?;
            }
        }
    }
    Ok(())
}

/// Stores all files at or below a path as objects. Returns their number.
fn put(server: &Server, path: &Path, key: &str) -> io::Result<usize> {
    if path.is_file() {
        server.put(BUCKET, key, std::fs::read(path)?);
        return Ok(1);
    }
    let mut files = 0;
    for entry in std::fs::read_dir(path)? {
        let entry = entry?;
        files += put(server, &entry.path(), &format!("{key}/{}", entry.file_name().to_string_lossy()))?;
    }
    Ok(files)
}

fn say(line: &str) -> io::Result<()> {
    let mut out = io::stdout().lock();
    writeln!(out, "{line}")?;
    out.flush()
}
