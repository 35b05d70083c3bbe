//! NumPy's file format.
//!
//! Source: numpy, `numpy.lib.format`: version 1.0, 2.0 for a long header, 3.0 for names beyond ASCII.

use nczarr_model::{ErrorKind, Model, NcType, Result, TypeClass};

const MAGIC: &[u8] = b"\x93NUMPY";
/// The elements start at a multiple of this.
const ALIGN: usize = 64;

/// The header of an array in C order. `descr` is a Python literal.
///
/// # Errors
/// `NC_EVARSIZE` if the header is longer than the format can say.
pub fn header(descr: &str, shape: &[u64]) -> Result<Vec<u8>> {
    let lens: Vec<String> = shape.iter().map(u64::to_string).collect();
    let shape = match lens.as_slice() {
        [len] => format!("({len},)"),
        lens => format!("({})", lens.join(", ")),
    };
    let dict = format!("{{'descr': {descr}, 'fortran_order': False, 'shape': {shape}, }}");
    // A line feed ends the header.
    let padded = |prefix: usize| (prefix + dict.len() + 1).next_multiple_of(ALIGN) - prefix;
    let mut out = MAGIC.to_vec();
    let short = u16::try_from(padded(MAGIC.len() + 4)).ok().filter(|_| dict.is_ascii());
    let len = match short {
        Some(len) => {
            out.extend_from_slice(&[1, 0]);
            out.extend_from_slice(&len.to_le_bytes());
            usize::from(len)
        }
        None => {
            let len = padded(MAGIC.len() + 6);
            let bytes = u32::try_from(len)
                .map_err(|error| ErrorKind::VarSize.context("a header for npy").caused_by(error))?
                .to_le_bytes();
            out.extend_from_slice(&[if dict.is_ascii() { 2 } else { 3 }, 0]);
            out.extend_from_slice(&bytes);
            len
        }
    };
    let end = out.len() + len;
    out.extend_from_slice(dict.as_bytes());
    out.resize(end - 1, b' ');
    out.push(b'\n');
    Ok(out)
}

/// Returns the type as a Python literal: numbers little-endian, text as single bytes, opaque elements as
/// bytes, compounds as records in the machine's byte order.
///
/// # Errors
///
/// `NC_EBADTYPE` if elements have no fixed size.
pub fn descr(model: &Model, ty: NcType) -> Result<String> {
    match ty {
        NcType::User(id) => match &model.user_type(id)?.class {
            TypeClass::Enum { base, .. } => descr(model, *base),
            TypeClass::Compound { .. } => record(model, ty, 0),
            _ => scalar(model, ty, '<').map(|text| quoted(&text)),
        },
        ty => scalar(model, ty, '<').map(|text| quoted(&text)),
    }
}

const NATIVE: char = if cfg!(target_endian = "big") { '>' } else { '<' };
/// Records nested deeper are taken for a cycle.
const MAX_DEPTH: usize = 64;

fn record(model: &Model, ty: NcType, depth: usize) -> Result<String> {
    let broken = |what: &str| ErrorKind::BadType.context(format!("compound type {what}"));
    let fields = super::fields(model, ty).ok_or_else(|| broken("without fields"))?;
    let size = model.type_size(ty)?.ok_or_else(|| broken("without a size"))?;
    if depth > MAX_DEPTH {
        return Err(broken("nested too deeply"));
    }
    let mut ordered: Vec<_> = fields.iter().collect();
    ordered.sort_by_key(|field| field.offset);
    let mut parts = Vec::new();
    let mut at = 0;
    let gap = |from: usize, to: usize, parts: &mut Vec<String>| match to.checked_sub(from) {
        Some(0) => Ok(()),
        Some(len) => {
            parts.push(format!("('', '|V{len}')"));
            Ok(())
        }
        None => Err(broken("whose fields overlap")),
    };
    for field in ordered {
        gap(at, field.offset, &mut parts)?;
        let item = model.type_size(field.ty)?.ok_or_else(|| broken("with a field of varying length"))?;
        let count = field.shape.iter().try_fold(1usize, |n, &len| n.checked_mul(len as usize));
        let len =
            count.and_then(|count| count.checked_mul(item)).and_then(|len| len.checked_add(field.offset));
        at = len.ok_or_else(|| broken("too large"))?;
        let form = match super::fields(model, field.ty) {
            Some(_) => record(model, field.ty, depth + 1)?,
            None => quoted(&scalar(model, field.ty, NATIVE)?),
        };
        let name = quoted(&field.name);
        parts.push(match field.shape.as_slice() {
            [] => format!("({name}, {form})"),
            shape => {
                let lens: Vec<String> = shape.iter().map(u32::to_string).collect();
                format!("({name}, {form}, ({},))", lens.join(", "))
            }
        });
    }
    gap(at, size, &mut parts)?;
    Ok(format!("[{}]", parts.join(", ")))
}

