//! The choice of driver and map for a path.

use std::fs;
use std::path::PathBuf;
use std::sync::Arc;

use nczarr_dispatch::{
    Clobber, DriverInfo, KnownPlugin, Magic, OpenRequest, Options, Place, PluginKind, PluginTable, Registry,
};
use nczarr_model::{ErrorKind, Result};
use nczarr_storage::MapInfo;

use crate::world::{Directories, Elsewhere, TestDriver, TestMap, driver_info};

const ALPHA: &[Magic] = &[Magic { offset: 0, bytes: b"ALPHA" }, Magic { offset: 512, bytes: b"ALPHA" }];
const PACK: &[Magic] = &[Magic { offset: 0, bytes: b"PACK" }];
const OMEGA: &[Magic] = &[Magic { offset: 0, bytes: b"OMEGA" }];

/// Datasets in single files. Their first bytes identify them.
static SINGLE: TestDriver = TestDriver(driver_info("single", &["one"], ALPHA, &[]));
/// Datasets in maps. The objects in their root identify them.
static GRID: TestDriver = TestDriver(driver_info("grid", &["gridded"], &[], &[".grid", ".cell"]));
static PACKED: Elsewhere = Elsewhere(MapInfo::new("pack", "archives, for tests").magic(PACK));
static REMOTE: Elsewhere = Elsewhere(MapInfo::new("far", "").schemes(&["far", "http"]));

static TABLE: PluginTable = PluginTable {
    drivers: &[&SINGLE, &GRID],
    maps: &[&Directories, &PACKED, &REMOTE],
    known: &[
        KnownPlugin { magic: OMEGA, ..KnownPlugin::new(PluginKind::Driver, "omega", "omega") },
        KnownPlugin::new(PluginKind::Map, "cloud", "cloud"),
    ],
    ..PluginTable::EMPTY
};

struct Here {
    dir: tempfile::TempDir,
    registry: Arc<Registry>,
}

impl Here {
    fn new() -> Self {
        Self::with(Registry::new().with_table(&TABLE))
    }

    fn with(registry: Registry) -> Self {
        registry.check().unwrap();
        Self { dir: tempfile::tempdir().unwrap(), registry: Arc::new(registry) }
    }

    fn path(&self, name: &str) -> String {
        self.dir.path().join(name).to_str().unwrap().to_owned()
    }

    fn file(&self, name: &str, bytes: &[u8]) -> String {
        fs::write(self.path(name), bytes).unwrap();
        self.path(name)
    }

    fn dir(&self, name: &str, marker: &str) -> String {
        fs::create_dir_all(self.path(name)).unwrap();
        if !marker.is_empty() {
            self.file(&format!("{name}/{marker}"), b"{}");
        }
        self.path(name)
    }

    fn open(&self, path: &str) -> Result<&'static str> {
        self.registry.open(&Place::url(path), false, &Options::default()).map(|dataset| dataset.info().driver)
    }

    fn create(&self, path: &str, clobber: Clobber) -> Result<&'static str> {
        self.registry
            .create(&Place::url(path), clobber, false, &Options::default())
            .map(|dataset| dataset.info().driver)
    }
}

#[test]
fn the_content_selects_the_driver() {
    let here = Here::new();
    let mut late = vec![0; 512];
    late.extend(b"ALPHA");
    for (path, driver) in [
        (here.file("a.dat", b"ALPHA and more"), "single"),
        (here.file("late.dat", &late), "single"),
        (here.dir("g", ".grid"), "grid"),
        (here.dir("c", ".cell"), "grid"),
        (here.file("p.dat", b"PACKxyz"), "grid"),
        (format!("file://{}", here.path("a.dat")), "single"),
        (format!("{}#mode=gridded", here.path("g")), "grid"),
        (format!("{}#mode=file", here.path("g")), "grid"),
        ("far://host/x".to_owned(), "grid"),
        ("http://host/x#mode=gridded".to_owned(), "grid"),
        ("pack://x".to_owned(), "grid"),
        // The content of the file overrides the mode.
        (format!("{}#mode=one,file", here.path("g")), "grid"),
        (format!("{}#mode=one", here.path("p.dat")), "grid"),
    ] {
        assert_eq!(here.open(&path).unwrap(), driver, "{path}");
    }
}

