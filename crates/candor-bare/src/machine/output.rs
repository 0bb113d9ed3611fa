//! The serial port, and the end of the emulator.

use super::cpu::Ports;
use super::interrupts;

/// Exit status of the emulator.
#[derive(Clone, Copy, Debug)]
pub(super) enum Exit {
    Success,
    Failure,
}

/// Writes a line to the first serial port.
pub(super) fn line(text: &str) {
    // SAFETY: the first serial port of a PC, which has no access to memory. Where there is none, nothing happens.
    let port = unsafe { Ports::new(0x3F8) };
    for byte in text.bytes().chain([b'\n']) {
        // Without a port, all bits are set.
        while port.read(5) & 0x20 == 0 {}
        port.write(0, byte);
    }
}

/// Ends an emulator with a device `isa-debug-exit` at port F4, whose exit status is then `2 × value + 1`; else the processor sleeps.
pub(super) fn exit(exit: Exit) -> ! {
    // SAFETY: the device ends the emulator; without it nothing happens.
    let port = unsafe { Ports::new(0xF4) };
    port.write_16(
        0,
        match exit {
            Exit::Success => 0x10,
            Exit::Failure => 0x11,
        },
    );
    interrupts::halt_for_ever()
}
