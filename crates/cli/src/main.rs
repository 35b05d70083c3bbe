//! The program `ncz` of this project, with the plugins of the library only.
#![forbid(unsafe_code)]

fn main() -> std::process::ExitCode {
    nczarr_cli::main()
}
