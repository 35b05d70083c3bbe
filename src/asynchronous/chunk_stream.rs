//! [`ChunkStream`]: the chunks of a variable as a stream, with read-ahead.

use std::collections::VecDeque;
use std::fmt;
use std::future::{Future, poll_fn};
use std::pin::Pin;
use std::task::{Context, Poll, ready};
use std::time::Duration;

use futures_core::Stream;
use nczarr_model::Result;

use super::{AsyncVariable, Call};
use crate::chunks::DetachedChunks;
use crate::{Array, Number};

/// The number of chunks that the stream reads ahead.
const AHEAD: usize = 8;

/// A chunk that was read.
#[derive(Debug, Clone, PartialEq)]
pub struct AsyncChunk<T: Number> {
    index: Vec<u64>,
    start: Vec<u64>,
    values: Array<T>,
}

impl<T: Number> AsyncChunk<T> {
    /// The index in the grid of chunks.
    pub fn index(&self) -> &[u64] {
        &self.index
    }

    /// The indices of the first element in the variable.
    pub fn start(&self) -> &[u64] {
        &self.start
    }

    /// The elements, clipped to the variable's shape.
    pub fn values(&self) -> &Array<T> {
        &self.values
    }

    /// Converts the chunk to its elements.
    pub fn into_values(self) -> Array<T> {
        self.values
    }
}

/// The chunks of a variable, in C order ([`AsyncVariable::chunks`], [`AsyncVariable::stored_chunks`]).
///
/// The first poll begins to read. Some chunks are read ahead ([`ChunkStream::read_ahead`]), so memory holds
/// no more than these. Dropping the stream stops all reads. After an error in one chunk, the stream continues
/// with the next chunk.
#[must_use = "a stream does nothing until it is polled"]
pub struct ChunkStream<T: Number> {
    variable: AsyncVariable,
    listing: Option<Call<DetachedChunks>>,
    left: Option<DetachedChunks>,
    running: VecDeque<ChunkRead<T>>,
    ahead: usize,
    timeout: Option<Duration>,
}

enum ChunkRead<T: Number> {
    Running(Call<AsyncChunk<T>>),
    Done(Result<AsyncChunk<T>>),
}

impl<T: Number> ChunkStream<T> {
    pub(super) fn new(variable: AsyncVariable, listing: Call<DetachedChunks>) -> Self {
        let (listing, running) = (Some(listing), VecDeque::new());
        Self { variable, listing, left: None, running, ahead: AHEAD, timeout: None }
    }

    /// Sets the number of chunks that are read at once; at least one. The default is 8.
    pub fn read_ahead(mut self, chunks: usize) -> Self {
        self.ahead = chunks.max(1);
        self
    }

    /// Sets the time for each chunk, as [`Call::timeout`]. It counts from the start of its read.
    pub fn timeout(mut self, time: Duration) -> Self {
        self.listing = self.listing.map(|listing| listing.timeout(time));
        self.timeout = Some(time);
        self
    }

    /// Waits for the next chunk; `None` after the last.
    ///
    /// # Errors
    /// As [`AsyncVariable::get`] and [`Variable::chunks`](crate::Variable::chunks).
    pub async fn next(&mut self) -> Option<Result<AsyncChunk<T>>> {
        poll_fn(|context| Pin::new(&mut *self).poll_next(context)).await
    }

    /// Begins reads up to the limit.
    fn begin(&mut self, context: &mut Context<'_>) {
        while self.running.len() < self.ahead
            && let Some(left) = &mut self.left
        {
            let Some(chunk) = left.next(self.variable.as_sync()) else {
                self.left = None;
                return;
            };
            let (index, start) = (chunk.index().to_vec(), chunk.slab().start.to_vec());
            let extents = chunk.extents();
            let call = self
                .variable
                .call(move |variable| Ok(AsyncChunk { index, start, values: variable.get(extents)? }));
            let mut call = match self.timeout {
                Some(time) => call.timeout(time),
                None => call,
            };
            self.running.push_back(match Pin::new(&mut call).poll(context) {
                Poll::Pending => ChunkRead::Running(call),
                Poll::Ready(found) => ChunkRead::Done(found),
            });
        }
    }
}

/// No field is pinned.
impl<T: Number> Unpin for ChunkStream<T> {}

impl<T: Number> Stream for ChunkStream<T> {
    type Item = Result<AsyncChunk<T>>;

    fn poll_next(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<Option<Self::Item>> {
        if let Some(listing) = &mut self.listing {
            let listed = ready!(Pin::new(listing).poll(context));
            self.listing = None;
            match listed {
                Ok(left) => self.left = Some(left),
                Err(error) => return Poll::Ready(Some(Err(error))),
            }
        }
        self.begin(context);
        let found = match self.running.front_mut() {
            None => return Poll::Ready(None),
            Some(ChunkRead::Running(call)) => ready!(Pin::new(call).poll(context)),
            Some(ChunkRead::Done(_)) => match self.running.pop_front() {
                Some(ChunkRead::Done(found)) => return Poll::Ready(Some(found)),
                _ => return Poll::Ready(None),
            },
        };
        self.running.pop_front();
        self.begin(context);
        Poll::Ready(Some(found))
    }
}

impl<T: Number> fmt::Debug for ChunkStream<T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("ChunkStream").field("variable", &self.variable).finish_non_exhaustive()
    }
}
