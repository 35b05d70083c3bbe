//! Levels, identity and conflicts of plugins, and the plugin lists.

use std::borrow::Cow;
use std::sync::Arc;

use nczarr_codec::{ElementClass, ElementCodec, Filter, FilterClass, FilterInfo, Json, ZarrFormat};
use nczarr_dispatch::{KnownPlugin, Origin, PluginKind, PluginTable, Registry, StaticPlugin};
use nczarr_model::{ErrorKind, Result};
use nczarr_runtime::OutBuf;
use nczarr_storage::MapInfo;

use crate::world::{Elsewhere, TestDriver, driver_info};

#[derive(Debug, Clone)]
struct Same(&'static FilterInfo);

/// A filter class that does nothing, under a given name.
pub struct Class(pub &'static FilterInfo);

impl FilterClass for Class {
    fn info(&self) -> &FilterInfo {
        self.0
    }

    fn parse_params(&self, params: &[u32]) -> Result<Box<dyn Filter>> {
        match params {
            [] | [0..=9] => Ok(Box::new(Same(self.0))),
            _ => Err(ErrorKind::Filter.context("one parameter at most, up to 9")),
        }
    }

    fn parse_json(&self, _: &Json, _: ZarrFormat) -> Result<Box<dyn Filter>> {
        Ok(Box::new(Same(self.0)))
    }
}

impl Filter for Same {
    fn info(&self) -> &FilterInfo {
        self.0
    }

    fn params(&self) -> Cow<'_, [u32]> {
        Cow::Borrowed(&[])
    }

    fn to_json(&self, _: ZarrFormat) -> Json {
        Json::Null
    }

    fn encode_bound(&self, decoded: usize) -> Option<usize> {
        Some(decoded)
    }

    fn encode(&self, src: &[u8], dst: &mut OutBuf<'_>) -> Result<()> {
        dst.put(src)
    }

    fn decode(&self, src: &[u8], dst: &mut OutBuf<'_>) -> Result<()> {
        dst.put(src)
    }
}

struct Elements(&'static [&'static str]);

impl ElementClass for Elements {
    fn names(&self) -> &'static [&'static str] {
        self.0
    }

    fn parse(&self, _: &Json) -> Result<Box<dyn ElementCodec>> {
        Err(ErrorKind::Filter.context("none"))
    }
}

pub const fn filter_info(
    name: &'static str,
    hdf5_id: Option<u32>,
    aliases: &'static [&'static str],
    about: &'static str,
) -> FilterInfo {
    FilterInfo { hdf5_id, aliases, ..FilterInfo::new(name, about) }
}

static RED: FilterInfo = filter_info("red", Some(301), &["rot"], "the table's red");
static RED_TOO: FilterInfo = filter_info("red", Some(301), &[], "another red");
static RED_AGAIN: FilterInfo = filter_info("red", Some(301), &[], "a third red");
static ROT: FilterInfo = filter_info("rot", None, &[], "whose name is red's alias");
static CLASSES: [Class; 4] = [Class(&RED), Class(&RED_TOO), Class(&RED_AGAIN), Class(&ROT)];

static RED_TABLE: PluginTable = PluginTable {
    filters: &[&CLASSES[0]],
    known: &[
        KnownPlugin {
            hdf5_id: Some(307),
            aliases: &["bz2"],
            ..KnownPlugin::new(PluginKind::Filter, "bzip2", "bzip2")
        },
        KnownPlugin { aliases: &["https"], ..KnownPlugin::new(PluginKind::Map, "http", "http") },
        KnownPlugin::new(PluginKind::Driver, "hdf5", "hdf5"),
        KnownPlugin::new(PluginKind::Filter, "red", "red"),
    ],
    ..PluginTable::EMPTY
};

static ROT_TABLE: PluginTable = PluginTable { filters: &[&CLASSES[3]], ..PluginTable::EMPTY };

fn about(registry: &Registry) -> &'static str {
    registry.filter("red").unwrap().info().about
}

trait Text {
    fn text(self) -> String;
}

impl<T> Text for Result<T> {
    fn text(self) -> String {
        self.err().unwrap().to_string()
    }
}

#[test]
fn added_plugins_hide_the_table() {
    let registry = Registry::new().with_table(&RED_TABLE);
    assert_eq!(about(&registry), "the table's red");
    for registry in [
        registry.clone().with_filter(Class(&RED_TOO)),
        Registry::new().with_filter(Class(&RED_TOO)).with_table(&RED_TABLE),
    ] {
        registry.check().unwrap();
        assert_eq!(about(&registry), "another red");
        assert_eq!(registry.filter_by_id(301).unwrap().info().about, "another red");
        let hidden: Vec<_> = registry.plugins().into_iter().filter(|plugin| plugin.hidden).collect();
        assert_eq!(hidden.len(), 1);
        assert_eq!((hidden[0].origin, hidden[0].about), (Origin::Table, "the table's red"));
    }
}

