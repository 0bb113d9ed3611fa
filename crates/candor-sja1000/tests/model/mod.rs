//! An SJA1000 in PeliCAN mode, from the data sheet: what its registers do, without time and bits.

use std::cell::RefCell;
use std::collections::VecDeque;
use std::rc::Rc;

use candor_sja1000::Registers;

const FIFO_BYTES: usize = 64;

const RESET: u8 = 1;
const RI: u8 = 1;
const TI: u8 = 2;
const EI: u8 = 4;
const DOI: u8 = 8;

/// A controller that tests and a driver share.
#[derive(Clone, Debug)]
pub(crate) struct Controller(Rc<RefCell<Chip>>);

#[derive(Debug)]
pub(crate) struct Chip {
    pub(crate) mode: u8,
    pub(crate) enable: u8,
    /// Without the bit for the FIFO.
    latched: u8,
    pub(crate) timing: [u8; 2],
    pub(crate) output: u8,
    pub(crate) divider: u8,
    pub(crate) acceptance: [u8; 8],
    pub(crate) errors: [u8; 2],
    pub(crate) fifo: VecDeque<Vec<u8>>,
    overrun: bool,
    pub(crate) bus_off: bool,
    /// The transmit buffer, and whether it is locked until its frame is on the bus.
    transmit: [u8; 13],
    locked: bool,
    /// Frames that are on the bus, as in the registers.
    pub(crate) sent: Vec<Vec<u8>>,
    /// If set, transmissions wait for [`Controller::complete`].
    pub(crate) slow: bool,
    /// Number of writes to the mode that have no effect.
    pub(crate) stubborn: u32,
}

impl Controller {
    /// After power-on: in reset mode and BasicCAN.
    pub(crate) fn new() -> Self {
        let chip = Chip {
            mode: RESET,
            enable: 0xFF,
            latched: 0,
            timing: [0xAA; 2],
            output: 0xAA,
            divider: 0,
            acceptance: [0xAA; 8],
            errors: [0; 2],
            fifo: VecDeque::new(),
            overrun: false,
            bus_off: false,
            transmit: [0; 13],
            locked: false,
            sent: Vec::new(),
            slow: false,
            stubborn: 0,
        };
        Self(Rc::new(RefCell::new(chip)))
    }

    pub(crate) fn look<T>(&self, look: impl FnOnce(&mut Chip) -> T) -> T {
        look(&mut self.0.borrow_mut())
    }

    /// A frame arrives from the bus, as in the registers.
    pub(crate) fn arrive(&self, frame: &[u8]) {
        self.look(|chip| {
            if chip.mode & RESET != 0 {
                return;
            }
            let used: usize = chip.fifo.iter().map(Vec::len).sum();
            if used + frame.len() > FIFO_BYTES {
                if !chip.overrun {
                    chip.latched |= DOI & chip.enable;
                }
                chip.overrun = true;
            } else {
                chip.fifo.push_back(frame.to_vec());
            }
        });
    }

    /// The frame in the transmit buffer is on the bus.
    pub(crate) fn complete(&self) {
        self.look(Chip::complete);
    }

    /// 255 errors: the controller leaves the bus.
    pub(crate) fn leave(&self) {
        self.look(|chip| {
            (chip.bus_off, chip.locked) = (true, false);
            chip.mode |= RESET;
            chip.latched |= EI & chip.enable;
        });
    }

    /// The interrupt pin.
    pub(crate) fn interrupts(&self) -> bool {
        self.look(|chip| chip.interrupt() != 0)
    }
}

impl Chip {
    fn interrupt(&self) -> u8 {
        self.latched | if self.fifo.is_empty() { 0 } else { RI & self.enable }
    }

    fn complete(&mut self) {
        assert!(self.locked, "nothing to transmit");
        let info = self.transmit[0];
        let header = if info & 0x80 == 0 { 3 } else { 5 };
        let data = if info & 0x40 == 0 { usize::from(info & 0xF).min(8) } else { 0 };
        self.sent.push(self.transmit[..header + data].to_vec());
        self.locked = false;
        self.latched |= TI & self.enable;
    }

    fn status(&self) -> u8 {
        u8::from(!self.fifo.is_empty())
            | u8::from(self.overrun) << 1
            | u8::from(!self.locked) << 2
            | u8::from(self.bus_off) << 7
    }

    fn command(&mut self, command: u8) {
        if command & 1 != 0 {
            assert!(self.mode & RESET == 0 && !self.locked, "transmission request in reset mode or of a locked buffer");
            self.locked = true;
            if !self.slow {
                self.complete();
            }
        }
        if command & 4 != 0 {
            assert!(self.fifo.pop_front().is_some(), "released an empty buffer");
        }
        if command & 8 != 0 {
            self.overrun = false;
        }
    }
}

impl Registers for Controller {
    fn read(&mut self, register: u8) -> u8 {
        self.look(|chip| match register {
            0 => chip.mode,
            2 => chip.status(),
            3 => {
                let interrupt = chip.interrupt();
                chip.latched = 0;
                interrupt
            }
            4 => chip.enable,
            14 | 15 => chip.errors[usize::from(register) - 14],
            16..=23 if chip.mode & RESET != 0 => chip.acceptance[usize::from(register) - 16],
            16..=28 => {
                let frame = chip.fifo.front().expect("reads from an empty buffer");
                *frame.get(usize::from(register) - 16).expect("reads behind the end of the frame")
            }
            29 => u8::try_from(chip.fifo.len()).unwrap(),
            31 => chip.divider,
            other => panic!("reads register {other}"),
        })
    }

    fn write(&mut self, register: u8, value: u8) {
        self.look(|chip| {
            let resets = chip.mode & RESET != 0;
            match register {
                0 if chip.stubborn > 0 => chip.stubborn -= 1,
                0 => {
                    if value & RESET != 0 {
                        chip.fifo.clear();
                        (chip.overrun, chip.locked) = (false, false);
                    } else if resets {
                        chip.bus_off = false;
                    }
                    chip.mode = value;
                }
                1 => chip.command(value),
                4 => chip.enable = value,
                6 | 7 if resets => chip.timing[usize::from(register) - 6] = value,
                8 if resets => chip.output = value,
                14 | 15 if resets => chip.errors[usize::from(register) - 14] = value,
                16..=23 if resets => chip.acceptance[usize::from(register) - 16] = value,
                16..=28 if !resets && !chip.locked => chip.transmit[usize::from(register) - 16] = value,
                31 => chip.divider = value,
                other => panic!("writes {value:02X} to register {other} in mode {:02X}", chip.mode),
            }
        });
    }
}
