//! Reading of messages and attributes from untrusted bytes.

use super::{ATTRIBUTE_HEADER_BYTES, MESSAGE_HEADER_BYTES, align};

/// Both flags of an attribute's type (`NLA_F_NESTED`, `NLA_F_NET_BYTEORDER`).
const ATTRIBUTE_TYPE_FLAGS: u16 = 0xC000;

/// Bytes that are not valid netlink.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum DecodeError {
    /// A length exceeds the data or is shorter than its own header.
    #[error("netlink length {len} does not fit the {available} bytes available")]
    BadLength {
        /// Length in the header.
        len: usize,
        /// Bytes left in the datagram.
        available: usize,
    },
    /// An attribute is shorter than its type requires.
    #[error("netlink attribute {kind} has {len} bytes instead of {expected}")]
    ShortAttribute {
        /// Type of the attribute.
        kind: u16,
        /// Length of its payload in bytes.
        len: usize,
        /// Bytes it must have.
        expected: usize,
    },
    /// A required attribute is missing.
    #[error("netlink attribute {kind} is missing")]
    MissingAttribute {
        /// Type of the attribute.
        kind: u16,
    },
    /// A message is shorter than its family header.
    #[error("netlink message has {len} bytes of payload instead of {expected} or more")]
    ShortMessage {
        /// Length of its payload in bytes.
        len: usize,
        /// Bytes it must have.
        expected: usize,
    },
}

/// One message of a datagram.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Message<'a> {
    /// `RTM_…` or `NLMSG_…`.
    pub kind: u16,
    /// `NLM_F_…`.
    pub flags: u16,
    /// Sequence number of the request it answers.
    pub sequence: u32,
    /// Everything after the netlink header.
    pub payload: &'a [u8],
}

impl<'a> Message<'a> {
    /// Splits the payload into a family header of `N` bytes and the attributes after it.
    ///
    /// # Errors
    /// [`DecodeError::ShortMessage`] if the header is incomplete.
    pub fn split<const N: usize>(&self) -> Result<(&'a [u8; N], Attributes<'a>), DecodeError> {
        let short = DecodeError::ShortMessage { len: self.payload.len(), expected: N };
        let header = self.payload.first_chunk().ok_or(short)?;
        Ok((header, Attributes::new(self.payload.get(align(N)..).unwrap_or_default())))
    }
}

/// The messages of a datagram. Ends after the first error.
#[derive(Clone, Debug)]
pub struct Messages<'a> {
    rest: &'a [u8],
}

impl<'a> Messages<'a> {
    /// Iterates over the messages of one datagram.
    #[must_use]
    pub const fn new(datagram: &'a [u8]) -> Self {
        Self { rest: datagram }
    }
}

impl<'a> Iterator for Messages<'a> {
    type Item = Result<Message<'a>, DecodeError>;

    fn next(&mut self) -> Option<Self::Item> {
        if self.rest.is_empty() {
            return None;
        }
        let available = self.rest.len();
        let Some(header) = self.rest.first_chunk::<MESSAGE_HEADER_BYTES>() else {
            self.rest = &[];
            return Some(Err(DecodeError::BadLength { len: MESSAGE_HEADER_BYTES, available }));
        };
        let len = u32::from_ne_bytes([header[0], header[1], header[2], header[3]]) as usize;
        if len < MESSAGE_HEADER_BYTES || len > available {
            self.rest = &[];
            return Some(Err(DecodeError::BadLength { len, available }));
        }
        let message = Message {
            kind: u16::from_ne_bytes([header[4], header[5]]),
            flags: u16::from_ne_bytes([header[6], header[7]]),
            sequence: u32::from_ne_bytes([header[8], header[9], header[10], header[11]]),
            payload: &self.rest[MESSAGE_HEADER_BYTES..len],
        };
        self.rest = self.rest.get(align(len)..).unwrap_or_default();
        Some(Ok(message))
    }
}

/// An attribute of a message (`struct nlattr`).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Attribute<'a> {
    /// Its type, without the flag bits.
    pub kind: u16,
    /// Payload without header and padding.
    pub value: &'a [u8],
}

impl<'a> Attribute<'a> {
    /// The first `N` bytes; the kernel may append to a struct in later versions.
    ///
    /// # Errors
    /// [`DecodeError::ShortAttribute`] if there are fewer.
    pub fn array<const N: usize>(&self) -> Result<&'a [u8; N], DecodeError> {
        self.value.first_chunk().ok_or(DecodeError::ShortAttribute {
            kind: self.kind,
            len: self.value.len(),
            expected: N,
        })
    }

    /// The value as a number.
    ///
    /// # Errors
    /// [`DecodeError::ShortAttribute`] below 4 bytes.
    pub fn u32(&self) -> Result<u32, DecodeError> {
        self.array().map(|bytes| u32::from_ne_bytes(*bytes))
    }

    /// The value as a byte.
    ///
    /// # Errors
    /// [`DecodeError::ShortAttribute`] if it is empty.
    pub fn u8(&self) -> Result<u8, DecodeError> {
        self.array().map(|&[byte]| byte)
    }

    /// The value as text up to the first NUL byte; invalid UTF-8 is replaced.
    #[must_use]
    pub fn text(&self) -> String {
        let end = self.value.iter().position(|&byte| byte == 0).unwrap_or(self.value.len());
        String::from_utf8_lossy(&self.value[..end]).into_owned()
    }

    /// The attributes nested in this one.
    #[must_use]
    pub const fn nested(&self) -> Attributes<'a> {
        Attributes::new(self.value)
    }
}

/// A list of attributes. Ends after the first error.
#[derive(Clone, Debug)]
pub struct Attributes<'a> {
    rest: &'a [u8],
}

impl<'a> Attributes<'a> {
    /// Reads a list of attributes.
    #[must_use]
    pub const fn new(bytes: &'a [u8]) -> Self {
        Self { rest: bytes }
    }
}

impl<'a> Iterator for Attributes<'a> {
    type Item = Result<Attribute<'a>, DecodeError>;

    fn next(&mut self) -> Option<Self::Item> {
        // Like the kernel's parser, ignores up to 3 bytes after the last attribute.
        let header = self.rest.first_chunk::<ATTRIBUTE_HEADER_BYTES>()?;
        let available = self.rest.len();
        let len = usize::from(u16::from_ne_bytes([header[0], header[1]]));
        if len < ATTRIBUTE_HEADER_BYTES || len > available {
            self.rest = &[];
            return Some(Err(DecodeError::BadLength { len, available }));
        }
        let kind = u16::from_ne_bytes([header[2], header[3]]) & !ATTRIBUTE_TYPE_FLAGS;
        let value = &self.rest[ATTRIBUTE_HEADER_BYTES..len];
        self.rest = self.rest.get(align(len)..).unwrap_or_default();
        Some(Ok(Attribute { kind, value }))
    }
}
