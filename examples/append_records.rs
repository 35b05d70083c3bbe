//! Appends records along an unlimited dimension while a reader is open.
//!
//! `cargo run --example append_records`

use nczarr::Result;

fn main() -> Result<()> {
    let folder = tempfile::tempdir().expect("a temporary folder");
    let path = &folder.path().join("series.zarr").display().to_string();

    let file = nczarr::create(path)?;
    file.add_unlimited_dimension("time")?;
    file.add_dimension("station", 3)?;
    let level = file.add_variable::<f32>("level", &["time", "station"])?;
    level.set_chunking(&[24, 3])?;
    file.close()?;

    let reader = nczarr::open(path)?;
    for hour in 0..4 {
        let file = nczarr::append(path)?;
        let level = file.variable("level")?;
        let next = level.shape()?[0];
        level.put(&[hour as f32, hour as f32 + 0.1, hour as f32 + 0.2], (next, ..))?;
        file.close()?;
    }
    reader.sync()?; // the reader sees the new length
    let level = reader.variable("level")?;
    println!("{:?}", level.shape()?);
    println!("{:?}", level.get::<f32>((2.., ..))?.as_slice());
    assert_eq!(level.shape()?, [4, 3]);
    Ok(())
}
