//! The normal answers to requests, and the changes that faults of ranges make to them.

use std::ops::Range;

use crate::fault::Fault;
use crate::list;
use crate::log::Op;
use crate::message::{Answer, Request, elements, escape, unescape};
use crate::store::{Object, Store, Upload};

/// The operation, bucket and key of a request.
#[derive(Debug)]
pub(crate) struct Ask {
    pub(crate) op: Op,
    pub(crate) bucket: String,
    pub(crate) key: String,
}

impl Ask {
    pub(crate) fn of(request: &Request, store: &Store) -> Self {
        let host = request.header("host").unwrap_or_default();
        let path = request.path.strip_prefix('/').unwrap_or(&request.path);
        // Bucket names can contain dots, so the longest bucket name that the host begins with wins.
        let by_host = store
            .buckets
            .keys()
            .filter(|name| host.starts_with(&format!("{name}.")))
            .max_by_key(|name| name.len());
        let (bucket, key) = match by_host {
            Some(bucket) => (bucket.as_str(), path),
            None => path.split_once('/').unwrap_or((path, "")),
        };
        let has = |name| request.param(name).is_some();
        let op = match request.method.as_str() {
            "GET" if key.is_empty() => Op::List,
            "GET" if !has("uploads") && !has("uploadId") => Op::Get,
            "HEAD" => Op::Head,
            "PUT" if has("partNumber") => Op::UploadPart,
            "PUT" if request.header("x-amz-copy-source").is_some() => Op::Copy,
            "PUT" if key.is_empty() => Op::Other,
            "PUT" if request.header("if-match").or(request.header("if-none-match")).is_some() => Op::PutIf,
            "PUT" => Op::Put,
            "DELETE" if has("uploadId") => Op::UploadAbort,
            "DELETE" => Op::Delete,
            "POST" if has("uploads") => Op::UploadBegin,
            "POST" if has("uploadId") => Op::UploadEnd,
            "POST" if has("delete") => Op::Delete,
            _ => Op::Other,
        };
        let key = if op == Op::List { request.param("prefix").unwrap_or_default() } else { key };
        Self { op, bucket: bucket.to_owned(), key: key.to_owned() }
    }
}

/// Performs a request and returns its answer. `most` is the maximum number of entries on a page.
pub(crate) fn answer(
    store: &mut Store,
    ask: &Ask,
    request: &Request,
    most: usize,
    fault: Option<&Fault>,
) -> Answer {
    let Some(bucket) = store.buckets.get_mut(&ask.bucket) else { return Answer::error(404, "NoSuchBucket") };
    if bucket.web && !matches!(ask.op, Op::Get | Op::Head) {
        return Answer::error(if ask.op == Op::List { 404 } else { 405 }, "MethodNotAllowed");
    }
    let objects = &mut bucket.objects;
    let is_read = matches!(ask.op, Op::Get | Op::Head);
    if bucket.unlisted && (ask.op == Op::List || is_read && !objects.contains_key(&ask.key)) {
        return if bucket.web { page(403) } else { Answer::error(403, "AccessDenied") };
    }
    match ask.op {
        Op::List => list::page(objects, &ask.bucket, request, most, fault),
        Op::Head if ask.key.is_empty() => Answer::new(200),
        Op::Get | Op::Head => match objects.get(&ask.key) {
            Some(object) => get(object, request, fault),
            None if bucket.web => page(404),
            None => Answer::error(404, "NoSuchKey"),
        },
        Op::Put | Op::PutIf => {
            let there = objects.get(&ask.key).map(|object| object.etag.as_str());
            match conditions(request, fault) {
                (Some(_), _) if there.is_none() => return Answer::error(404, "NoSuchKey"),
                (Some(want), _) if there != Some(want) => return Answer::error(412, "PreconditionFailed"),
                (_, Some("*")) if there.is_some() => return Answer::error(412, "PreconditionFailed"),
                _ => {}
            }
            put(objects, &ask.key, request.body.clone())
        }
        Op::Copy => {
            let source = crate::message::decode(request.header("x-amz-copy-source").unwrap_or_default());
            let source = source.strip_prefix('/').unwrap_or(&source);
            let found =
                source.split_once('/').and_then(|(bucket, key)| store.buckets.get(bucket)?.objects.get(key));
            let Some(object) = found.cloned() else { return Answer::error(404, "NoSuchKey") };
            let etag = escape(&object.etag);
            if let Some(bucket) = store.buckets.get_mut(&ask.bucket) {
                bucket.objects.insert(ask.key.clone(), object);
            }
            let time = "<LastModified>2024-01-01T00:00:00.000Z</LastModified>";
            Answer::xml(200, format!("<CopyObjectResult>{time}<ETag>{etag}</ETag></CopyObjectResult>"))
        }
        Op::Delete if request.method == "POST" => {
            let body = String::from_utf8_lossy(&request.body);
            let mut done = String::new();
            for key in elements(&body, "Key").into_iter().map(unescape) {
                objects.remove(&key);
                done.push_str(&format!("<Deleted><Key>{}</Key></Deleted>", escape(&key)));
            }
            Answer::xml(200, format!("<DeleteResult>{done}</DeleteResult>"))
        }
        Op::Delete => {
            objects.remove(&ask.key);
            Answer::new(204)
        }
        Op::UploadBegin => {
            store.begun += 1;
            let id = format!("upload-{}", store.begun);
            let upload =
                Upload { bucket: ask.bucket.clone(), key: ask.key.clone(), parts: Default::default() };
            store.uploads.insert(id.clone(), upload);
            let (bucket, key) = (escape(&ask.bucket), escape(&ask.key));
            let what = format!("<Bucket>{bucket}</Bucket><Key>{key}</Key><UploadId>{id}</UploadId>");
            Answer::xml(200, format!("<InitiateMultipartUploadResult>{what}</InitiateMultipartUploadResult>"))
        }
        Op::UploadPart | Op::UploadEnd | Op::UploadAbort => upload(store, ask, request, fault),
        Op::Other => Answer::error(501, "NotImplemented"),
    }
}

