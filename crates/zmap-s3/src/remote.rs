//! [`RemoteBucket`]: a bucket and a prefix in it, and requests with retries.
//!
//! The SDK's retries are off, because it does not see broken bodies and incomplete responses. Here one
//! operation has a number of attempts, random pauses, and one deadline.

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
use nczarr_model::Result;
use nczarr_runtime::stoppable;
use nczarr_storage::Key;
use tokio::runtime::Handle;
use tokio::sync::OnceCell;
use tokio::time::error::Elapsed;
use tokio::time::{sleep, timeout};

use crate::access::Access;
use crate::buffer_pool::BufferPool;
use crate::connection_pool::{self, ConnectionPool};
use crate::deadline::{Deadline, SLOW};
use crate::failure::RequestFailure;
use crate::payer::Payer;
use crate::providers::Signer;
use crate::route::BucketRoute;
use crate::runtime;
use crate::secret::Credentials;
use crate::trust::Trust;

/// Most doublings of the pause.
const DOUBLINGS: u32 = 7;

/// A bucket, a prefix in it, and the client.
pub(crate) struct RemoteBucket {
    pub(crate) client: Client,
    /// Connections, signer and route for [`RemoteBucket::ask`]. Without a signer, requests are unsigned.
    pub(crate) wire: ConnectionPool,
    pub(crate) signer: Option<Signer>,
    pub(crate) route: OnceCell<BucketRoute>,
    /// Memory for bodies.
    pub(crate) spare: Arc<BufferPool>,
    pub(crate) access: Access,
    pub(crate) handle: Handle,
    /// Whether the server checks conditions when an upload is completed, once known.
    pub(crate) parts_conditional: OnceCell<bool>,
}

impl RemoteBucket {
    /// Makes a client without a request.
    ///
    /// # Errors
    /// `NC_ES3` if the system provides no threads, or no encryption.
    pub(crate) fn new(access: Access) -> Result<Arc<Self>> {
        let handle = runtime::handle(access.runtime.as_ref())?;
        // Credential services use https.
        let known = matches!(
            access.credentials,
            Credentials::Anonymous | Credentials::Unsigned | Credentials::Keys { .. }
        );
        let plain =
            known && access.endpoint.as_deref().is_some_and(|endpoint| endpoint.starts_with("http://"));
        let trust = Trust::of(&access, !plain)?;
        let http = runtime::http(access.runtime.as_ref(), &trust, &access.proxies)?;
        let connect = access.connect.unwrap_or(access.retries.stall);
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
            wire: connection_pool::wire(access.runtime.as_ref(), &trust, connect, &access.proxies)?,
            signer,
            route: OnceCell::new(),
            spare: Arc::default(),
            access,
            handle,
            parts_conditional: OnceCell::new(),
        }))
    }

    /// Returns the whole key of an object of the dataset.
    pub(crate) fn object(&self, key: &Key) -> String {
        match (self.access.key.is_empty(), key.is_root()) {
            (true, _) => key.to_string(),
            (_, true) => self.access.key.clone(),
            _ => format!("{}/{key}", self.access.key),
        }
    }

    /// Describes an operation and its object for messages.
    pub(crate) fn describe(&self, verb: &str, object: &str) -> String {
        let endpoint = self.access.endpoint.as_deref().map_or_else(String::new, |at| format!(" at {at}"));
        format!("{verb} s3://{}/{object}{endpoint}", self.access.bucket)
    }

    /// Returns the deadline of an operation that starts now and sends `sends` bytes.
    pub(crate) fn deadline(&self, sends: u64) -> Deadline {
        Deadline::new(&self.access.retries, sends)
    }

    /// Returns the retry state of a new operation.
    pub(crate) fn tries(&self) -> RetryState<'_> {
        RetryState { remote: self, tries: 0, unsure: false, last: None }
    }

    /// Awaits `future`, at most for the time of one response.
    pub(crate) async fn answer<T>(
        &self,
        size: u64,
        future: impl Future<Output = Result<T, RequestFailure>>,
    ) -> Result<T, RequestFailure> {
        let most = self.access.retries.stall + Duration::from_secs(size / SLOW);
        match timeout(most, future).await {
            Ok(done) => done,
            Err(_) => Err(RequestFailure::stalled(format!("no response within {} s", most.as_secs_f32()))),
        }
    }

    /// Removes secrets, and notes that a request was unsigned.
    fn explained(&self, mut failure: RequestFailure) -> RequestFailure {
        failure.text = self.access.credentials.scrub(failure.text);
        if let Some(keyring) = self.signer.as_ref().and_then(|signer| signer.keyring.as_ref()) {
            failure.text = keyring.scrub(failure.text);
        }
        failure.note = match (failure.status, &self.access.credentials) {
            (401 | 403, Credentials::Anonymous) => "unsigned: no credentials were found",
            (401 | 403, Credentials::Unsigned) => "unsigned, as requested",
            _ => "",
        };
        failure
    }
}

/// The attempts of one operation.
pub(crate) struct RetryState<'r> {
    remote: &'r RemoteBucket,
    tries: u32,
    /// An earlier attempt may have succeeded.
    pub(crate) unsure: bool,
    /// The failure of the attempt before.
    last: Option<RequestFailure>,
}

impl RetryState<'_> {
    /// Judges an attempt: success, a final failure, or a pause before a retry.
    pub(crate) async fn settle<T>(
        &mut self,
        outcome: Result<Result<T, RequestFailure>, Elapsed>,
        deadline: &Deadline,
    ) -> Result<Option<T>, (RequestFailure, u32)> {
        self.tries += 1;
        let failure = match outcome {
            Ok(Ok(done)) => return Ok(Some(done)),
            Ok(Err(failure)) => self.remote.explained(failure),
            Err(_) => {
                // The earlier failure explains more than the timeout.
                let before =
                    self.last.take().map_or_else(String::new, |last| format!("; the attempt before: {last}"));
                let text = format!("timed out after {} s{before}", deadline.seconds());
                return Err((RequestFailure::stalled(text), self.tries));
            }
        };
        self.unsure |= failure.unsure;
        let patience = self.remote.access.retries;
        let pause = pause(patience.pause, self.tries);
        if !failure.transient || self.tries >= patience.tries || pause >= deadline.left() {
            return Err((failure, self.tries));
        }
        if stoppable(sleep(pause)).await.is_err() {
            return Err((failure, self.tries));
        }
        self.last = Some(failure);
        Ok(None)
    }
}

/// Retries an expression until success, a final failure, `$deadline`, or the last attempt. `$unsure`: whether
/// an earlier attempt may have succeeded.
macro_rules! with_retries {
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
pub(crate) use with_retries;

/// Returns a random pause that grows with the number of attempts.
pub(crate) fn pause(first: Duration, tries: u32) -> Duration {
    let most = first * (1 << tries.saturating_sub(1).min(DOUBLINGS));
    // Never almost zero, because it must slow the client down.
    most.mul_f64(0.25 + 0.75 * (random() as f64 / u64::MAX as f64))
}

/// Returns a random number: every `RandomState` has its own keys.
pub(crate) fn random() -> u64 {
    RandomState::new().build_hasher().finish()
}
