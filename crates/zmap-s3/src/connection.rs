//! [`Connection`]: one HTTP/1.1 connection. It sends a request, reads the response head, and reads the body
//! into the caller's memory.
//!
//! It knows nothing of S3. On some systems a body may wait in the socket until it is complete
//! ([`Connection::gather`]), for any thread to take.

use std::future::poll_fn;
use std::io;
use std::pin::Pin;
use std::sync::Arc;
use std::task::{Context, Waker};
use std::time::{Duration, Instant};

use hyper_rustls::MaybeHttpsStream;
use hyper_util::rt::TokioIo;
use tokio::io::{AsyncRead as _, AsyncReadExt as _, AsyncWriteExt as _, Interest, ReadBuf};
use tokio::net::TcpStream;
use tokio::time::timeout;

use crate::deadline::Deadline;
use crate::response_head::{LONGEST, ResponseHead};
use crate::socket_options;

/// A stream from the connector.
pub(crate) type Stream = MaybeHttpsStream<TokioIo<TcpStream>>;

/// Bytes read at once while a head is expected. Most heads are shorter, and little of the body has to be
/// copied.
const HEAD: usize = 4 << 10;
/// Most bytes of a body left in the system.
const ROOM: usize = 2 << 20;
/// Most interim responses (1xx) before a response.
const INTERIM: usize = 16;

/// A connection.
pub(crate) struct Connection {
    io: Box<TokioIo<Stream>>,
    /// Scheme and host of the server.
    pub(crate) to: Arc<str>,
    /// Bytes received but not consumed.
    ahead: Vec<u8>,
    /// Whether the receive low-water mark is set.
    is_low: bool,
}

/// The reason for a missing response.
pub(crate) struct NoResponse {
    /// No byte arrived: the connection may have been closed before the request reached the server.
    pub(crate) wholly: bool,
    pub(crate) text: String,
}

/// How much of a body the system has.
pub(crate) enum GatherOutcome {
    All,
    /// Less; read it as it arrives.
    Some,
    /// Nothing arrived for long; the number of bytes received.
    Stalled(usize),
    /// The deadline has passed; the number of bytes received.
    Late(usize),
}

impl Connection {
    pub(crate) fn new(stream: Stream, to: Arc<str>) -> Self {
        let line = Self { io: Box::new(TokioIo::new(stream)), to, ahead: Vec::new(), is_low: false };
        if let Some(stream) = line.plain() {
            // The system enlarges the receive buffer, and keeps it so.
            socket_options::wake_at(stream, ROOM);
            socket_options::wake_at(stream, 1);
        }
        line
    }

    /// Returns the socket, if it is not encrypted.
    fn plain(&self) -> Option<&TcpStream> {
        match self.io.inner() {
            MaybeHttpsStream::Http(stream) => Some(stream.inner()),
            MaybeHttpsStream::Https(_) => None,
        }
    }

    /// Whether no unexpected bytes or end arrived.
    pub(crate) fn is_quiet(&mut self) -> bool {
        let (mut byte, mut context) = ([0], Context::from_waker(Waker::noop()));
        let mut byte = ReadBuf::new(&mut byte);
        self.ahead.is_empty() && Pin::new(&mut self.io).poll_read(&mut context, &mut byte).is_pending()
    }

    /// Sends a request and reads the head of the response.
    pub(crate) async fn ask(&mut self, request: &[u8]) -> Result<ResponseHead, NoResponse> {
        let silent = |wholly, text: String| NoResponse { wholly, text };
        let sent = async {
            self.io.write_all(request).await?;
            self.io.flush().await
        };
        sent.await.map_err(|error| silent(true, error.to_string()))?;
        let mut interim = 0;
        loop {
            match ResponseHead::parse(&self.ahead).map_err(|text| silent(false, text))? {
                Some((head, len)) if matches!(head.status, 100 | 102..=199) => {
                    drop(self.ahead.drain(..len));
                    interim += 1;
                    if interim > INTERIM {
                        return Err(silent(false, "there is no response, only interim ones".to_owned()));
                    }
                    continue;
                }
                Some((head, len)) => {
                    drop(self.ahead.drain(..len));
                    return Ok(head);
                }
                None => {}
            }
            let wholly = self.ahead.is_empty() && interim == 0;
            let room = HEAD.min(LONGEST + 1 - self.ahead.len());
            self.ahead.reserve_exact(room);
            let came = (&mut self.io).take(room as u64).read_buf(&mut self.ahead).await;
            match came.map_err(|error| silent(wholly, error.to_string()))? {
                0 => return Err(silent(wholly, "the connection was closed before a response".to_owned())),
                _ => continue,
            }
        }
    }

