//! Which errors are a matter of the moment.

use std::io;

use candor_io::errno::ENOBUFS;
use candor_netlink::cangw::CangwError;
use candor_netlink::client::{Errno, NetlinkError};

use super::GatewayError;

impl GatewayError {
    /// Whether it is a matter of the moment, so that what runs need not end: the kernel's lists change as fast as they are
    /// read, it is silent, or it has no memory; the run directory is full.
    pub(crate) fn may_pass(&self) -> bool {
        match self {
            Self::Links(error) => will_pass(error),
            Self::ListJobs(error) => cangw_will_pass(error),
            Self::Install { source, .. } => cangw_will_pass(source.error()),
            Self::RunDir(_) => true,
            _ => false,
        }
    }
}

fn cangw_will_pass(error: &CangwError) -> bool {
    match error {
        CangwError::OutOfMemory | CangwError::Restless => true,
        CangwError::Netlink(error) => will_pass(error),
        _ => false,
    }
}

fn will_pass(error: &NetlinkError) -> bool {
    match error {
        NetlinkError::Refused { errno, .. } => matches!(*errno, Errno::ENOBUFS | Errno::ENOMEM),
        NetlinkError::Restless => true,
        NetlinkError::Socket(error) => {
            matches!(error.kind(), io::ErrorKind::OutOfMemory | io::ErrorKind::WouldBlock)
                || error.raw_os_error() == Some(ENOBUFS)
        }
        _ => false,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_gateway_does_not_end_for_what_will_pass() {
        let refused = |errno| NetlinkError::Refused { errno, text: None };
        let socket = |kind: io::ErrorKind| NetlinkError::Socket(kind.into());
        for (error, passes) in [
            (GatewayError::ListJobs(CangwError::Restless), true),
            (GatewayError::ListJobs(CangwError::OutOfMemory), true),
            (GatewayError::ListJobs(CangwError::NotPermitted), false),
            (GatewayError::ListJobs(CangwError::Netlink(socket(io::ErrorKind::WouldBlock))), true),
            (GatewayError::Links(NetlinkError::Restless), true),
            (GatewayError::Links(refused(Errno::ENOBUFS)), true),
            (GatewayError::Links(refused(Errno::EPERM)), false),
            (GatewayError::Links(socket(io::ErrorKind::BrokenPipe)), false),
            (GatewayError::Disturbed, false),
        ] {
            assert_eq!(error.may_pass(), passes, "{error}");
        }
    }
}
