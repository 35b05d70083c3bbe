//! Defines variables and attributes, in the form that the target can hold.

use std::sync::LazyLock;

use nczarr::dispatch::{Dataset, Format, FormatX};
use nczarr::nc_table::NcDispatch as _;
use nczarr_cdl::Blocks;
use nczarr_model::{
    Chunking, DimId, Edit, Endian, Error, ErrorKind, FILL_VALUE, FilterSpec, GroupId, NcType, Result, Slab,
    Values, Var, VarFill, VarId,
};

use super::block::BUDGET;
use super::define::{Definer, unless_refused};
use super::defined::{NewVar, VariableForm};
use super::error::CopyError;
use super::fit::{self, NumberWidening};
use super::lossless_check;
use super::max_length::{BUILT_IN_MAX_LEN, DEFAULT_MAX_LEN, GIVEN_LEN, MAX_LEN};
use super::names::Namespace;
use super::strings::{self, StringStats};
use crate::json_atts;
use crate::source::DatasetSource;
use crate::stored::Stored;

/// The value that stands for a missing attribute.
static NOT_GIVEN: LazyLock<Values> = LazyLock::new(|| Values::Int(vec![0]));

/// The default fill of a double as netCDF-C writes it to NCZarr.
const ROUNDED_DEFAULT: f64 = 9.96921e36;

/// The maximum size of a chunk of text rows, in bytes. Larger chunks take the format's default shape.
const ROWS: u64 = 1 << 30;

const NO_VARS: &str = "variables left out";
const NO_ATTS: &str = "attributes left out";
const NO_CHUNKS: &str = "chunks left out";
const NO_SHARDS: &str = "shards left out";
const NO_FILTERS: &str = "filters left out";
const JOINED: &str = "string lists of attributes, stored as lines of one text";
const STRING_DIMS: &str = "dimensions added for the length of strings";

