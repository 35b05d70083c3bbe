//! Pages of listings (ListObjectsV2).

use std::collections::BTreeMap;
use std::ops::Bound;

use crate::fault::Fault;
use crate::message::{Answer, Request, encode, escape};
use crate::store::Object;

/// An entry of a page.
enum Found<'o> {
    Key(&'o str, &'o Object),
    Prefix(String),
}

/// Returns a page with at most `most` entries.
pub(crate) fn page(
    objects: &BTreeMap<String, Object>,
    bucket: &str,
    request: &Request,
    most: usize,
    fault: Option<&Fault>,
) -> Answer {
    let prefix = request.param("prefix").unwrap_or_default();
    let delimiter = request.param("delimiter").filter(|delimiter| !delimiter.is_empty());
    let most = request.param("max-keys").and_then(|most| most.parse().ok()).unwrap_or(most).min(most);
    // A token is the letter `t` or `r` and the name of the last entry of the page before.
    let token = request.param("continuation-token");
    let after = match token {
        Some(token) => match token.strip_prefix('t').or_else(|| token.strip_prefix('r')) {
            Some(after) => after,
            None => return Answer::error(400, "InvalidArgument"),
        },
        None => request.param("start-after").unwrap_or_default(),
    };
    let (mut found, mut more): (Vec<Found<'_>>, _) = (Vec::new(), false);
    for (key, object) in objects.range::<str, _>((Bound::Excluded(after), Bound::Unbounded)) {
        let Some(rest) = key.strip_prefix(prefix) else { continue };
        let common = delimiter.and_then(|delimiter| Some(&rest[..rest.find(delimiter)? + delimiter.len()]));
        let common = common.map(|common| format!("{prefix}{common}"));
        if let Some(common) = &common
            && (*common == after || matches!(found.last(), Some(Found::Prefix(last)) if last == common))
        {
            continue;
        }
        if found.len() == most {
            more = true;
            break;
        }
        found.push(common.map_or(Found::Key(key, object), Found::Prefix));
    }
    let mut next = found.last().map(|last| match last {
        Found::Key(key, _) => format!("t{key}"),
        // The next page begins after all keys below the prefix.
        Found::Prefix(prefix) => format!("t{prefix}\u{10ffff}"),
    });
    match fault {
        Some(Fault::EmptyPage) => {
            found.clear();
            (more, next) = (true, Some(format!("t{after}")));
        }
        // The token of the repeated page begins with `r`, so it is repeated only once.
        Some(Fault::RepeatedPage) if token.is_none_or(|token| token.starts_with('t')) => {
            (more, next) = (true, Some(format!("r{after}")));
        }
        Some(Fault::EndlessPage) => (more, next) = (true, Some(token.unwrap_or("t").to_owned())),
        Some(Fault::NoToken) => (more, next) = (true, None),
        Some(Fault::Reversed) => found.reverse(),
        _ => {}
    }
    let encoded = request.param("encoding-type") == Some("url");
    let text = |text: &str| if encoded { encode(text, false) } else { escape(text) };
    let mut body = String::from("<ListBucketResult xmlns=\"http://s3.amazonaws.com/doc/2006-03-01/\">");
    body.push_str(&format!("<Name>{}</Name><Prefix>{}</Prefix>", escape(bucket), text(prefix)));
    body.push_str(&format!("<KeyCount>{}</KeyCount><MaxKeys>{most}</MaxKeys>", found.len()));
    body.push_str(&format!("<IsTruncated>{more}</IsTruncated>"));
    if let Some(delimiter) = delimiter {
        body.push_str(&format!("<Delimiter>{}</Delimiter>", text(delimiter)));
    }
    if encoded {
        body.push_str("<EncodingType>url</EncodingType>");
    }
    if let (true, Some(next)) = (more, next) {
        body.push_str(&format!("<NextContinuationToken>{}</NextContinuationToken>", escape(&next)));
    }
    for _ in 0..if fault == Some(&Fault::DoubledEntries) { 2 } else { 1 } {
        for found in &found {
            body.push_str(&match found {
                Found::Key(key, object) => format!(
                    "<Contents><Key>{}</Key><LastModified>2024-01-01T00:00:00.000Z</LastModified><ETag>{}</ETag><Size>{}</Size><StorageClass>STANDARD</StorageClass></Contents>",
                    text(key),
                    escape(&object.etag),
                    object.bytes.len()
                ),
                Found::Prefix(prefix) => format!("<CommonPrefixes><Prefix>{}</Prefix></CommonPrefixes>", text(prefix)),
            });
        }
    }
    body.push_str("</ListBucketResult>");
    if fault == Some(&Fault::CutDocument) {
        body.truncate((0..=body.len() / 2).rev().find(|&at| body.is_char_boundary(at)).unwrap_or(0));
    }
    Answer::xml(200, body)
}
