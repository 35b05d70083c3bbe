//! Makes a zip archive, replaces a variable in it, rewrites the archive without gaps, and reads it from
//! memory.
//!
//! `cargo run --example zip`

use nczarr::Result;

fn main() -> Result<()> {
    let folder = tempfile::tempdir().expect("a temporary folder");
    let path = &folder.path().join("field.zip").display().to_string();
    let file = nczarr::create(path)?;
    file.add_dimension("x", 10_000)?;
    let field = file.add_variable::<i32>("field", &["x"])?;
    field.put(&[1; 10_000], ..)?;
    file.sync()?;
    field.put(&[2; 10_000], ..)?; // the old chunk leaves a gap
    file.close()?;

    let sizes = nczarr::repack(path)?;
    println!("{} bytes before, {} bytes after", sizes.before, sizes.after);
    assert!(sizes.after < sizes.before);

    let bytes = std::fs::read(path).expect("the archive was written");
    let file = nczarr::open_bytes(bytes)?;
    assert_eq!(file.variable("field")?.get_values::<i32>(9_998..)?, [2, 2]);
    Ok(())
}
