//! Runs a copy: checks the request, chooses the place, moves the data, and settles the result.

use nczarr::dispatch::EncodedCheck;
use nczarr::{CreateOptions, OpenOptions, Place};
use nczarr_model::Error;

use super::args::CopyArgs;
use super::destination::{self, Destination, LeftoverPolicy};
use super::error::CopyError;
use super::fingerprint::{self, Content};
use super::job::CopyJob;
use super::progress::Progress;
use super::resumable::{self, CopyDraft, CopyFingerprint, DraftRequest};
use super::select::Selection;
use super::spec::RequestedLayout;
use super::{as_nccopy, kind, plan, source_kind, strings, threads};
use crate::exclusive;
use crate::failure::{self, Failure, at};
use crate::output::Output;
use crate::overlap;
use crate::stop;
use crate::streams::say;

/// The reason why a copy to one file cannot be resumed.
const ONE_FILE: &str = "a copy to one file cannot be resumed; a Zarr store in a directory or in object storage can, such as \
                        DIR.zarr; another copy then makes a file from it";
/// The message for a second interrupt.
const STOPPED_LATE: &str =
    "interrupted; after a longer run, the same command with --resume continues from the last record";

/// The same for a copy that cannot be resumed.
const STOPPED_AT_ALL: &str = "interrupted; the next copy to this target removes the partial one";

/// Copies the dataset.
///
/// # Errors
///
/// Errors of reading and writing, flags that fit no variable, and losses under `--strict`.
pub fn run(args: &CopyArgs) -> Result<(), Failure> {
    let lost = make(args)?;
    if !args.dry_run {
        tell(&args.target, &lost);
    }
    Ok(())
}

