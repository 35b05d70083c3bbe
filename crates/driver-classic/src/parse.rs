//! [`Header`]: the lists at the start of a file, as they are written there.
//!
//! Nothing is allocated for a number that the rest of the file cannot back, and nothing is believed but the grammar:
//! what the lists mean together is `load`'s business.
//!
//! Source: the grammar of the netCDF classic format specification, and its 64-bit variants.

use dispatch::Limits;
use model::{Att, Error, ErrorKind, NcType, Result, Values};

use crate::kind::Kind;

pub(crate) const DIMENSIONS: u32 = 10;
pub(crate) const VARIABLES: u32 = 11;
pub(crate) const ATTRIBUTES: u32 = 12;

/// What a header says.
#[derive(Debug)]
pub(crate) struct Header {
    pub(crate) kind: Kind,
    /// The number of records; `None`: it is not told.
    pub(crate) records: Option<u64>,
    /// Names and lengths; the length of the record dimension is 0.
    pub(crate) dims: Vec<(String, u64)>,
    pub(crate) atts: Att,
    pub(crate) vars: Vec<HeaderVar>,
    /// Its bytes.
    pub(crate) len: u64,
    /// A name that is not UTF-8 was read as well as possible.
    pub(crate) odd_names: bool,
}

/// One entry of the list of variables.
#[derive(Debug)]
pub(crate) struct HeaderVar {
    pub(crate) name: String,
    /// Places in the list of dimensions, all of which are there.
    pub(crate) dims: Vec<usize>,
    pub(crate) atts: Att,
    pub(crate) ty: NcType,
    pub(crate) vsize: u64,
    pub(crate) begin: u64,
}

/// Why reading a header stopped.
#[derive(Debug)]
pub(crate) enum Stop {
    /// So many bytes from the start of the file on are needed; they are there.
    More(u64),
    /// It cannot be read.
    Bad(Error),
}

type Step<T> = std::result::Result<T, Stop>;

fn bad<T>(error: Error) -> Step<T> {
    Err(Stop::Bad(error))
}

/// Reads a header of which `bytes`, the first of a file of `size` bytes, are in memory.
pub(crate) fn header(bytes: &[u8], size: u64, limits: &Limits) -> Step<Header> {
    let mut cursor = Cursor { bytes, size, at: 0, kind: Kind::Cdf1, odd_names: false, rank: limits.rank };
    let magic = match cursor.take(4, &|| "the first bytes".to_owned()) {
        Err(Stop::Bad(_)) => {
            return bad(ErrorKind::NotNc.context(format!("a file of {size} bytes, less than a header")));
        }
        magic => magic?,
    };
    let kind = match magic {
        [b'C', b'D', b'F', version] => Kind::of_version(*version),
        _ => None,
    };
    let Some(kind) = kind else {
        let what = format!("byte 0: expected CDF and the version 1, 2 or 5, found {magic:02x?}");
        return bad(ErrorKind::NotNc.context(what));
    };
    cursor.kind = kind;
    let records = cursor.count(&|| "the number of records".to_owned())?;
    let streaming = if kind == Kind::Cdf5 { u64::MAX } else { u32::MAX.into() };
    if kind == Kind::Cdf5 && records != streaming && records > i64::MAX as u64 {
        return bad(ErrorKind::NotNc.context(format!("byte 4: {records} records")));
    }
    let dims = cursor.dims()?;
    let atts = cursor.atts("the dataset")?;
    let vars = cursor.vars(dims.len())?;
    let len = cursor.at as u64;
    if let Some(name) = cursor.another(&dims, &vars) {
        let what = format!("byte {len}: the list has {} variables, and variable {name:?} follows it", vars.len());
        return bad(ErrorKind::NotNc.context(what));
    }
    Ok(Header {
        kind,
        records: (records != streaming).then_some(records),
        dims,
        atts,
        vars,
        len,
        odd_names: cursor.odd_names,
    })
}

struct Cursor<'b> {
    bytes: &'b [u8],
    size: u64,
    at: usize,
    kind: Kind,
    odd_names: bool,
    rank: usize,
}

/// What is being read, for errors.
type What<'w> = &'w dyn Fn() -> String;

impl<'b> Cursor<'b> {
    /// Bytes that the file still has.
    fn rest(&self) -> u64 {
        self.size.saturating_sub(self.at as u64)
    }

    /// The error for something of `bytes` bytes that the rest of the file cannot hold.
    fn ends(&self, bytes: impl std::fmt::Display, what: What<'_>) -> Error {
        let (at, rest) = (self.at, self.rest());
        ErrorKind::Trunc.context(format!("byte {at}: {}: {bytes} bytes expected, the file has {rest} more", what()))
    }

