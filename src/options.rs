//! Opening and creating: the short forms ([`open`], [`create`] …) and the builders behind them.
//!
//! What a path or URL means is `url-infer`'s business, who is asked the registry's.

use std::sync::Arc;

use nczarr_dispatch::{
    Clobber, Durability, Explanation, ForbiddenKeys, Limits, MissingChunks, OpenScope, Options, Progress, Registry,
    ZMap,
};
use nczarr_model::{ErrorKind, Result};

use crate::{File, Variable, builtin};

/// Opens a dataset for reading.
///
/// A plain path is recognised by its content; a URL and its fragment (`file:///data/x.zarr#mode=zarr`) can say more.
///
/// # Errors
/// `NC_ENOTFOUND` if nothing is there, `NC_ENOTNC` if no driver knows what is there, `NC_ENOTBUILT` naming the feature that
/// would; what the driver says.
pub fn open(path: &str) -> Result<File> {
    OpenOptions::new().open(path)
}

/// Opens one variable of a dataset for reading, by its path from the root: see [`OpenOptions::open_variable`].
///
/// # Errors
/// As [`open`]; `NC_ENOTVAR` if there is no such variable.
pub fn open_variable(path: &str, variable: &str) -> Result<Variable> {
    OpenOptions::new().open_variable(path, variable)
}

/// Opens a dataset that is one file, whose bytes are in memory, for reading: a classic file, or an archive of a Zarr store.
///
/// ```
/// # #[cfg(not(all(feature = "nczarr", feature = "zip")))]
/// # fn main() {}
/// # #[cfg(all(feature = "nczarr", feature = "zip"))]
/// # fn main() -> nczarr::Result<()> {
/// let file = nczarr::CreateOptions::new().create_in_memory("made.zip", false)?;
/// file.add_dimension("x", 3)?;
/// file.add_variable::<f32>("t", &["x"])?.put(&[1.0f32, 2.0, 3.0], ..)?;
/// let bytes: Vec<u8> = file.close_to_bytes()?;
///
/// let file = nczarr::open_bytes(bytes)?;
/// assert_eq!(file.variable("t")?.get_values::<f32>(..)?, [1.0, 2.0, 3.0]);
/// # Ok(())
/// # }
/// ```
///
/// # Errors
/// As [`OpenOptions::open_bytes`].
pub fn open_bytes(bytes: impl Into<Arc<[u8]>>) -> Result<File> {
    OpenOptions::new().open_bytes("memory", bytes)
}

/// Opens a dataset for reading and writing. Nothing is ever truncated by it.
///
/// # Errors
/// As [`open`]; `NC_EPERM` if it cannot be written.
pub fn append(path: &str) -> Result<File> {
    OpenOptions::new().writable(true).open(path)
}

/// Creates a dataset where none is.
///
/// # Errors
/// `NC_EEXIST` or `NC_EOBJECT` if something is there; `NC_EINVAL` if the path does not tell a format that can be written.
pub fn create(path: &str) -> Result<File> {
    CreateOptions::new().create(path)
}

/// Deletes a dataset. Anything that is not recognised as one is left alone.
///
/// # Errors
/// `NC_ENOTFOUND` if nothing is there, `NC_ENOTNC` if it is no dataset, `NC_EPERM` if the storage cannot delete.
pub fn delete(path: &str) -> Result<()> {
    builtin::registry()?.delete(path)
}

/// Says what a path or URL means and why: which driver, map and flavour, and what was looked at.
///
/// # Errors
/// `NC_EURL` if it is malformed. That the dataset cannot be opened is part of the answer.
pub fn explain(path: &str) -> Result<Explanation> {
    builtin::registry()?.explain(path)
}

macro_rules! shared_options {
    () => {
        /// Limits for sizes that come from outside.
        #[must_use]
        pub fn limits(mut self, limits: Limits) -> Self {
            self.options.limits = limits;
            self
        }

        /// Threads a transfer may use; 0: as many as the system offers.
        #[must_use]
        pub fn threads(mut self, threads: usize) -> Self {
            self.options.threads = threads;
            self
        }

        /// Bytes of decoded chunks kept per variable. A variable that fits is read by whole chunks, which are kept from
        /// the first touch on, even where single elements could be read.
        #[must_use]
        pub fn cache_bytes(mut self, bytes: usize) -> Self {
            self.options.cache_bytes = Some(bytes);
            self
        }

        /// When a write counts as done.
        #[must_use]
        pub fn durability(mut self, durability: Durability) -> Self {
            self.options.durability = durability;
            self
        }

        /// What an absent chunk means; of a Zarr dataset a URL says the same with `#missing_chunks=fill`, `warn` or `error`.
        ///
        /// Where a variable has no fill value (`fill_value` is `null`) fill values are zeros and empty strings.
        #[must_use]
        pub fn missing_chunks(mut self, missing: MissingChunks) -> Self {
            self.options.missing_chunks = missing;
            self
        }

        /// Promises that no other process writes the dataset. A server without conditional writes needs this promise. A
        /// URL says the same with `#exclusive=true`, and an rc file with `ZARR.EXCLUSIVE=true`.
        #[must_use]
        pub fn exclusive(mut self, exclusive: bool) -> Self {
            self.options.exclusive = exclusive;
            self
        }

        /// Cuts strings too long for a variable of fixed length, at a character boundary, instead of refusing them.
        #[must_use]
        pub fn truncate_strings(mut self, truncate: bool) -> Self {
            self.options.truncate_strings = truncate;
            self
        }

        /// Is told of every transfer, and can stop it.
        #[must_use]
        pub fn progress(mut self, progress: impl Progress + 'static) -> Self {
            self.options.progress = Some(Arc::new(progress));
            self
        }

        /// Takes drivers, maps and filters from here instead of from [`registry`](crate::registry).
        #[must_use]
        pub fn registry(mut self, registry: impl Into<Arc<Registry>>) -> Self {
            self.registry = Some(registry.into());
            self
        }

        /// Uses a map somebody opened already; the path then only names the dataset and says what its fragment says.
        #[must_use]
        pub fn map(mut self, map: Arc<dyn ZMap>) -> Self {
            self.map = Some(map);
            self
        }
    };
}

