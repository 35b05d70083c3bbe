//! [`Line`]: one connection, HTTP/1.1: a request goes out, an answer comes back, and its body is read to where it belongs.
//!
//! Nothing is known here of S3. Bodies go from the socket straight into the memory of whoever reads them. Where the system
//! can do it, a body may also wait there until all of it came ([`Line::gather`]), to be taken by whoever wants it then.

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
use crate::head::{Head, LONGEST};
use crate::low;

/// What a connector makes.
pub(crate) type Stream = MaybeHttpsStream<TokioIo<TcpStream>>;

/// So much is read at once while a head is looked for: most heads are shorter, and of the body no more has to be copied.
const HEAD: usize = 4 << 10;
/// So much of a body the system is to keep until it is read.
const ROOM: usize = 2 << 20;
/// So many answers that are none yet (1xx) may come before the answer.
const INTERIM: usize = 16;

/// A connection.
pub(crate) struct Line {
    io: Box<TokioIo<Stream>>,
    /// Scheme and host it leads to.
    pub(crate) to: Arc<str>,
    /// What came and was not taken.
    ahead: Vec<u8>,
    /// Whether the system is to wake nobody for little.
    is_low: bool,
}

/// Why there is no answer.
pub(crate) struct Silent {
    /// Nothing at all came: the connection may have been closed before the request reached anybody.
    pub(crate) wholly: bool,
    pub(crate) text: String,
}

/// How much of a body is in the system.
pub(crate) enum Gathered {
    All,
    /// Less, and it is to be read as it comes.
    Some,
    /// Nothing came for long; so many bytes are there.
    Stalled(usize),
    /// The deadline has passed; so many bytes are there.
    Late(usize),
}

impl Line {
    pub(crate) fn new(stream: Stream, to: Arc<str>) -> Self {
        let line = Self { io: Box::new(TokioIo::new(stream)), to, ahead: Vec::new(), is_low: false };
        if let Some(stream) = line.plain() {
            // The system makes room for what it is to keep, and leaves it so.
            low::wake_at(stream, ROOM);
            low::wake_at(stream, 1);
        }
        line
    }

    /// The socket, if what goes through it is not encrypted.
    fn plain(&self) -> Option<&TcpStream> {
        match self.io.inner() {
            MaybeHttpsStream::Http(stream) => Some(stream.inner()),
            MaybeHttpsStream::Https(_) => None,
        }
    }

    /// Whether nothing came that nobody asked for, not even its end.
    pub(crate) fn is_quiet(&mut self) -> bool {
        let (mut byte, mut context) = ([0], Context::from_waker(Waker::noop()));
        let mut byte = ReadBuf::new(&mut byte);
        self.ahead.is_empty() && Pin::new(&mut self.io).poll_read(&mut context, &mut byte).is_pending()
    }

    /// Sends a request and reads the head of its answer.
    pub(crate) async fn ask(&mut self, request: &[u8]) -> Result<Head, Silent> {
        let silent = |wholly, text: String| Silent { wholly, text };
        let sent = async {
            self.io.write_all(request).await?;
            self.io.flush().await
        };
        sent.await.map_err(|error| silent(true, error.to_string()))?;
        let mut interim = 0;
        loop {
            match Head::parse(&self.ahead).map_err(|text| silent(false, text))? {
                Some((head, len)) if matches!(head.status, 100 | 102..=199) => {
                    drop(self.ahead.drain(..len));
                    interim += 1;
                    if interim > INTERIM {
                        return Err(silent(false, "no answer comes, only that it will".to_owned()));
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
                0 => return Err(silent(wholly, "the connection was closed before there was an answer".to_owned())),
                _ => continue,
            }
        }
    }

    /// Reads some of a body; 0 bytes: there is no more.
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

    /// Waits until the next `bytes` are in the system, all of them, as long as some come in every `stall`, and until the
    /// deadline.
    pub(crate) async fn gather(&mut self, bytes: usize, stall: Duration, deadline: &Deadline) -> Gathered {
        let rest = bytes.saturating_sub(self.ahead.len());
        let gathered = self.wait_for(rest, stall, deadline).await;
        if !matches!(gathered, Gathered::All) {
            self.wake_always();
        }
        gathered
    }

    async fn wait_for(&mut self, rest: usize, stall: Duration, deadline: &Deadline) -> Gathered {
        let Some(mut seen) = self.plain().and_then(low::there) else { return Gathered::Some };
        if seen < rest {
            self.is_low = true;
            if !self.plain().is_some_and(|stream| low::wake_at(stream, rest)) {
                return Gathered::Some;
            }
        }
        let Some(stream) = self.plain() else { return Gathered::Some };
        let there = || low::there(stream).unwrap_or(0);
        let (mut since, mut looked) = (Instant::now(), false);
        loop {
            let mut look = || match there() >= rest {
                true => Ok(true),
                // Who is woken although there is less is not to wait: the system has no room, or it is the end.
                false if looked => Ok(false),
                false => {
                    looked = true;
                    Err(io::ErrorKind::WouldBlock.into())
                }
            };
            let wait = (stall / 4).min(deadline.left_with(seen as u64));
            match timeout(wait, stream.async_io(Interest::READABLE, &mut look)).await {
                Ok(Ok(true)) => return Gathered::All,
                Ok(_) => return Gathered::Some,
                // What comes little by little wakes nobody.
                Err(_) => match there() {
                    now if now >= rest => return Gathered::All,
                    now if deadline.left_with(now as u64).is_zero() => return Gathered::Late(now),
                    now if now > seen => (seen, since) = (now, Instant::now()),
                    now if since.elapsed() >= stall => return Gathered::Stalled(now),
                    _ => {}
                },
            }
        }
    }

    /// Takes what was gathered, without waiting; how many bytes that is.
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
            low::wake_at(stream, 1);
        }
    }

    /// Whether nothing came behind what was taken.
    pub(crate) fn is_at_end(&self) -> bool {
        self.ahead.is_empty()
    }
}
