//! Converts a dataset to another format, with other chunks and another compressor.
//!
//! `cargo run --example convert`. `ncz copy` does the same for every dataset and within a limit of memory.

use nczarr::{File, Result, Variable};

fn main() -> Result<()> {
    let source = nczarr::open(concat!(env!("CARGO_MANIFEST_DIR"), "/examples/data/ocean.zarr"))?;
    let folder = tempfile::tempdir().expect("a temporary folder");
    let path = &folder.path().join("ocean.nc").display().to_string();

    let target = nczarr::create(path)?;
    for attribute in source.attributes() {
        target.put_attribute(attribute.name(), attribute.values())?;
    }
    for dimension in source.dimensions() {
        if dimension.is_unlimited() {
            target.add_unlimited_dimension(&dimension.name())?;
        } else {
            target.add_dimension(&dimension.name(), dimension.len())?;
        }
    }
    for variable in source.variables() {
        convert(&variable, &target)?;
    }
    target.close()?;

    let height = nczarr::open(path)?.variable("ssh")?;
    println!("{:?} in chunks of {:?}", height.shape()?, height.chunk_shape()?.unwrap_or_default());
    Ok(())
}

/// Defines a variable, and copies its data one step of its first dimension at a time.
fn convert(source: &Variable, target: &File) -> Result<()> {
    let names: Vec<String> = source.dimensions().iter().map(|dimension| dimension.name()).collect();
    let names: Vec<&str> = names.iter().map(String::as_str).collect();
    let copy = target.add_variable_with_type(&source.name(), source.nc_type(), &names)?;
    let mut chunks = source.shape()?;
    if let [first, _, ..] = chunks.as_mut_slice() {
        *first = 1;
        copy.set_chunking(&chunks)?;
        copy.set_deflate(5, true)?;
    }
    for attribute in source.attributes() {
        match attribute.name() {
            "_FillValue" => copy.set_fill(attribute.values())?,
            name => copy.put_attribute(name, attribute.values())?,
        }
    }
    if chunks.is_empty() {
        return copy.put_value(source.get_value::<f64>(())?, ());
    }
    for step in 0..source.shape()?[0] {
        let mut extents = vec![nczarr::Extent::default(); chunks.len()];
        extents[0] = nczarr::Extent::Range { start: step, end: step + 1 };
        // Values of the same type are copied without conversion.
        let values = source.get_values::<f64>(&extents[..])?;
        copy.put(&values, &extents[..])?;
    }
    Ok(())
}
