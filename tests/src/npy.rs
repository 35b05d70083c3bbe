//! The `.npy` file format, versions 1 to 3, C order: just enough to read expected values.
//!
//! Source: NumPy's `numpy.lib.format`.

use nczarr::model::{TimeStep, TimeUnit};
use serde_json::Value;

/// The array in a `.npy` file.
#[derive(Debug, Clone, PartialEq)]
pub struct Npy {
    /// The type in NumPy's notation: `<f8`, `|S5`, or a list for a record.
    pub descr: String,
    /// The shape.
    pub shape: Vec<u64>,
    /// The stored elements in C order.
    pub data: Vec<u8>,
}

impl Npy {
    /// Parses the bytes of a file.
    ///
    /// # Errors
    /// Returns a description of the format error.
    pub fn parse(bytes: &[u8]) -> Result<Self, String> {
        let rest = bytes.strip_prefix(b"\x93NUMPY").ok_or("no magic")?;
        let (&[major, _minor], rest) = rest.split_first_chunk().ok_or("no version")?;
        let (len, rest) = if major == 1 {
            let (len, rest) = rest.split_first_chunk().ok_or("no header length")?;
            (usize::from(u16::from_le_bytes(*len)), rest)
        } else {
            let (len, rest) = rest.split_first_chunk().ok_or("no header length")?;
            (u32::from_le_bytes(*len) as usize, rest)
        };
        let (header, data) = rest.split_at_checked(len).ok_or("header cut short")?;
        let header = std::str::from_utf8(header).map_err(|error| error.to_string())?;
        if !member(header, "fortran_order")?.starts_with("False") {
            return Err("not in C order".to_owned());
        }
        let descr = member(header, "descr")?;
        let descr = match descr.strip_prefix('\'') {
            Some(text) => text.split_once('\'').ok_or("descr is not closed")?.0,
            None => descr.split_once(", 'fortran_order'").map_or(descr, |(list, _)| list),
        };
        let (shape, _) = member(header, "shape")?
            .strip_prefix('(')
            .and_then(|shape| shape.split_once(')'))
            .ok_or("shape is no tuple")?;
        let shape = shape
            .split(',')
            .map(str::trim)
            .filter(|len| !len.is_empty())
            .map(|len| len.parse::<u64>().map_err(|error| error.to_string()))
            .collect::<Result<_, _>>()?;
        Ok(Self { descr: descr.to_owned(), shape, data: data.to_vec() })
    }

    /// Byte order, kind and size of a plain type such as `<f8`.
    pub fn plain(&self) -> Option<(char, char, usize)> {
        let mut chars = self.descr.chars();
        let (order, kind) = (chars.next()?, chars.next()?);
        Some((order, kind, chars.as_str().parse().ok()?))
    }

    /// The unit of a time type such as `<M8[25us]`.
    pub fn time(&self) -> Option<TimeUnit> {
        let span = self.descr.get(1..2)? == "m";
        let rest = self.descr.get(1..)?.strip_prefix(['M', 'm'])?.strip_prefix('8')?;
        let Some(unit) = rest.strip_prefix('[').and_then(|unit| unit.strip_suffix(']')) else {
            return rest.is_empty().then_some(TimeUnit { span, step: None });
        };
        let (times, code) = unit.split_at(unit.bytes().take_while(u8::is_ascii_digit).count());
        let times = if times.is_empty() { 1 } else { times.parse().ok()? };
        Some(TimeUnit { span, step: Some((times, TimeStep::from_code(code)?)) })
    }

    /// The elements of a record type. Every field is in this machine's byte order.
    ///
    /// # Errors
    /// Fails if it is not a record type, or if a field has an unsupported type.
    pub fn record(&self) -> Result<Vec<u8>, String> {
        // The list is Python syntax. Other brackets and quotes turn it into JSON.
        let json = self.descr.replace('(', "[").replace(')', "]").replace('\'', "\"").replace(",]", "]");
        let list = serde_json::from_str(&json).map_err(|error| format!("{}: {error}", self.descr))?;
        let mut sizes = Vec::new();
        runs(&list, &mut sizes)?;
        let mut bytes = self.data.clone();
        let mut rest = &mut bytes[..];
        while !rest.is_empty() {
            for &(size, count, big) in &sizes {
                let (run, more) =
                    rest.split_at_mut_checked(size * count).ok_or("not a whole number of records")?;
                if big != cfg!(target_endian = "big") {
                    run.chunks_mut(size).for_each(<[u8]>::reverse);
                }
                rest = more;
            }
        }
        Ok(bytes)
    }

