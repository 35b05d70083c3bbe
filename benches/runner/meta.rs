//! The operations on metadata: writing many variables, opening many variables, and listing keys.

use nczarr::dispatch::{OpenRequest, Options};
use nczarr::storage::{Key, ZMapExt};
use nczarr::{CreateOptions, OpenOptions, Place, Result};

use super::Op;
use super::measure::{Clock, Outcome};

pub fn write(op: &Op) -> Result<Outcome> {
    let clock = Clock::start();
    let file = CreateOptions::new().clobber(true).create(Place::url(op.url()))?;
    file.add_dimension("x", 10)?;
    for i in 0..op.nvars {
        let var = file.add_variable::<f32>(&format!("v{i:05}"), &["x"])?;
        var.put_attribute("units", "K")?;
        var.put_attribute("long_name", format!("variable {i}"))?;
        var.put_attribute("scale_factor", 0.5)?;
        var.put_attribute("add_offset", i as f64)?;
    }
    file.close()?;
    Ok(clock.stop().times(op.nvars))
}

/// Members that appear as attributes but are stored elsewhere. The dimensions count as one attribute anyway.
const APART: [&str; 2] = ["_ARRAY_DIMENSIONS", "_FillValue"];

/// Opens all variables. The checksum counts their attributes and lengths; the names of the dimensions count
/// as one attribute.
pub fn open(op: &Op) -> Result<Outcome> {
    let clock = Clock::start();
    let file = OpenOptions::new().open(Place::url(op.url()))?;
    let model = file.model();
    let mut sum = 0;
    for (id, var) in model.vars() {
        let shown = var.atts.keys().filter(|name| !APART.contains(&name.as_str())).count() as u64;
        sum += (shown + 1) * 1000 + model.shape(id)?[0];
    }
    let mut done = clock.stop().times(op.nvars);
    done.checksum = sum.to_string();
    Ok(done)
}

/// Whether the last segment of a key is the name of a metadata document.
fn is_document(name: &str) -> bool {
    name.starts_with('.') || name == "zarr.json"
}

pub fn list(op: &Op) -> Result<Outcome> {
    let clock = Clock::start();
    let registry = nczarr::registry()?;
    let (target, options) = (nczarr_url_infer::parse(&op.url())?, Options::default());
    let request = OpenRequest::new(&target, &options, &registry);
    let map = registry.open_map(&request)?;
    let keys = map.keys(&Key::new("v")?)?;
    let chunks = keys.iter().filter(|key| !is_document(key.name())).count() as u64;
    let mut done = clock.stop().times(chunks);
    done.checksum = chunks.to_string();
    Ok(done)
}
