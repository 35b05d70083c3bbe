//! Tests of the engine against slow oracles, over a map that can fail.

mod absent;
mod arrays;
mod concurrent;
mod created;
mod direct;
mod faults;
mod filters;
mod flat;
mod large;
mod lots;
mod map;
mod oracle;
mod packed;
mod random;
mod shard_files;
mod shards;
mod strings;
mod support;
