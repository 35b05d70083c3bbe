//! The program under another name: called `ncdump`, `ncgen` or `nccopy`, by a link or a copy, it takes the
//! command line of that tool.
//!
//! The flags are those of `ncz dump`, `gen` and `copy`, with the old tools' behaviour. They replace existing
//! targets. `ncgen` cuts long strings, only checks its text unless an output is asked for, and names its
//! output after the text file. A netCDF target is of the kind that the tool would choose, whatever the ending
//! of its name.

use std::ffi::{OsStr, OsString};
use std::path::Path;

use clap::{CommandFactory as _, FromArgMatches as _};

use crate::args::Cli;

/// The parsed command line. If an old tool is given a flag several times, the last one counts.
pub fn parse(given: impl IntoIterator<Item = OsString>) -> Cli {
    let given: Vec<OsString> = given.into_iter().collect();
    let count = given.len();
    let arguments = arguments(given);
    let mut command = Cli::command();
    if arguments.len() > count {
        for name in ["dump", "gen", "copy"] {
            command = command.mut_subcommand(name, |command| command.args_override_self(true));
        }
    }
    let parsed = Cli::from_arg_matches_mut(&mut command.clone().get_matches_from(arguments));
    parsed.unwrap_or_else(|error| error.format(&mut command).exit())
}

/// Returns the arguments for `ncz`: unchanged, or with a command and its flags before them.
fn arguments(mut given: Vec<OsString>) -> Vec<OsString> {
    let name = given
        .first()
        .and_then(|path| Path::new(path).file_stem())
        .and_then(OsStr::to_str)
        .unwrap_or_default();
    let flags: &[&str] = match name {
        "ncdump" => &["dump"],
        "ncgen" | "ncgen4" if makes_nothing(&given[1..]) => &["gen", "--check"],
        "ncgen" | "ncgen4" => &["gen", "--as-ncgen", "--clobber", "--truncate"],
        "nccopy" => &["copy", "--as-nccopy", "--clobber"],
        _ => return given,
    };
    given.splice(1..1, flags.iter().map(OsString::from));
    given
}

/// Returns whether no flag asks for output.
fn makes_nothing(arguments: &[OsString]) -> bool {
    !arguments.iter().filter_map(|argument| argument.to_str()).take_while(|argument| *argument != "--").any(
        |argument| {
            argument.strip_prefix('-').is_some_and(|flags| {
                flags.starts_with(['b', 'n', 'o', 'l', 'k', 'v', '3', '4', '5', '6', '7'])
                    || flags == "-clobber"
            })
        },
    )
}

#[cfg(test)]
mod tests {
    use super::*;

    fn given(line: &str) -> String {
        let all = arguments(line.split(' ').map(OsString::from).collect());
        all.iter().map(|argument| argument.to_string_lossy()).collect::<Vec<_>>().join(" ")
    }

    #[test]
    fn the_name_stands_for_a_command() {
        assert_eq!(given("ncz dump x"), "ncz dump x");
        assert_eq!(given("/usr/bin/ncdump -h x.nc"), "/usr/bin/ncdump dump -h x.nc");
        assert_eq!(given("ncdump.exe x.nc"), "ncdump.exe dump x.nc");
        assert_eq!(given("nccopy a b"), "nccopy copy --as-nccopy --clobber a b");
        assert_eq!(given("ncgen x.cdl"), "ncgen gen --check x.cdl");
        assert_eq!(
            given("ncgen -4 -lb -o u x.cdl"),
            "ncgen gen --as-ncgen --clobber --truncate -4 -lb -o u x.cdl"
        );
        assert_eq!(given("ncgen -b x.cdl"), "ncgen gen --as-ncgen --clobber --truncate -b x.cdl");
    }
}
