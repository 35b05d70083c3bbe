//! [`CredentialCache`]: the credentials of a provider, cached while they are valid.
//!
//! Roles, programs and services provide temporary credentials. All requests of a map share one request for
//! them.

use std::fmt;
use std::sync::PoisonError;
use std::time::{Duration, Instant, SystemTime};

use aws_credential_types::provider::error::CredentialsError;
use aws_credential_types::provider::{self, ProvideCredentials, SharedCredentialsProvider, future};
use aws_sdk_s3::config::Credentials;
use tokio::sync::Mutex;

use crate::failure::chain;
use crate::secret::Secret;

/// Credentials that expire sooner are not used.
const MARGIN: Duration = Duration::from_secs(60);
/// How long a failure is cached.
const MOMENT: Duration = Duration::from_secs(1);
/// How long credentials without expiry are cached.
const USUAL: Duration = Duration::from_secs(600);

/// Makes a credential provider.
type MakeProvider = dyn Fn() -> SharedCredentialsProvider + Send + Sync;

/// A provider and its cached credentials.
pub(crate) struct CredentialCache {
    /// A description of the provider, for messages.
    what: String,
    /// Makes a new provider after a failure, because the SDK's providers do not retry.
    make: Box<MakeProvider>,
    known: Mutex<CachedCredentials>,
    /// The last credentials, for [`CredentialCache::scrub`].
    secrets: std::sync::Mutex<Vec<Secret>>,
}

#[derive(Default)]
struct CachedCredentials {
    provider: Option<SharedCredentialsProvider>,
    /// The credentials, and when they were provided.
    keys: Option<(Credentials, Instant)>,
    /// The last failure, and its time.
    failure: Option<(String, Instant)>,
}

impl CredentialCache {
    pub(crate) fn new(
        what: String,
        make: impl Fn() -> SharedCredentialsProvider + Send + Sync + 'static,
    ) -> Self {
        Self { what, make: Box::new(make), known: Mutex::default(), secrets: std::sync::Mutex::default() }
    }

    /// Returns `text` without the last credentials.
    pub(crate) fn scrub(&self, text: String) -> String {
        let secrets = self.secrets.lock().unwrap_or_else(PoisonError::into_inner);
        secrets.iter().fold(text, |text, secret| secret.scrub(text))
    }

    async fn keys(&self) -> provider::Result {
        let mut known = self.known.lock().await;
        if let Some((keys, since)) = &known.keys
            && match keys.expiry() {
                Some(end) => end.duration_since(SystemTime::now()).is_ok_and(|left| left > MARGIN),
                None => since.elapsed() < USUAL,
            }
        {
            return Ok(keys.clone());
        }
        // Concurrent requests share a failure, so a program runs once for all of them.
        if let Some((failure, since)) = &known.failure
            && since.elapsed() < MOMENT
        {
            return Err(CredentialsError::provider_error(failure.clone()));
        }
        let provider = known.provider.get_or_insert_with(|| (self.make)()).clone();
        match provider.provide_credentials().await {
            Ok(keys) => {
                let secrets =
                    [Some(keys.access_key_id()), Some(keys.secret_access_key()), keys.session_token()];
                *self.secrets.lock().unwrap_or_else(PoisonError::into_inner) =
                    secrets.into_iter().flatten().map(Secret::new).collect();
                (known.keys, known.failure) = (Some((keys.clone(), Instant::now())), None);
                Ok(keys)
            }
            Err(error) => {
                let failure = format!("no credentials from {}: {}", self.what, chain(&error));
                *known = CachedCredentials {
                    failure: Some((failure.clone(), Instant::now())),
                    ..CachedCredentials::default()
                };
                Err(CredentialsError::provider_error(failure))
            }
        }
    }
}

/// Hides the credentials.
impl fmt::Debug for CredentialCache {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Keyring").finish_non_exhaustive()
    }
}

impl ProvideCredentials for CredentialCache {
    fn provide_credentials<'a>(&'a self) -> future::ProvideCredentials<'a>
    where
        Self: 'a,
    {
        future::ProvideCredentials::new(self.keys())
    }
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;
    use std::sync::atomic::{AtomicU64, Ordering};

    use super::*;

    /// Provides credentials for some seconds, 0 for ever, and counts the calls.
    #[derive(Debug)]
    struct Service {
        seconds: u64,
        asked: Arc<AtomicU64>,
    }

    impl ProvideCredentials for Service {
        fn provide_credentials<'a>(&'a self) -> future::ProvideCredentials<'a>
        where
            Self: 'a,
        {
            let number = self.asked.fetch_add(1, Ordering::Relaxed);
            let end = (self.seconds > 0).then(|| SystemTime::now() + Duration::from_secs(self.seconds));
            let keys = Credentials::new(format!("id{number}"), "HUSH", None, end, "test");
            future::ProvideCredentials::ready(Ok(keys))
        }
    }

    #[test]
    fn expired_keys_are_requested_again() {
        let runtime = tokio::runtime::Builder::new_current_thread().build().unwrap();
        for (seconds, asked) in [(0, 1), (3600, 1), (MARGIN.as_secs() / 2, 3)] {
            let count = Arc::new(AtomicU64::new(0));
            let asking = Arc::clone(&count);
            let keyring = CredentialCache::new("a test".to_owned(), move || {
                SharedCredentialsProvider::new(Service { seconds, asked: Arc::clone(&asking) })
            });
            for _ in 0..3 {
                let keys = runtime.block_on(keyring.provide_credentials()).unwrap();
                assert_eq!(keys.access_key_id(), format!("id{}", count.load(Ordering::Relaxed) - 1));
            }
            assert_eq!(count.load(Ordering::Relaxed), asked, "{seconds} s");
            assert!(!format!("{keyring:?}{}", keyring.scrub("the HUSH of it".to_owned())).contains("HUSH"));
        }
    }
}
