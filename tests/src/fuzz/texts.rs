//! Targets for text that users type: paths, URLs, and lists of filters with parameters.

use nczarr::codec::FilterText;

use super::rng::Rng;
use super::{Case, Entry, Target, judged, mutate};

const URLS: &[&str] = &[
    "x.nc",
    "/data/a b#c.zarr",
    "file:///data/x.zarr#mode=zarr,file",
    "file://host/x#mode=nczarr,zip&log=2",
    "[mode=zarr]file:///x",
    "[show=fetch]https://user:secret@example.org:8080/a/b.zarr?token=1#mode=bytes&aws.profile=p",
    "s3://bucket/key/x.zarr#mode=xarray,s3&aws.region=eu-1",
    "https://bucket.s3.us-east-1.amazonaws.com/key#mode=zarr",
    "memory://name#mode=noxarray&mode=zarr&missing_chunks=error",
    "dods://example.org/a?b[0:1:9]#dap4",
    "file:///C:/a%20b/%c3%a9.zarr#MODE=NCZARR",
    "gs3://bucket/x#mode=annotate,zarr&datetime=raw",
];

const URL_WORDS: &[&str] = &[
    "#",
    "&",
    "=",
    ",",
    "mode=",
    "zarr",
    "nczarr",
    "file",
    "zip",
    "mem",
    "s3",
    "://",
    ":",
    "/",
    "//",
    "@",
    "?",
    "%",
    "%00",
    "%zz",
    "[",
    "]",
    "\0",
    "é",
    "..",
    "-",
    "bytes",
    "xarray",
    "noxarray",
    "aws.profile=",
    "log=",
    "\\",
    " ",
];

const FILTERS: &[&str] = &[
    "deflate,5",
    "1,9|2,4|3",
    "blosc,0,0,0,0,5,1,1|zstd,3",
    "szip,32,16|fletcher32",
    "bzip2,9",
    "307,1|32015,-7",
    "lzma|lz4,1",
    "quantize,3.5f,-7b,200ub,1s,2us,3,4u,5l,6ul,0x1f",
    "fixedscaleoffset,1.5e3,1e-300d",
    "none",
    "*,deflate,1",
];

const FILTER_WORDS: &[&str] = &[
    ",",
    "|",
    ";",
    ".",
    "-",
    "+",
    "e",
    "f",
    "d",
    "u",
    "l",
    "ul",
    "0x",
    "0",
    "00",
    "1e999",
    "-1",
    "4294967295",
    "4294967296",
    "18446744073709551616",
    "nan",
    "inf",
    " ",
    "\t",
    "*",
    "none",
    "blosc",
    "deflate",
    "é",
    "\0",
    "(",
    "[",
];

/// A text with words inserted and bytes changed.
fn text(rng: &mut Rng, seeds: &[&str], words: &[&str]) -> Vec<u8> {
    let mut text = if rng.one_in(8) { Vec::new() } else { rng.of_these(seeds).as_bytes().to_vec() };
    for _ in 0..=rng.below(5) {
        let at = rng.below(text.len() + 1);
        match rng.below(4) {
            0 | 1 => drop(text.splice(at..at, rng.of_these(words).bytes())),
            2 => drop(text.splice(at..at, rng.of_these(seeds).bytes())),
            _ => mutate::bytes(rng, &mut text),
        }
    }
    text
}

struct Urls;

impl Target for Urls {
    fn case(&self, rng: &mut Rng) -> Case<'_> {
        Case::of_bytes("a path or URL".to_owned(), text(rng, URLS, URL_WORDS), |bytes| {
            let path = String::from_utf8_lossy(bytes);
            judged(nczarr_url_infer::parse(&path).map(|target| {
                // Also formats the target and determines the format of a new dataset there.
                format!("{target}").len() + usize::from(nczarr_url_infer::infer_create(&target).is_ok())
            }))
        })
    }
}

struct Filters;

impl Target for Filters {
    fn case(&self, rng: &mut Rng) -> Case<'_> {
        Case::of_bytes("filters and their parameters".to_owned(), text(rng, FILTERS, FILTER_WORDS), |bytes| {
            let text = String::from_utf8_lossy(bytes);
            let Ok(filters) = FilterText::parse_list(&text) else { return Ok(false) };
            let again = FilterText::parse_list(&FilterText::render_list(&filters));
            if again.as_ref().ok() != Some(&filters) {
                return Err(format!("{filters:?} is read back as {again:?}"));
            }
            let registry = nczarr::registry().map_err(|error| error.to_string())?;
            let mut known = true;
            for filter in &filters {
                known &= judged(registry.filter_spec(filter))?;
            }
            Ok(known)
        })
    }
}

pub(super) fn entries() -> Vec<Entry> {
    vec![Entry::new("url", || Urls), Entry::new("filter-text", || Filters)]
}