fn scalar(model: &Model, ty: NcType, order: char) -> Result<String> {
    Ok(match ty {
        NcType::Byte => "|i1".to_owned(),
        NcType::UByte => "|u1".to_owned(),
        NcType::Char => "|S1".to_owned(),
        NcType::Short => format!("{order}i2"),
        NcType::UShort => format!("{order}u2"),
        NcType::Int => format!("{order}i4"),
        NcType::UInt => format!("{order}u4"),
        NcType::Int64 => format!("{order}i8"),
        NcType::UInt64 => format!("{order}u8"),
        NcType::Float => format!("{order}f4"),
        NcType::Double => format!("{order}f8"),
        NcType::String => return Err(varying()),
        NcType::User(id) => match &model.user_type(id)?.class {
            TypeClass::Opaque { size } => format!("|V{size}"),
            TypeClass::Enum { base, .. } if base.is_atomic() => return scalar(model, *base, order),
            _ => return Err(varying()),
        },
    })
}

fn varying() -> nczarr_model::Error {
    ErrorKind::BadType.context("elements of varying length have no npy form; use --format json")
}

/// A Python string literal.
fn quoted(text: &str) -> String {
    format!("'{}'", text.replace('\\', "\\\\").replace('\'', "\\'").replace('\n', "\\n").replace('\r', "\\r"))
}

/// Turns native elements of a number type into little-endian ones.
pub fn to_little(ty: NcType, bytes: &mut [u8]) {
    if cfg!(target_endian = "big")
        && let Some(size @ 2..) = ty.size()
    {
        bytes.chunks_exact_mut(size).for_each(<[u8]>::reverse);
    }
}

#[cfg(test)]
mod tests {
    use nczarr_model::{Field, GroupId, UserType};

    use super::*;

    #[test]
    fn headers_end_where_elements_may_start() {
        for (descr, shape) in
            [("'<f8'", vec![2, 3]), ("'|S1'", vec![5]), ("'<i4'", vec![]), ("[('é', '<i4')]", vec![1])]
        {
            let header = header(descr, &shape).unwrap();
            assert_eq!(header.len() % ALIGN, 0);
            assert_eq!(header.last(), Some(&b'\n'));
            assert_eq!(header[6], if descr.is_ascii() { 1 } else { 3 });
        }
        let text = header("'<f8'", &[2, 3]).unwrap();
        let text = String::from_utf8_lossy(&text[10..]);
        assert_eq!(text.trim_end(), "{'descr': '<f8', 'fortran_order': False, 'shape': (2, 3), }");
        let long = header(&format!("[('{}', '<i4')]", "x".repeat(70_000)), &[]).unwrap();
        assert_eq!(long[6], 2);
        assert_eq!(u32::from_le_bytes(long[8..12].try_into().unwrap()) as usize + 12, long.len());
    }

    #[test]
    fn records_name_their_gaps() {
        let mut model = Model::new();
        let field = |name: &str, offset, ty, shape: &[u32]| Field {
            name: name.into(),
            offset,
            ty,
            shape: shape.to_vec(),
        };
        let fields = vec![
            field("b", 8, NcType::Double, &[]),
            field("it's", 0, NcType::Byte, &[3]),
            field("m", 16, NcType::Short, &[2, 2]),
        ];
        let class = TypeClass::Compound { size: 26, fields };
        let id = model.add_type(UserType { name: "t".into(), group: GroupId::ROOT, class }).unwrap();
        assert_eq!(
            descr(&model, NcType::User(id)).unwrap().replace('>', "<"),
            "[('it\\'s', '|i1', (3,)), ('', '|V5'), ('b', '<f8'), ('m', '<i2', (2, 2,)), ('', '|V2')]"
        );
        assert!(descr(&model, NcType::String).is_err());
    }
}
