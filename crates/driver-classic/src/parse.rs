//! [`ClassicHeader`]: the lists at the start of a file, as stored.
//!
//! Only the grammar is checked here; `load` checks the consistency of the lists, and `cursor` limits bytes
//! and memory.
//!
//! Source: the grammar of the netCDF classic format specification, and its 64-bit variants.

use nczarr_dispatch::Limits;
use nczarr_model::{Att, Dim, DimId, Error, ErrorKind, NcType, Result, Values, Var, VarId};

use crate::cursor::{HeaderCursor, What};
use crate::encoding::{ATTRIBUTES, DIMENSIONS, VARIABLES};
use crate::file_state::VarPlacement;
use crate::kind::CdfVersion;
use crate::layout::VarSlot;
use crate::store::FileStore;

/// The content of a header.
#[derive(Debug)]
pub(crate) struct ClassicHeader {
    pub(crate) kind: CdfVersion,
    /// The number of records; `None`: unknown.
    pub(crate) records: Option<u64>,
    /// Names and lengths; the length of the record dimension is 0.
    pub(crate) dims: Vec<(String, u64)>,
    /// The error for a dimension that is longer than the model allows.
    pub(crate) long_dim: Option<Error>,
    pub(crate) atts: Att,
    pub(crate) vars: Vec<HeaderVar>,
    /// Its size.
    pub(crate) len: u64,
    /// Whether an invalid UTF-8 name was replaced.
    pub(crate) odd_names: bool,
    /// Names that zeros fill up: their number in the header, and the stored length.
    pub(crate) padded_names: Vec<(usize, usize)>,
}

/// One entry of the list of variables.
#[derive(Debug)]
pub(crate) struct HeaderVar {
    pub(crate) name: String,
    /// Valid positions in the list of dimensions.
    pub(crate) dims: Vec<DimId>,
    pub(crate) atts: Att,
    pub(crate) ty: NcType,
    pub(crate) vsize: u64,
    pub(crate) begin: u64,
}

/// Reads the header of a file of `size` bytes.
///
/// # Errors
/// `NC_ENOTNC` if it is not a header; `NC_ETRUNC` if it is truncated; `NC_EFILEMETA` if length or memory
/// exceed the limits; `NC_EBADNAME`, `NC_EBADTYPE`, `NC_EBADDIM`, `NC_EDIMSIZE`, `NC_EMAXDIMS` or
/// `NC_ENAMEINUSE` for a violated rule; otherwise the system's error.
pub(crate) fn read(store: &FileStore, size: u64, limits: &Limits) -> Result<ClassicHeader> {
    let mut cursor = HeaderCursor::new(store, size, limits);
    if size < 4 {
        return Err(ErrorKind::NotNc.context(format!("the file has {size} bytes, less than a header")));
    }
    let magic = cursor.word(&|| "the first bytes".to_owned())?.to_be_bytes();
    let kind = match magic {
        [b'C', b'D', b'F', version] => CdfVersion::of_version(version),
        _ => None,
    };
    let Some(kind) = kind else {
        let what = format!("byte 0: expected CDF and the version 1, 2 or 5, found {magic:02x?}");
        return Err(ErrorKind::NotNc.context(what));
    };
    cursor.kind = kind;
    let records = cursor.count(&|| "the number of records".to_owned())?;
    let streaming = if kind == CdfVersion::Cdf5 { u64::MAX } else { u32::MAX.into() };
    if kind == CdfVersion::Cdf5 && records != streaming && records > i64::MAX as u64 {
        return Err(ErrorKind::NotNc.context(format!("byte 4: {records} records")));
    }
    let mut long_dim = None;
    let dims = dims(&mut cursor, &mut long_dim)?;
    let atts = atts(&mut cursor, "the dataset")?;
    let vars = vars(&mut cursor, dims.len())?;
    let len = cursor.at();
    if let Some(name) = another(&cursor, &dims, &vars) {
        let what =
            format!("byte {len}: the list has {} variables, and variable {name:?} follows it", vars.len());
        return Err(ErrorKind::NotNc.context(what));
    }
    Ok(ClassicHeader {
        kind,
        records: (records != streaming).then_some(records),
        dims,
        long_dim,
        atts,
        vars,
        len,
        odd_names: cursor.odd_names,
        padded_names: cursor.padded_names,
    })
}

