//! Lists the objects below a prefix, page by page: all of them, or the next segments by a delimiter.
//!
//! Pages may repeat, overlap and come in any order. Objects outside the prefix, invalid keys and "folder"
//! marks are ignored. A listing without progress is an error, never a short listing.

use std::collections::{BTreeSet, HashSet};

use aws_sdk_s3::operation::list_objects_v2::ListObjectsV2Output;
use nczarr_storage::Key;

use crate::deadline::Deadline;
use crate::failure::RequestFailure;
use crate::remote::{RemoteBucket, with_retries};

/// Most consecutive pages without a new name.
const IDLE: usize = 20;
/// Most objects in a listing. More are an error.
const MOST: usize = 10_000_000;
/// Name prefix of the map's own objects, which are not part of a dataset.
pub(crate) const OWN: &str = ".nczarr-probe-";

/// The extent of a listing.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum ListDepth {
    /// All keys.
    Deep,
    /// The next segments.
    Flat,
    /// One key, if there is one.
    Any,
}

impl RemoteBucket {
    /// Returns the sorted names below `prefix`, without the prefix. It ends in `/` or is empty.
    pub(crate) async fn list(
        &self,
        prefix: &str,
        how: ListDepth,
        deadline: Deadline,
    ) -> Result<BTreeSet<String>, (RequestFailure, u32)> {
        with_retries!(self, deadline, |_| self.every_page(prefix, how, deadline).await)
    }

    /// Returns all keys below `prefix` if they fit in one page.
    pub(crate) async fn list_in_one_request(
        &self,
        prefix: &str,
    ) -> Result<Option<BTreeSet<String>>, (RequestFailure, u32)> {
        let deadline = self.deadline(0);
        with_retries!(self, deadline, |_| self.first_page(prefix, deadline).await)
    }

    async fn first_page(
        &self,
        prefix: &str,
        deadline: Deadline,
    ) -> Result<Option<BTreeSet<String>>, RequestFailure> {
        let mut names = BTreeSet::new();
        let page = self.page(prefix, ListDepth::Deep, None, deadline).await?;
        take(prefix, &page, ListDepth::Deep, &mut names)?;
        Ok((!page.is_truncated().unwrap_or(false)).then_some(names))
    }

    async fn every_page(
        &self,
        prefix: &str,
        how: ListDepth,
        deadline: Deadline,
    ) -> Result<BTreeSet<String>, RequestFailure> {
        let mut names = BTreeSet::new();
        let (mut token, mut tokens, mut idle) = (None::<String>, HashSet::new(), 0);
        loop {
            let page = self.page(prefix, how, token.take(), deadline).await?;
            let before = names.len();
            take(prefix, &page, how, &mut names)?;
            if names.len() > MOST {
                return Err(RequestFailure::refused(format!("the listing has more than {MOST} objects")));
            }
            if !page.is_truncated().unwrap_or(false) {
                return Ok(names);
            }
            if how == ListDepth::Any && !names.is_empty() {
                return Ok(names);
            }
            idle = if names.len() > before { 0 } else { idle + 1 };
            let next = page.next_continuation_token().filter(|token| !token.is_empty());
            let next = next.ok_or_else(|| {
                RequestFailure::damaged(
                    "a listing page states that there are more, but has no continuation token",
                )
            })?;
            if !tokens.insert(next.to_owned()) || idle > IDLE {
                return Err(RequestFailure::damaged("the listing makes no progress"));
            }
            token = Some(next.to_owned());
        }
    }

    /// Reads one page with its own retries, so that a failure does not restart a long listing.
    async fn page(
        &self,
        prefix: &str,
        how: ListDepth,
        token: Option<String>,
        deadline: Deadline,
    ) -> Result<ListObjectsV2Output, RequestFailure> {
        let page = with_retries!(self, deadline, |_| {
            let request = self
                .client
                .list_objects_v2()
                .bucket(&self.access.bucket)
                .set_prefix((!prefix.is_empty()).then(|| prefix.to_owned()))
                .set_delimiter((how == ListDepth::Flat).then(|| "/".to_owned()))
                .set_max_keys((how == ListDepth::Any).then_some(8))
                .set_continuation_token(token.clone());
            self.answer(0, async { request.send().await.map_err(RequestFailure::of) }).await
        });
        // The page was retried already. Only a damaged page restarts the listing.
        page.map_err(|(failure, _)| RequestFailure { transient: false, ..failure })
    }
}

/// Adds the names of a page.
fn take(
    prefix: &str,
    page: &ListObjectsV2Output,
    how: ListDepth,
    names: &mut BTreeSet<String>,
) -> Result<(), RequestFailure> {
    if page.prefix().unwrap_or_default() != prefix {
        return Err(RequestFailure::damaged(format!(
            "wrong listing page (expected another prefix, found {:?})",
            page.prefix().unwrap_or_default()
        )));
    }
    let found = page.contents().len() + page.common_prefixes().len();
    // The XML reader does not detect a truncated document.
    if let Some(count) = page.key_count()
        // Some servers count only the objects.
        && ![found, page.contents().len()].contains(&usize::try_from(count).unwrap_or(usize::MAX))
    {
        return Err(RequestFailure::damaged(format!(
            "incomplete listing page (expected {count} entries, found {found})"
        )));
    }
    let objects = page.contents().iter().map(|object| object.key());
    let folders = page.common_prefixes().iter().map(|folder| folder.prefix());
    for key in objects.chain(folders) {
        let Some(rest) = key.and_then(|key| key.strip_prefix(prefix)) else {
            return Err(RequestFailure::damaged("a listing page has objects outside the prefix"));
        };
        let rest = if how == ListDepth::Flat { rest.strip_suffix('/').unwrap_or(rest) } else { rest };
        // A map cannot name `a//b`, `../x` and "folder" marks.
        if rest.is_empty()
            || rest.starts_with(OWN)
            || Key::new(rest).is_err()
            || how == ListDepth::Flat && rest.contains('/')
        {
            continue;
        }
        names.insert(rest.to_owned());
    }
    Ok(())
}
