//! The mode flags of `nc_create` and `nc_open`.

use std::ffi::c_int;

use nczarr::dispatch::Format;
use nczarr::{ErrorKind, Kind, Result};

pub const WRITE: c_int = 0x1;
pub const NOCLOBBER: c_int = 0x4;
pub const DISKLESS: c_int = 0x8;
const MMAP: c_int = 0x10;
const DATA_64BIT: c_int = 0x20;
pub const CLASSIC_MODEL: c_int = 0x100;
const OFFSET_64BIT: c_int = 0x200;
pub const NETCDF4: c_int = 0x1000;
pub const PERSIST: c_int = 0x4000;
pub const INMEMORY: c_int = 0x8000;

/// Checks flags that exclude one another.
pub fn check(flags: c_int) -> Result<()> {
    if flags & DISKLESS != 0 && flags & (MMAP | INMEMORY) != 0 {
        return Err(ErrorKind::Diskless.context("NC_DISKLESS excludes NC_MMAP and NC_INMEMORY"));
    }
    if flags & INMEMORY != 0 {
        return Err(ErrorKind::Inval.context("NC_INMEMORY needs nc_open_mem or nc_create_mem"));
    }
    Ok(())
}

/// Returns the flags of a format.
pub fn of_format(format: Format) -> c_int {
    match format {
        Format::Classic => 0,
        Format::Offset64 => OFFSET_64BIT,
        Format::Cdf5 => DATA_64BIT,
        Format::NetCdf4 => NETCDF4,
        Format::NetCdf4Classic => NETCDF4 | CLASSIC_MODEL,
    }
}

/// Returns the format that the flags name, or the default one.
pub fn kind(flags: c_int, default: Kind) -> Result<Kind> {
    let classic_model = flags & CLASSIC_MODEL != 0;
    match flags & (NETCDF4 | OFFSET_64BIT | DATA_64BIT) {
        NETCDF4 if classic_model => Ok(Kind::NetCdf4Classic),
        NETCDF4 => Ok(Kind::NetCdf4),
        OFFSET_64BIT => Ok(Kind::Cdf2),
        DATA_64BIT => Ok(Kind::Cdf5),
        0 if classic_model && !matches!(default, Kind::NetCdf4 | Kind::NetCdf4Classic) => Ok(Kind::Cdf1),
        0 if classic_model => Ok(Kind::NetCdf4Classic),
        0 => Ok(default),
        _ => Err(ErrorKind::Inval.context(format!("mode 0x{flags:x} names several formats"))),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn flags_name_one_format() {
        let cases = [
            (0, Some(Kind::Cdf1)),
            (CLASSIC_MODEL, Some(Kind::Cdf1)),
            (NETCDF4, Some(Kind::NetCdf4)),
            (NETCDF4 | CLASSIC_MODEL, Some(Kind::NetCdf4Classic)),
            (OFFSET_64BIT, Some(Kind::Cdf2)),
            (DATA_64BIT, Some(Kind::Cdf5)),
            (DATA_64BIT | OFFSET_64BIT, None),
            (NETCDF4 | DATA_64BIT, None),
        ];
        for (flags, expected) in cases {
            assert_eq!(kind(flags, Kind::Cdf1).ok(), expected, "0x{flags:x}");
        }
        assert_eq!(check(DISKLESS | MMAP).unwrap_err().kind(), ErrorKind::Diskless);
        assert!(check(DISKLESS | PERSIST | WRITE).is_ok());
    }
}
