//! [`Remote`]: a bucket and a prefix in it, and requests that are tried again.
//!
//! The SDK's own tries are off: it sees neither bodies that break off nor what an answer lacks. Here one operation has a
//! number of tries, random pauses and a deadline for all of it.

use std::hash::{BuildHasher as _, Hasher as _, RandomState};
use std::sync::Arc;
use std::time::Duration;

use aws_config::provider_config::ProviderConfig;
use aws_sdk_s3::Client;
use aws_sdk_s3::config::retry::RetryConfig;
use aws_sdk_s3::config::timeout::TimeoutConfig;
use aws_sdk_s3::config::{
    BehaviorVersion, Builder, Credentials as Keys, Region, RequestChecksumCalculation, ResponseChecksumValidation,
    SharedCredentialsProvider, StalledStreamProtectionConfig,
};
use dispatch::Key;
use model::Result;
use tokio::runtime::Handle;
use tokio::sync::OnceCell;
use tokio::time::error::Elapsed;
use tokio::time::{Instant, sleep, timeout};

use crate::access::Access;
use crate::failure::Failure;
use crate::keyring::Keyring;
use crate::route::Route;
use crate::runtime;
use crate::secret::Credentials;
use crate::spare::Spare;
use crate::wire::{self, Wire};

/// Pauses double this often at most.
const DOUBLINGS: u32 = 7;
/// Bytes that a slow network moves in a second: large objects get more time.
const SLOW: u64 = 128 << 10;

/// A bucket, a prefix in it, and who asks.
pub(crate) struct Remote {
    pub(crate) client: Client,
    /// Who sends what [`Remote::ask`] asks, signed by whom (`None`: nobody), and where.
    pub(crate) wire: Wire,
    pub(crate) keyring: Option<SharedCredentialsProvider>,
    pub(crate) route: OnceCell<Route>,
    /// Memory of bodies.
    pub(crate) spare: Arc<Spare>,
    pub(crate) access: Access,
    pub(crate) handle: Handle,
    /// Whether the server heeds conditions where an upload in parts is ended, once that is known.
    pub(crate) parts_heed: OnceCell<bool>,
}

impl Remote {
    /// Nothing is sent.
    ///
    /// # Errors
    /// `NC_ES3` if the system gives no threads, or no encryption.
    pub(crate) fn new(access: Access) -> Result<Arc<Self>> {
        let handle = runtime::handle(access.runtime.as_ref())?;
        // Who hands out credentials is asked by https.
        let known = matches!(access.credentials, Credentials::Anonymous | Credentials::Keys { .. });
        let plain = known && access.endpoint.as_deref().is_some_and(|endpoint| endpoint.starts_with("http://"));
        let http = runtime::http(access.runtime.as_ref(), !plain);
        let connect = access.connect.unwrap_or(access.patience.stall);
        let mut config = Builder::new()
            .behavior_version(BehaviorVersion::latest())
            .http_client(http.clone())
            .region(Region::new(access.region.clone()))
            .retry_config(RetryConfig::disabled())
            .timeout_config(TimeoutConfig::builder().connect_timeout(connect).build())
            .stalled_stream_protection(StalledStreamProtectionConfig::disabled())
            .request_checksum_calculation(RequestChecksumCalculation::WhenRequired)
            .response_checksum_validation(ResponseChecksumValidation::WhenRequired)
            .disable_s3_express_session_auth(true);
        if let Some(endpoint) = &access.endpoint {
            config = config.endpoint_url(endpoint).force_path_style(true);
        }
        let provider = ProviderConfig::without_region()
            .with_http_client(http)
            .with_region(Some(Region::new(access.region.clone())));
        let keyring = keyring(&access.credentials, &provider);
        config = match &keyring {
            None => config.allow_no_auth(),
            Some(keyring) => config.credentials_provider(keyring.clone()),
        };
        Ok(Arc::new(Self {
            client: Client::from_conf(config.build()),
            wire: wire::wire(access.runtime.as_ref(), !plain, connect)?,
            keyring,
            route: OnceCell::new(),
            spare: Arc::default(),
            access,
            handle,
            parts_heed: OnceCell::new(),
        }))
    }

    /// The whole key of an object of the dataset.
    pub(crate) fn object(&self, key: &Key) -> String {
        match (self.access.key.is_empty(), key.is_root()) {
            (true, _) => key.to_string(),
            (_, true) => self.access.key.clone(),
            _ => format!("{}/{key}", self.access.key),
        }
    }

    /// An operation and where, for messages.
    pub(crate) fn what(&self, verb: &str, object: &str) -> String {
        let endpoint = self.access.endpoint.as_deref().map_or_else(String::new, |at| format!(" at {at}"));
        format!("{verb} s3://{}/{object}{endpoint}", self.access.bucket)
    }

