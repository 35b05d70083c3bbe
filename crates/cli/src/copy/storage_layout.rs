//! Defines chunks, shards and filters of a variable, in the form that the target can hold.

use nczarr::nc_table::NcDispatch as _;
use nczarr_model::{Chunking, DimId, Edit, Endian, FilterSpec, NcType, Result, Var, VarId};

use super::define::{Definer, unless_refused};
use super::defined::{NewVar, VariableForm};
use super::lossless_check;

/// The maximum size of a chunk of text rows, in bytes. Larger chunks take the format's default shape.
const ROWS: u64 = 1 << 30;

const NO_CHUNKS: &str = "chunks left out";
const NO_SHARDS: &str = "shards left out";
const NO_FILTERS: &str = "filters left out";

impl Definer<'_> {
    pub(super) fn layout(&mut self, id: VarId, var: &Var, made: &NewVar) -> Result<()> {
        let new = made.id;
        // A scalar has neither chunks nor filters.
        if !var.dims.is_empty() {
            let shape = self.source.shape(id)?;
            let stored = match &var.chunking {
                Chunking::Chunked(chunks) => Some(chunks.clone()),
                // If only the definition is copied, the data may be unreadable.
                Chunking::Default => match self.from.data(id) {
                    Err(error) if self.wanted.select.has_data(&self.source, id) => return Err(error),
                    data => data.ok().and_then(|data| data.chunk_shape()),
                },
                Chunking::Contiguous | Chunking::Compact => None,
            }
            .filter(|chunks| chunks.len() == shape.len());
            let asked = self.wanted.layout.chunks(id, &var.dims, stored.as_ref().unwrap_or(&shape));
            let chunks = match asked.or(stored) {
                Some(chunks) => Some(self.fitting(&var.dims, chunks)?),
                None if var.shards.is_some() || self.wanted.layout.asks_shards(id, &var.dims) => {
                    Some(self.fitting(&var.dims, shape.clone())?)
                }
                None => None,
            };
            match (&chunks, &made.form) {
                (Some(chunks), VariableForm::Text { len }) => {
                    let chunks = [&chunks[..], &[*len]].concat();
                    // Strings take less space than rows of the maximum length.
                    if chunks
                        .iter()
                        .try_fold(1, |bytes: u64, &len| bytes.checked_mul(len))
                        .is_some_and(|all| all < ROWS)
                    {
                        self.to.def_var_chunking(new, &Chunking::Chunked(chunks))?;
                    }
                }
                (Some(chunks), _) => self.to.def_var_chunking(new, &Chunking::Chunked(chunks.clone()))?,
                // A dimension without length is unlimited in the target, so storage along it is not
                // contiguous.
                (None, _) if shape.contains(&0) => {}
                (None, _) => self.to.def_var_chunking(new, &var.chunking)?,
            }
            if let Some(chunks) = &chunks {
                self.shards(id, var, made, &shape, chunks)?;
            }
            let asked = self.wanted.layout.filters(id);
            // As one list, which may contain a filter twice.
            let mut filters = Vec::new();
            // Truth values are bytes in the copy too.
            let foreign = var.stored_type.as_deref().is_some_and(|stored| stored != "|b1");
            let exact = made.form != VariableForm::Same || foreign || self.wanted.exact.contains(&id);
            for filter in asked.unwrap_or(&var.filters) {
                if asked.is_none() && exact && lossless_check::is_lossy(self.wanted.registry, filter) {
                    let why = lossless_check::why().at(format_args!("filter {}", filter.name));
                    self.left_out(NO_FILTERS, self.path(var.group, &var.name), why);
                    continue;
                }
                filters.push(filter.anew());
                let made = self.to.edit(&Edit::DefVarFilters { var: new, filters: &filters });
                match unless_refused(made)? {
                    Ok(_) => {}
                    Err(why) if asked.is_none() => {
                        filters.pop();
                        self.left_out(NO_FILTERS, self.path(var.group, &var.name), why);
                    }
                    Err(why) => return Err(why.at(self.path(var.group, &var.name))),
                }
            }
        }
        // Text has none, whatever the source declares.
        if var.endian != Endian::Native && !matches!(var.xtype, NcType::Char | NcType::String) {
            self.to.def_var_endian(new, var.endian)?;
        }
        Ok(())
    }

    /// Applies the requested layout where the target's format lacks it, so that the format reports the error.
    pub(super) fn no_layout(&mut self, id: VarId, var: &Var, new: VarId, path: &str) -> Result<()> {
        let (layout, ones) = (self.wanted.layout, vec![1; var.dims.len()]);
        let chunks = layout.chunks(id, &var.dims, &ones).map(Chunking::Chunked);
        let filters: Vec<_> = layout.filters(id).unwrap_or_default().iter().map(FilterSpec::anew).collect();
        let edits = [
            (NO_CHUNKS, chunks.as_ref().map(|chunking| Edit::DefVarChunking { var: new, chunking })),
            (
                NO_SHARDS,
                layout
                    .asks_shards(id, &var.dims)
                    .then_some(Edit::DefVarShards { var: new, shards: Some(&ones) }),
            ),
            (
                NO_FILTERS,
                (!filters.is_empty()).then_some(Edit::DefVarFilters { var: new, filters: &filters }),
            ),
        ];
        for (kind, edit) in edits.into_iter().filter_map(|(kind, edit)| Some((kind, edit?))) {
            match self.to.edit(&edit) {
                Ok(_) => {}
                Err(why) if layout.is_wish => self.left_out(kind, path.to_owned(), why),
                Err(why) => return Err(why.at(path)),
            }
        }
        Ok(())
    }

    /// Returns the requested shards, or the present ones, if the target supports shards.
    pub(super) fn shards(
        &mut self,
        id: VarId,
        var: &Var,
        made: &NewVar,
        shape: &[u64],
        chunks: &[u64],
    ) -> Result<()> {
        let item = self.source.type_size(var.xtype)?.unwrap_or(1) as u64;
        let Some(shards) = self.wanted.layout.shards(id, var, shape, chunks, item) else { return Ok(()) };
        let path = self.path(var.group, &var.name);
        let outcome = self.to.def_var_shards(made.id, Some(&shards)).map_err(|error| error.at(&path));
        match unless_refused(outcome)? {
            Err(why) if self.wanted.layout.asks_shards(id, &var.dims) => Err(why),
            Err(_) => {
                self.copied.lost.add(NO_SHARDS, path);
                Ok(())
            }
            Ok(()) => Ok(()),
        }
    }

    /// Adapts a chunk shape to the target: no length is 0 or exceeds a fixed dimension. Some formats keep
    /// only one of several unlimited dimensions.
    pub(super) fn fitting(&self, dims: &[DimId], mut chunks: Vec<u64>) -> Result<Vec<u64>> {
        let target = self.to.model().snapshot();
        for (chunk, &dim) in chunks.iter_mut().zip(dims) {
            let unlimited = match self.copied.dims[dim.index()] {
                Some(made) => target.dim(made)?.unlimited,
                None => false,
            };
            let dim = self.source.dim(dim)?;
            let most = if unlimited || dim.is_empty() { u64::MAX } else { dim.len() };
            *chunk = (*chunk).clamp(1, most);
        }
        Ok(chunks)
    }
}