fn put(objects: &mut std::collections::BTreeMap<String, Object>, key: &str, bytes: Vec<u8>) -> Answer {
    let object = Object::new(bytes);
    let answer = Answer::new(200).with("ETag", object.etag.clone());
    objects.insert(key.to_owned(), object);
    answer
}

/// The conditions of a write: `If-Match` and `If-None-Match`.
fn conditions<'r>(request: &'r Request, fault: Option<&Fault>) -> (Option<&'r str>, Option<&'r str>) {
    match fault {
        Some(Fault::Unconditional) => (None, None),
        _ => (request.header("if-match"), request.header("if-none-match")),
    }
}

fn upload(store: &mut Store, ask: &Ask, request: &Request, fault: Option<&Fault>) -> Answer {
    let id = request.param("uploadId").unwrap_or_default();
    let Some(upload) =
        store.uploads.get_mut(id).filter(|upload| upload.bucket == ask.bucket && upload.key == ask.key)
    else {
        return Answer::error(404, "NoSuchUpload");
    };
    if ask.op == Op::UploadAbort {
        store.uploads.remove(id);
        return Answer::new(204);
    }
    if ask.op == Op::UploadPart {
        let Some(number) = request.param("partNumber").and_then(|number| number.parse().ok()) else {
            return Answer::error(400, "InvalidArgument");
        };
        let part = Object::new(request.body.clone());
        let answer = Answer::new(200).with("ETag", part.etag.clone());
        upload.parts.insert(number, part);
        return answer;
    }
    let body = String::from_utf8_lossy(&request.body);
    let (mut bytes, mut last) = (Vec::new(), 0);
    for part in elements(&body, "Part") {
        let number =
            elements(part, "PartNumber").first().and_then(|number| number.trim().parse().ok()).unwrap_or(0);
        let etag = elements(part, "ETag").first().map(|etag| unescape(etag)).unwrap_or_default();
        if number <= last {
            return Answer::error(400, "InvalidPartOrder");
        }
        last = number;
        match upload.parts.get(&number) {
            Some(part) if part.etag.trim_matches('"') == etag.trim_matches('"') => {
                bytes.extend_from_slice(&part.bytes)
            }
            _ => return Answer::error(400, "InvalidPart"),
        }
    }
    let there = store
        .buckets
        .get(&ask.bucket)
        .and_then(|bucket| bucket.objects.get(&ask.key))
        .map(|there| &there.etag);
    match conditions(request, fault) {
        (Some(want), _) if there.map(String::as_str) != Some(want) => {
            return Answer::error(412, "PreconditionFailed");
        }
        (_, Some("*")) if there.is_some() => return Answer::error(412, "PreconditionFailed"),
        _ => {}
    }
    store.uploads.remove(id);
    let Some(bucket) = store.buckets.get_mut(&ask.bucket) else { return Answer::error(404, "NoSuchBucket") };
    let object = Object::new(bytes);
    let (name, key, etag) = (escape(&ask.bucket), escape(&ask.key), escape(&object.etag));
    bucket.objects.insert(ask.key.clone(), object);
    let what = format!("<Bucket>{name}</Bucket><Key>{key}</Key><ETag>{etag}</ETag>");
    Answer::xml(200, format!("<CompleteMultipartUploadResult>{what}</CompleteMultipartUploadResult>"))
}

