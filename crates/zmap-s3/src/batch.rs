//! Batches: requests run on the runtime, decoding and encoding on the pool; the calling thread coordinates.
//!
//! Number and bytes of objects in flight or waiting to be decoded are limited. Network threads only move
//! bytes. Each response is handed to the pool (`nczarr_runtime::with_executor`). A finished body starts the
//! next request. A short body stays in the system until a pool thread takes it, so it is decoded while still
//! in the processor's cache.

use std::sync::Arc;

use bytes::Bytes;
use nczarr_model::{Error, ErrorKind, Result};
use nczarr_runtime::{StopSignal, stoppable, with_executor};
use nczarr_storage::batch::{
    Payload, Ranges, ReadJob, ReadOutcome as Value, ReadTicket, WriteJob, WriteTicket, coalesce, gather,
};
use nczarr_storage::{ByteRange, Forbidden, Key, Version, WriteOutcome, ZMap as _, ZMapExt};

use crate::body::PendingBody;
use crate::failure::RequestFailure;
use crate::get::{FetchedObject, GetRange, ReadMiss};
use crate::in_flight::{GUESS, InFlightLoad};
use crate::map::{S3Map, too_long};
use crate::put::{PutOutcome, WriteCondition};
use crate::remote::RemoteBucket;
use crate::runtime::{self, EventQueue};

/// Ranges of an object at most this many bytes apart are fetched together, because one more request takes as
/// long.
const GAP: u64 = 512 << 10;

/// The result for one object: one entry for each range, or `None` if the object is absent.
type FetchResult = Result<Option<Vec<FetchedObject>>>;

enum BatchEvent {
    Came(usize, FetchResult),
    /// The object was decoded.
    Done(usize),
    /// The object was encoded, or encoding failed.
    Encoded(usize, WriteTicket, Key, Result<Bytes>),
    Stored(usize, Result<PutOutcome>),
}

/// The events of a batch; `None`: the runtime has ended.
type BatchEvents = EventQueue<Option<BatchEvent>>;

/// Reports the end of a task, even after a panic.
struct CompletionGuard<'q>(&'q BatchEvents, usize);

impl Drop for CompletionGuard<'_> {
    fn drop(&mut self) {
        self.0.push(Some(BatchEvent::Done(self.1)));
    }
}

/// A ticket whose requests are under way.
struct PendingRead<'j> {
    ticket: ReadTicket<'j>,
    key: Key,
    plan: ReadPlan,
    cost: usize,
}

/// The requests for one ticket.
#[derive(Debug, Clone)]
struct ReadPlan {
    wants: Vec<GetRange>,
    limit: u64,
    /// The requested ranges, if there are several.
    parts: Option<Vec<ByteRange>>,
    /// Only the existence of the object is requested.
    nothing: bool,
    /// The version is requested too.
    versioned: bool,
}

pub(crate) fn read<'j>(map: &'j S3Map, job: &'j dyn ReadJob) {
    let events = Arc::new(BatchEvents::default());
    let gone = with_executor(job.threads(), |hands| {
        let (mut under, mut free) = (Vec::<Option<PendingRead<'j>>>::new(), Vec::new());
        let (mut load, mut more, mut key) =
            (InFlightLoad::of_reads(&map.remote.access, job.threads(), job.remaining()), true, Key::root());
        loop {
            while more && load.has_room() {
                let Some(ticket) = job.next(&mut key) else {
                    more = false;
                    break;
                };
                let plan = match StopSignal::check_current().and_then(|()| plan(map, &key, &ticket)) {
                    Ok(Some(plan)) => plan,
                    Ok(None) => {
                        job.done(ticket, Ok(None));
                        continue;
                    }
                    Err(error) => {
                        job.done(ticket, Err(error));
                        continue;
                    }
                };
                let place = free.pop().unwrap_or_else(|| {
                    under.push(None);
                    under.len() - 1
                });
                let cost = ticket.hint.min(ticket.limit).max(GUESS);
                load.add(cost);
                begin(&map.remote, &events, place, &key, &plan);
                under[place] = Some(PendingRead { ticket, key: key.clone(), plan, cost });
            }
            if load.is_none() {
                return Vec::new();
            }
            match events.pop() {
                Some(BatchEvent::Came(place, came)) => {
                    let Some(PendingRead { ticket, key, plan, cost }) = under[place].take() else { continue };
                    free.push(place);
                    load.received(cost);
                    let events = Arc::clone(&events);
                    hands.run(move || {
                        let _over = CompletionGuard(&events, cost);
                        deliver(map, job, ticket, &key, &plan, taken(&map.remote, &key, &plan, came));
                    });
                }
                Some(BatchEvent::Done(cost)) => {
                    load.decoded();
                    load.take(cost);
                }
                Some(_) => {}
                None => return under.into_iter().flatten().collect(),
            }
        }
    });
    for lost in gone {
        let what = map.remote.describe("read", &map.remote.object(&lost.key));
        job.done(lost.ticket, Err(ErrorKind::S3.context(format!("{what}: the runtime ended"))));
    }
}

