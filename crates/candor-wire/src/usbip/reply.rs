//! What a device answers.

use candor_io::errno;

use super::{HEADER_BYTES, Header, Seqnum};

/// How a transfer or an unlink request ended: 0 or a negative errno.
///
/// # Source
/// `Documentation/driver-api/usb/error-codes.rst`; `vhci_rx.c` passes them on to the driver as they are.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Status {
    /// `-EPROTO`: the device did not take it.
    NotTaken,
    /// 0.
    Ok,
    /// `-EOVERFLOW`: the message does not fit into the room that the host gave.
    Overflow,
    /// `-EPIPE`: stall, a request that the device does not know.
    Stall,
    /// `-ECONNRESET`: the transfer was still here and will have no other reply.
    Unlinked,
}

impl Status {
    /// The errno.
    #[must_use]
    pub const fn code(self) -> i32 {
        match self {
            Self::NotTaken => -errno::EPROTO,
            Self::Ok => 0,
            Self::Overflow => -errno::EOVERFLOW,
            Self::Stall => -errno::EPIPE,
            Self::Unlinked => -errno::ECONNRESET,
        }
    }
}

/// A reply's header in meaning. Data follow that of a transfer to the host, `actual_length` bytes of them.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Reply {
    /// A transfer is over.
    Submit {
        /// Its number.
        seqnum: Seqnum,
        /// 0 or a negative errno.
        status: i32,
        /// Bytes transferred.
        actual_length: usize,
    },
    /// An unlink request is answered.
    Unlink {
        /// Its number.
        seqnum: Seqnum,
        /// `-ECONNRESET` if the transfer was still here, 0 if it was not.
        status: i32,
    },
}

impl Reply {
    /// The meaning of a header; `None` if it is no reply.
    #[must_use]
    pub fn decode(header: &Header) -> Option<Self> {
        let (seqnum, status) = (header.seqnum(), header.status());
        match header.command() {
            Header::RET_SUBMIT => {
                Some(Self::Submit { seqnum, status, actual_length: usize::try_from(header.actual_length()).ok()? })
            }
            Header::RET_UNLINK => Some(Self::Unlink { seqnum, status }),
            _ => None,
        }
    }

    /// Appends the header.
    pub fn encode(&self, into: &mut Vec<u8>) {
        let header = match *self {
            Self::Submit { seqnum, status, actual_length } => {
                let mut header = Header::new(Header::RET_SUBMIT, seqnum);
                header.set_word(5, status.cast_unsigned());
                header.set_word(6, u32::try_from(actual_length).unwrap_or(0));
                header
            }
            Self::Unlink { seqnum, status } => {
                let mut header = Header::new(Header::RET_UNLINK, seqnum);
                header.set_word(5, status.cast_unsigned());
                header
            }
        };
        into.extend_from_slice(header.bytes());
    }
}

/// Answers a transfer without data: one to the device of which `actual_length` bytes were taken, or one that failed.
pub fn without_data(into: &mut Vec<u8>, seqnum: Seqnum, status: Status, actual_length: usize) {
    Reply::Submit { seqnum, status: status.code(), actual_length }.encode(into);
}

/// Answers a transfer to the host with what `fill` appends, or with the status it gives up with.
///
/// Appends in place and sets the length afterwards, so that no message is built twice.
pub fn with_data(into: &mut Vec<u8>, seqnum: Seqnum, fill: impl FnOnce(&mut Vec<u8>) -> Result<(), Status>) {
    let start = into.len();
    without_data(into, seqnum, Status::Ok, 0);
    let body = start + HEADER_BYTES;
    if let Err(status) = fill(into) {
        into.truncate(start);
        without_data(into, seqnum, status, 0);
        return;
    }
    let length = u32::try_from(into.len() - body).unwrap_or(0);
    into[start + 24..start + 28].copy_from_slice(&length.to_be_bytes()); // actual_length, word 6
}

/// Answers an unlink request.
pub fn unlinked(into: &mut Vec<u8>, seqnum: Seqnum, status: Status) {
    Reply::Unlink { seqnum, status: status.code() }.encode(into);
}
