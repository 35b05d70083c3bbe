//! The `chunk_grid` member of Zarr V3: the shape of all chunks, or the edges of each if they differ
//! ([`AxisEdges`]).
//!
//! Source: Zarr V3 core specification; the chunk grid `rectilinear` of the Zarr extensions.

use std::sync::Arc;

use nczarr_model::{Error, ErrorKind, Result};

use super::types::{extension, short};
use crate::metadata::json::{ObjectMembers, Value};
use crate::metadata::members::{bad_member, note_problem, sizes};

/// A parsed chunk grid.
#[derive(Debug)]
pub(super) struct ParsedGrid {
    /// The chunk shape; in a rectilinear grid the longest edge along each dimension.
    pub(super) chunks: Vec<u64>,
    /// The edges along each dimension of a rectilinear grid.
    pub(super) axes: Option<Arc<[AxisEdges]>>,
}

/// The edges of the chunks along one dimension, as runs of equal ones, so that many chunks take no memory.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct AxisEdges {
    /// At least one; contiguous.
    runs: Vec<EdgeRun>,
}

/// Consecutive chunks of the same length.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
struct EdgeRun {
    /// The length of each, at least 1.
    edge: u64,
    /// The grid index of the first one.
    index: u64,
    /// The first element.
    start: u64,
    /// The number of chunks.
    count: u64,
}

/// One chunk along one dimension.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct AxisChunk {
    /// The grid index.
    pub(crate) index: u64,
    /// The first element.
    pub(crate) start: u64,
    /// The length.
    pub(crate) len: u64,
}

impl AxisEdges {
    /// Makes edges from pairs of length and count, which must cover `len` elements.
    fn new(pairs: impl Iterator<Item = Result<(u64, u64)>>, len: u64) -> Result<Self> {
        let mut runs = Vec::new();
        let (mut index, mut start) = (0_u64, 0_u64);
        for pair in pairs {
            let (edge, count) = pair?;
            runs.push(EdgeRun { edge, index, start, count });
            let end = edge.checked_mul(count).and_then(|size| start.checked_add(size));
            let too_long = || ErrorKind::NcZarr.context("the edges have more than 2^64-1 elements");
            (index, start) = index.checked_add(count).zip(end).ok_or_else(too_long)?;
        }
        if start < len {
            return Err(ErrorKind::NcZarr.context(format!("the edges cover {start} of {len} elements")));
        }
        if runs.is_empty() {
            runs.push(EdgeRun { edge: 1, index: 0, start: 0, count: 0 });
        }
        Ok(Self { runs })
    }

    /// Parses the edges along a dimension of `len` elements: one length, or a list.
    fn read(value: &Value<'_>, len: u64) -> Result<Self> {
        let length = |value: &Value<'_>| value.as_u64().filter(|&len| len > 0);
        let wrong = |found: &Value<'_>| {
            ErrorKind::NcZarr.context(format!(
                "expected edges of at least 1, or lists of an edge and a count of at least 1, found {}",
                short(found)
            ))
        };
        let Some(items) = value.as_array() else {
            let edge = length(value).ok_or_else(|| wrong(value))?;
            // The last chunk may end beyond 2^64.
            return Ok(Self { runs: vec![EdgeRun { edge, index: 0, start: 0, count: len.div_ceil(edge) }] });
        };
        let pair = |item: &Value<'_>| match item.as_array() {
            Some([edge, count]) => length(edge).zip(length(count)).ok_or_else(|| wrong(item)),
            Some(_) => Err(wrong(item)),
            None => Ok((length(item).ok_or_else(|| wrong(item))?, 1)),
        };
        Self::new(items.iter().map(pair), len)
    }

    /// Returns the number of chunks.
    pub(crate) fn count(&self) -> u64 {
        self.runs.last().map_or(0, |run| run.index + run.count)
    }

    /// Returns the longest edge.
    fn longest(&self) -> u64 {
        self.runs.iter().map(|run| run.edge).max().unwrap_or(1)
    }

    /// Whether each edge is a multiple of `size`.
    pub(super) fn is_multiple_of(&self, size: u64) -> bool {
        self.runs.iter().all(|run| run.edge.is_multiple_of(size))
    }

    /// Returns the chunk of an element. Elements behind the last chunk lie in further chunks of its length,
    /// which are never stored.
    pub(crate) fn at(&self, element: u64) -> AxisChunk {
        let run = self.runs.partition_point(|run| run.start <= element).checked_sub(1);
        let Some(run) = run.and_then(|run| self.runs.get(run)) else {
            return AxisChunk { index: 0, start: 0, len: 1 };
        };
        let behind = (element - run.start) / run.edge;
        let index = run.index.saturating_add(behind);
        AxisChunk { index, start: run.start + behind * run.edge, len: run.edge }
    }
}

