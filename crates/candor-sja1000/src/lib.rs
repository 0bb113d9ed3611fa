//! Driver of the CAN controller SJA1000 in PeliCAN mode, for programs without an operating system.
//!
//! ```text
//!  frame (struct can_frame) ──send──▶ transmit buffer ─▶ bus ─▶ receive FIFO, 64 bytes ──receive──▶ frame
//!                                          interrupts(): what has happened since the last call
//! ```
//!
//! The driver reads and writes registers through [`Registers`], so it does not depend on how a board maps them, and tests
//! run it against a model. It never waits and allocates nothing. Frames are the 16 bytes of `struct can_frame` in
//! SocketCAN: what `RuleSet::route` of candor-core takes.
//!
//! # Source
//! Register addresses and bits: [data sheet of the SJA1000](https://www.nxp.com/docs/en/data-sheet/SJA1000.pdf) (Philips,
//! 4 January 2000), sections 6.4 and 6.5.
#![no_std]
#![forbid(unsafe_code)]
#![warn(missing_docs)]

mod frame;
pub mod registers;
mod timing;

pub use frame::{FRAME_BYTES, Layout};
pub use timing::BitTiming;

use registers::{Command, Enable, Interrupt, Mode, Status, number};

/// Access to the registers of one controller, by their number in PeliCAN mode.
pub trait Registers {
    /// Reads a register. Some change when they are read.
    fn read(&mut self, register: u8) -> u8;
    /// Writes a register.
    fn write(&mut self, register: u8, value: u8);
}

/// How a board has wired the controller.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Wiring {
    /// Register OCR: the output driver.
    pub output_control: u8,
    /// Register CDR besides the mode: comparator bypass, and the clock that the controller passes on.
    pub clock_divider: u8,
}

impl Wiring {
    /// Transmit pin 0 drives both levels, an external transceiver receives, and nothing uses the clock.
    pub const TRANSCEIVER: Self = Self { output_control: 0x1A, clock_divider: 0x47 };
}

/// There is no controller that answers, or it does not leave or enter reset mode.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Silent;

/// What has happened to a controller since the last call.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Events(u8);

impl Events {
    /// Returns true if nothing has happened.
    #[must_use]
    pub const fn is_empty(self) -> bool {
        self.0 == 0
    }

    /// Returns true if the receive FIFO has a frame.
    #[must_use]
    pub const fn has_received(self) -> bool {
        self.0 & Interrupt::RECEIVE != 0
    }

    /// Returns true if the transmit buffer has become free.
    #[must_use]
    pub const fn has_room(self) -> bool {
        self.0 & Interrupt::TRANSMIT != 0
    }

    /// Returns true if frames were lost, because the receive FIFO was full.
    #[must_use]
    pub const fn has_overrun(self) -> bool {
        self.0 & Interrupt::OVERRUN != 0
    }

    /// Returns true if the error state may have changed; [`Sja1000::is_bus_off`] knows it.
    #[must_use]
    pub const fn has_errors(self) -> bool {
        self.0 & (Interrupt::ERROR_WARNING | Interrupt::ERROR_PASSIVE | Interrupt::BUS_ERROR) != 0
    }
}

/// A running controller, which accepts all frames.
#[derive(Debug)]
pub struct Sja1000<R> {
    registers: R,
}

impl<R: Registers> Sja1000<R> {
    /// Resets a controller, sets it up and connects it to the bus.
    ///
    /// # Errors
    /// [`Silent`], for example if there is no controller at these registers.
    pub fn start(registers: R, timing: BitTiming, wiring: Wiring) -> Result<Self, Silent> {
        let mut this = Self { registers };
        this.reset()?;
        this.write(number::CLOCK_DIVIDER, registers::PELICAN | wiring.clock_divider);
        this.write(number::INTERRUPT_ENABLE, 0);
        // A mask of ones compares nothing.
        for byte in 0..4 {
            this.write(number::ACCEPTANCE_CODE + byte, 0);
            this.write(number::ACCEPTANCE_MASK + byte, 0xFF);
        }
        this.write(number::BUS_TIMING_0, timing.register_0());
        this.write(number::BUS_TIMING_1, timing.register_1());
        this.write(number::OUTPUT_CONTROL, wiring.output_control);
        this.write(number::RECEIVE_ERRORS, 0);
        this.write(number::TRANSMIT_ERRORS, 0);
        // Reading clears what was left from before.
        this.interrupts();
        this.write(number::INTERRUPT_ENABLE, Enable::ALL_BUT_BIT_ERRORS);
        this.connect()?;
        Ok(this)
    }

