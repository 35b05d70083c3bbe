//! `ncz gen`: a dataset made of CDL text.
//!
//! What the text says is `cdl`'s to read; here it is decided where the dataset is made and of what kind it is. As a copy, it
//! gets to its place once it is finished, and nothing of one that fails stays.

use std::io::Read as _;
use std::sync::Arc;

use cdl::{Cdl, Layout, Mistake, Target};
use model::{Defined, Edit, ErrorKind, Model, NcType, Result, Values, VarId};
use nczarr::dispatch::{FilterText, MemRef, NcDispatch as _};
use nczarr::{CreateOptions, File};

use crate::args::Generate;
use crate::copy::kind::Kind;
use crate::copy::place::{Half, Place};
use crate::failure::{Failure, at};

/// Makes the dataset.
///
/// # Errors
/// The first mistake in the text, with its line and column; what cannot be written.
pub fn run(args: &Generate) -> Result<(), Failure> {
    let name = args.input.as_deref().unwrap_or("-");
    let text = read(name).map_err(|error| Failure::Failed { place: name.to_owned(), error })?;
    let mistake = |mistake: Mistake| Failure::Failed {
        place: format!("{name}:{}:{}", mistake.line, mistake.column),
        error: mistake.error,
    };
    let cdl = Cdl::parse(&text).map_err(mistake)?;
    if args.check {
        return Ok(());
    }
    let url = target(args, &cdl)?;
    let at = at(&url);
    let registry = nczarr::registry().map_err(&at)?;
    let place = Place::of(&url, args.clobber, &registry, Half::Leave).map_err(&at)?;
    // Only what was made here is taken away again.
    let file = CreateOptions::new().create(place.url()).map_err(&at)?;
    match make(file, &cdl, args.nofill, mistake, &at) {
        Ok(()) => place.put(|_| Ok(())).map_err(at),
        Err(failure) => {
            place.discard();
            Err(failure)
        }
    }
}

/// The text of a file, or of standard input if it is called `-`.
fn read(name: &str) -> Result<Vec<u8>> {
    let mut text = Vec::new();
    let read = match name {
        "-" => std::io::stdin().lock().read_to_end(&mut text).map(drop),
        path => std::fs::File::open(path).and_then(|mut file| file.read_to_end(&mut text)).map(drop),
    };
    read.map_err(|error| model::Error::io(name.to_owned(), error))?;
    Ok(text)
}

/// Where the dataset is to be, and of what kind: as the command line says, else as the text says.
fn target(args: &Generate, cdl: &Cdl<'_>) -> Result<String, Failure> {
    let url = args.output.clone().unwrap_or_else(|| format!("{}.nc", cdl.name()));
    let flags = [args.classic, args.offset64, args.cdf5, args.netcdf4, args.netcdf4_classic];
    if let Some(kind) = Kind::asked(args.kind, flags, &url) {
        return kind.url(&url);
    }
    let says_itself = url_infer::parse(&url).is_ok_and(|target| !target.modes.is_empty());
    let format = cdl.format().filter(|_| !says_itself && url.ends_with(".nc"));
    match format.and_then(|format| format.parse::<Kind>().ok()) {
        Some(kind) => kind.url(&url),
        None => Ok(url),
    }
}

fn make(
    file: File,
    cdl: &Cdl<'_>,
    nofill: bool,
    mistake: impl Fn(Mistake) -> Failure,
    at: impl Fn(model::Error) -> Failure,
) -> Result<(), Failure> {
    let built = cdl.build(&mut Made { file: &file, nofill }).map_err(mistake);
    let closed = file.close().map_err(at);
    built.and(closed)
}

/// A dataset in the making.
struct Made<'f> {
    file: &'f File,
    /// Whether no variable is to be filled.
    nofill: bool,
}

impl Target for Made<'_> {
    fn model(&self) -> Arc<Model> {
        self.file.model()
    }

    fn edit(&mut self, edit: &Edit<'_>) -> Result<Defined> {
        self.file.dataset().edit(edit)
    }

    fn lay_out(&mut self, var: VarId, layout: &Layout) -> Result<()> {
        let dataset = self.file.dataset();
        let scalar = self.model().var(var)?.dims.is_empty();
        if let Some(chunking) = layout.chunking.as_ref().filter(|_| !scalar) {
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
        let bytes = values.to_native_bytes().ok_or_else(none)?;
        self.file.dataset().put_vara(var, start, count, MemRef::Fixed { ty, bytes: &bytes })
    }
}
