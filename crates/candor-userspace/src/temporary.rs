//! Netlink errors whose cause passes by itself.

use std::io;

use candor_io::errno::ENOBUFS;
use candor_netlink::cangw::CangwError;
use candor_netlink::client::{Errno, NetlinkError};

pub fn cangw(error: &CangwError) -> bool {
    match error {
        CangwError::OutOfMemory | CangwError::Restless => true,
        CangwError::Netlink(error) => netlink(error),
        _ => false,
    }
}

pub fn netlink(error: &NetlinkError) -> bool {
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
