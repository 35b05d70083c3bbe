//! [`Variable`]: the definition of a variable. `attributes` and `layout` have the rest of its metadata,
//! `transfer` has its data.

mod attributes;
mod layout;

use std::fmt;
use std::ops::Deref;
use std::sync::{Arc, OnceLock, PoisonError, RwLock};

use nczarr_model::{Defined, Edit, Error, NcType, Result, Var, VarId};
use nczarr_nc_table::VarAccess;

use crate::file::OpenDataset;
use crate::{Dimension, Group};

/// A variable of an open dataset.
pub struct Variable {
    pub(crate) open: Arc<OpenDataset>,
    pub(crate) id: VarId,
    kept: AccessCache,
}

/// The prepared variable for data calls, with the edition of the metadata.
///
/// Each handle has its own, so threads with separate handles share nothing. Without edits the first lookup is
/// found without a lock.
#[derive(Default)]
struct AccessCache {
    first: OnceLock<(u64, VarAccess)>,
    /// The last lookup, after an edit.
    later: RwLock<Option<(u64, Arc<VarAccess>)>>,
}

/// A prepared variable in use.
pub(crate) enum Access<'v> {
    First(&'v VarAccess),
    Later(Arc<VarAccess>),
}

impl Deref for Access<'_> {
    type Target = VarAccess;

    fn deref(&self) -> &VarAccess {
        match self {
            Self::First(access) => access,
            Self::Later(access) => access,
        }
    }
}

impl Clone for Variable {
    fn clone(&self) -> Self {
        Self::new(Arc::clone(&self.open), self.id)
    }
}

impl Variable {
    pub(crate) fn new(open: Arc<OpenDataset>, id: VarId) -> Self {
        Self { open, id, kept: AccessCache::default() }
    }

    /// Adds the paths of the dataset and the variable to an error.
    pub(crate) fn located(&self, error: Error) -> Error {
        let name = self.full_name();
        self.open.located(error.in_variable(&name).at(name))
    }

    /// Makes an edit of this variable.
    pub(crate) fn edit(&self, edit: &Edit<'_>) -> Result<Defined> {
        self.open.edit(edit).map_err(|error| error.in_variable(self.full_name()))
    }