    fn take(&mut self, len: u64, what: What<'_>) -> Step<&'b [u8]> {
        if len > self.rest() {
            return bad(self.ends(len, what));
        }
        let end = self.at as u64 + len;
        // What the file has, memory may not have room for.
        let range = usize::try_from(end).ok().and_then(|end| Some((self.bytes.get(self.at..end)?, end)));
        match range {
            Some((bytes, end)) => {
                self.at = end;
                Ok(bytes)
            }
            None => Err(Stop::More(end)),
        }
    }

    fn number(&mut self, width: usize, what: What<'_>) -> Step<u64> {
        let bytes = self.take(width as u64, what)?;
        Ok(bytes.iter().fold(0, |number, &byte| number << 8 | u64::from(byte)))
    }

    fn count(&mut self, what: What<'_>) -> Step<u64> {
        self.number(self.kind.count_width(), what)
    }

    fn word(&mut self, what: What<'_>) -> Step<u32> {
        Ok(self.number(4, what)? as u32)
    }

    /// Skips to a multiple of four; what stands there means nothing.
    fn pad(&mut self, what: What<'_>) -> Step<()> {
        let rest = self.at.next_multiple_of(4) - self.at;
        self.take(rest as u64, what).map(drop)
    }

    /// The number of entries of a list, of which each takes `least` bytes or more.
    fn list(&mut self, tag: u32, least: u64, name: &str, owner: &str) -> Step<u64> {
        let at = self.at;
        let what = || format!("the list of {name} of {owner}");
        let found = self.word(&what)?;
        let entries = self.count(&what)?;
        if found != tag && (found, entries) != (0, 0) {
            let what = format!("byte {at}: {}: expected the tag {tag}, or 0 and no entry, found {found}", what());
            return bad(ErrorKind::NotNc.context(what));
        }
        if entries.checked_mul(least).is_none_or(|bytes| bytes > self.rest()) {
            return bad(self.ends(format!("{entries} entries, at least {least}"), &what));
        }
        Ok(entries)
    }

    fn name(&mut self, what: What<'_>) -> Step<String> {
        let at = self.at;
        let what = || format!("{}: its name", what());
        let len = self.count(&what)?;
        if len == 0 {
            return bad(ErrorKind::BadName.context(format!("byte {at}: {}: it is empty", what())));
        }
        let bytes = self.take(len, &what)?;
        self.pad(&what)?;
        Ok(match std::str::from_utf8(bytes) {
            Ok(name) => name.to_owned(),
            Err(_) => {
                self.odd_names = true;
                String::from_utf8_lossy(bytes).into_owned()
            }
        })
    }

    fn dims(&mut self) -> Step<Vec<(String, u64)>> {
        // A name of one character, padded, and two numbers.
        let entries = self.list(DIMENSIONS, 4 + 2 * self.kind.count_width() as u64, "dimensions", "the dataset")?;
        let mut dims = Vec::new();
        for number in 0..entries {
            let name = self.name(&|| format!("dimension {number}"))?;
            let at = self.at;
            let len = self.count(&|| format!("dimension {name:?}: its length"))?;
            if len > i64::MAX as u64 {
                return bad(ErrorKind::DimSize.context(format!("byte {at}: dimension {name:?}: length {len}")));
            }
            dims.push((name, len));
        }
        Ok(dims)
    }

    fn atts(&mut self, owner: &str) -> Step<Att> {
        let entries = self.list(ATTRIBUTES, 4 + 4 + 2 * self.kind.count_width() as u64, "attributes", owner)?;
        let mut atts = Att::default();
        for number in 0..entries {
            let at = self.at;
            let name = self.name(&|| format!("{owner}: attribute {number}"))?;
            let what = || format!("{owner}: attribute {name:?}");
            let ty = self.ty(&what)?;
            let values = self.values(ty, &what)?;
            if atts.insert(name.clone(), values).is_some() {
                let what = format!("byte {at}: {owner}: a second attribute {name:?}");
                return bad(ErrorKind::NameInUse.context(what));
            }
        }
        Ok(atts)
    }

    fn ty(&mut self, what: What<'_>) -> Step<NcType> {
        let at = self.at;
        let code = self.word(&|| format!("{}: its type", what()))?;
        let ty = i32::try_from(code).ok().and_then(NcType::from_code).filter(|&ty| self.kind.has(ty));
        ty.map_or_else(
            || bad(ErrorKind::BadType.context(format!("byte {at}: {}: there is no type {code}", what()))),
            Ok,
        )
    }

    fn values(&mut self, ty: NcType, what: What<'_>) -> Step<Values> {
        let what = || format!("{}: its values", what());
        let entries = self.count(&what)?;
        let item = ty.size().unwrap_or(1);
        let Some(len) = entries.checked_mul(item as u64) else {
            return bad(self.ends(format!("{entries} times {item}"), &what));
        };
        let mut bytes = self.take(len, &what)?.to_vec();
        self.pad(&what)?;
        swap(&mut bytes, item);
        // The type has a fixed size, and the bytes are whole elements.
        Values::from_native_bytes(ty, &bytes)
            .map_or_else(|| bad(ErrorKind::Internal.context(format!("{}: no values", what()))), Ok)
    }

    fn vars(&mut self, dims: usize) -> Step<Vec<HeaderVar>> {
        let width = self.kind.count_width() as u64;
        // Name, rank, an empty list of attributes, type, vsize and begin.
        let least = (4 + width) + width + (4 + width) + 4 + width + self.kind.offset_width() as u64;
        let entries = self.list(VARIABLES, least, "variables", "the dataset")?;
        let mut vars = Vec::new();
        for number in 0..entries {
            let name = self.name(&|| format!("variable {number}"))?;
            vars.push(self.var(name, dims)?);
        }
        Ok(vars)
    }

    /// The name of a sound entry behind the list of variables, which has lost it. What was left there by a longer header
    /// of before speaks of variables that are in the list as well, or of none.
    fn another(&self, dims: &[(String, u64)], vars: &[HeaderVar]) -> Option<String> {
        let mut rest = Cursor { ..*self };
        let name = rest.name(&|| String::new()).ok()?;
        let var = rest.var(name, dims.len()).ok()?;
        let lens = var.dims.iter().enumerate().map(|(at, &dim)| (at, dims.get(dim).map_or(0, |&(_, len)| len)));
        let first = lens.filter(|&(at, len)| at > 0 || len > 0).map(|(_, len)| len);
        let bytes = first.fold(var.ty.size().map(|item| item as u64), |bytes, len| bytes?.checked_mul(len));
        let sound = bytes.and_then(|bytes| bytes.checked_next_multiple_of(4)) == Some(var.vsize);
        let fresh = vars.iter().all(|known| known.name != var.name);
        (sound && fresh && var.begin >= rest.at as u64).then_some(var.name)
    }

    fn var(&mut self, name: String, all: usize) -> Step<HeaderVar> {
        let what = || format!("variable {name:?}");
        let at = self.at;
        let rank = self.count(&|| format!("{}: its rank", what()))?;
        if rank > self.rank as u64 {
            let what = format!("byte {at}: {}: {rank} dimensions; the limit is {}", what(), self.rank);
            return bad(ErrorKind::MaxDims.context(what));
        }
        let mut dims = Vec::new();
        for _ in 0..rank {
            let at = self.at;
            let id = self.count(&|| format!("{}: its dimensions", what()))?;
            match usize::try_from(id).ok().filter(|&id| id < all) {
                Some(id) => dims.push(id),
                None => {
                    let what = format!("byte {at}: {}: dimension {id}, there are {all}", what());
                    return bad(ErrorKind::BadDim.context(what));
                }
            }
        }
        let atts = self.atts(&what())?;
        let ty = self.ty(&what)?;
        let vsize = self.count(&|| format!("{}: its size", what()))?;
        let begin = self.number(self.kind.offset_width(), &|| format!("{}: where it begins", what()))?;
        Ok(HeaderVar { name, dims, atts, ty, vsize, begin })
    }
}

/// Turns elements of `item` bytes between the order of a file and that of this machine.
pub(crate) fn swap(bytes: &mut [u8], item: usize) {
    if cfg!(target_endian = "little") && item > 1 {
        bytes.chunks_exact_mut(item).for_each(<[u8]>::reverse);
    }
}

/// Reads a header, given a way to get the first bytes of a file of `size` bytes.
pub(crate) fn read(size: u64, limits: &Limits, mut first: impl FnMut(u64) -> Result<Vec<u8>>) -> Result<Header> {
    let mut wanted = FIRST.min(size);
    loop {
        let bytes = first(wanted)?;
        if (bytes.len() as u64) < wanted {
            return Err(ErrorKind::Trunc.context(format!("{wanted} bytes expected, {} found", bytes.len())));
        }
        match header(&bytes, size, limits) {
            Ok(header) => return Ok(header),
            Err(Stop::Bad(error)) => return Err(error),
            Err(Stop::More(least)) if least > limits.document => {
                let what = format!("a header of more than {least} bytes; the limit is {}", limits.document);
                return Err(ErrorKind::FileMeta.context(what));
            }
            // At least what is missing, and enough that reading again and again stays cheap.
            Err(Stop::More(least)) => wanted = least.max(wanted.saturating_mul(4)).min(size),
        }
    }
}

/// So much is read at first.
const FIRST: u64 = 16 << 10;

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn parsed(bytes: &[u8]) -> Result<Header> {
        let size = bytes.len() as u64;
        read(size, &Limits::default(), |len| Ok(bytes[..len as usize].to_vec()))
    }

