//! Whether a server's conditional writes keep writers from losing one another's data: [`Remote::probe`].
//!
//! Some servers leave `If-None-Match` and `If-Match` aside. Others look first and write then, so that several of those who
//! write at once win. So several writers write a few objects at once, first objects that are not there, then objects as
//! they are by then. Of each object exactly one writer may win each time.

use std::sync::Arc;

use bytes::Bytes;
use tokio::task::{JoinHandle, JoinSet};
use tracing::Dispatch;
use tracing::instrument::WithSubscriber as _;

use crate::deadline::Deadline;
use crate::failure::Failure;
use crate::list::OWN;
use crate::put::{Only, Put};
use crate::remote::{Remote, random};

/// The objects that are written.
const OBJECTS: usize = 3;
/// The writers of each, at once.
const WRITERS: usize = 4;
/// The length of an object, in bytes: what takes a moment to store shows a race.
const LENGTH: usize = 4096;

/// The outcome of a probe: `None` if conditions hold, or the reason why they do not.
pub(crate) type Verdict = Option<&'static str>;

const ASIDE: &str = "the server leaves If-None-Match or If-Match aside";
const NOT_ATOMIC: &str = "the server's conditional writes are not atomic: several of those who write at once win";
const NOT_BUILT: &str = "the server has no conditional writes";

impl Remote {
    /// Finds out whether conditional writes keep writers apart, by objects that are removed again. The removal goes on
    /// beside where writing may begin.
    pub(crate) async fn probe(
        self: Arc<Self>,
        deadline: Deadline,
    ) -> Result<(Verdict, Option<JoinHandle<()>>), (Failure, u32)> {
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

    async fn race_twice(self: &Arc<Self>, names: &[String], deadline: Deadline) -> Result<Verdict, (Failure, u32)> {
        let mut expected = vec![Only::Absent; names.len()];
        for round in 0..2u8 {
            let winners = match self.race(names, &expected, (round, deadline)).await {
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
            expected = winners.into_iter().flatten().map(Only::Is).collect();
        }
        Ok(None)
    }

    /// Several writers of each object at once; the ETags of those who won.
    async fn race(
        self: &Arc<Self>,
        names: &[String],
        expected: &[Only],
        (round, deadline): (u8, Deadline),
    ) -> Result<Vec<Vec<Arc<str>>>, (Failure, u32)> {
        let mut writers = JoinSet::new();
        for (number, (name, only)) in names.iter().zip(expected).enumerate() {
            for writer in 0..WRITERS {
                let (remote, name, only) = (Arc::clone(self), name.clone(), only.clone());
                // The stored bytes name their writer.
                let mut bytes = vec![b'.'; LENGTH];
                bytes[..3].copy_from_slice(&[b'0' + round, b'0' + number as u8, b'0' + writer as u8]);
                let put = async move { (number, remote.put(&name, Bytes::from(bytes), &only, deadline).await) };
                writers.spawn_on(put.with_subscriber(Dispatch::none()), &self.handle);
            }
        }
        let mut winners = vec![Vec::new(); names.len()];
        let mut failed = None;
        while let Some(done) = writers.join_next().await {
            match done {
                Ok((number, Ok(Put::Done(etag)))) => winners[number].push(etag),
                Ok((_, Ok(Put::Lost))) => {}
                Ok((_, Err(failure))) => failed = Some(failure),
                Err(error) => failed = Some((Failure::unsent(error.to_string()), 1)),
            }
        }
        failed.map_or(Ok(winners), Err)
    }

    /// Removes objects, as far as it can be done.
    async fn remove_all(self: Arc<Self>, names: Vec<String>) {
        let mut removals = JoinSet::new();
        for name in names {
            let remote = Arc::clone(&self);
            removals.spawn_on(
                async move { remote.delete(&name, remote.deadline(0)).await }.with_subscriber(Dispatch::none()),
                &self.handle,
            );
        }
        while removals.join_next().await.is_some() {}
    }
}
