//! [`Making`]: a copy under way: everything is defined, its data are moved, and both once more with less where the target cannot hold it.

use std::collections::{HashMap, HashSet};
use std::path::PathBuf;

use nczarr::File;
use nczarr::dispatch::Dataset;
use nczarr_model::{ErrorKind, Model, NcType, Result, VarId};

use super::define::{self, Copied, Wanted};
use super::draft::{Draft, Left, Terms};
use super::moving::Moving;
use super::select::Selection;
use super::spec::Layout;
use super::strings::Text;
use super::{Broken, data, exact, fingerprint, losses, plan};
use crate::args::Copy;
use crate::failure::{self, Failure, at};

/// Why a strict copy fails.
const TOO_MUCH: &str = "the target cannot keep everything; nothing was copied (--strict)";
/// The same where it went on with another one.
const TOO_MUCH_LEFT: &str = "the target cannot keep everything, so the copy is not finished (--strict)";
/// How to finish what was begun.
const GO_ON: &str = "the same command with --resume goes on from there";
/// The same where it would fail again.
const GO_ON_WITHOUT: &str = "the same command with --resume and without --strict goes on from there";

/// What a copy is made of and where.
pub(super) struct Making<'a> {
    pub(super) draft: &'a Draft,
    pub(super) terms: Terms,
    pub(super) source: &'a File,
    pub(super) layout: &'a Layout,
    pub(super) select: &'a Selection,
    pub(super) texts: &'a HashMap<VarId, Text>,
    pub(super) moving: Moving<'a>,
}

