//! [`check_driver`] and [`check_dataset`]: the guarantees of [`Driver`] and [`Dataset`].

mod closing;
mod data;
mod inquiry;
mod life;

use std::fs;
use std::sync::Arc;

use nczarr_dispatch::{Clobber, CreateRequest, Dataset, Driver, OpenRequest, Options, Registry};
use nczarr_model::{ErrorKind, Result};
use nczarr_url_infer::Target;

use crate::failure::{Outcome, broken, fails, holds, ok, same};

/// Checks a driver: opening, creating, editing, reading back, aborting, closing while others write.
///
/// `place` returns an unused path or URL for this driver each time it is called. Maps and filters come from
/// `registry`. A driver that cannot create datasets must refuse to; run [`check_dataset`] over datasets that
/// it opens.
///
/// # Errors
///
/// The first guarantee that does not hold.
pub fn check_driver(driver: &dyn Driver, registry: &Arc<Registry>, place: &dyn Fn() -> String) -> Outcome {
    let suite = DriverSuite { driver, registry, options: Options::default() };
    let info = driver.info();
    holds("a driver has a name", !info.name.is_empty())?;
    holds(format!("{} has modes", info.name), !info.modes.is_empty())?;
    holds(format!("{} has a description", info.name), !info.about.is_empty())?;
    for magic in info.magic {
        holds(format!("{}: magic bytes are not empty", info.name), !magic.bytes.is_empty())?;
    }
    nothing_there(&suite, &suite.target(&place())?)?;
    let target = suite.target(&place())?;
    match suite.create(&target, Clobber::Refuse) {
        Err(error) if error.kind() == ErrorKind::Perm => return Ok(()),
        created => ok("close of a new dataset", ok("create", created)?.close())?,
    }
    if target.scheme.is_local() && fs::exists(&target.path).unwrap_or(false) {
        other_there(&suite, &suite.target(&place())?)?;
    }
    let place = || suite.target(&place());
    life::check(&suite, &place)?;
    closing::check(&suite, &place)
}

/// Checks the inquiries of an open dataset, and that its data can be read in parts as in whole.
///
/// Reads variables of more than 2^20 elements in part. The dataset is not changed; a read-only one must
/// refuse changes.
///
/// # Errors
///
/// The first guarantee that does not hold.
pub fn check_dataset(dataset: &dyn Dataset) -> Outcome {
    inquiry::check(dataset)?;
    data::check(dataset)?;
    if dataset.info().writable { Ok(()) } else { inquiry::refuses_changes(dataset) }
}

/// A driver with its call parameters.
struct DriverSuite<'s> {
    driver: &'s dyn Driver,
    registry: &'s Arc<Registry>,
    options: Options,
}

impl DriverSuite<'_> {
    fn target(&self, path: &str) -> Outcome<Target> {
        ok(format!("{path:?} is a path or URL"), nczarr_url_infer::parse(path))
    }

    fn open(&self, target: &Target, writable: bool) -> Result<Arc<dyn Dataset>> {
        let (options, registry) = (&self.options, self.registry);
        self.driver.open(&OpenRequest::new(target, options, registry).writable(writable))
    }

    fn create(&self, target: &Target, clobber: Clobber) -> Result<Arc<dyn Dataset>> {
        let dataset = self.driver.create(
            &CreateRequest::new(target, &self.options, self.registry)
                .clobber(clobber)
                .markers(self.driver.info().markers),
        )?;
        // The registry does the same.
        if !dataset.model().is_defining() {
            dataset.model().begin();
        }
        Ok(dataset)
    }
}

/// Checks that opening an absent dataset fails and creates nothing.
fn nothing_there(suite: &DriverSuite<'_>, target: &Target) -> Outcome {
    for writable in [false, true, false] {
        fails(format!("open of the absent {target}"), &[], suite.open(target, writable))?;
    }
    if target.scheme.is_local() {
        same(
            format!("a failed open of {target} creates nothing"),
            false,
            fs::exists(&target.path).unwrap_or(false),
        )?;
    }
    Ok(())
}

/// Checks that a file of another kind is refused and left alone.
fn other_there(suite: &DriverSuite<'_>, target: &Target) -> Outcome {
    let bytes = b"This is a text, not a dataset of any format.\n".repeat(20);
    if fs::write(&target.path, &bytes).is_err() {
        return Ok(());
    }
    for writable in [false, true] {
        fails(format!("open of the text file {target}"), &[], suite.open(target, writable))?;
    }
    for clobber in [Clobber::Refuse, Clobber::Replace] {
        fails(
            format!("create over the text file {target}, {clobber:?}"),
            &[],
            suite.create(target, clobber),
        )?;
    }
    let found = fs::read(&target.path).unwrap_or_default();
    let removed = fs::remove_file(&target.path);
    crate::failure::same_bytes(format!("the text file {target} is left alone"), &bytes, &found)?;
    removed.map_err(|error| broken("the text file can be removed", "success", error))
}