/// Plans the requests for a ticket; `None`: the object cannot exist.
fn plan(map: &S3Map, key: &Key, ticket: &ReadTicket<'_>) -> Result<Option<ReadPlan>> {
    if key.is_root() {
        return Ok(None);
    }
    map.check_key(key)?;
    let versioned = ticket.versioned;
    let plain =
        |want, limit| Ok(Some(ReadPlan { wants: vec![want], limit, parts: None, nothing: false, versioned }));
    let most = ticket.limit as u64;
    let presence = || {
        Ok(Some(ReadPlan {
            wants: vec![GetRange::PRESENCE],
            limit: 2,
            parts: None,
            nothing: true,
            versioned,
        }))
    };
    match &ticket.ranges {
        Ranges::All => plain(GetRange::All, most),
        Ranges::One(ByteRange { offset: 0, len: None }) => plain(GetRange::All, most),
        Ranges::One(ByteRange { offset, len: None }) => plain(GetRange::From(*offset), most),
        Ranges::One(ByteRange { len: Some(0), .. }) | Ranges::Suffix(0) => presence(),
        // Exceeding the limit is an error only if the object has that many bytes.
        Ranges::One(ByteRange { offset, len: Some(len) }) => {
            plain(GetRange::Span(*offset, (*len).min(most.saturating_add(1))), most)
        }
        Ranges::Suffix(len) => {
            ticket.check_len(key, *len)?;
            plain(GetRange::Last(*len), most)
        }
        _ => {
            let parts = ticket.parts(key)?.unwrap_or_default();
            if parts.is_empty() {
                return presence();
            }
            let wants = coalesce(&parts, GAP).into_iter();
            let wants = wants.map(|part| GetRange::Span(part.offset, part.len.unwrap_or(1))).collect();
            Ok(Some(ReadPlan { wants, limit: u64::MAX, parts: Some(parts), nothing: false, versioned }))
        }
    }
}

/// Sends the requests of one ticket.
fn begin(remote: &Arc<RemoteBucket>, events: &Arc<BatchEvents>, place: usize, key: &Key, plan: &ReadPlan) {
    let (object, plan) = (remote.object(key), plan.clone());
    let remote = Arc::clone(remote);
    let handle = remote.handle.clone();
    let span = runtime::request_span("read", key.as_str());
    let read = stoppable(async move {
        let _open = span;
        fetch(&remote, &object, &plan, true).await
    });
    spawn(&handle, events, async move { BatchEvent::Came(place, read.await.and_then(|came| came)) });
}

fn spawn(
    handle: &tokio::runtime::Handle,
    events: &Arc<BatchEvents>,
    work: impl Future<Output = BatchEvent> + Send + 'static,
) {
    runtime::spawn(handle, events, work);
}