/// A table that adds several plugins hides each one that a higher level names, in any order.
#[test]
fn a_table_hides_each_plugin_that_a_higher_level_names() {
    static BOTH: PluginTable = PluginTable { filters: &[&CLASSES[3], &CLASSES[0]], ..PluginTable::EMPTY };
    for registry in [
        Registry::new().with_table(&BOTH).with_filter(Class(&RED_TOO)),
        Registry::new().with_filter(Class(&RED_TOO)).with_table(&BOTH),
        Registry::new().with_table(&ROT_TABLE).with_filter(Class(&RED_TOO)).with_table(&BOTH),
    ] {
        registry.check().unwrap();
        let list: Vec<_> = registry
            .plugins()
            .into_iter()
            .map(|plugin| (plugin.name, plugin.origin, plugin.hidden))
            .collect();
        assert_eq!(
            list,
            [("red", Origin::Added, false), ("red", Origin::Table, true), ("rot", Origin::Table, false)]
        );
    }
}

#[test]
fn the_same_plugin_twice_counts_once() {
    let shared: Arc<dyn FilterClass> = Arc::new(Class(&RED));
    for registry in [
        Registry::new().with_table(&RED_TABLE).with_table(&RED_TABLE),
        Registry::new()
            .with_filter(StaticPlugin::<dyn FilterClass>(&CLASSES[0]))
            .with_filter(StaticPlugin::<dyn FilterClass>(&CLASSES[0])),
        Registry::new().with_filter(Arc::clone(&shared)).with_filter(shared),
    ] {
        registry.check().unwrap();
        assert_eq!(registry.plugins().len(), 1);
        registry.filter("red").unwrap();
    }
}

#[test]
fn two_of_one_name_at_one_level_are_an_error_that_names_both() {
    let registry = Registry::new().with_filter(Class(&RED_TOO)).with_filter(Class(&RED_AGAIN));
    for error in [registry.check().text(), registry.filter("red").text(), registry.filter_by_id(301).text()] {
        assert!(error.starts_with("NC_EPLUGIN"), "{error}");
        assert!(error.contains("another red") && error.contains("a third red"), "{error}");
    }
    // One table hides both for the name. The registry still has a conflict.
    static BOTH: PluginTable = PluginTable { filters: &[&CLASSES[1], &CLASSES[2]], ..PluginTable::EMPTY };
    let registry = Registry::new().with_table(&BOTH);
    let registry = registry.with_filter(Class(&RED));
    assert_eq!(about(&registry), "the table's red");
    assert!(registry.check().text().contains("a third red"));
}

#[test]
fn every_kind_of_conflict_is_found() {
    let driver = |name, modes| TestDriver(driver_info(name, modes, &[], &[]));
    let map = |name, schemes| Elsewhere(MapInfo::new(name, "").schemes(schemes));
    static ID: FilterInfo = filter_info("blue", Some(301), &[], "");
    static ALIAS: FilterInfo = filter_info("blue", None, &["rot"], "");
    for (what, registry) in [
        ("driver \"a\"", Registry::new().with_driver(driver("a", &[])).with_driver(driver("a", &[]))),
        ("mode=m", Registry::new().with_driver(driver("a", &["m"])).with_driver(driver("b", &["m"]))),
        ("mode=a", Registry::new().with_driver(driver("a", &[])).with_driver(driver("b", &["a"]))),
        ("map \"a\"", Registry::new().with_map(map("a", &[])).with_map(map("a", &[]))),
        ("scheme s:", Registry::new().with_map(map("a", &["s"])).with_map(map("b", &["s"]))),
        ("HDF5 filter id 301", Registry::new().with_filter(Class(&RED)).with_filter(Class(&ID))),
        ("filter \"rot\"", Registry::new().with_filter(Class(&RED)).with_filter(Class(&ALIAS))),
        (
            "element codec \"b\"",
            Registry::new().with_element(Elements(&["a", "b"])).with_element(Elements(&["b", "c"])),
        ),
    ] {
        let error = registry.check().unwrap_err();
        assert_eq!(error.kind(), ErrorKind::Plugin);
        assert!(error.to_string().contains(what), "{what}: {error}");
    }
}

