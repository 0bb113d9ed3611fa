//! Synchronous requests to the kernel.

mod error;
mod transport;

pub use error::{Errno, NetlinkError};
pub use transport::Transport;

use candor_io::netlink::RouteSocket;

use crate::codec::{
    Attributes, DecodeError, MESSAGE_HEADER_BYTES, Message, MessageWriter, Messages, NLM_F_ACK_TLVS, NLM_F_CAPPED,
    NLM_F_DUMP_INTR, NLMSG_DONE, NLMSG_ERROR,
};

/// `NLMSGERR_ATTR_MSG`: text of an error.
const NLMSGERR_ATTR_MSG: u16 = 1;
/// Repetitions of a dump during which the list changes.
const DUMP_ATTEMPTS: usize = 16;

/// A connection to rtnetlink, in the network namespace in which it was opened.
#[derive(Debug)]
pub struct Client {
    socket: Box<dyn Transport>,
    sequence: u32,
    buffer: Vec<u8>,
}

impl Client {
    /// Opens a connection.
    ///
    /// # Errors
    /// [`NetlinkError::Socket`] if netlink is not available (a sandbox, a kernel without networking).
    pub fn open() -> Result<Self, NetlinkError> {
        let socket = RouteSocket::open().map_err(NetlinkError::Socket)?;
        Ok(Self::over(Box::new(socket)))
    }

    /// A connection over another transport, for tests and fault injection.
    #[must_use]
    pub const fn over(socket: Box<dyn Transport>) -> Self {
        Self { socket, sequence: 0, buffer: Vec::new() }
    }

    /// Sends a request with `NLM_F_ACK` and waits for the confirmation.
    ///
    /// # Errors
    /// [`NetlinkError::Refused`] with the kernel's errno and text, or a failure of the socket.
    pub fn request(&mut self, message: MessageWriter) -> Result<(), NetlinkError> {
        self.exchange(message, |_answer| Ok(())).map(|_interrupted| ())
    }

    /// Sends a dump request and collects the answers for which `decode` returns a value.
    ///
    /// Repeats a dump during which the list changed.
    ///
    /// # Errors
    /// [`NetlinkError::Refused`] with the kernel's errno and text, [`NetlinkError::Restless`] if every attempt was
    /// interrupted, a failure of the socket, or the error of `decode`.
    pub fn dump<T>(
        &mut self,
        message: &MessageWriter,
        mut decode: impl FnMut(&Message<'_>) -> Result<Option<T>, NetlinkError>,
    ) -> Result<Vec<T>, NetlinkError> {
        for _attempt in 0..DUMP_ATTEMPTS {
            let mut found = Vec::new();
            let interrupted = self.exchange(message.clone(), |answer| {
                found.extend(decode(answer)?);
                Ok(())
            })?;
            if !interrupted {
                return Ok(found);
            }
        }
        Err(NetlinkError::Restless)
    }

    /// Sends a message and passes every data message of the answer to `each`. Returns whether a change interrupted the
    /// answer.
    fn exchange(
        &mut self,
        message: MessageWriter,
        mut each: impl FnMut(&Message<'_>) -> Result<(), NetlinkError>,
    ) -> Result<bool, NetlinkError> {
        self.sequence = self.sequence.wrapping_add(1);
        self.socket.send(&message.finish(self.sequence)).map_err(NetlinkError::Socket)?;
        let mut interrupted = false;
        // After an error in a dump the rest is read, so that it does not stay in the socket.
        let mut outcome = Ok(());
        loop {
            self.socket.recv(&mut self.buffer).map_err(NetlinkError::Socket)?;
            for answer in Messages::new(&self.buffer) {
                let answer = answer?;
                if answer.sequence != self.sequence {
                    continue;
                }
                interrupted |= answer.flags & NLM_F_DUMP_INTR != 0;
                match answer.kind {
                    NLMSG_ERROR | NLMSG_DONE => return outcome.and_then(|()| end(&answer)).map(|()| interrupted),
                    _ if outcome.is_ok() => outcome = each(&answer),
                    _ => {}
                }
            }
        }
    }
}

/// The result in `NLMSG_ERROR` or `NLMSG_DONE`.
fn end(message: &Message<'_>) -> Result<(), NetlinkError> {
    let Some((code, rest)) = message.payload.split_first_chunk() else {
        // NLMSG_DONE of old kernels may be empty.
        return Ok(());
    };
    match i32::from_ne_bytes(*code) {
        0 => Ok(()),
        code => Err(NetlinkError::Refused {
            errno: Errno(code.unsigned_abs().try_into().unwrap_or(i32::MAX)),
            text: explanation(message, rest),
        }),
    }
}

/// The text of an extended acknowledgement, if any.
fn explanation(message: &Message<'_>, rest: &[u8]) -> Option<String> {
    if message.flags & NLM_F_ACK_TLVS == 0 {
        return None;
    }
    let echoed = match message.kind {
        NLMSG_DONE => 0,
        _ if message.flags & NLM_F_CAPPED != 0 => MESSAGE_HEADER_BYTES,
        _ => u32::from_ne_bytes(*rest.first_chunk()?) as usize,
    };
    Attributes::new(rest.get(echoed..)?)
        .filter_map(Result::ok)
        .find(|attribute| attribute.kind == NLMSGERR_ATTR_MSG)
        .map(|attribute| attribute.text())
        .filter(|text| !text.is_empty())
}

impl From<DecodeError> for NetlinkError {
    fn from(error: DecodeError) -> Self {
        Self::Decode(error)
    }
}

#[cfg(test)]
mod tests;