/// Fetches all ranges of one object, in one state of it.
async fn fetch(remote: &RemoteBucket, object: &str, plan: &ReadPlan, may_hold: bool) -> FetchResult {
    let limit = plan.limit;
    let what = || remote.describe("read", object);
    let failed =
        |(failure, tries): (RequestFailure, u32)| Forbidden::with_advice(failure.into_error(&what(), tries));
    let mut deadline = remote.deadline(0);
    for _ in 0..remote.access.retries.tries.max(1) {
        let mut found: Vec<FetchedObject> = Vec::with_capacity(plan.wants.len());
        for want in &plan.wants {
            // A single body is taken by the thread that decodes it.
            let got = match plan.wants.len() {
                1 if may_hold => remote.get_held(object, *want, limit, &mut deadline).await,
                _ => remote.get(object, *want, limit, &mut deadline).await,
            };
            match got.map_err(failed)? {
                Ok(piece) => found.push(piece),
                Err(ReadMiss::Absent) if found.is_empty() => return Ok(None),
                Err(ReadMiss::Absent | ReadMiss::Changed) => {
                    return Err(ErrorKind::Io
                        .context(format!("{}: the object was removed while it was read", what())));
                }
                Err(ReadMiss::TooLong(len)) => return Err(too_long(&what(), len, limit)),
                Err(ReadMiss::Failed(failure)) => return Err(failed((failure, 1))),
            }
        }
        // A range beyond the end has no version. If it is wanted, fetch the whole object.
        if plan.versioned && found.iter().all(|found| found.etag.is_empty()) {
            match remote.get(object, GetRange::All, u64::MAX, &mut deadline).await.map_err(failed)? {
                Ok(whole) => found.iter_mut().for_each(|found| found.etag = Arc::clone(&whole.etag)),
                Err(_) => continue,
            }
        }
        // Ranges from two states of an object do not fit together.
        if found.windows(2).all(|pair| pair[0].etag == pair[1].etag) {
            return Ok(Some(found));
        }
    }
    Err(ErrorKind::Io.context(format!("{}: the object changed repeatedly while it was read", what())))
}

/// Returns the fetched bytes, after taking bodies that were left for this thread. A body that is gone is
/// requested once more.
fn taken(remote: &Arc<RemoteBucket>, key: &Key, plan: &ReadPlan, came: FetchResult) -> FetchResult {
    let Some(mut found) = came? else { return Ok(None) };
    for piece in &mut found {
        match piece.held.take().map(PendingBody::take) {
            None => {}
            Some(Some(bytes)) => piece.bytes = bytes,
            Some(None) => {
                let (again, object, plan) = (Arc::clone(remote), remote.object(key), plan.clone());
                let read = stoppable(async move { fetch(&again, &object, &plan, false).await });
                return runtime::wait(&remote.handle, read)??;
            }
        }
    }
    Ok(Some(found))
}

/// Returns a ticket with its result.
fn deliver(
    map: &S3Map,
    job: &dyn ReadJob,
    mut ticket: ReadTicket<'_>,
    key: &Key,
    plan: &ReadPlan,
    came: FetchResult,
) {
    let found = match came {
        Ok(Some(found)) => found,
        Ok(None) => return job.done(ticket, Ok(None)),
        Err(error) => return job.done(ticket, Err(error)),
    };
    if plan.nothing {
        let version = version(map, key, &ticket, &found);
        return job.done(ticket, Ok(Some((Value::Bytes(&[]), version))));
    }
    if let Some(parts) = &plan.parts {
        let pieces = found.iter().zip(&plan.wants).map(|(found, want)| {
            let from = if let GetRange::Span(from, _) = want { *from } else { 0 };
            (from, &found.bytes[..])
        });
        let bytes = gather(key, parts, &pieces.collect::<Vec<_>>());
        let version = version(map, key, &ticket, &found);
        return match bytes {
            Ok(bytes) => job.done(ticket, Ok(Some((Value::Bytes(&bytes), version)))),
            Err(error) => job.done(ticket, Err(error)),
        };
    }
    let Some(whole) = found.first() else {
        let error = ErrorKind::Internal.context(format!("{key}: internal: no range was requested"));
        return job.done(ticket, Err(error));
    };
    let len = whole.bytes.len() as u64;
    if let Err(error) = ticket.check_len(key, len) {
        return job.done(ticket, Err(error));
    }
    let version = version(map, key, &ticket, &found);
    let placed = matches!(ticket.ranges, Ranges::All | Ranges::One(ByteRange { len: None, .. }))
        || matches!((&ticket.ranges, &ticket.into), (Ranges::One(ByteRange { len: Some(len), .. }), Some(into))
            if *len == into.capacity() as u64);
    if let Some(into) = ticket.into.as_mut().filter(|_| placed && version.is_none()) {
        into.clear();
        if len > into.capacity() as u64 {
            let error =
                too_long(&map.remote.describe("read", &map.remote.object(key)), len, into.capacity() as u64);
            return job.done(ticket, Err(error));
        }
        let filled = into.put(&whole.bytes);
        return job.done(ticket, filled.map(|()| Some((Value::InPlace, None))));
    }
    job.done(ticket, Ok(Some((Value::Bytes(&whole.bytes), version))));
}

