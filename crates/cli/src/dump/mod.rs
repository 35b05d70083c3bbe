//! `ncz dump`: a dataset as CDL, or its header as NcML, or all of it as JSON.

mod args;
mod json;

use nczarr::Place;
use nczarr::dispatch::{DatasetInfo, Format, FormatX};
use nczarr_cdl::{Facts, Indices, Notes, Options, PrintedPart};

use crate::failure::{Failure, at};
use crate::find;
use crate::output::Output;
use crate::source::DatasetSource;
pub use args::DumpArgs;
use args::{Extra, Language};

/// Prints the dataset.
///
/// # Errors
///
/// Errors of reading the dataset and of standard output.
pub fn run(args: &DumpArgs) -> Result<(), Failure> {
    let at = at(&args.url);
    let file = nczarr::open(Place::url(&args.url)).map_err(&at)?;
    if args.kind || args.extended_kind {
        let info = file.info();
        let kind = if args.kind { info.format.name().to_owned() } else { extended_kind(&info) };
        let mut out = Output::standard();
        return out.put(format!("{kind}\n")).and_then(|()| out.finish()).map_err(at);
    }
    let model = file.model();
    let options = Options {
        name: args.name.clone().unwrap_or_else(|| name_of(&args.url)),
        part: match (args.header, args.coordinates) {
            (true, _) => PrintedPart::Header,
            (false, true) => PrintedPart::Coordinates,
            (false, false) => PrintedPart::All,
        },
        vars: match &args.vars {
            Some(list) => find::vars(&model, "-v", list).map_err(&at)?,
            None => Vec::new(),
        },
        groups: match &args.groups {
            Some(list) => find::groups(&model, "-g", list).map_err(&at)?,
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
        fill_types: args.extras.contains(&Extra::FillTypes),
    };
    let mut source = DatasetSource::new(file.dataset().as_ref());
    let mut out = Output::standard();
    let mut facts = facts(file.info());
    facts.properties = facts.properties.filter(|_| !args.extras.contains(&Extra::NoProperties));
    let printed = match (args.xml, args.json) {
        (true, _) => nczarr_cdl::ncml(&model, &options, &args.url, out.writer()),
        (_, true) => json::print(&model, &options, &mut source, &mut out),
        _ => nczarr_cdl::print(&model, &facts, &options, &mut source, out.writer()),
    };
    // The text is complete except for the unreadable parts.
    let finished = out.finish();
    printed.and(finished).map_err(at)
}

/// Returns the extended kind, and its mode flags in netCDF-C.
fn extended_kind(info: &DatasetInfo) -> String {
    let (name, mode) = match (info.formatx, info.format) {
        (FormatX::Nc3, Format::Offset64) => ("64-bit offset", 0x0200),
        (FormatX::Nc3, Format::Cdf5) => ("64-bit data", 0x0020),
        (FormatX::Nc3, _) => ("classic", 0),
        (FormatX::Hdf5, _) => ("HDF5", 0x1000),
        (FormatX::Hdf4, _) => ("HDF4", 0x1000),
        (FormatX::NcZarr, _) => ("NCZARR", 0x1000),
        _ => ("user-defined format", 0x1000),
    };
    format!("{name} mode={mode:08x}")
}

/// The name of a dataset in its CDL.
fn name_of(url: &str) -> String {
    nczarr_cdl::dataset_name(
        &nczarr_url_infer::parse(url)
            .map_or_else(|_| url.to_owned(), |target| target.path_text().into_owned()),
    )
}

/// Returns the facts about the file as a whole for the text.
pub fn facts(info: DatasetInfo) -> Facts {
    Facts {
        format: info.format.name().to_owned(),
        classic: matches!(info.format, Format::Classic | Format::Offset64 | Format::Cdf5),
        hdf4: info.formatx == FormatX::Hdf4,
        plain_text: info.formatx == FormatX::NcZarr && info.flavour != "nczarr",
        properties: info.properties,
        superblock: info.superblock,
        foreign: info.foreign,
    }
}
