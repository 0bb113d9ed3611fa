//! The second processor, which Linux does not use, and its memory.

use std::fs::File;
use std::io;
use std::os::unix::fs::FileExt as _;

use candor_bare::{Parameters, Report, memory};
use candor_io::guest::Registers;
use object::LittleEndian;
use object::elf::{FileHeader64, PT_LOAD};
use object::read::elf::{FileHeader as _, ProgramHeader as _};

use super::BareMetalError;

/// The interrupt controller of the processor that writes to it.
const LOCAL: u32 = 0xFEE0_0000;

/// Registers of the interrupt controller by which a processor interrupts another.
mod command {
    /// Lower half; writing it sends.
    pub(super) const LOW: usize = 0x300 / 4;
    /// Upper half: the other processor.
    pub(super) const HIGH: usize = 0x310 / 4;
    /// INIT: the processor waits for the start.
    pub(super) const RESET: u32 = 0xC500;
    /// The end of INIT, for old processors.
    pub(super) const RESET_ENDS: u32 = 0x8500;
    /// SIPI: the processor starts at a page below 1 MiB.
    pub(super) const START: u32 = 0x4600;
    /// An interrupt with any vector wakes the program.
    pub(super) const WAKE: u32 = 0x4041;
}

/// Number of the second processor's interrupt controller.
const SECOND: u32 = 1 << 24;

#[derive(Debug)]
pub(super) struct Processor {
    memory: File,
    local: Registers,
}

impl Processor {
    pub(super) fn open() -> Result<Self, BareMetalError> {
        let memory = File::options().read(true).write(true).open("/dev/mem").map_err(unusable("/dev/mem"))?;
        let local = Registers::map(LOCAL).map_err(unusable("the interrupt controller"))?;
        Ok(Self { memory, local })
    }

    /// Puts the program and its parameters into memory, and clears the report.
    pub(super) fn load(&self, program: &[u8], parameters: &Parameters) -> Result<(), BareMetalError> {
        let no_program = |error: object::Error| BareMetalError::NoProgram(error.to_string());
        let header = FileHeader64::<LittleEndian>::parse(program).map_err(no_program)?;
        let endian = header.endian().map_err(no_program)?;
        for segment in header.program_headers(endian, program).map_err(no_program)? {
            if segment.p_type(endian) != PT_LOAD {
                continue;
            }
            let (start, bytes) = (segment.p_paddr(endian), segment.p_memsz(endian));
            if !belongs_to_program(start, bytes) {
                return Err(BareMetalError::NoProgram(format!("it has memory at {start:#x}")));
            }
            let data = segment.data(endian, program).map_err(|()| BareMetalError::NoProgram("it is cut".to_owned()))?;
            self.write(start, data)?;
            let rest = bytes.saturating_sub(data.len() as u64);
            self.clear(start + data.len() as u64, rest)?;
        }
        self.clear(memory::REPORT, Report::BYTES as u64)?;
        self.write(memory::PARAMETERS, &parameters.to_bytes())
    }

    pub(super) fn start(&mut self) {
        self.reset();
        let page = u32::try_from(memory::TRAMPOLINE >> 12).unwrap_or_default();
        self.send(command::START | page);
    }

    /// The processor executes nothing until it is started again.
    pub(super) fn reset(&mut self) {
        self.send(command::RESET);
        self.send(command::RESET_ENDS);
    }

    pub(super) fn ask_to_stop(&mut self) -> Result<(), BareMetalError> {
        self.write(memory::REPORT + 8 * Report::STOP as u64, &1_u64.to_le_bytes())?;
        self.send(command::WAKE);
        Ok(())
    }

    pub(super) fn report(&self) -> Result<Report, BareMetalError> {
        let mut bytes = [0; Report::BYTES];
        self.memory.read_exact_at(&mut bytes, memory::REPORT).map_err(unusable("/dev/mem"))?;
        Ok(Report::of_bytes(&bytes).unwrap_or_else(|| unreachable!("the bytes of a report")))
    }

    fn send(&mut self, what: u32) {
        self.local.write(command::HIGH, SECOND);
        self.local.write(command::LOW, what);
    }

    fn write(&self, start: u64, bytes: &[u8]) -> Result<(), BareMetalError> {
        self.memory.write_all_at(bytes, start).map_err(unusable("/dev/mem"))
    }

    fn clear(&self, start: u64, bytes: u64) -> Result<(), BareMetalError> {
        self.write(start, &vec![0; usize::try_from(bytes).unwrap_or_default()])
    }
}

fn belongs_to_program(start: u64, bytes: u64) -> bool {
    let is_in = |first: u64, size: u64| start >= first && bytes <= size && start - first <= size - bytes;
    is_in(memory::TRAMPOLINE, memory::TRAMPOLINE_BYTES) || is_in(memory::PROGRAM, memory::PARAMETERS - memory::PROGRAM)
}

fn unusable(what: &'static str) -> impl FnOnce(io::Error) -> BareMetalError {
    move |source| BareMetalError::Memory { what, source }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn programs_for_other_places_are_refused() {
        for (start, bytes, is_fine) in [
            (memory::TRAMPOLINE, 0x26, true),
            (memory::TRAMPOLINE, 0x1001, false),
            (memory::PROGRAM, 0x81_9000, true),
            (memory::PROGRAM + 0xBF_F000, 0x1001, false),
            (0x40_0000, 0x1000, false),
            (u64::MAX, 1, false),
        ] {
            assert_eq!(belongs_to_program(start, bytes), is_fine, "{start:#x}");
        }
    }
}
