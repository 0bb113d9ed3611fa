//! Guest-to-host channel: typed messages in a byte stream.
//!
//! ```text
//!  boot output │ MAGIC │ kind u8 │ length u32 LE │ payload … │ kind │ length │ payload … │ …
//! ```
//! There is no reverse channel: nothing on the host may influence a guest that counts instructions.

use std::io::{self, Write};

/// Separates the messages from earlier output of firmware or console.
pub const MAGIC: [u8; 8] = *b"\x00candor\x01";
pub const MAX_PAYLOAD_BYTES: usize = 1 << 20;
const HEADER_BYTES: usize = 5;

#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Message {
    /// Status of the command, or 128 + signal. The last message.
    Exit(u8),
    /// The guest cannot do the job. The last message.
    Failed(String),
    /// Next piece of a file from `$CANDOR_OUT`; the name is relative to it.
    File {
        name: String,
        bytes: Vec<u8>,
    },
    /// The topology is up and the command runs.
    Started,
    Stderr(Vec<u8>),
    Stdout(Vec<u8>),
}

#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum ChannelError {
    #[error("Unknown kind of message {0}")]
    Kind(u8),
    #[error("A file name escapes the output directory")]
    Name,
    #[error("A message of {0} bytes exceeds the limit")]
    Length(usize),
    #[error("Invalid payload in a message of kind {0}")]
    Payload(u8),
}

/// Writes [`MAGIC`], then messages.
#[derive(Debug)]
pub struct Sender<W> {
    stream: W,
}

impl<W: Write> Sender<W> {
    pub fn begin(mut stream: W) -> io::Result<Self> {
        stream.write_all(&MAGIC)?;
        Ok(Self { stream })
    }

    /// Fails with `InvalidInput` if the payload exceeds [`MAX_PAYLOAD_BYTES`] or the file name is invalid.
    pub fn send(&mut self, message: &Message) -> io::Result<()> {
        if let Message::File { name, .. } = message
            && !is_file_name(name)
        {
            return Err(io::ErrorKind::InvalidInput.into());
        }
        let (kind, payload) = encode(message);
        if payload.len() > MAX_PAYLOAD_BYTES {
            return Err(io::ErrorKind::InvalidInput.into());
        }
        let length = u32::try_from(payload.len()).map_err(|_too_long| io::ErrorKind::InvalidInput)?;
        let mut bytes = Vec::with_capacity(HEADER_BYTES + payload.len());
        bytes.push(kind);
        bytes.extend(length.to_le_bytes());
        bytes.extend(payload);
        self.stream.write_all(&bytes)?;
        self.stream.flush()
    }
}

/// Reassembles messages from pieces of any size.
#[derive(Debug, Default)]
pub struct Receiver {
    waiting: Vec<u8>,
    begun: bool,
}

impl Receiver {
    pub fn push(&mut self, bytes: &[u8]) {
        self.waiting.extend_from_slice(bytes);
    }

    /// The next complete message. After an error, the rest of the stream cannot be trusted.
    pub fn next_message(&mut self) -> Result<Option<Message>, ChannelError> {
        if !self.begun && !self.find_magic() {
            return Ok(None);
        }
        let Some((&[kind, a, b, c, d], rest)) = self.waiting.split_first_chunk::<HEADER_BYTES>() else {
            return Ok(None);
        };
        let length = usize::try_from(u32::from_le_bytes([a, b, c, d])).unwrap_or(usize::MAX);
        if length > MAX_PAYLOAD_BYTES {
            return Err(ChannelError::Length(length));
        }
        let Some(payload) = rest.get(..length) else { return Ok(None) };
        let message = decode(kind, payload)?;
        self.waiting.drain(..HEADER_BYTES + length);
        Ok(Some(message))
    }

    fn find_magic(&mut self) -> bool {
        if let Some(at) = self.waiting.windows(MAGIC.len()).position(|window| window == MAGIC) {
            self.waiting.drain(..at + MAGIC.len());
            self.begun = true;
        } else {
            let keep = self.waiting.len().min(MAGIC.len() - 1);
            self.waiting.drain(..self.waiting.len() - keep);
        }
        self.begun
    }
}

/// True if a file of this name can be sent. A line break ends the name, and other control characters cause trouble on
/// the host.
pub fn is_file_name(name: &str) -> bool {
    !name.is_empty() && !name.chars().any(char::is_control)
}

const EXIT: u8 = 1;
const FAILED: u8 = 2;
const FILE: u8 = 3;
const STARTED: u8 = 4;
const STDERR: u8 = 5;
const STDOUT: u8 = 6;

