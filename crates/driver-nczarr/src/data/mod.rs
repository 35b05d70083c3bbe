//! The data of variables: the engine's arrays, and the objects of their chunks.
//!
//! * `variable_chunks` is the engine's view of the map.
//! * `guarded_array` is an array in the form that callers hold; `rectilinear` one whose chunks differ in
//!   shape.

pub(crate) mod guarded_array;
pub(crate) mod rectilinear;
pub(crate) mod variable_chunks;
