//! [`SpecialLayout`]: the storage that the special attributes of a variable request.
//!
//! The printer's `special` writes them. Source: netCDF's documents on special attributes.

use nczarr_model::{Chunking, Endian, ErrorKind, NcType, Quantize, Result};

use super::constant::{Constant, Placed};

/// The requested storage of a variable.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct SpecialLayout {
    /// `_Storage` and `_ChunkSizes`.
    pub chunking: Option<Chunking>,
    /// `_ShardSizes`.
    pub shards: Option<Vec<u64>>,
    /// `_Shuffle`.
    pub shuffle: bool,
    /// `_DeflateLevel`.
    pub deflate: Option<u32>,
    /// `_Fletcher32`.
    pub fletcher32: bool,
    /// `_Filter`: ids or names with parameters, joined by `|`, unparsed.
    pub filters: Option<String>,
    /// `_Codecs`: all filters in order, as JSON. It repeats the attributes above, and includes filters
    /// without an HDF5 id.
    pub codecs: Option<String>,
    /// `_Endianness`.
    pub endian: Option<Endian>,
    /// `_NoFill`.
    pub no_fill: bool,
    /// `_QuantizeBitGroomNumberOfSignificantDigits` and similar ones.
    pub quantize: Option<Quantize>,
}

/// Special attributes of the dataset. Their values follow from the way it is made.
const OF_DATASET: &[&str] = &["_Format", "_NCProperties", "_IsNetcdf4", "_SuperblockVersion"];

/// Whether an attribute of the root group is special.
pub(crate) fn is_special_of_dataset(name: &str) -> bool {
    OF_DATASET.contains(&name)
}

impl SpecialLayout {
    /// Stores a special attribute. Returns whether it is one.
    ///
    /// # Errors
    /// `NC_EINVAL` for an invalid value.
    pub(crate) fn take(&mut self, name: &str, values: &[Placed]) -> Result<bool> {
        let wrong = |expected: &str| ErrorKind::Inval.context(format!("{name}: expected {expected}"));
        let flag = || match word(values).as_deref() {
            Some("true" | "1") => Ok(true),
            Some("false" | "0") => Ok(false),
            _ => Err(wrong("\"true\" or \"false\"")),
        };
        let small = || match numbers(values).as_deref() {
            Some(&[value]) if u32::try_from(value).is_ok() => Ok(value as u32),
            _ => Err(wrong("a number")),
        };
        match name {
            "_Storage" => {
                let chunking = match word(values).as_deref() {
                    Some("contiguous") => Some(Chunking::Contiguous),
                    Some("compact") => Some(Chunking::Compact),
                    Some("chunked") => None,
                    _ => return Err(wrong("\"contiguous\", \"compact\" or \"chunked\"")),
                };
                self.chunking = chunking.or(self.chunking.take());
            }
            "_ChunkSizes" => {
                let sizes = numbers(values).ok_or_else(|| wrong("chunk lengths"))?;
                self.chunking = Some(Chunking::Chunked(sizes));
            }
            "_ShardSizes" => self.shards = Some(numbers(values).ok_or_else(|| wrong("shard lengths"))?),
            "_Shuffle" => self.shuffle = flag()?,
            "_Fletcher32" => self.fletcher32 = flag()?,
            "_NoFill" => self.no_fill = flag()?,
            "_DeflateLevel" => self.deflate = Some(small()?),
            "_Endianness" => {
                self.endian = Some(match word(values).as_deref() {
                    Some("little") => Endian::Little,
                    Some("big") => Endian::Big,
                    Some("native") => Endian::Native,
                    _ => return Err(wrong("\"little\", \"big\" or \"native\"")),
                });
            }
            "_Filter" => match word(values) {
                Some(text) => self.filters = Some(text),
                None => return Err(wrong("filters")),
            },
            "_Codecs" => match word(values) {
                Some(text) => self.codecs = Some(text),
                None => return Err(wrong("codecs")),
            },
            "_QuantizeBitGroomNumberOfSignificantDigits" => {
                self.quantize = Some(Quantize::BitGroom(small()?))
            }
            "_QuantizeGranularBitRoundNumberOfSignificantDigits" => {
                self.quantize = Some(Quantize::GranularBitRound(small()?));
            }
            "_QuantizeBitRoundNumberOfSignificantBits" => self.quantize = Some(Quantize::BitRound(small()?)),
            _ => return Ok(false),
        }
        Ok(true)
    }
}

/// Returns one text, or one number as text.
fn word(values: &[Placed]) -> Option<String> {
    match values {
        [Placed { constant: Constant::Text(text), .. }] => String::from_utf8(text.clone()).ok(),
        [Placed { constant: Constant::Int { value, .. }, .. }] => Some(value.to_string()),
        _ => None,
    }
}

/// Returns numbers from 0 on.
fn numbers(values: &[Placed]) -> Option<Vec<u64>> {
    let one = |value: &Placed| match &value.constant {
        Constant::Int { value, ty } if ty.is_none_or(NcType::is_integer) => u64::try_from(*value).ok(),
        _ => None,
    };
    values.iter().map(one).collect()
}
