//! [`Remote`]: a bucket and a prefix in it, and requests that are tried again.
//!
//! The SDK's own tries are off: it sees neither bodies that break off nor what an answer lacks. Here one operation has a
//! number of tries, random pauses and a deadline for all of it.

use std::hash::{BuildHasher as _, Hasher as _, RandomState};
use std::sync::Arc;
use std::time::Duration;

use aws_sdk_s3::Client;
use aws_sdk_s3::config::retry::RetryConfig;
use aws_sdk_s3::config::timeout::TimeoutConfig;
use aws_sdk_s3::config::{
    BehaviorVersion, Builder, Region, RequestChecksumCalculation, ResponseChecksumValidation,
    StalledStreamProtectionConfig,
};
use nczarr_dispatch::Key;
use nczarr_model::Result;
use tokio::runtime::Handle;
use tokio::sync::OnceCell;
use tokio::time::error::Elapsed;
use tokio::time::{sleep, timeout};

use crate::access::Access;
use crate::deadline::{Deadline, SLOW};
use crate::failure::Failure;
use crate::payer::Payer;
use crate::providers::Signer;
use crate::route::Route;
use crate::runtime;
use crate::secret::Credentials;
use crate::spare::Spare;
use crate::trust::Trust;
use crate::wire::{self, Wire};

/// Pauses double this often at most.
const DOUBLINGS: u32 = 7;

/// A bucket, a prefix in it, and who asks.
pub(crate) struct Remote {
    pub(crate) client: Client,
    /// Who sends what [`Remote::ask`] asks, signed by whom (`None`: nobody), and where.
    pub(crate) wire: Wire,
    pub(crate) signer: Option<Signer>,
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
        let known =
            matches!(access.credentials, Credentials::Anonymous | Credentials::Unsigned | Credentials::Keys { .. });
        let plain = known && access.endpoint.as_deref().is_some_and(|endpoint| endpoint.starts_with("http://"));
        let trust = Trust::of(&access, !plain)?;
        let http = runtime::http(access.runtime.as_ref(), &trust, &access.proxies)?;
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
            config = config.endpoint_url(endpoint).force_path_style(!access.virtual_host);
        }
        if access.requester_pays {
            config = config.interceptor(Payer);
        }
        let signer = Signer::of(&access, http);
        config = match &signer {
            None => config.allow_no_auth(),
            Some(signer) => config.credentials_provider(signer.provider.clone()),
        };
        Ok(Arc::new(Self {
            client: Client::from_conf(config.build()),
            wire: wire::wire(access.runtime.as_ref(), &trust, connect, &access.proxies)?,
            signer,
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

    /// The deadline of an operation that begins now and sends so many bytes.
    pub(crate) fn deadline(&self, sends: u64) -> Deadline {
        Deadline::new(&self.access.patience, sends)
    }

    /// The tries of an operation.
    pub(crate) fn tries(&self) -> Tries<'_> {
        Tries { remote: self, tries: 0, unsure: false, last: None }
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

    /// Removes secrets, and says that a request was unsigned.
    fn explained(&self, mut failure: Failure) -> Failure {
        failure.text = self.access.credentials.scrub(failure.text);
        if let Some(keyring) = self.signer.as_ref().and_then(|signer| signer.keyring.as_ref()) {
            failure.text = keyring.scrub(failure.text);
        }
        failure.note = match (failure.status, &self.access.credentials) {
            (401 | 403, Credentials::Anonymous) => "unsigned: no credentials were found",
            (401 | 403, Credentials::Unsigned) => "unsigned, as was asked for",
            _ => "",
        };
        failure
    }
}

/// How far the tries of one operation have come.
pub(crate) struct Tries<'r> {
    remote: &'r Remote,
    tries: u32,
    /// A try before may have done its work.
    pub(crate) unsure: bool,
    /// The failure of the try before.
    last: Option<Failure>,
}

impl Tries<'_> {
    /// What came of a try: done, or after a pause it is to be tried again; or patience is at its end.
    pub(crate) async fn settle<T>(
        &mut self,
        outcome: Result<Result<T, Failure>, Elapsed>,
        deadline: &Deadline,
    ) -> Result<Option<T>, (Failure, u32)> {
        self.tries += 1;
        let failure = match outcome {
            Ok(Ok(done)) => return Ok(Some(done)),
            Ok(Err(failure)) => self.remote.explained(failure),
            Err(_) => {
                // The failure before says more than that the time is up.
                let before = self.last.take().map_or_else(String::new, |last| format!("; the try before: {last}"));
                let text = format!("not done within {} s{before}", deadline.seconds());
                return Err((Failure::stalled(text), self.tries));
            }
        };
        self.unsure |= failure.unsure;
        let patience = self.remote.access.patience;
        let pause = pause(patience.pause, self.tries);
        if !failure.transient || self.tries >= patience.tries || pause >= deadline.left() {
            return Err((failure, self.tries));
        }
        self.last = Some(failure);
        sleep(pause).await;
        Ok(None)
    }
}

/// Tries an expression until it succeeds, fails for good, or `$deadline` or the patience of `$remote` is at its end.
/// `$unsure`: whether a try before may have done its work.
macro_rules! patiently {
    ($remote:expr, $deadline:expr, |$unsure:pat_param| $once:expr) => {{
        let (mut tries, deadline): (_, crate::deadline::Deadline) = ($remote.tries(), $deadline);
        loop {
            let $unsure = tries.unsure;
            let outcome = tokio::time::timeout(deadline.left(), async { $once }).await;
            match tries.settle(outcome, &deadline).await {
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