#[test]
fn a_name_comes_before_an_alias() {
    let registry = Registry::new().with_filter(Class(&RED)).with_filter(Class(&ROT));
    assert_eq!(registry.filter("rot").unwrap().info().name, "rot");
    let registry = Registry::new().with_filter(Class(&RED));
    assert_eq!(registry.filter("rot").unwrap().info().name, "red");
    // This holds within one level only. A name at a lower level does not override an alias at a higher level.
    let registry = Registry::new().with_table(&ROT_TABLE).with_filter(Class(&RED));
    assert_eq!(registry.filter("rot").unwrap().info().name, "red");
}

#[test]
fn errors_for_missing_plugins_suggest_a_remedy() {
    let registry = Registry::new().with_table(&RED_TABLE);
    for (error, kind, words) in [
        (registry.filter("bzip2").text(), "NC_ENOTBUILT", &["\"bzip2\"", "feature"][..]),
        (registry.filter("bz2").text(), "NC_ENOTBUILT", &["feature \"bzip2\""]),
        (registry.filter_by_id(307).text(), "NC_ENOTBUILT", &["307", "bzip2"]),
        (registry.filter("green").text(), "NC_ENOFILTER", &["green", "there are: red"]),
        (registry.filter_by_id(9).text(), "NC_ENOFILTER", &["there are: red"]),
        (registry.map_by_scheme("https").text(), "NC_ENOTBUILT", &["feature \"http\""]),
        (registry.map("zip").text(), "NC_ENOTBUILT", &["zip", "there are: none"]),
        (registry.driver("hdf5").text(), "NC_ENOTBUILT", &["feature \"hdf5\""]),
        (registry.driver("x").text(), "NC_ENOTBUILT", &["there are: none"]),
        (registry.element("x").text(), "NC_ENOFILTER", &["there are: none"]),
    ] {
        assert!(error.starts_with(kind), "{kind}: {error}");
        assert!(words.iter().all(|word| error.contains(word)), "{words:?}: {error}");
    }
    // This build has the filter. The table of known filters does not hide it.
    registry.filter("red").unwrap();
}

#[test]
fn the_list_is_sorted_and_complete() {
    let registry = Registry::new()
        .with_element(Elements(&["vlen", "vlen2"]))
        .with_filter(Class(&ROT))
        .with_table(&RED_TABLE)
        .with_map(Elsewhere(MapInfo::new("z", "z").schemes(&["zz"])))
        .with_map(Elsewhere(MapInfo::new("a", "a")))
        .with_driver(TestDriver(driver_info("d", &["e"], &[], &[])));
    let list: Vec<_> =
        registry.plugins().into_iter().map(|plugin| (plugin.kind, plugin.name, plugin.aliases)).collect();
    assert_eq!(
        list,
        [
            (PluginKind::Driver, "d", vec!["e"]),
            (PluginKind::Map, "a", vec![]),
            (PluginKind::Map, "z", vec!["zz"]),
            (PluginKind::Filter, "red", vec!["rot"]),
            (PluginKind::Filter, "rot", vec![]),
            (PluginKind::Element, "vlen", vec!["vlen2"]),
        ]
    );
}

nczarr_dispatch::inventory::submit! { nczarr_codec::FilterPlugin(&LINKED) }
nczarr_dispatch::inventory::submit! { nczarr_codec::FilterPlugin(&LINKED) }
static LINKED_INFO: FilterInfo = filter_info("linked", None, &[], "linked");
static LINKED: Class = Class(&LINKED_INFO);

/// This is one test because a process has one registry.
#[test]
fn the_registry_of_the_process() {
    assert_eq!(Registry::linked().unwrap().plugins().len(), 1, "submitted twice, one plugin");
    let first = Registry::process_default().unwrap();
    assert!(Arc::ptr_eq(&first, &Registry::process_default().unwrap()));
    assert!(first.filter("red").is_err());

    let joined = Registry::process_default_with(&RED_TABLE).unwrap();
    assert_eq!(about(&joined), "the table's red");
    joined.filter("linked").unwrap();
    assert!(Arc::ptr_eq(&joined, &Registry::process_default_with(&RED_TABLE).unwrap()));

    Registry::extend_default(|registry| registry.with_filter(Class(&ROT))).unwrap();
    let extended = Registry::process_default_with(&RED_TABLE).unwrap();
    assert_eq!(extended.filter("rot").unwrap().info().name, "rot");
    assert_eq!(joined.filter("rot").unwrap().info().name, "red", "the present alias stays");

    Registry::new().with_filter(Class(&RED_TOO)).install().ok().unwrap();
    let installed = Registry::process_default_with(&RED_TABLE).unwrap();
    assert_eq!(about(&installed), "another red");
    assert!(installed.filter("linked").is_err(), "installed as it is");
    assert!(Registry::new().install().is_err(), "once");
}
