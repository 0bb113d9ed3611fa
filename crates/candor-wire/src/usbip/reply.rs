//! Replies of a device.

use candor_io::errno;

use super::{HEADER_BYTES, Header, Seqnum};

/// Status of a transfer or an unlink request: 0 or a negative errno.
///
/// # Source
/// [`Documentation/driver-api/usb/error-codes.rst`](https://github.com/gregkh/linux/blob/v6.1.192/Documentation/driver-api/usb/error-codes.rst) of Linux 6.1;
/// [`vhci_recv_ret_submit()`](https://github.com/gregkh/linux/blob/v6.1.192/drivers/usb/usbip/vhci_rx.c#L55) passes them to the driver unchanged.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Status {
    /// `-EPROTO`: the device did not accept the data.
    NotTaken,
    Ok,
    /// `-EOVERFLOW`: the message does not fit into the room that the host gave.
    Overflow,
    /// `-EPIPE`: stall, an unknown request.
    Stall,
    /// `-ECONNRESET`: the transfer was still pending and gets no other reply.
    Unlinked,
}

impl Status {
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

/// A decoded reply header. `actual_length` bytes of data follow that of a transfer to the host.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Reply {
    Submit { seqnum: Seqnum, status: i32, actual_length: usize },
    Unlink { seqnum: Seqnum, status: i32 },
}

impl Reply {
    /// Decodes a header; `None` if it is not a reply.
    pub fn decode(header: &Header) -> Option<Self> {
        let (seqnum, status) = (header.seqnum(), header.word(Header::STATUS).cast_signed());
        match header.word(Header::COMMAND) {
            Header::RET_SUBMIT => {
                let actual_length = usize::try_from(header.word(Header::LENGTH).cast_signed()).ok()?;
                Some(Self::Submit { seqnum, status, actual_length })
            }
            Header::RET_UNLINK => Some(Self::Unlink { seqnum, status }),
            _ => None,
        }
    }

    pub fn encode(&self, into: &mut Vec<u8>) {
        let (command, seqnum, status, length) = match *self {
            Self::Submit { seqnum, status, actual_length } => (Header::RET_SUBMIT, seqnum, status, actual_length),
            Self::Unlink { seqnum, status } => (Header::RET_UNLINK, seqnum, status, 0),
        };
        let mut header = Header::new(command, seqnum);
        header.set(Header::STATUS, status.cast_unsigned());
        header.set(Header::LENGTH, u32::try_from(length).unwrap_or(0));
        into.extend(header.0);
    }
}

/// Answers a transfer without data: one to the device of which `actual_length` bytes were accepted, or one that failed.
pub fn without_data(into: &mut Vec<u8>, seqnum: Seqnum, status: Status, actual_length: usize) {
    Reply::Submit { seqnum, status: status.code(), actual_length }.encode(into);
}

/// Answers a transfer to the host with the data that `fill` appends, or with the status that it returns.
///
/// Appends in place and sets the length afterwards, so that no message is copied.
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

pub fn unlinked(into: &mut Vec<u8>, seqnum: Seqnum, status: Status) {
    Reply::Unlink { seqnum, status: status.code() }.encode(into);
}