    /// Disconnects the controller from the bus. Frames in its buffers are lost, and interrupts are off.
    ///
    /// # Errors
    /// [`Silent`]
    pub fn stop(mut self) -> Result<R, Silent> {
        self.write(number::INTERRUPT_ENABLE, 0);
        self.reset()?;
        self.interrupts();
        Ok(self.registers)
    }

    /// Connects it again after bus-off. It takes part after 128 sequences of 11 recessive bits, which the controller
    /// counts by itself. A frame in the transmit buffer is lost.
    ///
    /// # Errors
    /// [`Silent`]
    pub fn recover(&mut self) -> Result<(), Silent> {
        self.connect()
    }

    /// What has happened since the last call. Reading withdraws the interrupt, except for frames in the FIFO.
    #[inline]
    pub fn interrupts(&mut self) -> Events {
        Events(self.registers.read(number::INTERRUPT))
    }

    /// Takes the oldest frame from the FIFO.
    #[inline]
    pub fn receive(&mut self) -> Option<[u8; FRAME_BYTES]> {
        if self.status() & Status::RECEIVED == 0 {
            return None;
        }
        let frame = self.oldest();
        self.write(number::COMMAND, Command::RELEASE_RECEIVED);
        Some(frame)
    }

    /// Makes the controller report the next overrun, too.
    pub fn clear_overrun(&mut self) {
        self.write(number::COMMAND, Command::CLEAR_OVERRUN);
    }

    /// Returns true if the transmit buffer is free.
    #[inline]
    pub fn has_room(&mut self) -> bool {
        self.status() & Status::ROOM != 0
    }

    /// Sends a frame as soon as the bus is free. The transmit buffer must be [free](Self::has_room): a locked one
    /// ignores what is written. Lengths above 8 are raw DLCs of frames with 8 bytes.
    #[inline]
    pub fn send(&mut self, frame: &[u8; FRAME_BYTES]) {
        let layout = Layout::of_frame(frame);
        self.write(number::FRAME, layout.information());
        for (register, value) in layout.identifier_bytes(frame) {
            self.write(register, value);
        }
        for (register, value) in layout.data_registers().zip(&frame[8..]) {
            self.write(register, *value);
        }
        self.write(number::COMMAND, Command::TRANSMIT);
    }

    /// Returns true if the controller has left the bus, because 255 errors were counted on transmission.
    pub fn is_bus_off(&mut self) -> bool {
        self.status() & Status::BUS_OFF != 0
    }

    /// The error counters: of receptions and of transmissions.
    pub fn error_counters(&mut self) -> [u8; 2] {
        [number::RECEIVE_ERRORS, number::TRANSMIT_ERRORS].map(|counter| self.registers.read(counter))
    }

    #[inline]
    fn status(&mut self) -> u8 {
        self.registers.read(number::STATUS)
    }

    #[inline]
    fn oldest(&mut self) -> [u8; FRAME_BYTES] {
        let layout = Layout::of_information(self.registers.read(number::FRAME));
        let mut frame = layout.frame(|register| self.registers.read(register));
        for (register, value) in layout.data_registers().zip(&mut frame[8..]) {
            *value = self.registers.read(register);
        }
        frame
    }

    fn reset(&mut self) -> Result<(), Silent> {
        self.mode(Mode::RESET)
    }

    fn connect(&mut self) -> Result<(), Silent> {
        // QEMU 7.2 with one filter always compares the lowest three bits of an identifier of 11 bits.
        self.mode(Mode::OPERATING)
    }

    /// Writes the mode until the controller has it: it completes a frame of its own first.
    fn mode(&mut self, mode: u8) -> Result<(), Silent> {
        const TRIES: u32 = 100;
        for _ in 0..TRIES {
            self.write(number::MODE, mode);
            if self.registers.read(number::MODE) & (Mode::RESET | registers::NOT_IN_MODE) == mode & Mode::RESET {
                return Ok(());
            }
        }
        Err(Silent)
    }

    #[inline]
    fn write(&mut self, register: u8, value: u8) {
        self.registers.write(register, value);
    }
}
