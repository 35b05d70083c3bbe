//! Contracts for formats, storage and filters, and the registry that finds implementations.
//!
//! * [`Driver`], [`Dataset`], [`VarData`]: one format. [`NcDispatch`] adds all entries of netCDF's dispatch
//!   table.
//! * [`ZMap`]: a store of keys and bytes. [`MapFactory`] opens it.
//! * [`Filter`]: turns bytes into bytes. [`FilterClass`] builds one from HDF5 parameters or from a codec
//!   description.
//! * [`Registry`]: the available plugins by name. [`open`](Registry::open) and [`create`](Registry::create)
//!   choose among them.
//!
//! This crate names no format, no storage and no filter.
//!
//! Plugins depend on this crate and on `nczarr_model`. Within one compatible version, new trait methods have
//! default implementations. No method loses a guarantee, and no implementation gains a duty.
#![forbid(unsafe_code)]

mod audit;
mod choose;
mod dataset;
mod driver;
mod fault;
mod forbidden_is_absent;
mod linear;
mod memory;
mod nc_dispatch;
mod options;
mod persist_target;
mod registry;
pub mod settings;
pub mod single_file;
mod stored_chunks;
pub mod trace;

pub use audit::Audit;
pub use choose::{Explanation, ProbeStep, no_dataset_error};
pub use dataset::{CacheConfig, Dataset, DatasetInfo, HeaderPadding, StoredType, VarData};
pub use driver::{CreateRequest, Driver, DriverInfo, Format, FormatX, MountedMap, OpenRequest, OpenScope};
pub use fault::{Fault, FaultKind};
pub use inventory;
pub use linear::put_linear;
pub use memory::{MemMut, MemRef, byte_len};
pub use nc_dispatch::{
    AttInquiry, AttOwner, DimInquiry, GroupInquiry, MappedMut, MappedRef, NcDispatch, VarAccess, VarInquiry,
    copy_att, copy_var,
};
pub use nczarr_codec::{
    ChunkInfo, ElementChunk, ElementClass, ElementCodec, ElementPlugin, Filter, FilterClass, FilterInfo,
    FilterName, FilterPlugin, FilterText, ItemKind, ItemType, Json, Stage, ZarrFormat,
};
pub use nczarr_model::convert::Linear;
pub use nczarr_runtime::{
    Allocation, Buffer, CloseState, DimVec, Element, ExclusiveGuard, Executor, OutBuf, PageRange, RcFile,
    RenameLock, SharedGuard, StaticPlugin, Task, WriteFence, cpu_count, file_io, has_elapsed, is_pool_thread,
    run_on_new_threads, run_on_pool, run_with_caller, wait_for, with_executor,
};
pub use nczarr_storage::batch::{
    CoalescedRanges, FetchReply, FetchRequest, FetchResult, InFlightLimits, ObjectSink, OwnedPrecondition,
    Payload, PutPart, Ranges, ReadJob, ReadOutcome, ReadTicket, WriteJob, WriteTicket, coalesce, gather,
    read_overlapped, read_parallel, write_parallel,
};
pub use nczarr_storage::source::{ByteSource, InitialRead, ReadAhead, ReadCallback};
pub use nczarr_storage::{
    ByteRange, Clobber, CreateMap, Durability, Forbidden, Key, Limits, Magic, MapCaps, MapFactory, MapInfo,
    MapOptions, MapPlugin, OpenMap, Precondition, PrefetchedMap, Stamp, UpdateFn, Version, WriteOutcome,
    ZMap,
};
pub use options::{ForbiddenKeys, MissingChunks, Options, Progress};
pub use persist_target::PersistTarget;
pub use registry::{DriverPlugin, KnownPlugin, Origin, PluginDescription, PluginKind, PluginTable, Registry};
pub use stored_chunks::StoredChunks;
