//! Fuzz targets: random inputs for decoders and readers of metadata, from a seed and a number.
//!
//! A [`Target`] makes a [`Case`] from random numbers. A case has an input as files and a function that runs
//! it. The same numbers make the same case, so target, seed and number identify a failure.
//!
//! This module does not handle processes or memory limits: the program `fuzz` runs the cases and watches
//! them.

mod datasets;
mod faults;
mod mutate;
mod rng;
mod shards;
mod stores;
mod streams;
mod texts;

use std::panic::{AssertUnwindSafe, catch_unwind};

use nczarr::{Error, ErrorKind};

pub use faults::FAULTS;
pub use rng::Rng;

/// The result of a case: whether the library accepted the input, or a description of the failure.
pub type Outcome = Result<bool, String>;

/// One input and the function that runs it.
pub struct Case<'t> {
    /// A description of the input.
    pub note: String,
    /// The input files: names and bytes.
    pub files: Vec<(String, Vec<u8>)>,
    run: Run<'t>,
}

type Run<'t> = Box<dyn FnOnce(Vec<(String, Vec<u8>)>) -> Outcome + 't>;

impl<'t> Case<'t> {
    fn new(
        note: String,
        files: Vec<(String, Vec<u8>)>,
        run: impl FnOnce(Vec<(String, Vec<u8>)>) -> Outcome + 't,
    ) -> Self {
        Self { note, files, run: Box::new(run) }
    }

    /// A case with one input file.
    fn of_bytes(note: String, bytes: Vec<u8>, run: impl FnOnce(&[u8]) -> Outcome + 't) -> Self {
        Self::new(note, vec![("input".to_owned(), bytes)], move |files| run(&files[0].1))
    }

    /// Runs the case. A panic counts as a failure.
    pub fn run(self) -> Outcome {
        let (files, run) = (self.files, self.run);
        catch_unwind(AssertUnwindSafe(|| run(files))).unwrap_or_else(|panic| {
            let text =
                panic.downcast_ref::<String>().map(String::as_str).or(panic.downcast_ref::<&str>().copied());
            Err(format!("panic: {}", text.unwrap_or("of no text")))
        })
    }
}

/// Makes cases for one decoder or one kind of document.
pub trait Target {
    /// Makes a case from these random numbers.
    fn case(&self, rng: &mut Rng) -> Case<'_>;
}

/// A target's name and its constructor. The constructor makes the seeds, which can take long.
pub struct Entry {
    /// The name: one or more words with slashes between them.
    pub name: String,
    make: Box<dyn Fn() -> Box<dyn Target>>,
}

impl Entry {
    fn new<T: Target + 'static>(name: impl Into<String>, make: impl Fn() -> T + 'static) -> Self {
        Self { name: name.into(), make: Box::new(move || Box::new(make())) }
    }

    /// Makes the target with its seeds.
    ///
    /// # Panics
    /// Panics if there are no seeds.
    pub fn target(&self) -> Box<dyn Target> {
        (self.make)()
    }

    /// The random numbers of a case.
    pub fn rng(&self, seed: u64, number: u64) -> Rng {
        Rng::of(&self.name, seed, number)
    }
}

/// All targets: filters, element codecs, documents, headers, archives, URLs, texts of filters, and the
/// targets that fail on purpose.
pub fn entries() -> Vec<Entry> {
    let registry = nczarr::registry().expect("the registry of this build");
    let mut all = streams::entries(&registry);
    all.extend(datasets::entries());
    all.extend(shards::entries());
    all.extend(texts::entries());
    all.extend(faults::entries());
    all
}

/// Converts a result to an outcome. Only internal errors of the library count as failures.
fn judged<T>(outcome: Result<T, Error>) -> Outcome {
    match outcome {
        Ok(_) => Ok(true),
        Err(error) if error.kind() == ErrorKind::Internal => Err(format!("an internal error: {error}")),
        Err(_) => Ok(false),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_case_is_made_again_by_its_numbers() {
        for entry in entries().into_iter().filter(|entry| !entry.name.starts_with(FAULTS)) {
            let target = entry.target();
            let make = |number| {
                let case = target.case(&mut entry.rng(7, number));
                (case.note, case.files)
            };
            let cases: Vec<_> = (0..8).map(make).collect();
            assert_eq!(cases, (0..8).map(make).collect::<Vec<_>>(), "{}", entry.name);
            assert!(cases.iter().any(|case| *case != cases[0]), "{}: all cases are the same", entry.name);
        }
    }

    #[test]
    fn a_panic_is_a_failure() {
        let case = Case::of_bytes(String::new(), Vec::new(), |bytes| Ok(bytes[0] == 0));
        assert!(case.run().unwrap_err().starts_with("panic: index out of bounds"));
    }
}
