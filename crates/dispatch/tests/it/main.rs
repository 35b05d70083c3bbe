//! What drivers, maps and callers rely on, tested with plugins made for the purpose.

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