/// Returns an object or a range of it.
fn get(object: &Object, request: &Request, fault: Option<&Fault>) -> Answer {
    let (etag, len) = (object.etag.as_str(), object.bytes.len());
    if request.header("if-match").is_some_and(|want| want != etag && want != "*") {
        return Answer::error(412, "PreconditionFailed");
    }
    if request.header("if-none-match").is_some_and(|have| have == etag) {
        return Answer::new(304).with("ETag", etag);
    }
    let whole =
        fault == Some(&Fault::RangeIgnored) || request.header("if-range").is_some_and(|want| want != etag);
    let asked = request.header("range").filter(|_| !whole && request.method == "GET");
    let mut answer = match asked.and_then(|text| range(text, len)) {
        None => {
            let mut answer = Answer::new(200);
            answer.body = object.bytes.clone();
            answer
        }
        Some(Err(())) => {
            return Answer::error(416, "InvalidRange").with("Content-Range", format!("bytes */{len}"));
        }
        Some(Ok(range)) => part(object, range, fault),
    };
    answer.set("ETag", etag);
    answer.set("Accept-Ranges", "bytes");
    answer.set("Last-Modified", "Mon, 01 Jan 2024 00:00:00 GMT");
    answer.set("Content-Type", "application/octet-stream");
    if request.method == "HEAD" {
        answer.length = Some(len as u64);
        answer.body.clear();
    }
    answer
}

/// Returns a range of an object. A fault can change the range.
fn part(object: &Object, asked: Range<usize>, fault: Option<&Fault>) -> Answer {
    let (len, mut sent_range) = (object.bytes.len(), asked.clone());
    let mut body = asked.clone();
    match fault {
        Some(Fault::ShortRange) => {
            body.end = body.start + asked.len() / 2;
            sent_range.end = body.end;
        }
        Some(Fault::LyingRange) => body.end = body.start + asked.len() / 2,
        Some(Fault::OtherRange) => {
            // Begins elsewhere and keeps the length if possible.
            body.start = if asked.start > 0 { asked.start - 1 } else { (asked.start + 1).min(len - 1) };
            body.end = (body.start + asked.len()).min(len);
            sent_range = body.clone();
        }
        _ => {}
    }
    let mut answer = Answer::new(206);
    answer.body = match fault {
        Some(Fault::OverlongRange) => [&object.bytes[body], b"and more than was asked for"].concat().into(),
        _ => object.bytes.slice(body),
    };
    let (first, last) = (sent_range.start, sent_range.end.max(sent_range.start + 1) - 1);
    match fault {
        Some(Fault::NoContentRange) => answer,
        Some(Fault::BadContentRange) => answer.with("Content-Range", "bytes some/of them"),
        _ => answer.with("Content-Range", format!("bytes {first}-{last}/{len}")),
    }
}

/// Parses a `Range` header. `None`: it is not valid. `Some(Err)`: the range is outside the object.
fn range(text: &str, len: usize) -> Option<Result<Range<usize>, ()>> {
    let (from, to) = text.strip_prefix("bytes=")?.split_once('-')?;
    let range = match (from.parse::<usize>(), to.parse::<usize>()) {
        (Ok(from), Ok(to)) if to < from => return None,
        (Ok(from), Ok(to)) => from..to.saturating_add(1).min(len),
        (Ok(from), Err(_)) if to.is_empty() => from..len,
        (Err(_), Ok(last)) if from.is_empty() => len.saturating_sub(last)..len,
        _ => return None,
    };
    Some(if range.start < range.end { Ok(range) } else { Err(()) })
}

/// An HTML page as web servers and proxies send it.
pub(crate) fn page(status: u16) -> Answer {
    let mut answer = Answer::new(status).with("Content-Type", "text/html");
    answer.body = format!("<html><head><title>{status}</title></head><body>{status}</body></html>\n").into();
    answer
}