/// How a dataset is opened.
#[derive(Clone, Default)]
pub struct OpenOptions {
    writable: bool,
    options: Options,
    registry: Option<Arc<Registry>>,
    map: Option<Arc<dyn ZMap>>,
}

impl OpenOptions {
    /// Read only, with the defaults of everything.
    pub fn new() -> Self {
        Self::default()
    }

    /// Whether it will be changed.
    #[must_use]
    pub fn writable(mut self, writable: bool) -> Self {
        self.writable = writable;
        self
    }

    shared_options!();

    /// The meaning of an object that a server refuses (403) and that may not exist. With
    /// [`ForbiddenKeys::Absent`] it is absent, and the dataset is only read. A URL says the same with `#forbidden=absent`, and
    /// an rc file with `ZARR.FORBIDDEN=absent`.
    #[must_use]
    pub fn forbidden(mut self, forbidden: ForbiddenKeys) -> Self {
        self.options.forbidden = forbidden;
        self
    }

    /// Opens the dataset.
    ///
    /// # Errors
    /// As [`open`].
    pub fn open(&self, path: &str) -> Result<File> {
        let registry = default_or(&self.registry)?;
        let dataset = registry.open_in(self.map.clone(), path, self.writable, &self.options)?;
        Ok(File::new(dataset, path, registry))
    }

    /// Opens the map alone that a path means, whatever lies in it: to put something around it (module `wrap`) and hand
    /// that to [`OpenOptions::map`].
    ///
    /// # Errors
    /// `NC_ENOTFOUND` if nothing is there; `NC_ENOTNC` if what is there is no map, as a classic file.
    pub fn open_map(&self, path: &str) -> Result<Arc<dyn ZMap>> {
        default_or(&self.registry)?.open_storage(path, self.writable, &self.options)
    }

    /// Maps a dataset that is one file into memory, if it is only read: its bytes need not be asked for. Feature `mmap`;
    /// other formats than classic files take no notice.
    ///
    /// Nobody may cut the file short while it is read: the system ends the process where it looks at what is gone. What
    /// was cut off between two reads is an error of the second.
    #[must_use]
    pub fn memory_map(mut self, map: bool) -> Self {
        self.options.memory_map = map;
        self
    }

    /// Opens a dataset that is one file (a classic file, an archive), whose bytes are in memory. `name` only names it, with
    /// the modes it may have.
    ///
    /// What is written goes to a copy; [`File::close_to_bytes`] answers it: of an archive one with each object once, and
    /// without what is no object.
    ///
    /// # Errors
    /// As [`open`]; `NC_EINMEMORY` if the format cannot do it.
    pub fn open_bytes(&self, name: &str, bytes: impl Into<Arc<[u8]>>) -> Result<File> {
        let registry = default_or(&self.registry)?;
        let dataset = registry.open_bytes(name, bytes.into(), self.writable, &self.options)?;
        Ok(File::new(dataset, name, registry))
    }

    /// Opens a dataset that is one file (a classic file, an archive) and reads it into memory. With `persist`, and if it is opened for writing, what is
    /// written goes back to the file when it is closed, in one step, and nobody else can write the file meanwhile; without,
    /// the file stays as it is. [`File::close_to_bytes`] answers the bytes.
    ///
    /// # Errors
    /// As [`open`]; `NC_EDISKLESS` if the format cannot do it, `NC_EACCESS` if somebody else writes the file (`NC_EPERM` for
    /// an archive).
    pub fn open_in_memory(&self, path: &str, persist: bool) -> Result<File> {
        let registry = default_or(&self.registry)?;
        let dataset = registry.open_in_memory(path, self.writable, &self.options, persist)?;
        Ok(File::new(dataset, path, registry))
    }

