//! Checks signatures (version 4), which prove that the client knows the secret.

use hmac::{Hmac, Mac as _};
use sha2::{Digest as _, Sha256};

use crate::message::{Request, encode};
use crate::store::hex;

/// The credentials that allow all requests.
#[derive(Debug, Clone)]
pub(crate) struct Keys {
    pub(crate) access: String,
    pub(crate) secret: String,
    pub(crate) token: Option<String>,
}

/// Whether a request has a signature. Other credentials do not count.
pub(crate) fn is_signed(request: &Request) -> bool {
    request.header("authorization").is_some_and(|given| given.starts_with("AWS4-"))
}

/// Checks the signature of a request.
///
/// # Errors
/// Returns the code of S3's error.
pub(crate) fn check(request: &Request, keys: &Keys) -> Result<(), &'static str> {
    const BAD: &str = "AuthorizationHeaderMalformed";
    let given = request.header("authorization").ok_or("AccessDenied")?;
    let fields = given.strip_prefix("AWS4-HMAC-SHA256").ok_or(BAD)?;
    let field = |name: &str| {
        let found = fields.split(',').find_map(|field| field.trim().strip_prefix(name)?.strip_prefix('='));
        found.ok_or(BAD)
    };
    let (credential, names, signature) = (field("Credential")?, field("SignedHeaders")?, field("Signature")?);
    let (access, scope) = credential.split_once('/').ok_or(BAD)?;
    if access != keys.access {
        return Err("InvalidAccessKeyId");
    }
    if request.header("x-amz-security-token") != keys.token.as_deref() {
        return Err("InvalidToken");
    }
    let parts: Vec<&str> = scope.split('/').collect();
    let [date, region, "s3", "aws4_request"] = parts[..] else { return Err(BAD) };
    let payload = request.header("x-amz-content-sha256").ok_or(BAD)?;
    if payload != "UNSIGNED-PAYLOAD" && payload != hex(&Sha256::digest(&request.body)) {
        return Err("XAmzContentSHA256Mismatch");
    }
    let mut query: Vec<_> =
        request.query.iter().map(|(key, value)| (encode(key, true), encode(value, true))).collect();
    query.sort();
    let query: Vec<String> = query.iter().map(|(key, value)| format!("{key}={value}")).collect();
    let mut headers = String::new();
    for name in names.split(';') {
        let value = request.header(name).ok_or(BAD)?;
        let words: Vec<&str> = value.split_whitespace().collect();
        headers.push_str(&format!("{name}:{}\n", words.join(" ")));
    }
    let path = encode(&request.path, false);
    let canonical = [&request.method, &path, &query.join("&"), &headers, names, payload].join("\n");
    let stamp = request.header("x-amz-date").ok_or(BAD)?;
    let text = ["AWS4-HMAC-SHA256", stamp, scope, &hex(&Sha256::digest(canonical))].join("\n");
    let mut key = mac(format!("AWS4{}", keys.secret).as_bytes(), date);
    for part in [region, "s3", "aws4_request"] {
        key = mac(&key, part);
    }
    if hex(&mac(&key, &text)) == signature { Ok(()) } else { Err("SignatureDoesNotMatch") }
}

fn mac(key: &[u8], text: &str) -> Vec<u8> {
    let mut mac = Hmac::<Sha256>::new_from_slice(key).expect("keys may have any length");
    mac.update(text.as_bytes());
    mac.finalize().into_bytes().to_vec()
}
