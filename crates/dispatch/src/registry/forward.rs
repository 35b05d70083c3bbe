//! Implements the trait of drivers for shared pointers and for [`StaticPlugin`].
//!
//! Every method is forwarded, so that a plugin's own implementation of a provided method counts. Plain
//! references are no plugins: a call on a short-lived reference would need a `'static` one.

use std::ops::Deref;
use std::sync::Arc;

use nczarr_model::Result;

use crate::{CreateRequest, Dataset, Driver, DriverInfo, OpenRequest, StaticPlugin};

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

            fn create(&self, request: &CreateRequest<'_>) -> Result<Arc<dyn Dataset>> {
                self.deref().create(request)
            }
        }
    )*};
}

forward!(StaticPlugin<T>, Arc<T>);
