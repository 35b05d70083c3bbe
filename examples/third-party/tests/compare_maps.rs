//! The example `compare_maps` shows the map of this crate in one table and one page with the library's.

// Its `main` is not called.
#[allow(dead_code)]
#[path = "../examples/compare_maps.rs"]
mod example;

#[test]
fn the_map_is_compared_with_others() {
    let dir = tempfile::tempdir().unwrap();
    let page = dir.path().join("page.html").display().to_string();
    let table = example::compare(&page).unwrap().table();
    let html = std::fs::read_to_string(page).unwrap();
    for map in ["veil", "zip", "file"] {
        assert_eq!(table.lines().filter(|line| line.starts_with(&format!("{map} "))).count(), 4, "{table}");
        assert!(html.contains(&format!("</i>{map}</li>")), "{map}");
    }
}
