//! Commands of the host, read from a stream that splits them anywhere.

use super::{HEADER_BYTES, Header, Seqnum};

/// The most data of one submission. Drivers of adapters send less than 100 bytes; a peer that claims more cannot make us
/// allocate memory.
pub const MAX_OUT_BYTES: usize = 4096;

/// A packet of the host, with its data.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Command<'a> {
    /// Requests a transfer.
    Submit(Submit<'a>),
    /// Cancels the transfer `victim`.
    Unlink { seqnum: Seqnum, victim: Seqnum },
}

/// A transfer that the host requests.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Submit<'a> {
    /// The reply carries the same number.
    pub seqnum: Seqnum,
    /// Without the direction bit.
    pub endpoint: u32,
    /// Setup packet of a control transfer, otherwise zeros.
    pub setup: [u8; 8],
    pub transfer: Transfer<'a>,
}

/// Direction and size of a transfer, as seen by the host.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Transfer<'a> {
    /// To the host. `room` is any number of bytes below 2 GiB.
    In { room: usize },
    /// A transfer to the device, with its data.
    Out { data: &'a [u8] },
}

/// Bytes that a kernel would not send to an adapter.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum ProtocolError {
    #[error("USB/IP submits {packets} isochronous packets, which the device does not support")]
    Isochronous { packets: i32 },
    #[error("USB/IP submits a transfer of {length} bytes")]
    NegativeLength { length: i32 },
    #[error("USB/IP submits {length} bytes at once; the maximum is {max}")]
    TooLong { length: usize, max: usize },
    #[error("USB/IP command {command:#010x} is unknown")]
    UnknownCommand { command: u32 },
    #[error("USB/IP direction {direction} is neither out (0) nor in (1)")]
    UnknownDirection { direction: u32 },
}

impl<'a> Command<'a> {
    /// The number of data bytes that follow a header. Does not check [`MAX_OUT_BYTES`].
    fn data_bytes(header: &Header) -> Result<usize, ProtocolError> {
        match header.word(Header::COMMAND) {
            Header::CMD_UNLINK => return Ok(0),
            Header::CMD_SUBMIT => {}
            command => return Err(ProtocolError::UnknownCommand { command }),
        }
        // Transfers that are not isochronous carry 0 here; newer kernels document -1.
        let packets = header.word(Header::PACKETS).cast_signed();
        if !(-1..=0).contains(&packets) {
            return Err(ProtocolError::Isochronous { packets });
        }
        let length = header.word(Header::LENGTH).cast_signed();
        let length = usize::try_from(length).map_err(|_negative| ProtocolError::NegativeLength { length })?;
        match header.word(Header::DIRECTION) {
            Header::DIRECTION_IN => Ok(0),
            Header::DIRECTION_OUT => Ok(length),
            direction => Err(ProtocolError::UnknownDirection { direction }),
        }
    }

    /// Decodes a header that [`data_bytes`](Self::data_bytes) accepts, with that many bytes of data.
    fn decode(header: &Header, data: &'a [u8]) -> Self {
        let seqnum = header.seqnum();
        if header.word(Header::COMMAND) == Header::CMD_UNLINK {
            return Self::Unlink { seqnum, victim: Seqnum(header.word(Header::VICTIM)) };
        }
        let transfer = if header.word(Header::DIRECTION) == Header::DIRECTION_IN {
            Transfer::In { room: header.word(Header::LENGTH) as usize }
        } else {
            Transfer::Out { data }
        };
        let [.., s0, s1, s2, s3, s4, s5, s6, s7] = header.0;
        let setup = [s0, s1, s2, s3, s4, s5, s6, s7];
        Self::Submit(Submit { seqnum, endpoint: header.word(Header::ENDPOINT), setup, transfer })
    }

    /// Appends the packet as a host sends it.
    pub fn encode(&self, into: &mut Vec<u8>) {
        match *self {
            Self::Submit(Submit { seqnum, endpoint, setup, transfer }) => {
                let (direction, length, data) = match transfer {
                    Transfer::In { room } => (Header::DIRECTION_IN, room, &[][..]),
                    Transfer::Out { data } => (Header::DIRECTION_OUT, data.len(), data),
                };
                let mut header = Header::new(Header::CMD_SUBMIT, seqnum);
                header.set(Header::DIRECTION, direction);
                header.set(Header::ENDPOINT, endpoint);
                header.set(Header::LENGTH, u32::try_from(length).unwrap_or(u32::MAX));
                header.0[HEADER_BYTES - setup.len()..].copy_from_slice(&setup);
                into.extend(header.0);
                into.extend(data);
            }
            Self::Unlink { seqnum, victim } => {
                let mut header = Header::new(Header::CMD_UNLINK, seqnum);
                header.set(Header::VICTIM, victim.0);
                into.extend(header.0);
            }
        }
    }
}

/// Collects the bytes of one packet at a time.
#[derive(Clone, Debug, Default)]
pub struct Reader {
    packet: Vec<u8>,
    is_complete: bool,
}

impl Reader {
    /// Consumes `bytes` until a packet is complete. `None`: all bytes are consumed, and more are needed.
    ///
    /// # Errors
    /// [`ProtocolError`] as soon as a header is invalid. The stream cannot be resynchronised.
    pub fn read(&mut self, bytes: &mut &[u8]) -> Result<Option<Command<'_>>, ProtocolError> {
        if std::mem::take(&mut self.is_complete) {
            self.packet.clear();
        }
        self.take(bytes, HEADER_BYTES);
        let Some(header) = Header::first_of(&self.packet) else { return Ok(None) };
        let length = Command::data_bytes(&header)?;
        if length > MAX_OUT_BYTES {
            return Err(ProtocolError::TooLong { length, max: MAX_OUT_BYTES });
        }
        self.take(bytes, HEADER_BYTES + length);
        self.is_complete = self.packet.len() == HEADER_BYTES + length;
        Ok(self.is_complete.then(|| Command::decode(&header, &self.packet[HEADER_BYTES..])))
    }

    /// Moves bytes until the packet has `wanted` of them.
    fn take(&mut self, bytes: &mut &[u8], wanted: usize) {
        let missing = wanted.saturating_sub(self.packet.len()).min(bytes.len());
        let (taken, rest) = bytes.split_at(missing);
        self.packet.extend_from_slice(taken);
        *bytes = rest;
    }
}
