//! SocketCAN error frames, which are never transmitted.
//!
//! ```text
//!  identifier: 0x2000_0000 │ class bits           data: 0           1        2      3         4  5  6    7
//!                                                       arb. bit │ state │ kind │ location │ 0  0  tx │ rx counter
//! ```
//!
//! gs_usb and ucan report them like received frames, and their drivers read the controller state from them.
//!
//! # Source
//! [`include/uapi/linux/can/error.h`](https://github.com/gregkh/linux/blob/v6.1.192/include/uapi/linux/can/error.h#L51) in Linux
//! 6.1. The class bit of the counters, `CAN_ERR_CNT` (Linux 6.0), is not set: firmware of adapters is older than the bit,
//! and candump of Debian 12 rejects error frames with it.

use candor_bus::{CAN_ERROR_PASSIVE_THRESHOLD, CAN_ERROR_WARNING_THRESHOLD, Counters, ErrorKind, ErrorState};
use candor_core::frame::{CAN_ERR_FLAG, CAN_MAX_DLEN};

use crate::exchange::Part;

/// Error classes, in the identifier.
const CAN_ERR_LOSTARB: u32 = 0x002;
const CAN_ERR_CRTL: u32 = 0x004;
const CAN_ERR_PROT: u32 = 0x008;
const CAN_ERR_ACK: u32 = 0x020;
const CAN_ERR_BUSOFF: u32 = 0x040;
const CAN_ERR_BUSERROR: u32 = 0x080;
const CAN_ERR_RESTARTED: u32 = 0x100;

/// Controller state, in byte 1.
const CAN_ERR_CRTL_RX_OVERFLOW: u8 = 0x01;
const CAN_ERR_CRTL_RX_WARNING: u8 = 0x04;
const CAN_ERR_CRTL_TX_WARNING: u8 = 0x08;
const CAN_ERR_CRTL_RX_PASSIVE: u8 = 0x10;
const CAN_ERR_CRTL_TX_PASSIVE: u8 = 0x20;
const CAN_ERR_CRTL_ACTIVE: u8 = 0x40;

/// Kind of a protocol error, in byte 2.
const CAN_ERR_PROT_BIT: u8 = 0x01;
const CAN_ERR_PROT_FORM: u8 = 0x02;
const CAN_ERR_PROT_STUFF: u8 = 0x04;
const CAN_ERR_PROT_TX: u8 = 0x80;
/// Location of a protocol error, in byte 3.
const CAN_ERR_PROT_LOC_CRC_SEQ: u8 = 0x08;
const CAN_ERR_PROT_LOC_ACK: u8 = 0x19;

/// A condition that is reported as an error frame.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ErrorReport {
    /// A frame was destroyed.
    Bus { kind: ErrorKind, part: Part, counters: Counters },
    /// Arbitration was lost at this bit.
    LostArbitration { bit: u32 },
    /// Received frames were lost.
    Overflow,
    /// The controller recovered from bus-off by itself.
    Restarted,
    /// The error state changed.
    State { state: ErrorState, counters: Counters },
}

impl ErrorReport {
    /// Identifier with flags, and data.
    pub fn frame(self) -> (u32, [u8; CAN_MAX_DLEN]) {
        let mut data = [0; CAN_MAX_DLEN];
        let mut class = 0;
        match self {
            Self::Bus { kind, part, counters } => {
                class |= CAN_ERR_BUSERROR | CAN_ERR_PROT;
                [data[6], data[7]] = bytes(counters);
                // Acknowledgement and CRC errors are reported by their location.
                match kind {
                    ErrorKind::Ack => {
                        class |= CAN_ERR_ACK;
                        data[3] = CAN_ERR_PROT_LOC_ACK;
                    }
                    ErrorKind::Bit => data[2] = CAN_ERR_PROT_BIT,
                    ErrorKind::Crc => data[3] = CAN_ERR_PROT_LOC_CRC_SEQ,
                    ErrorKind::Form => data[2] = CAN_ERR_PROT_FORM,
                    ErrorKind::Stuff => data[2] = CAN_ERR_PROT_STUFF,
                }
                if part == Part::Sender {
                    data[2] |= CAN_ERR_PROT_TX;
                }
            }
            Self::LostArbitration { bit } => {
                class |= CAN_ERR_LOSTARB;
                data[0] = u8::try_from(bit).unwrap_or(u8::MAX);
            }
            Self::Overflow => {
                class |= CAN_ERR_CRTL;
                data[1] = CAN_ERR_CRTL_RX_OVERFLOW;
            }
            Self::Restarted => class |= CAN_ERR_RESTARTED,
            // The transmit error counter of a bus-off node does not fit into a byte.
            Self::State { state: ErrorState::BusOff, .. } => class |= CAN_ERR_BUSOFF,
            Self::State { state, counters } => {
                class |= CAN_ERR_CRTL;
                [data[6], data[7]] = bytes(counters);
                data[1] = controller(state, counters);
            }
        }
        (CAN_ERR_FLAG | class, data)
    }
}

