//! Failures to connect that no retry can help: [`permanent_reason`].

use std::error::Error;
use std::io;

use rustls::InvalidMessage;

/// Returns the reason if an encrypted connection failed permanently: the server uses plain HTTP, or has the
/// wrong certificate.
pub(crate) fn permanent_reason(error: &(dyn Error + 'static)) -> Option<&'static str> {
    let mut next = Some(error);
    while let Some(error) = next {
        // The inner error of a system error is not its source.
        if let Some(inner) = error.downcast_ref::<io::Error>().and_then(io::Error::get_ref)
            && let Some(reason) = permanent_reason(inner)
        {
            return Some(reason);
        }
        if let Some(found) = error.downcast_ref::<rustls::Error>() {
            return reason(found);
        }
        next = error.source();
    }
    None
}

fn reason(error: &rustls::Error) -> Option<&'static str> {
    match error {
        rustls::Error::InvalidMessage(InvalidMessage::InvalidContentType) => {
            Some("the server speaks plain HTTP, not HTTPS")
        }
        rustls::Error::InvalidCertificate(_) | rustls::Error::NoCertificatesPresented => {
            Some("the server's certificate is not trusted")
        }
        rustls::Error::PeerIncompatible(_) => {
            Some("the server supports none of this program's encryption methods")
        }
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    use rustls::CertificateError;

    use super::*;

    #[test]
    fn reasons_that_stay_are_found_inside_other_errors() {
        let wrapped =
            |error: rustls::Error| io::Error::other(io::Error::new(io::ErrorKind::InvalidData, error));
        for (error, expected) in [
            (rustls::Error::InvalidMessage(InvalidMessage::InvalidContentType), Some("plain HTTP")),
            (rustls::Error::InvalidCertificate(CertificateError::Expired), Some("not trusted")),
            (rustls::Error::HandshakeNotComplete, None),
        ] {
            let found = permanent_reason(&wrapped(error));
            assert_eq!(found.is_some(), expected.is_some());
            assert!(found.is_none_or(|found| found.contains(expected.unwrap_or_default())));
        }
        assert!(permanent_reason(&io::Error::other("the connection broke")).is_none());
    }
}
