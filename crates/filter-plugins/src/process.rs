//! One process that hosts a plugin: start, ask, end.

use std::env;
use std::io::{self, Read};
use std::os::fd::OwnedFd;
use std::os::unix::net::UnixStream;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::time::Duration;

use nczarr_model::{Error, ErrorKind, Result};
use nczarr_runtime::StopSignal;

use crate::message::{self, LONGEST_MESSAGE, Operation};

/// The variable with the path of the host program.
const HOST: &str = "NCZARR_PLUGIN_HOST";
const PROGRAM: &str = "nczarr-plugin-host";
/// A stopped call ends at most this much later.
const STEP: Duration = Duration::from_millis(50);

/// Returns the host program: that of `NCZARR_PLUGIN_HOST`, else the one beside this program, else the first
/// in `PATH`.
///
/// # Errors
/// `NC_EPLUGIN` if there is none.
pub(crate) fn host_program() -> Result<PathBuf> {
    if let Some(path) = env::var_os(HOST) {
        return Ok(PathBuf::from(path));
    }
    let own = env::current_exe().ok().and_then(|program| Some(program.parent()?.to_path_buf()));
    let path = env::var_os("PATH").unwrap_or_default();
    let mut places = own.into_iter().chain(env::split_paths(&path)).map(|folder| folder.join(PROGRAM));
    places.find(|program| program.is_file()).ok_or_else(|| {
        ErrorKind::Plugin
            .context(format!("{PROGRAM} is neither beside this program nor in PATH; {HOST} can name it"))
    })
}

/// A running host. It ends when this is dropped.
///
/// Both directions are one socket. A pipe would raise SIGPIPE in the caller when the host has ended.
#[derive(Debug)]
pub(crate) struct HostProcess {
    child: Child,
    socket: UnixStream,
    /// The process that started it. A fork of that process must leave the host alone.
    owner: u32,
}

/// The reason for a request without a result.
pub(crate) enum Failure {
    /// The plugin refused. The host goes on.
    Plugin(Error),
    /// The host can be used no longer.
    Host(Error),
}

impl HostProcess {
    /// Starts a host for a plugin. The plugin's output goes to the standard error of this process.
    pub(crate) fn start(host: &Path, plugin: &Path) -> Result<Self> {
        let failed = |error: io::Error| {
            ErrorKind::Plugin
                .context(format!("{}: the program did not start", host.display()))
                .caused_by(error)
        };
        let (socket, other) = UnixStream::pair().map_err(failed)?;
        let output = rustix::io::dup(rustix::stdio::stderr()).map_or_else(|_| Stdio::null(), Stdio::from);
        let mut command = Command::new(host);
        let child = command.arg(plugin).stdin(OwnedFd::from(other)).stdout(output).spawn().map_err(failed)?;
        Ok(Self { child, socket, owner: std::process::id() })
    }

    /// Whether this process started the host.
    pub(crate) fn is_own(&self) -> bool {
        self.owner == std::process::id()
    }

    /// Sends a request. `take` reads the result, whose number of bytes it gets.
    pub(crate) fn ask(
        &mut self,
        operation: Operation,
        params: &[u32],
        data: &[u8],
        take: impl FnOnce(&mut UnixStream, u64) -> Result<()>,
    ) -> Result<(), Failure> {
        let sent = message::send(&mut self.socket, operation, params, data);
        sent.map_err(|error| self.ended(error))?;
        let status = self.wait()?;
        let reply = message::receive_reply(&mut status.as_slice().chain(&mut self.socket));
        let (is_result, len) = reply.map_err(|error| self.ended(error))?;
        if is_result {
            return take(&mut self.socket, len).map_err(Failure::Host);
        }
        let mut text = vec![0; usize::try_from(len).map_or(LONGEST_MESSAGE, |len| len.min(LONGEST_MESSAGE))];
        self.socket.read_exact(&mut text).map_err(|error| self.ended(error))?;
        Err(Failure::Plugin(ErrorKind::Filter.context(String::from_utf8_lossy(&text))))
    }

    /// Waits for the first byte of a reply and returns it, unless the call is stopped meanwhile.
    fn wait(&mut self) -> Result<[u8; 1], Failure> {
        let mut status = [0];
        let Some(signal) = StopSignal::current() else {
            self.socket.read_exact(&mut status).map_err(|error| self.ended(error))?;
            return Ok(status);
        };
        self.socket.set_read_timeout(Some(STEP)).map_err(|error| self.ended(error))?;
        while let Err(error) = self.socket.read_exact(&mut status) {
            if !matches!(error.kind(), io::ErrorKind::WouldBlock | io::ErrorKind::TimedOut) {
                return Err(self.ended(error));
            }
            if signal.is_stopped() {
                return Err(Failure::Host(StopSignal::error()));
            }
        }
        self.socket.set_read_timeout(None).map_err(|error| self.ended(error))?;
        Ok(status)
    }

    /// Returns the error of a host that ended, or whose answer cannot be read.
    fn ended(&mut self, error: io::Error) -> Failure {
        // A host that still runs gets a signal; its status then says so.
        let _ = self.child.kill();
        let status =
            self.child.wait().map_or_else(|_| "unknown status".to_owned(), |status| status.to_string());
        Failure::Host(
            ErrorKind::Plugin.context(format!("the plugin's process ended ({status})")).caused_by(error),
        )
    }
}

impl Drop for HostProcess {
    fn drop(&mut self) {
        if self.is_own() {
            let _ = self.child.kill();
            let _ = self.child.wait();
        }
    }
}
