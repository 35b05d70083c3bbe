//! Tests whether a server's conditional writes prevent lost updates: [`RemoteBucket::probe`].
//!
//! Some servers ignore `If-None-Match` and `If-Match`. Others check first and write later, so several
//! concurrent writers succeed. The probe writes a few objects from several writers at once: first as new
//! objects, then as changes of the current ones. Each time exactly one writer of each object may succeed.

use std::sync::Arc;

use bytes::Bytes;
use tokio::task::{JoinHandle, JoinSet};
use tracing::Dispatch;
use tracing::instrument::WithSubscriber as _;

use crate::deadline::Deadline;
use crate::failure::RequestFailure;
use crate::list::OWN;
use crate::put::{PutOutcome, WriteCondition};
use crate::remote::{RemoteBucket, random};

/// Number of objects.
const OBJECTS: usize = 3;
/// Concurrent writers of each object.
const WRITERS: usize = 4;
/// Size of an object in bytes. An object that takes a moment to store shows a race.
const LENGTH: usize = 4096;

/// The result of a probe: `None` if conditions hold, or the reason why they do not.
pub(crate) type ProbeVerdict = Option<&'static str>;

const ASIDE: &str = "the server ignores If-None-Match or If-Match";
const NOT_ATOMIC: &str = "the server's conditional writes are not atomic: several concurrent writers succeed";
const NOT_BUILT: &str = "the server has no conditional writes";

impl RemoteBucket {
    /// Tests whether conditional writes separate writers, with temporary objects. Their removal may continue
    /// after the return.
    pub(crate) async fn probe(
        self: Arc<Self>,
        deadline: Deadline,
    ) -> Result<(ProbeVerdict, Option<JoinHandle<()>>), (RequestFailure, u32)> {
        let names: Vec<String> = (0..OBJECTS)
            .map(|_| {
                let name = format!("{OWN}{:016x}", random());
                if self.access.key.is_empty() { name } else { format!("{}/{name}", self.access.key) }
            })
            .collect();
        let verdict = self.race_twice(&names, deadline).await;
        let removal = Arc::clone(&self).remove_all(names);
        match verdict {
            Ok(None) => Ok((None, Some(self.handle.spawn(removal.with_subscriber(Dispatch::none()))))),
            verdict => {
                removal.await;
                verdict.map(|verdict| (verdict, None))
            }
        }
    }

    async fn race_twice(
        self: &Arc<Self>,
        names: &[String],
        deadline: Deadline,
    ) -> Result<ProbeVerdict, (RequestFailure, u32)> {
        let mut expected = vec![WriteCondition::Absent; names.len()];
        for round in 0..2u8 {
            let winners = match self.race(names, &expected, round, deadline).await {
                Ok(winners) => winners,
                Err((failure, _)) if failure.status == 501 || failure.code == "NotImplemented" => {
                    return Ok(Some(NOT_BUILT));
                }
                Err(failure) => return Err(failure),
            };
            if winners.iter().all(|winners| winners.len() == WRITERS) {
                return Ok(Some(ASIDE));
            }
            if winners.iter().any(|winners| winners.len() != 1) {
                return Ok(Some(NOT_ATOMIC));
            }
            expected = winners.into_iter().flatten().map(WriteCondition::Is).collect();
        }
        Ok(None)
    }

    /// Lets several writers of each object race, and returns the ETags of the winners.
    async fn race(
        self: &Arc<Self>,
        names: &[String],
        expected: &[WriteCondition],
        round: u8,
        deadline: Deadline,
    ) -> Result<Vec<Vec<Arc<str>>>, (RequestFailure, u32)> {
        let mut writers = JoinSet::new();
        for (number, (name, only)) in names.iter().zip(expected).enumerate() {
            for writer in 0..WRITERS {
                let (remote, name, only) = (Arc::clone(self), name.clone(), only.clone());
                // The stored bytes name their writer.
                let mut bytes = vec![b'.'; LENGTH];
                bytes[..3].copy_from_slice(&[b'0' + round, b'0' + number as u8, b'0' + writer as u8]);
                let put =
                    async move { (number, remote.put(&name, Bytes::from(bytes), &only, deadline).await) };
                writers.spawn_on(put.with_subscriber(Dispatch::none()), &self.handle);
            }
        }
        let mut winners = vec![Vec::new(); names.len()];
        let mut failed = None;
        while let Some(done) = writers.join_next().await {
            match done {
                Ok((number, Ok(PutOutcome::Done(etag)))) => winners[number].push(etag),
                Ok((_, Ok(PutOutcome::Lost))) => {}
                Ok((_, Err(failure))) => failed = Some(failure),
                Err(error) => failed = Some((RequestFailure::unsent(error.to_string()), 1)),
            }
        }
        failed.map_or(Ok(winners), Err)
    }

    /// Removes objects, as far as possible.
    async fn remove_all(self: Arc<Self>, names: Vec<String>) {
        let mut removals = JoinSet::new();
        for name in names {
            let remote = Arc::clone(&self);
            removals.spawn_on(
                async move { remote.delete(&name, remote.deadline(0)).await }
                    .with_subscriber(Dispatch::none()),
                &self.handle,
            );
        }
        while removals.join_next().await.is_some() {}
    }
}
