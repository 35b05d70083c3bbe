//! A server that does not answer fails after the configured time, however a dataset is named.

use std::time::{Duration, Instant};

use s3_server::{Config, Fault, Rule, Server};

use crate::{ncz, out};

/// Longer commands ignore the time limit of 2 s, however slow the machine.
const LONGEST: Duration = Duration::from_secs(15);

#[test]
fn commands_end_within_the_configured_time() {
    let plugins = out(&["plugins"]);
    let has = |name: &str| plugins.lines().any(|line| line.starts_with(&format!("map           {name}")));
    if !has("s3") || !has("http") {
        return;
    }
    let folder = tempfile::tempdir().unwrap();
    let rc = folder.path().join("rc");
    std::fs::write(&rc, "HTTP.TIMEOUT=2\n").unwrap();
    let cdl = folder.path().join("a.cdl");
    std::fs::write(&cdl, "netcdf a { dimensions: x = 4; variables: int v(x); data: v = 1, 2, 3, 4; }")
        .unwrap();
    let server = Server::start(Config::default().web("web"));
    server.fault(Rule::new(Fault::Stall));
    let (s3, web) = (format!("http://key:secret@{}/bucket", server.host()), format!("{}/web", server.url()));
    let mut commands = Vec::new();
    for modes in
        ["zarr,s3", "nczarr,s3", "zarr,v3,s3", "zarr,v2,consolidated,s3", "bytes,s3", "zarr,zip,s3", "s3"]
    {
        commands.push(vec!["info".to_owned(), format!("{s3}/x#mode={modes}")]);
    }
    for modes in ["zarr", "nczarr", "bytes", "zarr,zip"] {
        commands.push(vec!["info".to_owned(), format!("{web}/x#mode={modes}")]);
    }
    commands.push(vec!["info".to_owned(), format!("{web}/x")]);
    let cdl = cdl.to_str().unwrap().to_owned();
    commands.push(vec!["gen".to_owned(), "-o".to_owned(), format!("{s3}/new#mode=nczarr,s3"), cdl]);
    commands.push(vec!["rm".to_owned(), format!("{s3}/x#mode=nczarr,s3")]);
    commands.push(vec!["map".to_owned(), "ls".to_owned(), format!("{s3}/x#mode=nczarr,s3")]);
    std::thread::scope(|scope| {
        for arguments in &commands {
            let rc = &rc;
            scope.spawn(move || {
                let since = Instant::now();
                let output = ncz()
                    .args(arguments)
                    .env_remove("NCRCENV_IGNORE")
                    .env("NCRCENV_RC", rc)
                    .output()
                    .unwrap();
                let (took, message) = (since.elapsed(), String::from_utf8_lossy(&output.stderr).into_owned());
                assert!(took < LONGEST, "{arguments:?}: {took:?}, {message}");
                assert!(!output.status.success(), "{arguments:?}: {message}");
            });
        }
    });
}
