//! The registered tables, and the choice of one.

use std::ffi::c_int;
use std::fs::File;
use std::io::Read as _;
use std::sync::{Mutex, MutexGuard, PoisonError};

use nczarr::{Error, ErrorKind, Result};

use super::plugins;
use crate::boundary::dispatch_table::TablePtr;
use crate::boundary::pointer::{OutPtr, TargetPtr, TextPtr, path_from_bytes};

/// The mode flags of the formats, in their order.
const FLAGS: [c_int; 10] =
    [0x40, 0x80, 0x1_0000, 0x8_0000, 0x10_0000, 0x20_0000, 0x40_0000, 0x80_0000, 0x100_0000, 0x200_0000];
/// The number of formats.
pub const FORMATS: usize = FLAGS.len();
/// Flags of the classic formats, which have first bytes of their own.
const CDF2_OR_CDF5: c_int = 0x200 | 0x20;
const CLASSIC_MODEL: c_int = 0x100;
const NETCDF4: c_int = 0x1000;
/// The most bytes that a file of a format begins with.
const MOST_MAGIC: usize = 8;

/// A place for a format. The first bytes stay when a program registers another table without any.
#[derive(Clone)]
struct Registered {
    table: TablePtr,
    magic: Vec<u8>,
    /// How often a table was registered.
    registrations: usize,
    /// The reason why the table that an rc file names is absent.
    problem: Option<Error>,
}

impl Registered {
    const NONE: Self = Self { table: TablePtr::NULL, magic: Vec::new(), registrations: 0, problem: None };
}

static REGISTERED: Mutex<[Registered; FORMATS]> = Mutex::new([const { Registered::NONE }; FORMATS]);

fn formats() -> MutexGuard<'static, [Registered; FORMATS]> {
    REGISTERED.lock().unwrap_or_else(PoisonError::into_inner)
}

/// Registers a table for a format. Without first bytes, the earlier ones stay.
///
/// # Errors
/// `NC_EINVAL` for a null pointer, another version, or too many bytes.
pub fn register(number: usize, table: TablePtr, magic: Option<&[u8]>) -> Result<()> {
    table.check()?;
    magic.map_or(Ok(()), check_magic)?;
    let place = &mut formats()[number];
    place.table = table;
    place.registrations += 1;
    place.problem = None;
    if let Some(magic) = magic {
        place.magic = magic.to_vec();
    }
    Ok(())
}

/// Sets the first bytes of a format that has none.
pub fn add_magic(number: usize, magic: &[u8]) -> Result<()> {
    check_magic(magic)?;
    let place = &mut formats()[number];
    if place.magic.is_empty() {
        place.magic = magic.to_vec();
    }
    Ok(())
}

fn check_magic(magic: &[u8]) -> Result<()> {
    if magic.len() > MOST_MAGIC {
        let what = format!("{} first bytes (expected at most {MOST_MAGIC})", magic.len());
        return Err(ErrorKind::Inval.context(what));
    }
    Ok(())
}

/// Returns how often a table was registered for a format.
pub fn registrations(number: usize) -> usize {
    formats()[number].registrations
}

/// Notes why a table is absent.
pub fn note_problem(number: usize, problem: Error) {
    formats()[number].problem = Some(problem);
}

c_functions! {
    /// Registers a table for a format, and the bytes that its files begin with.
    fn nc_def_user_format(mode_flag: c_int, table: TablePtr, magic_number: TextPtr) {
        table.check()?;
        let magic = magic_number.bytes();
        if let Some(magic) = magic {
            check_magic(magic)?;
            let is_classic = mode_flag & CDF2_OR_CDF5 != 0
                || (mode_flag & CLASSIC_MODEL != 0 && mode_flag & NETCDF4 == 0);
            if is_classic {
                let what = format!("mode 0x{mode_flag:x}: a classic format has first bytes of its own");
                return Err(ErrorKind::Inval.context(what));
            }
        }
        register(required(mode_flag)?, table, magic)
    }

    /// Returns the table of a format, null if there is none, and its first bytes. The bytes end with a zero
    /// byte if they are fewer than eight.
    fn nc_inq_user_format(mode_flag: c_int, table: OutPtr<TablePtr>, magic_number: TargetPtr) {
        let found = formats()[required(mode_flag)?].clone();
        table.set(found.table);
        let mut magic = found.magic;
        if magic.len() < MOST_MAGIC {
            magic.push(0);
        }
        magic_number.put(&magic);
        Ok(())
    }
}

