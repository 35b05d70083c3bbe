//! `nczarr-plugin-host PLUGIN`: loads one filter plugin and serves the requests on its standard input, a
//! socket, until that ends. The crate's library starts it; users do not.
#![deny(unsafe_code)]

#[cfg(unix)]
mod host;

#[cfg(unix)]
fn main() -> std::process::ExitCode {
    host::run()
}

#[cfg(not(unix))]
fn main() -> std::process::ExitCode {
    eprintln!("nczarr-plugin-host: filter plugins need a system of the Unix family");
    std::process::ExitCode::FAILURE
}
