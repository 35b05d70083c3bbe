//! Starts and watches workers, saves the inputs of failures, and prints the results.

use std::fs::{self, File};
use std::io::{self, BufRead as _, BufReader};
use std::process::{Command, Stdio};
use std::sync::mpsc::{RecvTimeoutError, channel};
use std::thread;
use std::time::{Duration, Instant};

use nczarr_tests::fuzz::{self, Entry};

use crate::Args;
use crate::worker::Place;

/// A case that takes longer counts as endless.
const PATIENCE: Duration = Duration::from_secs(60);

/// A target stops after this number of workers that ended too early.
const DEATHS: usize = 5;

/// The results of a target.
#[derive(Default)]
struct Seen {
    runs: u64,
    taken: u64,
    refused: u64,
    /// The largest amount of memory that Rust code took for a case, in KiB.
    memory: u64,
    /// The largest amount of memory that a worker had, in KiB.
    resident: u64,
    failures: Vec<(u64, String)>,
}

/// Runs the selected targets. Returns whether all cases passed.
///
/// # Errors
/// Returns the system's error, or an error if no target has this name.
pub fn all(args: &Args) -> io::Result<bool> {
    let wanted = |name: &str| {
        let all = args.target == "all" && !name.starts_with(fuzz::FAULTS);
        all || args.target == name || args.target.ends_with('/') && name.starts_with(&args.target)
    };
    let entries = fuzz::entries();
    if args.target == "list" {
        entries.iter().for_each(|entry| println!("{}", entry.name));
        return Ok(true);
    }
    let entries: Vec<_> = entries.into_iter().filter(|entry| wanted(&entry.name)).collect();
    if entries.is_empty() {
        return Err(io::Error::other(format!("{:?} is no target; `list` tells them", args.target)));
    }
    println!(
        "{:<24} {:>9} {:>9} {:>9} {:>7} {:>9} {:>11} {:>13} {:>8}",
        "target", "runs", "taken", "refused", "s", "runs/s", "memory KiB", "resident KiB", "failures"
    );
    let (mut failed, mut runs) = (0, 0);
    for entry in &entries {
        let started = Instant::now();
        let seen = target(args, entry)?;
        let took = started.elapsed().as_secs_f64();
        println!(
            "{:<24} {:>9} {:>9} {:>9} {:>7.1} {:>9.0} {:>11} {:>13} {:>8}",
            entry.name,
            seen.runs,
            seen.taken,
            seen.refused,
            took,
            seen.runs as f64 / took,
            seen.memory,
            seen.resident,
            seen.failures.len()
        );
        for (number, what) in &seen.failures {
            println!("  {} --seed {} --from {number} --runs 1: {what}", entry.name, args.seed);
            save(args, entry, *number, what)?;
        }
        failed += seen.failures.len();
        runs += seen.runs;
    }
    println!("fuzz: {} targets, {runs} runs, {failed} failures", entries.len());
    Ok(failed == 0)
}

/// Runs all cases of a target, divided among the workers.
fn target(args: &Args, entry: &Entry) -> io::Result<Seen> {
    let jobs = args.jobs.clamp(1, args.runs.max(1));
    let share = |job: u64| (u128::from(args.runs) * u128::from(job) / u128::from(jobs)) as u64;
    let name = entry.name.as_str();
    let parts: Vec<io::Result<Seen>> = thread::scope(|scope| {
        let started: Vec<_> = (0..jobs)
            .map(|job| (args.from + share(job), share(job + 1) - share(job)))
            .map(|(from, runs)| scope.spawn(move || part(args, name, from, runs)))
            .collect();
        started
            .into_iter()
            .map(|part| part.join().unwrap_or_else(|_| Err(io::Error::other("a panic"))))
            .collect()
    });
    parts.into_iter().try_fold(Seen::default(), |mut all, part| {
        all.add(part?);
        Ok(all)
    })
}

impl Seen {
    fn add(&mut self, part: Self) {
        self.runs += part.runs;
        self.taken += part.taken;
        self.refused += part.refused;
        self.memory = self.memory.max(part.memory);
        self.resident = self.resident.max(part.resident);
        self.failures.extend(part.failures);
    }
}

