//! [`Remote::ask`]: one GET of an object, sent without the SDK.
//!
//! What the SDK does around a request costs more than the request, and datasets are read by thousands of them. Here one
//! is built, signed and sent, and no more; what comes is judged where it is read. Redirects are not followed.

use aws_credential_types::provider::ProvideCredentials as _;
use aws_smithy_xml::decode::{Document, try_data};
use bytes::Bytes;
use http_body_util::{BodyExt as _, Empty};
use hyper::body::Incoming;
use hyper::header::{HOST, HeaderName, HeaderValue, IF_MATCH, RANGE, USER_AGENT};
use hyper::{Method, Request, Response, Uri};

use crate::failure::{Failure, Said, chain};
use crate::remote::Remote;
use crate::route::Route;

/// So much is read of what a server says of an error.
const MOST: usize = 64 << 10;
const AGENT: HeaderValue = HeaderValue::from_static(concat!("nczarr/", env!("CARGO_PKG_VERSION")));

/// A body, and what stood above it.
#[derive(Debug)]
pub(crate) struct Answer(pub(crate) Response<Incoming>);

impl Answer {
    /// A field of the head, if there is one.
    pub(crate) fn field(&self, name: HeaderName) -> Result<Option<&str>, Failure> {
        let mut found = self.0.headers().get_all(&name).iter();
        let value = found.next().map(|value| std::str::from_utf8(value.as_bytes()));
        match (value, found.next()) {
            (None, _) => Ok(None),
            (Some(Ok(value)), None) => Ok(Some(value.trim())),
            (Some(Err(_)), _) => Err(Failure::damaged(format!("the answer's {name} cannot be read"))),
            (Some(Ok(_)), Some(_)) => Err(Failure::damaged(format!("the answer has more than one {name}"))),
        }
    }
}

impl Remote {
    /// Asks for an object: a range of it, and in a certain state, if these are given. An answer that is none is a failure.
    pub(crate) async fn ask(&self, object: &str, range: Option<&str>, state: Option<&str>) -> Result<Answer, Failure> {
        let route = self.route.get_or_try_init(|| Route::of(&self.access)).await?;
        let bad = |what: &str| Failure::refused(format!("{what} cannot be sent"));
        let url = route.url(object);
        let uri: Uri = url.parse().map_err(|_| bad("the object's name"))?;
        let mut request = Request::new(Empty::new());
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
        if let Some(keyring) = &self.keyring {
            let keys = keyring.provide_credentials().await.map_err(|error| Failure::unsent(chain(&error)))?;
            route.sign(&mut request, &url, keys)?;
        }
        let answer = self.http.request(request).await.map_err(|error| Failure::unsent(chain(&error)))?;
        if answer.status().is_success() { Ok(Answer(answer)) } else { Err(refused(answer).await) }
    }
}

/// What an answer says that is not the object.
async fn refused(answer: Response<Incoming>) -> Failure {
    let (head, mut body) = answer.into_parts();
    let mut bytes = Vec::new();
    let mut broken = None;
    while bytes.len() < MOST {
        match body.frame().await {
            Some(Ok(frame)) => bytes.extend_from_slice(frame.data_ref().map_or(&[], |data: &Bytes| &data[..])),
            Some(Err(error)) => {
                broken = Some(chain(&error));
                break;
            }
            None => break,
        }
    }
    let field = |name: &str| head.headers.get(name).and_then(|value| value.to_str().ok());
    if let Some(text) = broken {
        return Failure::unreadable(head.status.as_u16(), text);
    }
    let (code, text) = error_in(&bytes).unwrap_or_default();
    let (region, range) = (field("x-amz-bucket-region"), field("content-range"));
    Failure::said(Said { status: head.status.as_u16(), code, text, region, range })
}

/// Code and message of an error document.
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
