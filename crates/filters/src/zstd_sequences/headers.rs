//! Reads the headers of frames, blocks, literals and sequences (RFC 8878 §3.1.1), and estimates from them
//! whether a frame is worthwhile.

/// Most data of a block, in bytes.
pub(super) const BLOCK: usize = 128 << 10;
/// Sequences of this many bytes on average are mostly copied, which libzstd does as fast.
const LONG: usize = 24;
/// Number of coded literals that favour libzstd as much as one sequence disfavours it.
const CODED: usize = 2;
/// Larger windows are refused, as in decoders without a special setting.
const WINDOW: u64 = 1 << 27;

/// The header of a frame.
pub(super) struct FrameHeader {
    /// Offset of the first block.
    pub(super) blocks: usize,
    /// Most data of a block, in bytes.
    pub(super) block: usize,
}

impl FrameHeader {
    /// Parses the header; `None` unless the frame holds `decoded` bytes and has neither checksum nor
    /// dictionary.
    pub(super) fn of(frame: &[u8], decoded: usize) -> Option<Self> {
        let (&flags, rest) = frame.strip_prefix(&0xfd2f_b528_u32.to_le_bytes())?.split_first()?;
        let single = flags & 0x20 != 0;
        // Reserved bit, checksum, dictionary.
        if flags & 0b1111 != 0 {
            return None;
        }
        let (window, rest) = if single {
            (None, rest)
        } else {
            let (&byte, rest) = rest.split_first()?;
            let base = 1_u64 << (10 + (byte >> 3));
            (Some(base + (base >> 3) * u64::from(byte & 7)), rest)
        };
        let len = match (flags >> 6, single) {
            (0, false) => return None,
            (0, true) => 1,
            (log, _) => 1 << log,
        };
        let said = rest.get(..len)?.iter().rev().fold(0, |all, byte| all << 8 | u64::from(*byte));
        let said = if len == 2 { said + 256 } else { said };
        let window = window.unwrap_or(said);
        let head =
            Self { blocks: frame.len() - rest.len() + len, block: BLOCK.min(usize::try_from(window).ok()?) };
        (said == decoded as u64 && window <= WINDOW).then_some(head)
    }
}

/// A block as stored.
pub(super) enum StoredBlock<'f> {
    Raw(&'f [u8]),
    Same(u8, usize),
    Packed {
        /// Start and end of the block in the frame.
        start: usize,
        end: usize,
    },
}

/// Returns the block at `at`, the start of the next one, and whether it is the last.
pub(super) fn block<'f>(frame: &'f [u8], at: usize, most: usize) -> Option<(StoredBlock<'f>, usize, bool)> {
    let &[a, b, c] = frame.get(at..)?.first_chunk()?;
    let head = usize::from(a) | usize::from(b) << 8 | usize::from(c) << 16;
    let (start, len) = (at + 3, head >> 3);
    if len > most {
        return None;
    }
    let end = start + if head >> 1 & 3 == 1 { 1 } else { len };
    let bytes = frame.get(start..end)?;
    let block = match head >> 1 & 3 {
        0 => StoredBlock::Raw(bytes),
        1 => StoredBlock::Same(bytes[0], len),
        2 => StoredBlock::Packed { start, end },
        _ => return None,
    };
    Some((block, end, head & 1 == 1))
}

/// The header of the literals.
pub(super) struct LiteralsHeader {
    pub(super) kind: u8,
    /// Sizes in bytes: of the header, of the stored literals, and of the decoded ones.
    pub(super) head: usize,
    pub(super) stored: usize,
    pub(super) len: usize,
    pub(super) four: bool,
}

impl LiteralsHeader {
    pub(super) fn of(block: &[u8]) -> Option<Self> {
        let first = *block.first()?;
        let (kind, format) = (first & 3, first >> 2 & 3);
        let number = |len: usize| {
            let bytes = block.get(..len)?;
            Some(bytes.iter().rev().fold(0_usize, |all, byte| all << 8 | usize::from(*byte)))
        };
        if kind < 2 {
            let (head, len) = match format {
                0 | 2 => (1, number(1)? >> 3),
                1 => (2, number(2)? >> 4),
                _ => (3, number(3)? >> 4),
            };
            let stored = if kind == 0 { len } else { 1 };
            return Some(Self { kind, head, stored, len, four: false });
        }
        let (head, bits) = match format {
            0 | 1 => (3, 10),
            2 => (4, 14),
            _ => (5, 18),
        };
        let number = number(head)? >> 4;
        let mask = (1 << bits) - 1;
        Some(Self { kind, head, stored: number >> bits & mask, len: number & mask, four: format != 0 })
    }

    fn is_coded(&self) -> bool {
        self.kind >= 2
    }
}

/// Returns the number of sequences, and the bytes that state it.
pub(super) fn sequences(section: &[u8]) -> Option<(usize, usize)> {
    match *section.first()? {
        few @ 0..128 => Some((usize::from(few), 1)),
        255 => {
            let &[low, high] = section.get(1..)?.first_chunk()?;
            Some((usize::from(low) + (usize::from(high) << 8) + 0x7f00, 3))
        }
        many => Some(((usize::from(many) - 128) * 256 + usize::from(*section.get(1)?), 2)),
    }
}

/// Whether the headers of the blocks suggest that this decoder is faster for the frame.
pub(super) fn is_worthwhile(frame: &[u8], head: &FrameHeader, decoded: usize) -> Option<bool> {
    let (mut at, mut steps, mut coded) = (head.blocks, 0, 0);
    loop {
        let (block, next, last) = block(frame, at, head.block)?;
        if let StoredBlock::Packed { start, end } = block {
            let block = &frame[start..end];
            let literals = LiteralsHeader::of(block)?;
            steps += sequences(block.get(literals.head + literals.stored..)?)?.0;
            coded += if literals.is_coded() { literals.len } else { 0 };
        }
        if last {
            return Some(steps * LONG >= decoded && steps * CODED >= coded);
        }
        at = next;
    }
}
