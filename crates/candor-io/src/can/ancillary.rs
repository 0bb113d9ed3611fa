//! Control messages of received frames: timestamps and drop count.
//!
//! The control messages are read as bytes in the kernel's layout (`size_t` length, `int` level, `int` type, padded to
//! `size_t`), so that no pointer is followed and any content is harmless.

use crate::clock::RealtimeNs;

const WORD_BYTES: usize = size_of::<usize>();
const HEADER_BYTES: usize = WORD_BYTES + 8;
/// Two messages of up to 16 bytes are expected, or one of 48; the rest is reserve.
const CONTROL_BYTES: usize = 128;
/// Times in a `struct scm_timestamping`.
const TIMES: usize = 3;

/// Memory for control messages, aligned as the kernel requires.
#[repr(C, align(8))]
pub(super) struct ControlBuffer([u8; CONTROL_BYTES]);

#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) struct Seen {
    pub(super) stamp: Option<RealtimeNs>,
    pub(super) dropped: u32,
}

impl ControlBuffer {
    pub(super) const fn new() -> Self {
        Self([0; CONTROL_BYTES])
    }

    /// Makes the kernel write control messages here. The buffer must outlive the use of `message`.
    pub(super) fn attach_to(&mut self, message: &mut libc::msghdr) {
        message.msg_control = self.0.as_mut_ptr().cast();
        // The field is size_t in glibc and socklen_t in musl.
        message.msg_controllen = CONTROL_BYTES as _;
    }

    /// Parses the control messages of a `recvmsg()` with this buffer attached.
    pub(super) fn read(&self, message: &libc::msghdr) -> Seen {
        parse(self.written(message))
    }

    /// The control messages that a `recvmsg()` with this buffer attached has left.
    pub(super) fn written(&self, message: &libc::msghdr) -> &[u8] {
        #[expect(clippy::unnecessary_cast, reason = "size_t in glibc, socklen_t in musl")]
        let len = (message.msg_controllen as usize).min(CONTROL_BYTES);
        &self.0[..len]
    }
}

pub(super) fn parse(control: &[u8]) -> Seen {
    let mut seen = Seen::default();
    for (level, kind, value) in messages(control) {
        match (level, kind) {
            (libc::SOL_SOCKET, libc::SO_TIMESTAMPNS) => seen.stamp = timespec(value),
            (libc::SOL_SOCKET, libc::SO_RXQ_OVFL) => {
                seen.dropped = int(value).unwrap_or_default().cast_unsigned();
            }
            _ => {}
        }
    }
    seen
}

/// Level, type and value of each control message, up to the first invalid length.
pub(super) fn messages(mut rest: &[u8]) -> impl Iterator<Item = (i32, i32, &[u8])> {
    std::iter::from_fn(move || {
        let (header, _) = rest.split_first_chunk::<HEADER_BYTES>()?;
        let len = word(header);
        let value = rest.get(HEADER_BYTES..len)?;
        let (level, kind) = (int(&header[WORD_BYTES..])?, int(&header[WORD_BYTES + 4..])?);
        rest = rest.get(len.next_multiple_of(WORD_BYTES)..).unwrap_or_default();
        Some((level, kind, value))
    })
}

fn word(bytes: &[u8; HEADER_BYTES]) -> usize {
    usize::from_ne_bytes(*bytes.first_chunk().expect("the header begins with a word"))
}

fn int(bytes: &[u8]) -> Option<i32> {
    bytes.first_chunk().map(|bytes| i32::from_ne_bytes(*bytes))
}

/// The three times of a `struct scm_timestamping`: software, unused, hardware. 0 means none.
pub(super) fn times(value: &[u8]) -> [Option<i64>; TIMES] {
    let one = value.len() / TIMES;
    let time = |position: usize| {
        let value = value.get(one * position..one * (position + 1)).filter(|_| value.len().is_multiple_of(TIMES))?;
        timespec(value).map(|RealtimeNs(ns)| ns).filter(|ns| *ns != 0)
    };
    [time(0), time(1), time(2)]
}

/// Seconds and nanoseconds, each of 64 bits, or 32 bits on old 32-bit interfaces.
pub(super) fn timespec(value: &[u8]) -> Option<RealtimeNs> {
    let (seconds, nanoseconds) = value.split_at(value.len() / 2);
    let field = |bytes: &[u8]| match bytes.len() {
        8 => bytes.first_chunk().map(|bytes| i64::from_ne_bytes(*bytes)),
        4 => int(bytes).map(i64::from),
        _ => None,
    };
    Some(RealtimeNs(field(seconds)?.checked_mul(1_000_000_000)?.checked_add(field(nanoseconds)?)?))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn message(kind: i32, value: &[u8]) -> Vec<u8> {
        let mut bytes = (HEADER_BYTES + value.len()).to_ne_bytes().to_vec();
        bytes.extend(libc::SOL_SOCKET.to_ne_bytes());
        bytes.extend(kind.to_ne_bytes());
        bytes.extend(value);
        bytes.resize(bytes.len().next_multiple_of(WORD_BYTES), 0);
        bytes
    }

    #[test]
    fn stamp_and_drops_are_found_behind_others() {
        let time = [3_i64.to_ne_bytes(), 7_i64.to_ne_bytes()].concat();
        let bytes = [
            message(1, b"other"),
            message(libc::SO_TIMESTAMPNS, &time),
            message(libc::SO_RXQ_OVFL, &9_u32.to_ne_bytes()),
        ]
        .concat();
        assert_eq!(parse(&bytes), Seen { stamp: Some(RealtimeNs(3_000_000_007)), dropped: 9 });
    }

    #[test]
    fn broken_lengths_end_the_walk() {
        assert_eq!(parse(&[0; 32]), Seen::default());
        assert_eq!(parse(&[0xff; 64]), Seen::default());
        assert_eq!(parse(&message(libc::SO_TIMESTAMPNS, &[0xff; 3])), Seen::default());
        let overflow = [i64::MAX.to_ne_bytes(); 2].concat();
        assert_eq!(parse(&message(libc::SO_TIMESTAMPNS, &overflow)), Seen::default());
    }
}
