//! [`Trust`]: the certificates that servers of encrypted connections must have.

use std::path::Path;

use aws_smithy_http_client::tls::{TlsContext, TrustStore};
use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use nczarr_model::{ErrorKind, Result};
use rustls::RootCertStore;
use rustls::pki_types::CertificateDer;

use crate::access::Access;

/// The trusted certificates.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum Trust {
    /// Nothing is encrypted, so the system's certificates are not read.
    Plain,
    /// Those of the system.
    System,
    /// Only these.
    These(Vec<CertificateDer<'static>>),
}

impl Trust {
    /// Returns the certificates for `access`.
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

    /// Returns the certificates for connections.
    pub(crate) fn roots(&self) -> RootCertStore {
        let mut roots = RootCertStore::empty();
        // A connection to a server with another certificate fails with a clear error.
        match self {
            Self::Plain => {}
            Self::System => {
                let _ = roots.add_parsable_certificates(rustls_native_certs::load_native_certs().certs);
            }
            Self::These(certificates) => drop(roots.add_parsable_certificates(certificates.iter().cloned())),
        }
        roots
    }

    /// Returns the certificates for the SDK.
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

/// Reads the valid certificates of a file.
fn read(path: &Path) -> Result<Vec<CertificateDer<'static>>> {
    let found = rustls_native_certs::load_certs_from_paths(Some(path), None);
    let mut roots = RootCertStore::empty();
    let certificates: Vec<_> = found.certs.into_iter().filter(|der| roots.add(der.clone()).is_ok()).collect();
    if certificates.is_empty() {
        let what = format!("{}: the certificate file is unreadable or has no certificate", path.display());
        Err(ErrorKind::S3.context(what))
    } else {
        Ok(certificates)
    }
}

fn pem(certificate: &CertificateDer<'_>) -> Vec<u8> {
    let text = STANDARD.encode(certificate);
    format!("-----BEGIN CERTIFICATE-----\n{text}\n-----END CERTIFICATE-----\n").into_bytes()
}