#[test]
fn opening_without_a_dataset_lists_the_attempts() {
    let here = Here::new();
    for (path, kind, words) in [
        (here.path("none"), ErrorKind::NotFound, &["none", "no such file or directory"][..]),
        (here.path("none") + "#mode=file", ErrorKind::NotFound, &["no such file or directory"]),
        (here.file("e", b""), ErrorKind::NotNc, &["it is empty", "driver single", "map pack"]),
        (here.file("f", b"ALPH"), ErrorKind::NotNc, &["41 4c 50 48", "driver single"]),
        (here.file("omega", b"OMEGA"), ErrorKind::NotBuilt, &["omega", "feature"]),
        (here.dir("empty", ""), ErrorKind::NotNc, &[".grid", ".cell", "#mode="]),
        (here.dir("other", "x"), ErrorKind::NotNc, &[".grid", ".cell"]),
        (here.path("other") + "#mode=cloud", ErrorKind::NotBuilt, &["cloud", "feature"]),
        (here.path("f") + "#mode=gridded", ErrorKind::NotNc, &["not a dataset"]),
        ("s3://bucket/x".to_owned(), ErrorKind::NotBuilt, &["s3", "far", "file", "http"]),
        ("weird://h/x".to_owned(), ErrorKind::NotBuilt, &["weird"]),
        (here.path("f") + "/below", ErrorKind::NotFound, &[]),
    ] {
        let error = here.open(&path).unwrap_err();
        assert_eq!(error.kind(), kind, "{path}: {error}");
        assert!(words.iter().all(|word| error.to_string().contains(word)), "{words:?}: {error}");
    }
}

#[cfg(unix)]
#[test]
fn pipes_and_sockets_are_never_opened() {
    let here = Here::new();
    let pipe = here.path("pipe");
    rustix::fs::mknodat(rustix::fs::CWD, &*pipe, rustix::fs::FileType::Fifo, rustix::fs::Mode::RUSR, 0)
        .unwrap();
    let socket = here.path("socket");
    let _listener = std::os::unix::net::UnixListener::bind(&socket).unwrap();
    for (path, name) in [(&pipe, "pipe"), (&socket, "socket")] {
        for path in [path.clone(), format!("{path}#mode=file"), format!("file://{path}")] {
            let error = here.open(&path).unwrap_err();
            assert_eq!(error.kind(), ErrorKind::NotNc);
            assert!(error.to_string().contains(name), "{error}");
        }
        assert_eq!(
            here.create(&format!("{path}#mode=gridded"), Clobber::Replace).unwrap_err().kind(),
            ErrorKind::Exist
        );
        assert_eq!(here.registry.delete(&Place::url(path)).unwrap_err().kind(), ErrorKind::NotNc);
        assert!(PathBuf::from(path).symlink_metadata().is_ok());
    }
}

#[test]
fn an_existing_path_with_a_fragment_is_opened_literally() {
    let here = Here::new();
    let literal = here.file("a#mode=gridded", b"ALPHA");
    assert_eq!(here.open(&literal).unwrap(), "single");
    let dir = here.dir("d#x", ".grid");
    assert_eq!(here.open(&dir).unwrap(), "grid");
    let explanation = here.registry.explain(&Place::url(&dir)).unwrap();
    assert!(explanation.steps[0].contains("exists, so its #"), "{explanation:?}");
}

