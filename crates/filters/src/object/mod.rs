//! Codecs of Python objects: json2 and msgpack2; and pickle, which is refused.
//!
//! * Stored: one list of the elements, the type string (`|O`) and the shape
//! * The elements are a flat list, or nested by shape; a scalar has the shape `[]`
//!
//! Null decodes as empty text, because Python writes it for missing elements. Any other object decodes as its
//! JSON text. Encoding writes a flat list of text. Nested lists follow the indices, but the library that
//! wrote them reads them in the order of the array. Where these differ, they are refused.

mod json2;
mod msgpack;
mod msgpack2;
mod pickle;

pub use json2::Json2Class;
pub use msgpack2::Msgpack2Class;
pub use pickle::PickleClass;

use nczarr_codec::ElementChunk;
use nczarr_model::{Error, ErrorKind, NcString, Result};

/// One value of a list.
#[derive(Debug, PartialEq)]
enum ObjectNode {
    Text(NcString),
    Null,
    Number(u64),
    /// Another number, as JSON text.
    Token(String),
    Bool(bool),
    List(Vec<ObjectNode>),
    Map(Vec<(NcString, ObjectNode)>),
}

impl ObjectNode {
    fn kind(&self) -> &'static str {
        match self {
            Self::Text(_) => "text",
            Self::Null => "null",
            Self::Number(_) | Self::Token(_) => "a number",
            Self::Bool(_) => "a truth value",
            Self::List(_) => "a list",
            Self::Map(_) => "an object",
        }
    }

    /// Appends it as compact JSON.
    ///
    /// # Errors
    /// If it contains text that is not UTF-8.
    fn json(&self, out: &mut String) -> std::result::Result<(), String> {
        let quoted = |text: &NcString, out: &mut String| -> std::result::Result<(), String> {
            let text =
                std::str::from_utf8(text.as_bytes()).map_err(|_| "text in it is not UTF-8".to_owned())?;
            out.push_str(&serde_json::to_string(text).map_err(|error| error.to_string())?);
            Ok(())
        };
        match self {
            Self::Text(text) => quoted(text, out)?,
            Self::Null => out.push_str("null"),
            Self::Number(number) => out.push_str(&number.to_string()),
            Self::Token(number) => out.push_str(number),
            Self::Bool(value) => out.push_str(if *value { "true" } else { "false" }),
            Self::List(list) => {
                out.push('[');
                for (i, node) in list.iter().enumerate() {
                    out.push_str(if i > 0 { "," } else { "" });
                    node.json(out)?;
                }
                out.push(']');
            }
            Self::Map(map) => {
                out.push('{');
                for (i, (name, node)) in map.iter().enumerate() {
                    out.push_str(if i > 0 { "," } else { "" });
                    quoted(name, out)?;
                    out.push(':');
                    node.json(out)?;
                }
                out.push('}');
            }
        }
        Ok(())
    }
}

/// Formats a float as Python does in JSON, including infinity and NaN.
fn token(value: f64) -> String {
    match serde_json::Number::from_f64(value) {
        Some(number) => number.to_string(),
        None if value.is_nan() => "NaN".to_owned(),
        None if value > 0.0 => "Infinity".to_owned(),
        None => "-Infinity".to_owned(),
    }
}

/// Memory that may still be allocated.
struct MemoryBudget {
    limit: usize,
    left: usize,
}

impl MemoryBudget {
    fn new(limit: usize) -> Self {
        Self { limit, left: limit }
    }

    /// Allocates memory for a value with this many bytes of text.
    fn take(&mut self, text: usize) -> std::result::Result<(), String> {
        let need = size_of::<ObjectNode>().saturating_add(text);
        self.left = self
            .left
            .checked_sub(need)
            .ok_or_else(|| format!("the values exceed the limit of {} bytes", self.limit))?;
        Ok(())
    }
}

/// Whether nested lists are in the order of the elements. The codec learns it about its chunks.
#[derive(Debug, Clone, Copy, Default)]
struct NestedOrder {
    first_fastest: bool,
}

