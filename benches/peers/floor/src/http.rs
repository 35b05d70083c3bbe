//! Sends many GETs over a few kept connections, in HTTP/1.1. All threads share the connections. A thread with
//! a complete response first sends the next request of that connection, and then handles the body.

use std::io::{self, Read as _, Write as _};
use std::net::TcpStream;
use std::ops::Range;
use std::os::fd::{AsRawFd as _, FromRawFd as _, OwnedFd, RawFd};
use std::os::unix::net::UnixStream;
use std::sync::Mutex;
use std::sync::atomic::{AtomicUsize, Ordering};

use crate::memory::Shared;

/// Maximum size of the head of a response, in bytes.
const HEAD: usize = 4096;
/// The event after the last response.
const END: u64 = u64::MAX;

/// Memory for a response. Each thread has one, and so has each response that has arrived in part.
type Buffer = &'static mut [u8];

fn buffer(len: usize) -> Buffer {
    let memory = Shared::huge(len);
    memory.take(0, len);
    // SAFETY: it is never freed, and has no other owner.
    unsafe { std::slice::from_raw_parts_mut(memory.slice(0, len).as_mut_ptr(), len) }
}

/// A server: address and port, as in its URL.
pub struct Server<'a>(&'a str);

impl<'a> Server<'a> {
    pub fn of(url: &'a str) -> Self {
        Self(url.strip_prefix("http://").expect("plain HTTP").trim_end_matches('/'))
    }

    pub fn connect(&self) -> Connection {
        let stream = TcpStream::connect(self.0).unwrap_or_else(|error| panic!("{}: {error}", self.0));
        stream.set_nodelay(true).expect("a socket");
        Connection { stream, request: 0, head: 0, total: 0, got: 0, part: None }
    }

    fn ask(&self, connection: &mut Connection, request: usize, path: &str) {
        let text = format!("GET {path} HTTP/1.1\r\nHost: {}\r\n\r\n", self.0);
        connection.stream.write_all(text.as_bytes()).unwrap_or_else(|error| panic!("{path}: {error}"));
        (connection.request, connection.head, connection.total, connection.got) = (request, 0, 0, 0);
    }

    /// Returns one body. `meanwhile` runs before it arrives.
    pub fn get<T>(&self, connection: &mut Connection, path: &str, meanwhile: impl FnOnce() -> T) -> (Vec<u8>, T) {
        self.ask(connection, 0, path);
        let (done, mut answer) = (meanwhile(), Vec::new());
        loop {
            answer.resize(connection.got + HEAD, 0);
            let more = connection.stream.read(&mut answer[connection.got..]).expect(path);
            assert!(more > 0, "{path}: the server went away");
            connection.got += more;
            let (head, total) = lengths(&answer[..connection.got], path);
            if total > 0 && connection.got >= total {
                return (answer[head..total].to_vec(), done);
            }
        }
    }

    /// Runs `each` for every body, on all threads. `scratch` makes the working memory of a thread, after the
    /// first requests are sent. Bodies of up to `usual` bytes need no new memory.
    pub fn all<S>(
        &self,
        connections: Vec<Connection>,
        paths: &[String],
        usual: usize,
        threads: impl Fn(&(dyn Fn() + Sync)),
        scratch: impl Fn() -> S + Sync,
        each: impl Fn(&mut S, usize, &[u8]) + Sync,
    ) {
        let set = Set::new();
        let connections: Vec<Mutex<Connection>> = connections.into_iter().take(paths.len()).map(Mutex::new).collect();
        let (next, left) = (AtomicUsize::new(connections.len()), AtomicUsize::new(paths.len()));
        for (at, connection) in connections.iter().enumerate() {
            let mut connection = connection.lock().expect("no panic");
            // The system grows its receive buffer to that size and keeps it.
            connection.wake_at(2 * usual);
            connection.wake_at(1);
            self.ask(&mut connection, at, &paths[at]);
            set.wait_for(&connection, at, libc::EPOLL_CTL_ADD);
        }
        threads(&|| {
            let mut scratch = scratch();
            let mut spare = vec![buffer(usual + HEAD)];
            while let Some(at) = set.next() {
                let mut connection = connections[at].lock().expect("no panic");
                let request = connection.request;
                let Some((answer, body)) = connection.receive(&paths[request], &mut spare) else {
                    set.wait_for(&connection, at, libc::EPOLL_CTL_MOD);
                    continue;
                };
                let following = next.fetch_add(1, Ordering::Relaxed);
                if let Some(path) = paths.get(following) {
                    self.ask(&mut connection, following, path);
                    set.wait_for(&connection, at, libc::EPOLL_CTL_MOD);
                }
                drop(connection);
                if left.fetch_sub(1, Ordering::Relaxed) == 1 {
                    set.end();
                }
                each(&mut scratch, request, &answer[body]);
                spare.push(answer);
            }
        });
    }
}

/// One connection, and the state of its current response.
pub struct Connection {
    stream: TcpStream,
    request: usize,
    /// Bytes of the head of the response and of the whole response; 0 until they are known.
    head: usize,
    total: usize,
    got: usize,
    /// The received part of an incomplete response.
    part: Option<Buffer>,
}