fn version(map: &S3Map, key: &Key, ticket: &ReadTicket<'_>, found: &[FetchedObject]) -> Option<Version> {
    let first = found.first().filter(|found| ticket.versioned && !found.etag.is_empty())?;
    Some(map.version(key, &first.etag))
}

pub(crate) fn write<'j>(map: &'j S3Map, job: &'j dyn WriteJob) {
    let events = Arc::new(BatchEvents::default());
    with_executor(job.threads(), |hands| {
        let (mut under, mut free) = (Vec::<Option<(WriteTicket, Key, usize)>>::new(), Vec::new());
        let (mut load, mut more, mut key) = (InFlightLoad::of_writes(&map.remote.access), true, Key::root());
        loop {
            while more && load.has_room() {
                let Some(ticket) = job.next(&mut key) else {
                    more = false;
                    break;
                };
                let place = free.pop().unwrap_or_else(|| {
                    under.push(None);
                    under.len() - 1
                });
                load.add(GUESS);
                let (key, events) = (key.clone(), Arc::clone(&events));
                hands.run(move || {
                    let mut over = EncodingGuard { events: &events, what: Some((place, ticket, key)) };
                    let bytes = over.what.as_ref().map(|(_, ticket, _)| encode(job, ticket.index));
                    if let (Some((place, ticket, key)), Some(bytes)) = (over.what.take(), bytes) {
                        events.push(Some(BatchEvent::Encoded(place, ticket, key, bytes)));
                    }
                });
            }
            if load.is_none() {
                return;
            }
            match events.pop() {
                Some(BatchEvent::Encoded(place, ticket, key, bytes)) => {
                    let ready = bytes.and_then(|bytes| {
                        StopSignal::check_current()?;
                        map.check_put(&key, bytes.len() as u64, map.deadline())?;
                        Ok((bytes, map.only(&key, &ticket.precondition, map.deadline())?))
                    });
                    match ready {
                        Ok((bytes, only)) => {
                            let cost = bytes.len();
                            // The real size is known now.
                            load.take(GUESS);
                            load.add(cost);
                            send(&map.remote, &events, place, &key, bytes, only);
                            under[place] = Some((ticket, key, cost));
                        }
                        Err(error) => {
                            free.push(place);
                            load.take(GUESS);
                            job.done(ticket, Err(error));
                        }
                    }
                }
                Some(BatchEvent::Stored(place, stored)) => {
                    let Some((ticket, key, cost)) = under[place].take() else { continue };
                    free.push(place);
                    load.take(cost);
                    let outcome = stored.map(|stored| match stored {
                        PutOutcome::Done(etag) => WriteOutcome::Done(Some(map.version(&key, &etag))),
                        PutOutcome::Lost => WriteOutcome::Conflict,
                    });
                    job.done(ticket, outcome);
                }
                Some(BatchEvent::Done(cost)) => load.take(cost),
                Some(BatchEvent::Came(..)) => {}
                None => {
                    for (ticket, key, _) in under.into_iter().flatten() {
                        let what = map.remote.describe("write", &map.remote.object(&key));
                        job.done(ticket, Err(ErrorKind::S3.context(format!("{what}: the runtime ended"))));
                    }
                    return;
                }
            }
        }
    });
}

/// An object that is being encoded. After a panic the batch must not wait for it.
struct EncodingGuard<'q> {
    events: &'q BatchEvents,
    what: Option<(usize, WriteTicket, Key)>,
}

impl Drop for EncodingGuard<'_> {
    fn drop(&mut self) {
        if self.what.take().is_some() {
            self.events.push(Some(BatchEvent::Done(GUESS)));
        }
    }
}

fn encode(job: &dyn WriteJob, index: usize) -> Result<Bytes> {
    let mut scratch = Vec::new();
    match job.value(index, &mut scratch)? {
        Payload::Scratch => Ok(Bytes::from(scratch)),
        Payload::Borrowed(bytes) => Ok(Bytes::copy_from_slice(bytes)),
    }
}

