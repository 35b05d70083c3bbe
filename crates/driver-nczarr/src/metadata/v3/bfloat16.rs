//! [`Bfloat16`]: the data type `bfloat16`, the upper half of a single.
//!
//! A fill value may be a number, one of three names, or its bits as `"0x…"`.
//!
//! Source: Zarr extensions, data type `bfloat16`.

use std::sync::Arc;

use nczarr_codec::{
    DataTypeClass, DataTypePlugin, ExtensionType, ItemType, Json as Serde, OutBuf, ShownType, inventory,
};
use nczarr_model::convert::Half;
use nczarr_model::{ErrorKind, NcType, Result, Values};

use super::fill;
use crate::metadata::json::{Value, json_single};

const NAME: &str = "bfloat16";

/// The class and the type, which has no configuration.
#[derive(Debug)]
pub struct Bfloat16;

inventory::submit! { DataTypePlugin(&Bfloat16) }

impl DataTypeClass for Bfloat16 {
    fn names(&self) -> &'static [&'static str] {
        &[NAME]
    }

    fn about(&self) -> &'static str {
        "floats of 16 bits with the range of singles, shown as float"
    }

    fn parse(&self, _name: &str, _configuration: &Serde) -> Result<Arc<dyn ExtensionType>> {
        Ok(Arc::new(Bfloat16))
    }
}

fn widened(bits: u16) -> f32 {
    f32::from_bits(u32::from(bits) << 16)
}

/// Rounds to nearest, ties to even. A NaN keeps its upper half, unless that is an infinity.
fn narrowed(value: f32) -> u16 {
    let bits = value.to_bits();
    let rounded = bits.wrapping_add(0x7fff + (bits >> 16 & 1)) >> 16;
    let upper = bits >> 16;
    let nan = if upper & 0x7f == 0 { upper | 0x40 } else { upper };
    (if value.is_nan() { nan } else { rounded }) as u16
}

impl ExtensionType for Bfloat16 {
    fn to_json(&self) -> Serde {
        NAME.into()
    }

    /// Numeric filters know no such floats.
    fn item(&self) -> ItemType {
        ItemType::bytes(2)
    }

    fn word_size(&self) -> usize {
        2
    }

    fn shown(&self) -> ShownType {
        ShownType::Atomic(NcType::Float)
    }

    fn fill_from_json(&self, value: &Serde) -> Result<Vec<u8>> {
        let value = Value::from_serde(value);
        let bits = match fill::bits(&value, 4) {
            Some(bits) => u16::try_from(bits).ok(),
            None => match fill::float(&value, NcType::Double) {
                Some(Values::Double(v)) => v.first().map(|&value| narrowed(Half::BFloat16.nearest(value))),
                _ => None,
            },
        };
        let wrong = || {
            ErrorKind::BadType
                .context("expected a number, \"NaN\", \"Infinity\", \"-Infinity\" or its bits as \"0x…\"")
        };
        Ok(bits.ok_or_else(wrong)?.to_le_bytes().to_vec())
    }

    fn fill_to_json(&self, item: &[u8]) -> Result<Serde> {
        let wrong = || ErrorKind::BadType.context("expected an item of 2 bytes");
        let bits = item.try_into().map(u16::from_le_bytes).map_err(|_| wrong())?;
        let value = widened(bits);
        if value.is_nan() && value.to_bits() != f32::NAN.to_bits() {
            return Ok(format!("{bits:#06x}").into());
        }
        // The double with the shortest text of the single.
        let double: f64 = format!("{value:?}").parse().map_err(|_| wrong())?;
        Ok(if value.is_finite() { Serde::from(double) } else { json_single(value).to_serde() })
    }

    fn load(&self, items: &[u8], out: &mut OutBuf<'_>) -> Result<()> {
        let (items, _) = items.as_chunks::<2>();
        let memory = out.put_zeros(items.len().saturating_mul(4))?;
        for (single, item) in memory.as_chunks_mut::<4>().0.iter_mut().zip(items) {
            *single = widened(u16::from_le_bytes(*item)).to_ne_bytes();
        }
        Ok(())
    }

    fn save(&self, elements: &[u8], out: &mut OutBuf<'_>) -> Result<()> {
        let (singles, _) = elements.as_chunks::<4>();
        let memory = out.put_zeros(singles.len().saturating_mul(2))?;
        let mut overflows = false;
        for (item, single) in memory.as_chunks_mut::<2>().0.iter_mut().zip(singles) {
            let value = f32::from_ne_bytes(*single);
            let bits = narrowed(value);
            overflows |= value.is_finite() && widened(bits).is_infinite();
            *item = bits.to_le_bytes();
        }
        if overflows { Err(ErrorKind::Range.context("a value does not fit type bfloat16")) } else { Ok(()) }
    }
}
