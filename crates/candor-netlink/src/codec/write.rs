//! Writing of a message, front to back.

use super::{ATTRIBUTE_HEADER_BYTES, MESSAGE_HEADER_BYTES, align};

/// An attribute's length is a `u16` that counts its header.
const MAX_ATTRIBUTE_BYTES: usize = u16::MAX as usize;

/// A message under construction; [`finish`](Self::finish) and [`nested`](Self::nested) set the lengths.
#[derive(Clone, Debug)]
pub struct MessageWriter {
    bytes: Vec<u8>,
}

impl MessageWriter {
    /// Starts a message of this type (`RTM_…`) with these `NLM_F_…` flags. The client sets sequence number and port.
    #[must_use]
    pub fn new(kind: u16, flags: u16) -> Self {
        let mut bytes = Vec::with_capacity(512);
        bytes.extend_from_slice(&[0; 4]);
        bytes.extend_from_slice(&kind.to_ne_bytes());
        bytes.extend_from_slice(&flags.to_ne_bytes());
        bytes.extend_from_slice(&[0; 8]);
        Self { bytes }
    }

    /// Appends the family header (`struct rtcanmsg`, `ifinfomsg` …).
    pub fn header(&mut self, header: &[u8]) -> &mut Self {
        self.bytes.extend_from_slice(header);
        self.pad()
    }

    /// Appends an attribute.
    ///
    /// # Panics
    /// If the value does not fit an attribute (65531 bytes).
    pub fn attribute(&mut self, kind: u16, value: &[u8]) -> &mut Self {
        let len = attribute_len(ATTRIBUTE_HEADER_BYTES + value.len());
        self.bytes.extend_from_slice(&len.to_ne_bytes());
        self.bytes.extend_from_slice(&kind.to_ne_bytes());
        self.bytes.extend_from_slice(value);
        self.pad()
    }

    /// Appends a string attribute with its terminating NUL byte.
    pub fn text(&mut self, kind: u16, text: &str) -> &mut Self {
        let mut value = text.as_bytes().to_vec();
        value.push(0);
        self.attribute(kind, &value)
    }

    /// Appends an attribute that contains the attributes written by `fill`.
    ///
    /// Does not set `NLA_F_NESTED`, which older rtnetlink families reject and none requires.
    ///
    /// # Panics
    /// If they do not fit an attribute (65531 bytes).
    pub fn nested(&mut self, kind: u16, fill: impl FnOnce(&mut Self)) -> &mut Self {
        let start = self.bytes.len();
        self.attribute(kind, &[]);
        fill(self);
        let len = attribute_len(self.bytes.len() - start);
        self.bytes[start..start + 2].copy_from_slice(&len.to_ne_bytes());
        self
    }

    /// The payload so far, without the netlink header.
    #[must_use]
    pub fn payload(&self) -> &[u8] {
        &self.bytes[MESSAGE_HEADER_BYTES..]
    }

    /// Completes the message with this sequence number.
    ///
    /// # Panics
    /// If the message has 4 GiB or more.
    #[must_use]
    pub fn finish(mut self, sequence: u32) -> Vec<u8> {
        let len = u32::try_from(self.bytes.len()).expect("a request is far below 4 GiB");
        self.bytes[..4].copy_from_slice(&len.to_ne_bytes());
        self.bytes[8..12].copy_from_slice(&sequence.to_ne_bytes());
        self.bytes
    }

    fn pad(&mut self) -> &mut Self {
        self.bytes.resize(align(self.bytes.len()), 0);
        self
    }
}

fn attribute_len(len: usize) -> u16 {
    assert!(len <= MAX_ATTRIBUTE_BYTES, "an attribute of {len} bytes is too long");
    u16::try_from(len).expect("just compared")
}
