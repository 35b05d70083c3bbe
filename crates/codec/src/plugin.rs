//! Registration: the types of linked plugins, and the plugin traits for shared pointers.
//!
//! Every method is forwarded, so that a plugin's own implementation of a provided method counts. Plain
//! references are no plugins: a call on a short-lived reference would need a `'static` one.

use std::ops::Deref;
use std::sync::Arc;

use nczarr_model::Result;
use nczarr_runtime::StaticPlugin;

use crate::{
    AxisEdges, ChunkGridClass, DataTypeClass, ElementClass, ElementCodec, ExtensionType, Filter, FilterClass,
    FilterInfo, Json, ZarrFormat,
};

/// A filter class linked through `inventory`.
pub struct FilterPlugin(pub &'static dyn FilterClass);
/// An element codec class linked through `inventory`.
pub struct ElementPlugin(pub &'static dyn ElementClass);
/// A class of data types linked through `inventory`.
pub struct DataTypePlugin(pub &'static dyn DataTypeClass);
/// A class of chunk grids linked through `inventory`.
pub struct ChunkGridPlugin(pub &'static dyn ChunkGridClass);

inventory::collect!(FilterPlugin);
inventory::collect!(ElementPlugin);
inventory::collect!(DataTypePlugin);
inventory::collect!(ChunkGridPlugin);

macro_rules! forward {
    ($($pointer:ty),*) => {$(
        #[deny(clippy::missing_trait_methods)]
        impl<T: FilterClass + ?Sized> FilterClass for $pointer {
            fn info(&self) -> &FilterInfo {
                self.deref().info()
            }

            fn parse_params(&self, params: &[u32]) -> Result<Box<dyn Filter>> {
                self.deref().parse_params(params)
            }

            fn parse_hdf5(&self, params: &[u32]) -> Result<Box<dyn Filter>> {
                self.deref().parse_hdf5(params)
            }

            fn parse_json(&self, codec: &Json, format: ZarrFormat) -> Result<Box<dyn Filter>> {
                self.deref().parse_json(codec, format)
            }

            fn is_lossless(&self) -> bool {
                self.deref().is_lossless()
            }

            fn can_encode(&self) -> bool {
                self.deref().can_encode()
            }
        }

        #[deny(clippy::missing_trait_methods)]
        impl<T: ElementClass + ?Sized> ElementClass for $pointer {
            fn names(&self) -> &'static [&'static str] {
                self.deref().names()
            }

            fn about(&self) -> &'static str {
                self.deref().about()
            }

            fn parse(&self, codec: &Json) -> Result<Box<dyn ElementCodec>> {
                self.deref().parse(codec)
            }
        }

        #[deny(clippy::missing_trait_methods)]
        impl<T: DataTypeClass + ?Sized> DataTypeClass for $pointer {
            fn names(&self) -> &'static [&'static str] {
                self.deref().names()
            }

            fn about(&self) -> &'static str {
                self.deref().about()
            }

            fn parse(&self, name: &str, configuration: &Json) -> Result<Arc<dyn ExtensionType>> {
                self.deref().parse(name, configuration)
            }
        }

        #[deny(clippy::missing_trait_methods)]
        impl<T: ChunkGridClass + ?Sized> ChunkGridClass for $pointer {
            fn names(&self) -> &'static [&'static str] {
                self.deref().names()
            }

            fn about(&self) -> &'static str {
                self.deref().about()
            }

            fn edges(&self, configuration: &Json, shape: &[u64]) -> Result<Vec<AxisEdges>> {
                self.deref().edges(configuration, shape)
            }
        }
    )*};
}

forward!(StaticPlugin<T>, Arc<T>);
