//! Conversions between [`Error`] and [`std::io::Error`].

use std::error::Error as StdError;
use std::io;

use crate::{Error, ErrorKind};

/// An error of this crate inside a [`std::io::Error`] returns unchanged.
impl From<io::Error> for Error {
    fn from(error: io::Error) -> Self {
        match error.downcast::<Self>() {
            Ok(error) => error,
            Err(error) => Self::io("", error),
        }
    }
}

/// The kind equals the kind of the system error that caused the error, or is the nearest kind.
impl From<Error> for io::Error {
    fn from(error: Error) -> Self {
        Self::new(system_kind(&error), error)
    }
}

fn system_kind(error: &Error) -> io::ErrorKind {
    let mut cause = error.source();
    while let Some(found) = cause {
        if let Some(system) = found.downcast_ref::<io::Error>() {
            return system.kind();
        }
        cause = found.source();
    }
    match error.kind() {
        ErrorKind::NotFound | ErrorKind::NoObject => io::ErrorKind::NotFound,
        ErrorKind::Access | ErrorKind::Auth | ErrorKind::Perm => io::ErrorKind::PermissionDenied,
        ErrorKind::Exist | ErrorKind::Object => io::ErrorKind::AlreadyExists,
        ErrorKind::Trunc => io::ErrorKind::UnexpectedEof,
        ErrorKind::NoMem => io::ErrorKind::OutOfMemory,
        ErrorKind::Timeout => io::ErrorKind::TimedOut,
        ErrorKind::NotBuilt => io::ErrorKind::Unsupported,
        ErrorKind::Inval | ErrorKind::InvalCoords | ErrorKind::Edge | ErrorKind::Stride | ErrorKind::Url => {
            io::ErrorKind::InvalidInput
        }
        ErrorKind::NotNc
        | ErrorKind::NotZarr
        | ErrorKind::ZarrMeta
        | ErrorKind::FileMeta
        | ErrorKind::DimMeta
        | ErrorKind::AttMeta
        | ErrorKind::VarMeta
        | ErrorKind::HdfErr
        | ErrorKind::Filter => io::ErrorKind::InvalidData,
        _ => io::ErrorKind::Other,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_error_survives_the_way_there_and_back() {
        for &kind in ErrorKind::ALL {
            let error = kind.context("a/b").caused_by("why");
            let back = Error::from(io::Error::from(error.clone()));
            assert_eq!((back.kind(), format!("{back:#}")), (kind, format!("{error:#}")));
        }
    }

    #[test]
    fn a_system_error_survives_the_way_there_and_back() {
        for kind in [io::ErrorKind::NotFound, io::ErrorKind::BrokenPipe, io::ErrorKind::TimedOut] {
            let there = Error::from(io::Error::new(kind, "why"));
            assert!(format!("{there:#}").ends_with("why"), "{there:#}");
            assert_eq!(io::Error::from(there.at("a/b")).kind(), kind);
        }
        let copied = || -> crate::Result<u64> { Ok(std::fs::metadata("/no/such/file")?.len()) };
        assert_eq!(copied().unwrap_err().kind(), ErrorKind::NotFound);
    }
}
