//! Reads parts of a variable: one value, a row, a block with steps, and packed data as real values.
//!
//! `cargo run --example read_slab`

use nczarr::{Extent, Result};

fn main() -> Result<()> {
    let file = nczarr::open(concat!(env!("CARGO_MANIFEST_DIR"), "/examples/data/ocean.zarr"))?;

    let height = file.variable("ssh")?;
    println!("ssh has the shape {:?}", height.shape()?);
    println!("one value: {}", height.get_value::<f32>((0, 12, 20))?);
    println!("a row: {:?}", height.get::<f32>((0, 12, 20..24))?.as_slice());

    let every_sixth = Extent::Strided { start: 0, count: None, stride: 6 };
    let block = height.get::<f64>((0, every_sixth, 18..20))?;
    println!("a block of the shape {:?}: {:?}", block.shape(), block.as_slice());

    // temp stores short integers; scale_factor, add_offset and _FillValue turn them into degrees.
    let temperature = file.variable("temp")?.get_unpacked::<f64>((0, 0, 12, 20..24))?;
    println!("temperatures: {:?}", temperature.as_slice());
    Ok(())
}