fn send(
    remote: &Arc<RemoteBucket>,
    events: &Arc<BatchEvents>,
    place: usize,
    key: &Key,
    bytes: Bytes,
    only: WriteCondition,
) {
    let object = remote.object(key);
    let remote = Arc::clone(remote);
    let handle = remote.handle.clone();
    let span = runtime::request_span("write", key.as_str());
    spawn(&handle, events, async move {
        let _open = span;
        let deadline = remote.deadline(bytes.len() as u64);
        let stored = remote.put(&object, bytes, &only, deadline).await;
        let failed = |(failure, tries): (RequestFailure, u32)| {
            failure.into_error(&remote.describe("write", &object), tries)
        };
        BatchEvent::Stored(place, stored.map_err(failed))
    });
}

/// Does the same to many objects concurrently. Returns the first error when all are done.
fn each<T: Send + 'static, W: Future<Output = Result<(), Error>> + Send + 'static>(
    remote: &Arc<RemoteBucket>,
    items: impl IntoIterator<Item = T>,
    work: impl Fn(Arc<RemoteBucket>, T) -> W,
) -> Result<()> {
    let queue = Arc::new(EventQueue::default());
    let (mut under, mut failure) = (0, None);
    let mut items = items.into_iter().fuse();
    loop {
        while under < remote.access.in_flight.max(1)
            && failure.is_none()
            && let Some(item) = items.next()
        {
            under += 1;
            runtime::spawn(&remote.handle, &queue, work(Arc::clone(remote), item));
        }
        if under == 0 {
            return failure.map_or(Ok(()), Err);
        }
        under -= 1;
        match queue.pop() {
            Some(Ok(())) => {}
            Some(Err(error)) => drop(failure.get_or_insert(error)),
            None => drop(
                failure.get_or_insert(ErrorKind::S3.context("the runtime ended before its requests did")),
            ),
        }
    }
}

/// Removes objects.
pub(crate) fn delete(remote: &Arc<RemoteBucket>, keys: &[Key]) -> Result<()> {
    let objects: Vec<String> = keys.iter().map(|key| remote.object(key)).collect();
    each(remote, objects, |remote, object| async move {
        let done = remote.delete(&object, remote.deadline(0)).await;
        done.map_err(|(failure, tries)| failure.into_error(&remote.describe("delete", &object), tries))
    })
}

/// Moves the objects at or below `from`: copies on the server, then removes.
pub(crate) fn rename(map: &S3Map, from: &Key, to: &Key) -> Result<()> {
    let shown = &map.remote.access.shown;
    if !map.caps().write {
        return Err(ErrorKind::Perm.context(format!("{shown}: key {from}: the map is read-only")));
    }
    map.check_shared(from, map.deadline())?;
    if from.is_root() || to.is_root() {
        return Err(
            ErrorKind::Inval.context(format!("{shown}: key {from}: it cannot be moved to {:?}", to.as_str()))
        );
    }
    let taken = || ErrorKind::Object.context(format!("{shown}: key {to}: it exists already"));
    if from == to || to.relative_to(from).is_some() || from.relative_to(to).is_some() {
        return Err(taken());
    }
    if !map.keys(to)?.is_empty() {
        return Err(taken());
    }
    let old = map.keys(from)?;
    if old.is_empty() {
        return Ok(());
    }
    let mut above = to.parent();
    while let Some(key) = above.filter(|key| !key.is_root()) {
        if map.exists(&key)? {
            return Err(taken());
        }
        above = key.parent();
    }
    let moved = |key: &Key| Key::new(&format!("{to}{}", &key.as_str()[from.as_str().len()..]));
    let pairs: Vec<(Key, Key)> =
        old.iter().map(|key| Ok((key.clone(), moved(key)?))).collect::<Result<_>>()?;
    for (_, new) in &pairs {
        map.check_key(new)?;
    }
    let names = pairs.iter().map(|(old, new)| (map.remote.object(old), map.remote.object(new)));
    let copied = each(&map.remote, names, |remote, (old, new)| async move {
        let done = remote.copy(&old, &new).await;
        done.map_err(|(failure, tries)| failure.into_error(&remote.describe("copy", &old), tries))
    });
    if let Err(error) = copied {
        let new: Vec<Key> = pairs.into_iter().map(|(_, new)| new).collect();
        // Objects left behind are no worse than the failure, which is reported.
        drop(delete(&map.remote, &new));
        return Err(error);
    }
    delete(&map.remote, &old)
}