impl NestedOrder {
    fn of(chunk: &ElementChunk<'_>) -> Self {
        Self { first_fastest: chunk.first_fastest && chunk.shape.len() > 1 }
    }
}

/// Returns the elements of a stored list.
fn elements(
    name: &str,
    mut list: Vec<ObjectNode>,
    count: usize,
    order: NestedOrder,
) -> Result<Vec<NcString>> {
    let failed = |what: String| ErrorKind::Filter.context(format!("{name}: {what}"));
    let (shape, dtype) = (list.pop(), list.pop());
    let (Some(ObjectNode::List(shape)), Some(ObjectNode::Text(dtype))) = (shape, dtype) else {
        return Err(failed("expected a list that ends with a type and a shape".into()));
    };
    let text = dtype.as_bytes();
    if !matches!(text, b"|O" | b"O" | b"object") && !text.iter().take(2).any(|&byte| byte == b'U') {
        return Err(failed(format!("expected type |O, found {:?}", String::from_utf8_lossy(text))));
    }
    let lens = shape.iter().map(|len| match len {
        ObjectNode::Number(len) => usize::try_from(*len).ok(),
        _ => None,
    });
    let shape: Vec<usize> =
        lens.collect::<Option<_>>().ok_or_else(|| failed("expected a shape of whole numbers".into()))?;
    let found = shape.iter().try_fold(1usize, |product, &len| product.checked_mul(len));
    if found != Some(count) {
        return Err(failed(format!("expected {count} elements, found shape {shape:?}")));
    }
    if shape.len() > 1 && order.first_fastest {
        return Err(failed(format!(
            "nested lists of shape {shape:?} in an array of order F have no agreed meaning"
        )));
    }
    // Every element is a stored value, so the input limits this.
    let mut elements = Vec::new();
    // A scalar is a list of one.
    let shape = if shape.is_empty() { vec![1] } else { shape };
    flatten(name, list, &shape, &mut elements)?;
    Ok(elements)
}

fn flatten(name: &str, list: Vec<ObjectNode>, shape: &[usize], out: &mut Vec<NcString>) -> Result<()> {
    let failed = |what: String| -> Error { ErrorKind::Filter.context(format!("{name}: {what}")) };
    let Some((&len, inner)) = shape.split_first() else { return Ok(()) };
    if list.len() != len {
        return Err(failed(format!(
            "expected a list of {len} values at element {}, found {}",
            out.len(),
            list.len()
        )));
    }
    for node in list {
        match node {
            ObjectNode::List(list) if !inner.is_empty() => flatten(name, list, inner, out)?,
            ObjectNode::Text(text) if inner.is_empty() => out.push(text),
            ObjectNode::Null if inner.is_empty() => out.push(NcString::new()),
            other if inner.is_empty() => {
                let mut text = String::new();
                other.json(&mut text).map_err(|what| failed(format!("element {}: {what}", out.len())))?;
                out.push(text.into());
            }
            other => {
                let index = out.len();
                return Err(failed(format!("element {index}: expected a list, found {}", other.kind())));
            }
        }
    }
    Ok(())
}

