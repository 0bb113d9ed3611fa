//! Detection of adapter timestamps.

use std::io;
use std::os::fd::AsRawFd as _;

use crate::socket;

/// `ETHTOOL_GET_TS_INFO` of `linux/ethtool.h`.
const ETHTOOL_GET_TS_INFO: u32 = 0x41;

/// `struct ethtool_ts_info`.
#[repr(C)]
#[derive(Clone, Copy, Debug)]
struct StampInfo {
    cmd: u32,
    so_timestamping: u32,
    phc_index: i32,
    tx_types: u32,
    tx_reserved: [u32; 3],
    rx_filters: u32,
    rx_reserved: [u32; 3],
}

const _: () = assert!(size_of::<StampInfo>() == 44);

/// `struct ifreq` with a pointer to the answer.
#[repr(C)]
struct Request {
    name: [u8; libc::IFNAMSIZ],
    data: *mut StampInfo,
    rest: [u8; REST_BYTES],
}

const REST_BYTES: usize = size_of::<libc::ifreq>() - libc::IFNAMSIZ - size_of::<*mut StampInfo>();
const _: () = assert!(size_of::<Request>() == size_of::<libc::ifreq>());
const _: () = assert!(align_of::<Request>() == align_of::<libc::ifreq>());

/// True if received frames carry adapter timestamps (`ETHTOOL_GET_TS_INFO`), as
/// [`AdapterReceiver`](super::AdapterReceiver) reports. Virtual interfaces and many adapters have none.
///
/// # Kernel
/// Since 3.5; needs no capability. gs_usb stamps since 6.1, with adapters that can.
///
/// # Errors
/// `ENODEV` if there is no such interface, `InvalidInput` for a name that no interface can have.
pub fn stamps_receptions(interface: &str) -> io::Result<bool> {
    let mut name = [0; libc::IFNAMSIZ];
    // The last byte ends the name.
    let place = name[..libc::IFNAMSIZ - 1].get_mut(..interface.len()).ok_or(io::ErrorKind::InvalidInput)?;
    place.copy_from_slice(interface.as_bytes());
    let mut info = StampInfo {
        cmd: ETHTOOL_GET_TS_INFO,
        so_timestamping: 0,
        phc_index: 0,
        tx_types: 0,
        tx_reserved: [0; 3],
        rx_filters: 0,
        rx_reserved: [0; 3],
    };
    let mut request = Request { name, data: &raw mut info, rest: [0; REST_BYTES] };
    // Any socket will do.
    let fd = socket::open(libc::AF_UNIX, libc::SOCK_DGRAM, 0)?;
    // SAFETY: `request` has the size and the beginning of a struct ifreq and is live; its pointer is to a live struct
    // ethtool_ts_info, as the command in it says, to which nothing else refers during the call and for which any bytes are
    // valid. The descriptor is open. The type of the request differs between C libraries.
    let answer = unsafe { libc::ioctl(fd.as_raw_fd(), libc::SIOCETHTOOL as _, &raw mut request) };
    match socket::check(answer) {
        Ok(_zero) => Ok(is_with_hardware(info.so_timestamping)),
        // The driver does not implement the request.
        Err(error) if error.raw_os_error() == Some(libc::EOPNOTSUPP) => Ok(false),
        Err(error) => Err(error),
    }
}

const fn is_with_hardware(so_timestamping: u32) -> bool {
    let both = libc::SOF_TIMESTAMPING_RX_HARDWARE | libc::SOF_TIMESTAMPING_RAW_HARDWARE;
    so_timestamping & both == both
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    #[cfg_attr(miri, ignore = "Miri opens no sockets")]
    fn what_has_no_adapter_stamps_nothing() {
        assert!(!stamps_receptions("lo").unwrap());
        assert_eq!(stamps_receptions("no-such-name").unwrap_err().raw_os_error(), Some(libc::ENODEV));
        for impossible in ["a-name-of-16-byte", "sixteen-bytes-16"] {
            assert_eq!(stamps_receptions(impossible).unwrap_err().kind(), io::ErrorKind::InvalidInput);
        }
    }

    #[test]
    fn stamps_have_to_be_taken_and_given() {
        assert!(!is_with_hardware(libc::SOF_TIMESTAMPING_RX_SOFTWARE | libc::SOF_TIMESTAMPING_SOFTWARE));
        assert!(!is_with_hardware(libc::SOF_TIMESTAMPING_RX_HARDWARE));
        assert!(is_with_hardware(0x5f));
    }
}
