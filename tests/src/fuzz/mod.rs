//! Fuzz targets: what a decoder or a reader of metadata is given, made anew from a seed and a number.
//!
//! A [`Target`] makes a [`Case`] of random numbers: the input, as files that can be kept, and what is done
//! with it. The same numbers make the same case, so that a case that went wrong is named by target, seed and
//! number.
//!
//! This knows neither processes nor memory: the program `fuzz` runs cases and watches over them.

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

/// What became of a case: whether the input was taken, or an error was told; otherwise what is wrong.
pub type Outcome = Result<bool, String>;

/// One input, and what is done with it.
pub struct Case<'t> {
    /// What the input is for, in words.
    pub note: String,
    /// The input: names and bytes.
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

    /// An input of one file.
    fn of_bytes(note: String, bytes: Vec<u8>, run: impl FnOnce(&[u8]) -> Outcome + 't) -> Self {
        Self::new(note, vec![("input".to_owned(), bytes)], move |files| run(&files[0].1))
    }

    /// Does what is to be done; a panic is among what is wrong.
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
    /// The case of these numbers.
    fn case(&self, rng: &mut Rng) -> Case<'_>;
}

/// A target's name, and how it is made: that takes its seeds, which may be many.
pub struct Entry {
    /// The name, a word or words with slashes between.
    pub name: String,
    make: Box<dyn Fn() -> Box<dyn Target>>,
}

impl Entry {
    fn new<T: Target + 'static>(name: impl Into<String>, make: impl Fn() -> T + 'static) -> Self {
        Self { name: name.into(), make: Box::new(move || Box::new(make())) }
    }

    /// The target with its seeds.
    ///
    /// # Panics
    /// If there are none.
    pub fn target(&self) -> Box<dyn Target> {
        (self.make)()
    }

    /// The random numbers of a case.
    pub fn rng(&self, seed: u64, number: u64) -> Rng {
        Rng::of(&self.name, seed, number)
    }
}

/// All targets: filters, element codecs, documents, headers, archives, URLs, texts of filters; and those that
/// fail.
pub fn entries() -> Vec<Entry> {
    let registry = nczarr::registry().expect("the registry of this build");
    let mut all = streams::entries(&registry);
    all.extend(datasets::entries());
    all.extend(shards::entries());
    all.extend(texts::entries());
    all.extend(faults::entries());
    all
}

/// An error is as good as a success unless it says that the library is at fault.
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