/// Returns the memory of an entry of a name table: the entry, its index, and the allocation overhead.
const fn entry<T>() -> u64 {
    (size_of::<(usize, String, T)>() + 24 + 16) as u64
}

/// The memory of a dimension, without names.
const DIM: u64 = (size_of::<(String, u64)>() + size_of::<Dim>() + 32) as u64 + entry::<DimId>();

/// The memory of an attribute, without name and values.
const ATT: u64 = entry::<Values>() + 16;

/// The memory of an attribute table, without attributes.
const ATTS: u64 = 64;

/// The memory of a variable, without name, dimensions and attributes.
const VAR: u64 =
    (size_of::<HeaderVar>() + size_of::<Var>() + size_of::<VarSlot>() + size_of::<VarPlacement>() + 64)
        as u64
        + entry::<VarId>();

/// Reads the number of entries of a list; each takes at least `least` bytes of the file, and `cost` bytes of
/// memory.
fn list(
    cursor: &mut HeaderCursor<'_>,
    tag: u32,
    least: u64,
    cost: u64,
    name: &str,
    owner: &str,
) -> Result<usize> {
    let at = cursor.at();
    let what = || format!("the list of {name} of {owner}");
    let found = cursor.word(&what)?;
    let entries = cursor.count(&what)?;
    if found != tag && (found, entries) != (0, 0) {
        let what = format!("byte {at}: {}: expected the tag {tag}, or 0 and no entry, found {found}", what());
        return Err(ErrorKind::NotNc.context(what));
    }
    let most = entries.checked_mul(least).filter(|&bytes| bytes <= cursor.rest());
    let Some(entries) = most.and_then(|_| usize::try_from(entries).ok()) else {
        return Err(cursor.ends(format_args!("{entries} entries, at least {least}"), &what));
    };
    cursor.charge((entries as u64).checked_mul(cost), &|| format!("{}, {entries} of them", what()))?;
    Ok(entries)
}

fn dims(cursor: &mut HeaderCursor<'_>, long_dim: &mut Option<Error>) -> Result<Vec<(String, u64)>> {
    // A padded name of one character, and two numbers.
    let least = 4 + 2 * cursor.kind.count_width() as u64;
    let entries = list(cursor, DIMENSIONS, least, DIM, "dimensions", "the dataset")?;
    let mut dims = Vec::with_capacity(entries);
    for number in 0..entries {
        let name = cursor.name(1, &|| format!("dimension {number}"))?;
        let at = cursor.at();
        let len = cursor.count(&|| format!("dimension {name:?}: its length"))?;
        if len > i64::MAX as u64 {
            let what = format!("byte {at}: dimension {name:?}: length {len}");
            long_dim.get_or_insert(ErrorKind::DimSize.context(what));
        }
        dims.push((name, len));
    }
    Ok(dims)
}

fn atts(cursor: &mut HeaderCursor<'_>, owner: &str) -> Result<Att> {
    let least = 4 + 4 + 2 * cursor.kind.count_width() as u64;
    let entries = list(cursor, ATTRIBUTES, least, ATT, "attributes", owner)?;
    let mut atts = Att::default();
    if entries > 0 {
        cursor.charge(Some(ATTS), &|| format!("the list of attributes of {owner}"))?;
        atts.reserve_exact(entries);
    }
    for number in 0..entries {
        let at = cursor.at();
        let name = cursor.name(0, &|| format!("{owner}: attribute {number}"))?;
        let what = || format!("{owner}: attribute {name:?}");
        let ty = ty(cursor, &what)?;
        let what = || format!("{}: its values", what());
        let number = cursor.count(&what)?;
        let values = cursor.values(ty, number, &what)?;
        if atts.contains_key(&name) {
            return Err(
                ErrorKind::NameInUse.context(format!("byte {at}: {owner}: a second attribute {name:?}"))
            );
        }
        atts.insert(name, values);
    }
    Ok(atts)
}

