//! The steps of the child ([`steps`]) and the content that the store must have afterwards ([`check`]).
//!
//! Every value encodes its step and position, so the check detects torn, lost and misplaced values. This
//! module does not know why the child stopped.

use std::io::Write as _;

use nczarr::{CreateOptions, Durability, ErrorKind, File, OpenOptions, Result, Variable};

/// Number of elements of `a`, and of each of its chunks.
const WIDTH: u64 = 8;
const CHUNK: u64 = 4;
/// Number of columns of `b`. A chunk has two records.
const COLUMNS: u64 = 3;

/// The first synced step. The later steps depend on it.
const SYNCED_FIRST: usize = 2;
const LATER: usize = 5;
const RENAMED: usize = 7;
pub const CLOSED: usize = 13;
pub const REPLACED: usize = 15;
pub const REMOVED: usize = 16;

/// The steps that write data. `RECORDS` also contains the number of records afterwards.
const PUT_A: &[usize] = &[1, 3, 9];
/// The steps that write the first chunk of `a`.
const PUT_FRONT: &[usize] = &[1, 3, 9, 11];
const PUT_LATER: &[usize] = &[5, 11];
const NOTES: &[usize] = &[1, 3];
const RECORDS: &[(usize, u64)] = &[(1, 3), (3, 6), (11, 8)];

/// The steps after which earlier changes must survive.
const LASTING: &[usize] = &[2, 4, 6, 8, 10, 12, CLOSED, REPLACED, REMOVED];

/// Prints a line for the parent.
fn say(what: &str) {
    let mut out = std::io::stdout().lock();
    writeln!(out, "\n@{what}").and_then(|()| out.flush()).expect("a parent that reads");
}

fn value(step: usize, at: u64) -> i32 {
    (step as u64 * 1000 + at) as i32
}

fn values(step: usize, from: u64, count: u64) -> Vec<i32> {
    (from..from + count).map(|at| value(step, at)).collect()
}

fn record(step: usize, record: u64) -> Vec<f64> {
    (0..COLUMNS).map(|column| f64::from(value(step, record * COLUMNS + column))).collect()
}

fn open(path: &str) -> Result<File> {
    OpenOptions::new().writable(true).threads(1).durability(Durability::Fsync).open(path)
}

fn create(path: &str, clobber: bool) -> Result<File> {
    let url =
        if path.ends_with("v3.zarr") { format!("file://{path}#mode=nczarr,v3") } else { path.to_owned() };
    CreateOptions::new().clobber(clobber).threads(1).durability(Durability::Fsync).create(&url)
}

/// Runs and reports the steps from `from` to `to`. Reports failed steps too, and repeats them if possible.
pub fn steps(path: &str, from: usize, to: usize) {
    say("ready");
    let mut go = String::new();
    std::io::stdin().read_line(&mut go).expect("a parent that talks");
    let mut file = None;
    for number in from..=to {
        say(&format!("begun {number}"));
        let mut outcome = step(path, number, &mut file);
        if let Err(error) = &outcome {
            tell(error);
            // A failed step must succeed when it is repeated without a fault.
            if matches!(number, 2..=4 | 6 | 8 | 9) {
                outcome = step(path, number, &mut file);
                outcome.as_ref().err().into_iter().for_each(tell);
            }
        }
        if outcome.is_err() {
            break;
        }
        say(&format!("done {number}"));
    }
    drop(file);
    say("end");
}

fn tell(error: &nczarr::Error) {
    let mut text = format!("{:?}: {error}", error.kind());
    let mut cause = std::error::Error::source(error);
    while let Some(inner) = cause {
        text.push_str(&format!(": {inner}"));
        cause = inner.source();
    }
    say(&format!("failed {}", text.replace('\n', " ")));
}