    /// Opens the dataset for reading and finds one variable in it, by its path from the root.
    ///
    /// The same as opening the dataset and asking it for the variable, but what else is in the dataset may be left out, so
    /// it does not take longer the more there is. The variable is the one a full open gives: type, shape, attributes,
    /// filters and data. What its group and dataset answer may differ: groups hold nothing beside what leads to the
    /// variable, consolidated metadata is not asked where reading the documents themselves is as cheap, and where plain Zarr
    /// gives one dimension name several lengths, the name is as the variable has it; so is the name of its user-defined type
    /// where something else has that name.
    ///
    /// # Errors
    /// As [`open_variable`]; `NC_EPERM` if writing was asked for.
    pub fn open_variable(&self, path: &str, variable: &str) -> Result<Variable> {
        if self.writable {
            return Err(ErrorKind::Perm.context(format!("{variable}: a variable alone is opened for reading only")));
        }
        let registry = default_or(&self.registry)?;
        let only = OpenScope { path: variable, data_only: false };
        let dataset = registry.open_for(self.map.clone(), path, only, &self.options)?;
        File::new(dataset, path, registry).root().variable(variable)
    }

    /// Opens one variable for its data alone, by its path from the root: with as few requests, and as little work, as its
    /// data need.
    ///
    /// Of plain Zarr (`#mode=zarr`, best with `v2` or `v3`) that is one document, so that an element of a dataset far away
    /// costs two requests. What is left out is not there to be asked for: attributes, and the names of dimensions, may be
    /// missing, and dimensions are as long as the variable itself; groups hold what leads to the variable.
    /// [`Variable::complete`] reads the rest. [`Variable::get_unpacked`], which needs attributes, does that itself.
    ///
    /// Everywhere else, and wherever that document does not tell enough, this is [`OpenOptions::open_variable`].
    ///
    /// # Errors
    /// As [`OpenOptions::open_variable`].
    pub fn open_data(&self, path: &str, variable: &str) -> Result<Variable> {
        if self.writable {
            return Err(ErrorKind::Perm.context(format!("{variable}: a variable alone is opened for reading only")));
        }
        let registry = default_or(&self.registry)?;
        let only = OpenScope { path: variable, data_only: true };
        let dataset = registry.open_for(self.map.clone(), path, only, &self.options)?;
        let variable = File::for_data(dataset, path, registry, (self, variable)).root().variable(variable)?;
        // Its filters and memory are made ready now. What stands against that is told to who reads.
        let _ = variable.access();
        Ok(variable)
    }
}

/// How a dataset is created.
#[derive(Clone, Default)]
pub struct CreateOptions {
    clobber: Clobber,
    classic_model: bool,
    options: Options,
    registry: Option<Arc<Registry>>,
    map: Option<Arc<dyn ZMap>>,
}

impl CreateOptions {
    /// Refusing to replace anything, with the defaults of everything.
    pub fn new() -> Self {
        Self::default()
    }

    /// Whether a dataset that is there already is deleted first. Anything else is never touched.
    #[must_use]
    pub fn clobber(mut self, clobber: bool) -> Self {
        self.clobber = if clobber { Clobber::Replace } else { Clobber::Refuse };
        self
    }

    /// Only the classic model: no groups, user types, strings or second unlimited dimension.
    #[must_use]
    pub fn classic_model(mut self, classic: bool) -> Self {
        self.classic_model = classic;
        self
    }

    /// Whether plain Zarr gets an attribute with what netCDF knows and Zarr has no word for: unlimited and unused dimensions,
    /// the order of things, char, types of attributes. It is written only where something would otherwise be lost; the
    /// same as `#mode=zarr,annotate`. Other formats have words for all that.
    #[must_use]
    pub fn annotate(mut self, annotate: bool) -> Self {
        self.options.annotate = annotate;
        self
    }

    shared_options!();

    /// Creates the dataset.
    ///
    /// # Errors
    /// As [`create`].
    pub fn create(&self, path: &str) -> Result<File> {
        let registry = default_or(&self.registry)?;
        let map = self.map.clone();
        let dataset = registry.create_in(map, path, self.clobber, self.classic_model, &self.options)?;
        Ok(File::new(dataset, path, registry))
    }

    /// Makes the empty map alone that a dataset at `path` would lie in: to put something around it and hand that to
    /// [`CreateOptions::map`].
    ///
    /// # Errors
    /// As [`create`].
    pub fn create_map(&self, path: &str) -> Result<Arc<dyn ZMap>> {
        default_or(&self.registry)?.create_storage(path, self.clobber, &self.options)
    }

    /// Creates a dataset that is one file, in memory: a classic file, or an archive (`x.zip`, `x#mode=nczarr,zip`). With
    /// `persist` the file is written to `path` when it is closed, in one step; [`File::close_to_bytes`] answers its bytes.
    ///
    /// # Errors
    /// As [`create`]; `NC_EDISKLESS` if the format cannot do it.
    pub fn create_in_memory(&self, path: &str, persist: bool) -> Result<File> {
        let registry = default_or(&self.registry)?;
        let dataset = registry.create_in_memory(path, self.clobber, self.classic_model, &self.options, persist)?;
        Ok(File::new(dataset, path, registry))
    }
}

fn default_or(registry: &Option<Arc<Registry>>) -> Result<Arc<Registry>> {
    registry.clone().map_or_else(builtin::registry, Ok)
}
