//! Asks the system about a socket: the number of bytes received, and waking only when enough are there.
//!
//! Where the system cannot do this, bodies are read as they arrive.

use tokio::net::TcpStream;

#[cfg(target_os = "linux")]
mod imp {
    use nix::sys::socket::setsockopt;

    /// `SO_RCVLOWAT`, see socket(7).
    #[derive(Clone)]
    struct ReceiveLowWatermark;
    nix::setsockopt_impl!(
        ReceiveLowWatermark,
        libc::SOL_SOCKET,
        libc::SO_RCVLOWAT,
        i32,
        nix::sys::socket::sockopt::SetStruct<'_, i32>
    );

    pub(super) fn wake_at(stream: &super::TcpStream, bytes: usize) -> bool {
        setsockopt(stream, ReceiveLowWatermark, &i32::try_from(bytes).unwrap_or(i32::MAX)).is_ok()
    }

    pub(super) fn there(stream: &super::TcpStream) -> Option<usize> {
        rustix::io::ioctl_fionread(stream).ok()?.try_into().ok()
    }
}

#[cfg(not(target_os = "linux"))]
mod imp {
    pub(super) fn wake_at(_: &super::TcpStream, _: usize) -> bool {
        false
    }

    pub(super) fn there(_: &super::TcpStream) -> Option<usize> {
        None
    }
}

/// Wakes waiting threads only when this many bytes are there, or the socket is full. The system enlarges its
/// buffer. Returns `false` if it is unsupported.
pub(crate) fn wake_at(stream: &TcpStream, bytes: usize) -> bool {
    imp::wake_at(stream, bytes)
}

/// Returns the number of bytes received and not read, if the system supports it.
pub(crate) fn there(stream: &TcpStream) -> Option<usize> {
    imp::there(stream)
}
