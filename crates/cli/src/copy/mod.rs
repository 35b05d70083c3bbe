//! `ncz copy`: a dataset in another place, format or layout.
//!
//! First everything is defined (`define`), then the data of each variable is copied block by block (`data`), so memory
//! stays bounded. What the target could not keep is found by comparing it with the source afterwards (`losses`), and told,
//! or makes the copy fail if that was asked for. All this happens beside the target (`place`): nothing of a copy that fails
//! stays, and what is there already goes only when the copy is finished.

mod data;
mod define;
mod exact;
mod fit;
pub mod kind;
mod leftover;
mod losses;
mod moving;
mod names;
pub mod place;
mod plan;
mod select;
mod sparse;
pub mod spec;
mod stage;
#[cfg(test)]
mod table;
mod var;

use std::collections::{HashMap, HashSet};
use std::path::Path;

use model::{Error, ErrorKind, Model, NcType, Result, VarId};
use nczarr::dispatch::Dataset;
use nczarr::{CreateOptions, File};

use crate::args::Copy;
use crate::failure::{Failure, at};
use crate::output::Output;

use data::Text;
use define::{Copied, Wanted};
use moving::Moving;
use place::Place;
use select::Selection;
use spec::Layout;

/// Why a strict copy fails.
const TOO_MUCH: &str = "the target cannot keep everything; nothing was copied (--strict)";

/// Which side of a copy failed.
#[derive(Debug)]
enum Broken {
    Source(Error),
    Target(Error),
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
    let source = nczarr::open(&args.source).map_err(&at_source)?;
    let model = source.model();
    let layout = Layout::of(args, &model, source.registry())?;
    let select = Selection::of(args, &model).map_err(&at_source)?;
    // Before anything is made or replaced: what cannot be read cannot be copied, and a copy never replaces its source.
    check(&args.source, &target_url, &source).map_err(&at_source)?;
    let texts = data::texts(source.dataset().as_ref(), &model).map_err(&at_source)?;
    let place = Place::of(&target_url, args.clobber, source.registry()).map_err(&at_target)?;
    let options = CreateOptions::new().clobber(args.clobber).annotate(!args.plain);
    // Only what was made here is taken away again.
    let target = options.create(place.url()).map_err(&at_target)?;
    let all = model.vars().filter(|(id, _)| select.has_data(&model, *id)).map(|(id, _)| plan::bytes_of(&model, id));
    let moving = Moving::new(args.memory, all.fold(0, u64::saturating_add), place.beside());
    let making =
        Making { url: place.url(), options, source: &source, layout: &layout, select: &select, texts: &texts, moving };
    if args.dry_run {
        let told = making.told(target);
        place.discard();
        let mut out = Output::standard();
        let told = told.map_err(|broken| match broken {
            Broken::Source(error) => at_source(error),
            Broken::Target(error) => at_target(error),
        })?;
        out.put(told).and_then(|()| out.finish()).map_err(&at_target)?;
        return Ok(Vec::new());
    }
    let copied = making.copy(target).and_then(|copied| {
        let lost = losses(place.url(), &model, &copied, &select)?;
        if args.strict && !lost.is_empty() {
            tell(&args.target, &lost);
            return Err(Broken::Target(ErrorKind::Inval.context(TOO_MUCH)));
        }
        Ok(lost)
    });
    match copied {
        Ok(lost) => {
            place.put().map_err(&at_target)?;
            Ok(lost)
        }
        Err(broken) => {
            place.discard();
            Err(match broken {
                Broken::Source(error) => at_source(error),
                Broken::Target(error) => at_target(error),
            })
        }
    }
}

/// What a copy is made of and where.
struct Making<'a> {
    url: &'a str,
    options: CreateOptions,
    source: &'a File,
    layout: &'a Layout,
    select: &'a Selection,
    texts: &'a HashMap<VarId, Text>,
    moving: Moving,
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
        let (mut without, mut exact) = (HashSet::new(), HashSet::new());
        loop {
            let (from, to): (&dyn Dataset, &dyn Dataset) = (self.source.dataset().as_ref(), target.dataset().as_ref());
            let wanted = self.wanted(&exact, &without);
            let rest = || suspects.difference(&exact).copied();
            let made = define::all(from, to, &wanted).and_then(|copied| {
                let moved = data::all(from, to, &copied, self.select, &self.moving);
                self.moving.end();
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
                        Some(_) => exact::changed(self.source, self.url, &copied, rest())?,
                        None => HashSet::new(),
                    };
                    if changed.is_empty() {
                        return Ok(copied);
                    }
                    exact.extend(changed);
                    nczarr::delete(self.url)?;
                }
                Err(Broken::Target(error)) if error.kind() == ErrorKind::VarSize => {
                    let largest = largest(&source, &without).ok_or(Broken::Target(error))?;
                    without.insert(largest);
                    to.abort()?;
                }
                Err(broken) if exact::is_unfit(&broken) && rest().next().is_some() => {
                    exact.clone_from(&suspects);
                    to.abort()?;
                    // What was written stays where definitions were ended.
                    let _ = nczarr::delete(self.url);
                }
                Err(broken) => return Err(broken),
            }
            target = self.options.create(self.url)?;
        }
    }
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

fn check(source: &str, target: &str, file: &File) -> Result<()> {
    if let (Some(a), Some(b)) = (local(source), local(target))
        && (a == b || b.starts_with(&a) || a.starts_with(&b))
    {
        let what = format!("source and target overlap: {} and {}", a.display(), b.display());
        return Err(ErrorKind::Inval.context(what));
    }
    for (id, _) in file.model().vars() {
        file.dataset().data(id)?;
    }
    Ok(())
}

/// The place of a local dataset, without links. What is not there yet is below the nearest directory that is.
fn local(url: &str) -> Option<std::path::PathBuf> {
    let target = url_infer::parse(url).ok().filter(|target| target.scheme.is_local())?;
    let path = Path::new(&target.path);
    path.ancestors().find_map(|there| {
        let real = if there.as_os_str().is_empty() { Path::new(".") } else { there }.canonicalize().ok()?;
        let rest = path.strip_prefix(there).ok()?;
        Some(if rest.as_os_str().is_empty() { real } else { real.join(rest) })
    })
}

/// Compares the copy with what it was made from.
fn losses(target: &str, source: &model::Model, copied: &Copied, select: &Selection) -> Result<Vec<String>> {
    let copy = nczarr::open(target)?;
    let lost = losses::between(source, &copy.model(), copied, select);
    copy.close()?;
    Ok(lost)
}

fn tell(target: &str, lost: &[String]) {
    let place = crate::failure::place(target);
    for loss in lost {
        crate::failure::say(format_args!("{place}: not kept: {loss}"));
    }
}
