//! Gives the shared library the name that programs for netCDF-C ask the dynamic linker for.

fn main() {
    println!("cargo:rerun-if-changed=build.rs");
    if std::env::var("CARGO_CFG_TARGET_OS").is_ok_and(|system| system == "linux") {
        println!("cargo:rustc-cdylib-link-arg=-Wl,-soname,libnetcdf.so.22");
    }
}
