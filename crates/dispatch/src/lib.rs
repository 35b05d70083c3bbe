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
#![deny(unsafe_code)]

#[allow(unsafe_code)]
mod alloc;
mod audit;
mod batch;
#[allow(unsafe_code)]
mod buffer;
mod choose;
mod dataset;
mod dim_vec;
mod driver;
mod element;
mod fault;
pub mod file_io;
mod filter;
mod filter_text;
mod forbidden;
mod key;
mod linear;
mod memory;
mod nc_dispatch;
mod options;
#[allow(unsafe_code)]
mod outbuf;
mod persist_target;
mod pool;
mod prefetched_map;
mod rc_file;
mod registry;
mod rename_lock;
pub mod settings;
pub mod single_file;
mod source;
mod stored_chunks;
pub mod trace;
mod version;
mod wait;
mod write_fence;
mod zmap;

pub use alloc::{Allocation, PageRange};
pub use audit::Audit;
pub use batch::{
    CoalescedRanges, FetchReply, FetchRequest, FetchResult, InFlightLimits, coalesce, gather,
    read_overlapped, read_parallel, write_parallel,
};
pub use buffer::{Buffer, Element};
pub use choose::{Explanation, ProbeStep, no_dataset_error};
pub use dataset::{CacheConfig, Dataset, DatasetInfo, HeaderPadding, StoredType, VarData};
pub use dim_vec::DimVec;
pub use driver::{
    Clobber, CreateRequest, Driver, DriverInfo, Format, FormatX, Magic, MapFactory, MapInfo, MountedMap,
    OpenRequest, OpenScope,
};
pub use element::{ElementChunk, ElementClass, ElementCodec};
pub use fault::{Fault, FaultKind};
pub use filter::{ChunkInfo, Filter, FilterClass, FilterInfo, ItemKind, ItemType, Json, Stage, ZarrFormat};
pub use filter_text::{FilterName, FilterText};
pub use forbidden::Forbidden;
pub use inventory;
pub use key::Key;
pub use linear::put_linear;
pub use memory::{MemMut, MemRef, byte_len};
pub use nc_dispatch::{
    AttInquiry, AttOwner, DimInquiry, GroupInquiry, MappedMut, MappedRef, NcDispatch, VarAccess, VarInquiry,
    copy_att, copy_var,
};
pub use nczarr_model::convert::Linear;
pub use options::{Durability, ForbiddenKeys, Limits, MissingChunks, Options, Progress};
pub use outbuf::OutBuf;
pub use persist_target::PersistTarget;
pub use pool::{
    Executor, cpu_count, is_pool_thread, run_on_new_threads, run_on_pool, run_with_caller, with_executor,
};
pub use prefetched_map::PrefetchedMap;
pub use rc_file::RcFile;
pub use registry::{
    DriverPlugin, ElementPlugin, FilterPlugin, KnownPlugin, MapPlugin, Origin, PluginDescription, PluginKind,
    PluginTable, Registry, StaticPlugin,
};
pub use rename_lock::{ExclusiveGuard, RenameLock, SharedGuard, has_elapsed};
pub use source::{ByteSource, InitialRead, ReadAhead, ReadCallback};
pub use stored_chunks::StoredChunks;
pub use version::{Stamp, Version};
pub use wait::{Task, wait_for};
pub use write_fence::{CloseState, WriteFence};
pub use zmap::{
    ByteRange, MapCaps, ObjectSink, OwnedPrecondition, Payload, Precondition, PutPart, Ranges, ReadJob,
    ReadOutcome, ReadTicket, UpdateFn, WriteJob, WriteOutcome, WriteTicket, ZMap,
};
