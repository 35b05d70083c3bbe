//! [`ProbeLog`]: the probes made while a path is resolved.

use super::ProbeStep;

/// The probes made while resolving a path, if a caller records them ([`Registry::explain`]).
pub(super) struct ProbeLog(pub(super) Option<Vec<ProbeStep>>);

impl ProbeLog {
    /// Records nothing.
    pub(super) fn disabled() -> Self {
        Self(None)
    }

    /// Records each probe.
    pub(super) fn enabled() -> Self {
        Self(Some(Vec::new()))
    }

    pub(super) fn is_enabled(&self) -> bool {
        self.0.is_some()
    }

    pub(super) fn add(&mut self, look: impl FnOnce() -> ProbeStep) {
        if let Some(looks) = &mut self.0 {
            looks.push(look());
        }
    }

    /// Returns the reason if it is recorded, else an empty string.
    pub(super) fn why(&self, why: impl FnOnce() -> String) -> String {
        if self.is_enabled() { why() } else { String::new() }
    }
}
