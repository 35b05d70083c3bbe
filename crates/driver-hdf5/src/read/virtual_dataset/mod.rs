//! Virtual datasets: data that lie in other datasets, of the same file or of others.
//!
//! * `mapping`, `selection`: the stored mappings.
//! * `selected`, `bands`: the elements of a selection in order.
//! * `extend`: the shape of datasets with unlimited mappings.
//! * `find`: the source of a mapping. A missing source reads as fill value. `files`: all files with data.
//! * `chunks`: assembles chunks with `copy` and `convert`. `source_cache`: open sources.
//!
//! Where mappings overlap, the last one counts, as in HDF5. Files are found as for external data. Unlike
//! HDF5, a value that does not fit is an error. The length of a virtual source follows from its own sources.
//! Elements without a mapping are the fill value. Sources: HDF5 File Format Specification; the behaviour of
//! HDF5 2.0 with its default view (last available data).

mod bands;
mod chunks;
mod convert;
mod copy;
mod element_run;
mod extend;
mod files;
mod find;
mod mapping;
mod selected;
mod selection;
mod source_cache;

pub(crate) use chunks::VirtualChunks;
pub(crate) use extend::extend;
pub(crate) use files::files;
pub(crate) use find::{Nesting, file};
pub(crate) use mapping::VirtualMapping;
