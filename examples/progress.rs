//! Shows the progress of a transfer, and cancels another one.
//!
//! `cargo run --example progress`

use nczarr::{CreateOptions, ErrorKind, OpenOptions, Progress, Result};

/// Prints the share that is done, and stops at `limit` percent.
struct Percent {
    limit: u64,
}

impl Progress for Percent {
    fn advance(&self, done: u64, total: u64) -> bool {
        let percent = 100 * done / total.max(1);
        println!("{percent} %");
        percent < self.limit
    }
}

fn main() -> Result<()> {
    let folder = tempfile::tempdir().expect("a temporary folder");
    let path = &folder.path().join("field.zarr").display().to_string();
    let file = CreateOptions::new().progress(Percent { limit: 101 }).threads(1).create(path)?;
    file.add_dimension("x", 1_000_000)?;
    let field = file.add_variable::<f64>("field", &["x"])?;
    field.set_chunking(&[250_000])?;
    field.put(&vec![1.5; 1_000_000], ..)?;
    file.close()?;

    let file = OpenOptions::new().progress(Percent { limit: 50 }).threads(1).open(path)?;
    let cancelled = file.variable("field")?.get::<f64>(..).expect_err("stopped at 50 %");
    println!("{cancelled}");
    assert_eq!(cancelled.kind(), ErrorKind::Cancelled);
    Ok(())
}
