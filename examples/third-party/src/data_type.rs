//! The data type `int4`: integers of -8 to 7, stored in a byte each and shown as byte.

use std::sync::Arc;

use nczarr::codec::{DataTypeClass, DataTypePlugin, ExtensionType, ItemKind, ItemType, Json, OutBuf, ShownType, inventory};
use nczarr::{ErrorKind, NcType, Result};

/// The class and the type, which has no configuration.
#[derive(Debug)]
pub struct Int4;

impl DataTypeClass for Int4 {
    fn names(&self) -> &'static [&'static str] { &["int4"] }
    fn about(&self) -> &'static str { "integers of 4 bits, shown as byte" }
    fn parse(&self, _: &str, _: &Json) -> Result<Arc<dyn ExtensionType>> { Ok(Arc::new(Int4)) }
}

impl ExtensionType for Int4 {
    fn to_json(&self) -> Json { "int4".into() }
    fn item(&self) -> ItemType { ItemType { kind: ItemKind::Int, size: 1, big_endian: false } }
    fn word_size(&self) -> usize { 1 }
    fn shown(&self) -> ShownType { ShownType::Atomic(NcType::Byte) }
    fn fill_from_json(&self, value: &Json) -> Result<Vec<u8>> {
        let Some(value @ -8..=7) = value.as_i64() else { return Err(ErrorKind::BadType.context("expected -8 to 7")) };
        Ok(vec![value as u8])
    }
    fn fill_to_json(&self, item: &[u8]) -> Result<Json> {
        let &[byte] = item else { return Err(ErrorKind::BadType.context("expected one byte")) };
        Ok(extended(byte).into())
    }
    fn load(&self, items: &[u8], out: &mut OutBuf<'_>) -> Result<()> { out.extend(items.iter().map(|&item| extended(item) as u8)) }
    fn save(&self, elements: &[u8], out: &mut OutBuf<'_>) -> Result<()> {
        out.extend(elements.iter().map(|&byte| (byte as i8).clamp(-8, 7) as u8))?;
        let fits = elements.iter().all(|&byte| (-8..=7).contains(&(byte as i8)));
        if fits { Ok(()) } else { Err(ErrorKind::Range.context("int4: a value is not from -8 to 7")) }
    }
}

/// Extends the sign of the low four bits; other bits have no meaning.
fn extended(item: u8) -> i8 { (item << 4) as i8 >> 4 }

inventory::submit! { DataTypePlugin(&Int4) }