    /// Reads a part of a body; 0 bytes at its end.
    pub(crate) async fn read(&mut self, into: &mut [u8]) -> io::Result<usize> {
        let ahead = self.take_ahead(into);
        if ahead > 0 || into.is_empty() {
            return Ok(ahead);
        }
        let mut into = ReadBuf::new(into);
        poll_fn(|context| Pin::new(&mut self.io).poll_read(context, &mut into)).await?;
        Ok(into.filled().len())
    }

    fn take_ahead(&mut self, into: &mut [u8]) -> usize {
        let len = self.ahead.len().min(into.len());
        into[..len].copy_from_slice(&self.ahead[..len]);
        drop(self.ahead.drain(..len));
        len
    }

    /// Waits until the system has the next `bytes` bytes. Some must arrive in every `stall`, and all before
    /// the deadline.
    pub(crate) async fn gather(
        &mut self,
        bytes: usize,
        stall: Duration,
        deadline: &Deadline,
    ) -> GatherOutcome {
        let rest = bytes.saturating_sub(self.ahead.len());
        let gathered = self.wait_for(rest, stall, deadline).await;
        if !matches!(gathered, GatherOutcome::All) {
            self.wake_always();
        }
        gathered
    }

    async fn wait_for(&mut self, rest: usize, stall: Duration, deadline: &Deadline) -> GatherOutcome {
        let Some(mut seen) = self.plain().and_then(socket_options::there) else { return GatherOutcome::Some };
        if seen < rest {
            self.is_low = true;
            if !self.plain().is_some_and(|stream| socket_options::wake_at(stream, rest)) {
                return GatherOutcome::Some;
            }
        }
        let Some(stream) = self.plain() else { return GatherOutcome::Some };
        let there = || socket_options::there(stream).unwrap_or(0);
        let (mut since, mut looked) = (Instant::now(), false);
        loop {
            let mut look = || {
                let is_complete = there() >= rest;
                // Woken with fewer bytes, the socket is full or closed, so waiting is pointless.
                if is_complete || looked {
                    return Ok(is_complete);
                }
                looked = true;
                Err(io::ErrorKind::WouldBlock.into())
            };
            let wait = (stall / 4).min(deadline.left_with(seen as u64));
            match timeout(wait, stream.async_io(Interest::READABLE, &mut look)).await {
                Ok(Ok(true)) => return GatherOutcome::All,
                Ok(_) => return GatherOutcome::Some,
                // A slow trickle wakes no thread.
                Err(_) => match there() {
                    now if now >= rest => return GatherOutcome::All,
                    now if deadline.left_with(now as u64).is_zero() => return GatherOutcome::Late(now),
                    now if now > seen => (seen, since) = (now, Instant::now()),
                    now if since.elapsed() >= stall => return GatherOutcome::Stalled(now),
                    _ => {}
                },
            }
        }
    }

    /// Takes the gathered bytes without waiting, and returns their number.
    pub(crate) fn take(&mut self, into: &mut [u8]) -> usize {
        let mut taken = self.take_ahead(into);
        while taken < into.len() {
            match self.plain().map(|stream| stream.try_read(&mut into[taken..])) {
                Some(Ok(some)) if some > 0 => taken += some,
                _ => break,
            }
        }
        self.wake_always();
        taken
    }

    fn wake_always(&mut self) {
        if std::mem::take(&mut self.is_low)
            && let Some(stream) = self.plain()
        {
            socket_options::wake_at(stream, 1);
        }
    }

    /// Whether nothing arrived behind the taken bytes.
    pub(crate) fn is_at_end(&self) -> bool {
        self.ahead.is_empty()
    }
}
