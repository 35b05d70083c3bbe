//! Bodies of objects: from the connection straight into the memory they stay in.
//!
//! One that is not long waits in the system until all of it came, and is [`Held`]: whoever decodes it takes it then, into
//! memory that was used just before, and nobody was woken for its parts. Others are read as they come.

use std::fmt;
use std::sync::Arc;
use std::time::Duration;

use bytes::Bytes;
use tokio::time::timeout;

use crate::ask::Answer;
use crate::deadline::Deadline;
use crate::failure::Failure;
use crate::line::{Gathered, Line};
use crate::remote::Remote;
use crate::spare::{HELD, Room, Spare};
use crate::wire::Wire;

/// Where a body may be put.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Way {
    /// In memory that is not asked back.
    Own,
    /// In memory that was used before, and will be again.
    Lent,
    /// As before, or nowhere yet.
    Held,
}

pub(crate) enum Body {
    Here(Bytes),
    Held(Held),
}

/// Room is made ahead for a body of any length, but for no more than so many bytes, or as many as came: it may never come.
const AHEAD: usize = 16 << 20;

impl Remote {
    /// All bytes of a body, `length` of them, before the deadline.
    pub(crate) async fn body(
        &self,
        answer: Answer,
        length: u64,
        way: Way,
        deadline: &mut Deadline,
    ) -> Result<Body, Failure> {
        let Answer { head, mut line, .. } = answer;
        let stall = self.access.patience.stall;
        let wire = head.stays().then(|| self.wire.clone());
        if way == Way::Held && HELD.contains(&length) {
            match line.gather(length as usize, stall, deadline).await {
                Gathered::All => return Ok(Body::Held(Held { line, length, spare: Arc::clone(&self.spare), wire })),
                Gathered::Some => {}
                Gathered::Stalled(there) => return Err(stalled(there, length, stall)),
                Gathered::Late(there) => return Err(late(there, length, deadline)),
            }
        }
        let mut all = All::new(length, (way != Way::Own).then_some(&self.spare))?;
        while (all.len() as u64) < length {
            let sum = all.len();
            let left = deadline.left();
            match timeout(stall.min(left), line.read(all.rest(length)?)).await {
                Err(_) if left <= stall => return Err(late(sum, length, deadline)),
                Err(_) => return Err(stalled(sum, length, stall)),
                Ok(Ok(0)) => return Err(Failure::damaged(format!("{sum} of {length} bytes came"))),
                Ok(Ok(some)) => {
                    all.came(some);
                    deadline.moves(some as u64);
                }
                Ok(Err(error)) => {
                    return Err(Failure::damaged(format!("{sum} of {length} bytes came, then: {error}")));
                }
            }
        }
        give_back(line, wire);
        Ok(Body::Here(all.into_bytes()))
    }
}

fn stalled(sum: usize, length: u64, stall: Duration) -> Failure {
    Failure::stalled(format!("{sum} of {length} bytes came, then none for {} s", stall.as_secs_f32()))
}

fn late(sum: usize, length: u64, deadline: &Deadline) -> Failure {
    Failure::stalled(format!("not done within {} s: {sum} of {length} bytes came", deadline.seconds()))
}

/// A connection whose body was read is for the next, unless there is more in it that nobody asked for.
fn give_back(line: Line, wire: Option<Wire>) {
    if let Some(wire) = wire.filter(|_| line.is_at_end()) {
        wire.keep(line);
    }
}

/// A body that came, and is to be taken.
pub(crate) struct Held {
    line: Line,
    length: u64,
    spare: Arc<Spare>,
    wire: Option<Wire>,
}

impl Held {
    /// Takes it; nothing is waited for. `None`: it is not all there, against what the system said.
    pub(crate) fn take(mut self) -> Option<Bytes> {
        let mut room = self.spare.room(self.length)?;
        let taken = self.line.take(room.rest(self.length));
        room.came(taken);
        if taken as u64 != self.length {
            return None;
        }
        give_back(self.line, self.wire);
        Some(room.into())
    }
}

impl fmt::Debug for Held {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Held").field("length", &self.length).finish_non_exhaustive()
    }
}

/// A body, as far as it came.
enum All {
    Room(Room),
    /// So many bytes of these came.
    Own(Vec<u8>, usize),
}

impl All {
    fn new(length: u64, spare: Option<&Arc<Spare>>) -> Result<Self, Failure> {
        let room = match spare.and_then(|spare| spare.room(length)) {
            Some(room) => Some(room),
            None if length > *HELD.end() && length <= AHEAD as u64 => {
                Some(Room::alone(length).ok_or_else(|| no_memory(length))?)
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

    /// Room for what comes next of a body of `length` bytes, which is not complete.
    fn rest(&mut self, length: u64) -> Result<&mut [u8], Failure> {
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
            Self::Room(room) => room.came(some),
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

fn no_memory(length: u64) -> Failure {
    Failure::refused(format!("no memory for {length} bytes"))
}