    /// A header of one dimension, one attribute and one variable.
    fn sample(kind: u8) -> Vec<u8> {
        let wide = kind == 5;
        let mut bytes = vec![b'C', b'D', b'F', kind];
        let count = |bytes: &mut Vec<u8>, n: u64| bytes.extend_from_slice(&n.to_be_bytes()[if wide { 0 } else { 4 }..]);
        let word = |bytes: &mut Vec<u8>, n: u32| bytes.extend_from_slice(&n.to_be_bytes());
        count(&mut bytes, 0);
        word(&mut bytes, DIMENSIONS);
        count(&mut bytes, 1);
        count(&mut bytes, 1);
        bytes.extend_from_slice(b"x\0\0\0");
        count(&mut bytes, 3);
        word(&mut bytes, ATTRIBUTES);
        count(&mut bytes, 1);
        count(&mut bytes, 5);
        bytes.extend_from_slice(b"title\0\0\0");
        word(&mut bytes, 3);
        count(&mut bytes, 3);
        bytes.extend_from_slice(&[0, 1, 0xFF, 0xFE, 0, 3, 0, 0]);
        word(&mut bytes, VARIABLES);
        count(&mut bytes, 1);
        count(&mut bytes, 1);
        bytes.extend_from_slice(b"v\0\0\0");
        count(&mut bytes, 1);
        count(&mut bytes, 0);
        word(&mut bytes, 0);
        count(&mut bytes, 0);
        word(&mut bytes, 4);
        count(&mut bytes, 12);
        bytes.extend_from_slice(&200u64.to_be_bytes()[if kind == 1 { 4 } else { 0 }..]);
        bytes
    }

