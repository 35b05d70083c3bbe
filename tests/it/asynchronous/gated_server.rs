//! [`GatedServer`]: a web server that counts requests and, while it is shut, never answers them.

use std::io::{BufRead as _, BufReader, Read as _, Write as _};
use std::net::{SocketAddr, TcpListener, TcpStream};
use std::sync::{Arc, Condvar, Mutex};
use std::time::Duration;

use nczarr::storage::{ByteRange, Key, ZMap, ZMapExt as _};

pub struct GatedServer {
    address: SocketAddr,
    shared: Arc<ServerState>,
}

struct ServerState {
    map: Arc<dyn ZMap>,
    counts: Mutex<RequestCounts>,
    changed: Condvar,
}

#[derive(Default)]
struct RequestCounts {
    is_shut: bool,
    begun: usize,
    /// Requests that wait while the client keeps their connections.
    held: usize,
}

impl GatedServer {
    /// Serves the objects of a map below `/x`.
    pub fn start(map: Arc<dyn ZMap>) -> Self {
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let address = listener.local_addr().unwrap();
        let shared = Arc::new(ServerState { map, counts: Mutex::default(), changed: Condvar::new() });
        let serving = Arc::clone(&shared);
        std::thread::spawn(move || {
            for stream in listener.incoming().flatten() {
                let serving = Arc::clone(&serving);
                std::thread::spawn(move || serving.serve(stream));
            }
        });
        Self { address, shared }
    }

    pub fn url(&self) -> String {
        format!("http://{}/x#mode=nczarr", self.address)
    }

    /// Requests that come from now on get no answer.
    pub fn shut(&self) {
        self.shared.counts.lock().unwrap().is_shut = true;
    }

    /// Requests that come from now on are answered.
    pub fn open(&self) {
        self.shared.counts.lock().unwrap().is_shut = false;
    }

    /// Returns the number of requests so far.
    pub fn begun(&self) -> usize {
        self.shared.counts.lock().unwrap().begun
    }

    /// Waits until this many requests wait for an answer.
    pub fn wait_for(&self, held: usize) {
        self.shared.wait_until(|counts| counts.held == held);
    }

    pub fn wait_for_any(&self) {
        self.shared.wait_until(|counts| counts.held > 0);
    }
}

impl ServerState {
    fn wait_until(&self, is_reached: impl Fn(&RequestCounts) -> bool) {
        let counts = self.counts.lock().unwrap();
        let long = Duration::from_secs(60);
        let (counts, waited) =
            self.changed.wait_timeout_while(counts, long, |counts| !is_reached(counts)).unwrap();
        assert!(!waited.timed_out(), "{} requests of {} wait", counts.held, counts.begun);
    }

    /// Answers the requests of a connection, or holds one until the client closes the connection.
    fn serve(&self, stream: TcpStream) {
        let mut reader = BufReader::new(stream);
        while let Some(path) = read_path(&mut reader) {
            if self.count_held() {
                let _ = reader.read_to_end(&mut Vec::new());
                self.counts.lock().unwrap().held -= 1;
                self.changed.notify_all();
                return;
            }
            if reader.get_mut().write_all(&self.answer(&path)).is_err() {
                return;
            }
        }
    }

    /// Counts a request. Returns whether it is held.
    fn count_held(&self) -> bool {
        let mut counts = self.counts.lock().unwrap();
        counts.begun += 1;
        counts.held += usize::from(counts.is_shut);
        self.changed.notify_all();
        counts.is_shut
    }

    fn answer(&self, path: &str) -> Vec<u8> {
        let mut body = Vec::new();
        let key = path.strip_prefix("/x/").and_then(|key| Key::new(key).ok());
        let is_there = key.is_some_and(|key| self.map.read(&key, ByteRange::ALL, &mut body).unwrap());
        let status = if is_there { "200 OK" } else { "404 Not Found" };
        let mut answer = format!("HTTP/1.1 {status}\r\nContent-Length: {}\r\n\r\n", body.len()).into_bytes();
        answer.append(&mut body);
        answer
    }
}

/// Reads the head of a request. Returns its path, or `None` at the end of the connection.
fn read_path(reader: &mut BufReader<TcpStream>) -> Option<String> {
    let mut first = String::new();
    reader.read_line(&mut first).ok()?;
    let path = first.split(' ').nth(1)?.to_owned();
    let mut line = String::new();
    while reader.read_line(&mut line).is_ok_and(|read| read > 2) {
        line.clear();
    }
    (line == "\r\n").then_some(path)
}
