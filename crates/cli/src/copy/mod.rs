//! `ncz copy`: a dataset in another place, format or layout.
//!
//! First everything is defined (`define`), then the data of each variable is copied block by block (`data`), so memory
//! stays bounded. What the target could not keep is found by comparing it with the source afterwards (`losses`), and told,
//! or makes the copy fail if that was asked for. All this happens beside the target (`place`): what is there already goes only
//! when the copy is finished, and of one that fails nothing stays but what another one can go on with (`draft`, `record`).

mod data;
mod define;
mod draft;
mod exact;
mod fingerprint;
mod fit;
mod hold;
pub mod kind;
mod leftover;
mod losses;
mod moving;
mod names;
pub mod overlap;
pub mod place;
mod plan;
mod record;
mod select;
mod sparse;
pub mod spec;
mod stage;
#[cfg(test)]
mod table;
mod threads;
mod var;

use std::collections::{HashMap, HashSet};
use std::path::PathBuf;

use model::{Error, ErrorKind, Model, NcType, Result, VarId};
use nczarr::dispatch::Dataset;
use nczarr::{CreateOptions, File, OpenOptions};

use crate::args::Copy;
use crate::failure::{self, Failure, at};
use crate::output::Output;
use crate::stop;

use data::Text;
use define::{Copied, Wanted};
use draft::Draft;
use fingerprint::Content;
use moving::Moving;
use place::{Half, Place};
use record::{Left, Terms};
use select::Selection;
use spec::Layout;

/// Why a strict copy fails.
const TOO_MUCH: &str = "the target cannot keep everything; nothing was copied (--strict)";
/// The same where it went on with another one.
const TOO_MUCH_LEFT: &str = "the target cannot keep everything, so the copy is not finished (--strict)";

/// Why a copy to one file cannot be gone on with.
const ONE_FILE: &str = "it is one file, and half of it does not say what is complete; a Zarr store in a directory or in storage of \
                        objects can be gone on with, as DIR.zarr, of which another copy makes a file";
/// How to finish what was begun.
const GO_ON: &str = "the same command with --resume goes on from there";
/// The same where it would fail again.
const GO_ON_WITHOUT: &str = "the same command with --resume and without --strict goes on from there";
/// What is said where a copy does not stop by itself.
const STOPPED_LATE: &str =
    "interrupted; if that took a while, the same command with --resume goes on from what was complete last";

/// The same where nothing can be gone on with.
const STOPPED_AT_ALL: &str =
    "interrupted; what was made of it is no use, and is cleared away by the next copy to the same place";

/// Which side of a copy failed.
#[derive(Debug)]
enum Broken {
    Source(Error),
    Target(Error),
    /// The target does not keep everything, and was to.
    Strict,
    /// Somebody asked for it.
    Stopped,
}

impl From<Error> for Broken {
    /// What is not said to be the source's is the target's.
    fn from(error: Error) -> Self {
        Self::Target(error)
    }
}

/// Copies the dataset.
///
/// # Errors
/// What cannot be read or written, flags that fit no variable, and with `--strict` what the target did not keep.
pub fn run(args: &Copy) -> Result<(), Failure> {
    let lost = make(args)?;
    if !args.dry_run {
        tell(&args.target, &lost);
    }
    Ok(())
}

