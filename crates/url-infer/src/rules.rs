//! Inferences and negations between values of `mode`.
//!
//! One row differs from netCDF-C 4.10 on purpose: `noxarray` implies only `nczarr`, so it never makes a
//! dataset plain Zarr.

/// The first value implies the second.
const INFERENCES: &[(&str, &str)] = &[("xarray", "zarr"), ("zarr", "nczarr"), ("noxarray", "nczarr")];

/// The first value removes the second.
const NEGATIONS: &[(&str, &str)] = &[
    ("noxarray", "xarray"),
    ("bytes", "nczarr"),
    ("bytes", "zarr"),
    ("bytes", "xarray"),
    ("bytes", "noxarray"),
];

/// Applies the rules to `modes` and removes repeats.
pub(crate) fn apply(modes: &mut Vec<String>, steps: &mut Vec<String>) {
    let mut at = 0;
    while let Some(mode) = modes.get(at) {
        if modes[..at].contains(mode) {
            modes.remove(at);
        } else {
            at += 1;
        }
    }
    // One pass suffices: the result of a rule is only used by later rules.
    for (from, to) in INFERENCES {
        if has(modes, from) && !has(modes, to) {
            steps.push(["mode ", from, " implies ", to].concat());
            modes.push((*to).to_owned());
        }
    }
    for (from, to) in NEGATIONS {
        if has(modes, from) && has(modes, to) {
            steps.push(["mode ", from, " takes ", to, " away"].concat());
            modes.retain(|mode| mode != to);
        }
    }
}

fn has(modes: &[String], mode: &str) -> bool {
    modes.iter().any(|have| have == mode)
}
