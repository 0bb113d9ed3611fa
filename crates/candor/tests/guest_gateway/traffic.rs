//! Random frames from a seed.

use candor_core::frame::{
    CAN_EFF_FLAG, CAN_RTR_FLAG, CANFD_FDF, CANFD_MAX_DLEN, FD_LENGTHS, Frame, FrameFormat, RawId,
};
use candor_core::random::SplitMix64;

/// The same seed gives the same frames everywhere.
#[derive(Clone, Debug)]
pub(crate) struct Traffic(SplitMix64);

impl Traffic {
    pub(crate) const fn from_seed(seed: u64) -> Self {
        Self(SplitMix64::new(seed))
    }

    /// A classic or FD frame as it could come from a bus; identifiers are often those that the rules name.
    pub(crate) fn frame(&mut self) -> Frame {
        if self.below(2) == 0 { self.classic() } else { self.fd() }
    }

    fn classic(&mut self) -> Frame {
        let remote = if self.below(8) == 0 { CAN_RTR_FLAG } else { 0 };
        let id = RawId(self.identifier() | remote);
        let dlc = self.byte() % 16;
        let mut data = [0; CANFD_MAX_DLEN];
        // All eight bytes, also beyond the length: rules change them, and show them when they make the frame longer.
        data[..8].fill_with(|| self.byte());
        let len8_dlc = if dlc > 8 { dlc } else { 0 };
        Frame { format: FrameFormat::Classic, id, len: dlc.min(8), len8_dlc, flags: 0, data }
    }

    fn fd(&mut self) -> Frame {
        let len = FD_LENGTHS[usize::from(self.byte() % 16)];
        let mut data = [0; CANFD_MAX_DLEN];
        data.fill_with(|| self.byte());
        let flags = CANFD_FDF | self.byte() & 3;
        Frame { format: FrameFormat::Fd, id: RawId(self.identifier()), len, len8_dlc: 0, flags, data }
    }

    fn identifier(&mut self) -> u32 {
        match self.below(4) {
            0 => self.below(0x800),
            1 => CAN_EFF_FLAG | self.below(0x2000_0000),
            2 => [0x123, 0x124, 0x200, 0x2AA, 0x300, 0x321][usize::from(self.byte() % 6)],
            _ => CAN_EFF_FLAG | [0x123, 0x18FE_F100, 0x1234_5678][usize::from(self.byte() % 3)],
        }
    }

    fn byte(&mut self) -> u8 {
        self.next().to_le_bytes()[7]
    }

    pub(crate) fn below(&mut self, limit: u32) -> u32 {
        u32::try_from(self.next() % u64::from(limit)).unwrap()
    }

    fn next(&mut self) -> u64 {
        self.0.next_u64()
    }
}
