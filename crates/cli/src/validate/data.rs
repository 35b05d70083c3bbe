//! Checks that each variable can be read, and with `--deep` every chunk of it.

use nczarr::File;
use nczarr_cdl::{Blocks, DataSource as _};
use nczarr_model::{NcType, Result, Slab, TypeClass, VarId};

use super::Report;
use crate::source::DatasetSource;
use crate::stored::Stored;

/// The usual number of bytes per read of contiguous storage.
const BLOCK_BYTES: u64 = 4 << 20;
/// The assumed size of a string, in bytes.
const STRING_BYTES: u64 = 64;

/// Checks all variables.
///
/// # Errors
///
/// Errors of the data are findings, not errors here.
pub fn look(file: &File, deep: bool, report: &mut Report) -> Result<()> {
    let model = file.model();
    let mut source = DatasetSource::new(file.dataset().as_ref());
    for (id, var) in model.vars() {
        report.variables += 1;
        let path = model.var_path(id)?;
        if let Some(problem) = &var.problem {
            report.error("variable", &path, problem);
            continue;
        }
        if deep {
            let shape = model.shape(id)?;
            let varying = match var.xtype {
                NcType::User(ty) => matches!(model.user_type(ty)?.class, TypeClass::Vlen { .. }),
                _ => false,
            };
            let stored = file.dataset().data(id).and_then(|data| Stored::of(&*data, &shape));
            match stored {
                Ok(stored) => {
                    let checked =
                        CheckedVariable { id, ty: var.xtype, is_vlen: varying, path: &path, shape: &shape };
                    chunks(&mut source, checked, stored, report);
                }
                Err(error) => report.error("variable", &path, error),
            }
        }
    }
    Ok(())
}

/// A variable whose chunks are read.
struct CheckedVariable<'a> {
    id: VarId,
    ty: NcType,
    is_vlen: bool,
    path: &'a str,
    shape: &'a [u64],
}

/// Reads chunk by chunk, and goes on after unreadable ones.
fn chunks(
    source: &mut DatasetSource<'_>,
    variable: CheckedVariable<'_>,
    stored: Option<Stored>,
    report: &mut Report,
) {
    let CheckedVariable { id, ty, is_vlen: varying, path, shape } = variable;
    if shape.contains(&0) {
        return;
    }
    let item = source.item_size(ty).map_or(STRING_BYTES, |size| size.max(1) as u64);
    let chunk = source.chunk_shape(id).filter(|chunk| chunk.len() == shape.len() && !chunk.contains(&0));
    let mut look = |start: &[u64], count: &[u64]| {
        let read = if varying {
            source.read(id, start, count).map(drop)
        } else {
            source.values(id, &Slab::new(start, count)).map(drop)
        };
        report.chunks += 1;
        if let Err(error) = read {
            report.error("chunk", format!("{path}[{}]", join(start)), format_args!("{error:#}"));
        }
    };
    if let Some(stored) = stored {
        stored.boxes().for_each(|(start, count)| look(&start, &count));
        return;
    }
    let Some(chunk) = chunk else {
        // Contiguous storage is read in pieces all the same.
        Blocks::new(shape, None, (BLOCK_BYTES / item).max(1)).for_each(|(start, count)| look(&start, &count));
        return;
    };
    let mut start = vec![0; shape.len()];
    loop {
        let count: Vec<u64> = (0..shape.len()).map(|dim| chunk[dim].min(shape[dim] - start[dim])).collect();
        look(&start, &count);
        let Some(dim) = (0..shape.len()).rev().find(|&dim| chunk[dim] < shape[dim] - start[dim]) else {
            return;
        };
        start[dim] += chunk[dim];
        start[dim + 1..].fill(0);
    }
}

fn join(index: &[u64]) -> String {
    index.iter().map(u64::to_string).collect::<Vec<_>>().join(",")
}
