//! [`CopyJob`]: a copy job. It defines all objects and copies the data; if the target cannot hold something,
//! it repeats both without that.

use std::collections::{HashMap, HashSet};
use std::path::PathBuf;

use nczarr::File;
use nczarr::dispatch::{Dataset, EncodedCheck};
use nczarr_model::{ErrorKind, Model, NcType, Result, VarId};

use super::args::CopyArgs;
use super::define::{self, DefineRequest};
use super::defined::DefinedObjects;
use super::error::CopyError;
use super::progress::Progress;
use super::resumable::{CopyDraft, CopyFingerprint, KnownLosses};
use super::select::Selection;
use super::spec::RequestedLayout;
use super::strings::StringStats;
use super::{compare, data, dry_run, fingerprint, lossless_check};
use crate::failure::{self, Failure, at};
use crate::streams::say;

/// The failure of a strict copy.
const TOO_MUCH: &str = "the target cannot hold everything; nothing was copied (--strict)";
/// The failure of a strict copy that was resumed.
const TOO_MUCH_LEFT: &str = "the target cannot hold everything; the copy is not finished (--strict)";
/// Advice on finishing an incomplete copy.
const GO_ON: &str = "run the same command with --resume to continue";
/// The advice if repeating the command would fail again.
const GO_ON_WITHOUT: &str = "run the same command with --resume and without --strict to continue";

/// The parameters of a copy job.
pub(super) struct CopyJob<'a> {
    pub(super) draft: &'a CopyDraft,
    pub(super) fingerprint: CopyFingerprint,
    pub(super) source: &'a File,
    pub(super) layout: &'a RequestedLayout,
    pub(super) select: &'a Selection,
    pub(super) texts: &'a HashMap<VarId, StringStats>,
    /// The check of chunks that are copied as stored bytes.
    pub(super) check: EncodedCheck,
    pub(super) progress: Progress<'a>,
}

