//! Implements the trait of drivers for shared pointers and for [`StaticPlugin`].
//!
//! Every method is forwarded, so that a plugin's own implementation of a provided method counts. Plain
//! references are no plugins: a call on a short-lived reference would need a `'static` one.

use std::ops::Deref;
use std::sync::Arc;

use nczarr_model::Result;

use crate::{CreateRequest, Dataset, Driver, DriverInfo, OpenRequest, StaticPlugin};
use nczarr_storage::source::ByteSource;

macro_rules! forward {
    ($($pointer:ty),*) => {$(
        #[deny(clippy::missing_trait_methods)]
        impl<T: Driver + ?Sized> Driver for $pointer {
            fn info(&self) -> &DriverInfo {
                self.deref().info()
            }

            fn open(&self, request: &OpenRequest<'_>) -> Result<Arc<dyn Dataset>> {
                self.deref().open(request)
            }

            fn open_from_source(
                &self,
                request: &OpenRequest<'_>,
                source: Arc<dyn ByteSource>,
            ) -> Result<Arc<dyn Dataset>> {
                self.deref().open_from_source(request, source)
            }

            fn create(&self, request: &CreateRequest<'_>) -> Result<Arc<dyn Dataset>> {
                self.deref().create(request)
            }

            fn open_bytes(&self, request: &OpenRequest<'_>, bytes: Arc<[u8]>) -> Result<Arc<dyn Dataset>> {
                self.deref().open_bytes(request, bytes)
            }

            fn open_in_memory(&self, request: &OpenRequest<'_>, persist: bool) -> Result<Arc<dyn Dataset>> {
                self.deref().open_in_memory(request, persist)
            }

            fn create_in_memory(&self, request: &CreateRequest<'_>, persist: bool) -> Result<Arc<dyn Dataset>> {
                self.deref().create_in_memory(request, persist)
            }
        }
    )*};
}

forward!(StaticPlugin<T>, Arc<T>);
