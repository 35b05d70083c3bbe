//! `ncz cat`: the data of a variable, or of a part of it.
//!
//! The part is read and written block by block, so its size does not matter.

mod args;
pub mod json;
mod npy;
mod text;

use nczarr::Place;
use nczarr_cdl::{Blocks, ChunkGrid};
use nczarr_model::{ErrorKind, GroupId, Model, NcType, Result, Slab, TypeClass, VarId};

use crate::failure::{Failure, at};
use crate::output::Output;
use crate::source::DatasetSource;
pub use args::CatArgs;
use args::CatFormat;

/// The usual number of bytes per read.
const BLOCK_BYTES: u64 = 32 << 20;
/// The maximum number of bytes per read, if larger reads avoid decoding a chunk twice.
const MOST_BYTES: u64 = 256 << 20;
/// The assumed size of an element of varying length, in bytes.
const PACKED_BYTES: u64 = 64;

/// Writes the data.
///
/// # Errors
///
/// Errors of reading and writing; a part that does not fit the variable.
pub fn run(args: &CatArgs) -> Result<(), Failure> {
    let at = at(&args.url);
    let file = nczarr::open(Place::url(&args.url)).map_err(&at)?;
    let model = file.model();
    let id = find(&model, args.var.as_deref()).map_err(&at)?;
    let shape = model.shape(id).map_err(&at)?;
    let part = RequestedPart::of(args, &shape)?;
    let ty = model.var(id).map_err(&at)?.xtype;
    let format = args.format.unwrap_or(if is_flat(&model, ty) { CatFormat::Npy } else { CatFormat::Json });
    let path = model.var_path(id).map_err(&at)?;
    let job = VariableWriter {
        model: &model,
        source: DatasetSource::new(file.dataset().as_ref()),
        id,
        ty,
        part: &part,
    };
    let head = job.head(format).map_err(|error| at(error.at(&path)))?;
    // Read errors must appear before any output.
    let data = file.dataset().data(id).map_err(&at)?;
    if !part.slab().is_empty() {
        let slab = part.slab().check(&shape, |_| false).map_err(&at)?;
        data.check_readable(&slab).map_err(|error| at(error.at(&path)))?;
    }
    let mut out = Output::to(args.output.as_deref(), &args.url, file.dataset().as_ref()).map_err(&at)?;
    out.put(head).and_then(|()| job.write(format, &mut out)).and_then(|()| out.finish()).map_err(at)
}

/// Returns the variable at a path, or the only one of the root.
///
/// # Errors
///
/// `NC_ENOTVAR` if there is none, or several to choose from.
pub fn find(model: &Model, path: Option<&str>) -> Result<VarId> {
    if let Some(path) = path {
        return model.var_at(GroupId::ROOT, path);
    }
    let vars = &model.root().vars;
    match vars.values().collect::<Vec<_>>().as_slice() {
        [id] => Ok(**id),
        _ => {
            let all: Result<Vec<_>> = model.vars().map(|(id, _)| model.var_path(id)).collect();
            Err(ErrorKind::NotVar.context(format!("which variable? There are: {}", all?.join(", "))))
        }
    }
}

/// Returns whether elements have a fixed number of bytes.
fn is_flat(model: &Model, ty: NcType) -> bool {
    model.is_fixed(ty).unwrap_or(false)
}

/// The requested part of a variable.
pub struct RequestedPart {
    start: Vec<u64>,
    count: Vec<u64>,
    stride: Vec<u64>,
}

