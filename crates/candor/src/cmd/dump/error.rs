//! Error frames in words.
//!
//! # Source
//! [`include/uapi/linux/can/error.h`](https://github.com/gregkh/linux/blob/v6.12/include/uapi/linux/can/error.h) in Linux 6.12.

use std::fmt::{Arguments, Write as _};

use candor_core::frame::Frame;

const CAN_ERR_LOSTARB: u32 = 0x002;
const CAN_ERR_CRTL: u32 = 0x004;
const CAN_ERR_PROT: u32 = 0x008;
const CAN_ERR_TRX: u32 = 0x010;
const CAN_ERR_BUSERROR: u32 = 0x080;
const CAN_ERR_CNT: u32 = 0x200;

/// By bit of the identifier, separated because tables of texts need a relocation for each. Classes with details have no words of
/// their own.
const CLASSES: &str = "transmit timeout,,,,,no acknowledgement,bus-off,bus error,controller restarted";
/// Byte 1, by bit.
const CONTROLLER: &str = "receive buffer overflow,transmit buffer overflow,error-warning (receiving),error-warning \
                          (sending),error-passive (receiving),error-passive (sending),error-active";
/// Byte 2, by bit.
const PROTOCOL: &str = "bit error,form error,stuff error,cannot send a dominant bit,cannot send a recessive \
                        bit,overload,active error announcement,while sending";
/// Byte 3, by value.
const PLACES: &str = ",,in identifier bits 28 to 21,in start of frame,in SRTR,in IDE,in identifier bits 20 to 18,in identifier \
                      bits 17 to 13,in CRC,in reserved bit 0,in data,in DLC,in RTR,in reserved bit 1,in identifier bits 4 to \
                      0,in identifier bits 12 to 5,,,in intermission,,,,,,in CRC delimiter,in acknowledgement slot,in end of \
                      frame,in acknowledgement delimiter";

/// What an error frame reports, for example `bus error, stuff error, while sending, in data, error counters: transmit 8, receive 0`.
pub(super) fn words(frame: &Frame) -> String {
    let [arbitration, controller, protocol, place, transceiver, _, transmit, receive, ..] = frame.data;
    let class = frame.id.bits();
    let mut words = String::new();
    named(&mut words, class, CLASSES);
    if class & CAN_ERR_LOSTARB != 0 {
        add(&mut words, format_args!("lost arbitration in bit {arbitration}"));
    }
    if class & CAN_ERR_CRTL != 0 {
        named(&mut words, controller.into(), CONTROLLER);
    }
    if class & CAN_ERR_PROT != 0 {
        named(&mut words, protocol.into(), PROTOCOL);
        named(&mut words, 1_u32.checked_shl(place.into()).unwrap_or_default(), PLACES);
    }
    if class & CAN_ERR_TRX != 0 {
        add(&mut words, format_args!("transceiver status {transceiver:02X}"));
    }
    // Drivers for Linux before 6.0 fill them without the class.
    let may_have = class & (CAN_ERR_CRTL | CAN_ERR_PROT | CAN_ERR_BUSERROR) != 0 && (transmit, receive) != (0, 0);
    if class & CAN_ERR_CNT != 0 || may_have {
        add(&mut words, format_args!("error counters: transmit {transmit}, receive {receive}"));
    }
    words
}

fn named(words: &mut String, bits: u32, names: &str) {
    for (bit, name) in names.split(',').enumerate() {
        if bits >> bit & 1 != 0 && !name.is_empty() {
            add(words, format_args!("{name}"));
        }
    }
}

fn add(words: &mut String, more: Arguments<'_>) {
    let comma = if words.is_empty() { "" } else { ", " };
    let _ = write!(words, "{comma}{more}");
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn classes_and_details_have_words() {
        let said = |text: &str| words(&text.parse().unwrap());
        for (frame, words) in [
            (
                "200000A8#0000801900000801",
                "no acknowledgement, bus error, while sending, in acknowledgement slot, \
              error counters: transmit 8, receive 1",
            ),
            (
                "20000004#0030000000008080",
                "error-passive (receiving), error-passive (sending), error counters: \
              transmit 128, receive 128",
            ),
            ("20000004#0001000000000000", "receive buffer overflow"),
            ("20000002#0C00000000000000", "lost arbitration in bit 12"),
            ("20000040#0000000000000000", "bus-off"),
            ("20000100#0000000000000000", "controller restarted"),
            ("20000210#0000000044000000", "transceiver status 44, error counters: transmit 0, receive 0"),
            ("20000000#0000000000000000", ""),
        ] {
            assert_eq!(said(frame), words, "{frame}");
        }
    }
}