impl Connection {
    /// Receives the available bytes. Returns a complete response and the range of its body. Before that, the
    /// bytes stay in the system's buffer if they fit. So all responses use one buffer, which stays in the
    /// cache.
    fn receive(&mut self, path: &str, spare: &mut Vec<Buffer>) -> Option<(Buffer, Range<usize>)> {
        if self.total == 0 {
            let mut head = [0; HEAD];
            let seen = self.take(&mut head, libc::MSG_PEEK, path);
            (self.head, self.total) = lengths(&head[..seen], path);
            if self.total != seen || seen == 0 {
                self.wake_at(self.total.max(1));
                return None;
            }
        }
        let fitting = self.part.take().or_else(|| spare.pop_if(|buffer| buffer.len() >= self.total));
        let into = fitting.unwrap_or_else(|| buffer(self.total));
        self.got += self.take(&mut into[self.got..self.total], 0, path);
        if self.got < self.total {
            self.part = Some(into);
            self.wake_at(self.total - self.got);
            return None;
        }
        self.wake_at(1);
        Some((into, self.head..self.total))
    }

    /// Sets how many bytes must be available before a thread is woken. A full buffer of the system also wakes
    /// one.
    fn wake_at(&self, bytes: usize) {
        let low = i32::try_from(bytes).unwrap_or(i32::MAX);
        // SAFETY: `low` lives and is an int.
        unsafe {
            let (name, len) = (libc::SO_RCVLOWAT, size_of::<i32>() as u32);
            libc::setsockopt(self.stream.as_raw_fd(), libc::SOL_SOCKET, name, (&raw const low).cast(), len);
        }
    }

    fn take(&self, into: &mut [u8], how: i32, path: &str) -> usize {
        let (start, len, how) = (into.as_mut_ptr().cast(), into.len(), how | libc::MSG_DONTWAIT);
        // SAFETY: `into` is valid for writing.
        let more = unsafe { libc::recv(self.stream.as_raw_fd(), start, len, how) };
        match more {
            1.. => more.unsigned_abs(),
            0 => panic!("{path}: the server went away after {} bytes", self.got),
            _ => {
                let error = io::Error::last_os_error();
                assert_eq!(error.kind(), io::ErrorKind::WouldBlock, "{path}: {error}");
                0
            }
        }
    }
}

/// Returns the bytes of the head of a response and of the whole response; 0 if the head is incomplete.
fn lengths(answer: &[u8], path: &str) -> (usize, usize) {
    let Some(head) = answer.windows(4).position(|four| four == b"\r\n\r\n").map(|at| at + 4) else {
        assert!(answer.len() < HEAD, "{path}: a head of more than {HEAD} bytes");
        return (0, 0);
    };
    let text = std::str::from_utf8(&answer[..head]).expect("a head in ASCII");
    let mut lines = text.split("\r\n");
    let status = lines.next().unwrap_or_default();
    assert!(status.starts_with("HTTP/1.1 200 "), "{path}: {status}");
    let body = lines.find_map(|line| {
        let (name, value) = line.split_once(':')?;
        name.eq_ignore_ascii_case("content-length").then(|| value.trim().parse::<usize>().ok())?
    });
    (head, head + body.unwrap_or_else(|| panic!("{path}: no length in {text:?}")))
}

/// A set of connections. One thread at a time waits for each.
struct Set {
    poll: OwnedFd,
    ending: (UnixStream, UnixStream),
}

impl Set {
    fn new() -> Self {
        // SAFETY: the call takes no memory.
        let poll = unsafe { libc::epoll_create1(libc::EPOLL_CLOEXEC) };
        assert!(poll >= 0, "{}", io::Error::last_os_error());
        // SAFETY: it was just made, and has no other owner.
        let set = Self { poll: unsafe { OwnedFd::from_raw_fd(poll) }, ending: UnixStream::pair().expect("a pair") };
        set.control(set.ending.1.as_raw_fd(), libc::EPOLL_CTL_ADD, libc::EPOLLIN, END);
        set
    }

    fn wait_for(&self, connection: &Connection, at: usize, what: i32) {
        self.control(connection.stream.as_raw_fd(), what, libc::EPOLLIN | libc::EPOLLONESHOT, at as u64);
    }

    fn control(&self, file: RawFd, what: i32, events: i32, at: u64) {
        let mut event = libc::epoll_event { events: events.cast_unsigned(), u64: at };
        // SAFETY: `event` lives.
        let done = unsafe { libc::epoll_ctl(self.poll.as_raw_fd(), what, file, &raw mut event) };
        assert_eq!(done, 0, "{}", io::Error::last_os_error());
    }

    /// Returns a connection with received bytes; `None` after the end.
    fn next(&self) -> Option<usize> {
        let mut event = libc::epoll_event { events: 0, u64: END };
        // SAFETY: there is room for one event, the requested number.
        while unsafe { libc::epoll_wait(self.poll.as_raw_fd(), &raw mut event, 1, -1) } != 1 {
            let error = io::Error::last_os_error();
            assert_eq!(error.kind(), io::ErrorKind::Interrupted, "{error}");
        }
        let at = event.u64;
        (at != END).then_some(at as usize)
    }

    /// Signals the end to all threads.
    fn end(&self) {
        (&self.ending.0).write_all(b"!").expect("a pair");
    }
}
