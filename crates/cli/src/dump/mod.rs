//! `ncz dump`: a dataset as CDL, or its header as NcML, or all of it as JSON.

mod json;

use cdl::{Facts, Indices, Notes, Options, Part};
use model::{ErrorKind, GroupId, Model, Result, VarId};
use nczarr::dispatch::{DatasetInfo, Format};

use crate::args::{Dump, Language, split_list};
use crate::failure::{Failure, at};
use crate::output::Output;
use crate::source::DatasetSource;

/// Prints the dataset.
///
/// # Errors
/// What cannot be read, or written to standard output.
pub fn run(args: &Dump) -> Result<(), Failure> {
    let at = at(&args.url);
    let file = nczarr::open(&args.url).map_err(&at)?;
    if args.kind {
        let mut out = Output::standard();
        return out.put(format!("{}\n", file.info().format.name())).and_then(|()| out.finish()).map_err(at);
    }
    let model = file.model();
    let options = Options {
        name: args.name.clone().unwrap_or_else(|| name_of(&args.url)),
        part: match (args.header, args.coordinates) {
            (true, _) => Part::Header,
            (false, true) => Part::Coordinates,
            (false, false) => Part::All,
        },
        vars: match &args.vars {
            Some(list) => find_all(&model, list).map_err(&at)?,
            None => Vec::new(),
        },
        groups: match &args.groups {
            Some(list) => find_groups(&model, list).map_err(&at)?,
            None => Vec::new(),
        },
        times: match (args.iso, args.times) {
            (true, _) => Some('T'),
            (false, true) => Some(' '),
            (false, false) => None,
        },
        notes: args.rows.map(|_| Notes::Rows).or(args.elements.map(|_| Notes::Elements)),
        indices: match args.rows.or(args.elements) {
            Some(Language::Fortran) => Indices::Fortran,
            _ => Indices::C,
        },
        width: args.line.map(|bytes| bytes as usize),
        float_digits: args.precision.map(|digits| digits.0),
        double_digits: args.precision.and_then(|digits| digits.1),
        special: args.special,
        as_filters: args.filters,
    };
    let mut source = DatasetSource::new(file.dataset().as_ref());
    let mut out = Output::standard();
    let mut facts = facts(file.info());
    facts.properties = facts.properties.filter(|_| args.without.is_none());
    let printed = match (args.xml, args.json) {
        (true, _) => cdl::ncml(&model, &options, &args.url, out.writer()),
        (_, true) => json::print(&model, &options, &mut source, &mut out),
        _ => cdl::print(&model, &facts, &options, &mut source, out.writer()),
    };
    // What was printed stands, also if something could not be.
    let finished = out.finish();
    printed.and(finished).map_err(at)
}

/// The name of a dataset in its CDL.
fn name_of(url: &str) -> String {
    cdl::dataset_name(&url_infer::parse(url).map_or_else(|_| url.to_owned(), |target| target.path))
}

/// What the text says of the file as a whole.
pub fn facts(info: DatasetInfo) -> Facts {
    Facts {
        format: info.format.name().to_owned(),
        classic: matches!(info.format, Format::Classic | Format::Offset64 | Format::Cdf5),
        properties: info.properties,
        superblock: info.superblock,
    }
}

/// The variables of a list of paths and names; a name without `/` means every variable of that name.
fn find_all(model: &Model, list: &str) -> Result<Vec<VarId>> {
    let mut found = Vec::new();
    for wanted in split_list(list) {
        let names = model::name::split_path(&wanted);
        match names.as_slice() {
            [name] if !wanted.starts_with('/') => {
                let before = found.len();
                found.extend(model.vars().filter(|(_, var)| var.name == *name).map(|(id, _)| id));
                if found.len() == before {
                    let all: Result<Vec<_>> = model.vars().map(|(id, _)| model.var_path(id)).collect();
                    return Err(ErrorKind::NotVar.context(format!("-v {wanted}: there are {}", all?.join(", "))));
                }
            }
            _ => found.push(model.var_at(GroupId::ROOT, &wanted).map_err(|error| error.at("-v"))?),
        }
    }
    if found.is_empty() {
        return Err(ErrorKind::NotVar.context("-v: no variable is named"));
    }
    Ok(found)
}

/// The groups of a list of paths and names; a name without `/` means every group of that name.
fn find_groups(model: &Model, list: &str) -> Result<Vec<GroupId>> {
    let mut found = Vec::new();
    for wanted in split_list(list) {
        let before = found.len();
        let names = model::name::split_path(&wanted);
        for (id, _) in model.groups() {
            let path = model.group_names(id)?;
            let named = match names.as_slice() {
                [name] if !wanted.starts_with('/') => path.last() == Some(&name.as_str()),
                names => path.iter().copied().eq(names.iter().map(String::as_str)),
            };
            if named {
                found.push(id);
            }
        }
        if found.len() == before {
            return Err(ErrorKind::BadGrpId.context(format!("-g {wanted}: there is no such group")));
        }
    }
    Ok(found)
}
