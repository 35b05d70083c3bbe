//! [`Registry::explain`]: reports how the driver and map of a path are found.

use std::sync::Arc;

use nczarr_model::Result;
use nczarr_url_infer::Place;

use super::{ProbeLog, open_chosen, parse_target, url_options};
use crate::{Backing, DatasetInfo, OpenRequest, Options, Registry};

/// One probe, and its result.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ProbeStep {
    /// The path, key or bytes that were probed.
    pub at: String,
    /// The result.
    pub found: String,
}

impl ProbeStep {
    pub(super) fn new(at: String, found: &str) -> Self {
        Self { at, found: found.to_owned() }
    }
}

/// The steps that lead from a path to its driver and map. It contains no secrets.
#[derive(Debug, Clone)]
pub struct Explanation {
    /// The scheme of the URL, if it has one.
    pub scheme: Option<String>,
    /// The path.
    pub path: String,
    /// The values of `mode` after all rules.
    pub modes: Vec<String>,
    /// The rules that changed the fragment, in order.
    pub steps: Vec<String>,
    /// The probes, in order.
    pub probes: Vec<ProbeStep>,
    /// The driver's name, and the reason for it.
    pub driver: Option<(String, String)>,
    /// The description of the opened dataset: its map, flavour, version and notes.
    pub dataset: Option<DatasetInfo>,
    /// The error of opening, if it failed.
    pub problem: Option<nczarr_model::Error>,
}

impl Registry {
    /// Explains how `path`, a path or URL, is resolved, by opening it for reading. Failures on the way are
    /// part of the result.
    ///
    /// # Errors
    /// Only if the path is malformed.
    pub fn explain(self: &Arc<Self>, place: &Place) -> Result<Explanation> {
        let (target, options) = (parse_target(place)?, Options::default());
        let options = url_options::options(&target, &options, false)?.into_owned();
        let mut request = OpenRequest::new(&target, &options, self);
        let mut looks = ProbeLog::enabled();
        let choice = self.choose(&request, &mut looks);
        let mut answer = Explanation {
            scheme: target.scheme.name().map(str::to_owned),
            path: target.path_text().into_owned(),
            modes: target.modes.clone(),
            steps: target.steps.iter().map(ToString::to_string).collect(),
            probes: looks.0.unwrap_or_default(),
            driver: None,
            dataset: None,
            problem: None,
        };
        let opened = choice.and_then(|choice| {
            answer.driver = Some((choice.driver.info().name.to_owned(), choice.why));
            request.map = choice.map;
            if let Some(source) = choice.source {
                request.backing = Backing::Source(source);
            }
            open_chosen(choice.driver, &request)
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
