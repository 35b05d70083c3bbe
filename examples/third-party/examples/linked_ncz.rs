//! An `ncz` with linked plugins: `use` links their crate, which registers them.

use std::process::ExitCode;

use third_party as _;

fn main() -> ExitCode {
    nczarr_cli::main()
}
