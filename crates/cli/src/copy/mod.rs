//! `ncz copy`: a dataset in another place, format or layout.
//!
//! First everything is defined (`define`), then the data of each variable is copied block by block (`data`), so memory
//! stays bounded. What the target could not keep is found by comparing it with the source afterwards (`losses`), and told,
//! or makes the copy fail if that was asked for. All this happens beside the target (`place`): what is there already goes only
//! when the copy is finished, and of one that fails nothing stays but what another one can go on with (`draft`).

mod as_nccopy;
mod data;
mod define;
mod draft;
mod exact;
mod fingerprint;
mod fit;
mod kept;
pub mod kind;
mod losses;
mod making;
mod moving;
mod names;
pub mod overlap;
pub mod place;
mod plan;
mod portions;
mod select;
mod sparse;
pub mod spec;
mod stage;
mod strings;
#[cfg(test)]
mod table;
mod threads;
mod tiles;
mod var;

use nczarr::{CreateOptions, OpenOptions};
use nczarr_model::{Error, Result};

use crate::args::Copy;
use crate::exclusive;
use crate::failure::{self, Failure, at};
use crate::output::Output;
use crate::stop;

use draft::{Draft, Terms};
use fingerprint::Content;
use making::Making;
use moving::Moving;
use place::{Half, Place};
use select::Selection;
use spec::Layout;

/// Why a copy to one file cannot be gone on with.
const ONE_FILE: &str = "it is one file, and half of it does not say what is complete; a Zarr store in a directory or in storage of \
                        objects can be gone on with, as DIR.zarr, of which another copy makes a file";
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
    let kind = if args.as_nccopy {
        let otherwise = || as_nccopy::kind(args).map_err(at(&args.source));
        kind::Kind::of_tool(args.kind, flags, &args.target, otherwise)?
    } else {
        kind::Kind::asked(args.kind, flags, &args.target)
    };
    let asked_url = kind.map_or_else(|| Ok(args.target.clone()), |kind| kind.url(&args.target))?;
    let target_url = match kind {
        Some(_) => asked_url.clone(),
        None => kept::url(args).map_err(at(&args.source))?,
    };
    let target_url = exclusive::url(target_url, args.exclusive);
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
    let chunks =
        if args.as_nccopy { as_nccopy::chunks(args, &model).map_err(&at_source)? } else { args.chunks.clone() };
    let layout = Layout::of(&Copy { chunks, ..args.clone() }, &model, source.registry())?;
    let mut select = Selection::of(args, &model).map_err(&at_source)?;
    // Before anything is read or made: a copy never replaces its source.
    let further = source.dataset().external_files();
    overlap::check(&args.source, &target_url, &further).map_err(&at_source)?;
    select.find_unreadable(source.dataset().as_ref(), &model).map_err(&at_source)?;
    let jobs = threads::within(args, &source, &layout, &select).map_err(&at_source)?;
    let source = if jobs == args.jobs {
        source
    } else {
        OpenOptions::new().threads(jobs.unwrap_or(0)).open(&args.source).map_err(&at_source)?
    };
    if args.resume && !can_resume {
        return Err(Failure::Usage(format!("--resume: {}: {ONE_FILE}", failure::place(&args.target))));
    }
    if let Some(content) = &mut content {
        content.further(&further);
    }
    let texts = strings::texts(source.dataset().as_ref(), &model, &mut select).map_err(&at_source)?;
    let terms = Terms {
        content,
        header: if can_resume { fingerprint::header(&source).map_err(&at_source)? } else { String::new() },
        flags: draft::flags(args, &asked_url),
        layout: String::new(),
    };
    let late = if can_resume { STOPPED_LATE } else { STOPPED_AT_ALL };
    stop::listen(format!("{}: {late}", failure::place(&args.target)));
    let options = CreateOptions::new().clobber(args.clobber).annotate(!args.plain).threads(jobs.unwrap_or(0));
    let options = options.durability(draft::durability());
    // What it would be made in, if that is not to be touched.
    let is_local = nczarr_url_infer::parse(&target_url).is_ok_and(|target| target.scheme.is_local());
    let elsewhere = if args.dry_run && (can_resume || is_local) {
        place::check(&target_url, args.clobber, source.registry()).map_err(&at_target)?;
        Some(tempfile::tempdir().map_err(|error| at_target(Error::io("a temporary directory".to_owned(), error)))?)
    } else {
        None
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

fn tell(target: &str, lost: &[String]) {
    let place = crate::failure::place(target);
    for loss in lost {
        crate::failure::say(format_args!("{place}: not kept: {loss}"));
    }
}
