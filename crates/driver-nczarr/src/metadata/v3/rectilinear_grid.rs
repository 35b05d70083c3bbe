//! [`RectilinearGrid`]: the chunk grid whose edges are listed along each dimension.
//!
//! Source: the chunk grid `rectilinear` of the Zarr extensions.

use nczarr_codec::{AxisEdges, ChunkGridClass, ChunkGridPlugin, Json, inventory};
use nczarr_model::{ErrorKind, Result};

/// Reads the grid `rectilinear`.
pub struct RectilinearGrid;

inventory::submit! { ChunkGridPlugin(&RectilinearGrid) }

impl ChunkGridClass for RectilinearGrid {
    fn names(&self) -> &'static [&'static str] {
        &["rectilinear"]
    }

    fn about(&self) -> &'static str {
        "chunks whose edges are listed along each dimension; kind, chunk_shapes"
    }

    fn edges(&self, configuration: &Json, shape: &[u64]) -> Result<Vec<AxisEdges>> {
        let wrong = |name: &str, expected: &str, found: Option<&Json>| {
            let found = found.map_or("nothing".to_owned(), short);
            ErrorKind::NcZarr.context(format!("member \"{name}\": expected {expected}, found {found}"))
        };
        if configuration.get("kind").and_then(Json::as_str) != Some("inline") {
            return Err(wrong("kind", "\"inline\"", configuration.get("kind")));
        }
        let found = configuration.get("chunk_shapes");
        let items = found.and_then(Json::as_array).filter(|items| items.len() == shape.len());
        let items = items.ok_or_else(|| {
            wrong("chunk_shapes", &format!("edges for each of {} dimensions", shape.len()), found)
        })?;
        let axis = |(dim, (item, &len)): (usize, (&Json, &u64))| {
            axis_edges(item, len)
                .map_err(|error| error.at(format_args!("member \"chunk_shapes\", dimension {dim}")))
        };
        items.iter().zip(shape).enumerate().map(axis).collect()
    }
}

/// Parses the edges along a dimension of `len` elements: one length, or a list.
fn axis_edges(value: &Json, len: u64) -> Result<AxisEdges> {
    let wrong = |found: &Json| {
        ErrorKind::NcZarr.context(format!(
            "expected edges of at least 1, or lists of an edge and a count of at least 1, found {}",
            short(found)
        ))
    };
    let Some(items) = value.as_array() else {
        return AxisEdges::equal(length(value).ok_or_else(|| wrong(value))?, len);
    };
    let pair = |item: &Json| match item.as_array().map(Vec::as_slice) {
        Some([edge, count]) => length(edge).zip(length(count)).ok_or_else(|| wrong(item)),
        Some(_) => Err(wrong(item)),
        None => Ok((length(item).ok_or_else(|| wrong(item))?, 1)),
    };
    AxisEdges::new(items.iter().map(pair), len)
}

/// Returns a length of at least 1; some writers spell it with a fraction of 0.
fn length(value: &Json) -> Option<u64> {
    let whole =
        |number: f64| (number.fract() == 0.0 && (1.0..9.0e15).contains(&number)).then_some(number as u64);
    value.as_u64().or_else(|| value.as_f64().and_then(whole)).filter(|&len| len > 0)
}

fn short(value: &Json) -> String {
    let mut text = value.to_string();
    if let Some((cut, _)) = text.char_indices().nth(100) {
        text.truncate(cut);
        text.push('…');
    }
    text
}

#[cfg(test)]
mod tests {
    use nczarr_codec::AxisChunk;

    use super::*;

    fn axis(text: &str, len: u64) -> Result<AxisEdges> {
        let configuration = format!(r#"{{"kind": "inline", "chunk_shapes": [{text}]}}"#);
        let edges = RectilinearGrid.edges(&serde_json::from_str(&configuration).unwrap(), &[len])?;
        Ok(edges.into_iter().next().unwrap())
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