/// Runs a range of cases with one worker after another. The next worker continues after the case that ended
/// the last worker.
fn part(args: &Args, name: &str, from: u64, runs: u64) -> io::Result<Seen> {
    let (mut seen, mut next, end, started) = (Seen::default(), from, from + runs, Instant::now());
    for _ in 0..DEATHS {
        let seconds = args.seconds.map(|all| all.saturating_sub(started.elapsed().as_secs()));
        let (part, died_at) = worker(args, name, next, end - next, seconds)?;
        seen.add(part);
        match died_at {
            Some(number) if number + 1 < end => next = number + 1,
            _ => break,
        }
    }
    Ok(seen)
}

/// Runs one worker. Also returns the number of the case that ended it early.
fn worker(
    args: &Args,
    name: &str,
    from: u64,
    runs: u64,
    seconds: Option<u64>,
) -> io::Result<(Seen, Option<u64>)> {
    let place = tempfile::NamedTempFile::new()?;
    let mut command = Command::new(std::env::current_exe()?);
    command.arg(name).arg("--place").arg(place.path()).env("RAYON_NUM_THREADS", "1");
    command.args([
        "--seed",
        &args.seed.to_string(),
        "--from",
        &from.to_string(),
        "--runs",
        &runs.to_string(),
    ]);
    if let Some(seconds) = seconds {
        command.args(["--seconds", &seconds.to_string()]);
    }
    let mut child = command.stdin(Stdio::null()).stdout(Stdio::piped()).spawn()?;
    let output = child.stdout.take().ok_or_else(|| io::Error::other("a worker without output"))?;
    let (sender, lines) = channel();
    let reader = thread::spawn(move || {
        BufReader::new(output).lines().map_while(Result::ok).all(|line| sender.send(line).is_ok())
    });
    let (mut seen, mut summed, mut hung) = (Seen::default(), false, false);
    let (mut last, mut since) = (None, Instant::now());
    loop {
        match lines.recv_timeout(Duration::from_secs(1)) {
            Ok(line) => summed |= seen.read_line(&line),
            Err(RecvTimeoutError::Disconnected) => break,
            Err(RecvTimeoutError::Timeout) => {
                let number = Some(Place::read(place.as_file()).number);
                if number != last {
                    (last, since) = (number, Instant::now());
                } else if since.elapsed() > PATIENCE {
                    hung = true;
                    child.kill()?;
                }
            }
        }
    }
    let status = child.wait()?;
    drop(reader.join());
    let at = Place::read(place.as_file());
    (seen.taken, seen.refused) = (at.taken, at.refused);
    seen.runs = at.taken + at.refused + seen.failures.len() as u64;
    if status.success() && summed {
        return Ok((seen, None));
    }
    if at.number < from {
        return Err(io::Error::other(format!("{name}: a worker ended before its first case: {status}")));
    }
    seen.runs += 1;
    let what = if hung { "does not end".to_owned() } else { format!("the process ended: {status}") };
    seen.failures.push((at.number, what));
    Ok((seen, Some(at.number)))
}

impl Seen {
    /// Reads a line of a worker. Returns whether it is the last line.
    fn read_line(&mut self, line: &str) -> bool {
        let mut words = line.splitn(3, ' ');
        let (word, number, rest) = (words.next(), words.next(), words.next().unwrap_or_default());
        let number = number.and_then(|number| number.parse().ok()).unwrap_or_default();
        match word {
            Some("failed") => self.failures.push((number, rest.to_owned())),
            Some("memory") => {
                (self.memory, self.resident) = (number, rest.parse().unwrap_or_default());
                return true;
            }
            _ => {}
        }
        false
    }
}

/// Saves the input of a case and a description of its failure.
fn save(args: &Args, entry: &Entry, number: u64, what: &str) -> io::Result<()> {
    let target = entry.target();
    let case = target.case(&mut entry.rng(args.seed, number));
    let folder = args.save.join(entry.name.replace('/', "-")).join(format!("{}-{number}", args.seed));
    for (key, bytes) in &case.files {
        let path = folder.join("input").join(key);
        fs::create_dir_all(path.parent().unwrap_or(&folder))?;
        fs::write(path, bytes)?;
    }
    fs::create_dir_all(&folder)?;
    let note = File::create(folder.join("about.txt"))?;
    io::Write::write_all(&mut &note, format!("{}\n{}\n{what}\n", entry.name, case.note).as_bytes())
}
