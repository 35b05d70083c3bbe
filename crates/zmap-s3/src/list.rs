//! Listing what is below a prefix, page by page: all of it, or the next segments by a delimiter.
//!
//! Pages may repeat, overlap and come in any order; what is outside the prefix, is no key, or marks a "folder" is left
//! aside. A listing that does not come forward is an error, never a short one.

use std::collections::{BTreeSet, HashSet};

use aws_sdk_s3::operation::list_objects_v2::ListObjectsV2Output;
use nczarr_dispatch::Key;

use crate::deadline::Deadline;
use crate::failure::Failure;
use crate::remote::{Remote, patiently};

/// So many pages in a row may bring nothing new.
const IDLE: usize = 20;
/// Names of more than this many objects are an error, not an allocation.
const MOST: usize = 10_000_000;
/// Objects whose names begin so are the map's own, and no part of a dataset.
pub(crate) const OWN: &str = ".nczarr-probe-";

/// How far a listing goes.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum How {
    /// All keys.
    Deep,
    /// The next segments.
    Flat,
    /// One key, if there is one.
    Any,
}

impl Remote {
    /// What lies below `prefix` (which ends in `/` or is empty), without it, sorted.
    pub(crate) async fn list(
        &self,
        prefix: &str,
        how: How,
        deadline: Deadline,
    ) -> Result<BTreeSet<String>, (Failure, u32)> {
        patiently!(self, deadline, |_| self.every_page(prefix, how, deadline).await)
    }

    /// All keys below `prefix`, if they stand on one page.
    pub(crate) async fn list_once(&self, prefix: &str) -> Result<Option<BTreeSet<String>>, (Failure, u32)> {
        let deadline = self.deadline(0);
        patiently!(self, deadline, |_| self.first_page(prefix, deadline).await)
    }

    async fn first_page(&self, prefix: &str, deadline: Deadline) -> Result<Option<BTreeSet<String>>, Failure> {
        let mut names = BTreeSet::new();
        let page = self.page(prefix, How::Deep, None, deadline).await?;
        take(prefix, &page, How::Deep, &mut names)?;
        Ok((!page.is_truncated().unwrap_or(false)).then_some(names))
    }

    async fn every_page(&self, prefix: &str, how: How, deadline: Deadline) -> Result<BTreeSet<String>, Failure> {
        let mut names = BTreeSet::new();
        let (mut token, mut tokens, mut idle) = (None::<String>, HashSet::new(), 0);
        loop {
            let page = self.page(prefix, how, token.take(), deadline).await?;
            let before = names.len();
            take(prefix, &page, how, &mut names)?;
            if names.len() > MOST {
                return Err(Failure::refused(format!("more than {MOST} objects")));
            }
            if !page.is_truncated().unwrap_or(false) {
                return Ok(names);
            }
            if how == How::Any && !names.is_empty() {
                return Ok(names);
            }
            idle = if names.len() > before { 0 } else { idle + 1 };
            let next = page.next_continuation_token().filter(|token| !token.is_empty());
            let next = next.ok_or_else(|| Failure::damaged("a page says there is more, and not where"))?;
            if !tokens.insert(next.to_owned()) || idle > IDLE {
                return Err(Failure::damaged("the listing does not come forward"));
            }
            token = Some(next.to_owned());
        }
    }

    /// One page, with tries of its own: a long listing does not begin again for one that failed.
    async fn page(
        &self,
        prefix: &str,
        how: How,
        token: Option<String>,
        deadline: Deadline,
    ) -> Result<ListObjectsV2Output, Failure> {
        let page = patiently!(self, deadline, |_| {
            let request = self
                .client
                .list_objects_v2()
                .bucket(&self.access.bucket)
                .set_prefix((!prefix.is_empty()).then(|| prefix.to_owned()))
                .set_delimiter((how == How::Flat).then(|| "/".to_owned()))
                .set_max_keys((how == How::Any).then_some(8))
                .set_continuation_token(token.clone());
            self.answer(0, async { request.send().await.map_err(Failure::of) }).await
        });
        // Its tries are over: those around it begin the listing anew only for one that was damaged.
        page.map_err(|(failure, _)| Failure { transient: false, ..failure })
    }
}

/// Adds the names of a page.
fn take(prefix: &str, page: &ListObjectsV2Output, how: How, names: &mut BTreeSet<String>) -> Result<(), Failure> {
    if page.prefix().unwrap_or_default() != prefix {
        return Err(Failure::damaged(format!("a page of {:?} was answered", page.prefix().unwrap_or_default())));
    }
    let found = page.contents().len() + page.common_prefixes().len();
    // A document that was cut is not told from one that ends by those who read it.
    if let Some(count) = page.key_count()
        // Some servers count the objects alone.
        && ![found, page.contents().len()].contains(&usize::try_from(count).unwrap_or(usize::MAX))
    {
        return Err(Failure::damaged(format!("a page of {count} entries has {found}")));
    }
    let objects = page.contents().iter().map(|object| object.key());
    let folders = page.common_prefixes().iter().map(|folder| folder.prefix());
    for key in objects.chain(folders) {
        let Some(rest) = key.and_then(|key| key.strip_prefix(prefix)) else {
            return Err(Failure::damaged("a page lists what lies elsewhere"));
        };
        let rest = if how == How::Flat { rest.strip_suffix('/').unwrap_or(rest) } else { rest };
        // `a//b`, `../x` and the marks of "folders" are nothing a map can name.
        if rest.is_empty() || rest.starts_with(OWN) || Key::new(rest).is_err() || how == How::Flat && rest.contains('/')
        {
            continue;
        }
        names.insert(rest.to_owned());
    }
    Ok(())
}