/// Copies the dataset; answers what is to be told.
fn make(args: &Copy) -> Result<Vec<String>, Failure> {
    let flags = [args.classic, args.offset64, args.cdf5, args.netcdf4, args.netcdf4_classic];
    let kind = kind::Kind::asked(args.kind, flags, &args.target);
    let target_url = kind.map_or_else(|| Ok(args.target.clone()), |kind| kind.url(&args.target))?;
    let (at_source, at_target) = (at(&args.source), at(&args.target));
    // What the source is now: what changes from here on is seen by who goes on.
    let registry = nczarr::registry().map_err(&at_target)?;
    let can_resume = draft::can_resume(&target_url, &registry);
    let mut content = None;
    if can_resume && !args.dry_run {
        // Not every folder is a dataset, and they can be very large.
        if registry.check_dataset(&args.source).is_err() {
            nczarr::open(&args.source).map_err(&at_source)?.close().map_err(&at_source)?;
        }
        content = Content::of(&args.source);
    }
    threads::pool(args.jobs)?;
    let source = OpenOptions::new().threads(args.jobs.unwrap_or(0)).open(&args.source).map_err(&at_source)?;
    let model = source.model();
    let layout = Layout::of(args, &model, source.registry())?;
    let select = Selection::of(args, &model).map_err(&at_source)?;
    let jobs = threads::within(args, &source, &layout, &select).map_err(&at_source)?;
    let source = match jobs == args.jobs {
        true => source,
        false => OpenOptions::new().threads(jobs.unwrap_or(0)).open(&args.source).map_err(&at_source)?,
    };
    // Before anything is made or replaced: what cannot be read cannot be copied, and a copy never replaces its source.
    check(&args.source, &target_url, &source).map_err(&at_source)?;
    if args.resume && !can_resume {
        return Err(Failure::Usage(format!("--resume: {}: {ONE_FILE}", failure::place(&args.target))));
    }
    if let Some(content) = &mut content {
        content.further(&source.dataset().further_files());
    }
    let texts = data::texts(source.dataset().as_ref(), &model).map_err(&at_source)?;
    let terms = Terms {
        content,
        header: if can_resume { fingerprint::header(&source).map_err(&at_source)? } else { String::new() },
        flags: record::flags(args, &target_url),
        layout: String::new(),
    };
    let late = if can_resume { STOPPED_LATE } else { STOPPED_AT_ALL };
    stop::listen(format!("{}: {late}", failure::place(&args.target)));
    let options = CreateOptions::new().clobber(args.clobber).annotate(!args.plain).threads(jobs.unwrap_or(0));
    let options = options.durability(draft::durability());
    // What it would be made in, if that is not to be touched.
    let is_local = url_infer::parse(&target_url).is_ok_and(|target| target.scheme.is_local());
    let elsewhere = match args.dry_run && (can_resume || is_local) {
        true => {
            place::check(&target_url, args.clobber, source.registry()).map_err(&at_target)?;
            Some(tempfile::tempdir().map_err(|error| at_target(Error::io("a temporary directory".to_owned(), error)))?)
        }
        false => None,
    };
    let half = match (args.dry_run, args.resume, args.clobber) {
        (true, ..) => Half::Untouched,
        (_, true, _) => Half::Resume,
        (.., true) => Half::Remove,
        _ => Half::Refuse,
    };
    let (mut place, draft) = match &elsewhere {
        Some(folder) if can_resume => {
            let folder = folder.path().join("copy.zarr");
            (Place::directly(&target_url), Draft::passing(&target_url, options, &folder))
        }
        Some(folder) => {
            let place = Place::inside(&target_url, folder.path()).map_err(&at_target)?;
            let draft = Draft::whole(place.url(), options);
            (place, Ok(draft))
        }
        None => {
            let place = Place::of(&target_url, args.clobber, source.registry(), half).map_err(&at_target)?;
            let terms = (&terms, place.beside().is_none());
            let urls = (&args.source[..], place.url());
            let draft = Draft::begin(urls, (options, args.clobber), source.registry(), args.resume, terms);
            (place, draft)
        }
    };
    let draft = draft.map_err(&at_target)?;
    // Only what was made here is taken away again.
    let target = draft.create().map_err(&at_target)?;
    let all = model.vars().filter(|(id, _)| select.has_data(&model, *id)).map(|(id, _)| plan::bytes_of(&model, id));
    let how = (args.memory, args.checkpoint, args.progress);
    let beside = match &elsewhere {
        Some(folder) => Some(folder.path()).filter(|_| place::has_beside(&target_url)),
        None => place.beside(),
    };
    let moving = Moving::new(how, all.fold(0, u64::saturating_add), beside, &draft);
    let making =
        Making { draft: &draft, terms, source: &source, layout: &layout, select: &select, texts: &texts, moving };
    if args.dry_run {
        let told = making.told(target);
        if elsewhere.is_none() {
            let _ = nczarr::delete(place.url());
            place.discard();
        }
        let mut out = Output::standard();
        let told = told.map_err(|broken| making.failure(broken, args, None))?;
        out.put(told).and_then(|()| out.finish()).map_err(&at_target)?;
        return Ok(Vec::new());
    }
    let copied = making.copy(target).and_then(|copied| {
        let lost = making.losses(&copied)?;
        if args.strict && !lost.is_empty() {
            tell(&args.target, &lost);
            // That would be no other with the rest.
            stop::patient();
            draft.abandon()?;
            return Err(Broken::Strict);
        }
        draft.publish()?;
        Ok(lost)
    });
    match copied {
        Ok(lost) => {
            if draft.is_worth_keeping() {
                place.keep_if_it_fails();
            }
            place.put(|moved| draft.forget(moved)).map_err(&at_target)?;
            Ok(lost)
        }
        Err(broken) => {
            let kept = if draft.is_worth_keeping() {
                Some(place.keep())
            } else {
                // The failure is the news.
                stop::patient();
                let _ = draft.abandon();
                // What is there now of a kept one, in its place, is another one's.
                if !draft.is_kept() || place.beside().is_some() {
                    place.discard();
                }
                None
            };
            Err(making.failure(broken, args, kept))
        }
    }
}

/// What a copy is made of and where.
struct Making<'a> {
    draft: &'a Draft,
    terms: Terms,
    source: &'a File,
    layout: &'a Layout,
    select: &'a Selection,
    texts: &'a HashMap<VarId, Text>,
    moving: Moving<'a>,
}

impl Making<'_> {
    /// What would be moved how: everything is defined, and given up.
    fn told(&self, target: File) -> Result<String, Broken> {
        let (from, to): (&dyn Dataset, &dyn Dataset) = (self.source.dataset().as_ref(), target.dataset().as_ref());
        let (exact, without) = (HashSet::new(), HashSet::new());
        let copied = define::all(from, to, &self.wanted(&exact, &without))?;
        let told = plan::told(from, to, &copied, self.select, &self.moving).map_err(Broken::Source);
        target.close()?;
        told
    }

    /// Why it was not finished. `kept`: what there is stays, in a folder if there is one.
    fn failure(&self, broken: Broken, args: &Copy, kept: Option<Option<PathBuf>>) -> Failure {
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
    fn copy(&self, mut target: File) -> Result<Copied, Broken> {
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
    fn losses(&self, copied: &Copied) -> Result<Vec<String>> {
        let copy = self.draft.open()?;
        let lost = losses::between(&self.source.model(), &copy.model(), copied, self.select);
        copy.close()?;
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

/// What cannot be read cannot be copied, and a copy never replaces its source.
fn check(source: &str, target: &str, file: &File) -> Result<()> {
    overlap::check(source, target)?;
    for (id, _) in file.model().vars() {
        file.dataset().data(id)?;
    }
    Ok(())
}

fn tell(target: &str, lost: &[String]) {
    let place = crate::failure::place(target);
    for loss in lost {
        crate::failure::say(format_args!("{place}: not kept: {loss}"));
    }
}
