//! `ncz plugins`: the formats, storage and filters of this build, and their origin.

use std::fmt::Write as _;

use nczarr::dispatch::{Origin, PluginDescription};
use serde_json::json;

use crate::failure::Failure;
use crate::output::Output;

/// Arguments of `plugins`.
#[derive(Debug, clap::Args)]
pub struct PluginsArgs {
    /// Print JSON
    #[arg(long)]
    pub json: bool,
}

/// Prints the list.
///
/// # Errors
/// If two linked plugins have one name.
pub fn run(args: &PluginsArgs) -> Result<(), Failure> {
    let failed = |error| Failure::Failed { place: "plugins".to_owned(), error };
    let plugins = nczarr::registry().map_err(failed)?.plugins();
    let text = if args.json { as_json(&plugins) } else { as_text(&plugins) };
    let mut out = Output::standard();
    out.put(text).and_then(|()| out.finish()).map_err(failed)
}

fn as_text(plugins: &[PluginDescription]) -> String {
    let mut text = String::new();
    for plugin in plugins.iter().filter(|plugin| !is_echo(plugin, plugins)) {
        let id = plugin.hdf5_id.map_or(String::new(), |id| id.to_string());
        let hidden = if plugin.hidden { " (hidden by another of its name)" } else { "" };
        // Writing to a string cannot fail.
        let _ = writeln!(
            text,
            "{:<13} {:<11} {id:>5}  {:<8}  {}{hidden}",
            plugin.kind.name(),
            plugin.name,
            origin(plugin.origin),
            plugin.about
        );
    }
    text.push_str("\nHDF5 filters: id, name, codec of Zarr V2 and of V3, parameters\n");
    for filter in nczarr::HDF5_FILTERS {
        let (v2, v3) = filter.codec.unwrap_or(match (filter.read, filter.written) {
            (false, _) => ("from another project", ""),
            (true, false) => ("only in HDF5 files, for reading", ""),
            (true, true) => ("only in HDF5 files", ""),
        });
        let line = format!("{:>5}  {:<11} {v2:<10}  {v3:<20}  {}", filter.id, filter.name, filter.params);
        let _ = writeln!(text, "{}", line.trim_end());
    }
    text
}

/// Returns whether a plugin is the one that hides it, listed twice: built-in plugins are linked as well.
fn is_echo(plugin: &PluginDescription, plugins: &[PluginDescription]) -> bool {
    let alike = |other: &&PluginDescription| {
        (other.kind, other.name, other.about) == (plugin.kind, plugin.name, plugin.about)
    };
    plugin.hidden && plugins.iter().find(alike).is_some_and(|first| !first.hidden)
}

fn as_json(plugins: &[PluginDescription]) -> String {
    let list: Vec<_> = plugins
        .iter()
        .map(|plugin| {
            json!({
                "kind": plugin.kind.name(),
                "name": plugin.name,
                "hdf5_id": plugin.hdf5_id,
                "words": plugin.aliases,
                "origin": origin(plugin.origin),
                "hidden": plugin.hidden,
                "about": plugin.about,
            })
        })
        .collect();
    format!("{:#}\n", serde_json::Value::from(list))
}

fn origin(origin: Origin) -> &'static str {
    match origin {
        Origin::Linked => "linked",
        Origin::Table => "built in",
        Origin::Added => "added",
    }
}
