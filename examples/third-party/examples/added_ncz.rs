//! An `ncz` with plugins that it adds when it starts, in place of linked ones of the same names.

use std::process::ExitCode;

use third_party::{Int4, PcodecClass, Ramp, Veils, XorClass};

fn main() -> ExitCode {
    nczarr_cli::main_with(|registry| {
        let registry = registry.with_driver(Ramp).with_map(Veils).with_filter(XorClass);
        registry.with_filter(PcodecClass).with_data_type(Int4)
    })
}
