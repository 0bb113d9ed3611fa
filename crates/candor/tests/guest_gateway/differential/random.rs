//! Random values from a seed. Strategies of proptest would take longer than the kernels.

use candor_core::filter::{CAN_INV_FILTER, Filter};
use candor_core::frame::{
    CAN_EFF_FLAG, CAN_EFF_MASK, CAN_ERR_FLAG, CAN_MAX_DLEN, CAN_RTR_FLAG, CAN_SFF_MASK, CANFD_FDF, CANFD_MAX_DLEN,
    FD_LENGTHS, Frame, FrameFormat, RawId,
};
use candor_core::ids::{Effort, IdRange, IdSet};
use candor_core::payload::PayloadPattern;
use candor_core::random::SplitMix64;
use candor_core::rule::{ChecksumSpan, Checksums, Crc8Checksum, Crc8Profile, Modifications, Operand, XorChecksum};

#[derive(Clone, Debug)]
pub(super) struct Random(SplitMix64);

impl Random {
    pub(super) const fn new(seed: u64, number: u64) -> Self {
        let seed = seed.wrapping_mul(0xD6E8_FEB8_6659_FD93) ^ number.wrapping_mul(0xA076_1D64_78BD_642F);
        Self(SplitMix64::new(seed))
    }

    /// Any frame that a socket can send: any identifier and flags, any raw DLC, any bytes beyond the length. Often one that
    /// matches one of these filters, or nearly.
    pub(super) fn frame(&mut self, filters: &[Filter]) -> Frame {
        let mut id = if filters.is_empty() || self.chance(40) { self.raw_id() } else { self.near(filters) };
        let mut data = self.bytes();
        if self.chance(50) {
            data[CAN_MAX_DLEN..].fill(0);
            let len = if self.chance(50) { 8 } else { self.below(9) };
            let len8_dlc = if self.chance(50) { 0 } else { self.below(21) };
            return Frame { format: FrameFormat::Classic, id: RawId(id), len, len8_dlc, flags: 0, data };
        }
        if self.chance(75) {
            id &= !CAN_RTR_FLAG;
        }
        let len = if self.chance(75) { self.pick(&FD_LENGTHS) } else { self.below(65) };
        let flags = CANFD_FDF | if self.chance(75) { self.below(4) } else { self.byte() };
        Frame { format: FrameFormat::Fd, id: RawId(id), len, len8_dlc: 0, flags, data }
    }

    /// Any filter, those for error frames, inverted and malformed ones included.
    pub(super) fn filter(&mut self) -> Filter {
        let exact = CAN_EFF_FLAG | CAN_RTR_FLAG;
        let mask = match self.below(20) {
            0..=5 => 0,
            6..=9 => CAN_SFF_MASK | exact,
            10..=13 => CAN_EFF_MASK | exact,
            14..=15 => CAN_SFF_MASK,
            16 => CAN_ERR_FLAG | CAN_EFF_MASK,
            17 => self.word() & self.word() & self.word(),
            _ => self.word(),
        };
        let inverted = if self.chance(25) { CAN_INV_FILTER } else { 0 };
        Filter { id: self.raw_id() & !CAN_INV_FILTER | inverted, mask }
    }

    /// The filters of a list of identifiers and ranges, or of all others.
    pub(super) fn list(&mut self) -> Vec<Filter> {
        let effort = &mut Effort::new(100_000);
        let ranges = (0..self.between(1, 4)).map(|_| {
            let is_extended = self.chance(40);
            let most = if is_extended { CAN_EFF_MASK } else { CAN_SFF_MASK };
            let first = self.raw_id() & most;
            let length = if self.chance(50) { 0 } else { u32::from(self.byte()) };
            IdRange { is_extended, first, last: (first + length).min(most) }
        });
        let listed = IdSet::of_ranges(ranges.collect(), effort).unwrap();
        let set = if self.chance(75) {
            listed
        } else {
            IdSet::of_filter(Filter::ALL).unwrap().difference(&listed, effort).unwrap()
        };
        set.filters(1_000).unwrap()
    }

    /// Values of a byte; often any payload.
    pub(super) fn payload(&mut self, format: FrameFormat) -> Vec<PayloadPattern> {
        let patterns = if self.chance(80) { 0 } else { self.between(1, 2) };
        let pattern = |_| {
            let mut pattern = PayloadPattern { mask: [0; CANFD_MAX_DLEN], value: [0; CANFD_MAX_DLEN] };
            let at = self.between(0, format.max_len().min(12) - 1);
            // Several parts of a digit are written as a multiplexer, which these would not be.
            pattern.mask[at] = if patterns == 1 { self.pick(&[0x01, 0x80, 0xFF]) } else { self.pick(&[0x0F, 0xFF]) };
            pattern.value[at] = pattern.mask[at] & self.pick(&[0, 0xFF]);
            pattern
        };
        (0..patterns).map(pattern).collect()
    }

