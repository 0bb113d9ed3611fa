//! What the host asks.

use super::{Header, ProtocolError, Seqnum};

/// A packet of the host, with its data.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Command<'a> {
    /// A transfer.
    Submit(Submit<'a>),
    /// A transfer is no longer wanted.
    Unlink {
        /// Number of this request.
        seqnum: Seqnum,
        /// Number of the transfer.
        victim: Seqnum,
    },
}

/// A transfer that the host wants.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Submit<'a> {
    /// Its number; the reply carries the same.
    pub seqnum: Seqnum,
    /// Number of the endpoint, without its direction bit.
    pub endpoint: u32,
    /// Setup packet of a control transfer, otherwise zeros.
    pub setup: [u8; 8],
    /// Which way, and how much.
    pub transfer: Transfer<'a>,
}

/// Which way data go, as the host sees it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Transfer<'a> {
    /// To the host, which has room for so many bytes.
    In {
        /// Room in bytes: whatever the host claims, below 2 GiB.
        room: usize,
    },
    /// To the device.
    Out {
        /// The data.
        data: &'a [u8],
    },
}

impl<'a> Command<'a> {
    /// How many bytes follow a header.
    ///
    /// # Errors
    /// [`ProtocolError`] if no packet of a host begins like this; anything but the bound on the length.
    pub fn data_bytes(header: &Header) -> Result<usize, ProtocolError> {
        match header.command() {
            Header::CMD_UNLINK => return Ok(0),
            Header::CMD_SUBMIT => {}
            command => return Err(ProtocolError::UnknownCommand { command }),
        }
        // Transfers that are not isochronous carry 0 here, and in newer kernels' words -1.
        if !(-1..=0).contains(&header.packets()) {
            return Err(ProtocolError::Isochronous { packets: header.packets() });
        }
        let length = header.length();
        let length = usize::try_from(length).map_err(|_negative| ProtocolError::NegativeLength { length })?;
        match header.direction() {
            Header::DIRECTION_IN => Ok(0),
            Header::DIRECTION_OUT => Ok(length),
            direction => Err(ProtocolError::UnknownDirection { direction }),
        }
    }

    /// The meaning of a header and of the data behind it, as many as [`data_bytes`](Self::data_bytes) said.
    ///
    /// # Errors
    /// As there.
    pub fn decode(header: &Header, data: &'a [u8]) -> Result<Self, ProtocolError> {
        Self::data_bytes(header)?;
        let seqnum = header.seqnum();
        if header.command() == Header::CMD_UNLINK {
            return Ok(Self::Unlink { seqnum, victim: header.victim() });
        }
        let transfer = if header.direction() == Header::DIRECTION_IN {
            Transfer::In { room: usize::try_from(header.length()).unwrap_or(0) }
        } else {
            Transfer::Out { data }
        };
        Ok(Self::Submit(Submit { seqnum, endpoint: header.endpoint(), setup: header.setup(), transfer }))
    }

    /// Appends the packet as a host would send it: for tests, and for whoever wants to drive a device.
    pub fn encode(&self, into: &mut Vec<u8>) {
        match *self {
            Self::Submit(Submit { seqnum, endpoint, setup, transfer }) => {
                let (direction, length, data) = match transfer {
                    Transfer::In { room } => (Header::DIRECTION_IN, room, &[][..]),
                    Transfer::Out { data } => (Header::DIRECTION_OUT, data.len(), data),
                };
                let mut header = Header::new(Header::CMD_SUBMIT, seqnum);
                header.set_word(3, direction);
                header.set_word(4, endpoint);
                header.set_word(6, u32::try_from(length).unwrap_or(u32::MAX));
                header.set_setup(setup);
                into.extend_from_slice(header.bytes());
                into.extend_from_slice(data);
            }
            Self::Unlink { seqnum, victim } => {
                let mut header = Header::new(Header::CMD_UNLINK, seqnum);
                header.set_word(5, victim.0);
                into.extend_from_slice(header.bytes());
            }
        }
    }
}
