//! A plugin that is linked and also in the facade's table is registered once.
//!
//! This test is alone in its process because a process has one registry.

use nczarr_codec::{ElementClass, ElementCodec, ElementPlugin, Json};
use nczarr_dispatch::{Origin, PluginTable, Registry};
use nczarr_model::{ErrorKind, Result};

struct Class(&'static [&'static str]);

impl ElementClass for Class {
    fn names(&self) -> &'static [&'static str] {
        self.0
    }

    fn parse(&self, _: &Json) -> Result<Box<dyn ElementCodec>> {
        Err(ErrorKind::Filter.context("none"))
    }
}

static OWN_NAMES: [&str; 2] = ["own", "example.own"];
static OWN: Class = Class(&OWN_NAMES);
static OTHER: Class = Class(&["other"]);
static TABLE: PluginTable = PluginTable { elements: &[&OWN], ..PluginTable::EMPTY };

nczarr_dispatch::inventory::submit! { ElementPlugin(&OWN) }
nczarr_dispatch::inventory::submit! { ElementPlugin(&OTHER) }

#[test]
fn a_plugin_both_linked_and_in_the_table_is_listed_once() {
    let registry = Registry::process_default_with(&TABLE).unwrap();
    let list = registry.plugins();
    let list: Vec<_> = list.iter().map(|plugin| (plugin.name, plugin.origin, plugin.hidden)).collect();
    assert_eq!(list, [("other", Origin::Linked, false), ("own", Origin::Table, false)]);
    for name in ["own", "example.own", "other"] {
        registry.element(name).unwrap();
    }
    // A caller without a facade's table gets the linked plugins.
    assert_eq!(Registry::linked().unwrap().plugins().len(), 2);
}