/// Parses the grid of an array of this shape; `None` and a problem for an unsupported grid.
///
/// # Errors
/// [`ErrorKind::NcZarr`] with the member if it is not a grid.
pub(super) fn read(
    raw: &ObjectMembers<'_>,
    shape: &[u64],
    rank_limit: usize,
    problem: &mut Option<Error>,
) -> Result<Option<ParsedGrid>> {
    let at = |error: Error| error.at("member \"chunk_grid\"");
    let none = ObjectMembers::new();
    let found = raw.get("chunk_grid").ok_or_else(|| bad_member("chunk_grid", "a grid", None))?;
    let (name, configuration) = extension(found, &none).map_err(at)?;
    match name {
        "regular" => {
            let chunks = sizes(configuration, "chunk_shape", rank_limit).map_err(at)?;
            return Ok(Some(ParsedGrid { chunks, axes: None }));
        }
        "rectilinear" => match axes(configuration, shape) {
            Ok(axes) => {
                return Ok(Some(ParsedGrid {
                    chunks: axes.iter().map(AxisEdges::longest).collect(),
                    axes: Some(axes.into()),
                }));
            }
            Err(error) => note_problem(problem, at(error)),
        },
        _ => note_problem(
            problem,
            at(ErrorKind::NcZarr.context(format!("{name:?} is not a known chunk grid"))),
        ),
    }
    Ok(None)
}

/// Parses the edges of a rectilinear grid.
fn axes(configuration: &ObjectMembers<'_>, shape: &[u64]) -> Result<Vec<AxisEdges>> {
    if configuration.get("kind").and_then(Value::as_str) != Some("inline") {
        return Err(bad_member("kind", "\"inline\"", configuration.get("kind")));
    }
    let found = configuration.get("chunk_shapes");
    let expected =
        || bad_member("chunk_shapes", &format!("edges for each of {} dimensions", shape.len()), found);
    let items =
        found.and_then(Value::as_array).filter(|items| items.len() == shape.len()).ok_or_else(expected)?;
    let axis = |(dim, (item, &len)): (usize, (&Value<'_>, &u64))| {
        AxisEdges::read(item, len)
            .map_err(|error| error.at(format_args!("member \"chunk_shapes\", dimension {dim}")))
    };
    items.iter().zip(shape).enumerate().map(axis).collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::metadata::json::parse;
    use nczarr_dispatch::Limits;

    fn axis(text: &str, len: u64) -> Result<AxisEdges> {
        AxisEdges::read(&parse(text.as_bytes(), &Limits::default()).unwrap(), len)
    }

    #[test]
    fn each_element_is_in_one_chunk() {
        let axis = axis("[[4, 2], 2, 1, [3, 2]]", 15).unwrap();
        assert_eq!((axis.count(), axis.longest()), (6, 4));
        let edges = [4, 4, 2, 1, 3, 3];
        let mut start = 0;
        for (index, len) in (0..).zip(edges) {
            for element in start..start + len {
                assert_eq!(axis.at(element), AxisChunk { index, start, len });
            }
            start += len;
        }
        assert!(axis.is_multiple_of(1) && !axis.is_multiple_of(2));
    }

    #[test]
    fn one_number_is_the_edge_of_all_chunks() {
        let axis = axis("4", 10).unwrap();
        assert_eq!((axis.count(), axis.at(9)), (3, AxisChunk { index: 2, start: 8, len: 4 }));
    }

    #[test]
    fn many_chunks_take_no_memory() {
        let axis = axis("[[1, 1000000000000000]]", 10).unwrap();
        assert_eq!(
            (axis.count(), axis.at(7)),
            (1_000_000_000_000_000, AxisChunk { index: 7, start: 7, len: 1 })
        );
    }

    #[test]
    fn other_numbers_are_refused() {
        for text in [
            "0",
            "-1",
            "1.5",
            "\"4\"",
            "null",
            "{}",
            "[0]",
            "[4, 0]",
            "[[4]]",
            "[[4, 0], 10]",
            "[[0, 4], 10]",
            "[[4, 2, 1], 10]",
            "[[4, [2]], 10]",
            "[4, 5]",
            "[]",
            "[[18446744073709551615, 2]]",
            "[18446744073709551615, 1]",
        ] {
            assert_eq!(axis(text, 10).unwrap_err().kind(), ErrorKind::NcZarr, "{text}");
        }
        assert_eq!(axis("[]", 0).unwrap().count(), 0);
    }
}
