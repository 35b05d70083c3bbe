//! Compares the map of this crate with those of the library: a table, and a page with plots.
//!
//! `cargo run --release -p nczarr-example-third-party --example compare_maps -- page.html`

use nczarr_bench::{BenchReport, Benchmark, Sample};
use third_party as _;

fn main() -> nczarr::Result<()> {
    let page = std::env::args().nth(1).unwrap_or_else(|| "page.html".to_owned());
    print!("{}", compare(&page)?.table());
    Ok(())
}

/// Measures the maps and writes the page.
pub fn compare(page: &str) -> nczarr::Result<BenchReport> {
    let sample = Sample::generated(&[16, 64, 64])?;
    let report = Benchmark::new(sample).targets(["veil", "zip", "file"]).filters(["none", "zstd,3"]).run()?;
    std::fs::write(page, report.html()).map_err(|error| nczarr::Error::io(page, error))?;
    Ok(report)
}
