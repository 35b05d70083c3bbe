//! [`Keyring`]: who signs, asked once in a while and remembered in between.
//!
//! Roles, programs and services hand out keys for a time. One of these is asked no more than once for all requests of a map.

use std::fmt;
use std::sync::PoisonError;
use std::time::{Duration, Instant, SystemTime};

use aws_credential_types::provider::error::CredentialsError;
use aws_credential_types::provider::{self, ProvideCredentials, SharedCredentialsProvider, future};
use aws_sdk_s3::config::Credentials;
use tokio::sync::Mutex;

use crate::failure::chain;
use crate::secret::Secret;

/// Keys that end sooner are not used any more.
const MARGIN: Duration = Duration::from_secs(60);
/// A failure is repeated for so long.
const MOMENT: Duration = Duration::from_secs(1);
/// Keys that do not say when they end are asked for again after so long.
const USUAL: Duration = Duration::from_secs(600);

/// Makes a provider of keys.
type Make = dyn Fn() -> SharedCredentialsProvider + Send + Sync;

/// Keys, and who hands them out.
pub(crate) struct Keyring {
    /// Whose keys they are, for messages.
    what: String,
    /// The SDK's providers repeat no failure to be made: after one, another is made.
    make: Box<Make>,
    known: Mutex<Known>,
    /// Keys that were handed out last, for [`Keyring::scrub`].
    secrets: std::sync::Mutex<Vec<Secret>>,
}

#[derive(Default)]
struct Known {
    provider: Option<SharedCredentialsProvider>,
    /// What was handed out, and when.
    keys: Option<(Credentials, Instant)>,
    /// Why nothing was, and when.
    failure: Option<(String, Instant)>,
}

impl Keyring {
    pub(crate) fn new(what: String, make: impl Fn() -> SharedCredentialsProvider + Send + Sync + 'static) -> Self {
        Self { what, make: Box::new(make), known: Mutex::default(), secrets: std::sync::Mutex::default() }
    }

    /// `text` without the keys that were handed out last.
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
        // Requests that begin together fail together, so a program runs once for all of them.
        if let Some((failure, since)) = &known.failure
            && since.elapsed() < MOMENT
        {
            return Err(CredentialsError::provider_error(failure.clone()));
        }
        let provider = known.provider.get_or_insert_with(|| (self.make)()).clone();
        match provider.provide_credentials().await {
            Ok(keys) => {
                let secrets = [Some(keys.access_key_id()), Some(keys.secret_access_key()), keys.session_token()];
                *self.secrets.lock().unwrap_or_else(PoisonError::into_inner) =
                    secrets.into_iter().flatten().map(Secret::new).collect();
                (known.keys, known.failure) = (Some((keys.clone(), Instant::now())), None);
                Ok(keys)
            }
            Err(error) => {
                let failure = format!("no keys from {}: {}", self.what, chain(&error));
                *known = Known { failure: Some((failure.clone(), Instant::now())), ..Known::default() };
                Err(CredentialsError::provider_error(failure))
            }
        }
    }
}

/// Without keys.
impl fmt::Debug for Keyring {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Keyring").finish_non_exhaustive()
    }
}

impl ProvideCredentials for Keyring {
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

    /// Hands out keys for so many seconds, 0: for ever, and counts how often.
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
    fn who_hands_out_keys_is_asked_again_when_they_end() {
        let runtime = tokio::runtime::Builder::new_current_thread().build().unwrap();
        for (seconds, asked) in [(0, 1), (3600, 1), (MARGIN.as_secs() / 2, 3)] {
            let count = Arc::new(AtomicU64::new(0));
            let asking = Arc::clone(&count);
            let keyring = Keyring::new("a test".to_owned(), move || {
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
