//! Reads a part of the example dataset, writes a dataset of its own and appends to it.
//!
//! `cargo run --example quickstart`

use nczarr::{Extent, Result};

fn main() -> Result<()> {
    read(concat!(env!("CARGO_MANIFEST_DIR"), "/examples/data/ocean.zarr"))?;

    let folder = std::env::temp_dir().join(format!("quickstart-{}.zarr", std::process::id()));
    let path = folder.display().to_string();
    write(&path)?;
    append(&path)?;
    nczarr::delete(&path)
}

fn read(path: &str) -> Result<()> {
    let file = nczarr::open(path)?;
    let temp = file.variable("temp")?;
    println!(
        "{} {:?} in chunks of {:?}",
        temp.full_name(),
        temp.shape()?,
        temp.chunk_shape()?.unwrap_or_default()
    );

    // The first month at the surface, every fourth latitude, the longitudes from 10 to 11.
    let every_fourth = Extent::Strided { start: 0, count: None, stride: 4 };
    let packed = temp.get::<i16>((
        Extent::Index(0),
        Extent::Index(0),
        every_fourth,
        Extent::Range { start: 10, end: 12 },
    ))?;
    let number = |name| temp.attribute(name).and_then(|attribute| attribute.number());
    let (scale, offset) = (number("scale_factor").unwrap_or(1.0), number("add_offset").unwrap_or(0.0));
    for row in packed.chunks(2) {
        println!("  {:6.2?}", row.iter().map(|&value| f64::from(value) * scale + offset).collect::<Vec<_>>());
    }
    println!("stations: {}", file.variable("stations/name")?.get_strings(..)?.join(", "));
    Ok(())
}

fn write(path: &str) -> Result<()> {
    let file = nczarr::create(path)?;
    file.put_attribute("title", "a quick start")?;
    file.add_unlimited_dimension("time")?;
    file.add_dimension("x", 4)?;
    let t = file.add_variable::<f32>("t", &["time", "x"])?;
    t.set_chunking(&[10, 4])?;
    t.set_deflate(5, true)?;
    t.put_attribute("units", "K")?;
    t.put(&[280.0f32, 281.0, 282.0, 283.0], (0, ..))?;
    file.close()
}

fn append(path: &str) -> Result<()> {
    let file = nczarr::append(path)?;
    let t = file.variable("t")?;
    // Two more records; doubles become the variable's floats on the way.
    t.put(&[284.5f64, 285.5, 286.5, 287.5, 288.5, 289.5, 290.5, 291.5], (1.., ..))?;
    println!("{:?} {:?}", t.shape()?, t.get::<f64>((.., 3))?.as_slice());
    file.close()
}
