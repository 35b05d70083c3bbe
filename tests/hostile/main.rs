//! Corrupt and hostile stores: a typed error, no panic, no memory beyond the declared chunk.