impl CopyJob<'_> {
    /// Returns the plan of a dry run: defines all objects in a temporary target and discards it.
    pub(super) fn dry_run_plan(&self, target: File) -> Result<String, CopyError> {
        let (from, to): (&dyn Dataset, &dyn Dataset) =
            (self.source.dataset().as_ref(), target.dataset().as_ref());
        let (exact, without) = (HashSet::new(), HashSet::new());
        let copied = define::all(from, to, &self.wanted(&exact, &without))?;
        let dry_run_plan =
            dry_run::plan(from, to, &copied, self.select, &self.progress).map_err(CopyError::Source);
        target.close()?;
        dry_run_plan
    }

    /// Returns the failure with its cause. `kept`: whether partial work stays, and its folder if it has one.
    pub(super) fn failure(
        &self,
        broken: CopyError,
        args: &CopyArgs,
        kept: Option<Option<PathBuf>>,
    ) -> Failure {
        let go_on = if matches!(broken, CopyError::Strict) { GO_ON_WITHOUT } else { GO_ON };
        let goes_on = kept.map(|folder| match folder {
            Some(folder) => format!("the completed part stays in {}; {go_on}", folder.display()),
            None => format!("the completed part stays; {go_on}"),
        });
        let failure = match broken {
            CopyError::Strict => {
                let what = if goes_on.is_some() { TOO_MUCH_LEFT } else { TOO_MUCH };
                at(&args.target)(ErrorKind::Inval.context(what))
            }
            CopyError::Source(error) => at(&args.source)(error),
            CopyError::Target(error) => at(&args.target)(error),
            CopyError::Stopped => {
                let what = goes_on.unwrap_or_else(|| "the partial copy was removed".to_owned());
                return Failure::Interrupted(format!(
                    "{}: interrupted; {what}",
                    failure::place(&args.target)
                ));
            }
        };
        if let Some(goes_on) = goes_on {
            say(format_args!("{}: {goes_on}", failure::place(&args.target)));
        }
        failure
    }

    fn wanted<'w>(&'w self, exact: &'w HashSet<VarId>, without: &'w HashSet<VarId>) -> DefineRequest<'w> {
        let registry = self.source.registry();
        DefineRequest {
            layout: self.layout,
            select: self.select,
            texts: self.texts,
            exact,
            registry,
            without,
        }
    }

    /// Makes the copy. If the target is too large, leaves out the largest variable and repeats. If a lossy
    /// filter changes values, leaves the filter out and repeats.
    pub(super) fn copy(&self, mut target: File) -> Result<DefinedObjects, CopyError> {
        let (source, registry) = (self.source.model(), self.source.registry());
        let mut suspects = lossless_check::suspects(&source, self.layout, registry);
        suspects.retain(|id| self.select.has_data(&source, *id));
        // Findings of the process that began the copy.
        let left = self.draft.left();
        let numbered = |numbers: &[usize]| -> HashSet<VarId> {
            source.vars().map(|(id, _)| id).filter(|id| numbers.contains(&id.index())).collect()
        };
        let (mut without, mut exact) = (numbered(&left.without), numbered(&left.exact));
        loop {
            let (from, to): (&dyn Dataset, &dyn Dataset) =
                (self.source.dataset().as_ref(), target.dataset().as_ref());
            let wanted = self.wanted(&exact, &without);
            let rest = || suspects.difference(&exact).copied();
            let made = define::all(from, to, &wanted).and_then(|copied| {
                let layout = fingerprint::header(&target)?;
                self.draft.defined(to, CopyFingerprint { layout, ..self.fingerprint.clone() })?;
                let moved = data::all(from, to, &copied, self.select, self.check, &self.progress);
                self.progress.end();
                if moved.is_err() {
                    self.progress.last(to);
                }
                moved?;
                if !suspects.is_empty() {
                    // After this sync, every encoding failure has appeared.
                    target.sync()?;
                }
                Ok(copied)
            });
            match made {
                Ok(copied) => {
                    target.close()?;
                    let changed = match rest().next() {
                        Some(_) => lossless_check::changed(self.source, self.draft.open()?, &copied, rest())?,
                        None => HashSet::new(),
                    };
                    if changed.is_empty() {
                        return Ok(copied);
                    }
                    exact.extend(changed);
                    self.draft.restart(left_of(&exact, &without))?;
                }
                Err(CopyError::Target(error)) if error.kind() == ErrorKind::VarSize => {
                    let largest = largest(&source, &without).ok_or(CopyError::Target(error))?;
                    without.insert(largest);
                    to.abort()?;
                    if self.draft.is_kept() {
                        self.draft.restart(left_of(&exact, &without))?;
                    }
                }
                Err(broken) if lossless_check::is_unfit(&broken) && rest().next().is_some() => {
                    exact.clone_from(&suspects);
                    to.abort()?;
                    // The chunks stay if definition was complete.
                    let _ = self.draft.restart(left_of(&exact, &without));
                }
                Err(broken) => return Err(broken),
            }
            self.progress.again();
            target = self.draft.create()?;
        }
    }

    /// Compares the copy with its source.
    pub(super) fn loss_report(&self, copied: &DefinedObjects) -> Result<Vec<String>> {
        let copy = self.draft.open()?;
        let faults = self.source.faults()?;
        let mut lost = compare::between(&self.source.model(), &faults, &copy.model(), copied, self.select);
        lost.extend(compare::json(self.source, &copy, copied)?);
        copy.close()?;
        let skipped = self.progress.skipped();
        if !skipped.is_empty() {
            lost.push(format!("elements that cannot be read: {}", skipped.join(", ")));
        }
        Ok(lost)
    }
}

fn left_of(exact: &HashSet<VarId>, without: &HashSet<VarId>) -> KnownLosses {
    let numbers = |ids: &HashSet<VarId>| {
        let mut numbers: Vec<usize> = ids.iter().map(|id| id.index()).collect();
        numbers.sort_unstable();
        numbers
    };
    KnownLosses { exact: numbers(exact), without: numbers(without) }
}

/// Returns the variable with the most bytes that is not left out yet.
fn largest(model: &Model, without: &HashSet<VarId>) -> Option<VarId> {
    let bytes = |id: VarId, ty: NcType| {
        let item = model.type_size(ty).ok().flatten().unwrap_or(1) as u64;
        model.shape(id).unwrap_or_default().iter().fold(item, |product, &len| product.saturating_mul(len))
    };
    let left = model.vars().filter(|(id, _)| !without.contains(id));
    left.max_by_key(|(id, var)| bytes(*id, var.xtype)).map(|(id, _)| id)
}
