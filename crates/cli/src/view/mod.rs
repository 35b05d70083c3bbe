//! `ncz view`: displays data: a slab as a heat map or a line in the terminal, or a whole dataset as a page.

mod args;
mod colors;
mod field;
mod html;
mod terminal;

use std::io::IsTerminal as _;

use nczarr::{File, Place, Variable};
use nczarr_model::{ErrorKind, Result};

use crate::failure::{Failure, at, place};
use crate::output::Output;
pub use args::ViewArgs;
use field::Field;

/// Draws the data.
///
/// # Errors
///
/// Errors of reading and writing, and variables that are not arrays of numbers.
pub fn run(args: &ViewArgs) -> std::result::Result<(), Failure> {
    let at = at(&args.url);
    let file = nczarr::open(Place::url(&args.url)).map_err(&at)?;
    let (text, target) = match &args.html {
        Some(path) => (html::page(&file, &place(&args.url)).map_err(&at)?, Some(path.as_path())),
        None => (drawn(&file, args).map_err(&at)?, None),
    };
    let mut out = Output::to(target, &args.url, file.dataset().as_ref()).map_err(&at)?;
    out.put(text).and_then(|()| out.finish()).map_err(at)
}

fn drawn(file: &File, args: &ViewArgs) -> Result<String> {
    let var = match &args.var {
        Some(path) => file.root().variable(path)?,
        None => most_telling(file)?,
    };
    let colored = match args.color {
        Some(asked) => asked,
        None => std::io::stdout().is_terminal() && std::env::var_os("NO_COLOR").is_none(),
    };
    let is_line = var.rank() == 1;
    // A character shows two rows of a map, or two columns of a line.
    let rows = if colored { args.height * 2 } else { args.height };
    let columns = if is_line { args.width * 2 } else { args.width };
    let field = Field::of(file, &var, &args.at, [rows.max(1), columns.max(1)])?;
    Ok(terminal::draw(&field, [args.width, args.height], colored))
}

/// Returns the variable with the most dimensions that is not text; of several, the first.
fn most_telling(file: &File) -> Result<Variable> {
    let model = file.model();
    let drawable = model.vars().filter(|(id, var)| {
        var.xtype.is_numeric() && model.shape(*id).is_ok_and(|shape| !shape.is_empty() && !shape.contains(&0))
    });
    let best = drawable
        .map(|(id, var)| (var.dims.len(), id))
        .reduce(|best, next| if next.0 > best.0 { next } else { best });
    match best {
        Some((_, id)) => file.variable_by_id(id),
        None => Err(ErrorKind::NotVar.context("the dataset contains no array of numbers")),
    }
}
