//! Special paths for frequent transfers. Each has a condition and a fallback. The gain is the time or memory
//! that it saves against the fallback, in the row of `benches/RESULTS.md` that the last column names.
//!
//! | file | condition | fallback | gain | row |
//! |---|---|---|---|---|
//! | `cached_chunk` | a slab or element in one cached chunk, of the array's type | `stored_element`, `read` | no figure | one element that is kept |
//! | `stored_element` | an element of an unfiltered local chunk, neither cached nor worth caching | `read` | 17 % | one element of an open variable |
//! | `single_range` | up to 4 KiB together in one unfiltered local chunk | `read` | 17 % | one element, opened each time |
//! | `streaming` | unfiltered chunks of 2 MiB and more whose elements lie apart in the result | whole chunk | 20 % processor time | read whole, no filter, 128³ |
//! | `decode_ranges` | a part of a chunk whose filter decodes ranges | whole chunk | 51 % for half a chunk | box, zstd |
//! | `decode_units` | chunks of independent units whose elements lie apart in the result | whole chunk | 1.5 MiB of memory | read whole, blosc-lz4 |
//! | `prefault` | new results of 4 MiB and more that several threads fill | page faults | 10 % processor time | read whole, no filter |
//! | `single_chunk` | one whole chunk in stored form, in local storage | `write` | 10 % | 1,000 records appended, one per chunk |
//! | `gather_parts` | whole unfiltered chunks above 128 KiB | one part | 7 to 20 % | write whole, no filter |
//! | `pending_batch` | complete cached chunks of appended records | each at once | 17 to 45 % | 1,000 records appended, 64 per chunk |
//!
//! `piece_iter` divides a chunk for `streaming` and `decode_units`. `store_together` connects `pending_batch`
//! with the engine.

pub(crate) mod cached_chunk;
mod decode_ranges;
mod decode_units;
pub(crate) mod gather_parts;
pub(crate) mod pending_batch;
mod piece_iter;
pub(crate) mod prefault;
pub(crate) mod single_chunk;
pub(crate) mod single_range;
pub(crate) mod store_together;
pub(crate) mod stored_element;
pub(crate) mod streaming;

/// The maximum rank for the paths of single elements.
const MAX_RANK: usize = 8;
