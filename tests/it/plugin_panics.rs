//! Plugins panic at every call: maps, filters and observers. No data are lost without an error, and `sync` or
//! `close` stores the data when it succeeds.

use std::borrow::Cow;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::path::Path;
use std::sync::atomic::{AtomicI64, AtomicU32, AtomicU64, Ordering};
use std::sync::{Arc, Once};

use nczarr::codec::{Filter, FilterClass, FilterInfo, Json, ZarrFormat};
use nczarr::wrap::{Counting, Fault, Faults, Op, Slow, When};
use nczarr::{CreateOptions, File, OpenOptions, OutBuf, Progress, Registry, Result};

const WIDTH: u64 = 8;
const COLUMNS: u64 = 3;

/// Hides intended panics from the output of tests.
fn silence() {
    static ONCE: Once = Once::new();
    ONCE.call_once(|| {
        let others = std::panic::take_hook();
        std::panic::set_hook(Box::new(move |info| {
            let text = info.payload_as_str().unwrap_or_default();
            if !(text.contains("was made to panic") || text.contains("a scoped thread panicked")) {
                others(info);
            }
        }));
    });
}

/// The outcome of a step.
#[derive(Debug, PartialEq)]
enum Came {
    Done,
    /// The step returned an error.
    Failed,
    Panicked,
}

fn attempt(step: impl FnOnce() -> Result<()>) -> Came {
    match catch_unwind(AssertUnwindSafe(step)) {
        Ok(Ok(())) => Came::Done,
        Ok(Err(_)) => Came::Failed,
        Err(_) => Came::Panicked,
    }
}

fn values(step: u64, from: u64, count: u64) -> Vec<i32> {
    (from..from + count).map(|at| (step * 1000 + at + 1) as i32).collect()
}

fn record(step: u64, at: u64) -> Vec<f64> {
    (0..COLUMNS).map(|column| (step * 1000 + at * 10 + column + 1) as f64).collect()
}

