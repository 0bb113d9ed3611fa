use object::elf;

/// From the header of an ELF file.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Architecture {
    pub(super) name: &'static str,
    /// Prefixes of `uname -m`.
    machines: &'static [&'static str],
    pub(super) needs_libraries: bool,
}

impl Architecture {
    /// `None` if it is not an ELF file, or for another architecture.
    pub(super) fn of(bytes: &[u8]) -> Option<Self> {
        let (name, machines): (_, &[&str]) = match elf_machine(bytes)? {
            elf::EM_386 => ("i686", &["i386", "i486", "i586", "i686", "x86_64"]),
            elf::EM_AARCH64 => ("aarch64", &["aarch64"]),
            elf::EM_ARM => ("arm", &["arm"]),
            elf::EM_MIPS => ("mips", &["mips"]),
            elf::EM_PPC => ("ppc", &["ppc"]),
            elf::EM_PPC64 => ("ppc64", &["ppc64"]),
            elf::EM_RISCV => ("riscv", &["riscv"]),
            elf::EM_X86_64 => ("x86_64", &["x86_64"]),
            _ => return None,
        };
        Some(Self { name, machines, needs_libraries: needs_libraries(bytes) })
    }

    pub(super) fn runs_on(self, machine: &str) -> bool {
        self.machines.iter().any(|known| machine.starts_with(known))
    }
}

/// `e_machine` has the same offset in 32-bit and 64-bit files.
fn elf_machine(bytes: &[u8]) -> Option<elf::Machine> {
    let machine = bytes.get(18..20)?.try_into().ok()?;
    let is_elf = bytes.get(..4)? == elf::ELFMAG;
    match elf::DataEncoding(*bytes.get(5)?) {
        elf::ELFDATA2LSB if is_elf => Some(elf::Machine(u16::from_le_bytes(machine))),
        elf::ELFDATA2MSB if is_elf => Some(elf::Machine(u16::from_be_bytes(machine))),
        _ => None,
    }
}

/// Whether the program has an interpreter (`PT_INTERP`).
fn needs_libraries(bytes: &[u8]) -> bool {
    use object::read::elf::{ElfFile32, ElfFile64, ProgramHeader as _};

    if let Ok(file) = ElfFile64::<object::Endianness>::parse(bytes) {
        return file.elf_program_headers().iter().any(|header| header.p_type(file.endian()) == elf::PT_INTERP);
    }
    ElfFile32::<object::Endianness>::parse(bytes).is_ok_and(|file| {
        file.elf_program_headers().iter().any(|header| header.p_type(file.endian()) == elf::PT_INTERP)
    })
}

/// Rust target of a static program for `uname -m`.
pub(super) fn target_of(machine: &str) -> String {
    match machine {
        "armv7l" => "armv7-unknown-linux-musleabihf".to_owned(),
        "armv6l" => "arm-unknown-linux-musleabihf".to_owned(),
        "riscv64" => "riscv64gc-unknown-linux-musl".to_owned(),
        other => format!("{other}-unknown-linux-musl"),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn elf(machine: elf::Machine, order: elf::DataEncoding) -> Vec<u8> {
        let mut bytes = vec![0; 64];
        bytes[..4].copy_from_slice(&elf::ELFMAG);
        bytes[5] = order.0;
        let machine = if order == elf::ELFDATA2LSB { machine.0.to_le_bytes() } else { machine.0.to_be_bytes() };
        bytes[18..20].copy_from_slice(&machine);
        bytes
    }

    #[test]
    fn programs_run_on_their_machines() {
        for (machine, order, runs_on, does_not) in [
            (elf::EM_X86_64, elf::ELFDATA2LSB, "x86_64", "aarch64"),
            (elf::EM_ARM, elf::ELFDATA2LSB, "armv7l", "aarch64"),
            (elf::EM_PPC, elf::ELFDATA2MSB, "ppc", "x86_64"),
            (elf::EM_386, elf::ELFDATA2LSB, "i686", "armv7l"),
        ] {
            let architecture = Architecture::of(&elf(machine, order)).unwrap();
            assert!(architecture.runs_on(runs_on) && !architecture.runs_on(does_not), "{architecture:?}");
        }
        assert_eq!(Architecture::of(b"#!/bin/sh"), None);
        assert_eq!(Architecture::of(&elf(elf::Machine(0xFFFF), elf::ELFDATA2LSB)), None);
        assert!(Architecture::of(&std::fs::read("/bin/sh").unwrap()).unwrap().needs_libraries);
    }

    #[test]
    fn targets_have_the_names_that_cargo_knows() {
        assert_eq!(target_of("aarch64"), "aarch64-unknown-linux-musl");
        assert_eq!(target_of("armv7l"), "armv7-unknown-linux-musleabihf");
    }
}