impl RequestedPart {
    fn of(args: &CatArgs, shape: &[u64]) -> Result<Self, Failure> {
        let given = |flag: &str, values: &Option<Vec<u64>>| match values {
            Some(values) if values.len() != shape.len() => Err(Failure::Usage(format!(
                "--{flag}: {} given, the variable has {} dimensions",
                values.len(),
                shape.len()
            ))),
            values => Ok(values.clone()),
        };
        let start = given("start", &args.start)?.unwrap_or_else(|| vec![0; shape.len()]);
        let stride = given("stride", &args.stride)?.unwrap_or_else(|| vec![1; shape.len()]);
        if stride.contains(&0) {
            return Err(Failure::Usage("--stride: 0 is not a valid step".to_owned()));
        }
        let rest = |dim: usize| shape[dim].saturating_sub(start[dim]).div_ceil(stride[dim]);
        let count = given("count", &args.count)?.unwrap_or_else(|| (0..shape.len()).map(rest).collect());
        let part = Self { start, count, stride };
        // A part beyond the end is reported before any output.
        part.slab().check(shape, |_| false).map_err(at(&args.url))?;
        Ok(part)
    }

    fn slab(&self) -> Slab<'_> {
        Slab { start: &self.start, count: &self.count, stride: Some(&self.stride) }
    }
}

/// One variable to be written.
struct VariableWriter<'a> {
    model: &'a Model,
    source: DatasetSource<'a>,
    id: VarId,
    ty: NcType,
    part: &'a RequestedPart,
}

impl VariableWriter<'_> {
    /// Returns the text before the elements.
    fn head(&self, format: CatFormat) -> Result<Vec<u8>> {
        match format {
            CatFormat::Npy => npy::header(&npy::descr(self.model, self.ty)?, &self.part.count),
            CatFormat::Json => Ok(json::head(&self.part.count)),
            CatFormat::Raw | CatFormat::Text => {
                if format == CatFormat::Raw && !is_flat(self.model, self.ty) {
                    let what = "elements of varying length have no raw form; use --format json";
                    return Err(ErrorKind::BadType.context(what));
                }
                Ok(Vec::new())
            }
        }
    }

    fn write(&self, format: CatFormat, out: &mut Output) -> Result<()> {
        match format {
            CatFormat::Npy | CatFormat::Raw => self.blocks(|slab| {
                let mut bytes = self.source.bytes(self.id, slab)?;
                npy::to_little(self.ty, &mut bytes);
                out.put(&bytes)
            }),
            CatFormat::Json => {
                let mut first = true;
                self.blocks(|slab| {
                    let values = self.source.values(self.id, slab)?;
                    json::values(self.model, &values, &mut first, out)
                })?;
                out.put("]}\n")
            }
            CatFormat::Text => {
                let mut rows = text::RowWriter::new(&self.part.count);
                self.blocks(|slab| {
                    let values = self.source.values(self.id, slab)?;
                    rows.values(self.model, &values, out)
                })
            }
        }
    }

    /// Passes the part on in blocks, in C order.
    fn blocks(&self, mut each: impl FnMut(&Slab<'_>) -> Result<()>) -> Result<()> {
        let RequestedPart { start, count, stride } = self.part;
        if count.contains(&0) {
            return Ok(());
        }
        let item = if is_flat(self.model, self.ty) {
            self.source.item_size(self.ty)?.max(1) as u64
        } else {
            PACKED_BYTES
        };
        let chunks = self.source.chunks(self.id)?;
        let grid = chunks.as_deref().map(|chunks| ChunkGrid { chunks, start, stride });
        for (from, len) in Blocks::of_part(count, grid, (BLOCK_BYTES / item).max(1), MOST_BYTES / item) {
            let place: Vec<u64> = (0..from.len()).map(|dim| start[dim] + from[dim] * stride[dim]).collect();
            each(&Slab { start: &place, count: &len, stride: Some(stride) })?;
        }
        Ok(())
    }
}

/// Returns the fields of a compound type, and whether it contains anything of varying length.
fn fields(model: &Model, ty: NcType) -> Option<&[nczarr_model::Field]> {
    let NcType::User(id) = ty else { return None };
    match &model.user_type(id).ok()?.class {
        TypeClass::Compound { fields, .. } => Some(fields),
        _ => None,
    }
}
