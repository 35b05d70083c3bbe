//! Guarantees to drivers, maps and callers, tested with small plugins.

mod api;
mod batch;
mod choose;
mod copy;
mod dispatch_table;
mod entries;
mod moving;
mod registry;
mod survey;
mod traced;
mod world;
