//! [`Registry::explain`]: why a path means what it means.

use std::sync::Arc;

use nczarr_model::Result;

use super::{Looks, asked, open_chosen, target_of};
use crate::{DatasetInfo, OpenRequest, Options, Registry};

/// One thing that was looked at, and what it was.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Look {
    /// What was looked at.
    pub at: String,
    /// What was found.
    pub found: String,
}

impl Look {
    pub(super) fn new(at: String, found: &str) -> Self {
        Self { at, found: found.to_owned() }
    }
}

/// Why a path means what it means: what it says, what was looked at, who was chosen. Holds no secrets.
#[derive(Debug, Clone)]
pub struct Explanation {
    /// The scheme that was written, if one was.
    pub scheme: Option<String>,
    /// The path.
    pub path: String,
    /// The values of `mode` after all rules.
    pub modes: Vec<String>,
    /// The rules of the fragment that changed something, in order.
    pub steps: Vec<String>,
    /// What was looked at, in order.
    pub looks: Vec<Look>,
    /// The driver, and why it.
    pub driver: Option<(String, String)>,
    /// What the opened dataset says of itself: its map, flavour, version and notes.
    pub dataset: Option<DatasetInfo>,
    /// Why it cannot be opened, if so.
    pub problem: Option<nczarr_model::Error>,
}

impl Registry {
    /// Says what `path`, a path or URL, means and why, by opening it for reading. What fails on the way is part of
    /// the answer.
    ///
    /// # Errors
    /// Only if the path itself is malformed.
    pub fn explain(self: &Arc<Self>, path: &str) -> Result<Explanation> {
        let (target, options) = (target_of(path)?, Options::default());
        let options = asked::options(&target, &options, false)?.into_owned();
        let mut request =
            OpenRequest { target: &target, writable: false, options: &options, registry: self, map: None, only: None };
        let mut looks = Looks::heard();
        let choice = self.choose(&request, &mut looks);
        let mut answer = Explanation {
            scheme: target.scheme.name().map(str::to_owned),
            path: target.path.clone(),
            modes: target.modes.clone(),
            steps: target.steps.clone(),
            looks: looks.0.unwrap_or_default(),
            driver: None,
            dataset: None,
            problem: None,
        };
        let opened = choice.and_then(|choice| {
            answer.driver = Some((choice.driver.info().name.to_owned(), choice.why));
            request.map = choice.map;
            open_chosen(choice.driver, &request, choice.source)
        });
        match opened {
            Ok(dataset) => {
                answer.dataset = Some(dataset.info());
                answer.problem = dataset.close().err();
            }
            Err(error) => answer.problem = Some(error),
        }
        Ok(answer)
    }
}
