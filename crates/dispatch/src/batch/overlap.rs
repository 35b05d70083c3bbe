//! [`read_overlapped`]: a batch of reads over storage that answers later, many requests at a time.
//!
//! The calling thread begins requests and waits; what comes is handed to the pool, so that who brings bytes never decodes
//! and who decodes never waits for bytes. It knows no runtime and no protocol: whoever has one begins a [`Fetch`] and
//! answers its [`Reply`] from any thread.

use std::collections::HashMap;
use std::sync::mpsc::{Receiver, Sender, channel};

use nczarr_model::{ErrorKind, Result};

use super::read::{cut, each_wanted};
use crate::zmap::{ByteRange, Found, Ranges, ReadJob, ReadTicket};
use crate::{Key, Version};

/// What may be under way at one time.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct InFlight {
    /// Requests that were begun and whose bytes are not used up yet.
    pub requests: usize,
    /// Bytes of these, as far as it is known how many there will be; one request is always begun.
    pub bytes: u64,
}

/// What is to be read of one object.
#[derive(Debug)]
pub struct Fetch {
    /// The object.
    pub key: Key,
    /// The parts wanted.
    pub ranges: Ranges,
    /// More bytes than this are an error.
    pub limit: usize,
    /// Whether the version is wanted.
    pub versioned: bool,
}

impl Fetch {
    /// The parts, if several are wanted; those without bytes are left out.
    ///
    /// # Errors
    /// `NC_EIO` if they are longer than the limit together; `NC_EINVAL` for parts beyond 64 bits.
    pub fn parts(&self) -> Result<Option<Vec<ByteRange>>> {
        match self.ranges {
            Ranges::All | Ranges::One(_) | Ranges::Last(_) => Ok(None),
            _ => {
                let mut parts = each_wanted(&self.key, &self.ranges, self.limit)?;
                parts.retain(|part| part.len != Some(0));
                Ok(Some(parts))
            }
        }
    }
}

/// What was read of one object: all that was asked for, parts one after another; and its version.
pub type Fetched = Result<Option<(Vec<u8>, Option<Version>)>>;

/// Takes what was read. Dropped without, it answers an error.
#[derive(Debug)]
pub struct Reply {
    number: u64,
    to: Option<Sender<Message>>,
}

#[derive(Debug)]
enum Message {
    Came(u64, Fetched),
    /// Bytes of this weight are used up.
    Freed(u64),
}

impl Reply {
    /// Answers.
    pub fn send(mut self, found: Fetched) {
        if let Some(to) = self.to.take() {
            // Nobody listens any more once the batch is over.
            let _ = to.send(Message::Came(self.number, found));
        }
    }
}

impl Drop for Reply {
    fn drop(&mut self) {
        if let Some(to) = self.to.take() {
            let lost = Err(ErrorKind::Internal.context("a request was given up without an answer"));
            let _ = to.send(Message::Came(self.number, lost));
        }
    }
}

/// Says that bytes are used up, whatever happens.
struct Freeing(Sender<Message>, u64);

impl Drop for Freeing {
    fn drop(&mut self) {
        let _ = self.0.send(Message::Freed(self.1));
    }
}

/// Runs a batch: `begin` is called on this thread for each object, and its reply may come from any.
pub fn read_overlapped(job: &dyn ReadJob, most: InFlight, begin: &mut dyn FnMut(Fetch, Reply)) {
    let (to, from) = channel();
    #[cfg(feature = "parallel")]
    if job.threads() > 1 {
        rayon::in_place_scope(|scope| {
            drive(job, most, begin, &to, &from, &mut |done| scope.spawn(move |_| done.run()));
        });
        return;
    }
    drive(job, most, begin, &to, &from, &mut |done| done.run());
}

/// One object whose bytes have come.
struct Done<'s, 'j> {
    job: &'s dyn ReadJob,
    key: Key,
    ticket: ReadTicket<'j>,
    found: Fetched,
    freeing: Freeing,
}

impl Done<'_, '_> {
    fn run(self) {
        let Self { job, key, ticket, found, freeing } = self;
        match found {
            Ok(Some((bytes, version))) => match ticket.check_len(&key, bytes.len() as u64) {
                Ok(()) => job.done(ticket, Ok(Some((Found::Bytes(&bytes), version)))),
                Err(error) => job.done(ticket, Err(error)),
            },
            Ok(None) => job.done(ticket, Ok(None)),
            Err(error) => job.done(ticket, Err(error)),
        }
        drop(freeing);
    }
}

fn drive<'s>(
    job: &'s dyn ReadJob,
    most: InFlight,
    begin: &mut dyn FnMut(Fetch, Reply),
    to: &Sender<Message>,
    from: &Receiver<Message>,
    hand: &mut dyn FnMut(Done<'s, 's>),
) {
    let mut waiting: HashMap<u64, (Key, ReadTicket<'s>, u64)> = HashMap::new();
    let (mut number, mut requests, mut bytes, mut ended) = (0u64, 0usize, 0u64, false);
    let mut key = Key::root();
    loop {
        while !ended && (requests == 0 || (requests < most.requests && bytes < most.bytes)) {
            let Some(ticket) = job.next(&mut key) else {
                ended = true;
                break;
            };
            let weight = ticket.hint as u64;
            let (ranges, limit, versioned) = (ticket.ranges.clone(), ticket.limit, ticket.versioned);
            waiting.insert(number, (key.clone(), ticket, weight));
            let reply = Reply { number, to: Some(to.clone()) };
            number += 1;
            requests += 1;
            bytes = bytes.saturating_add(weight);
            begin(Fetch { key: key.clone(), ranges, limit, versioned }, reply);
        }
        if requests == 0 {
            return;
        }
        // It is never closed: this holds one end.
        let Ok(message) = from.recv() else { return };
        match message {
            Message::Freed(weight) => {
                requests -= 1;
                bytes = bytes.saturating_sub(weight);
            }
            Message::Came(number, found) => {
                let Some((key, ticket, weight)) = waiting.remove(&number) else { continue };
                // What has come weighs what it does, whatever was expected.
                let real = found.as_ref().ok().and_then(Option::as_ref).map_or(0, |(bytes, _)| bytes.capacity() as u64);
                bytes = bytes.saturating_sub(weight).saturating_add(real);
                hand(Done { job, key, ticket, found, freeing: Freeing(to.clone(), real) });
            }
        }
    }
}

/// Lays `parts` one after another, out of `pieces`: the ranges of [`coalesce`](super::coalesce) that were read, each with its first byte's
/// offset.
///
/// # Errors
/// `NC_EIO` if a part is not wholly there.
pub fn gather(key: &Key, parts: &[ByteRange], pieces: &[(u64, impl AsRef<[u8]>)]) -> Result<Vec<u8>> {
    let mut out = Vec::new();
    for part in parts {
        let holder = pieces.partition_point(|(from, _)| *from <= part.offset).checked_sub(1);
        let (from, bytes) = holder
            .and_then(|at| pieces.get(at))
            .map_or((part.offset, &[][..]), |(from, bytes)| (*from, bytes.as_ref()));
        out.extend_from_slice(cut(key, bytes, from, *part)?);
    }
    Ok(out)
}
