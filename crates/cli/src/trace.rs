//! The log: its levels and its output.

use nczarr::dispatch::trace::{filter_of, set_log_level};

use crate::args::{Cli, Command};
use crate::failure::Failure;
use crate::map::MapCommand;

/// The level of `#log` in a URL.
const URL_LEVEL: i32 = 5;

/// Starts the log if the command line, the environment or a URL asks for it, in this order.
///
/// # Errors
///
/// If the environment variable is not a valid level.
pub fn start(cli: &Cli) -> Result<(), Failure> {
    let level = match cli.trace {
        Some(level) => Some(level),
        None => of_environment()?
            .or_else(|| cli.command.urls().iter().any(|url| asks_for_log(url)).then_some(URL_LEVEL)),
    };
    let Some(level) = level else { return Ok(()) };
    set_log_level(level);
    tracing_subscriber::fmt()
        .with_writer(std::io::stderr)
        // Write errors are ignored: work goes on without a reader.
        .log_internal_errors(false)
        .with_max_level(filter_of(level))
        .without_time()
        .init();
    Ok(())
}

fn of_environment() -> Result<Option<i32>, Failure> {
    let Some(value) = std::env::var_os("NCTRACING").filter(|value| !value.is_empty()) else {
        return Ok(None);
    };
    match value.to_str().and_then(|value| value.trim().parse().ok()) {
        Some(level) => Ok(Some(level)),
        None => {
            Err(Failure::Usage(format!("NCTRACING={}: not a log level (expected 1 to 9)", value.display())))
        }
    }
}

fn asks_for_log(url: &str) -> bool {
    nczarr_url_infer::parse(url).is_ok_and(|target| target.get("log").is_some())
}

impl Command {
    /// Returns the datasets of a command.
    fn urls(&self) -> Vec<&str> {
        match self {
            Self::Dump(args) => vec![&args.url],
            Self::Gen(args) => args.output.iter().map(String::as_str).collect(),
            Self::Copy(args) => vec![&args.source, &args.target],
            Self::Cat(args) => vec![&args.url],
            Self::Info(args) => vec![&args.url],
            Self::Explain(args) => vec![&args.url],
            Self::Repack(args) => vec![&args.url],
            Self::Rm(args) => vec![&args.url],
            Self::Diff(args) => vec![&args.left, &args.right],
            Self::Validate(args) => vec![&args.url],
            Self::View(args) => vec![&args.url],
            Self::Map(command) => match command {
                MapCommand::Ls { url, .. }
                | MapCommand::Cat { url, .. }
                | MapCommand::Put { url, .. }
                | MapCommand::Rm { url, .. } => vec![url],
            },
            Self::Plugins(_) | Self::Bench(_) | Self::Completions(_) | Self::Man(_) => Vec::new(),
        }
    }
}