    /// Returns the prepared variable, looked up again after edits.
    pub(crate) fn access(&self) -> Result<Access<'_>> {
        let dataset = self.open.dataset()?;
        // Read first: the lookup may be newer, but never older.
        let edition = dataset.model().edition();
        let first = match self.kept.first.get() {
            Some(first) => first,
            None => {
                let access = VarAccess::at(self.open.shared_place(), &**dataset, self.id)?;
                self.kept.first.get_or_init(|| (edition, access))
            }
        };
        if first.0 == edition {
            return Ok(Access::First(&first.1));
        }
        if let Some((of, later)) = &*self.kept.later.read().unwrap_or_else(PoisonError::into_inner)
            && *of == edition
        {
            return Ok(Access::Later(Arc::clone(later)));
        }
        let later = Arc::new(VarAccess::at(self.open.shared_place(), &**dataset, self.id)?);
        let mut kept = self.kept.later.write().unwrap_or_else(PoisonError::into_inner);
        *kept = Some((edition, Arc::clone(&later)));
        Ok(Access::Later(later))
    }

    /// Returns the complete variable, if it was opened for its data alone
    /// ([`OpenOptions::open_data`](crate::OpenOptions::open_data)); the rest is read at the first call.
    /// Otherwise returns this variable.
    ///
    /// ```
    /// # #[cfg(all(feature = "nczarr", feature = "mem"))] {
    /// # let file = nczarr::create("memory://doc-variable-complete")?;
    /// # file.put_attribute("title", "A field")?;
    /// # let x = file.add_dimension("x", 3)?;
    /// # let v = file.add_variable::<f32>("v", &["x"])?;
    /// # v.put_attribute("units", "K")?;
    /// # v.put(&[1.0f32, 2.0, 3.0], ..)?;
    /// # file.sync()?;
    /// let data = nczarr::OpenOptions::new().open_data(file.path(), "v")?;
    /// let units = data.complete()?.attribute("units");
    /// assert_eq!(units.as_ref().and_then(|units| units.text()), Some("K"));
    /// # }
    /// # Ok::<(), nczarr::Error>(())
    /// ```
    ///
    /// # Errors
    /// As [`OpenOptions::open_variable`](crate::OpenOptions::open_variable).
    pub fn complete(&self) -> Result<Self> {
        Ok(self.open.whole()?.unwrap_or(self).clone())
    }

    /// Its identifier in the [`Model`](nczarr_model::Model).
    ///
    /// ```
    /// # #[cfg(all(feature = "nczarr", feature = "mem"))] {
    /// # let file = nczarr::create("memory://doc-variable-id")?;
    /// # file.put_attribute("title", "A field")?;
    /// # let x = file.add_dimension("x", 3)?;
    /// # let v = file.add_variable::<f32>("v", &["x"])?;
    /// # v.put_attribute("units", "K")?;
    /// # v.put(&[1.0f32, 2.0, 3.0], ..)?;
    /// assert_eq!(file.variable_by_id(v.id())?.name(), "v");
    /// # }
    /// # Ok::<(), nczarr::Error>(())
    /// ```
    pub fn id(&self) -> VarId {
        self.id
    }

    /// The name.
    ///
    /// ```
    /// # #[cfg(all(feature = "nczarr", feature = "mem"))] {
    /// # let file = nczarr::create("memory://doc-variable-name")?;
    /// # file.put_attribute("title", "A field")?;
    /// # let x = file.add_dimension("x", 3)?;
    /// # let v = file.add_variable::<f32>("v", &["x"])?;
    /// # v.put_attribute("units", "K")?;
    /// # v.put(&[1.0f32, 2.0, 3.0], ..)?;
    /// assert_eq!(v.name(), "v");
    /// # }
    /// # Ok::<(), nczarr::Error>(())
    /// ```
    pub fn name(&self) -> String {
        self.ask(|var| var.name.clone())
    }

    /// The path from the root, escaped.
    ///
    /// ```
    /// # #[cfg(all(feature = "nczarr", feature = "mem"))] {
    /// # let file = nczarr::create("memory://doc-variable-full-name")?;
    /// # file.put_attribute("title", "A field")?;
    /// # let x = file.add_dimension("x", 3)?;
    /// # let v = file.add_variable::<f32>("v", &["x"])?;
    /// # v.put_attribute("units", "K")?;
    /// # v.put(&[1.0f32, 2.0, 3.0], ..)?;
    /// let t = file.add_group("g")?.add_variable::<f32>("t", &["x"])?;
    /// assert_eq!(t.full_name(), "/g/t");
    /// # }
    /// # Ok::<(), nczarr::Error>(())
    /// ```
    pub fn full_name(&self) -> String {
        self.open.model().var_path(self.id).unwrap_or_default()
    }

    /// The group it is defined in.
    ///
    /// ```
    /// # #[cfg(all(feature = "nczarr", feature = "mem"))] {
    /// # let file = nczarr::create("memory://doc-variable-group")?;
    /// # file.put_attribute("title", "A field")?;
    /// # let x = file.add_dimension("x", 3)?;
    /// # let v = file.add_variable::<f32>("v", &["x"])?;
    /// # v.put_attribute("units", "K")?;
    /// # v.put(&[1.0f32, 2.0, 3.0], ..)?;
    /// assert_eq!(v.group().name(), "/");
    /// # }
    /// # Ok::<(), nczarr::Error>(())
    /// ```
    pub fn group(&self) -> Group {
        Group::new(Arc::clone(&self.open), self.ask(|var| var.group))
    }

    /// The type.
    ///
    /// ```
    /// # #[cfg(all(feature = "nczarr", feature = "mem"))] {
    /// # let file = nczarr::create("memory://doc-variable-nc-type")?;
    /// # file.put_attribute("title", "A field")?;
    /// # let x = file.add_dimension("x", 3)?;
    /// # let v = file.add_variable::<f32>("v", &["x"])?;
    /// # v.put_attribute("units", "K")?;
    /// # v.put(&[1.0f32, 2.0, 3.0], ..)?;
    /// assert_eq!(v.nc_type(), nczarr::NcType::Float);
    /// # }
    /// # Ok::<(), nczarr::Error>(())
    /// ```
    pub fn nc_type(&self) -> NcType {
        self.ask(|var| var.xtype)
    }

    /// The dimensions, slowest first.
    ///
    /// ```
    /// # #[cfg(all(feature = "nczarr", feature = "mem"))] {
    /// # let file = nczarr::create("memory://doc-variable-dimensions")?;
    /// # file.put_attribute("title", "A field")?;
    /// # let x = file.add_dimension("x", 3)?;
    /// # let v = file.add_variable::<f32>("v", &["x"])?;
    /// # v.put_attribute("units", "K")?;
    /// # v.put(&[1.0f32, 2.0, 3.0], ..)?;
    /// assert_eq!(v.dimensions()[0].name(), "x");
    /// # }
    /// # Ok::<(), nczarr::Error>(())
    /// ```
    pub fn dimensions(&self) -> Vec<Dimension> {
        self.ask(|var| var.dims.iter().map(|&id| Dimension::new(Arc::clone(&self.open), id)).collect())
    }

    /// The number of dimensions.
    ///
    /// ```
    /// # #[cfg(all(feature = "nczarr", feature = "mem"))] {
    /// # let file = nczarr::create("memory://doc-variable-rank")?;
    /// # file.put_attribute("title", "A field")?;
    /// # let x = file.add_dimension("x", 3)?;
    /// # let v = file.add_variable::<f32>("v", &["x"])?;
    /// # v.put_attribute("units", "K")?;
    /// # v.put(&[1.0f32, 2.0, 3.0], ..)?;
    /// assert_eq!(v.rank(), 1);
    /// # }
    /// # Ok::<(), nczarr::Error>(())
    /// ```
    pub fn rank(&self) -> usize {
        self.ask(|var| var.dims.len())
    }

    /// The current shape.
    ///
    /// ```
    /// # #[cfg(all(feature = "nczarr", feature = "mem"))] {
    /// # let file = nczarr::create("memory://doc-variable-shape")?;
    /// # file.put_attribute("title", "A field")?;
    /// # let x = file.add_dimension("x", 3)?;
    /// # let v = file.add_variable::<f32>("v", &["x"])?;
    /// # v.put_attribute("units", "K")?;
    /// # v.put(&[1.0f32, 2.0, 3.0], ..)?;
    /// assert_eq!(v.shape()?, [3]);
    /// # }
    /// # Ok::<(), nczarr::Error>(())
    /// ```
    ///
    /// # Errors
    /// `NC_ENOTVAR` if its definition was rolled back.
    pub fn shape(&self) -> Result<Vec<u64>> {
        self.open.model().shape(self.id)
    }

    /// The current number of elements; saturates.
    ///
    /// ```
    /// # #[cfg(all(feature = "nczarr", feature = "mem"))] {
    /// # let file = nczarr::create("memory://doc-variable-len")?;
    /// # file.put_attribute("title", "A field")?;
    /// # let x = file.add_dimension("x", 3)?;
    /// # let v = file.add_variable::<f32>("v", &["x"])?;
    /// # v.put_attribute("units", "K")?;
    /// # v.put(&[1.0f32, 2.0, 3.0], ..)?;
    /// assert_eq!(v.len()?, 3);                  // the product of all lengths
    /// # }
    /// # Ok::<(), nczarr::Error>(())
    /// ```
    ///
    /// # Errors
    /// As [`Variable::shape`].
    pub fn len(&self) -> Result<u64> {
        Ok(self.shape()?.iter().fold(1, |product: u64, &len| product.saturating_mul(len)))
    }

    /// Whether there are no elements.
    ///
    /// ```
    /// # #[cfg(all(feature = "nczarr", feature = "mem"))] {
    /// # let file = nczarr::create("memory://doc-variable-is-empty")?;
    /// # file.put_attribute("title", "A field")?;
    /// # let x = file.add_dimension("x", 3)?;
    /// # let v = file.add_variable::<f32>("v", &["x"])?;
    /// # v.put_attribute("units", "K")?;
    /// # v.put(&[1.0f32, 2.0, 3.0], ..)?;
    /// file.add_unlimited_dimension("time")?;
    /// assert!(file.add_variable::<f32>("t", &["time"])?.is_empty()?);
    /// assert!(!v.is_empty()?);
    /// # }
    /// # Ok::<(), nczarr::Error>(())
    /// ```
    ///
    /// # Errors
    /// As [`Variable::shape`].
    pub fn is_empty(&self) -> Result<bool> {
        Ok(self.len()? == 0)
    }

    /// A variable whose definition was rolled back behaves as an empty one.
    pub(crate) fn ask<T: Default>(&self, ask: impl FnOnce(&Var) -> T) -> T {
        self.open.look(|model| model.var(self.id).map(ask).unwrap_or_default())
    }
}

impl fmt::Debug for Variable {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Variable")
            .field("name", &self.full_name())
            .field("type", &self.nc_type())
            .field("shape", &self.shape().unwrap_or_default())
            .finish()
    }
}
