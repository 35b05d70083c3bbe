//! Registration: the type of linked maps, and [`MapFactory`] for shared pointers.
//!
//! Every method is forwarded, so that a plugin's own implementation of a provided method counts. Plain
//! references are no plugins: a call on a short-lived reference would need a `'static` one.

use std::ops::Deref;
use std::sync::Arc;

use nczarr_model::Result;
use nczarr_runtime::StaticPlugin;

use crate::source::{ByteSource, InitialRead};
use crate::{CreateMap, MapFactory, MapInfo, OpenMap, ZMap};

/// A map factory linked through `inventory`.
pub struct MapPlugin(pub &'static dyn MapFactory);

inventory::collect!(MapPlugin);

macro_rules! forward {
    ($($pointer:ty),*) => {$(
        #[deny(clippy::missing_trait_methods)]
        impl<T: MapFactory + ?Sized> MapFactory for $pointer {
            fn info(&self) -> &MapInfo {
                self.deref().info()
            }

            fn recognises_tail(&self, tail: &[u8]) -> bool {
                self.deref().recognises_tail(tail)
            }

            fn open(&self, request: &OpenMap<'_>) -> Result<Arc<dyn ZMap>> {
                self.deref().open(request)
            }

            fn create(&self, request: &CreateMap<'_>) -> Result<Arc<dyn ZMap>> {
                self.deref().create(request)
            }

            fn open_source(&self, request: &OpenMap<'_>, part: InitialRead) -> Result<Arc<dyn ByteSource>> {
                self.deref().open_source(request, part)
            }

            fn delete(&self, request: &OpenMap<'_>) -> Result<()> {
                self.deref().delete(request)
            }
        }
    )*};
}

forward!(StaticPlugin<T>, Arc<T>);
