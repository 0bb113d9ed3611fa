//! Commands out of a stream that cuts them anywhere.

use super::{Command, HEADER_BYTES, Header, ProtocolError};

/// The most data that one submission may carry. Drivers of adapters send below 100 bytes; a peer that claims more
/// makes us allocate nothing.
pub const MAX_OUT_BYTES: usize = 4096;

/// Collects the bytes of one packet at a time.
#[derive(Clone, Debug, Default)]
pub struct Reader {
    packet: Vec<u8>,
    is_whole: bool,
}

impl Reader {
    /// Takes bytes off the front of `bytes` until a packet is whole. `None`: all bytes are taken, and more are needed.
    ///
    /// # Errors
    /// [`ProtocolError`] as soon as a header is wrong. There is no way to find the next one: the stream is over.
    pub fn read(&mut self, bytes: &mut &[u8]) -> Result<Option<Command<'_>>, ProtocolError> {
        if self.is_whole {
            self.packet.clear();
            self.is_whole = false;
        }
        self.take(bytes, HEADER_BYTES);
        let Some(header) = Header::first_of(&self.packet) else { return Ok(None) };
        let length = Command::data_bytes(&header)?;
        if length > MAX_OUT_BYTES {
            return Err(ProtocolError::TooLong { length, max: MAX_OUT_BYTES });
        }
        self.take(bytes, HEADER_BYTES + length);
        self.is_whole = self.packet.len() == HEADER_BYTES + length;
        if !self.is_whole {
            return Ok(None);
        }
        Command::decode(&header, &self.packet[HEADER_BYTES..]).map(Some)
    }

    /// Moves bytes over until the packet has `wanted` of them.
    fn take(&mut self, bytes: &mut &[u8], wanted: usize) {
        let missing = wanted.saturating_sub(self.packet.len()).min(bytes.len());
        let (taken, rest) = bytes.split_at(missing);
        self.packet.extend_from_slice(taken);
        *bytes = rest;
    }
}
