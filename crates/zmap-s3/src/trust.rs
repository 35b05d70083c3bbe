//! [`Trust`]: whose certificates servers must have, where connections are encrypted.

use std::path::Path;

use aws_smithy_http_client::tls::{TlsContext, TrustStore};
use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use nczarr_model::{ErrorKind, Result};
use rustls::RootCertStore;
use rustls::pki_types::CertificateDer;

use crate::access::Access;

/// Whom to trust.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum Trust {
    /// Nothing is encrypted, so the system's certificates are not read.
    Plain,
    /// Those whom the system trusts.
    System,
    /// These only.
    These(Vec<CertificateDer<'static>>),
}

impl Trust {
    /// Whom to trust on the way to `access`.
    ///
    /// # Errors
    /// `NC_ES3` if the file of certificates has none.
    pub(crate) fn of(access: &Access, encrypted: bool) -> Result<Self> {
        match &access.ca_bundle {
            _ if !encrypted => Ok(Self::Plain),
            None => Ok(Self::System),
            Some(path) => read(path).map(Self::These),
        }
    }

    /// The certificates, as connections want them.
    pub(crate) fn roots(&self) -> RootCertStore {
        let mut roots = RootCertStore::empty();
        // A server with another certificate is refused when the connection is made, and the error says so.
        match self {
            Self::Plain => {}
            Self::System => drop(roots.add_parsable_certificates(rustls_native_certs::load_native_certs().certs)),
            Self::These(certificates) => drop(roots.add_parsable_certificates(certificates.iter().cloned())),
        }
        roots
    }

    /// The certificates, as the SDK wants them.
    ///
    /// # Errors
    /// `NC_ES3` if the SDK refuses them.
    pub(crate) fn context(&self) -> Result<TlsContext> {
        let mut store = TrustStore::default();
        if let Self::These(certificates) = self {
            store = TrustStore::empty();
            for certificate in certificates {
                store.add_pem_certificate(pem(certificate));
            }
        }
        let built = TlsContext::builder().with_trust_store(store).build();
        built.map_err(|error| ErrorKind::S3.context("certificates").caused_by(error))
    }
}

/// The certificates of a file that can be understood.
fn read(path: &Path) -> Result<Vec<CertificateDer<'static>>> {
    let found = rustls_native_certs::load_certs_from_paths(Some(path), None);
    let mut roots = RootCertStore::empty();
    let certificates: Vec<_> = found.certs.into_iter().filter(|der| roots.add(der.clone()).is_ok()).collect();
    match certificates.is_empty() {
        false => Ok(certificates),
        true => {
            let what = format!("{}: the file of certificates to trust has none, or cannot be read", path.display());
            Err(ErrorKind::S3.context(what))
        }
    }
}

fn pem(certificate: &CertificateDer<'_>) -> Vec<u8> {
    let text = STANDARD.encode(certificate);
    format!("-----BEGIN CERTIFICATE-----\n{text}\n-----END CERTIFICATE-----\n").into_bytes()
}