    /// Any modifications that a job of this format can have; often none.
    pub(super) fn modifications(&mut self, format: FrameFormat) -> Modifications {
        if self.chance(30) {
            return Modifications::NONE;
        }
        let mut operand = || Operand {
            id: self.chance(25).then(|| self.raw_id()),
            len: self.chance(25).then(|| if self.chance(85) { self.below(17) } else { self.byte() }),
            flags: (format == FrameFormat::Fd && self.chance(25)).then(|| self.byte()),
            data: self.chance(25).then(|| {
                let mut data = self.bytes();
                data[format.max_len()..].fill(0);
                data
            }),
        };
        Modifications { and: operand(), or: operand(), xor: operand(), set: operand() }
    }

    /// Any checksums that a job of this format can have; often none. Jobs without modifications ignore them.
    pub(super) fn checksums(&mut self, format: FrameFormat) -> Checksums {
        let crc8 = self.chance(40).then(|| {
            let mut sixteen = [0; 16];
            sixteen.fill_with(|| self.byte());
            let profile = match self.below(4) {
                0 => Crc8Profile::None,
                1 => Crc8Profile::Byte(self.byte()),
                2 => Crc8Profile::ByteByCounter(sixteen),
                _ => Crc8Profile::IdXor,
            };
            let mut table = [0; 256];
            table.fill_with(|| self.byte());
            Crc8Checksum { span: self.span(format), init: self.byte(), final_xor: self.byte(), table, profile }
        });
        let xor = self.chance(40).then(|| XorChecksum { span: self.span(format), init: self.byte() });
        Checksums { crc8, xor }
    }

    /// True with this probability.
    pub(super) fn chance(&mut self, percent: u64) -> bool {
        self.next() % 100 < percent
    }

    /// A number below the limit.
    pub(super) fn below(&mut self, limit: u8) -> u8 {
        u8::try_from(self.next() % u64::from(limit)).unwrap()
    }

    /// A number between these, both included.
    pub(super) fn between(&mut self, least: usize, most: usize) -> usize {
        let span = u64::try_from(most - least + 1).unwrap();
        least + usize::try_from(self.next() % span).unwrap()
    }

    pub(super) fn pick<T: Copy>(&mut self, choices: &[T]) -> T {
        choices[self.between(0, choices.len() - 1)]
    }

    fn span(&mut self, format: FrameFormat) -> ChecksumSpan {
        // Positions near both ends meet frames of all lengths; those from the start are half of them.
        let len = i8::try_from(format.max_len()).unwrap();
        let mut position = || {
            let limit = if self.chance(50) { 8 } else { len };
            i8::try_from(self.between(0, usize::try_from(2 * i16::from(limit) - 1).unwrap()))
                .map_or_else(|_beyond| -limit, |at| at - limit)
        };
        let span = ChecksumSpan { from: position(), to: position(), result: position() };
        if self.chance(40) { from_the_start(span) } else { span }
    }

    /// An identifier that matches one of the filters, or differs in one bit.
    fn near(&mut self, filters: &[Filter]) -> u32 {
        let Filter { id, mask } = self.pick(filters);
        let error = if mask & CAN_ERR_FLAG == 0 { 0 } else { CAN_ERR_FLAG };
        let noise = if self.chance(50) { self.word() & !mask & !CAN_ERR_FLAG } else { 0 };
        let off = if self.chance(10) { 1 << self.below(29) } else { 0 };
        (id & !CAN_INV_FILTER | noise | error) ^ off
    }

    /// Few identifiers with many flags, so that filters often match.
    fn raw_id(&mut self) -> u32 {
        let bits = match self.below(7) {
            0 => self.word(),
            _ => self.pick(&[0, 0x123, 0x124, 0x7FF, 0x800, 0x1234_5678, 0x1FFF_FFFF]),
        };
        let flags = match self.below(11) {
            0..=3 => 0,
            4..=7 => CAN_EFF_FLAG,
            8 => CAN_RTR_FLAG,
            9 => CAN_EFF_FLAG | CAN_RTR_FLAG,
            _ => CAN_ERR_FLAG,
        };
        bits & CAN_EFF_MASK | flags
    }

    /// Zeros, ones, both, or noise.
    fn bytes(&mut self) -> [u8; CANFD_MAX_DLEN] {
        let style = self.below(4);
        let mut bytes = [0; CANFD_MAX_DLEN];
        for word in bytes.chunks_exact_mut(8) {
            let noise = self.next();
            word.copy_from_slice(&match style {
                0 => [0; 8],
                1 => [0xFF; 8],
                2 => (noise & self.next() & self.next()).to_le_bytes(),
                _ => noise.to_le_bytes(),
            });
        }
        bytes
    }

    fn byte(&mut self) -> u8 {
        self.next().to_le_bytes()[7]
    }

    fn word(&mut self) -> u32 {
        let [_, _, _, _, bytes @ ..] = self.next().to_le_bytes();
        u32::from_le_bytes(bytes)
    }

    fn next(&mut self) -> u64 {
        self.0.next_u64()
    }
}

/// The same distances from the start instead of from the end.
pub(super) fn from_the_start(span: ChecksumSpan) -> ChecksumSpan {
    let position = |at: i8| if at < 0 { -(at + 1) } else { at };
    ChecksumSpan { from: position(span.from), to: position(span.to), result: position(span.result) }
}
