//! Two linked plugins claim one word of a facade's table. The registry reports this as an error.
//!
//! This test is alone in its process because a process has one registry.

use nczarr_codec::{ElementClass, ElementCodec, ElementPlugin, Json};
use nczarr_dispatch::{PluginTable, Registry};
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
static RIVAL: Class = Class(&["rival", "example.own"]);
static TABLE: PluginTable = PluginTable { elements: &[&OWN], ..PluginTable::EMPTY };

nczarr_dispatch::inventory::submit! { ElementPlugin(&OWN) }
nczarr_dispatch::inventory::submit! { ElementPlugin(&RIVAL) }

#[test]
fn two_linked_plugins_for_one_word_are_an_error() {
    let error = Registry::process_default_with(&TABLE).map(drop).unwrap_err();
    assert_eq!(error.kind(), ErrorKind::Plugin);
    for name in ["example.own", "rival"] {
        assert!(error.to_string().contains(name), "{error}");
    }
}