fn ty(cursor: &mut HeaderCursor<'_>, what: What<'_>) -> Result<NcType> {
    let at = cursor.at();
    let code = cursor.word(&|| format!("{}: its type", what()))?;
    let ty = i32::try_from(code).ok().and_then(NcType::from_code).filter(|&ty| cursor.kind.has(ty));
    ty.ok_or_else(|| ErrorKind::BadType.context(format!("byte {at}: {}: unknown type {code}", what())))
}

fn vars(cursor: &mut HeaderCursor<'_>, dims: usize) -> Result<Vec<HeaderVar>> {
    let width = cursor.kind.count_width() as u64;
    // Name, rank, an empty list of attributes, type, vsize and begin.
    let least = (4 + width) + width + (4 + width) + 4 + width + cursor.kind.offset_width() as u64;
    let entries = list(cursor, VARIABLES, least, VAR, "variables", "the dataset")?;
    let mut vars = Vec::with_capacity(entries);
    for number in 0..entries {
        let name = cursor.name(1, &|| format!("variable {number}"))?;
        vars.push(var(cursor, name, dims)?);
    }
    Ok(vars)
}

/// Returns the name of a valid entry behind the list of variables, which the list lacks. The rest of a longer
/// old header also lies there, but has only variables of the list, or no valid entry.
fn another(cursor: &HeaderCursor<'_>, dims: &[(String, u64)], vars: &[HeaderVar]) -> Option<String> {
    let mut ahead = cursor.ahead();
    let name = ahead.name(0, &|| String::new()).ok()?;
    let var = var(&mut ahead, name, dims.len()).ok()?;
    let lens =
        var.dims.iter().enumerate().map(|(at, dim)| (at, dims.get(dim.index()).map_or(0, |&(_, len)| len)));
    let inner = lens.filter(|&(at, len)| at > 0 || len > 0).map(|(_, len)| len);
    let bytes = inner.fold(var.ty.size().map(|item| item as u64), |bytes, len| bytes?.checked_mul(len));
    let sound = bytes.and_then(|bytes| bytes.checked_next_multiple_of(4)) == Some(var.vsize);
    let fresh = vars.iter().all(|known| known.name != var.name);
    (sound && fresh && var.begin >= ahead.at()).then_some(var.name)
}