#[test]
fn a_plugin_changes_no_path_that_works() {
    // A driver and a map that claim words and bytes that the table's plugins already claim.
    static GREEDY: DriverInfo = driver_info("greedy", &["gridded", "one"], ALPHA, &[".grid"]);
    let greedy = || TestDriver(driver_info("greedy", GREEDY.modes, ALPHA, GREEDY.markers));
    let greedy_map = Elsewhere(MapInfo::new("all", "").schemes(&["file", "far"]).magic(PACK));
    let pack_driver = TestDriver(driver_info("packer", &[], PACK, &[]));
    let here = Here {
        registry: Arc::new(
            Registry::new()
                .with_driver(greedy())
                .with_map(greedy_map)
                .with_driver(pack_driver)
                .with_table(&TABLE),
        ),
        ..Here::new()
    };
    for (path, driver) in [
        (here.file("a", b"ALPHA"), "single"),
        (here.dir("g", ".grid"), "grid"),
        (here.path("g") + "#mode=gridded", "grid"),
        (here.file("p", b"PACK"), "grid"),
        ("far://h/x".to_owned(), "grid"),
    ] {
        assert_eq!(here.open(&path).unwrap(), driver, "{path}");
    }
    // A driver with the same name as one of the table replaces it, because the caller added it.
    let mine = TestDriver(driver_info("grid", &["gridded"], &[], &[".mine"]));
    let here = Here::with(Registry::new().with_table(&TABLE).with_driver(mine));
    assert_eq!(here.open(&here.dir("m", ".mine")).unwrap(), "grid");
    assert_eq!(here.open(&here.dir("g", ".grid")).unwrap_err().kind(), ErrorKind::NotNc);
}

#[test]
fn two_plugins_that_claim_one_file_are_named() {
    let a = TestDriver(driver_info("a", &[], OMEGA, &[]));
    let b = TestDriver(driver_info("b", &[], OMEGA, &[]));
    let here = Here::with(Registry::new().with_driver(a).with_driver(b));
    let error = here.open(&here.file("x", b"OMEGA")).unwrap_err();
    assert_eq!(error.kind(), ErrorKind::Plugin);
    assert!(error.to_string().contains("a (made") && error.to_string().contains("b (made"), "{error}");
}

#[test]
fn a_failed_probe_does_not_mean_absence() {
    let here = Here::new();
    let map = TestMap::with(&[(".grid", b"")]);
    map.broken.store(true, std::sync::atomic::Ordering::Relaxed);
    let error =
        here.registry.open_in(Some(Arc::new(map)), &Place::url("x"), false, &Options::default()).unwrap_err();
    assert_eq!(error.kind(), ErrorKind::Io);
    assert!(error.to_string().contains("on fire"), "{error}");
}

#[test]
fn a_map_that_is_handed_in_is_used() {
    let here = Here::new();
    let map = Arc::new(TestMap::with(&[(".cell", b"")]));
    let dataset =
        here.registry.open_in(Some(map), &Place::url("anything"), false, &Options::default()).unwrap();
    assert_eq!(dataset.info().driver, "grid");
    let empty = Arc::new(TestMap::with(&[]));
    assert_eq!(
        here.registry
            .open_in(Some(empty.clone()), &Place::url("x"), false, &Options::default())
            .unwrap_err()
            .kind(),
        ErrorKind::NotNc
    );
    here.registry
        .create_in(
            Some(empty.clone()),
            &Place::url("x#mode=gridded"),
            Clobber::Refuse,
            false,
            &Options::default(),
        )
        .unwrap();
    assert_eq!(empty.keys(), [".grid"]);
}

#[test]
fn create_uses_the_requested_driver_in_define_mode() {
    let here = Here::new();
    let path = here.path("new#mode=gridded");
    let dataset =
        here.registry.create(&Place::url(&path), Clobber::Refuse, false, &Options::default()).unwrap();
    assert!(dataset.model().is_defining());
    assert_eq!(here.open(&here.path("new")).unwrap(), "grid");
    assert_eq!(here.create(&here.path("one#mode=one"), Clobber::Refuse).unwrap(), "single");
    assert_eq!(here.open(&here.path("one")).unwrap(), "single");
    // The path has no mode. The plan names a driver that this registry lacks.
    let error = here.create(&here.path("new.zarr"), Clobber::Refuse).unwrap_err();
    assert_eq!(error.kind(), ErrorKind::NotBuilt, "{error}");
    let error = here.create(&here.path("x#mode=gridded,cloud"), Clobber::Refuse).unwrap_err();
    assert_eq!(error.kind(), ErrorKind::NotBuilt, "{error}");
}

