//! Writes a dataset to a bucket and reads a part of it.
//!
//! `cargo run --example s3 --features s3` uses a server inside the program. To use a bucket of yours, give
//! its URL: `cargo run --example s3 --features s3 -- s3://bucket/ocean.zarr`. Credentials come from the
//! environment and the files of the AWS tools.

use nczarr::{Codec, CreateOptions, Result};
use nczarr_s3_server::{Config, Server};

fn main() -> Result<()> {
    let server = Server::start(Config::default().anonymous("bucket"));
    let url = std::env::args().nth(1).unwrap_or_else(|| format!("{}/bucket/ocean.zarr", server.url()));
    let url = format!("{url}#mode=zarr,v3,consolidated,s3");

    let file = CreateOptions::new().clobber(true).create(&url)?;
    file.add_dimension("y", 256)?;
    file.add_dimension("x", 256)?;
    let field = file.add_variable::<f32>("field", &["y", "x"])?;
    field.set_chunking(&[64, 64])?;
    field.set_codecs([Codec::zstd(3)])?;
    field.put(&(0..256 * 256).map(|i| i as f32).collect::<Vec<_>>(), ..)?;
    file.close()?;

    // A handle for the data of one variable needs few requests.
    let field = nczarr::OpenOptions::new().open_data(&url, "field")?;
    let block = field.get::<f32>((10..12, 100..103))?;
    println!("{:?}", block.as_slice());
    assert_eq!(block.as_slice(), [2660.0, 2661.0, 2662.0, 2916.0, 2917.0, 2918.0]);
    nczarr::delete(&url)
}
