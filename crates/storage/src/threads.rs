//! Threads for maps: the pool of the library, ways to wait for an asynchronous client, and the signal that
//! stops a call.
//!
//! A map over a network passes each read through [`stoppable`]. A write that has begun may finish, so that
//! its outcome is known. Before each write the map calls [`StopSignal::check_current`].

pub use nczarr_runtime::{
    Executor, StopSignal, Stoppable, Task, carrying_signal, cpu_count, is_pool_thread, run_on_new_threads,
    run_on_pool, run_with_caller, stoppable, wait_for, with_executor,
};
