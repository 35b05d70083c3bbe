//! Inferences and negations: what a value of `mode` brings with it and what it takes away.
//!
//! Differs from netCDF-C 4.10 on purpose in one row: `noxarray` brings `nczarr` only, so it never turns a dataset
//! into a pure Zarr one.

/// If the first is there, so is the second.
const INFERENCES: &[(&str, &str)] = &[("xarray", "zarr"), ("zarr", "nczarr"), ("noxarray", "nczarr")];

/// If the first is there, the second is not.
const NEGATIONS: &[(&str, &str)] =
    &[("noxarray", "xarray"), ("bytes", "nczarr"), ("bytes", "zarr"), ("bytes", "xarray"), ("bytes", "noxarray")];

/// Applies the rules to `modes` until nothing changes; each value stays once.
pub(crate) fn apply(modes: &mut Vec<String>, steps: &mut Vec<String>) {
    let mut at = 0;
    while let Some(mode) = modes.get(at) {
        if modes[..at].contains(mode) {
            modes.remove(at);
        } else {
            at += 1;
        }
    }
    // One pass suffices: a rule's result stands left only in later rules.
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
