//! Inferences and negations between values of `mode`.
//!
//! One row differs from netCDF-C 4.10 on purpose: `noxarray` implies only `nczarr`, so it never makes a
//! dataset plain Zarr.

use std::borrow::Cow;

/// The first value implies the second. With the step for messages.
const INFERENCES: &[(&str, &str, &str)] = &[
    ("xarray", "zarr", "mode xarray implies zarr"),
    ("zarr", "nczarr", "mode zarr implies nczarr"),
    ("noxarray", "nczarr", "mode noxarray implies nczarr"),
];

/// The first value removes the second. With the step for messages.
const NEGATIONS: &[(&str, &str, &str)] = &[
    ("noxarray", "xarray", "mode noxarray takes xarray away"),
    ("bytes", "nczarr", "mode bytes takes nczarr away"),
    ("bytes", "zarr", "mode bytes takes zarr away"),
    ("bytes", "xarray", "mode bytes takes xarray away"),
    ("bytes", "noxarray", "mode bytes takes noxarray away"),
];

/// Applies the rules to `modes` and removes repeats.
pub(crate) fn apply(modes: &mut Vec<String>, steps: &mut Vec<Cow<'static, str>>) {
    let mut at = 0;
    while let Some(mode) = modes.get(at) {
        if modes[..at].contains(mode) {
            modes.remove(at);
        } else {
            at += 1;
        }
    }
    // One pass suffices: the result of a rule is only used by later rules.
    for (from, to, step) in INFERENCES {
        if has(modes, from) && !has(modes, to) {
            steps.push(Cow::Borrowed(step));
            modes.push((*to).to_owned());
        }
    }
    for (from, to, step) in NEGATIONS {
        if has(modes, from) && has(modes, to) {
            steps.push(Cow::Borrowed(step));
            modes.retain(|mode| mode != to);
        }
    }
}

fn has(modes: &[String], mode: &str) -> bool {
    modes.iter().any(|have| have == mode)
}