/// A step in the life of a dataset. Each step can be repeated.
type Step = (&'static str, fn(&File, &Kind) -> Result<()>);

const STEPS: &[Step] = &[
    ("define", |file, kind| {
        if file.variable("a").is_ok() {
            return Ok(());
        }
        for (name, len) in [("x", WIDTH), ("c", COLUMNS)] {
            if file.dimension(name).is_err() {
                file.add_dimension(name, len)?;
            }
        }
        if file.dimension("t").is_err() {
            file.add_unlimited_dimension("t")?;
        }
        let b = match file.variable("b") {
            Ok(b) => b,
            Err(_) => file.add_variable::<f64>("b", &["t", "c"])?,
        };
        let a = file.add_variable::<i32>("a", &["x"])?;
        if kind.chunked {
            b.set_chunking(&[2, 2])?;
            a.set_chunking(&[4])?;
        }
        if kind.shards {
            b.set_shards(&[4, 4])?;
            a.set_shards(&[8])?;
        }
        if let Some(filter) = kind.filter {
            b.set_filter(filter, &[])?;
            a.set_filter(filter, &[])?;
        }
        Ok(())
    }),
    ("put parts", |file, _| {
        file.variable("a")?.put(&values(1, 1, 4), 1..5)?;
        (0..3).try_for_each(|at| file.variable("b")?.put(&record(1, at), (at, ..)))
    }),
    ("note", |file, _| file.put_attribute("note", 1)),
    ("sync", |file, _| file.sync()),
    ("put more", |file, _| {
        file.variable("a")?.put(&values(1, 5, 3), 5..)?;
        file.variable("a")?.put(&values(1, 0, 1), ..1)?;
        file.variable("b")?.put(&record(2, 1), (1, ..))?;
        (3..7).try_for_each(|at| file.variable("b")?.put(&record(1, at), (at, ..)))
    }),
    ("note again", |file, _| file.put_attribute("note", 2)),
    ("sync again", |file, _| file.sync()),
    ("put whole", |file, _| {
        file.variable("a")?.put(&values(3, 0, WIDTH), ..)?;
        file.variable("b")?.put(&record(3, 2), (2, ..))
    }),
];

/// The kind of dataset under test.
struct Kind {
    mode: &'static str,
    chunked: bool,
    shards: bool,
    filter: Option<&'static str>,
}

impl Kind {
    fn name(&self) -> String {
        let shards = if self.shards { ", in shards" } else { "" };
        let filter = self.filter.map(|filter| format!(", with {filter}")).unwrap_or_default();
        format!("{}{shards}{filter}", self.mode)
    }
}

const fn kind(mode: &'static str) -> Kind {
    Kind { mode, chunked: true, shards: false, filter: None }
}

/// Runs the steps and closes the dataset, twice if the first close panics. Returns the outcomes and the
/// number of panics.
///
/// With `retry` a step that panicked is repeated. Otherwise the next step follows, and its data may be
/// missing.
fn live(create: impl Fn() -> Result<File>, kind: &Kind, retry: bool) -> (Vec<(&'static str, Came)>, usize) {
    let (mut steps, mut panics) = (Vec::new(), 0);
    let mut made = None;
    for _ in 0..2 {
        let came = attempt(|| {
            made = Some(create()?);
            Ok(())
        });
        panics += usize::from(came == Came::Panicked);
        if came == Came::Done {
            break;
        }
    }
    let Some(file) = made else { return (vec![("create", Came::Failed)], panics) };
    for (name, step) in STEPS {
        let mut came = attempt(|| step(&file, kind));
        panics += usize::from(came == Came::Panicked);
        // The definitions are always repeated, because the later steps need them.
        if came != Came::Done && (retry || *name == "define") {
            came = attempt(|| step(&file, kind));
            panics += usize::from(came == Came::Panicked);
        }
        steps.push((*name, came));
    }
    for _ in 0..2 {
        let handle = file.clone();
        let came = attempt(|| handle.close());
        panics += usize::from(came == Came::Panicked);
        let done = came != Came::Panicked;
        steps.push(("close", came));
        if done {
            break;
        }
    }
    (steps, panics)
}

/// Returns an error if elements are missing although the steps that wrote them succeeded.
fn lost(file: &File, steps: &[(&str, Came)]) -> std::result::Result<(), String> {
    let done = |name: &str| steps.iter().any(|(step, came)| *step == name && *came == Came::Done);
    let all = ["put parts", "put more", "put whole"].iter().all(|name| done(name));
    let text = |error: nczarr::Error| error.to_string();
    if done("note again") && file.attribute("note").and_then(|note| note.number()) != Some(2.0) {
        return Err("the attribute is lost".to_owned());
    }
    let a = file.variable("a").and_then(|a| a.get_values::<i32>(..)).map_err(text)?;
    if done("put whole") && a != values(3, 0, WIDTH) {
        return Err(format!("a is {a:?}"));
    }
    let b = file.variable("b").map_err(text)?;
    let count = b.shape().map_err(text)?[0];
    for at in 0..7 {
        let expected = match at {
            2 if done("put whole") => record(3, at),
            1 if done("put more") => record(2, at),
            0..3 if done("put parts") && all => record(1, at),
            3.. if done("put more") => record(1, at),
            _ => continue,
        };
        if at >= count {
            return Err(format!("record {at} of {count} is not counted"));
        }
        let found = b.get_values::<f64>((at, ..)).map_err(text)?;
        if found != expected {
            return Err(format!("record {at} is {found:?}"));
        }
    }
    Ok(())
}

/// Counts the panic points of a kind and the losses.
#[derive(Default)]
struct Tally {
    points: usize,
    lost: Vec<String>,
}

impl Tally {
    /// Checks one run with a panic at a point. Returns whether a panic happened.
    fn run(
        &mut self,
        at: &str,
        steps: Vec<(&'static str, Came)>,
        panics: usize,
        open: impl Fn() -> Result<File>,
    ) -> bool {
        self.points += usize::from(panics > 0);
        let closed = steps.last().is_some_and(|(step, came)| *step == "close" && *came == Came::Done);
        let outcome = match open() {
            _ if steps.iter().any(|(_, came)| *came == Came::Failed) && !closed => Ok(()),
            Ok(file) => lost(&file, &steps),
            Err(error) => Err(error.to_string()),
        };
        if let Err(why) = outcome {
            self.lost.push(format!("{at}: {why}; {steps:?}"));
        }
        panics > 0
    }

    fn finish(self, name: &str, least: usize) {
        eprintln!(
            "{name}: a panic at each of {} points, {} lost without an error",
            self.points,
            self.lost.len()
        );
        assert!(self.lost.is_empty(), "{} lost\n{}", self.lost.len(), self.lost.join("\n"));
        assert!(self.points >= least, "{} points", self.points);
    }
}

/// A folder in memory if possible, because there are thousands of files, and devices are not tested here.
fn folder() -> tempfile::TempDir {
    let memory = Path::new("/dev/shm");
    if memory.is_dir() { tempfile::tempdir_in(memory) } else { tempfile::tempdir() }.unwrap()
}

fn fresh(kind: &Kind, folder: &Path) -> String {
    static NEXT: AtomicU32 = AtomicU32::new(0);
    let number = NEXT.fetch_add(1, Ordering::Relaxed);
    match kind.mode {
        "zip" => format!("{}/{number}.zip", folder.display()),
        mode if mode.starts_with("file:") => {
            format!("file://{}/{number}#mode={}", folder.display(), &mode["file:".len()..])
        }
        mode => format!("memory://panics-{number}#mode={mode}"),
    }
}

#[test]
fn a_map_that_panics_at_any_operation_loses_nothing_without_an_error() {
    silence();
    let folder = folder();
    let kinds = [
        kind("nczarr"),
        kind("nczarr,v3"),
        kind("zarr,v2,consolidated,annotate"),
        kind("file:nczarr"),
        kind("file:nczarr,v3"),
        kind("zip"),
        Kind { shards: true, ..kind("nczarr,v3") },
        Kind { filter: Some("deflate"), ..kind("nczarr") },
    ];
    for kind in &kinds {
        let mut tally = Tally::default();
        for (fault, retry) in [(Fault::Panic, true), (Fault::LatePanic, true), (Fault::Panic, false)] {
            for nth in 1.. {
                let url = fresh(kind, folder.path());
                let storage = CreateOptions::new().create_map(&url).unwrap();
                let slow = Slow::new(storage).faults(Faults::new(0).with(&Op::ALL, When::Nth(nth), fault));
                let counting = Arc::new(Counting::new(Arc::new(slow)));
                let create = || CreateOptions::new().threads(2).map(counting.clone()).create(&url);
                let (steps, panics) = live(create, kind, retry);
                drop(counting);
                if !tally.run(&format!("{fault:?} {nth}"), steps, panics, || nczarr::open(&url)) {
                    assert!(nth > 10, "{nth}");
                    break;
                }
            }
        }
        tally.finish(&format!("a map of {}", kind.name()), 60);
    }
}

/// Counts down the calls of a plugin. The plugin panics when the count reaches 0.
#[derive(Debug, Clone)]
struct Fuse(Arc<AtomicI64>);

impl Fuse {
    fn new(calls: i64) -> Self {
        Self(Arc::new(AtomicI64::new(calls)))
    }

    fn burn(&self, what: &str) {
        assert!(self.0.fetch_sub(1, Ordering::SeqCst) != 1, "{what} was made to panic");
    }
}

static INFO: FilterInfo =
    FilterInfo { hdf5_id: Some(40_917), ..FilterInfo::new("touchy", "nothing, until it panics") };

struct TouchyClass(Fuse);

impl FilterClass for TouchyClass {
    fn info(&self) -> &FilterInfo {
        &INFO
    }

    fn parse_params(&self, _: &[u32]) -> Result<Box<dyn Filter>> {
        Ok(Box::new(Touchy(self.0.clone())))
    }

    fn parse_json(&self, _: &Json, _: ZarrFormat) -> Result<Box<dyn Filter>> {
        self.parse_params(&[])
    }
}

#[derive(Debug, Clone)]
struct Touchy(Fuse);

impl Filter for Touchy {
    fn info(&self) -> &FilterInfo {
        &INFO
    }

    fn params(&self) -> Cow<'_, [u32]> {
        Cow::Borrowed(&[])
    }

    fn to_json(&self, format: ZarrFormat) -> Json {
        Json::from_iter([(if format == ZarrFormat::V2 { "id" } else { "name" }, "touchy")])
    }

    fn encode_bound(&self, decoded: usize) -> Option<usize> {
        Some(decoded)
    }

    fn encode(&self, src: &[u8], dst: &mut OutBuf<'_>) -> Result<()> {
        self.0.burn("the filter");
        dst.put(src)
    }

    fn decode(&self, src: &[u8], dst: &mut OutBuf<'_>) -> Result<()> {
        self.0.burn("the filter");
        dst.put(src)
    }
}

fn registry(fuse: &Fuse) -> Arc<Registry> {
    Arc::new((*nczarr::registry().unwrap()).clone().with_filter(TouchyClass(fuse.clone())))
}

#[test]
fn a_filter_that_panics_loses_nothing_without_an_error() {
    silence();
    let folder = folder();
    let touchy = |mode| Kind { filter: Some("touchy"), ..kind(mode) };
    let kinds = [
        touchy("nczarr"),
        touchy("zarr,v3,annotate"),
        touchy("file:nczarr"),
        touchy("file:nc4"),
        Kind { shards: true, ..touchy("nczarr,v3") },
    ];
    for kind in &kinds {
        let mut tally = Tally::default();
        for retry in [true, false] {
            for nth in 1.. {
                let url = fresh(kind, folder.path());
                let fuse = Fuse::new(nth);
                let create = || CreateOptions::new().threads(2).registry(registry(&fuse)).create(&url);
                let (steps, panics) = live(create, kind, retry);
                let sound = registry(&Fuse::new(-1));
                let open = || OpenOptions::new().registry(Arc::clone(&sound)).open(&url);
                if !tally.run(&format!("call {nth}"), steps, panics, open) {
                    break;
                }
            }
        }
        tally.finish(&format!("a filter of {}", kind.name()), 10);
    }
}

struct Observer(Fuse, Arc<AtomicU64>);

impl Progress for Observer {
    fn advance(&self, done: u64, _: u64) -> bool {
        self.0.burn("the observer");
        self.1.fetch_max(done, Ordering::Relaxed);
        true
    }
}

#[test]
fn an_observer_that_panics_loses_nothing_without_an_error() {
    silence();
    let folder = folder();
    let kinds = [
        kind("nczarr"),
        kind("file:nczarr,v3"),
        kind("file:nc4"),
        Kind { chunked: false, ..kind("file:cdf5") },
        Kind { shards: true, ..kind("nczarr,v3") },
    ];
    for kind in &kinds {
        let mut tally = Tally::default();
        for retry in [true, false] {
            for nth in 1.. {
                let url = fresh(kind, folder.path());
                let observer = || Observer(Fuse::new(nth), Arc::default());
                let create = || CreateOptions::new().threads(2).progress(observer()).create(&url);
                let (steps, panics) = live(create, kind, retry);
                if !tally.run(&format!("call {nth}"), steps, panics, || nczarr::open(&url)) {
                    break;
                }
            }
        }
        tally.finish(&format!("an observer of {}", kind.name()), 10);
    }
}

/// A thread that unwinds closes the dataset. A second panic there would end the process.
#[test]
fn a_dataset_that_goes_while_its_thread_unwinds_does_not_end_the_process() {
    silence();
    let url = "memory://panics-unwinding#mode=nczarr";
    let storage = CreateOptions::new().create_map(url).unwrap();
    let faults = Faults::new(0).with(Op::WRITES, When::From(1), Fault::Panic);
    let map = Arc::new(Slow::new(storage).faults(faults));
    let outcome = catch_unwind(AssertUnwindSafe(|| {
        let file = CreateOptions::new().map(map).create(url).unwrap();
        file.add_dimension("x", 2).unwrap();
        file.add_variable::<i32>("v", &["x"]).unwrap();
        file.sync().unwrap();
    }));
    assert!(outcome.is_err());
}