fn step(path: &str, number: usize, kept: &mut Option<File>) -> Result<()> {
    let closed = || nczarr::Error::from(ErrorKind::BadId);
    if let Some(file) = kept {
        match number {
            3 => {
                file.variable("a")?.put(&values(3, 0, WIDTH), ..)?;
                let b = file.variable("g/b")?;
                for at in 3..6 {
                    b.put(&record(3, at), (at, ..))?;
                }
                b.put(&record(3, 1), (1, ..))?;
                return file.variable("a")?.put_attribute("note", 3);
            }
            LATER => {
                let later = file.add_variable::<i32>("later", &["x"])?;
                return later.put(&values(5, 0, WIDTH), ..);
            }
            RENAMED => {
                file.variable("a")?.rename("renamed")?;
                // The two dimensions have different lengths and exchange their names.
                let (x, columns) = (file.dimension("x")?, file.dimension("c")?);
                x.rename("between")?;
                columns.rename("x")?;
                x.rename("c")?;
                file.dimension("t")?.rename("time")?;
                return file.group("g")?.rename("h");
            }
            9 => return file.variable("renamed")?.put(&values(9, 0, WIDTH), ..),
            2 | 4 | 6 | 8 => return file.sync(),
            10 | 12 => return kept.take().ok_or_else(closed)?.close(),
            _ => {}
        }
    }
    match number {
        1 => {
            let file = kept.insert(create(path, false)?);
            file.add_unlimited_dimension("t")?;
            file.add_dimension("x", WIDTH)?;
            file.add_dimension("c", COLUMNS)?;
            let a = file.add_variable::<i32>("a", &["x"])?;
            a.set_chunking(&[CHUNK])?;
            a.put_attribute("note", 1)?;
            let group = file.add_group("g")?;
            group.add_group("deep")?.put_attribute("text", "below")?;
            let b = group.add_variable::<f64>("b", &["t", "c"])?;
            b.set_chunking(&[2, COLUMNS])?;
            b.set_deflate(1, true)?;
            a.put(&values(1, 0, WIDTH), ..)?;
            (0..3).try_for_each(|at| b.put(&record(1, at), (at, ..)))
        }
        11 => {
            let file = kept.insert(open(path)?);
            let b = file.variable("h/b")?;
            for at in 6..8 {
                b.put(&record(11, at), (at, ..))?;
            }
            file.variable("later")?.put(&values(11, 0, WIDTH), ..)?;
            file.variable("renamed")?.put(&values(11, 0, CHUNK), ..CHUNK)
        }
        CLOSED if path.ends_with(".zip") => nczarr::repack(path).map(drop),
        CLOSED => Ok(()),
        14 => {
            let file = kept.insert(create(path, true)?);
            file.add_dimension("x", WIDTH)?;
            file.add_variable::<i32>("other", &["x"])?.put(&values(14, 0, WIDTH), ..)
        }
        REPLACED => kept.take().ok_or_else(closed)?.close(),
        REMOVED => nczarr::delete(path),
        _ => Err(closed()),
    }
}

/// Runs steps without reporting them.
pub fn prepare(path: &str, to: usize) {
    let mut file = None;
    for number in 1..=to {
        step(path, number, &mut file).expect("nothing stands in its way");
    }
}

/// Opens the store as the next writer and writes to it.
pub fn write_on(path: &str) -> std::result::Result<(), String> {
    let on = || -> Result<()> {
        let file = open(path)?;
        file.put_attribute("on", 1)?;
        file.close()?;
        if path.ends_with(".zip") { nczarr::repack(path).map(drop) } else { Ok(()) }
    };
    on().map_err(|error| format!("written on: {error}"))
}