    #[test]
    fn every_width_of_numbers_is_read() {
        for (version, kind) in [(1, Kind::Cdf1), (2, Kind::Cdf2), (5, Kind::Cdf5)] {
            let bytes = sample(version);
            let header = parsed(&bytes).unwrap();
            assert_eq!((header.kind, header.records, header.len), (kind, Some(0), bytes.len() as u64));
            assert_eq!(header.dims, [("x".to_owned(), 3)]);
            assert_eq!(header.atts.get("title"), Some(&Values::Short(vec![1, -2, 3])));
            let var = &header.vars[0];
            assert_eq!((var.name.as_str(), &*var.dims, var.ty, var.vsize), ("v", &[0][..], NcType::Int, 12));
            assert_eq!(var.begin, 200);
            for len in 0..bytes.len() {
                let kind = parsed(&bytes[..len]).unwrap_err().kind();
                assert!(matches!(kind, ErrorKind::NotNc | ErrorKind::Trunc), "{len}: {kind:?}");
            }
        }
    }

    #[test]
    fn a_long_header_is_read_in_steps_and_none_is_read_that_is_too_long() {
        let mut bytes = b"CDF\x01\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\x0c\0\0\0\x01\0\0\0\x01a\0\0\0\0\0\0\x02".to_vec();
        let len = 3 << 20;
        bytes.extend_from_slice(&(len as u32).to_be_bytes());
        bytes.resize(bytes.len() + len, b'x');
        bytes.extend_from_slice(&[0; 8]);
        let mut asked = Vec::new();
        let limits = Limits::default();
        let first = |len: u64| {
            asked.push(len);
            Ok(bytes[..len as usize].to_vec())
        };
        let header = read(bytes.len() as u64, &limits, first).unwrap();
        assert_eq!(header.len, bytes.len() as u64);
        assert!(asked.len() <= 3, "{asked:?}");
        let mut limits = Limits::default();
        limits.document = 1 << 20;
        let error = read(bytes.len() as u64, &limits, |len| Ok(bytes[..len as usize].to_vec())).unwrap_err();
        assert_eq!(error.kind(), ErrorKind::FileMeta);
    }

    proptest! {
        #[test]
        fn damage_is_an_error_or_another_header(
            version in prop::sample::select(vec![1u8, 2, 5]),
            flips in prop::collection::vec((0usize..200, 1u8..), 1..6),
        ) {
            let mut bytes = sample(version);
            let len = bytes.len();
            for (at, flip) in flips {
                bytes[at % len] ^= flip;
            }
            // Room behind the header, for counts to be believed.
            bytes.resize(len + 300, 0);
            let _ = parsed(&bytes).map(|header| crate::load::load(header, bytes.len() as u64));
        }
    }
}
