//! [`FilteredResolver`]: the system's resolver without forbidden addresses.

use std::net::{IpAddr, Ipv6Addr, SocketAddr};
use std::pin::Pin;
use std::task::{Context, Poll};

use hyper_util::client::legacy::connect::dns::{GaiResolver, Name};
use nczarr_model::Result;
use tower_service::Service;

/// Whether an address is link-local.
pub(crate) fn is_link_local(address: IpAddr) -> bool {
    match address {
        IpAddr::V4(four) => four.is_link_local(),
        IpAddr::V6(six) => {
            let hidden = six.to_ipv4_mapped().or_else(|| six.to_ipv4());
            six.is_unicast_link_local()
                || hidden.is_some_and(|four| four.is_link_local())
                // The same service of one cloud.
                || six == Ipv6Addr::new(0xfd00, 0xec2, 0, 0, 0, 0, 0, 0x254)
        }
    }
}

/// Resolves names through the system, and drops forbidden addresses.
#[derive(Clone)]
pub(crate) struct FilteredResolver {
    inner: GaiResolver,
    link_local: bool,
}

impl FilteredResolver {
    /// `link_local`: whether link-local addresses are allowed.
    pub(crate) fn new(link_local: bool) -> Self {
        Self { inner: GaiResolver::new(), link_local }
    }
}

impl Service<Name> for FilteredResolver {
    type Response = std::vec::IntoIter<SocketAddr>;
    type Error = std::io::Error;
    type Future = Pin<Box<dyn Future<Output = Result<Self::Response, Self::Error>> + Send>>;

    fn poll_ready(&mut self, context: &mut Context<'_>) -> Poll<Result<(), Self::Error>> {
        self.inner.poll_ready(context)
    }

    fn call(&mut self, name: Name) -> Self::Future {
        let (found, link_local) = (self.inner.call(name), self.link_local);
        Box::pin(async move {
            let mut addresses: Vec<SocketAddr> = found.await?.collect();
            addresses.retain(|address| link_local || !is_link_local(address.ip()));
            if addresses.is_empty() {
                Err(std::io::Error::other("the host name has no allowed address"))
            } else {
                Ok(addresses.into_iter())
            }
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn addresses_beside() {
        for (address, link_local) in [
            ("169.254.169.254", true),
            ("169.254.0.1", true),
            ("fe80::1", true),
            ("::ffff:169.254.169.254", true),
            ("::169.254.169.254", true),
            ("fd00:ec2::254", true),
            ("127.0.0.1", false),
            ("10.0.0.1", false),
            ("::1", false),
            ("2001:db8::1", false),
        ] {
            assert_eq!(is_link_local(address.parse().unwrap()), link_local, "{address}");
        }
    }
}
