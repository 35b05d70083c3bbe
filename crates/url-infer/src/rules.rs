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
    let mut unique: Vec<String> = Vec::with_capacity(modes.len());
    for mode in modes.drain(..) {
        if !unique.contains(&mode) {
            unique.push(mode);
        }
    }
    *modes = unique;
    // One pass suffices: a rule's result stands left only in later rules.
    for (from, to) in INFERENCES {
        if has(modes, from) && !has(modes, to) {
            steps.push(format!("mode {from} implies {to}"));
            modes.push((*to).to_owned());
        }
    }
    for (from, to) in NEGATIONS {
        if has(modes, from) && has(modes, to) {
            steps.push(format!("mode {from} takes {to} away"));
            modes.retain(|mode| mode != to);
        }
    }
}

fn has(modes: &[String], mode: &str) -> bool {
    modes.iter().any(|have| have == mode)
}
