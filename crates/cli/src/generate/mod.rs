//! `ncz gen`: makes a dataset from CDL text.
//!
//! The crate `cdl` parses the text; this module chooses the place and kind of the dataset. Like a copy, the
//! dataset moves to its place when it is finished, and a failure leaves nothing.

mod args;

use std::io::Read as _;
use std::path::Path;
use std::sync::Arc;

use nczarr::codec::{FilterText, Json, ZarrFormat};
use nczarr::dispatch::{FormatX, MemRef};
use nczarr::nc_table::NcDispatch as _;
use nczarr::{CreateOptions, File, Place};
use nczarr_cdl::{Cdl, CdlError, CdlTarget, SpecialLayout};
use nczarr_model::{Chunking, Defined, Edit, ErrorKind, FilterSpec, Model, NcType, Result, Values, VarId};

use crate::copy::destination::{Destination, LeftoverPolicy};
use crate::copy::kind::Kind;
use crate::exclusive;
use crate::failure::{Failure, at};
use crate::overlap;
pub use args::GenArgs;

/// Makes the dataset.
///
/// # Errors
///
/// The first mistake in the text, with its line and column; errors of writing.
pub fn run(args: &GenArgs) -> Result<(), Failure> {
    let name = args.input.as_deref().unwrap_or("-");
    let text = read(name).map_err(|error| Failure::Failed { place: name.to_owned(), error })?;
    let mistake = |mistake: CdlError| Failure::Failed {
        place: format!("{name}:{}:{}", mistake.line, mistake.column),
        error: mistake.error,
    };
    let cdl = Cdl::parse(&text).map_err(mistake)?;
    if args.check {
        return Ok(());
    }
    let Named { url, by_hand } = Named::of(args, name, &cdl)?;
    let url = exclusive::url(target(args, url, &cdl)?, args.exclusive);
    let at = at(&url);
    if name != "-" {
        overlap::check_file(Path::new(name), &url).map_err(&at)?;
    }
    let registry = nczarr::registry().map_err(&at)?;
    // A target named in the text does not permit replacing a dataset.
    let clobber = args.clobber && by_hand;
    let place = Destination::of(&url, clobber, &registry, LeftoverPolicy::Leave).map_err(&at)?;
    // Remove only files made here.
    let options = CreateOptions::new().truncate_strings(args.truncate).clobber(clobber);
    let file = options.create(Place::url(place.url())).map_err(&at)?;
    match make(file, &cdl, args.nofill, args.header, mistake, &at) {
        Ok(()) => place.put(|_| Ok(())).map_err(at),
        Err(failure) => {
            place.discard();
            Err(failure)
        }
    }
}

/// Reads a file, or standard input for `-`.
fn read(name: &str) -> Result<Vec<u8>> {
    let mut text = Vec::new();
    let read = match name {
        "-" => std::io::stdin().lock().read_to_end(&mut text).map(drop),
        path => std::fs::File::open(path).and_then(|mut file| file.read_to_end(&mut text)).map(drop),
    };
    read.map_err(|error| nczarr_model::Error::io(name.to_owned(), error))?;
    Ok(text)
}

/// The target.
struct Named {
    url: String,
    /// Whether the command line names it, rather than the text.
    by_hand: bool,
}

impl Named {
    /// Returns the argument of `-o`. Without it: as ncgen, the name of the text file `input`, else the
    /// dataset's name.
    fn of(args: &GenArgs, input: &str, cdl: &Cdl<'_>) -> Result<Self, Failure> {
        if let Some(url) = &args.output {
            return Ok(Self { url: url.clone(), by_hand: true });
        }
        let stem = || {
            let name = Path::new(input).file_name()?.to_str()?;
            Some(name.rsplit_once('.').map_or(name, |(stem, _)| stem).to_owned())
        };
        let stem = if args.as_ncgen && input != "-" { stem() } else { None };
        let by_hand = stem.is_some() || args.name.is_some();
        let name = stem.or_else(|| args.name.clone()).unwrap_or_else(|| cdl.name().to_owned());
        let url = format!("{name}.{}", if args.cdf { "cdf" } else { "nc" });
        if name.contains('/') || nczarr_url_infer::parse(&url).is_ok_and(|target| target.path_text() != url) {
            let what = format!("the dataset's name {name:?} is not a file name; give the target with -o");
            return Err(Failure::Failed { place: input.to_owned(), error: ErrorKind::BadName.context(what) });
        }
        Ok(Self { url, by_hand })
    }
}

/// Returns place and kind of the dataset: from the command line, else from the text.
fn target(args: &GenArgs, url: String, cdl: &Cdl<'_>) -> Result<String, Failure> {
    let flags = [args.classic, args.offset64, args.cdf5, args.netcdf4, args.netcdf4_classic];
    let said = cdl.format().and_then(|format| format.parse::<Kind>().ok());
    let kind = if args.as_ncgen {
        Kind::of_tool(args.kind, flags, &url, || {
            let needed = if cdl.needs_netcdf4() { Kind::NetCdf4 } else { Kind::Classic };
            Ok::<_, Failure>(said.unwrap_or(needed))
        })?
    } else {
        Kind::asked(args.kind, flags, &url)
    };
    if let Some(kind) = kind {
        return kind.url(&url);
    }
    let says_itself = nczarr_url_infer::parse(&url).is_ok_and(|target| !target.modes.is_empty());
    match said.filter(|_| !says_itself && url.ends_with(".nc")) {
        Some(kind) => kind.url(&url),
        None => Ok(url),
    }
}

