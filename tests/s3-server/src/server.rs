//! [`Server`] and its [`Config`]: listening, the stored objects, and the log.

use std::collections::BTreeMap;
use std::net::{Ipv4Addr, Shutdown, SocketAddr, TcpListener, TcpStream};
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::thread::JoinHandle;
use std::time::Duration;

use crate::connection;
use crate::fault::Rule;
use crate::log::{Counts, Entry};
use crate::sign::Keys;
use crate::store::{Bucket, Object, Store};

/// The configuration of a server.
#[derive(Debug, Clone)]
pub struct Config {
    buckets: Vec<String>,
    anonymous: Vec<String>,
    web: Vec<String>,
    unlisted: Vec<String>,
    pub(crate) keys: Keys,
    pub(crate) page: usize,
    pub(crate) latency: Duration,
    pub(crate) pause: Duration,
}

impl Default for Config {
    /// One bucket `bucket`, access key `key`, secret `secret`, no token, pages of 1000 entries, and no
    /// latency.
    fn default() -> Self {
        let keys = Keys { access: "key".to_owned(), secret: "secret".to_owned(), token: None };
        Self {
            buckets: vec!["bucket".to_owned()],
            anonymous: Vec::new(),
            web: Vec::new(),
            unlisted: Vec::new(),
            keys,
            page: 1000,
            latency: Duration::ZERO,
            pause: Duration::from_millis(1),
        }
    }
}

impl Config {
    /// Adds a bucket.
    #[must_use]
    pub fn bucket(mut self, name: &str) -> Self {
        self.buckets.push(name.to_owned());
        self
    }

    /// Adds a bucket that needs no signatures.
    #[must_use]
    pub fn anonymous(mut self, name: &str) -> Self {
        self.anonymous.push(name.to_owned());
        self
    }

    /// Adds a bucket that behaves like a folder of a plain web server.
    #[must_use]
    pub fn web(mut self, name: &str) -> Self {
        self.web.push(name.to_owned());
        self
    }

    /// Forbids listing a bucket. Listings and requests for missing keys answer 403.
    #[must_use]
    pub fn unlisted(mut self, name: &str) -> Self {
        self.unlisted.push(name.to_owned());
        self
    }

    /// Sets the access key and secret that allow all requests, and a token if requests must send one.
    #[must_use]
    pub fn keys(mut self, access: &str, secret: &str, token: Option<&str>) -> Self {
        self.keys =
            Keys { access: access.to_owned(), secret: secret.to_owned(), token: token.map(str::to_owned) };
        self
    }

    /// Sets the number of entries on a page of a listing.
    #[must_use]
    pub fn page(mut self, entries: usize) -> Self {
        self.page = entries;
        self
    }

    /// Sets the delay of each answer.
    #[must_use]
    pub fn latency(mut self, latency: Duration) -> Self {
        self.latency = latency;
        self
    }

    /// Sets the pause between the pieces of a body for [`Fault::Drip`](crate::Fault::Drip).
    #[must_use]
    pub fn pause(mut self, pause: Duration) -> Self {
        self.pause = pause;
        self
    }
}

/// The state that all connections share.
#[derive(Debug)]
pub(crate) struct Shared {
    pub(crate) config: Config,
    pub(crate) store: Mutex<Store>,
    pub(crate) rules: Mutex<Vec<Rule>>,
    log: Mutex<(Vec<Entry>, Counts, usize)>,
    pub(crate) stopped: AtomicBool,
    /// The open connections, which the server closes when it is dropped.
    streams: Mutex<BTreeMap<u64, TcpStream>>,
}

pub(crate) fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

impl Shared {
    /// Counts a request that begins.
    pub(crate) fn begins(&self) {
        let (_, counts, now) = &mut *lock(&self.log);
        *now += 1;
        counts.at_once = counts.at_once.max(*now);
    }

    /// Logs a request. This happens before the answer is sent, so a client with its answer finds it in the
    /// log.
    pub(crate) fn seen(&self, entry: Entry) {
        let (log, counts, now) = &mut *lock(&self.log);
        *now -= 1;
        *counts.by_op.entry(entry.op).or_default() += 1;
        counts.received += entry.received;
        counts.sent += entry.sent;
        log.push(entry);
    }

    pub(crate) fn forget(&self, number: u64) {
        lock(&self.streams).remove(&number);
    }
}

/// A server that runs until it is dropped.
#[derive(Debug)]
pub struct Server {
    address: SocketAddr,
    shared: Arc<Shared>,
    listening: Option<JoinHandle<()>>,
}