impl Making<'_> {
    /// What would be moved how: everything is defined, and given up.
    pub(super) fn told(&self, target: File) -> Result<String, Broken> {
        let (from, to): (&dyn Dataset, &dyn Dataset) = (self.source.dataset().as_ref(), target.dataset().as_ref());
        let (exact, without) = (HashSet::new(), HashSet::new());
        let copied = define::all(from, to, &self.wanted(&exact, &without))?;
        let told = plan::told(from, to, &copied, self.select, &self.moving).map_err(Broken::Source);
        target.close()?;
        told
    }

    /// Why it was not finished. `kept`: what there is stays, in a folder if there is one.
    pub(super) fn failure(&self, broken: Broken, args: &Copy, kept: Option<Option<PathBuf>>) -> Failure {
        let go_on = if matches!(broken, Broken::Strict) { GO_ON_WITHOUT } else { GO_ON };
        let goes_on = kept.map(|folder| match folder {
            Some(folder) => format!("what is complete stays in {}; {go_on}", folder.display()),
            None => format!("what is complete stays; {go_on}"),
        });
        let failure = match broken {
            Broken::Strict => {
                let what = if goes_on.is_some() { TOO_MUCH_LEFT } else { TOO_MUCH };
                at(&args.target)(ErrorKind::Inval.context(what))
            }
            Broken::Source(error) => at(&args.source)(error),
            Broken::Target(error) => at(&args.target)(error),
            Broken::Stopped => {
                let what = goes_on.unwrap_or_else(|| "nothing of the copy stays".to_owned());
                return Failure::Interrupted(format!("{}: interrupted; {what}", failure::place(&args.target)));
            }
        };
        if let Some(goes_on) = goes_on {
            failure::say(format_args!("{}: {goes_on}", failure::place(&args.target)));
        }
        failure
    }

    fn wanted<'w>(&'w self, exact: &'w HashSet<VarId>, without: &'w HashSet<VarId>) -> Wanted<'w> {
        let registry = self.source.registry();
        Wanted { layout: self.layout, select: self.select, texts: self.texts, exact, registry, without }
    }

    /// Makes the copy. Variables that are too large go, the largest first, until the rest can be laid out; filters that
    /// lose something go where they did.
    pub(super) fn copy(&self, mut target: File) -> Result<Copied, Broken> {
        let (source, registry) = (self.source.model(), self.source.registry());
        let mut suspects = exact::suspects(&source, self.layout, registry);
        suspects.retain(|id| self.select.has_data(&source, *id));
        // What was found out before this process began.
        let left = self.draft.left();
        let numbered = |numbers: &[usize]| -> HashSet<VarId> {
            source.vars().map(|(id, _)| id).filter(|id| numbers.contains(&id.index())).collect()
        };
        let (mut without, mut exact) = (numbered(&left.without), numbered(&left.exact));
        loop {
            let (from, to): (&dyn Dataset, &dyn Dataset) = (self.source.dataset().as_ref(), target.dataset().as_ref());
            let wanted = self.wanted(&exact, &without);
            let rest = || suspects.difference(&exact).copied();
            let made = define::all(from, to, &wanted).and_then(|copied| {
                let layout = fingerprint::header(&target)?;
                self.draft.defined(to, Terms { layout, ..self.terms.clone() })?;
                let moved = data::all(from, to, &copied, self.select, &self.moving);
                self.moving.end();
                if moved.is_err() {
                    self.moving.last(to);
                }
                moved?;
                if !suspects.is_empty() {
                    // Whether everything can be encoded is known now.
                    target.sync()?;
                }
                Ok(copied)
            });
            match made {
                Ok(copied) => {
                    target.close()?;
                    let changed = match rest().next() {
                        Some(_) => exact::changed(self.source, self.draft.open()?, &copied, rest())?,
                        None => HashSet::new(),
                    };
                    if changed.is_empty() {
                        return Ok(copied);
                    }
                    exact.extend(changed);
                    self.draft.restart(left_of(&exact, &without))?;
                }
                Err(Broken::Target(error)) if error.kind() == ErrorKind::VarSize => {
                    let largest = largest(&source, &without).ok_or(Broken::Target(error))?;
                    without.insert(largest);
                    to.abort()?;
                    if self.draft.is_kept() {
                        self.draft.restart(left_of(&exact, &without))?;
                    }
                }
                Err(broken) if exact::is_unfit(&broken) && rest().next().is_some() => {
                    exact.clone_from(&suspects);
                    to.abort()?;
                    // What was written stays where definitions were ended.
                    let _ = self.draft.restart(left_of(&exact, &without));
                }
                Err(broken) => return Err(broken),
            }
            self.moving.again();
            target = self.draft.create()?;
        }
    }

    /// Compares the copy with what it was made from.
    pub(super) fn losses(&self, copied: &Copied) -> Result<Vec<String>> {
        let copy = self.draft.open()?;
        let faults = self.source.faults()?;
        let mut lost = losses::between((&self.source.model(), &faults), &copy.model(), copied, self.select);
        lost.extend(losses::json(self.source, &copy, copied)?);
        copy.close()?;
        let skipped = self.moving.skipped();
        if !skipped.is_empty() {
            lost.push(format!("elements that cannot be read: {}", skipped.join(", ")));
        }
        Ok(lost)
    }
}

fn left_of(exact: &HashSet<VarId>, without: &HashSet<VarId>) -> Left {
    let numbers = |ids: &HashSet<VarId>| {
        let mut numbers: Vec<usize> = ids.iter().map(|id| id.index()).collect();
        numbers.sort_unstable();
        numbers
    };
    Left { exact: numbers(exact), without: numbers(without) }
}

/// The variable with the most bytes that is not left out yet.
fn largest(model: &Model, without: &HashSet<VarId>) -> Option<VarId> {
    let bytes = |id: VarId, ty: NcType| {
        let item = model.type_size(ty).ok().flatten().unwrap_or(1) as u64;
        model.shape(id).unwrap_or_default().iter().fold(item, |product, &len| product.saturating_mul(len))
    };
    let left = model.vars().filter(|(id, _)| !without.contains(id));
    left.max_by_key(|(id, var)| bytes(*id, var.xtype)).map(|(id, _)| id)
}
