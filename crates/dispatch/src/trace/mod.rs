//! The log: events of the registry and of map operations.

mod job;
mod map;
mod operation;

use std::sync::Arc;

use tracing::Level;

use nczarr_storage::ZMap;

pub use map::TracedMap;
pub(crate) use nczarr_runtime::trace::call;
pub use nczarr_runtime::trace::{CALLS, MAPS, filter_of, log_level, set_log_level};

/// Returns the map, wrapped in a [`TracedMap`] if its operations are logged.
pub(crate) fn traced(map: Arc<dyn ZMap>) -> Arc<dyn ZMap> {
    if tracing::enabled!(target: MAPS, Level::TRACE) { Arc::new(TracedMap::new(map)) } else { map }
}
