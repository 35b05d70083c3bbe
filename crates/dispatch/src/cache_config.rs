//! The settings of a chunk cache.

use nczarr_model::{ErrorKind, Result};

/// The size and policy of a variable's chunk cache.
///
/// ```
/// let cache = nczarr_dispatch::CacheConfig::default().bytes(16 << 20);
/// assert_eq!(cache.bytes, 16 << 20);
/// ```
#[derive(Debug, Clone, Copy, PartialEq)]
#[non_exhaustive]
pub struct CacheConfig {
    /// The capacity in bytes.
    pub bytes: usize,
    /// The number of slots of the hash table; a hint.
    pub slots: usize,
    /// A number from 0 to 1; a hint. With a larger number, the cache evicts completely read or written chunks
    /// earlier.
    pub preemption: f32,
}

impl CacheConfig {
    /// The built-in default.
    pub const BUILT_IN: Self = Self { bytes: 64 << 20, slots: 1000, preemption: 0.75 };

    nczarr_runtime::setters! {
        const
        bytes: usize,
        slots: usize,
        preemption: f32,
    }

    /// Checks that the preemption is in 0 to 1.
    ///
    /// # Errors
    /// [`ErrorKind::Inval`] if it is not.
    pub fn check(&self) -> Result<()> {
        if !(0.0..=1.0).contains(&self.preemption) {
            return Err(ErrorKind::Inval
                .context(format!("chunk cache: preemption {} is not in 0 to 1", self.preemption)));
        }
        Ok(())
    }
}

impl Default for CacheConfig {
    /// The setting of the process ([`chunk_cache`](crate::settings::chunk_cache)).
    fn default() -> Self {
        crate::settings::chunk_cache()
    }
}