/// Byte 1 of a state change. Only bits of the new state: gs_usb looks for the mildest first, ucan for the worst.
fn controller(state: ErrorState, counters: Counters) -> u8 {
    let (threshold, transmit, receive) = match state {
        ErrorState::Warning => (CAN_ERROR_WARNING_THRESHOLD, CAN_ERR_CRTL_TX_WARNING, CAN_ERR_CRTL_RX_WARNING),
        ErrorState::Passive => (CAN_ERROR_PASSIVE_THRESHOLD, CAN_ERR_CRTL_TX_PASSIVE, CAN_ERR_CRTL_RX_PASSIVE),
        ErrorState::Active | ErrorState::BusOff => return CAN_ERR_CRTL_ACTIVE,
    };
    match (counters.transmit >= threshold, counters.receive >= threshold) {
        (true, true) => transmit | receive,
        (false, true) => receive,
        // The state is reported even if neither counter has reached the threshold.
        (_, false) => transmit,
    }
}

fn bytes(counters: Counters) -> [u8; 2] {
    [counters.transmit, counters.receive].map(|counter| u8::try_from(counter).unwrap_or(u8::MAX))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn state(state: ErrorState, transmit: u16, receive: u16) -> (u32, [u8; 8]) {
        ErrorReport::State { state, counters: Counters { transmit, receive } }.frame()
    }

    #[test]
    fn encodes_states_as_in_error_h() {
        assert_eq!(state(ErrorState::Active, 3, 4), (0x2000_0004, [0, 0x40, 0, 0, 0, 0, 3, 4]));
        assert_eq!(state(ErrorState::Warning, 96, 4), (0x2000_0004, [0, 0x08, 0, 0, 0, 0, 96, 4]));
        assert_eq!(state(ErrorState::Warning, 0, 100), (0x2000_0004, [0, 0x04, 0, 0, 0, 0, 0, 100]));
        assert_eq!(state(ErrorState::Passive, 128, 128), (0x2000_0004, [0, 0x30, 0, 0, 0, 0, 128, 128]));
        assert_eq!(state(ErrorState::Passive, 120, 300), (0x2000_0004, [0, 0x10, 0, 0, 0, 0, 120, 255]));
        assert_eq!(state(ErrorState::BusOff, 256, 0), (0x2000_0040, [0; 8]));
        assert_eq!(ErrorReport::Restarted.frame(), (0x2000_0100, [0; 8]));
    }

    #[test]
    fn encodes_bus_errors_as_in_error_h() {
        let counters = Counters { transmit: 8, receive: 1 };
        let bus = |kind, part| ErrorReport::Bus { kind, part, counters }.frame();
        assert_eq!(bus(ErrorKind::Ack, Part::Sender), (0x2000_00A8, [0, 0, 0x80, 0x19, 0, 0, 8, 1]));
        assert_eq!(bus(ErrorKind::Bit, Part::Sender), (0x2000_0088, [0, 0, 0x81, 0, 0, 0, 8, 1]));
        assert_eq!(bus(ErrorKind::Stuff, Part::Receiver), (0x2000_0088, [0, 0, 0x04, 0, 0, 0, 8, 1]));
        assert_eq!(bus(ErrorKind::Crc, Part::Receiver), (0x2000_0088, [0, 0, 0, 0x08, 0, 0, 8, 1]));
        assert_eq!(bus(ErrorKind::Form, Part::Receiver), (0x2000_0088, [0, 0, 0x02, 0, 0, 0, 8, 1]));
        assert_eq!(ErrorReport::LostArbitration { bit: 12 }.frame(), (0x2000_0002, [12, 0, 0, 0, 0, 0, 0, 0]));
        assert_eq!(ErrorReport::Overflow.frame(), (0x2000_0004, [0, 0x01, 0, 0, 0, 0, 0, 0]));
    }
}