fn var(cursor: &mut HeaderCursor<'_>, name: String, all: usize) -> Result<HeaderVar> {
    let what = || format!("variable {name:?}");
    let at = cursor.at();
    let rank = cursor.count(&|| format!("{}: its rank", what()))?;
    if rank > cursor.rank as u64 {
        let what = format!("byte {at}: {}: {rank} dimensions exceed the limit of {}", what(), cursor.rank);
        return Err(ErrorKind::MaxDims.context(what));
    }
    cursor.need(rank.saturating_mul(cursor.kind.count_width() as u64), &|| {
        format!("{}: its dimensions", what())
    })?;
    let mut dims = Vec::with_capacity(rank as usize);
    for _ in 0..rank {
        let at = cursor.at();
        let id = cursor.count(&|| format!("{}: its dimensions", what()))?;
        match u32::try_from(id).ok().filter(|&id| (id as usize) < all) {
            Some(id) => dims.push(DimId(id)),
            None => {
                let what = format!("byte {at}: {}: no dimension {id} (found {all})", what());
                return Err(ErrorKind::BadDim.context(what));
            }
        }
    }
    let atts = atts(cursor, &what())?;
    let ty = ty(cursor, &what)?;
    let vsize = cursor.count(&|| format!("{}: its size", what()))?;
    let begin = cursor.number(cursor.kind.offset_width(), &|| format!("{}: where it begins", what()))?;
    Ok(HeaderVar { name, dims, atts, ty, vsize, begin })
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;
    use crate::encoding::swap;

    fn parsed(bytes: &[u8]) -> Result<ClassicHeader> {
        limited(bytes, &Limits::default())
    }

    fn limited(bytes: &[u8], limits: &Limits) -> Result<ClassicHeader> {
        read(&FileStore::fixed(bytes.to_vec()), bytes.len() as u64, limits)
    }

    /// A header with one dimension, one attribute and one variable.
    fn sample(kind: u8) -> Vec<u8> {
        let wide = kind == 5;
        let mut bytes = vec![b'C', b'D', b'F', kind];
        let count = |bytes: &mut Vec<u8>, n: u64| {
            bytes.extend_from_slice(&n.to_be_bytes()[if wide { 0 } else { 4 }..])
        };
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
        for (version, kind) in [(1, CdfVersion::Cdf1), (2, CdfVersion::Cdf2), (5, CdfVersion::Cdf5)] {
            let bytes = sample(version);
            let header = parsed(&bytes).unwrap();
            assert_eq!((header.kind, header.records, header.len), (kind, Some(0), bytes.len() as u64));
            assert_eq!(header.dims, [("x".to_owned(), 3)]);
            assert_eq!(header.atts.get("title"), Some(&Values::Short(vec![1, -2, 3])));
            let var = &header.vars[0];
            assert_eq!(
                (var.name.as_str(), &*var.dims, var.ty, var.vsize),
                ("v", &[DimId(0)][..], NcType::Int, 12)
            );
            assert_eq!(var.begin, 200);
            for len in 0..bytes.len() {
                let kind = parsed(&bytes[..len]).unwrap_err().kind();
                assert!(matches!(kind, ErrorKind::NotNc | ErrorKind::Trunc), "{len}: {kind:?}");
            }
        }
    }

    /// A header with only one attribute, with `entries` values of type `ty`.
    fn one_attribute(ty: NcType, entries: usize) -> Vec<u8> {
        let mut bytes = b"CDF\x05".to_vec();
        let count = |bytes: &mut Vec<u8>, n: usize| bytes.extend_from_slice(&(n as u64).to_be_bytes());
        let word = |bytes: &mut Vec<u8>, n: u32| bytes.extend_from_slice(&n.to_be_bytes());
        count(&mut bytes, 0);
        word(&mut bytes, 0);
        count(&mut bytes, 0);
        word(&mut bytes, ATTRIBUTES);
        count(&mut bytes, 1);
        count(&mut bytes, 1);
        bytes.extend_from_slice(b"a\0\0\0");
        word(&mut bytes, ty.code().unsigned_abs());
        count(&mut bytes, entries);
        let len = entries * ty.size().unwrap();
        bytes.extend((0..len).map(|at| (at % 251) as u8));
        bytes.resize(bytes.len().next_multiple_of(4), 0);
        word(&mut bytes, 0);
        count(&mut bytes, 0);
        bytes
    }

    #[test]
    fn values_of_every_type_go_from_block_to_block() {
        for code in 1..=11 {
            let ty = NcType::from_code(code).unwrap();
            for entries in [0, 1, 3, 70_000] {
                let bytes = one_attribute(ty, entries);
                let header = parsed(&bytes).unwrap();
                let mut native: Vec<u8> =
                    (0..entries * ty.size().unwrap()).map(|at| (at % 251) as u8).collect();
                swap(&mut native, ty.size().unwrap());
                assert!(
                    header.atts.get("a") == Values::from_native_bytes(ty, &native).as_ref(),
                    "{ty:?} {entries}"
                );
                assert_eq!(header.len, bytes.len() as u64);
            }
        }
    }

    #[test]
    fn headers_are_as_long_and_take_as_much_memory_as_is_allowed() {
        let bytes = one_attribute(NcType::Char, 3 << 20);
        assert_eq!(parsed(&bytes).unwrap().len, bytes.len() as u64);
        let mut limits = Limits::default();
        limits.document = 1 << 20;
        assert_eq!(limited(&bytes, &limits).unwrap_err().kind(), ErrorKind::FileMeta);
        // Besides the tables there are three names, two of them stored twice, and the values. The whole file
        // counts, including its data.
        let memory = DIM + VAR + ATT + ATTS + 2 + 7 + 6;
        for data in [0, 100] {
            let file = [sample(1), vec![0; data]].concat();
            limits = Limits::default();
            limits.metadata = memory - file.len() as u64;
            assert!(limited(&file, &limits).is_ok());
            limits.metadata -= 1;
            assert_eq!(limited(&file, &limits).unwrap_err().kind(), ErrorKind::FileMeta);
        }
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
            // Room behind the header makes the counts plausible.
            bytes.resize(len + 300, 0);
            let _ = parsed(&bytes).map(|header| crate::load::load(header, bytes.len() as u64));
        }
    }
}
