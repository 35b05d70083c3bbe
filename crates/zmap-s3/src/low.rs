//! What of a socket only the system can be asked: how much has come, and to wake nobody before enough has.
//!
//! Where that cannot be asked, nothing is waited for here, and bodies are read as they come.

use tokio::net::TcpStream;

#[cfg(target_os = "linux")]
mod imp {
    use nix::sys::socket::setsockopt;

    /// `SO_RCVLOWAT`, which socket(7) has.
    #[derive(Clone)]
    struct Low;
    nix::setsockopt_impl!(Low, libc::SOL_SOCKET, libc::SO_RCVLOWAT, i32, nix::sys::socket::sockopt::SetStruct<'_, i32>);

    pub(super) fn wake_at(stream: &super::TcpStream, bytes: usize) -> bool {
        setsockopt(stream, Low, &i32::try_from(bytes).unwrap_or(i32::MAX)).is_ok()
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

/// Nobody who waits for the socket is woken before so many bytes are there, or as many as the system keeps; it makes room
/// for them. `false`: it cannot be asked for that.
pub(crate) fn wake_at(stream: &TcpStream, bytes: usize) -> bool {
    imp::wake_at(stream, bytes)
}

/// How many bytes came and were not read, if that can be asked.
pub(crate) fn there(stream: &TcpStream) -> Option<usize> {
    imp::there(stream)
}