/// Copies the dataset; returns the losses to report.
pub fn make(args: &CopyArgs) -> Result<Vec<String>, Failure> {
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
        None => source_kind::url(args).map_err(at(&args.source))?,
    };
    let target_url = exclusive::url(target_url, args.exclusive);
    let (at_source, at_target) = (at(&args.source), at(&args.target));
    // The fingerprint must precede all reads: a resumed copy detects later changes.
    let registry = nczarr::registry().map_err(&at_target)?;
    let can_resume = resumable::can_resume(&target_url, &registry);
    let mut content = None;
    if can_resume && !args.dry_run {
        // Check first: an arbitrary folder may be very large.
        if registry.check_dataset(&Place::url(&args.source)).is_err() {
            nczarr::open(Place::url(&args.source)).map_err(&at_source)?.close().map_err(&at_source)?;
        }
        content = Content::of(&args.source);
    }
    threads::pool(args.jobs)?;
    let source = OpenOptions::new()
        .threads(args.jobs.unwrap_or(0))
        .open(Place::url(&args.source))
        .map_err(&at_source)?;
    let model = source.model();
    let chunks = if args.as_nccopy {
        as_nccopy::chunks(args, &model).map_err(&at_source)?
    } else {
        args.chunks.clone()
    };
    let layout = RequestedLayout::of(&CopyArgs { chunks, ..args.clone() }, &model, source.registry())?;
    let mut select = Selection::of(args, &model).map_err(&at_source)?;
    // Check before any read or write: a copy never replaces its source.
    let further = source.dataset().external_files();
    overlap::check(&args.source, &target_url, &further).map_err(&at_source)?;
    select.find_unreadable(source.dataset().as_ref(), &model).map_err(&at_source)?;
    let jobs = threads::within(args, &source, &layout, &select).map_err(&at_source)?;
    let source = if jobs == args.jobs {
        source
    } else {
        OpenOptions::new().threads(jobs.unwrap_or(0)).open(Place::url(&args.source)).map_err(&at_source)?
    };
    if args.resume && !can_resume {
        return Err(Failure::Usage(format!("--resume: {}: {ONE_FILE}", failure::place(&args.target))));
    }
    if let Some(content) = &mut content {
        content.further(&further);
    }
    let texts = strings::texts(source.dataset().as_ref(), &model, &mut select).map_err(&at_source)?;
    let fingerprint = CopyFingerprint {
        content,
        header: if can_resume { fingerprint::header(&source).map_err(&at_source)? } else { String::new() },
        flags: resumable::flags(args, &asked_url),
        layout: String::new(),
    };
    let late = if can_resume { STOPPED_LATE } else { STOPPED_AT_ALL };
    stop::listen(format!("{}: {late}", failure::place(&args.target)));
    let options = CreateOptions::new().clobber(args.clobber).annotate(!args.plain).threads(jobs.unwrap_or(0));
    let options = options.durability(resumable::durability());
    // A dry run builds in a temporary place if the target must stay untouched.
    let is_local = nczarr_url_infer::parse(&target_url).is_ok_and(|target| target.scheme.is_local());
    let elsewhere = if args.dry_run && (can_resume || is_local) {
        destination::check(&target_url, args.clobber, source.registry()).map_err(&at_target)?;
        Some(
            tempfile::tempdir()
                .map_err(|error| at_target(Error::io("a temporary directory".to_owned(), error)))?,
        )
    } else {
        None
    };
    let half = match (args.dry_run, args.resume, args.clobber) {
        (true, ..) => LeftoverPolicy::Untouched,
        (_, true, _) => LeftoverPolicy::Resume,
        (.., true) => LeftoverPolicy::Remove,
        _ => LeftoverPolicy::Refuse,
    };
    let (mut place, draft) = match &elsewhere {
        Some(folder) if can_resume => {
            let folder = folder.path().join("copy.zarr");
            (Destination::directly(&target_url), CopyDraft::passing(&target_url, options, &folder))
        }
        Some(folder) => {
            let place = Destination::inside(&target_url, folder.path()).map_err(&at_target)?;
            let draft = CopyDraft::whole(place.url(), options);
            (place, Ok(draft))
        }
        None => {
            let place =
                Destination::of(&target_url, args.clobber, source.registry(), half).map_err(&at_target)?;
            let request = DraftRequest {
                source: &args.source,
                url: place.url(),
                clobber: args.clobber,
                resume: args.resume,
                is_public: place.beside().is_none(),
            };
            let draft = CopyDraft::begin(request, options, source.registry(), &fingerprint);
            (place, draft)
        }
    };
    let draft = draft.map_err(&at_target)?;
    // Only the files of this copy are removed.
    let target = draft.create().map_err(&at_target)?;
    let all =
        model.vars().filter(|(id, _)| select.has_data(&model, *id)).map(|(id, _)| plan::bytes_of(&model, id));
    let beside = match &elsewhere {
        Some(folder) => Some(folder.path()).filter(|_| destination::has_beside(&target_url)),
        None => place.beside(),
    };
    let progress = Progress::new(
        args.memory,
        args.checkpoint,
        args.progress,
        all.fold(0, u64::saturating_add),
        beside,
        &draft,
    );
    let job = CopyJob {
        draft: &draft,
        fingerprint,
        source: &source,
        layout: &layout,
        select: &select,
        texts: &texts,
        check: if args.no_verify { EncodedCheck::Length } else { EncodedCheck::Decode },
        progress,
    };
    if args.dry_run {
        let dry_run_plan = job.dry_run_plan(target);
        if elsewhere.is_none() {
            let _ = nczarr::delete(Place::url(place.url()));
            place.discard();
        }
        let mut out = Output::standard();
        let dry_run_plan = dry_run_plan.map_err(|broken| job.failure(broken, args, None))?;
        out.put(dry_run_plan).and_then(|()| out.finish()).map_err(&at_target)?;
        return Ok(Vec::new());
    }
    let copied = job.copy(target).and_then(|copied| {
        let lost = job.loss_report(&copied)?;
        if args.strict && !lost.is_empty() {
            tell(&args.target, &lost);
            // A resumed copy would have the same losses.
            stop::patient();
            draft.abandon()?;
            return Err(CopyError::Strict);
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
                // The first failure is the one to report.
                stop::patient();
                let _ = draft.abandon();
                // A resumable copy at its final place may belong to another process now.
                if !draft.is_kept() || place.beside().is_some() {
                    place.discard();
                }
                None
            };
            Err(job.failure(broken, args, kept))
        }
    }
}

fn tell(target: &str, lost: &[String]) {
    let place = failure::place(target);
    for loss in lost {
        say(format_args!("{place}: loss: {loss}"));
    }
}
