//! The contract for storage maps. The crate of a map needs no other crate of this project.
//!
//! * [`ZMap`]: a store of keys and bytes. [`MapFactory`] opens it, and [`MapPlugin`] registers the factory.
//! * [`ZMapExt`]: short forms of the methods of a map, for callers.
//! * [`Layer`]: a map around another map.
//! * [`batch`]: many reads or writes at once.
//! * [`source`]: one remote file, read by ranges.
//!
//! Within one compatible version, new trait methods have default implementations. No method loses a
//! guarantee, and no implementation gains a duty.
#![forbid(unsafe_code)]

pub mod batch;
mod factory;
mod forbidden;
mod key;
mod layer;
mod options;
mod plugin;
mod prefetched_map;
mod request;
pub mod source;
pub mod threads;
mod version;
mod zmap;
mod zmap_ext;

pub use factory::{Clobber, CreateMap, Magic, MapFactory, MapInfo, OpenMap};
pub use forbidden::Forbidden;
pub use inventory;
pub use key::Key;
pub use layer::Layer;
pub use nczarr_model::{Error, ErrorKind, Result};
pub use nczarr_runtime::OutBuf;
pub use nczarr_url_infer::Target;
pub use options::{Durability, Limits, MapOptions};
pub use plugin::MapPlugin;
pub use prefetched_map::PrefetchedMap;
pub use request::{ByteRange, ListMode, ObjectInfo, Precondition, ReadOptions, WriteOutcome};
pub use version::{Stamp, Version};
pub use zmap::{MapCaps, UpdateFn, ZMap};
pub use zmap_ext::ZMapExt;
