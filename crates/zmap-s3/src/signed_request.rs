//! [`RemoteBucket::ask`]: one GET of an object, sent without the SDK.
//!
//! Applies: to reads of objects. Gains: the SDK's work around a request costs more than the request, and
//! reading a dataset takes thousands. This module only builds, signs and sends the request. The reader judges
//! the response. Redirects are not followed.

use aws_credential_types::provider::ProvideCredentials as _;
use aws_smithy_xml::decode::{Document, try_data};
use hyper::header::{
    CONTENT_RANGE, HOST, HeaderName, HeaderValue, IF_MATCH, PROXY_AUTHORIZATION, RANGE, USER_AGENT,
};
use hyper::{Method, Request, Uri};

use crate::chunked::ChunkedDecoder;
use crate::connection::Connection;
use crate::failure::{ErrorResponse, RequestFailure, chain};
use crate::payer::REQUESTER_PAYS;
use crate::remote::RemoteBucket;
use crate::response_head::{BodyFraming, ResponseHead};
use crate::route::BucketRoute;

/// Most bytes read of an error document.
const MOST: usize = 64 << 10;
const AGENT: HeaderValue = HeaderValue::from_static(concat!("nczarr/", env!("CARGO_PKG_VERSION")));

/// The head of a response, and the connection with its body.
pub(crate) struct Response {
    pub(crate) head: ResponseHead,
    pub(crate) framing: BodyFraming,
    pub(crate) line: Connection,
}

impl Response {
    /// Returns a header field, if present.
    pub(crate) fn field(&self, name: HeaderName) -> Result<Option<&str>, RequestFailure> {
        let mut found = self.head.all(&name);
        let value = found.next().map(std::str::from_utf8);
        match (value, found.next()) {
            (None, _) => Ok(None),
            (Some(Ok(value)), None) => Ok(Some(value.trim())),
            (Some(Err(_)), _) => Err(RequestFailure::damaged(format!("the response's {name} is unreadable"))),
            (Some(Ok(_)), Some(_)) => {
                Err(RequestFailure::damaged(format!("the response has more than one {name}")))
            }
        }
    }
}

impl RemoteBucket {
    /// Requests an object: optionally a range of it, and a state given by its ETag. Any other response is a
    /// failure.
    pub(crate) async fn ask(
        &self,
        object: &str,
        range: Option<&str>,
        state: Option<&str>,
    ) -> Result<Response, RequestFailure> {
        let route = self.route.get_or_try_init(|| BucketRoute::of(&self.access)).await?;
        let bad = |what: &str| RequestFailure::refused(format!("{what} cannot be sent"));
        let url = route.url(object);
        let uri: Uri = url.parse().map_err(|_| bad("the object's name"))?;
        let mut request = Request::new(());
        *request.method_mut() = Method::GET;
        *request.uri_mut() = uri;
        let headers = request.headers_mut();
        headers.insert(HOST, route.host.clone());
        headers.insert(USER_AGENT, AGENT);
        for (name, value) in [(RANGE, range), (IF_MATCH, state)] {
            if let Some(value) = value {
                headers.insert(name, HeaderValue::from_str(value).map_err(|_| bad("its ETag"))?);
            }
        }
        if self.access.requester_pays {
            let (name, value) = REQUESTER_PAYS;
            headers.insert(name, HeaderValue::from_static(value));
        }
        if let Some(signer) = &self.signer {
            let keys = signer.provider.provide_credentials().await;
            let keys = keys.map_err(|error| RequestFailure::no_keys(chain(&error)))?;
            route.sign(&mut request, &url, keys)?;
        }
        let proxy = self.access.proxies.reads(request.uri());
        if let Some(Some(authorization)) = &proxy {
            request.headers_mut().insert(PROXY_AUTHORIZATION, authorization.clone());
        }
        let bytes = bytes_of(&request, proxy.is_some());
        let (head, line) = self.wire.get(request.uri(), &bytes).await?;
        let framing = head.framing().map_err(RequestFailure::unsent)?;
        let answer = Response { head, framing, line };
        if matches!(answer.head.status, 200..=299) { Ok(answer) } else { Err(self.refused(answer).await) }
    }

    /// Reads an error response.
    async fn refused(&self, mut answer: Response) -> RequestFailure {
        let status = answer.head.status;
        let bytes = match document(&mut answer).await {
            Ok((bytes, whole)) => {
                if whole && answer.head.is_reusable() {
                    self.wire.keep(answer.line);
                }
                bytes
            }
            Err(text) => return RequestFailure::unreadable(status, text),
        };
        let region = HeaderName::from_static("x-amz-bucket-region");
        let field = |name: &HeaderName| {
            answer.head.all(name).next().and_then(|value| std::str::from_utf8(value).ok())
        };
        let (code, text) = error_in(&bytes).unwrap_or_default();
        RequestFailure::from_response(ErrorResponse {
            status,
            code,
            text,
            region: field(&region),
            range: field(&CONTENT_RANGE),
        })
    }
}

/// Returns the bytes of a request. A proxy needs the whole URL.
fn bytes_of(request: &Request<()>, proxied: bool) -> Vec<u8> {
    let target = request.uri().path_and_query().map_or("/", |target| target.as_str());
    let host = request.uri().authority().map_or("", |host| host.as_str());
    let before = if proxied { ["http://", host] } else { ["", ""] };
    let mut bytes = Vec::with_capacity(1 << 10);
    for part in [request.method().as_str(), " ", before[0], before[1], target, " HTTP/1.1\r\n"] {
        bytes.extend_from_slice(part.as_bytes());
    }
    for (name, value) in request.headers() {
        for part in [name.as_str().as_bytes(), b": ", value.as_bytes(), b"\r\n"] {
            bytes.extend_from_slice(part);
        }
    }
    bytes.extend_from_slice(b"\r\n");
    bytes
}

/// Reads a short body or its start. Returns also whether the connection can be reused.
async fn document(answer: &mut Response) -> Result<(Vec<u8>, bool), String> {
    let (mut body, mut piece, mut chunks) = (Vec::new(), vec![0; 8 << 10], ChunkedDecoder::default());
    while body.len() < MOST {
        let most = match answer.framing {
            BodyFraming::Length(length) => match length - body.len() as u64 {
                0 => return Ok((body, answer.line.is_at_end())),
                left => usize::try_from(left).unwrap_or(usize::MAX).min(piece.len()),
            },
            BodyFraming::Chunked | BodyFraming::ToTheEnd => piece.len(),
        };
        let some = answer.line.read(&mut piece[..most]).await.map_err(|error| error.to_string())?;
        match (answer.framing, some) {
            (BodyFraming::ToTheEnd, 0) => return Ok((body, false)),
            (_, 0) => return Err("the response ended early".to_owned()),
            (BodyFraming::Chunked, some) => {
                if chunks.take(&piece[..some], &mut body)? {
                    return Ok((body, !chunks.has_more() && answer.line.is_at_end()));
                }
            }
            (_, some) => body.extend_from_slice(&piece[..some]),
        }
    }
    Ok((body, false))
}

/// Returns code and message of an error document.
fn error_in(bytes: &[u8]) -> Option<(String, String)> {
    let mut document = Document::try_from(bytes).ok()?;
    let mut root = document.root_element().ok()?;
    let (mut code, mut text) = (String::new(), String::new());
    while let Some(mut tag) = root.next_tag() {
        let place = match tag.start_el().local() {
            "Code" => &mut code,
            "Message" => &mut text,
            _ => continue,
        };
        *place = try_data(&mut tag).ok()?.into_owned();
    }
    Some((code, text))
}
