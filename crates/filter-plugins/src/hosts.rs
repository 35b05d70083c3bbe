//! The hosts of one plugin. Each serves one thread at a time, and waits for the next request in between.

use std::io::Read;
use std::path::{Path, PathBuf};
use std::sync::{Mutex, PoisonError};

use nczarr_codec::OutBuf;
use nczarr_model::{Error, ErrorKind, Result};

use crate::message::Operation;
use crate::process::{Failure, HostProcess};

/// The longest text that a plugin may return: a description of itself, or of its codec.
const LONGEST_TEXT: usize = 1 << 20;

/// Starts hosts of one plugin when they are needed, and keeps them for later requests.
#[derive(Debug)]
pub(crate) struct PluginHosts {
    host: PathBuf,
    plugin: PathBuf,
    idle: Mutex<Vec<HostProcess>>,
}

impl PluginHosts {
    pub(crate) fn new(host: &Path, plugin: &Path) -> Self {
        Self { host: host.to_owned(), plugin: plugin.to_owned(), idle: Mutex::default() }
    }

    /// Sends a request. The result becomes the content of `dst`, whose capacity is a limit.
    pub(crate) fn ask(
        &self,
        operation: Operation,
        params: &[u32],
        data: &[u8],
        dst: &mut OutBuf<'_>,
    ) -> Result<()> {
        let at = |error: Error| error.at(format_args!("plugin {}", self.plugin.display()));
        let mut process = match self.take_idle() {
            Some(process) => process,
            None => HostProcess::start(&self.host, &self.plugin).map_err(at)?,
        };
        let result = process.ask(operation, params, data, |socket, len| {
            let limit = dst.remaining();
            let len = usize::try_from(len).ok().filter(|&len| len <= limit).ok_or_else(|| {
                ErrorKind::Filter
                    .context(format!("the result is too long (expected at most {limit} bytes, found {len})"))
            })?;
            let failed = |error| ErrorKind::Filter.context("the result ended early").caused_by(error);
            socket.read_exact(dst.put_zeros(len)?).map_err(failed)
        });
        match result {
            Ok(()) => self.keep(process),
            Err(Failure::Plugin(error)) => {
                self.keep(process);
                return Err(at(error));
            }
            Err(Failure::Host(error)) => return Err(at(error)),
        }
        Ok(())
    }

    /// As [`PluginHosts::ask`], for a short result.
    pub(crate) fn ask_text(&self, operation: Operation, params: &[u32], data: &[u8]) -> Result<Vec<u8>> {
        let mut memory = vec![0; LONGEST_TEXT];
        let mut result = OutBuf::from_slice(&mut memory);
        self.ask(operation, params, data, &mut result)?;
        Ok(result.filled().to_vec())
    }

    /// Takes a waiting host. Those of a process that this one was forked from are not used.
    fn take_idle(&self) -> Option<HostProcess> {
        let mut idle = self.idle.lock().unwrap_or_else(PoisonError::into_inner);
        while let Some(process) = idle.pop() {
            if process.is_own() {
                return Some(process);
            }
        }
        None
    }

    fn keep(&self, process: HostProcess) {
        self.idle.lock().unwrap_or_else(PoisonError::into_inner).push(process);
    }
}
