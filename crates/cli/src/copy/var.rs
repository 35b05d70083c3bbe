//! Defines variables, in the form that the target can hold.

use nczarr::dispatch::{Dataset, Format, FormatX};
use nczarr::nc_table::NcDispatch as _;
use nczarr_cdl::Blocks;
use nczarr_model::{
    DimId, Edit, Error, ErrorKind, FILL_VALUE, GroupId, NcType, Result, Slab, Values, Var, VarFill, VarId,
};

use super::block::BUDGET;
use super::define::{Definer, unless_refused};
use super::defined::{NewVar, VariableForm};
use super::error::CopyError;
use super::fit::{self, NumberWidening};
use super::names::Namespace;
use super::strings;
use crate::source::DatasetSource;
use crate::stored::Stored;

/// The default fill of a double as netCDF-C writes it to NCZarr.
const ROUNDED_DEFAULT: f64 = 9.96921e36;

const NO_VARS: &str = "variables left out";
const STRING_DIMS: &str = "dimensions added for the length of strings";

impl Definer<'_> {
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
}

/// Returns whether a dataset is stored as Zarr V2, by NCZarr or not.
fn is_zarr_v2(dataset: &dyn Dataset) -> bool {
    let info = dataset.info();
    info.formatx == FormatX::NcZarr && info.version == "2"
}

/// Returns whether a format lacks the requested type: the kind of type, or any in the classic model of
/// netCDF-4.
pub(super) fn is_of_type(why: &Error) -> bool {
    matches!(why.kind(), ErrorKind::BadType | ErrorKind::StrictNc3)
}