fn encode(message: &Message) -> (u8, Vec<u8>) {
    match message {
        Message::Exit(status) => (EXIT, vec![*status]),
        Message::Failed(reason) => (FAILED, reason.clone().into_bytes()),
        Message::File { name, bytes } => (FILE, [name.as_bytes(), b"\n", bytes].concat()),
        Message::Started => (STARTED, Vec::new()),
        Message::Stderr(bytes) => (STDERR, bytes.clone()),
        Message::Stdout(bytes) => (STDOUT, bytes.clone()),
    }
}

fn decode(kind: u8, payload: &[u8]) -> Result<Message, ChannelError> {
    let text = |bytes: &[u8]| String::from_utf8(bytes.to_vec()).map_err(|_not_text| ChannelError::Payload(kind));
    match (kind, payload) {
        (EXIT, &[status]) => Ok(Message::Exit(status)),
        (FAILED, reason) => text(reason).map(Message::Failed),
        (FILE, bytes) => {
            let end = bytes.iter().position(|&byte| byte == b'\n').ok_or(ChannelError::Payload(kind))?;
            let name = text(&bytes[..end])?;
            if !is_file_name(&name) {
                return Err(ChannelError::Payload(kind));
            }
            Ok(Message::File { name, bytes: bytes[end + 1..].to_vec() })
        }
        (STARTED, &[]) => Ok(Message::Started),
        (STDERR, bytes) => Ok(Message::Stderr(bytes.to_vec())),
        (STDOUT, bytes) => Ok(Message::Stdout(bytes.to_vec())),
        (EXIT | STARTED, _) => Err(ChannelError::Payload(kind)),
        (unknown, _) => Err(ChannelError::Kind(unknown)),
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn message() -> impl Strategy<Value = Message> {
        let bytes = || proptest::collection::vec(any::<u8>(), 0..300);
        prop_oneof![
            any::<u8>().prop_map(Message::Exit),
            "\\PC*".prop_map(Message::Failed),
            ("[a-z./ ]{1,20}", bytes()).prop_map(|(name, bytes)| Message::File { name, bytes }),
            Just(Message::Started),
            bytes().prop_map(Message::Stderr),
            bytes().prop_map(Message::Stdout),
        ]
    }

    proptest! {
        #[test]
        fn messages_are_reassembled_from_any_pieces(
            garbage in proptest::collection::vec(1_u8.., 0..40),
            messages in proptest::collection::vec(message(), 0..20),
            piece in 1_usize..50,
        ) {
            let mut sender = Sender::begin(garbage).unwrap();
            for message in &messages {
                sender.send(message).unwrap();
            }
            let mut receiver = Receiver::default();
            let mut received = Vec::new();
            for piece in sender.stream.chunks(piece) {
                receiver.push(piece);
                while let Some(message) = receiver.next_message().unwrap() {
                    received.push(message);
                }
            }
            prop_assert_eq!(received, messages);
        }

        #[test]
        fn garbage_never_panics(bytes in proptest::collection::vec(any::<u8>(), 0..200)) {
            let mut receiver = Receiver::default();
            receiver.push(&MAGIC);
            receiver.push(&bytes);
            while let Ok(Some(_)) = receiver.next_message() {}
        }
    }

    #[test]
    fn file_names_have_no_control_characters() {
        let mut sender = Sender::begin(Vec::new()).unwrap();
        for name in ["a\nb", "a\rb", "\0", ""] {
            let message = Message::File { name: name.to_owned(), bytes: b"x".to_vec() };
            assert_eq!(sender.send(&message).unwrap_err().kind(), io::ErrorKind::InvalidInput, "{name:?}");
        }
        assert_eq!(sender.stream, MAGIC);
        for payload in [b"\nb".as_slice(), b"a\rb\nc"] {
            assert_eq!(decode(FILE, payload), Err(ChannelError::Payload(FILE)));
        }
    }

    #[test]
    fn damaged_stream_is_an_error() {
        let mut receiver = Receiver::default();
        receiver.push(&MAGIC);
        receiver.push(&[99, 0, 0, 0, 0]);
        assert_eq!(receiver.next_message(), Err(ChannelError::Kind(99)));
        let mut receiver = Receiver::default();
        receiver.push(&MAGIC);
        receiver.push(&[STDOUT, 0, 0, 0, 0xFF]);
        assert!(matches!(receiver.next_message(), Err(ChannelError::Length(_))));
    }
}
