//! Threads for maps: the pool of the library, and ways to wait for an asynchronous client.

pub use nczarr_runtime::{
    Executor, Task, cpu_count, is_pool_thread, run_on_new_threads, run_on_pool, run_with_caller, wait_for,
    with_executor,
};
