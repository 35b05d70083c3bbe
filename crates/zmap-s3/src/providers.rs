//! [`Signer`]: fixed credentials, or a provider of the SDK for roles, programs, single sign-on and services.

use std::sync::Arc;

use aws_config::ecs::EcsCredentialsProvider;
use aws_config::profile::ProfileFileCredentialsProvider;
use aws_config::provider_config::ProviderConfig;
use aws_config::web_identity_token::WebIdentityTokenCredentialsProvider;
use aws_credential_types::provider::ProvideCredentials;
use aws_runtime::env_config::file::{EnvConfigFileKind, EnvConfigFiles};
use aws_sdk_s3::config::{Credentials as Keys, Region, SharedCredentialsProvider, SharedHttpClient};

use crate::access::Access;
use crate::credential_cache::CredentialCache;
use crate::secret::Credentials;

/// A credential provider, and its cache if credentials may change.
pub(crate) struct Signer {
    pub(crate) provider: SharedCredentialsProvider,
    pub(crate) keyring: Option<Arc<CredentialCache>>,
}

impl Signer {
    /// Makes the signer for `access`; `None` if requests are unsigned. Sends no request.
    pub(crate) fn of(access: &Access, http: SharedHttpClient) -> Option<Self> {
        let config = ProviderConfig::without_region()
            .with_http_client(http)
            .with_region(Some(Region::new(access.region.clone())));
        let files = files(access);
        let credentials = access.credentials.clone();
        let what = match &credentials {
            Credentials::Anonymous | Credentials::Unsigned => return None,
            Credentials::Keys { id, secret, token } => {
                let token = token.as_ref().map(|token| token.expose().to_owned());
                let keys = Keys::new(id.expose(), secret.expose(), token, None, "nczarr");
                return Some(Self { provider: SharedCredentialsProvider::new(keys), keyring: None });
            }
            Credentials::Profile(name) => format!("profile {name:?}"),
            Credentials::WebIdentity => "the web identity of the environment".to_owned(),
            Credentials::Container => "the service that the environment names".to_owned(),
        };
        let make = move || match &credentials {
            Credentials::Profile(name) => {
                let builder = ProfileFileCredentialsProvider::builder().configure(&config).profile_name(name);
                SharedCredentialsProvider::new(builder.profile_files(files.clone()).build())
            }
            Credentials::WebIdentity => {
                let builder = WebIdentityTokenCredentialsProvider::builder();
                SharedCredentialsProvider::new(builder.configure(&config).build())
            }
            _ => SharedCredentialsProvider::new(EcsCredentialsProvider::builder().configure(&config).build()),
        };
        let keyring = Arc::new(CredentialCache::new(what, make));
        let provider: Arc<dyn ProvideCredentials> = keyring.clone();
        let provider = SharedCredentialsProvider::new(provider);
        Some(Self { provider, keyring: Some(keyring) })
    }
}

/// Returns the profile files.
fn files(access: &Access) -> EnvConfigFiles {
    let kinds = [EnvConfigFileKind::Config, EnvConfigFileKind::Credentials];
    let mut builder = EnvConfigFiles::builder();
    for (kind, path) in kinds.into_iter().zip(&access.profile_files) {
        builder = match path {
            // For the SDK a configured but missing file is an error.
            Some(path) if path.exists() => builder.with_file(kind, path),
            _ => builder.with_contents(kind, ""),
        };
    }
    builder.build()
}
