//! What a peer can get wrong.

/// Bytes that are no USB/IP a kernel would send to an adapter.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum ProtocolError {
    /// Isochronous transfers: an adapter has none.
    #[error("USB/IP submits {packets} isochronous packets to a device that takes none")]
    Isochronous {
        /// `number_of_packets`.
        packets: i32,
    },
    /// A length below 0.
    #[error("USB/IP submits a transfer of {length} bytes")]
    NegativeLength {
        /// `transfer_buffer_length`.
        length: i32,
    },
    /// More data than any driver of ours sends at once.
    #[error("USB/IP submits {length} bytes at once; {max} is the most that is taken")]
    TooLong {
        /// `transfer_buffer_length`.
        length: usize,
        /// The most that is taken.
        max: usize,
    },
    /// Neither submit nor unlink.
    #[error("USB/IP command {command:#010x} is not known")]
    UnknownCommand {
        /// `command`.
        command: u32,
    },
    /// Neither in nor out.
    #[error("USB/IP direction {direction} is neither out (0) nor in (1)")]
    UnknownDirection {
        /// `direction`.
        direction: u32,
    },
}
