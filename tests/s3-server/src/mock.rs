//! [`Mock`] is a web server whose answers a test makes. [`Proxy`] is a proxy that logs requests.
//!
//! Both listen on their own port until the process ends.

use std::io::{self, BufRead as _, BufReader, Read as _, Write as _};
use std::net::{Ipv4Addr, SocketAddr, TcpListener, TcpStream};
use std::sync::{Arc, Mutex};

use crate::message::{Request, reason};
use crate::server::lock;

/// A request as a test sees it.
#[derive(Debug, Clone)]
pub struct Asked {
    /// The method, for example `GET`.
    pub method: String,
    /// The decoded path.
    pub path: String,
    /// The decoded query, in the order in which it was sent.
    pub query: Vec<(String, String)>,
    /// All header fields; names are in lower case.
    pub headers: Vec<(String, String)>,
    /// The body, decoded as text.
    pub body: String,
}

impl Asked {
    /// The value of a header field, by its name in lower case.
    pub fn header(&self, name: &str) -> Option<&str> {
        self.headers.iter().find(|(known, _)| known == name).map(|(_, value)| value.as_str())
    }

    /// The value of a query parameter.
    pub fn param(&self, name: &str) -> Option<&str> {
        self.query.iter().find(|(known, _)| known == name).map(|(_, value)| value.as_str())
    }
}

/// An answer that a test makes.
#[derive(Debug, Clone)]
pub struct Reply {
    /// The status.
    pub status: u16,
    /// Header fields without the length.
    pub headers: Vec<(String, String)>,
    /// The body.
    pub body: Vec<u8>,
}

impl Reply {
    /// An answer with a body.
    pub fn new(status: u16, body: impl Into<Vec<u8>>) -> Self {
        Self { status, headers: Vec::new(), body: body.into() }
    }

    /// Adds a header field.
    #[must_use]
    pub fn with(mut self, name: &str, value: impl Into<String>) -> Self {
        self.headers.push((name.to_owned(), value.into()));
        self
    }
}

/// A web server whose answers a test makes.
#[derive(Debug, Clone)]
pub struct Mock {
    address: SocketAddr,
    log: Arc<Mutex<Vec<Asked>>>,
}

impl Mock {
    /// Starts a server on a free port of this machine.
    ///
    /// # Panics
    /// Panics if the system provides no port.
    pub fn start(answer: impl Fn(&Asked) -> Reply + Send + Sync + 'static) -> Self {
        let log: Arc<Mutex<Vec<Asked>>> = Arc::default();
        let (kept, answer) = (Arc::clone(&log), Arc::new(answer));
        let address = listen(move |stream| {
            let (log, answer) = (Arc::clone(&kept), Arc::clone(&answer));
            // A client that disconnects early ends only its own connection.
            drop(serve(&stream, &log, &*answer));
        });
        Self { address, log }
    }

    /// Address and port in the form of a URL.
    pub fn host(&self) -> String {
        self.address.to_string()
    }

    /// The URL of the server: `http://` and the host.
    pub fn url(&self) -> String {
        format!("http://{}", self.address)
    }

    /// All requests since the start.
    pub fn log(&self) -> Vec<Asked> {
        lock(&self.log).clone()
    }
}

fn listen(serve: impl Fn(TcpStream) + Send + Sync + 'static) -> SocketAddr {
    let listener = TcpListener::bind((Ipv4Addr::LOCALHOST, 0)).expect("a free port");
    let address = listener.local_addr().expect("the port");
    let serve = Arc::new(serve);
    std::thread::spawn(move || {
        for stream in listener.incoming().flatten() {
            let serve = Arc::clone(&serve);
            std::thread::spawn(move || serve(stream));
        }
    });
    address
}

fn serve(stream: &TcpStream, log: &Mutex<Vec<Asked>>, answer: &dyn Fn(&Asked) -> Reply) -> io::Result<()> {
    let (mut reader, mut out) = (BufReader::new(stream), stream);
    while let Some(mut request) = Request::read_head(&mut reader)? {
        request.read_body(&mut reader)?;
        let body = String::from_utf8_lossy(&request.body).into_owned();
        let Request { method, path, query, headers, .. } = request;
        let asked = Asked { method, path, query, headers, body };
        lock(log).push(asked.clone());
        let reply = answer(&asked);
        let mut text = format!("HTTP/1.1 {} {}\r\n", reply.status, reason(reply.status));
        for (name, value) in &reply.headers {
            text.push_str(&format!("{name}: {value}\r\n"));
        }
        text.push_str(&format!("Content-Length: {}\r\n\r\n", reply.body.len()));
        out.write_all(&[text.as_bytes(), &reply.body].concat())?;
    }
    Ok(())
}

/// A proxy for `http:` URLs and tunnels. It logs the head of the first request of each connection.
#[derive(Debug, Clone)]
pub struct Proxy {
    address: SocketAddr,
    log: Arc<Mutex<Vec<String>>>,
}

impl Proxy {
    /// Starts a proxy on a free port of this machine. With `to` all requests and tunnels go there; otherwise
    /// they go to the host that they name.
    ///
    /// # Panics
    /// Panics if the system provides no port.
    pub fn start(to: Option<String>) -> Self {
        let log: Arc<Mutex<Vec<String>>> = Arc::default();
        let kept = Arc::clone(&log);
        let address = listen(move |stream| drop(forward(stream, &kept, to.as_deref())));
        Self { address, log }
    }

    /// Address and port in the form of a URL.
    pub fn host(&self) -> String {
        self.address.to_string()
    }

    /// The heads of the first requests of all connections.
    pub fn log(&self) -> Vec<String> {
        lock(&self.log).clone()
    }
}

fn forward(client: TcpStream, log: &Mutex<Vec<String>>, to: Option<&str>) -> io::Result<()> {
    let bad = || io::Error::from(io::ErrorKind::InvalidData);
    let (mut reader, mut head) = (BufReader::new(client.try_clone()?), String::new());
    while !head.ends_with("\r\n\r\n") {
        if reader.read_line(&mut head)? == 0 {
            return Ok(());
        }
    }
    lock(log).push(head.clone());
    let mut words = head.split(' ');
    let (method, target) = (words.next().ok_or_else(bad)?, words.next().ok_or_else(bad)?);
    let is_tunnel = method == "CONNECT";
    let host = target.strip_prefix("http://").unwrap_or(target).split('/').next().unwrap_or_default();
    let host = if host.contains(':') { host.to_owned() } else { format!("{host}:80") };
    let server = TcpStream::connect(to.unwrap_or(&host))?;
    match is_tunnel {
        true => (&client).write_all(b"HTTP/1.1 200 OK\r\n\r\n")?,
        // Servers accept the proxy's form of a request too.
        false => (&server).write_all(head.as_bytes())?,
    }
    let (mut from, mut into) = (server.try_clone()?, client.try_clone()?);
    std::thread::spawn(move || {
        drop(io::copy(&mut from, &mut into));
        drop(into.shutdown(std::net::Shutdown::Both));
    });
    (&server).write_all(reader.buffer())?;
    let mut rest = reader.into_inner();
    let mut piece = [0; 8 << 10];
    loop {
        match rest.read(&mut piece)? {
            0 => return server.shutdown(std::net::Shutdown::Write),
            len => (&server).write_all(&piece[..len])?,
        }
    }
}
