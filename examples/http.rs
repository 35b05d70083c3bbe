//! Reads datasets from a web server: a netCDF-4 file by ranges, and a Zarr store with consolidated metadata.
//!
//! `cargo run --example http --features http` uses a server inside the program. To read a file of yours, give
//! its URL: `cargo run --example http --features http -- https://data.example.org/x.nc`

use std::path::Path;

use nczarr::{Place, Result, Variable};
use nczarr_s3_server::{Config, Server};

fn main() -> Result<()> {
    if let Some(url) = std::env::args().nth(1) {
        for variable in nczarr::open(&url)?.variables() {
            println!("{} {:?}", variable.full_name(), variable.shape()?);
        }
        return Ok(());
    }
    let server = Server::start(Config::default().web("web"));
    let folder = tempfile::tempdir().expect("a temporary folder");
    let here = |name: &str| Place::path(folder.path().join(name));
    let store = here("series.zarr").mode("zarr").mode("v3").mode("consolidated");
    for (name, place) in [("series.nc", here("series.nc")), ("series.zarr", store)] {
        let file = nczarr::create(place)?;
        file.add_dimension("time", 1000)?;
        let level = file.add_variable::<f64>("level", &["time"])?;
        level.put(&(0..1000).map(f64::from).collect::<Vec<_>>(), ..)?;
        file.close()?;
        upload(&server, folder.path(), &folder.path().join(name));

        let file = nczarr::open(format!("{}/web/{name}", server.url()))?;
        println!("{name}: {:?}", last_three(&file.variable("level")?)?);
    }
    Ok(())
}

fn last_three(variable: &Variable) -> Result<Vec<f64>> {
    let len = variable.shape()?[0];
    variable.get_values(len - 3..)
}

/// Puts a file, or all files of a folder, on the server.
fn upload(server: &Server, root: &Path, path: &Path) {
    if path.is_dir() {
        for entry in std::fs::read_dir(path).expect("the folder was written") {
            upload(server, root, &entry.expect("the folder was written").path());
        }
        return;
    }
    let key = path.strip_prefix(root).expect("below the root").to_str().expect("UTF-8");
    server.put("web", key, std::fs::read(path).expect("the file was written"));
}
