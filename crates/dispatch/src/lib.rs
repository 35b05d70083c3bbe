//! The contract for drivers of formats, and the registry that finds drivers, maps and codecs.
//!
//! * [`Driver`], [`Dataset`], [`VarData`]: one format. [`Editor`]: its changes.
//! * [`Registry`]: the available plugins by name. [`open`](Registry::open) and [`create`](Registry::create)
//!   choose among them.
//!
//! This crate names no format, no storage and no filter.
//!
//! The crate of a driver needs this crate and `nczarr_model`. Within one compatible version, new trait
//! methods have default implementations. No method loses a guarantee, and no implementation gains a duty.
#![forbid(unsafe_code)]

mod audit;
mod cache_config;
mod choose;
mod dataset;
mod driver;
mod editor;
mod encoded_chunks;
mod fault;
mod forbidden_is_absent;
mod json_metadata;
mod linear;
mod memory;
mod options;
mod persist_target;
mod registry;
pub mod settings;
pub mod single_file;
mod stored_chunks;
pub mod trace;
mod var_data;

pub use audit::Audit;
pub use cache_config::CacheConfig;
pub use choose::{Explanation, ProbeStep, no_dataset_error};
pub use dataset::{Dataset, DatasetInfo};
pub use driver::{CreateRequest, Driver, DriverInfo, Format, FormatX, MountedMap, OpenRequest, OpenScope};
pub use editor::{Editor, HeaderPadding};
pub use encoded_chunks::{ChunkEncoding, EncodedCheck, EncodedChunk, EncodedChunks};
pub use fault::{Fault, FaultKind};
pub use inventory;
pub use json_metadata::{JsonMetadata, StoredType};
pub use linear::put_linear;
pub use memory::{MemMut, MemRef, byte_len, empty_strings, zeroed};
pub use nczarr_model::convert::Linear;
pub use nczarr_runtime::{OutBuf, StaticPlugin};
pub use nczarr_storage::source::{Backing, SharedBytes};
pub use nczarr_storage::{Clobber, Durability, Limits, Magic};
pub use nczarr_url_infer::Place;
pub use options::{ForbiddenKeys, MissingChunks, Options, Progress};
pub use persist_target::PersistTarget;
pub use registry::{DriverPlugin, KnownPlugin, Origin, PluginDescription, PluginKind, PluginTable, Registry};
pub use stored_chunks::StoredChunks;
pub use var_data::VarData;
