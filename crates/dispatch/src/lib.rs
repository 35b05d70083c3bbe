//! The seams of the project: traits for formats, storage and filters, and the registry that finds them.
//!
//! * [`Driver`], [`Dataset`], [`VarData`]: a format. [`NcDispatch`] gives every entry of netCDF's dispatch table on top.
//! * [`ZMap`]: a key → bytes store; [`MapFactory`] opens it.
//! * [`Filter`]: bytes → bytes; [`FilterClass`] makes it from HDF5 parameters or a codec description.
//!   [`ElementCodec`] stands where elements of variable length become bytes.
//! * [`Registry`]: who is there, by name; [`open`](Registry::open) and [`create`](Registry::create) choose among them.
//!
//! This crate names no format, no storage and no filter.
//!
//! Plugins are compiled against this crate and `model`. Within one compatible version traits that others implement get new
//! methods only with defaults, no guarantee of a method becomes weaker, and no implementation is asked for more.
#![deny(unsafe_code)]

mod audit;
mod batch;
#[allow(unsafe_code)]
mod buffer;
mod choose;
mod dataset;
mod driver;
mod element;
mod fault;
pub mod file_io;
mod filter;
mod filter_text;
mod forbidden;
mod gate;
mod key;
mod linear;
mod memory;
mod nc_dispatch;
mod options;
#[allow(unsafe_code)]
mod outbuf;
mod persist;
pub mod place;
mod pool;
mod rc;
mod registry;
pub mod settings;
#[allow(unsafe_code)]
mod slab;
mod small;
mod source;
mod stored;
mod survey;
pub mod trace;
mod version;
mod wait;
mod write_gate;
mod zmap;

pub use audit::Audit;
pub use batch::{
    Fetch, Fetched, InFlight, Reply, Stretches, coalesce, gather, read_overlapped, read_parallel, write_parallel,
};
pub use buffer::{Buffer, Plain};
pub use choose::{Explanation, Look, no_dataset};
pub use dataset::{CacheConfig, Dataset, DatasetInfo, Spacing, StoredType, VarData};
pub use driver::{
    Clobber, CreateRequest, Driver, DriverInfo, Format, FormatX, Magic, MapFactory, MapInfo, MountedMap, Only,
    OpenRequest,
};
pub use element::{ElementChunk, ElementClass, ElementCodec};
pub use fault::{Fault, FaultKind};
pub use filter::{ChunkInfo, Filter, FilterClass, FilterInfo, ItemKind, ItemType, Json, Stage, ZarrFormat};
pub use filter_text::{FilterName, FilterText};
pub use forbidden::Forbidden;
pub use gate::{Gate, Moving, Writing, has_passed};
pub use inventory;
pub use key::Key;
pub use linear::put_linear;
pub use memory::{MemMut, MemRef, byte_len};
pub use nc_dispatch::{
    AttInquiry, DimInquiry, GroupInquiry, MappedMut, MappedRef, NcDispatch, VarAccess, VarInquiry, copy_att, copy_var,
};
pub use nczarr_model::convert::Linear;
pub use options::{Durability, ForbiddenKeys, Limits, MissingChunks, Options, Progress};
pub use outbuf::OutBuf;
pub use persist::Persist;
pub use pool::{
    Hands, drop_apart, hand_over, is_pooled, processors, pull_along, pull_apart, pull_beside, pull_parallel,
};
pub use rc::Rc;
pub use registry::{
    DriverPlugin, ElementPlugin, FilterPlugin, Known, MapPlugin, Origin, Plugin, PluginKind, Registry, Static, Table,
};
pub use slab::{Pages, Piece};
pub use small::Small;
pub use source::{ByteSource, Part, ReadAhead, WhenRead};
pub use stored::StoredChunks;
pub use survey::Survey;
pub use version::{Stamp, Version};
pub use wait::{Task, wait_for};
pub use write_gate::{Closing, WriteGate};
pub use zmap::{
    ByteRange, Change, Expect, ExpectOwned, Found, MapCaps, Payload, PutPart, Ranges, ReadJob, ReadTicket, Sink,
    WriteJob, WriteTicket, Written, ZMap,
};
