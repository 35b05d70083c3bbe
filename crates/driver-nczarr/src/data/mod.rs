//! The data of variables: the engine's arrays, and the objects of their chunks.
//!
//! * `make_array` makes the array of a variable from its layout.
//! * `variable_chunks` is the engine's view of the map.
//! * `guarded_array` is an array in the form that callers hold; the chunks of a `rectilinear` one differ in
//!   shape.

pub(crate) mod guarded_array;
pub(crate) mod make_array;
pub(crate) mod rectilinear;
pub(crate) mod variable_chunks;
