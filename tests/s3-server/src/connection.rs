//! Serves the requests of one connection one after another, with faults.

use std::io::{self, BufReader, IoSlice, Read, Write};
use std::net::TcpStream;
use std::time::Duration;

use crate::answer::{self, Ask};
use crate::fault::Fault;
use crate::log::{Entry, Op};
use crate::message::{Answer, Request, reason};
use crate::server::{Shared, lock};
use crate::sign;
use crate::store::{Object, Store};

/// Serves requests until the client disconnects or a fault ends the connection.
pub(crate) fn serve(stream: &TcpStream, shared: &Shared) {
    // The system sends small answers without delay.
    drop(stream.set_nodelay(true));
    let mut reader = BufReader::new(stream);
    // A client that disconnects early ends only its own connection.
    while let Ok(Some(mut request)) = Request::read_head(&mut reader) {
        if request.header("expect").is_some_and(|expect| expect.eq_ignore_ascii_case("100-continue"))
            && (&*stream).write_all(b"HTTP/1.1 100 Continue\r\n\r\n").is_err()
        {
            return;
        }
        if request.read_body(&mut reader).is_err() {
            return;
        }
        shared.begins();
        if !shared.config.latency.is_zero() {
            std::thread::sleep(shared.config.latency);
        }
        let (answer, fault) = look(&request, shared);
        match send(stream, &mut reader, &request, answer, fault.as_ref(), shared.config.pause) {
            Ok(true)
                if !request.header("connection").is_some_and(|ask| ask.eq_ignore_ascii_case("close")) => {}
            _ => return,
        }
    }
}

/// Performs a request, or applies a fault instead. Returns the answer and the fault.
fn look(request: &Request, shared: &Shared) -> (Option<Answer>, Option<Fault>) {
    let mut store = lock(&shared.store);
    let ask = Ask::of(request, &store);
    let ranged = request.header("range").is_some();
    let fault = lock(&shared.rules)
        .iter_mut()
        .find_map(|rule| rule.strikes(ask.op, &ask.key, ranged).then(|| rule.fault.clone()));
    let answer = match &fault {
        Some(Fault::Status(status, code)) => Some(Answer::error(*status, code)),
        Some(Fault::Page(status)) => Some(answer::page(*status)),
        Some(Fault::ErrorBody) => Some(Answer::error(200, "InternalError")),
        Some(Fault::Redirect(status, to)) => {
            let answer = Answer::error(*status, "TemporaryRedirect").with("Location", to.clone());
            Some(answer.with("x-amz-bucket-region", "eu-north-1"))
        }
        Some(Fault::Reset | Fault::Close | Fault::Stall | Fault::Garbage) => None,
        fault => {
            meddle(&mut store, &ask, fault.as_ref());
            let open = store.buckets.get(&ask.bucket).is_none_or(|bucket| bucket.anonymous || bucket.web);
            let allowed = match open && !sign::is_signed(request) {
                true => Ok(()),
                false => sign::check(request, &shared.config.keys),
            };
            let mut answer = match allowed {
                Ok(()) => answer::answer(&mut store, &ask, request, shared.config.page, fault.as_ref()),
                Err(code) => Answer::error(if code == "InvalidToken" { 400 } else { 403 }, code),
            };
            change(&mut answer, fault.as_ref());
            Some(answer)
        }
    };
    // An answer to HEAD has no body, even with a fault.
    let answer = answer.map(|mut answer| {
        if request.method == "HEAD" {
            answer.length.get_or_insert(answer.body.len() as u64);
            answer.body.clear();
        }
        answer
    });
    shared.seen(Entry {
        op: ask.op,
        bucket: ask.bucket,
        key: ask.key,
        range: request.header("range").map(str::to_owned),
        status: answer.as_ref().map_or(0, |answer| answer.status),
        received: request.body.len() as u64,
        sent: answer.as_ref().map_or(0, |answer| answer.body.len() as u64),
        fault: fault.clone(),
        headers: request.headers.clone(),
    });
    (answer, fault)
}

/// Changes the requested object first, as another client could.
fn meddle(store: &mut Store, ask: &Ask, fault: Option<&Fault>) {
    let Some(bucket) = store.buckets.get_mut(&ask.bucket).filter(|_| ask.op != Op::List) else { return };
    let Some(object) = bucket.objects.get(&ask.key) else { return };
    let other = |more: &[u8]| {
        Object::new(object.bytes.iter().map(|byte| byte ^ 0x55).chain(more.iter().copied()).collect())
    };
    match fault {
        Some(Fault::Replaced) => drop(bucket.objects.insert(ask.key.clone(), other(b""))),
        Some(Fault::Grown) => drop(bucket.objects.insert(ask.key.clone(), other(b"and more"))),
        Some(Fault::Removed) => drop(bucket.objects.remove(&ask.key)),
        _ => {}
    }
}

