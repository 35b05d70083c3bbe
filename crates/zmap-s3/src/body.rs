//! Reads bodies of objects from the connection directly into their final memory.
//!
//! A short body waits in the system until it is complete, as a [`PendingBody`]. The decoding thread then
//! takes it into recently used memory, and no thread is woken for its parts. Other bodies are read as they
//! arrive.

use std::fmt;
use std::sync::Arc;
use std::time::Duration;

use bytes::Bytes;
use tokio::time::timeout;

use crate::buffer_pool::{BufferPool, HELD, PooledBuffer};
use crate::connection::{Connection, GatherOutcome};
use crate::connection_pool::ConnectionPool;
use crate::deadline::Deadline;
use crate::failure::RequestFailure;
use crate::remote::RemoteBucket;
use crate::signed_request::Response;

/// The memory for a body.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum BodyMemory {
    /// Memory for the caller to keep.
    Own,
    /// Memory of the pool.
    Lent,
    /// Memory of the pool, or left in the system.
    Held,
}

pub(crate) enum Body {
    Here(Bytes),
    Held(PendingBody),
}

/// Most bytes allocated before they arrive, or as many as have arrived. An announced body may never arrive.
const AHEAD: usize = 16 << 20;

impl RemoteBucket {
    /// Reads a body of `length` bytes before the deadline.
    pub(crate) async fn body(
        &self,
        answer: Response,
        length: u64,
        way: BodyMemory,
        deadline: &mut Deadline,
    ) -> Result<Body, RequestFailure> {
        let Response { head, mut line, .. } = answer;
        let stall = self.access.retries.stall;
        let wire = head.is_reusable().then(|| self.wire.clone());
        if way == BodyMemory::Held && HELD.contains(&length) {
            match line.gather(length as usize, stall, deadline).await {
                GatherOutcome::All => {
                    return Ok(Body::Held(PendingBody {
                        line,
                        length,
                        spare: Arc::clone(&self.spare),
                        wire,
                    }));
                }
                GatherOutcome::Some => {}
                GatherOutcome::Stalled(there) => return Err(stalled(there, length, stall)),
                GatherOutcome::Late(there) => return Err(late(there, length, deadline)),
            }
        }
        let mut all = PartialBody::new(length, (way != BodyMemory::Own).then_some(&self.spare))?;
        while (all.len() as u64) < length {
            let sum = all.len();
            let left = deadline.left();
            match timeout(stall.min(left), line.read(all.rest(length)?)).await {
                Err(_) if left <= stall => return Err(late(sum, length, deadline)),
                Err(_) => return Err(stalled(sum, length, stall)),
                Ok(Ok(0)) => {
                    return Err(RequestFailure::damaged(format!(
                        "the response ended early (expected {length} bytes, found {sum})"
                    )));
                }
                Ok(Ok(some)) => {
                    all.came(some);
                    deadline.moves(some as u64);
                }
                Ok(Err(error)) => {
                    return Err(RequestFailure::damaged(format!(
                        "the response broke off after {sum} of {length} bytes: {error}"
                    )));
                }
            }
        }
        give_back(line, wire);
        Ok(Body::Here(all.into_bytes()))
    }
}

fn stalled(sum: usize, length: u64, stall: Duration) -> RequestFailure {
    RequestFailure::stalled(format!(
        "the response stalled after {sum} of {length} bytes: none for {} s",
        stall.as_secs_f32()
    ))
}

fn late(sum: usize, length: u64, deadline: &Deadline) -> RequestFailure {
    RequestFailure::stalled(format!(
        "timed out after {} s ({sum} of {length} bytes arrived)",
        deadline.seconds()
    ))
}

/// Keeps a connection whose body was read, unless it has unexpected bytes.
fn give_back(line: Connection, wire: Option<ConnectionPool>) {
    if let Some(wire) = wire.filter(|_| line.is_at_end()) {
        wire.keep(line);
    }
}

/// A complete body that was not read yet.
pub(crate) struct PendingBody {
    line: Connection,
    length: u64,
    spare: Arc<BufferPool>,
    wire: Option<ConnectionPool>,
}

impl PendingBody {
    /// Takes it without waiting. `None`: it is incomplete, contrary to the system's report.
    pub(crate) fn take(mut self) -> Option<Bytes> {
        let mut room = self.spare.room(self.length)?;
        let taken = self.line.take(room.rest(self.length));
        room.advance(taken);
        if taken as u64 != self.length {
            return None;
        }
        give_back(self.line, self.wire);
        Some(room.into())
    }
}

impl fmt::Debug for PendingBody {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Held").field("length", &self.length).finish_non_exhaustive()
    }
}

/// A body under construction.
enum PartialBody {
    Room(PooledBuffer),
    /// Memory, and the number of bytes received.
    Own(Vec<u8>, usize),
}

impl PartialBody {
    fn new(length: u64, spare: Option<&Arc<BufferPool>>) -> Result<Self, RequestFailure> {
        let room = match spare.and_then(|spare| spare.room(length)) {
            Some(room) => Some(room),
            None if length > *HELD.end() && length <= AHEAD as u64 => {
                Some(PooledBuffer::alone(length).ok_or_else(|| no_memory(length))?)
            }
            None => None,
        };
        Ok(room.map_or_else(|| Self::Own(Vec::new(), 0), Self::Room))
    }

    fn len(&self) -> usize {
        match self {
            Self::Room(room) => room.len(),
            Self::Own(_, len) => *len,
        }
    }

    /// Returns memory for the next bytes of an incomplete body of `length` bytes.
    fn rest(&mut self, length: u64) -> Result<&mut [u8], RequestFailure> {
        match self {
            Self::Room(room) => Ok(room.rest(length)),
            Self::Own(bytes, len) => {
                if *len == bytes.len() {
                    let rest = usize::try_from(length).unwrap_or(usize::MAX) - *len;
                    let more = rest.min((*len).max(AHEAD));
                    bytes.try_reserve_exact(more).map_err(|_| no_memory(length))?;
                    bytes.resize(*len + more, 0);
                }
                Ok(&mut bytes[*len..])
            }
        }
    }

    fn came(&mut self, some: usize) {
        match self {
            Self::Room(room) => room.advance(some),
            Self::Own(_, len) => *len += some,
        }
    }

    fn into_bytes(self) -> Bytes {
        match self {
            Self::Room(room) => room.into(),
            Self::Own(mut bytes, len) => {
                bytes.truncate(len);
                bytes.into()
            }
        }
    }
}

fn no_memory(length: u64) -> RequestFailure {
    RequestFailure::refused(format!("no memory for {length} bytes"))
}