impl Definer<'_> {
    /// Copies the attributes of a group.
    ///
    /// # Errors
    ///
    /// Errors of writing.
    pub fn group_atts(&mut self, id: GroupId, atts: &nczarr_model::Att) -> Result<()> {
        let json = json_atts::stored(self.from, id, None)?;
        for (name, values) in atts {
            let (group, new) = self.name(Namespace::Atts, id, name)?;
            let path = format!("{}:{name}", self.path(id, ""));
            self.att(group, None, &new, values, None, path)?;
            self.keep_json(group, None, &new, json.as_ref().and_then(|json| of(json, name)))?;
            if new != *name {
                self.copied.atts.insert((id, name.clone()), new);
            }
        }
        Ok(())
    }

    /// Stores an attribute as the source's JSON, if both datasets are Zarr.
    fn keep_json(&self, group: GroupId, var: Option<VarId>, name: &str, json: Option<&str>) -> Result<()> {
        let model = self.to.model().snapshot();
        let there = match var {
            Some(id) => model.var(id)?.atts.contains_key(name),
            None => model.group(group)?.atts.contains_key(name),
        };
        match (json, self.to.json_metadata()) {
            (Some(json), Some(to)) if there => to.set_attribute(group, var, name, json),
            _ => Ok(()),
        }
    }

    /// Defines an attribute with its own type, or else with `other` or one that can hold it.
    fn att(
        &mut self,
        group: GroupId,
        var: Option<VarId>,
        name: &str,
        values: &Values,
        other: Option<NcType>,
        path: String,
    ) -> Result<()> {
        let put = |values: &Values| unless_refused(self.to.edit(&Edit::PutAtt { group, var, name, values }));
        let why = match self.copied.values(values) {
            None => ErrorKind::BadTypId.context("its type was left out"),
            Some(values) => match put(&values)? {
                Ok(_) => return Ok(()),
                Err(why) => why,
            },
        };
        // Text may contain bytes that a string may not.
        let is_cut = why.kind() == ErrorKind::Char && self.to.info().formatx == FormatX::Hdf5;
        if is_of_type(&why) || is_cut {
            for to in other.into_iter().chain(fit::wider(values.nc_type()).iter().copied()) {
                if let Some(same) = fit::exactly(values, to)
                    && put(&same)?.is_ok()
                {
                    return Ok(());
                }
            }
            if let Values::String(list) = values
                && put(&Values::Char(fit::lines(list)))?.is_ok()
            {
                if list.len() != 1 {
                    self.copied.lost.add(JOINED, path);
                }
                return Ok(());
            }
        }
        self.no_att(path, why);
        Ok(())
    }

    fn no_att(&mut self, path: String, why: impl std::fmt::Display) {
        self.left_out(NO_ATTS, path.clone(), why);
        self.copied.left.insert(path);
    }

    /// Defines a variable; `None` if it was left out.
    ///
    /// # Errors
    ///
    /// Errors of reading and writing.
    pub fn var(&mut self, id: VarId, var: &Var) -> Result<Option<NewVar>, CopyError> {
        let path = self.path(var.group, &var.name);
        let (group, name) = self.name(Namespace::Vars, var.group, &var.name)?;
        let made = match self.as_stored(id, var, group, &name)? {
            Some(id) => Ok(NewVar { id, form: VariableForm::Same }),
            None => self.defined(id, var, group, &name)?,
        };
        let new = match made {
            Ok(new) => new,
            Err(why) => {
                self.left_out(NO_VARS, path, why);
                return Ok(None);
            }
        };
        if matches!(self.to.info().format, Format::NetCdf4 | Format::NetCdf4Classic) {
            self.layout(id, var, &new)?;
        } else if !var.dims.is_empty() {
            self.no_layout(id, var, new.id, &path)?;
        }
        // Quantization is not repeated: the values are rounded already, and an attribute records it.
        self.var_atts(group, var, &new, &path)?;
        if new.form == VariableForm::Same {
            self.string_length(id, var, new.id)?;
        }
        self.fill(id, var, &new)?;
        Ok(Some(new))
    }

    /// Defines a variable with the source's stored type, if source and target have such types.
    fn as_stored(&self, id: VarId, var: &Var, group: GroupId, name: &str) -> Result<Option<VarId>> {
        if self.wanted.without.contains(&id) {
            return Ok(None);
        }
        let dims = var.dims.iter().map(|dim| self.copied.dims[dim.index()]).collect::<Option<Vec<_>>>();
        let (Some(dims), Some(xtype)) = (dims, self.copied.ty(var.xtype)) else { return Ok(None) };
        let (Some(from), Some(to)) = (self.from.json_metadata(), self.to.json_metadata()) else {
            return Ok(None);
        };
        let Some(stored) = from.stored_type(id)? else { return Ok(None) };
        // Defining it in another form reports the refusal.
        let made = unless_refused(to.def_var(group, name, xtype, &dims, &stored))?;
        Ok(made.ok().flatten())
    }

    /// Defines a variable in a form that the target can hold, or returns the reason why there is none.
    fn defined(
        &mut self,
        id: VarId,
        var: &Var,
        group: GroupId,
        name: &str,
    ) -> Result<Result<NewVar, Error>, CopyError> {
        let (form, xtype, dims) = match self.form(id, var, group, name)? {
            Ok(form) => form,
            Err(why) => return Ok(Err(why)),
        };
        let made = unless_refused(self.to.def_var(group, name, xtype, &dims))?;
        Ok(made.map(|id| NewVar { id, form }))
    }

    /// Returns the form, type and dimensions for a variable, or the reason why there are none.
    #[allow(clippy::type_complexity, reason = "what a definition takes")]
    fn form(
        &mut self,
        id: VarId,
        var: &Var,
        group: GroupId,
        name: &str,
    ) -> Result<Result<(VariableForm, NcType, Vec<DimId>), Error>, CopyError> {
        if self.wanted.without.contains(&id) {
            return Ok(Err(ErrorKind::VarSize.context("it is too large, alone or together with the others")));
        }
        let Some(mut dims) =
            var.dims.iter().map(|dim| self.copied.dims[dim.index()]).collect::<Option<Vec<_>>>()
        else {
            return Ok(Err(ErrorKind::BadDim.context("one of its dimensions was left out")));
        };
        let Some(xtype) = self.copied.ty(var.xtype) else {
            return Ok(Err(ErrorKind::BadTypId.context("its type was left out")));
        };
        let admits = |xtype| self.to.editor()?.admit(&Edit::DefVar { group, name, xtype, dims: &dims });
        let cut = match self.is_cut(id, var) {
            Err(error) if self.wanted.select.skips => return Ok(Err(error)),
            cut => cut.map_err(CopyError::Source)?,
        };
        let why = match unless_refused(admits(xtype))? {
            Ok(()) if cut => {
                ErrorKind::Char.context("some of its strings contain NUL, which ends strings there")
            }
            Ok(()) => return Ok(Ok((VariableForm::Same, xtype, dims))),
            Err(why) if !is_of_type(&why) => return Ok(Err(why)),
            Err(why) => why,
        };
        for &to in fit::wider(var.xtype) {
            let change = NumberWidening::new(var, to);
            if admits(to).is_err() {
                continue;
            }
            let fits = match self.fits(id, &change) {
                Err(error) if self.wanted.select.skips => return Ok(Err(error)),
                fits => fits.map_err(CopyError::Source)?,
            };
            if fits {
                return Ok(Ok((VariableForm::Numbers(change), to, dims)));
            }
        }
        match self.wanted.texts.get(&id) {
            Some(text) if text.ends_with_nul => Ok(Err(ErrorKind::Char
                .context("some of its strings end with NUL, which text cannot hold")
                .caused_by(why))),
            Some(text) if admits(NcType::Char).is_ok() => {
                let len = text.longest.max(1) as u64;
                match self.string_dim(var.group, len)? {
                    Ok(dim) => {
                        dims.push(dim);
                        Ok(Ok((VariableForm::Text { len }, NcType::Char, dims)))
                    }
                    Err(why) => Ok(Err(why)),
                }
            }
            _ => Ok(Err(why.at("no type of the target holds all its values"))),
        }
    }

    /// Returns whether the target would truncate strings of a variable.
    fn is_cut(&self, id: VarId, var: &Var) -> Result<bool> {
        match (self.to.info().formatx, var.xtype) {
            (FormatX::Hdf5, NcType::String) => {
                Ok(self.wanted.texts.get(&id).is_some_and(|text| text.has_nul))
            }
            (FormatX::Hdf5, NcType::User(_)) if self.wanted.select.has_data(&self.source, id) => {
                strings::has_nul(self.from, &self.source, id)
            }
            _ => Ok(false),
        }
    }

    /// Returns whether all elements of a variable can be changed.
    fn fits(&self, id: VarId, change: &NumberWidening) -> Result<bool> {
        let shape = self.source.shape(id)?;
        if change.is_safe() || shape.contains(&0) || !self.wanted.select.has_data(&self.source, id) {
            return Ok(true);
        }
        let source = DatasetSource::new(self.from);
        let item = source.item_size(self.source.var(id)?.xtype)?.max(1) as u64;
        let chunks = self.from.data(id)?.chunk_shape();
        for (start, count) in Blocks::new(&shape, chunks.as_deref(), BUDGET / item) {
            if change.elements(&source.bytes(id, &Slab::new(&start, &count))?)?.is_none() {
                return Ok(false);
            }
        }
        Ok(true)
    }

    /// Returns the dimension for the bytes of strings of this length.
    fn string_dim(&mut self, group: GroupId, len: u64) -> Result<Result<DimId, Error>> {
        if let Some((_, dim)) = self.string_dims.iter().find(|(known, _)| *known == len) {
            return Ok(Ok(*dim));
        }
        let place = self.place(group)?;
        let name = self.names.free(&self.source, &place, Namespace::Dims, format!("string{len}"));
        let made = unless_refused(self.to.def_dim(place.group, &name, Some(len)))?;
        if let Ok(dim) = made {
            self.string_dims.push((len, dim));
            self.copied.lost.add(STRING_DIMS, format!("/{name}"));
        }
        Ok(made)
    }

    fn var_atts(&mut self, group: GroupId, var: &Var, new: &NewVar, path: &str) -> Result<()> {
        // A target with unlimited strings gets the original value back.
        let id = self.source.group(var.group)?.vars.get(&var.name).copied();
        let json = json_atts::stored(self.from, var.group, id)?;
        let given = var.atts.get(GIVEN_LEN).filter(|_| self.to.info().formatx == FormatX::Hdf5);
        for (name, values) in &var.atts {
            let path = format!("{path}:{name}");
            let values = match given {
                Some(_) if name == GIVEN_LEN => continue,
                Some(given) if name == MAX_LEN && *given == *NOT_GIVEN => continue,
                Some(given) if name == MAX_LEN => given,
                _ => values,
            };
            let is_fill = name == FILL_VALUE && fit::apparent_fill(var).as_ref() == Some(values);
            match &new.form {
                VariableForm::Numbers(change) if is_fill => {
                    let fill = change.fill().unwrap_or(values).clone();
                    self.att(group, Some(new.id), name, &fill, None, path)?;
                }
                VariableForm::Numbers(change) => {
                    self.att(group, Some(new.id), name, values, Some(change.to), path)?
                }
                // The string attributes do not hold for text.
                VariableForm::Text { .. } if [MAX_LEN, GIVEN_LEN].contains(&name.as_str()) => {}
                VariableForm::Text { .. } if name == FILL_VALUE => {
                    self.no_att(path, "text is filled byte by byte")
                }
                VariableForm::Text { .. } | VariableForm::Same => {
                    self.att(group, Some(new.id), name, values, None, path)?
                }
            }
            self.keep_json(group, Some(new.id), name, json.as_ref().and_then(|json| of(json, name)))?;
        }
        Ok(())
    }

    fn fill(&self, id: VarId, var: &Var, new: &NewVar) -> Result<()> {
        match (&var.fill, &new.form) {
            (VarFill::NoFill, _) => self.to.def_var_fill(new.id, true, None),
            (_, VariableForm::Text { .. }) => Ok(()),
            // Its default, rounded to six digits by the writer; the target has the exact one.
            (VarFill::Value(value), _) if *value == Values::Double(vec![ROUNDED_DEFAULT]) => Ok(()),
            // Many readers of Zarr V2 take an array's fill value for missing. Without one, unwritten data
            // read as zeros, but every chunk must be written. An array of Zarr V2, and a mostly absent one,
            // keep theirs.
            (VarFill::Value(value), VariableForm::Same)
                if !var.atts.contains_key(FILL_VALUE)
                    && is_zarr_v2(self.to)
                    && !is_zarr_v2(self.from)
                    && value.nc_type().is_numeric()
                    && fit::is_zero(value)
                    && !self.is_sparse(id)? =>
            {
                self.to.def_var_fill(new.id, true, None)
            }
            (VarFill::Value(value), VariableForm::Same) if !var.atts.contains_key(FILL_VALUE) => {
                // Formats that store fill values only as the attribute write everything: the attribute would
                // mark these values as missing.
                let Some(value) = self.copied.values(value) else { return Ok(()) };
                unless_refused(self.to.edit(&Edit::DefVarUnwritten { var: new.id, value: &value })).map(drop)
            }
            (VarFill::Value(_) | VarFill::Default, _) => Ok(()),
        }
    }

    /// Returns whether most chunks of a variable are absent.
    fn is_sparse(&self, id: VarId) -> Result<bool> {
        if !self.wanted.select.has_data(&self.source, id) {
            return Ok(false);
        }
        Ok(Stored::if_sparse(&*self.from.data(id)?, &self.source.shape(id)?)?.is_some())
    }

    fn layout(&mut self, id: VarId, var: &Var, made: &NewVar) -> Result<()> {
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
    fn no_layout(&mut self, id: VarId, var: &Var, new: VarId, path: &str) -> Result<()> {
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
    fn shards(&mut self, id: VarId, var: &Var, made: &NewVar, shape: &[u64], chunks: &[u64]) -> Result<()> {
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
    fn fitting(&self, dims: &[DimId], mut chunks: Vec<u64>) -> Result<Vec<u64>> {
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

    /// Records the maximum string length of a variable, if the target's default is shorter.
    fn string_length(&self, id: VarId, var: &Var, new: VarId) -> Result<()> {
        let Some(&StringStats { longest, has_other_bytes, .. }) = self.wanted.texts.get(&id) else {
            return Ok(());
        };
        let to = self.to.info();
        if to.formatx == FormatX::Hdf5 {
            return Ok(());
        }
        // Zarr V3 stores strings of any length, in UTF-8. NCZarr also stores text of a fixed size: if a
        // copied attribute requires it, and for bytes that are not UTF-8.
        let is_said = var.atts.contains_key(MAX_LEN) || self.source.root().atts.contains_key(DEFAULT_MAX_LEN);
        let is_fixed = to.flavour == "nczarr" && (is_said || has_other_bytes);
        let is_v3 = to.formatx == FormatX::NcZarr && to.version == "3";
        if is_v3 && !is_fixed {
            return Ok(());
        }
        let said = |atts: &nczarr_model::Att, name| match atts.get(name).and_then(|values| values.scalar(0)) {
            Some(nczarr_model::Scalar::Int(len)) => usize::try_from(len).ok(),
            _ => None,
        };
        let limit = match said(&var.atts, MAX_LEN) {
            Some(len) => len,
            // For varying length, or another type, the length is the only information.
            None if var.stored_type.is_some() => 0,
            None => said(&self.source.root().atts, DEFAULT_MAX_LEN).unwrap_or(BUILT_IN_MAX_LEN),
        };
        // Only an explicit length gives V3 text of a fixed size.
        let needs_length = is_v3 && has_other_bytes && !var.atts.contains_key(MAX_LEN);
        if longest <= limit && limit > 0 && !needs_length {
            return Ok(());
        }
        let len = i32::try_from(longest.max(1)).map_err(|error| {
            ErrorKind::VarSize.context(format!("a string of {longest} bytes")).caused_by(error)
        })?;
        let group = self.place(var.group)?.group;
        let put = |name, values: &Values| {
            self.to.edit(&Edit::PutAtt { group, var: Some(new), name, values }).map(drop)
        };
        if self.from.info().formatx == FormatX::Hdf5 && !var.atts.contains_key(GIVEN_LEN) {
            put(GIVEN_LEN, var.atts.get(MAX_LEN).unwrap_or(&NOT_GIVEN))?;
        }
        put(MAX_LEN, &Values::Int(vec![len]))
    }
}

/// Returns the JSON of an attribute.
fn of<'j>(json: &'j [(String, String)], name: &str) -> Option<&'j str> {
    json.iter().find(|(known, _)| known == name).map(|(_, text)| text.as_str())
}

/// Returns whether a dataset is stored as Zarr V2, by NCZarr or not.
fn is_zarr_v2(dataset: &dyn Dataset) -> bool {
    let info = dataset.info();
    info.formatx == FormatX::NcZarr && info.version == "2"
}

/// Returns whether a format lacks the requested type: the kind of type, or any in the classic model of
/// netCDF-4.
fn is_of_type(why: &Error) -> bool {
    matches!(why.kind(), ErrorKind::BadType | ErrorKind::StrictNc3)
}
