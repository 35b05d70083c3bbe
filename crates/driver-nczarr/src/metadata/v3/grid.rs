//! The `chunk_grid` member of Zarr V3: the shape of all chunks, or the edges of each if they differ
//! ([`AxisEdges`]). The grids of the registry give edges.
//!
//! Source: Zarr V3 core specification.

use std::sync::Arc;

use nczarr_codec::AxisEdges;
use nczarr_dispatch::Registry;
use nczarr_model::{Error, ErrorKind, Result};

use super::types::{extension, object};
use crate::metadata::json::ObjectMembers;
use crate::metadata::members::{bad_member, note_problem, sizes};

/// A parsed chunk grid.
#[derive(Debug)]
pub(super) struct ParsedGrid {
    /// The chunk shape; without a common shape the longest edge along each dimension.
    pub(super) chunks: Vec<u64>,
    /// The edges along each dimension, if chunks have no common shape.
    pub(super) axes: Option<Arc<[AxisEdges]>>,
}

/// Parses the grid of an array of this shape; `None` and a problem for an unsupported grid.
///
/// # Errors
/// [`ErrorKind::NcZarr`] with the member if it is not a grid.
pub(super) fn read(
    raw: &ObjectMembers<'_>,
    shape: &[u64],
    rank_limit: usize,
    registry: &Registry,
    problem: &mut Option<Error>,
) -> Result<Option<ParsedGrid>> {
    let at = |error: Error| error.at("member \"chunk_grid\"");
    let none = ObjectMembers::new();
    let found = raw.get("chunk_grid").ok_or_else(|| bad_member("chunk_grid", "a grid", None))?;
    let (name, configuration) = extension(found, &none).map_err(at)?;
    if name == "regular" {
        let chunks = sizes(configuration, "chunk_shape", rank_limit).map_err(at)?;
        return Ok(Some(ParsedGrid { chunks, axes: None }));
    }
    let Ok(class) = registry.chunk_grid(name) else {
        note_problem(problem, at(ErrorKind::NcZarr.context(format!("{name:?} is not a known chunk grid"))));
        return Ok(None);
    };
    match class.edges(&object(configuration), shape).and_then(|axes| checked(axes, shape)) {
        Ok(axes) => {
            let chunks = axes.iter().map(AxisEdges::longest).collect();
            Ok(Some(ParsedGrid { chunks, axes: Some(axes.into()) }))
        }
        Err(error) => {
            note_problem(problem, at(error));
            Ok(None)
        }
    }
}

/// Checks that edges cover an array.
fn checked(axes: Vec<AxisEdges>, shape: &[u64]) -> Result<Vec<AxisEdges>> {
    if axes.len() != shape.len() {
        return Err(ErrorKind::NcZarr.context(format!(
            "the grid has {} dimensions, \"shape\" has {}",
            axes.len(),
            shape.len()
        )));
    }
    let is_short = |(axis, &len): (&AxisEdges, &u64)| {
        len.checked_sub(1).is_some_and(|last| axis.at(last).index >= axis.count())
    };
    match axes.iter().zip(shape).position(is_short) {
        Some(dim) => {
            Err(ErrorKind::NcZarr
                .context(format!("along dimension {dim}, the chunks do not cover the array")))
        }
        None => Ok(axes),
    }
}