/// Checks the content of a store after `done` steps completed and `begun` steps started.
pub fn check(path: &str, done: usize, begun: usize) -> std::result::Result<(), String> {
    let lasting = LASTING.iter().copied().filter(|&step| step <= done).max().unwrap_or(0);
    let found = Found { lasting, begun };
    match nczarr::open(path) {
        Err(error) if lasting < SYNCED_FIRST && !path.ends_with(".zip") && holds_objects(path.as_ref()) => {
            Err(format!("the started store is not recognised: {error}"))
        }
        Err(_) if lasting < SYNCED_FIRST || begun >= 14 && lasting != REPLACED => again(path),
        Err(error) if begun == REMOVED && error.kind() == ErrorKind::NotFound => again(path),
        // An interrupted removal can be completed.
        Err(_) if begun == REMOVED => {
            match nczarr::delete(path).and_then(|()| create(path, false)?.close()) {
                Ok(()) => Ok(()),
                Err(error) => again_in_empty(path).map_err(|why| format!("{error}; {why}")),
            }
        }
        Err(error) => Err(format!("it does not open: {error}")),
        Ok(_) if lasting >= REMOVED => Err("it is still there".to_owned()),
        Ok(file) if lasting == REPLACED && begun == REPLACED => found.replaced(&file),
        // The store was about to be removed or replaced, so the test only repeats that.
        Ok(file) if begun >= 14 => {
            drop(file);
            again(path)
        }
        Ok(file) if lasting < SYNCED_FIRST => {
            let outcome = found.first(&file).map_err(|why| format!("nothing lasts, {begun} begun: {why}"));
            drop(file);
            // A create without `clobber` must not replace the store.
            if create(path, false).is_ok() {
                return Err("it was replaced unasked".to_owned());
            }
            outcome
        }
        Ok(file) => found.first(&file).map_err(|why| format!("{lasting} lasts, {begun} begun: {why}")),
    }
}

/// Whether the folder contains a file that is not temporary.
fn holds_objects(folder: &std::path::Path) -> bool {
    std::fs::read_dir(folder).into_iter().flatten().flatten().any(|entry| match entry.path() {
        path if path.is_dir() => holds_objects(&path),
        _ => !entry.file_name().to_string_lossy().starts_with(".nczarr-tmp-"),
    })
}

/// Checks that a store without durable content can be created again and removed. If the library cannot
/// recognize a dataset, it must report this and leave the files alone.
fn again(path: &str) -> std::result::Result<(), String> {
    let anew = || -> Result<()> {
        if nczarr::delete(path).is_err() {
            match create(path, true) {
                Err(error) if matches!(error.kind(), ErrorKind::Object | ErrorKind::NotNc) => {
                    let removed = std::fs::remove_file(path).or_else(|_| std::fs::remove_dir_all(path));
                    removed.map_err(|error| nczarr::Error::from(ErrorKind::Io).caused_by(error))?;
                }
                made => return made?.close(),
            }
        }
        create(path, false)?.close()
    };
    anew()
        .and_then(|()| nczarr::delete(path))
        .map_err(|error| format!("nothing can be made in its place: {error}"))
}

/// Checks that a dataset can be created where only an empty directory is left.
fn again_in_empty(path: &str) -> std::result::Result<(), String> {
    create(path, false)
        .and_then(File::close)
        .and_then(|()| nczarr::delete(path))
        .map_err(|error| error.to_string())
}

/// The progress of the store that is being checked.
struct Found {
    lasting: usize,
    begun: usize,
}

