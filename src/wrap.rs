//! Maps around any map: a cache, counters, a read-only view, faults and latency. Feature `wrap`.
//!
//! Pass such a map to [`OpenOptions::map`](crate::OpenOptions::map) or
//! [`CreateOptions::map`](crate::CreateOptions::map). The inner map comes from
//! [`OpenOptions::open_map`](crate::OpenOptions::open_map), from a map's crate, or from another library.
//!
//! ```
//! # #[cfg(not(all(feature = "nczarr", feature = "file")))]
//! # fn main() {}
//! # #[cfg(all(feature = "nczarr", feature = "file"))]
//! # fn main() -> nczarr::Result<()> {
//! # let dir = tempfile::tempdir().unwrap();
//! # let path = dir.path().join("ocean.zarr").display().to_string();
//! # let file = nczarr::create(&path)?;
//! # file.add_dimension("x", 4)?;
//! # file.add_variable::<f32>("t", &["x"])?.put(&[1.0f32, 2.0, 3.0, 4.0], ..)?;
//! # file.close()?;
//! use std::sync::Arc;
//! use nczarr::OpenOptions;
//! use nczarr::wrap::{Cached, Counting, Keep, ReadOnly};
//!
//! let storage = OpenOptions::new().open_map(&path)?;
//! let counting = Arc::new(Counting::new(storage));
//! let cached = Arc::new(Cached::in_memory(counting.clone(), Keep::bytes(64 << 20)));
//! let map = Arc::new(ReadOnly::new(cached.clone()));
//!
//! // No chunks are kept by the dataset, so the second read asks the map again; the cache answers it.
//! for _ in 0..2 {
//!     let file = OpenOptions::new().map(map.clone()).cache_bytes(0).open(&path)?;
//!     assert_eq!(file.variable("t")?.get_values::<f32>(..)?, [1.0, 2.0, 3.0, 4.0]);
//! }
//! let chunks = cached.stats();
//! assert!(chunks.hits > 0);
//! println!("{}", counting.counts());
//!
//! // Later writes of others are visible from here on.
//! cached.refresh()?;
//! # Ok(())
//! # }
//! ```
//!
//! [`Cached::on_disk`] keeps results in a directory for later runs:
//!
//! ```
//! # #[cfg(not(all(feature = "nczarr", feature = "file")))]
//! # fn main() {}
//! # #[cfg(all(feature = "nczarr", feature = "file"))]
//! # fn main() -> nczarr::Result<()> {
//! # let dir = tempfile::tempdir().unwrap();
//! # let path = dir.path().join("ocean.zarr").display().to_string();
//! # let directory = dir.path().join("cache");
//! # let file = nczarr::create(&path)?;
//! # file.add_dimension("x", 4)?;
//! # file.add_variable::<f32>("t", &["x"])?.put(&[1.0f32, 2.0, 3.0, 4.0], ..)?;
//! # file.close()?;
//! use std::sync::Arc;
//! use nczarr::OpenOptions;
//! use nczarr::wrap::{Cached, Keep};
//!
//! for expected in [false, true] {
//!     let storage = OpenOptions::new().open_map(&path)?;
//!     let cached = Arc::new(Cached::on_disk(storage, &directory, &path, Keep::bytes(1 << 30))?);
//!     let file = OpenOptions::new().map(cached.clone()).open(&path)?;
//!     assert_eq!(file.variable("t")?.get_value::<f32>((2,))?, 3.0);
//!     assert_eq!(cached.stats().hits > 0, expected);
//! }
//! # Ok(())
//! # }
//! ```
//!
//! [`Slow`] injects faults and latency, for tests:
//!
//! ```
//! # #[cfg(not(all(feature = "nczarr", feature = "mem")))]
//! # fn main() {}
//! # #[cfg(all(feature = "nczarr", feature = "mem"))]
//! # fn main() -> nczarr::Result<()> {
//! use std::sync::Arc;
//! use nczarr::wrap::{Fault, Faults, Op, Slow, When};
//! use nczarr::{CreateOptions, ErrorKind};
//!
//! let storage = CreateOptions::new().create_map("memory://wrapped")?;
//! let faults = Faults::new(1).with(Op::WRITES, When::Nth(3), Fault::Fail(ErrorKind::Io));
//! let map = Arc::new(Slow::new(storage).faults(faults));
//! let file = CreateOptions::new().map(map).create("memory://wrapped#mode=nczarr")?;
//! file.add_dimension("x", 4)?;
//! file.add_variable::<f32>("t", &["x"])?.put_attribute("units", "K")?;
//! assert_eq!(file.sync().unwrap_err().kind(), ErrorKind::Io);
//! // Nothing is lost by trying again.
//! file.close()?;
//! # Ok(())
//! # }
//! ```

pub use nczarr_zmap_wrap::*;
