//! Adds a filter of its own to a registry: each byte is stored with its bits inverted.
//!
//! `cargo run --example custom_filter`. The book's page on plugins explains the traits.

use std::borrow::Cow;

use nczarr::codec::{Filter, FilterClass, FilterInfo, OutBuf};
use nczarr::{CreateOptions, ErrorKind, OpenOptions, Registry, Result};

// HDF5 ids from 32768 on are free for private use.
static INFO: FilterInfo =
    FilterInfo { hdf5_id: Some(40_002), ..FilterInfo::new("invert", "inverts every bit") };

/// Makes the filter from HDF5 parameters and from Zarr codec descriptions. It has no parameters.
struct InvertClass;

impl FilterClass for InvertClass {
    fn info(&self) -> &FilterInfo {
        &INFO
    }

    fn parse_params(&self, params: &[u32]) -> Result<Box<dyn Filter>> {
        match params {
            [] => Ok(Box::new(Invert)),
            _ => Err(ErrorKind::Filter
                .context(format!("filter invert: too many parameters (expected 0, found {params:?})"))),
        }
    }
}

#[derive(Debug, Clone)]
struct Invert;

impl Filter for Invert {
    fn info(&self) -> &FilterInfo {
        &INFO
    }

    fn params(&self) -> Cow<'_, [u32]> {
        Cow::Borrowed(&[])
    }

    fn encode_bound(&self, decoded: usize) -> Option<usize> {
        Some(decoded)
    }

    fn encode(&self, src: &[u8], dst: &mut OutBuf<'_>) -> Result<()> {
        dst.extend(src.iter().map(|byte| !byte))
    }

    fn decode(&self, src: &[u8], dst: &mut OutBuf<'_>) -> Result<()> {
        self.encode(src, dst)
    }
}

fn main() -> Result<()> {
    let folder = tempfile::tempdir().expect("a temporary folder");
    let path = &folder.path().join("field.zarr").display().to_string();
    let registry = Registry::clone(&*nczarr::registry()?).with_filter(InvertClass);

    let file = CreateOptions::new().registry(registry.clone()).create(path)?;
    file.add_dimension("x", 4)?;
    let field = file.add_variable::<u8>("field", &["x"])?;
    field.set_filter("invert", &[])?;
    field.put(&[0u8, 1, 2, 3], ..)?;
    file.close()?;
    println!(
        "stored: {:?}",
        std::fs::read(folder.path().join("field.zarr/field/0")).expect("the chunk was written")
    );

    let file = OpenOptions::new().registry(registry).open(path)?;
    println!("read: {:?}", file.variable("field")?.get_values::<u8>(..)?);
    // A program without the filter lists the variable, and cannot read its data.
    let error = nczarr::open(path)?.variable("field")?.get_values::<u8>(..).expect_err("no such filter");
    println!("without the filter: {error}");
    assert_eq!(error.kind(), ErrorKind::NoFilter);
    Ok(())
}