impl Found {
    /// The steps whose values are allowed, and whether fill values are allowed.
    fn allowed<'s>(&self, puts: &'s [usize]) -> (Vec<&'s usize>, bool) {
        let last = puts.iter().filter(|&&step| step <= self.lasting).max();
        let steps =
            puts.iter().filter(|&step| *step <= self.begun && last.is_none_or(|last| step >= last)).collect();
        (steps, last.is_none())
    }

    fn replaced(&self, file: &File) -> std::result::Result<(), String> {
        self.whole(&file.variable("other").map_err(|error| error.to_string())?, &[14], 0, WIDTH)
    }

    fn first(&self, file: &File) -> std::result::Result<(), String> {
        let text = |error: nczarr::Error| error.to_string();
        let (old, new) = (file.variable("a"), file.variable("renamed"));
        let may = (self.lasting < RENAMED, self.begun >= RENAMED);
        let a = match (old, new) {
            (Ok(a), Err(_)) if may.0 => a,
            (Err(_), Ok(a)) if may.1 => a,
            (Err(_), Err(_)) if self.lasting < SYNCED_FIRST => return Ok(()),
            (old, new) => return Err(format!("`a` is there: {}, `renamed`: {}", old.is_ok(), new.is_ok())),
        };
        self.whole(&a, PUT_FRONT, 0, CHUNK)?;
        self.whole(&a, PUT_A, CHUNK, WIDTH)?;
        let note = a.attribute("note").and_then(|note| note.number());
        let (notes, none) = self.allowed(NOTES);
        if !(none && note.is_none() || notes.iter().any(|&&step| note == Some(step as f64))) {
            return Err(format!("the note is {note:?}"));
        }
        let group = match (file.group("g"), file.group("h")) {
            (Ok(group), Err(_)) if may.0 => group,
            (Err(_), Ok(group)) if may.1 => group,
            (Err(_), Err(_)) if self.lasting < SYNCED_FIRST => return Ok(()),
            (old, new) => return Err(format!("`g` is there: {}, `h`: {}", old.is_ok(), new.is_ok())),
        };
        if self.lasting >= SYNCED_FIRST {
            let deep = group.group("deep").map_err(text)?;
            if deep.attribute("text").and_then(|it| it.text().map(str::to_owned)).as_deref() != Some("below")
            {
                return Err("an attribute of a group is lost".to_owned());
            }
            self.records(&group.variable("b").map_err(text)?)?;
        }
        match file.variable("later") {
            Ok(later) if self.begun >= LATER => self.whole(&later, PUT_LATER, 0, WIDTH),
            Err(_) if self.lasting < LATER => Ok(()),
            later => Err(format!("`later`: {:?}", later.map(|later| later.shape()))),
        }
    }

    /// Checks that elements written together all come from one step.
    fn whole(
        &self,
        variable: &Variable,
        puts: &[usize],
        from: u64,
        to: u64,
    ) -> std::result::Result<(), String> {
        let there = variable.get_values::<i32>(from..to).map_err(|error| error.to_string())?;
        let (steps, none) = self.allowed(puts);
        let is_fill = there.iter().all(|&value| value == nczarr::model::fill::INT);
        if none && is_fill || steps.iter().any(|&&step| there == values(step, from, to - from)) {
            return Ok(());
        }
        Err(format!("{} from {from} to {to} is {there:?}, not of {steps:?}", variable.name()))
    }

    fn records(&self, b: &Variable) -> std::result::Result<(), String> {
        let text = |error: nczarr::Error| error.to_string();
        let least = RECORDS
            .iter()
            .filter(|(step, _)| *step <= self.lasting)
            .map(|&(_, count)| count)
            .max()
            .unwrap_or(0);
        let most = RECORDS
            .iter()
            .filter(|(step, _)| *step <= self.begun)
            .map(|&(_, count)| count)
            .max()
            .unwrap_or(0);
        let count = b.shape().map_err(text)?.first().copied().unwrap_or(0);
        if !(least..=most).contains(&count) {
            return Err(format!("{count} records, between {least} and {most} expected"));
        }
        for at in 0..count {
            let there = b.get_values::<f64>((at, ..)).map_err(text)?;
            let puts: Vec<usize> = match at {
                1 => vec![1, 3],
                _ => RECORDS.iter().filter(|(_, count)| *count > at).take(1).map(|&(step, _)| step).collect(),
            };
            let (steps, none) = self.allowed(&puts);
            let is_fill = there.iter().all(|&value| value == nczarr::model::fill::DOUBLE);
            if !(none && is_fill || steps.iter().any(|&&step| there == record(step, at))) {
                return Err(format!("record {at} is {there:?}, not of {steps:?}"));
            }
        }
        Ok(())
    }
}