fn make(
    file: File,
    cdl: &Cdl<'_>,
    nofill: bool,
    header: bool,
    mistake: impl Fn(CdlError) -> Failure,
    at: impl Fn(nczarr_model::Error) -> Failure,
) -> Result<(), Failure> {
    let mut made = Made { file: &file, nofill };
    let built = if header { cdl.build_header(&mut made) } else { cdl.build(&mut made) }.map_err(mistake);
    let closed = file.close().map_err(at);
    built.and(closed)
}

/// A dataset under construction.
struct Made<'f> {
    file: &'f File,
    /// Whether variables are created without fill values.
    nofill: bool,
}

impl Made<'_> {
    /// Returns the filters of `_Codecs`; `None` if one of them is unknown and other attributes name filters
    /// as well.
    fn codecs(&self, text: &str, layout: &SpecialLayout) -> Result<Option<Vec<FilterSpec>>> {
        let others =
            layout.shuffle || layout.deflate.is_some() || layout.fletcher32 || layout.filters.is_some();
        let wrong =
            |error: serde_json::Error| ErrorKind::Inval.context("_Codecs: not a JSON list").caused_by(error);
        let list: Vec<Json> = serde_json::from_str(text).map_err(wrong)?;
        let all = list.iter().map(|codec| {
            let id = ["id", "name"].iter().find_map(|member| codec.get(member)?.as_str());
            let id = id.ok_or_else(|| ErrorKind::Inval.context(format!("_Codecs: {codec} has no \"id\"")))?;
            let filter = self.file.registry().filter(id)?.parse_json(codec, ZarrFormat::V2)?;
            Ok(FilterSpec {
                hdf5_id: filter.info().hdf5_id,
                name: filter.info().name.to_owned(),
                params: filter.params().into_owned(),
                codec: Some(codec.to_string()),
            }
            .anew())
        });
        match all.collect::<Result<Vec<_>>>() {
            Err(_) if others => Ok(None),
            all => all.map(Some),
        }
    }
}

impl CdlTarget for Made<'_> {
    fn model(&self) -> Arc<Model> {
        self.file.model()
    }

    fn edit(&mut self, edit: &Edit<'_>) -> Result<Defined> {
        self.file.dataset().edit(edit)
    }

    fn lay_out(&mut self, var: VarId, layout: &SpecialLayout) -> Result<()> {
        let dataset = self.file.dataset();
        let scalar = self.model().var(var)?.dims.is_empty();
        // A scalar has no chunks.
        let chunking =
            layout.chunking.as_ref().filter(|chunking| !scalar || matches!(chunking, Chunking::Compact));
        if let Some(chunking) = chunking {
            dataset.def_var_chunking(var, chunking)?;
        }
        if let Some(shards) = layout.shards.as_deref().filter(|_| !scalar) {
            dataset.def_var_shards(var, Some(shards))?;
        }
        if let Some(endian) = layout.endian {
            dataset.def_var_endian(var, endian)?;
        }
        if layout.no_fill || self.nofill {
            dataset.def_var_fill(var, true, None)?;
        }
        if layout.quantize.is_some() {
            dataset.def_var_quantize(var, layout.quantize)?;
        }
        let codecs = layout.codecs.as_deref().filter(|_| self.file.info().formatx == FormatX::NcZarr);
        let codecs = codecs.map_or(Ok(None), |codecs| self.codecs(codecs, layout))?;
        if let Some(filters) = codecs {
            return dataset.edit(&Edit::DefVarFilters { var, filters: &filters }).map(drop);
        }
        if layout.shuffle || layout.deflate.is_some() {
            let level = layout.deflate.unwrap_or(0);
            dataset.def_var_deflate(var, layout.shuffle, layout.deflate.is_some(), level)?;
        }
        if let Some(filters) = &layout.filters {
            for filter in FilterText::parse_list(filters)? {
                let spec = self.file.registry().filter_spec(&filter)?;
                dataset.def_var_filter_spec(var, &spec)?;
            }
        }
        dataset.def_var_fletcher32(var, layout.fletcher32)
    }

    fn defined(&mut self) -> Result<()> {
        self.file.dataset()._enddef(0, 0, 0, 0)
    }

    fn put(&mut self, var: VarId, start: &[u64], count: &[u64], values: Values) -> Result<()> {
        let ty = values.nc_type();
        if let Values::String(strings) | Values::Packed(_, strings) = &values {
            return self.file.dataset().put_vara(var, start, count, MemRef::Strings(strings));
        }
        let none = || ErrorKind::BadType.context(format!("values of type {}", NcType::name(ty)));
        let bytes = native(&values).ok_or_else(none)?;
        self.file.dataset().put_vara(var, start, count, MemRef::Fixed { ty, bytes })
    }
}

/// Returns the memory of values; `None` if they are not contiguous.
fn native(values: &Values) -> Option<&[u8]> {
    Some(match values {
        Values::Byte(list) => bytemuck::cast_slice(list),
        Values::Char(list) | Values::UByte(list) | Values::User(_, list) => list,
        Values::Short(list) => bytemuck::cast_slice(list),
        Values::UShort(list) => bytemuck::cast_slice(list),
        Values::Int(list) => bytemuck::cast_slice(list),
        Values::UInt(list) => bytemuck::cast_slice(list),
        Values::Int64(list) => bytemuck::cast_slice(list),
        Values::UInt64(list) => bytemuck::cast_slice(list),
        Values::Float(list) => bytemuck::cast_slice(list),
        Values::Double(list) => bytemuck::cast_slice(list),
        _ => return None,
    })
}