    /// The tries of an operation that moves `size` bytes.
    pub(crate) fn tries(&self, size: u64) -> Tries<'_> {
        let time = self.access.patience.deadline + Duration::from_secs(size / SLOW);
        Tries { remote: self, time, deadline: Instant::now() + time, tries: 0, unsure: false }
    }

    /// `future`, unless it takes longer than an answer may.
    pub(crate) async fn answer<T>(
        &self,
        size: u64,
        future: impl Future<Output = Result<T, Failure>>,
    ) -> Result<T, Failure> {
        let most = self.access.patience.stall + Duration::from_secs(size / SLOW);
        match timeout(most, future).await {
            Ok(done) => done,
            Err(_) => Err(Failure::stalled(format!("no answer within {} s", most.as_secs_f32()))),
        }
    }

    fn scrubbed(&self, mut failure: Failure) -> Failure {
        failure.text = self.access.credentials.scrub(failure.text);
        failure
    }
}

/// Who signs; `None`: nobody.
fn keyring(credentials: &Credentials, config: &ProviderConfig) -> Option<SharedCredentialsProvider> {
    let provider = match credentials {
        Credentials::Anonymous => return None,
        Credentials::Keys { id, secret, token } => {
            let token = token.as_ref().map(|token| token.expose().to_owned());
            return Some(SharedCredentialsProvider::new(Keys::new(
                id.expose(),
                secret.expose(),
                token,
                None,
                "nczarr",
            )));
        }
        Credentials::Profile(name) => SharedCredentialsProvider::new(
            aws_config::profile::ProfileFileCredentialsProvider::builder().configure(config).profile_name(name).build(),
        ),
        Credentials::WebIdentity => SharedCredentialsProvider::new(
            aws_config::web_identity_token::WebIdentityTokenCredentialsProvider::builder().configure(config).build(),
        ),
        Credentials::Container => {
            SharedCredentialsProvider::new(aws_config::ecs::EcsCredentialsProvider::builder().configure(config).build())
        }
    };
    Some(SharedCredentialsProvider::new(Keyring::new(provider)))
}

/// How far the tries of one operation have come.
pub(crate) struct Tries<'r> {
    remote: &'r Remote,
    time: Duration,
    deadline: Instant,
    tries: u32,
    /// A try before may have done its work.
    pub(crate) unsure: bool,
}

impl Tries<'_> {
    pub(crate) fn left(&self) -> Duration {
        self.deadline.saturating_duration_since(Instant::now())
    }

    /// What came of a try: done, or after a pause it is to be tried again; or patience is at its end.
    pub(crate) async fn settle<T>(
        &mut self,
        outcome: Result<Result<T, Failure>, Elapsed>,
    ) -> Result<Option<T>, (Failure, u32)> {
        self.tries += 1;
        let failure = match outcome {
            Ok(Ok(done)) => return Ok(Some(done)),
            Ok(Err(failure)) => self.remote.scrubbed(failure),
            Err(_) => {
                let text = format!("not done within {} s", self.time.as_secs_f32());
                return Err((Failure::stalled(text), self.tries));
            }
        };
        self.unsure |= failure.unsure;
        let patience = self.remote.access.patience;
        let pause = pause(patience.pause, self.tries);
        if !failure.transient || self.tries >= patience.tries || pause >= self.left() {
            return Err((failure, self.tries));
        }
        sleep(pause).await;
        Ok(None)
    }
}

/// Tries an expression until it succeeds, fails for good, or patience is at its end: that of `$remote` for an operation
/// that moves `$size` bytes. `$unsure`: whether a try before may have done its work.
macro_rules! patiently {
    ($remote:expr, $size:expr, |$unsure:pat_param| $once:expr) => {{
        let mut tries = $remote.tries($size);
        loop {
            let $unsure = tries.unsure;
            let outcome = tokio::time::timeout(tries.left(), async { $once }).await;
            match tries.settle(outcome).await {
                Ok(Some(done)) => break Ok(done),
                Ok(None) => {}
                Err(failure) => break Err(failure),
            }
        }
    }};
}
pub(crate) use patiently;

/// A random pause, growing with the number of tries.
pub(crate) fn pause(first: Duration, tries: u32) -> Duration {
    let most = first * (1 << tries.saturating_sub(1).min(DOUBLINGS));
    // Never quite nothing: who is too fast is to slow down.
    most.mul_f64(0.25 + 0.75 * (random() as f64 / u64::MAX as f64))
}

/// A number by chance: every `RandomState` has keys of its own.
pub(crate) fn random() -> u64 {
    RandomState::new().build_hasher().finish()
}