impl Server {
    /// Starts a server on a free port of this machine.
    ///
    /// # Panics
    /// Panics if the system provides no port.
    pub fn start(config: Config) -> Self {
        let listener = TcpListener::bind((Ipv4Addr::LOCALHOST, 0)).expect("a free port");
        let address = listener.local_addr().expect("the port");
        let mut store = Store::default();
        for name in config.buckets.iter().chain(&config.anonymous).chain(&config.web) {
            let (anonymous, web) = (config.anonymous.contains(name), config.web.contains(name));
            let unlisted = config.unlisted.contains(name);
            store.buckets.insert(name.clone(), Bucket { anonymous, web, unlisted, ..Bucket::default() });
        }
        let shared = Arc::new(Shared {
            config,
            store: Mutex::new(store),
            rules: Mutex::default(),
            log: Mutex::default(),
            stopped: AtomicBool::new(false),
            streams: Mutex::default(),
        });
        let listening = std::thread::spawn({
            let shared = Arc::clone(&shared);
            move || listen(&listener, &shared)
        });
        Self { address, shared, listening: Some(listening) }
    }

    /// Address and port in the form of a URL.
    pub fn host(&self) -> String {
        self.address.to_string()
    }

    /// The URL of the server: `http://` and the host.
    pub fn url(&self) -> String {
        format!("http://{}", self.address)
    }

    /// Stores an object.
    ///
    /// # Panics
    /// Panics if the bucket does not exist.
    pub fn put(&self, bucket: &str, key: &str, bytes: impl Into<Vec<u8>>) {
        let mut store = lock(&self.shared.store);
        let bucket = store.buckets.get_mut(bucket).expect("a bucket of the server");
        bucket.objects.insert(key.to_owned(), Object::new(bytes.into()));
    }

    /// The bytes of an object.
    pub fn get(&self, bucket: &str, key: &str) -> Option<Vec<u8>> {
        lock(&self.shared.store).buckets.get(bucket)?.objects.get(key).map(|object| object.bytes.to_vec())
    }

    /// Removes an object. Returns whether it existed.
    pub fn remove(&self, bucket: &str, key: &str) -> bool {
        let mut store = lock(&self.shared.store);
        store.buckets.get_mut(bucket).is_some_and(|bucket| bucket.objects.remove(key).is_some())
    }

    /// The keys of all objects of a bucket, sorted.
    pub fn keys(&self, bucket: &str) -> Vec<String> {
        let store = lock(&self.shared.store);
        store.buckets.get(bucket).map(|bucket| bucket.objects.keys().cloned().collect()).unwrap_or_default()
    }

    /// The number of uploads in parts that have not ended.
    pub fn uploads(&self) -> usize {
        lock(&self.shared.store).uploads.len()
    }

    /// Adds a rule. The first rule that matches a request applies.
    pub fn fault(&self, rule: Rule) {
        lock(&self.shared.rules).push(rule);
    }

    /// Removes all rules.
    pub fn no_faults(&self) {
        lock(&self.shared.rules).clear();
    }

    /// All requests since the start or since [`Server::clear_log`], in the order in which they were handled.
    pub fn log(&self) -> Vec<Entry> {
        lock(&self.shared.log).0.clone()
    }

    /// Sums over the log.
    pub fn counts(&self) -> Counts {
        lock(&self.shared.log).1.clone()
    }

    /// Empties the log.
    pub fn clear_log(&self) {
        let (log, counts, _) = &mut *lock(&self.shared.log);
        log.clear();
        *counts = Counts::default();
    }
}

fn listen(listener: &TcpListener, shared: &Arc<Shared>) {
    for (number, stream) in (0u64..).zip(listener.incoming()) {
        if shared.stopped.load(Ordering::Acquire) {
            return;
        }
        let Ok(stream) = stream else { continue };
        if let Ok(kept) = stream.try_clone() {
            lock(&shared.streams).insert(number, kept);
        }
        let shared = Arc::clone(shared);
        std::thread::spawn(move || {
            connection::serve(&stream, &shared);
            // The other handle is dropped first, because closing the last handle ends or resets the
            // connection.
            shared.forget(number);
            drop(stream);
        });
    }
}

impl Drop for Server {
    fn drop(&mut self) {
        self.shared.stopped.store(true, Ordering::Release);
        // One more connection wakes up the listening thread. All open connections end, also stalled ones.
        drop(TcpStream::connect(self.address));
        if let Some(listening) = self.listening.take() {
            drop(listening.join());
        }
        for stream in lock(&self.shared.streams).values() {
            // An error means that the connection is closed already.
            drop(stream.shutdown(Shutdown::Both));
        }
    }
}