/// Returns the number of the format that mode flags name: `None` if they name none, `NC_EINVAL` for several.
fn of_flags(mode: c_int) -> Result<Option<usize>> {
    let mut named = FLAGS.iter().enumerate().filter(|(_, flag)| mode & **flag != 0).map(|(number, _)| number);
    match (named.next(), named.next()) {
        (number, None) => Ok(number),
        _ => Err(ErrorKind::Inval.context(format!("mode 0x{mode:x} names several user-defined formats"))),
    }
}

fn required(mode: c_int) -> Result<usize> {
    let none = || ErrorKind::Inval.context(format!("mode 0x{mode:x} names no user-defined format"));
    of_flags(mode)?.ok_or_else(none)
}

/// Chooses a table by the mode flags, the fragment `mode=udf0` of a URL, or the first bytes of a file.
///
/// # Errors
/// `NC_ENOTBUILT` if no table is registered for the named format.
pub fn of_path(path: &[u8], mode: c_int, is_new: bool) -> Result<Option<(usize, TablePtr)>> {
    plugins::load_once();
    let named = match of_flags(mode)? {
        Some(number) => Some(number),
        None => of_url(path),
    };
    let formats = formats();
    if let Some(number) = named {
        let table = formats[number].table;
        if table.is_null() {
            let reason = formats[number].problem.as_ref().map(|problem| format!(": {problem}"));
            let reason = reason.unwrap_or_default();
            let what = format!("no table is registered for format udf{number}{reason}");
            return Err(ErrorKind::NotBuilt.context(what));
        }
        return Ok(Some((number, table)));
    }
    if is_new || formats.iter().all(|format| format.magic.is_empty()) {
        return Ok(None);
    }
    let mut first = Vec::new();
    if let Ok(file) = File::open(path_from_bytes(path)) {
        // A file that cannot be read belongs to another format, which then reports the error.
        let _ = file.take(MOST_MAGIC as u64).read_to_end(&mut first);
    }
    let fits = |format: &Registered| {
        !format.table.is_null() && !format.magic.is_empty() && first.starts_with(&format.magic)
    };
    // The last one counts, as in netCDF-C.
    Ok(formats.iter().rposition(fits).map(|number| (number, formats[number].table)))
}

/// Returns the number of the format that the fragment of a URL names.
fn of_url(path: &[u8]) -> Option<usize> {
    let text = str::from_utf8(path).ok()?;
    let (place, fragment) = text.split_once('#')?;
    place.contains("://").then_some(())?;
    let modes = fragment.split('&').filter_map(|option| option.strip_prefix("mode="));
    let mut words = modes.flat_map(|modes| modes.split(','));
    words.find_map(|word| word.strip_prefix("udf")?.parse().ok().filter(|&number| number < FLAGS.len()))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn flags_and_urls_name_one_format() {
        for (number, flag) in FLAGS.into_iter().enumerate() {
            assert_eq!(of_flags(flag | 1).unwrap(), Some(number));
            assert_eq!(of_url(format!("file:///x#mode=a,udf{number}").as_bytes()), Some(number));
        }
        assert_eq!(of_flags(0x1001).unwrap(), None);
        assert_eq!(of_flags(0xc0).unwrap_err().kind(), ErrorKind::Inval);
        for other in ["file:///x", "file:///x#mode=udf10", "/x#mode=udf1", "file:///x#mode=nczarr&udf1"] {
            assert_eq!(of_url(other.as_bytes()), None, "{other}");
        }
    }
}
