//! Processors of guests.

use object::Architecture;
use serde::{Deserialize, Serialize};

names! {
    #[derive(Default, Serialize, Deserialize)]
    pub enum Arch {
        /// That of the machines on which the laboratory runs.
        #[default]
        #[serde(rename = "x86-64")]
        X86_64 = "x86-64",
        #[serde(rename = "arm64")]
        Arm64 = "arm64",
    }
}

impl Arch {
    /// True for the processor of this machine, whose programs and libraries its guests can use.
    pub const fn is_here(&self) -> bool {
        matches!(self, Self::X86_64)
    }

    /// In names of Debian packages.
    pub(crate) const fn debian(self) -> &'static str {
        match self {
            Self::X86_64 => "amd64",
            Self::Arm64 => "arm64",
        }
    }

    /// Name of Debian's directories for libraries.
    pub(crate) const fn libraries(self) -> &'static str {
        match self {
            Self::X86_64 => "x86_64-linux-gnu",
            Self::Arm64 => "aarch64-linux-gnu",
        }
    }

    /// Rust's target for static programs.
    pub(crate) const fn target(self) -> &'static str {
        match self {
            Self::X86_64 => "x86_64-unknown-linux-musl",
            Self::Arm64 => "aarch64-unknown-linux-musl",
        }
    }

    /// The architecture as named in ELF files.
    pub(crate) const fn of_programs(self) -> Architecture {
        match self {
            Self::X86_64 => Architecture::X86_64,
            Self::Arm64 => Architecture::Aarch64,
        }
    }
}
