//! Messages of socketcand: `< send 123 2 11 22 >`, `< frame 123 23.424242 1122 >`.
//!
//! A message starts with `<` and ends with `>`. White space between messages is skipped; anything else there, and a
//! message that is too long or has another character than printable ASCII, is an error and the end of the connection. A
//! message that is complete and wrong is an item, because a server answers it and goes on.
//!
//! Carries classic data frames, and from the server to the client the class of error messages.
//!
//! # Source
//! [`doc/protocol.md`](https://github.com/linux-can/socketcand/blob/6dd5d33/doc/protocol.md) and
//! [`src/state_raw.c`](https://github.com/linux-can/socketcand/blob/6dd5d33/src/state_raw.c) of socketcand.

mod words;
mod write;

pub use write::{write_echo, write_error, write_frame, write_hi, write_ok, write_open, write_rawmode, write_send};

use candor_core::frame::Frame;

use crate::stream::{Grammar, Step, fault};
use crate::{DecodeError, Fault, Stamp};

/// Longest message in bytes, with its brackets. Longer ones of the protocol are ISO-TP messages.
pub const MAX_MESSAGE_BYTES: usize = 256;
/// Longest name of a bus in bytes. The specification says 16; interfaces of Linux have up to 15.
pub const MAX_BUS_BYTES: usize = 15;

/// A message of a client or a server.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Message {
    /// `< echo >`, to a server and back.
    Echo,
    /// `< error TEXT >` of a server.
    Error(String),
    /// `< error CLASS SECONDS >` of a server: an error message of a driver.
    ErrorMessage {
        /// The class, which is the identifier of such a frame.
        class: u32,
        /// When the server received it.
        stamp: Stamp,
    },
    /// `< frame ID SECONDS DATA >` of a server.
    Frame {
        /// A classic data frame.
        frame: Frame,
        /// When the server received it.
        stamp: Stamp,
    },
    /// `< hi >` of a server, its first message.
    Hi,
    /// `< ok >` of a server.
    Ok,
    /// `< open BUS >` of a client.
    Open(String),
    /// Any other message, with its first word.
    Other(String),
    /// `< rawmode >` of a client: all frames from now on.
    RawMode,
    /// `< send ID LENGTH DATA >` of a client.
    Send(Frame),
}

/// A message, and its position in the stream.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Item {
    /// The message, or the mistake in it.
    pub message: Result<Message, DecodeError>,
    /// Position of its `<`.
    pub at: u64,
}

/// A connection in either direction.
#[derive(Clone, Copy, Debug, Default)]
pub struct Messages;

impl Grammar for Messages {
    type Item = Item;

    fn read(&mut self, at: u64, bytes: &[u8]) -> Result<Step<Item>, DecodeError> {
        let is_space = |byte: &u8| byte.is_ascii_whitespace();
        let inside = match bytes {
            [b'<', inside @ ..] => inside,
            [first, ..] if !is_space(first) => return fault(at, 0, Fault::Outside(*first)),
            _ => return Ok(Step::Skip(bytes.iter().take_while(|byte| is_space(byte)).count())),
        };
        for (offset, byte) in inside.iter().enumerate() {
            let len = offset + 2;
            if len > MAX_MESSAGE_BYTES {
                return fault(at, offset + 1, Fault::MessageLength);
            }
            match byte {
                b'>' => return Ok(Step::Item(Item { message: words::message(at + 1, &inside[..offset]), at }, len)),
                b'<' | ..b' ' | 0x7F.. => return fault(at, offset + 1, Fault::Character(*byte)),
                _ => {}
            }
        }
        Ok(Step::Needs(bytes.len() + 1))
    }
}

#[cfg(test)]
mod tests;
