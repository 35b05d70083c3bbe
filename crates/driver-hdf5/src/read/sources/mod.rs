//! Virtual datasets: data that lie in other datasets, of the same file or of others.
//!
//! * `mapping`, `selection`: what is stored: which elements of which dataset are which.
//! * `picked`, `bands`: the elements of a selection in their order.
//! * `extend`: how long a dataset is whose mappings have no end.
//! * `find`: the dataset that a mapping names. What is not there is not an error: its elements are the fill value.
//! * `files`: the names of all files that data lie in.
//! * `assembled`: a virtual dataset as an array in chunks, each put together when it is read, by `copy` and `convert`; `kept`: the sources
//!   that stay open, and what they keep.
//!
//! As in HDF5, where mappings meet the later one counts. Files are found as those of external data are: beside the file, by names
//! without a path. An element that is larger than its source's type may hold is converted; what does not fit is an error,
//! where HDF5 takes the nearest. A source that is a virtual dataset is as long as its own sources, where HDF5 takes the length that is
//! stored; and what no mapping has is the fill value also where others meet.
//! Source: HDF5 File Format Specification; what HDF5 2.0 reads, with its default view (the last available data, no gaps).

mod assembled;
mod bands;
mod convert;
mod copy;
mod extend;
mod files;
mod find;
mod kept;
mod mapping;
mod picked;
mod selection;

pub(crate) use assembled::Assembled;
pub(crate) use extend::extend;
pub(crate) use files::files;
pub(crate) use find::{Nest, file};
pub(crate) use mapping::Mapping;
