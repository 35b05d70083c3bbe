//! An `ncz` with plugins that it adds when it starts, in place of linked ones of the same names.

use std::process::ExitCode;

use third_party::{Ramp, Veils, XorClass};

fn main() -> ExitCode {
    nczarr_cli::main_with(|registry| registry.with_driver(Ramp).with_map(Veils).with_filter(XorClass))
}