/// Applies the faults that change an answer as a whole.
fn change(answer: &mut Answer, fault: Option<&Fault>) {
    match fault {
        Some(Fault::NoETag) => answer.remove("etag"),
        Some(Fault::OddEncoding) => answer.set("Content-Encoding", "odd"),
        Some(Fault::Gzip) => {
            let mut packed = flate2::write::GzEncoder::new(Vec::new(), flate2::Compression::fast());
            if packed.write_all(&answer.body).is_ok()
                && let Ok(packed) = packed.finish()
            {
                answer.body = packed.into();
                answer.set("Content-Encoding", "gzip");
            }
        }
        _ => {}
    }
}

/// Sends an answer with its fault. Returns `false` if the connection ends.
fn send(
    stream: &TcpStream,
    reader: &mut impl Read,
    request: &Request,
    answer: Option<Answer>,
    fault: Option<&Fault>,
    pause: Duration,
) -> io::Result<bool> {
    let mut out = stream;
    let answer = match (fault, answer) {
        (Some(Fault::Reset | Fault::LostReply), _) => return reset(stream),
        (Some(Fault::Close), _) => return Ok(false),
        (Some(Fault::Stall), _) => return stall(reader),
        (Some(Fault::Garbage), _) | (_, None) => {
            out.write_all(b"\x00\x01 this is not what you are looking for \xff\r\n\r\n")?;
            return Ok(false);
        }
        (_, Some(answer)) => answer,
    };
    let chunked = matches!(fault, Some(Fault::Chunked | Fault::ChunkedCut)) && request.method != "HEAD";
    let to_the_end = fault == Some(&Fault::NoLength);
    let mut head = format!("HTTP/1.1 {} {}\r\n", answer.status, reason(answer.status));
    for (name, value) in &answer.headers {
        head.push_str(&format!("{name}: {value}\r\n"));
    }
    if chunked {
        head.push_str("Transfer-Encoding: chunked\r\n");
    } else if to_the_end {
        head.push_str("Connection: close\r\n");
    } else if !matches!(answer.status, 204 | 304) {
        head.push_str(&format!("Content-Length: {}\r\n", answer.length.unwrap_or(answer.body.len() as u64)));
    }
    head.push_str("\r\n");
    let half = answer.body.len() / 2;
    let mut whole = head.into_bytes();
    match fault {
        Some(Fault::CutBody | Fault::ResetBody | Fault::StallBody) => {
            whole.extend_from_slice(&answer.body[..half]);
            out.write_all(&whole)?;
            match fault {
                Some(Fault::ResetBody) => reset(stream),
                Some(Fault::StallBody) => stall(reader),
                _ => Ok(false),
            }
        }
        Some(Fault::Drip) => {
            out.write_all(&whole)?;
            for piece in answer.body.chunks(answer.body.len().div_ceil(8).max(1)) {
                out.write_all(piece)?;
                std::thread::sleep(pause);
            }
            Ok(true)
        }
        _ if chunked => {
            for piece in answer.body.chunks(1000) {
                whole.extend_from_slice(format!("{:x}\r\n", piece.len()).as_bytes());
                whole.extend_from_slice(piece);
                whole.extend_from_slice(b"\r\n");
            }
            let cut = fault == Some(&Fault::ChunkedCut);
            whole.extend_from_slice(if cut { b"" } else { b"0\r\n\r\n" });
            out.write_all(&whole)?;
            Ok(!cut)
        }
        _ => {
            write_both(&mut out, &whole, &answer.body)?;
            Ok(!to_the_end)
        }
    }
}

/// Writes a head and a body without copying, in one call where the system can.
fn write_both(out: &mut impl Write, mut head: &[u8], mut body: &[u8]) -> io::Result<()> {
    while !head.is_empty() {
        let written = match out.write_vectored(&[IoSlice::new(head), IoSlice::new(body)])? {
            0 => return Err(io::ErrorKind::WriteZero.into()),
            written => written,
        };
        let of_head = written.min(head.len());
        (head, body) = (&head[of_head..], &body[written - of_head..]);
    }
    out.write_all(body)
}

/// Ends the connection with a reset.
fn reset(stream: &TcpStream) -> io::Result<bool> {
    // The reset happens when the last handle of the connection is closed.
    rustix::net::sockopt::set_socket_linger(stream, Some(Duration::ZERO))?;
    Ok(false)
}

/// Waits until the client or the server closes the connection.
fn stall(reader: &mut impl Read) -> io::Result<bool> {
    let mut nothing = [0; 256];
    while reader.read(&mut nothing)? > 0 {}
    Ok(false)
}
