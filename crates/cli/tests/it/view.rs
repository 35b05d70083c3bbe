//! `view`: drawings in the terminal and as a page.

use std::fs;
use std::path::PathBuf;

use crate::{failure, out, text};

fn sample() -> (tempfile::TempDir, PathBuf) {
    let folder = tempfile::tempdir().unwrap();
    let (cdl, target) = (folder.path().join("a.cdl"), folder.path().join("a.zarr"));
    fs::write(
        &cdl,
        "netcdf a { dimensions: time = 2; lat = 2; x = 4; variables: double lat(lat); lat:units = \"degrees_north\"; \
         short t(time, lat, x); t:units = \"K\"; t:scale_factor = 0.5; t:_FillValue = -1s; int line(x); char c(x); \
         :title = \"<b>\"; data: lat = -30, 30; t = 0, 0, 0, 0, 0, 0, 0, 0, 0, 2, 4, 6, 8, 10, 18, _; line = 0, 1, 2, 3; }",
    )
    .unwrap();
    out(&["gen", "-o", text(&target), text(&cdl)]);
    (folder, target)
}

#[test]
fn a_slab_is_drawn() {
    let (_folder, target) = sample();
    // North is at the top.
    let expected = "/t(time=1, lat, x) [K]\nlat = 30 at the top, -30 below\n=+@?\n .:-\nx = 0 to 3 from left to right\n\
                    0  .:-=+*#%@ 9\n";
    assert_eq!(out(&["view", text(&target), "--at", "time=1"]), expected);
    let drawn = out(&["view", text(&target), "line", "--height", "2"]);
    assert!(drawn.starts_with("/line(x)\n3 │") && drawn.ends_with("x = 0 to 3\n"), "{drawn}");
    assert!(out(&["view", text(&target), "--color", "true"]).contains("\x1b[48;2;"));
}

#[test]
fn view_explains_why_it_cannot_draw() {
    let (_folder, target) = sample();
    for (flags, why) in [
        (&["c"][..], "not an array of numbers"),
        (&["nix"], "nix"),
        (&["--at", "time=2"], "--at time=2: index out of range (length 2)"),
        (&["--at", "x=1"], "--at x"),
        (&["--at", "time"], "expected dimension=index"),
    ] {
        let message = failure(&[&["view", text(&target)], flags].concat()).1;
        assert!(message.contains(why), "{flags:?}: {message}");
    }
}

#[test]
fn a_page_stands_alone() {
    let (folder, target) = sample();
    let page = folder.path().join("a.html");
    out(&["view", text(&target), "--html", text(&page)]);
    let page = fs::read_to_string(&page).unwrap();
    assert!(page.starts_with("<!doctype html>") && page.trim_end().ends_with("</html>"));
    for part in [
        "<td>title<td>&lt;b&gt;",
        "<code>short t(time=2, lat=2, x=4)</code>",
        "data:image/bmp;base64,Qk",
        "<path d=\"M0.0 ",
    ] {
        assert!(page.contains(part), "{part}");
    }
    for part in ["<script", "http://", "https://", "src=\"/"] {
        assert!(!page.contains(part), "{part}");
    }
}

#[test]
fn control_characters_of_a_dataset_are_escaped() {
    let folder = tempfile::tempdir().unwrap();
    let (cdl, target) = (folder.path().join("a.cdl"), folder.path().join("a.nc"));
    let text_of_it = "netcdf a { dimensions: x = 3; variables: double v(x); v:units = \"K\\033]0;gone\\007\\tm\"; data: v = 1, 2, 3; }";
    fs::write(&cdl, text_of_it).unwrap();
    out(&["gen", "-o", text(&target), text(&cdl)]);
    let drawn = out(&["view", text(&target), "v"]);
    assert!(drawn.starts_with("/v(x) [K\\033]0;gone\\007\\011m]\n"), "{drawn:?}");
    assert!(!drawn.chars().any(|letter| letter.is_control() && letter != '\n'), "{drawn:?}");
}

#[test]
fn drawings_are_no_larger_than_terminals() {
    let (_folder, target) = sample();
    for size in ["0", "1001", "100000000000000", "18446744073709551615", "x"] {
        for flag in ["--width", "--height"] {
            let (code, message) = failure(&["view", text(&target), "--color", "true", flag, size]);
            assert!(
                code == 2 && message.contains("expected a number of characters from 1 to 1000"),
                "{flag} {size}: {message}"
            );
        }
    }
    out(&["view", text(&target), "--color", "true", "--height", "1000", "--width", "1000"]);
}
