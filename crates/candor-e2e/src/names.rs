//! Profiles and modes by name.

/// A profile of AUTOSAR E2E.
///
/// # Source
/// <https://www.autosar.org/fileadmin/standards/R23-11/FO/AUTOSAR_FO_PRS_E2EProtocol.pdf>
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[expect(missing_docs, reason = "their names")]
pub enum Profile {
    P01,
    P02,
    P04,
    P05,
    P06,
    P07,
    P11,
    P22,
}

impl Profile {
    /// All of them, in the order of their names.
    pub const ALL: [Self; 8] = [Self::P01, Self::P02, Self::P04, Self::P05, Self::P06, Self::P07, Self::P11, Self::P22];

    /// The profile with this name, for example `P01`.
    #[must_use]
    pub fn named(name: &str) -> Option<Self> {
        Self::ALL.into_iter().find(|profile| profile.name() == name)
    }

    /// Its name.
    #[must_use]
    pub const fn name(self) -> &'static str {
        match self {
            Self::P01 => "P01",
            Self::P02 => "P02",
            Self::P04 => "P04",
            Self::P05 => "P05",
            Self::P06 => "P06",
            Self::P07 => "P07",
            Self::P11 => "P11",
            Self::P22 => "P22",
        }
    }
}

impl core::fmt::Display for Profile {
    fn fmt(&self, f: &mut core::fmt::Formatter<'_>) -> core::fmt::Result {
        f.write_str(self.name())
    }
}

/// Which part of the Data-ID P01 and P11 protect.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub enum IdMode {
    /// Both bytes, the low one first (variant A).
    #[default]
    Both,
    /// The low byte if the counter is even, the high byte if it is odd (variant B). Only P01.
    Alternating,
    /// The low byte. Only P01.
    Low,
    /// The low byte; the low half of the high byte is in the frame (variant C). Up to 0xFFF.
    Nibble,
}

impl IdMode {
    /// All of them.
    pub const ALL: [Self; 4] = [Self::Both, Self::Alternating, Self::Low, Self::Nibble];

    /// The mode with this name, for example `nibble`.
    #[must_use]
    pub fn named(name: &str) -> Option<Self> {
        Self::ALL.into_iter().find(|mode| mode.name() == name)
    }

    /// Its name.
    #[must_use]
    pub const fn name(self) -> &'static str {
        match self {
            Self::Both => "both",
            Self::Alternating => "alternating",
            Self::Low => "low",
            Self::Nibble => "nibble",
        }
    }
}
