//! Error frames in words.
//!
//! # Source
//! [`include/uapi/linux/can/error.h`](https://github.com/gregkh/linux/blob/v6.12/include/uapi/linux/can/error.h) in Linux 6.12.

use candor_core::frame::Frame;

const CAN_ERR_LOSTARB: u32 = 0x002;
const CAN_ERR_CRTL: u32 = 0x004;
const CAN_ERR_PROT: u32 = 0x008;
const CAN_ERR_TRX: u32 = 0x010;
const CAN_ERR_BUSERROR: u32 = 0x080;
const CAN_ERR_CNT: u32 = 0x200;

/// By bit of the identifier. Classes with details have no words of their own.
const CLASSES: [&str; 9] =
    ["transmit timeout", "", "", "", "", "no acknowledgement", "bus-off", "bus error", "controller restarted"];

/// Byte 1, by bit.
const CONTROLLER: [&str; 7] = [
    "receive buffer overflow",
    "transmit buffer overflow",
    "error-warning (receiving)",
    "error-warning (sending)",
    "error-passive (receiving)",
    "error-passive (sending)",
    "error-active",
];

/// Byte 2, by bit.
const PROTOCOL: [&str; 8] = [
    "bit error",
    "form error",
    "stuff error",
    "cannot send a dominant bit",
    "cannot send a recessive bit",
    "overload",
    "active error announcement",
    "while sending",
];

/// Byte 3.
const PLACES: [(u8, &str); 19] = [
    (0x02, "identifier bits 28 to 21"),
    (0x03, "start of frame"),
    (0x04, "SRTR"),
    (0x05, "IDE"),
    (0x06, "identifier bits 20 to 18"),
    (0x07, "identifier bits 17 to 13"),
    (0x08, "CRC"),
    (0x09, "reserved bit 0"),
    (0x0A, "data"),
    (0x0B, "DLC"),
    (0x0C, "RTR"),
    (0x0D, "reserved bit 1"),
    (0x0E, "identifier bits 4 to 0"),
    (0x0F, "identifier bits 12 to 5"),
    (0x12, "intermission"),
    (0x18, "CRC delimiter"),
    (0x19, "acknowledgement slot"),
    (0x1A, "end of frame"),
    (0x1B, "acknowledgement delimiter"),
];

/// What an error frame reports, for example `bus error, stuff error, while sending, in data, error counters: transmit 8, receive 0`.
pub(super) fn words(frame: &Frame) -> String {
    let [arbitration, controller, protocol, place, transceiver, _, transmit, receive, ..] = frame.data;
    let class = frame.id.bits();
    let mut words = Vec::new();
    let mut add = |text: &str| words.push(text.to_owned());
    named(class, &CLASSES, &mut add);
    if class & CAN_ERR_LOSTARB != 0 {
        match arbitration {
            0 => add("lost arbitration"),
            bit => add(&format!("lost arbitration in bit {bit}")),
        }
    }
    if class & CAN_ERR_CRTL != 0 {
        named(controller.into(), &CONTROLLER, &mut add);
    }
    if class & CAN_ERR_PROT != 0 {
        named(protocol.into(), &PROTOCOL, &mut add);
        if let Some((_, name)) = PLACES.iter().find(|(number, _)| *number == place) {
            add(&format!("in {name}"));
        }
    }
    if class & CAN_ERR_TRX != 0 {
        add(&format!("transceiver status {transceiver:02X}"));
    }
    // Drivers for Linux before 6.0 fill them without the class.
    let may_have = class & (CAN_ERR_CRTL | CAN_ERR_PROT | CAN_ERR_BUSERROR) != 0 && (transmit, receive) != (0, 0);
    if class & CAN_ERR_CNT != 0 || may_have {
        add(&format!("error counters: transmit {transmit}, receive {receive}"));
    }
    words.join(", ")
}

fn named(bits: u32, names: &[&str], add: &mut dyn FnMut(&str)) {
    for (bit, name) in names.iter().enumerate() {
        if bits >> bit & 1 != 0 && !name.is_empty() {
            add(name);
        }
    }
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
