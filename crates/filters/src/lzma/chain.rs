//! The filter chain inside an LZMA stream, as in Python's `lzma`.

use liblzma::stream::{Filters, LzmaOptions, MatchFinder, Mode};
use nczarr_model::{Error, ErrorKind, Result};

/// One filter of the chain.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct ChainFilter {
    pub id: u64,
    /// Values by index in [`MEMBERS`]; `None` if the description lacks one.
    pub values: [Option<u32>; MEMBERS.len()],
}

/// The members of a filter's description.
pub(super) const MEMBERS: [&str; 11] =
    ["preset", "dict_size", "lc", "lp", "pb", "mode", "nice_len", "mf", "depth", "dist", "start_offset"];

const PRESET: usize = 0;
const DICT_SIZE: usize = 1;
const LC: usize = 2;
const LP: usize = 3;
const PB: usize = 4;
const MODE: usize = 5;
const NICE_LEN: usize = 6;
const MF: usize = 7;
const DEPTH: usize = 8;
const DIST: usize = 9;
const START_OFFSET: usize = 10;

pub(super) const LZMA1: u64 = 0x4000_0000_0000_0001;
pub(super) const LZMA2: u64 = 0x21;
const DELTA: u64 = 3;
/// Ids of filters for machine code.
const CODE: std::ops::RangeInclusive<u64> = 4..=11;

/// The default preset.
pub(super) const DEFAULT_PRESET: u32 = 6;

/// The library's smallest dictionary in bytes.
const SMALLEST_DICT: u32 = 4096;

impl ChainFilter {
    pub fn new(id: u64) -> Self {
        Self { id, values: [None; MEMBERS.len()] }
    }

    pub fn delta(dist: u32) -> Self {
        let mut link = Self::new(DELTA);
        link.values[DIST] = Some(dist);
        link
    }

    pub fn lzma2(preset: u32) -> Self {
        let mut link = Self::new(LZMA2);
        link.values[PRESET] = Some(preset);
        link
    }

    /// Whether the library has such a filter.
    pub fn is_known(&self) -> bool {
        matches!(self.id, LZMA1 | LZMA2 | DELTA) || CODE.contains(&self.id)
    }

    fn get(&self, member: usize, default: u32) -> u32 {
        self.values[member].unwrap_or(default)
    }
}

/// Makes the chain for the library. Dictionaries are limited to `len` bytes, the size of the data.
pub(super) fn filters(chain: &[ChainFilter], len: usize) -> Result<Filters> {
    let mut filters = Filters::new();
    for link in chain {
        let refused = |error: liblzma::stream::Error| refused(link, error);
        match link.id {
            LZMA1 => filters.lzma1(&options(link, len)?),
            LZMA2 => filters.lzma2(&options(link, len)?),
            DELTA => {
                let dist = link.get(DIST, 1);
                let property = dist.checked_sub(1).and_then(|less| u8::try_from(less).ok());
                let property = property.ok_or_else(|| {
                    ErrorKind::Filter.context(format!("lzma: expected a \"dist\" of 1 to 256, found {dist}"))
                })?;
                filters.delta_properties(&[property]).map_err(refused)?
            }
            id => {
                let offset = link.get(START_OFFSET, 0).to_le_bytes();
                let properties: &[u8] = if offset == [0; 4] { &[] } else { &offset };
                match id {
                    4 => filters.x86_properties(properties),
                    5 => filters.powerpc_properties(properties),
                    6 => filters.ia64_properties(properties),
                    7 => filters.arm_properties(properties),
                    8 => filters.arm_thumb_properties(properties),
                    9 => filters.sparc_properties(properties),
                    10 => filters.arm64_properties(properties),
                    11 => filters.riscv_properties(properties),
                    _ => return Err(ErrorKind::Filter.context(format!("lzma: unknown filter {id}"))),
                }
                .map_err(refused)?
            }
        };
    }
    Ok(filters)
}

/// Makes the options of an LZMA1 or LZMA2 filter.
pub(super) fn options(link: &ChainFilter, len: usize) -> Result<LzmaOptions> {
    let preset = link.get(PRESET, DEFAULT_PRESET);
    let mut options = LzmaOptions::new_preset(preset).map_err(|error| refused(link, error))?;
    let enough = u32::try_from(len).unwrap_or(u32::MAX).max(SMALLEST_DICT);
    options.dict_size(link.get(DICT_SIZE, preset_dict(preset)).min(enough));
    let small = |member: usize| match link.values[member] {
        // The library refuses larger values. They are also its limit for a sum.
        Some(bits) if bits > 4 => Err(ErrorKind::Filter
            .context(format!("lzma: expected {:?} to be 0 to 4, found {bits}", MEMBERS[member]))),
        bits => Ok(bits),
    };
    if let Some(bits) = small(LC)? {
        options.literal_context_bits(bits);
    }
    if let Some(bits) = small(LP)? {
        options.literal_position_bits(bits);
    }
    if let Some(bits) = small(PB)? {
        options.position_bits(bits);
    }
    // The rest is for the encoder. Missing values are those of the preset.
    match link.values[MODE] {
        Some(1) => drop(options.mode(Mode::Fast)),
        Some(2) => drop(options.mode(Mode::Normal)),
        _ => {}
    }
    if let Some(nice) = link.values[NICE_LEN] {
        options.nice_len(nice.clamp(2, 273));
    }
    let finder = match link.values[MF] {
        Some(3) => Some(MatchFinder::HashChain3),
        Some(4) => Some(MatchFinder::HashChain4),
        Some(0x12) => Some(MatchFinder::BinaryTree2),
        Some(0x13) => Some(MatchFinder::BinaryTree3),
        Some(0x14) => Some(MatchFinder::BinaryTree4),
        _ => None,
    };
    if let Some(finder) = finder {
        options.match_finder(finder);
    }
    if let Some(depth) = link.values[DEPTH] {
        options.depth(depth);
    }
    Ok(options)
}

/// Returns the dictionary size of a preset. Its lowest bits are the level.
fn preset_dict(preset: u32) -> u32 {
    const LOG2: [u32; 10] = [18, 20, 21, 22, 22, 23, 23, 24, 25, 26];
    1 << LOG2[(preset & 0x1f).min(9) as usize]
}

fn refused(link: &ChainFilter, error: liblzma::stream::Error) -> Error {
    ErrorKind::Filter.context(format!("lzma: filter {}: invalid options", link.id)).caused_by(error)
}
