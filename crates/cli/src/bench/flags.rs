//! The values of the flags: targets, filters and shapes.

use nczarr::Registry;
use nczarr_bench::{BenchTarget, FilterList, Sample};

use super::Bench;
use crate::copy::spec;
use crate::failure::Failure;

/// The maps that are compared if no target is given.
const USUAL_MAPS: [&str; 2] = ["file", "mem"];

/// Returns the targets of `--maps` and `--targets`.
pub fn targets(args: &Bench, registry: &Registry) -> Result<Vec<BenchTarget>, Failure> {
    let maps: Vec<&str> = if args.maps.is_empty() && args.targets.is_empty() {
        USUAL_MAPS.to_vec()
    } else {
        args.maps.iter().map(String::as_str).collect()
    };
    let mut targets = Vec::new();
    for name in maps {
        if name.contains(['/', ':', '.', '#']) {
            return Err(Failure::Usage(format!(
                "--maps {name}: not the name of a map; use --targets {name}"
            )));
        }
        targets.push(target("maps", name, registry)?);
    }
    for text in args.targets.iter().flat_map(|list| urls(list)) {
        let parsed = target("targets", text, registry)?;
        targets.push(match &args.var {
            Some(variable) => parsed.with_variable(variable),
            None => parsed,
        });
    }
    Ok(targets)
}

fn target(flag: &str, text: &str, registry: &Registry) -> Result<BenchTarget, Failure> {
    BenchTarget::parse(text, registry).map_err(|error| Failure::Usage(format!("--{flag} {text}: {error}")))
}

/// Splits a list at its commas. Behind `#` a comma joins modes.
fn urls(list: &str) -> Vec<&str> {
    if list.contains('#') { vec![list] } else { list.split(',').collect() }
}

/// Parses a list of filters. Its text is its name in the results.
pub fn filter_list(registry: &Registry, text: &str) -> Result<FilterList, Failure> {
    let filters = spec::filters(registry, text)
        .map_err(|problem| Failure::Usage(format!("--filter {text}: {problem}")))?;
    Ok(FilterList::new(text, filters))
}

/// Parses a chunk shape of this data.
pub fn chunk_shape(text: &str, sample: &Sample) -> Result<Vec<u64>, Failure> {
    let lengths = shape(text, "chunks")?;
    let (given, rank) = (lengths.len(), sample.shape.len());
    if given != rank {
        return Err(Failure::Usage(format!(
            "--chunks {text}: {given} lengths (joined by x), {} has {rank} dimensions",
            sample.name
        )));
    }
    Ok(lengths)
}

/// Parses a shape such as 4x5x6.
pub fn shape(text: &str, flag: &str) -> Result<Vec<u64>, Failure> {
    let lengths = text.split('x').map(spec::length).collect::<Result<_, _>>();
    lengths.map_err(|problem| Failure::Usage(format!("--{flag} {text}: {problem}")))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_list_is_split_at_commas_unless_it_has_modes() {
        assert_eq!(urls("s3://a/b,/tmp/x"), ["s3://a/b", "/tmp/x"]);
        assert_eq!(urls("x#mode=nczarr,zip"), ["x#mode=nczarr,zip"]);
    }
}
