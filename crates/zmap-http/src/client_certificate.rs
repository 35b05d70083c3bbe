//! [`ClientCertificate`]: the certificate that identifies this program, and its key.

use std::fmt;
use std::path::{Path, PathBuf};

use nczarr_model::{ErrorKind, Result};
use pkcs8::{EncryptedPrivateKeyInfo, SecretDocument};
use rustls::pki_types::pem::PemObject as _;
use rustls::pki_types::{CertificateDer, PrivateKeyDer, PrivatePkcs8KeyDer};

/// The files of certificate and key.
#[derive(Clone, PartialEq, Eq)]
pub(crate) struct ClientCertificate {
    pub(crate) certificate: PathBuf,
    /// May be the same file.
    pub(crate) key: PathBuf,
    pub(crate) password: Option<String>,
}

impl ClientCertificate {
    /// Reads the certificates, own one first, and the key.
    ///
    /// # Errors
    /// `NC_ERCFILE` if a file has none, or if the password is wrong.
    pub(crate) fn read(&self) -> Result<(Vec<CertificateDer<'static>>, PrivateKeyDer<'static>)> {
        let bad = |path: &Path, what: &str| ErrorKind::RcFile.context(format!("{}: {what}", path.display()));
        let found =
            CertificateDer::pem_file_iter(&self.certificate).and_then(Iterator::collect::<Result<Vec<_>, _>>);
        let chain = found
            .map_err(|error| bad(&self.certificate, "the certificate file is unreadable").caused_by(error))?;
        if chain.is_empty() {
            return Err(bad(&self.certificate, "the file has no certificate"));
        }
        if let Ok(key) = PrivateKeyDer::from_pem_file(&self.key) {
            return Ok((chain, key));
        }
        let text = std::fs::read_to_string(&self.key);
        let text = text.map_err(|error| bad(&self.key, "the key file is unreadable").caused_by(error))?;
        let begin = text.find("-----BEGIN ENCRYPTED PRIVATE KEY-----");
        let begin = begin
            .ok_or_else(|| bad(&self.key, "the file has no key (expected PEM; encrypted keys as PKCS #8)"))?;
        let password = self
            .password
            .as_deref()
            .ok_or_else(|| bad(&self.key, "the key is encrypted; set HTTP.SSL.KEYPASSWORD"))?;
        let end = "-----END ENCRYPTED PRIVATE KEY-----";
        let end = text[begin..].find(end).map_or(text.len(), |at| begin + at + end.len());
        let (_, document) =
            SecretDocument::from_pem(&text[begin..end]).map_err(|_| bad(&self.key, "damaged"))?;
        let encrypted = EncryptedPrivateKeyInfo::try_from(document.as_bytes());
        let encrypted = encrypted.map_err(|_| bad(&self.key, "the key is encrypted in an unknown way"))?;
        let plain = encrypted.decrypt(password);
        let plain = plain.map_err(|_| bad(&self.key, "HTTP.SSL.KEYPASSWORD does not decrypt the key"))?;
        Ok((chain, PrivatePkcs8KeyDer::from(plain.as_bytes().to_vec()).into()))
    }
}

/// Hides the password.
impl fmt::Debug for ClientCertificate {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Identity").field("certificate", &self.certificate).finish_non_exhaustive()
    }
}
