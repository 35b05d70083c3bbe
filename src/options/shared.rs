//! The options that opening and creating share.

macro_rules! shared_options {
    () => {
        /// Sets upper limits for sizes that a file may declare.
        ///
        /// ```
        /// # #[cfg(all(feature = "nczarr", feature = "mem"))] {
        /// # let path = "memory://doc-options-limits";
        /// # let file = nczarr::create(path)?;
        /// # file.add_dimension("x", 3)?;
        /// # file.add_variable::<f32>("v", &["x"])?.put(&[1.0f32, 2.0, 3.0], ..)?;
        /// # file.close()?;
        /// use nczarr::{Limits, OpenOptions};
        /// let mut limits = Limits::default();
        /// limits.document = 1 << 20; // bytes of one metadata document
        /// let file = OpenOptions::new().limits(limits).open(path)?;
        /// # }
        /// # Ok::<(), nczarr::Error>(())
        /// ```
        #[must_use]
        pub fn limits(mut self, limits: Limits) -> Self {
            self.options.limits = limits;
            self
        }

        /// Sets the number of threads of a transfer; 0: the number of processors.
        ///
        /// ```
        /// # #[cfg(all(feature = "nczarr", feature = "mem"))] {
        /// # let path = "memory://doc-options-threads";
        /// # let file = nczarr::create(path)?;
        /// # file.add_dimension("x", 3)?;
        /// # file.add_variable::<f32>("v", &["x"])?.put(&[1.0f32, 2.0, 3.0], ..)?;
        /// # file.close()?;
        /// let file = nczarr::OpenOptions::new().threads(1).open(path)?; // on the calling thread
        /// # }
        /// # Ok::<(), nczarr::Error>(())
        /// ```
        #[must_use]
        pub fn threads(mut self, threads: usize) -> Self {
            self.options.threads = threads;
            self
        }

        /// Sets the size of each variable's chunk cache in bytes. If a variable fits into its cache, each
        /// access reads and caches whole chunks, even if it needs a single element.
        ///
        /// ```
        /// # #[cfg(all(feature = "nczarr", feature = "mem"))] {
        /// # let path = "memory://doc-options-cache-bytes";
        /// # let file = nczarr::create(path)?;
        /// # file.add_dimension("x", 3)?;
        /// # file.add_variable::<f32>("v", &["x"])?.put(&[1.0f32, 2.0, 3.0], ..)?;
        /// # file.close()?;
        /// let file = nczarr::OpenOptions::new().cache_bytes(256 << 20).open(path)?; // for each variable
        /// # }
        /// # Ok::<(), nczarr::Error>(())
        /// ```
        #[must_use]
        pub fn cache_bytes(mut self, bytes: usize) -> Self {
            self.options.cache_bytes = Some(bytes);
            self
        }

        /// Sets the durability of writes.
        ///
        /// ```
        /// # #[cfg(all(feature = "nczarr", feature = "mem"))] {
        /// use nczarr::{CreateOptions, Durability};
        /// let file = CreateOptions::new().durability(Durability::Fsync).create("memory://doc-durable")?;
        /// # }
        /// # Ok::<(), nczarr::Error>(())
        /// ```
        #[must_use]
        pub fn durability(mut self, durability: Durability) -> Self {
            self.options.durability = durability;
            self
        }

        /// Sets the treatment of absent chunks. The URL option for Zarr is `#missing_chunks=fill`, `warn` or
        /// `error`.
        ///
        /// Without a fill value (`fill_value` is `null`), absent chunks read as zeros and empty strings.
        ///
        /// ```
        /// # #[cfg(all(feature = "nczarr", feature = "mem"))] {
        /// # let path = "memory://doc-options-missing-chunks";
        /// # let file = nczarr::create(path)?;
        /// # file.add_dimension("x", 3)?;
        /// # file.add_variable::<f32>("v", &["x"])?.put(&[1.0f32, 2.0, 3.0], ..)?;
        /// # file.close()?;
        /// use nczarr::{MissingChunks, OpenOptions};
        /// let file = OpenOptions::new().missing_chunks(MissingChunks::Error).open(path)?;
        /// assert_eq!(file.variable("v")?.get_value::<f32>(0)?, 1.0);      // this chunk exists
        /// # }
        /// # Ok::<(), nczarr::Error>(())
        /// ```
        #[must_use]
        pub fn missing_chunks(mut self, missing: MissingChunks) -> Self {
            self.options.missing_chunks = missing;
            self
        }

        /// Promises that no other process writes the dataset. Servers without conditional writes need this.
        /// The URL option is `#exclusive=true`, the rc file setting `ZARR.EXCLUSIVE=true`.
        ///
        /// ```
        /// # #[cfg(all(feature = "nczarr", feature = "mem"))] {
        /// # let path = "memory://doc-options-exclusive";
        /// # let file = nczarr::create(path)?;
        /// # file.add_dimension("x", 3)?;
        /// # file.add_variable::<f32>("v", &["x"])?.put(&[1.0f32, 2.0, 3.0], ..)?;
        /// # file.close()?;
        /// let file = nczarr::OpenOptions::new().writable(true).exclusive(true).open(path)?;
        /// # }
        /// # Ok::<(), nczarr::Error>(())
        /// ```
        #[must_use]
        pub fn exclusive(mut self, exclusive: bool) -> Self {
            self.options.exclusive = exclusive;
            self
        }

        /// Truncates strings that are too long for variables with strings of fixed length, at a character
        /// boundary. Otherwise such strings are an error.
        #[must_use]
        pub fn truncate_strings(mut self, truncate: bool) -> Self {
            self.options.truncate_strings = truncate;
            self
        }

        /// Sets an observer of transfers, which may cancel them.
        ///
        /// ```
        /// # #[cfg(all(feature = "nczarr", feature = "mem"))] {
        /// # let path = "memory://doc-options-progress";
        /// # let file = nczarr::create(path)?;
        /// # file.add_dimension("x", 3)?;
        /// # file.add_variable::<f32>("v", &["x"])?.put(&[1.0f32, 2.0, 3.0], ..)?;
        /// # file.close()?;
        /// use nczarr::{OpenOptions, Progress};
        ///
        /// struct Print;
        /// impl Progress for Print {
        ///     fn advance(&self, done: u64, total: u64) -> bool {
        ///         println!("{done} of {total} bytes");
        ///         true
        ///     }
        /// }
        ///
        /// let file = OpenOptions::new().progress(Print).open(path)?;
        /// file.variable("v")?.get::<f32>(..)?;
        /// # }
        /// # Ok::<(), nczarr::Error>(())
        /// ```
        #[must_use]
        pub fn progress(mut self, progress: impl Progress + 'static) -> Self {
            self.options.progress = Some(Arc::new(progress));
            self
        }

        /// Uses this registry instead of [`registry`](crate::registry).
        ///
        /// ```
        /// # #[cfg(all(feature = "nczarr", feature = "mem"))] {
        /// # let path = "memory://doc-options-registry";
        /// # let file = nczarr::create(path)?;
        /// # file.add_dimension("x", 3)?;
        /// # file.add_variable::<f32>("v", &["x"])?.put(&[1.0f32, 2.0, 3.0], ..)?;
        /// # file.close()?;
        /// let registry = nczarr::Registry::clone(&*nczarr::registry()?);      // add plugins to this one
        /// let file = nczarr::OpenOptions::new().registry(registry).open(path)?;
        /// # }
        /// # Ok::<(), nczarr::Error>(())
        /// ```
        #[must_use]
        pub fn registry(mut self, registry: impl Into<Arc<Registry>>) -> Self {
            self.registry = Some(registry.into());
            self
        }

        /// Uses an open map. The path then supplies only the name and the options of its fragment.
        ///
        /// ```
        /// # #[cfg(all(feature = "nczarr", feature = "mem"))] {
        /// # let path = "memory://doc-options-map";
        /// # let file = nczarr::create(path)?;
        /// # file.add_dimension("x", 3)?;
        /// # file.add_variable::<f32>("v", &["x"])?.put(&[1.0f32, 2.0, 3.0], ..)?;
        /// # file.close()?;
        /// let map = nczarr::OpenOptions::new().open_map(path)?;
        /// let file = nczarr::OpenOptions::new().map(map).open(nczarr::Place::path("any").mode("nczarr"))?;
        /// assert_eq!(file.variables().len(), 1);
        /// # }
        /// # Ok::<(), nczarr::Error>(())
        /// ```
        #[must_use]
        pub fn map(mut self, map: Arc<dyn ZMap>) -> Self {
            self.map = Some(map);
            self
        }
    };
}

pub(super) use shared_options;