#[test]
fn only_datasets_are_replaced() {
    let here = Here::new();
    let dataset = here.file("a", b"ALPHA");
    let other = here.file("b", b"my thesis");
    for (path, clobber, kind) in [
        (&dataset, Clobber::Refuse, Some(ErrorKind::Exist)),
        (&other, Clobber::Refuse, Some(ErrorKind::Exist)),
        (&other, Clobber::Replace, Some(ErrorKind::Exist)),
        (&dataset, Clobber::Replace, None),
    ] {
        let outcome = here.create(&format!("{path}#mode=gridded"), clobber);
        assert_eq!(outcome.err().map(|error| error.kind()), kind, "{path} {clobber:?}");
    }
    assert_eq!(fs::read(&other).unwrap(), b"my thesis");
    assert!(PathBuf::from(&dataset).is_dir());
}

#[test]
fn only_a_dataset_is_deleted() {
    let here = Here::new();
    for path in [
        here.file("f", b"my thesis"),
        here.dir("d", "chapter"),
        here.dir("empty", ""),
        here.path("d") + "#mode=gridded",
        here.path("f") + "#mode=one",
    ] {
        let error = here.registry.delete(&Place::url(&path)).unwrap_err();
        assert_eq!(error.kind(), ErrorKind::NotNc, "{path}: {error}");
    }
    assert_eq!(fs::read(here.path("f")).unwrap(), b"my thesis");
    assert!(PathBuf::from(here.path("d/chapter")).exists());
    for path in [here.file("a", b"ALPHA"), here.dir("g", ".grid")] {
        here.registry.delete(&Place::url(&path)).unwrap();
        assert!(!PathBuf::from(&path).exists());
        assert_eq!(here.registry.delete(&Place::url(&path)).unwrap_err().kind(), ErrorKind::NotFound);
    }
}

#[test]
fn an_explanation_lists_probes_and_hides_secrets() {
    let here = Here::new();
    let path = here.dir("g", ".cell");
    let explanation = here.registry.explain(&Place::url(&path)).unwrap();
    let looks: Vec<_> =
        explanation.probes.iter().map(|look| (look.at.as_str(), look.found.as_str())).collect();
    let place = format!("path {path}");
    assert_eq!(
        looks,
        [
            (place.as_str(), "a directory"),
            ("key .grid (driver grid)", "absent"),
            ("key .cell (driver grid)", "there")
        ]
    );
    assert_eq!(explanation.driver, Some(("grid".to_owned(), "the map holds .cell".to_owned())));
    assert_eq!(explanation.dataset.unwrap().notes, ["opened"]);
    assert!(explanation.problem.is_none());

    let explanation = here.registry.explain(&Place::url("cloud://me:hush@h/x?hush#token=hush")).unwrap();
    assert_eq!(explanation.problem.as_ref().unwrap().kind(), ErrorKind::NotBuilt);
    assert!(explanation.driver.is_none());
    assert!(!format!("{explanation:?}").contains("hush"), "{explanation:?}");
    assert!(here.registry.explain(&Place::url(here.path("none"))).unwrap().problem.is_some());
}

#[test]
fn a_driver_gets_its_map_by_mode_scheme_or_place() {
    let here = Here::new();
    let options = Options::default();
    for (path, expected) in [
        (here.dir("g", ".grid"), Ok((Some("file"), "it is a directory"))),
        (here.file("p", b"PACK"), Ok((Some("pack"), "first bytes of map pack"))),
        ("far://h/x".to_owned(), Ok((Some("far"), "scheme far:"))),
        (here.path("nowhere#mode=far"), Ok((Some("far"), "mode=far"))),
        (here.file("a", b"ALPHA"), Err(ErrorKind::NotNc)),
        (here.file("f", b"?"), Err(ErrorKind::NotNc)),
        (here.path("nowhere"), Err(ErrorKind::NotFound)),
        (here.path("g#mode=cloud"), Err(ErrorKind::NotBuilt)),
    ] {
        let target = nczarr_url_infer::parse(&path).unwrap();
        let request = OpenRequest::new(&target, &options, &here.registry);
        let outcome = here.registry.open_map(&request);
        let found = outcome.as_ref().map(|map| (map.name(), &*map.why)).map_err(|error| error.kind());
        assert_eq!(found, expected, "{path}");
    }
}