/// Returns an element as text.
fn text<'e>(name: &str, index: usize, element: &'e NcString) -> Result<&'e str> {
    std::str::from_utf8(element.as_bytes()).map_err(|error| {
        let at = error.valid_up_to();
        ErrorKind::Filter
            .context(format!("{name}: element {index} is not UTF-8 at byte {at}"))
            .caused_by(error)
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn list(texts: &[&str]) -> Vec<ObjectNode> {
        texts.iter().map(|&text| ObjectNode::Text(text.into())).collect()
    }

    fn stored(mut values: Vec<ObjectNode>, dtype: &str, shape: &[u64]) -> Vec<ObjectNode> {
        values.push(ObjectNode::Text(dtype.into()));
        values.push(ObjectNode::List(shape.iter().map(|&len| ObjectNode::Number(len)).collect()));
        values
    }

    #[test]
    fn lists_of_every_shape() {
        let order = NestedOrder::default();
        let texts = |texts: &[&str]| texts.iter().map(|&text| NcString::from(text)).collect::<Vec<_>>();
        assert_eq!(
            elements("x", stored(list(&["a", "b"]), "|O", &[2]), 2, order).unwrap(),
            texts(&["a", "b"])
        );
        assert_eq!(elements("x", stored(list(&["a"]), "|O", &[]), 1, order).unwrap(), texts(&["a"]));
        assert_eq!(elements("x", stored(vec![], "|O", &[0]), 0, order).unwrap(), texts(&[]));
        assert_eq!(
            elements("x", stored(vec![ObjectNode::Null], "<U3", &[1]), 1, order).unwrap(),
            texts(&[""])
        );
        let nested = || {
            stored(
                vec![ObjectNode::List(list(&["a", "b"])), ObjectNode::List(list(&["c", "d"]))],
                "|O",
                &[2, 2],
            )
        };
        assert_eq!(elements("x", nested(), 4, order).unwrap(), texts(&["a", "b", "c", "d"]));
        let first_fastest = NestedOrder::of(&ElementChunk { shape: &[2, 2], first_fastest: true });
        assert!(elements("x", nested(), 4, first_fastest).unwrap_err().to_string().contains("order F"));
        // Flat lists are in the order of the array, and one dimension has one order.
        let flat = stored(list(&["a", "b"]), "|O", &[2]);
        assert_eq!(elements("x", flat, 2, first_fastest).unwrap(), texts(&["a", "b"]));
    }

    #[test]
    fn other_objects_are_read_as_json() {
        let map = ObjectNode::Map(vec![
            ("a \"b\"".into(), ObjectNode::Null),
            ("c".into(), ObjectNode::List(vec![ObjectNode::Bool(true)])),
        ]);
        for (node, text) in [
            (ObjectNode::Bool(true), "true"),
            (ObjectNode::Bool(false), "false"),
            (ObjectNode::Number(3), "3"),
            (ObjectNode::Token(token(-1.5)), "-1.5"),
            (ObjectNode::Token(token(f64::NAN)), "NaN"),
            (ObjectNode::List(vec![]), "[]"),
            (ObjectNode::List(list(&["a", "ü"])), "[\"a\",\"ü\"]"),
            (map, r#"{"a \"b\"":null,"c":[true]}"#),
        ] {
            let stored = stored(vec![node], "|O", &[1]);
            assert_eq!(elements("x", stored, 1, NestedOrder::default()).unwrap(), [NcString::from(text)]);
        }
    }

    #[test]
    fn elements_that_are_no_text_are_errors() {
        let one = |node| stored(vec![node], "|O", &[1]);
        for (list, count, about) in [
            (vec![], 0, "ends with a type and a shape"),
            (list(&["a", "|O"]), 1, "ends with a type and a shape"),
            (stored(list(&["a"]), "<i4", &[1]), 1, "expected type |O"),
            (stored(list(&["a"]), "|O", &[2]), 1, "expected 1 elements, found shape [2]"),
            (stored(list(&["a"]), "|O", &[2]), 2, "list of 2 values"),
            (stored(list(&["a"]), "|O", &[u64::MAX, u64::MAX]), 1, "found shape"),
            (stored(list(&["a", "b"]), "|O", &[1, 2]), 2, "list of 1 values at element 0, found 2"),
            (stored(list(&["a"]), "|O", &[1, 1]), 1, "element 0: expected a list, found text"),
            (
                one(ObjectNode::List(vec![ObjectNode::Text(NcString::from(&b"\xff"[..]))])),
                1,
                "element 0: text in it is not UTF-8",
            ),
        ] {
            let error = elements("x", list, count, NestedOrder::default()).unwrap_err();
            assert!(error.kind() == ErrorKind::Filter && error.to_string().contains(about), "{error}");
        }
    }
}
