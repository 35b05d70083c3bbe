//! Variables: definition, inquiries, and the stored form.

mod chunk_cache;
mod define;
mod fill;
mod filters;
mod inquire;
mod storage;
