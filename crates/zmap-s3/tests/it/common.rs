//! A server, and maps of it.

use std::sync::atomic::{AtomicU32, Ordering};
use std::time::Duration;

use nczarr_zmap_s3::{Access, S3Map};
use s3_server::Server;

/// The environment variables for the map.
pub const KEYS: &[(&str, &str)] = &[("AWS_ACCESS_KEY_ID", "key"), ("AWS_SECRET_ACCESS_KEY", "secret")];

/// Access to a dataset of a server, with short pauses.
pub fn access(server: &Server, name: &str) -> Access {
    access_as(&format!("{}/bucket/{name}#mode=s3", server.url()), KEYS)
}

/// Access to a URL, with its own environment.
pub fn access_as(url: &str, variables: &[(&str, &str)]) -> Access {
    let target = nczarr_url_infer::parse(url).unwrap();
    let mut access = Access::with_variables(&target, &|name| {
        let found = variables.iter().find(|(key, _)| *key == name).map(|(_, value)| (*value).to_owned());
        found.or_else(|| {
            (name == "NCRCENV_IGNORE" && !variables.iter().any(|(key, _)| key.starts_with("NCRCENV")))
                .then(|| "1".to_owned())
        })
    })
    .unwrap();
    access.retries.pause = Duration::from_millis(1);
    access
}

/// Makes a new dataset.
pub fn new(server: &Server) -> S3Map {
    static NUMBER: AtomicU32 = AtomicU32::new(0);
    let name = format!("set{}", NUMBER.fetch_add(1, Ordering::Relaxed));
    S3Map::open(access(server, &name), true).unwrap()
}

/// A URL with all settings, independent of the environment.
pub fn url(server: &Server, name: &str, modes: &str) -> String {
    format!("http://key:secret@{}/bucket/{name}#mode={modes},s3", server.host())
}

pub fn key(text: &str) -> nczarr_storage::Key {
    nczarr_storage::Key::new(text).unwrap()
}