    /// The elements of a text type (`S` or `U`), without the padding zeros.
    ///
    /// # Errors
    /// Fails if it is not a text type, or if a code point is not valid.
    pub fn texts(&self) -> Result<Vec<Vec<u8>>, String> {
        let width_of = |size| usize::max(size, 1);
        match self.plain() {
            Some((_, 'S', size)) => {
                Ok(self.data.chunks(width_of(size)).map(|item| trimmed(item).to_vec()).collect())
            }
            Some((order, 'U', size)) => {
                self.data.chunks(width_of(size) * 4).map(|item| utf8(item, order == '>')).collect()
            }
            _ => Err(format!("{} is no text type", self.descr)),
        }
    }
}

/// Collects size, number and byte order for each run of numbers in a record.
fn runs(list: &Value, sizes: &mut Vec<(usize, usize, bool)>) -> Result<(), String> {
    for field in list.as_array().ok_or("no list of fields")? {
        let count = match &field[2] {
            Value::Null => 1,
            Value::Number(count) => count.as_u64().unwrap_or(0) as usize,
            shape => {
                shape.as_array().into_iter().flatten().map(|len| len.as_u64().unwrap_or(0) as usize).product()
            }
        };
        let Some(dtype) = field[1].as_str() else {
            for _ in 0..count {
                runs(&field[1], sizes)?;
            }
            continue;
        };
        let (order, kind) = (dtype.starts_with('>'), dtype.get(1..2).unwrap_or(""));
        let size: usize =
            dtype.get(2..).and_then(|size| size.parse().ok()).ok_or_else(|| format!("field {field}"))?;
        sizes.push(match kind {
            "S" | "V" => (1, size * count, false),
            "U" => (4, size * count, order),
            "c" => (size / 2, 2 * count, order),
            "f" if size == 2 => return Err(format!("field {field}")),
            _ => (size, count, order),
        });
    }
    Ok(())
}

fn trimmed(item: &[u8]) -> &[u8] {
    &item[..item.iter().rposition(|&byte| byte != 0).map_or(0, |last| last + 1)]
}

fn utf8(item: &[u8], big_endian: bool) -> Result<Vec<u8>, String> {
    let points = item
        .as_chunks()
        .0
        .iter()
        .map(|&point| if big_endian { u32::from_be_bytes(point) } else { u32::from_le_bytes(point) });
    let text: Option<String> = points.map(char::from_u32).collect();
    Ok(trimmed(text.ok_or("not a code point")?.as_bytes()).to_vec())
}

fn member<'h>(header: &'h str, name: &str) -> Result<&'h str, String> {
    let (_, value) = header.split_once(&format!("'{name}':")).ok_or_else(|| format!("no {name}"))?;
    Ok(value.trim_start())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn file(header: &str, data: &[u8]) -> Vec<u8> {
        let mut bytes = b"\x93NUMPY\x01\x00".to_vec();
        bytes.extend((header.len() as u16).to_le_bytes());
        bytes.extend(header.as_bytes());
        bytes.extend(data);
        bytes
    }

    #[test]
    fn a_file_is_its_header_and_the_bytes_behind() {
        let header = "{'descr': '<i2', 'fortran_order': False, 'shape': (2, 1), }\n";
        let npy = Npy::parse(&file(header, &[1, 0, 2, 0])).unwrap();
        assert_eq!((npy.plain(), npy.shape, npy.data), (Some(('<', 'i', 2)), vec![2, 1], vec![1, 0, 2, 0]));
        let scalar =
            Npy::parse(&file("{'descr': '|S3', 'fortran_order': False, 'shape': (), }", b"ab\0")).unwrap();
        assert_eq!((scalar.texts().unwrap(), scalar.shape), (vec![b"ab".to_vec()], vec![]));
        let text = Npy::parse(&file(
            "{'descr': '>U2', 'fortran_order': False, 'shape': (1,), }",
            &[0, 0, 0, 65, 0, 0, 0, 0],
        ));
        assert_eq!(text.unwrap().texts().unwrap(), [b"A".to_vec()]);
        assert!(Npy::parse(b"\x93NUMPY\x01").is_err());
        assert!(Npy::parse(&file("{'descr': '<i2', 'fortran_order': True, 'shape': (2,), }", &[])).is_err());
    }
}
