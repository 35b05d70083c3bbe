//! [`Layer`]: a map around another map. It implements only the methods that it changes.

use std::fmt;

use nczarr_model::Result;

use crate::batch::{ReadJob, WriteJob};
use crate::{
    Key, ListMode, MapCaps, ObjectInfo, OutBuf, Precondition, ReadOptions, UpdateFn, WriteOutcome, ZMap,
};

/// Declares [`Layer`] and its [`ZMap`] from one list of methods.
macro_rules! layer {
    ($(fn $name:ident(&self $(, $arg:ident: $ty:ty)*) $(-> $ret:ty)?;)*) => {
        /// A map around another map. Each method forwards to the inner map, unless the layer has its own.
        ///
        /// Every layer is a [`ZMap`]. A new method of the map forwards itself. A layer that changes bytes,
        /// keys or versions must implement all methods that touch them, also the batches. For such a map,
        /// [`ZMap`] is simpler: its provided methods call the map's own methods.
        ///
        /// ```
        /// use std::sync::Arc;
        /// use std::sync::atomic::{AtomicUsize, Ordering};
        ///
        /// use nczarr_storage::{Key, Layer, Result, ZMap};
        ///
        /// /// Counts the requests for lengths.
        /// #[derive(Debug)]
        /// struct CountedLengths {
        ///     inner: Arc<dyn ZMap>,
        ///     count: AtomicUsize,
        /// }
        ///
        /// impl Layer for CountedLengths {
        ///     fn inner(&self) -> &dyn ZMap {
        ///         &*self.inner
        ///     }
        ///     fn len(&self, key: &Key) -> Result<Option<u64>> {
        ///         self.count.fetch_add(1, Ordering::Relaxed);
        ///         self.inner.len(key)
        ///     }
        /// }
        /// # fn map(layer: CountedLengths) -> Arc<dyn ZMap> { Arc::new(layer) }
        /// ```
        #[allow(clippy::len_without_is_empty)]
        pub trait Layer: Send + Sync + fmt::Debug {
            /// Returns the inner map.
            fn inner(&self) -> &dyn ZMap;

            $(
                #[doc = concat!("As [`ZMap::", stringify!($name), "`]; forwards to the inner map.")]
                ///
                /// # Errors
                /// As the method of the map.
                fn $name(&self $(, $arg: $ty)*) $(-> $ret)? {
                    self.inner().$name($($arg),*)
                }
            )*
        }

        #[deny(clippy::missing_trait_methods)]
        impl<L: Layer> ZMap for L {
            $(
                fn $name(&self $(, $arg: $ty)*) $(-> $ret)? {
                    Layer::$name(self $(, $arg)*)
                }
            )*
        }
    };
}

layer! {
    fn caps(&self) -> MapCaps;
    fn len(&self, key: &Key) -> Result<Option<u64>>;
    fn read_with(&self, key: &Key, options: ReadOptions, out: &mut Vec<u8>) -> Result<Option<ObjectInfo>>;
    fn list(&self, prefix: &Key, mode: ListMode) -> Result<Option<Vec<String>>>;
    fn write_if(&self, key: &Key, value: &[u8], expect: &Precondition) -> Result<WriteOutcome>;
    fn delete(&self, key: &Key) -> Result<bool>;
    fn sync(&self) -> Result<()>;
    fn close(&self) -> Result<()>;
    fn rename(&self, from: &Key, to: &Key) -> Result<()>;
    fn read_into(&self, key: &Key, offset: u64, out: &mut OutBuf<'_>) -> Result<bool>;
    fn update(&self, key: &Key, limit: usize, change: &mut UpdateFn<'_>) -> Result<()>;
    fn image(&self) -> Result<Vec<u8>>;
    fn read_batch(&self, job: &dyn ReadJob);
    fn write_batch(&self, job: &dyn WriteJob);
}
