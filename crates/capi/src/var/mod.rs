//! Variables: definition, inquiries, and the stored form.

mod chunk_cache;
pub mod define;
mod fill;
mod filters;
pub mod inquire;
pub mod storage;
