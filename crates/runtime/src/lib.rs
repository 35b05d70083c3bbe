//! Threads, memory for results, locks and file access for the crates of nczarr.
//!
//! * [`pool`](run_on_pool): ways to run the work of a batch on several threads.
//! * [`StopSignal`]: stops the work of one call.
//! * [`Buffer`], [`OutBuf`], [`Allocation`]: memory for results.
//! * [`RenameLock`], [`WriteFence`], [`CloseState`]: transfers, renames and closing exclude one another.
//! * [`file_io`]: reads at an offset. [`RcFile`]: settings for remote storage. [`trace`]: the log.
//!
//! This crate is internal. Other crates of the project use it; its interface may change in any version.
#![deny(unsafe_code)]

#[allow(unsafe_code)]
mod alloc;
#[allow(unsafe_code)]
mod buffer;
mod dim_vec;
pub mod file_io;
#[allow(unsafe_code)]
mod outbuf;
mod pool;
mod rc_file;
mod rename_lock;
mod setters;
mod static_plugin;
mod stop_signal;
mod time_out;
pub mod trace;
mod wait;
mod write_fence;

pub use alloc::{Allocation, PageRange, page_maker::allow as allow_page_maker};
pub use buffer::{Buffer, Element, fill_vec, fill_vec_of};
pub use dim_vec::DimVec;
pub use outbuf::OutBuf;
pub use pool::{
    Executor, cpu_count, is_pool_thread, run_on_new_threads, run_on_pool, run_with_caller, with_executor,
};
pub use rc_file::RcFile;
pub use rename_lock::{ExclusiveGuard, RenameLock, SharedGuard, has_elapsed};
pub use static_plugin::StaticPlugin;
pub use stop_signal::{StopSignal, Stoppable, carrying_signal, stoppable};
pub use time_out::is_timeout;
pub use wait::{Task, wait_for};
pub use write_fence::{CloseState, WriteFence};
