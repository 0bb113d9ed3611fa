//! Checksums and counters of protections, against the same steps in simple code.

use std::any::Any;
use std::sync::atomic::{AtomicU32, Ordering};

use candor_core::arbitrary;
use candor_core::frame::{CANFD_MAX_DLEN, Frame, FrameFormat};
use candor_core::job::{Compute, Computed, CounterInByte, Seen as SeenFrame, Steps};
use candor_core::rule::{
    ChecksumSpan, Checksums, Crc8Checksum, Crc8Profile, Modifications, Operand, Verdict, XorChecksum, change,
};
use proptest::collection::vec;
use proptest::option;
use proptest::prelude::*;

use super::{Buffer, Maps, bytes, machine, plain};
use crate::gateway::{BusIndex, CompileError, Generation, Job, Map, RouteIndex, compile};

#[derive(Debug)]
struct Slow {
    steps: Steps,
    next: AtomicU32,
}

impl Compute for Slow {
    fn change(&self, seen: SeenFrame, payload: &mut [u8]) -> Verdict {
        if !seen.id.carries_data() {
            return Verdict::Send;
        }
        if payload.len() != usize::from(self.steps.len) {
            return Verdict::Delete;
        }
        if let Some(CounterInByte { byte, shift, mask, min, max, is_own }) = self.steps.counter {
            let byte = &mut payload[usize::from(byte)];
            if is_own {
                let next = self.next.load(Ordering::Relaxed);
                let after = if next == max.into() { min.into() } else { next + 1 };
                self.next.store(after, Ordering::Relaxed);
                *byte = *byte & !mask | u8::try_from(next).unwrap() << shift;
            } else if !(min..=max).contains(&((*byte & mask) >> shift)) {
                return Verdict::Delete;
            }
        }
        let mut data = [0; CANFD_MAX_DLEN];
        data[..payload.len()].copy_from_slice(payload);
        let mut frame =
            Frame { format: FrameFormat::Fd, id: seen.id, len: self.steps.len, len8_dlc: 0, flags: 0, data };
        let nothing = Operand { id: Some(0), ..Operand::NONE };
        let verdict = change(&mut frame, &Modifications { or: nothing, ..Modifications::NONE }, &self.steps.checksums);
        payload.copy_from_slice(frame.payload());
        verdict
    }

    fn equals(&self, other: &dyn Any) -> bool {
        other.downcast_ref::<Self>().is_some_and(|other| self.steps == other.steps)
    }

    fn steps(&self) -> Option<Steps> {
        Some(self.steps)
    }
}

/// Bits next to each other, and two of their values.
fn counter(len: u8) -> impl Strategy<Value = CounterInByte> {
    (0..len, 0..8_u8, 1..=8_u8, any::<[u8; 2]>(), any::<bool>()).prop_map(|(byte, shift, bits, ends, is_own)| {
        let bits = bits.min(8 - shift);
        let mask = u8::MAX >> (8 - bits) << shift;
        let [min, max] = ends.map(|end| end & mask >> shift);
        CounterInByte { byte, shift, mask, min: min.min(max), max: min.max(max), is_own }
    })
}

fn checksums(len: u8) -> impl Strategy<Value = Checksums> {
    let place = move || (0..len).prop_map(|at| i8::try_from(at).unwrap());
    let span = move || (place(), place(), place()).prop_map(|(from, to, result)| ChecksumSpan { from, to, result });
    let profile = prop_oneof![
        Just(Crc8Profile::None),
        any::<u8>().prop_map(Crc8Profile::Byte),
        any::<[u8; 16]>().prop_map(Crc8Profile::ByteByCounter),
        Just(Crc8Profile::IdXor),
    ];
    let table = any::<u8>().prop_map(|factor| {
        let mut value = 0_u8;
        [(); 256].map(|()| {
            value = value.wrapping_mul(5).wrapping_add(factor | 1);
            value
        })
    });
    let crc8 = (span(), any::<[u8; 2]>(), table, profile)
        .prop_map(|(span, [init, final_xor], table, profile)| Crc8Checksum { span, init, final_xor, table, profile });
    let xor = (span(), any::<u8>()).prop_map(|(span, init)| XorChecksum { span, init });
    (option::of(crc8), option::of(xor)).prop_map(|(crc8, xor)| Checksums { crc8, xor })
}

fn steps() -> impl Strategy<Value = Steps> {
    (2..=8_u8).prop_flat_map(|len| {
        (option::of(counter(len)), checksums(len)).prop_map(move |(counter, checksums)| Steps {
            len,
            counter,
            checksums,
        })
    })
}

fn protecting(steps: Steps, job: Job) -> Job {
    let next = steps.counter.map_or(0, |counter| counter.min.into());
    Job { protected: Some(Computed::new(Slow { steps, next: AtomicU32::new(next) })), ..job }
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 1500, max_shrink_iters: 20_000, ..ProptestConfig::default() })]

    #[test]
    fn programs_protect_as_the_steps_say(
        steps in steps(),
        job in arbitrary::user_space_job(2).boxed(),
        frames in vec(arbitrary::wire_frame(), 40),
        is_changed in any::<bool>(),
    ) {
        let (from, to, send_as) = (BusIndex(0), BusIndex(1), None);
        let modifications = if is_changed { job.modifications } else { Modifications::NONE };
        let job = protecting(steps, Job { from, to, send_as, modifications, ..job });
        let jobs = [job.clone()];
        let filters = compile(&jobs, from, job.format.into(), Generation::Odd, |_route| true, &[]).unwrap();
        let mut maps = Maps::new(&filters.maps);
        let mut deleted = 0;
        // Half of them have the length.
        for (number, mut frame) in frames.into_iter().enumerate() {
            if number % 2 == 0 {
                frame.len = steps.len;
            }
            if frame.format != job.format || !job.filter.normalise().matches(frame.id) {
                continue;
            }
            let mut buffer = Buffer { frame: bytes(&frame), control_block: [0; 20], mark: [0; 4], clocks: [0; 2] };
            let mut is_sent = false;
            for filter in &filters.filters {
                let program = filter.program.with_maps(machine::descriptor);
                is_sent |= machine::run(&program, &mut buffer, &mut maps).0 == 1;
            }
            if !job.takes(&frame) {
                prop_assert!(!is_sent);
                continue;
            }
            let (expected, verdict) = job.apply(&frame);
            prop_assert_eq!(is_sent, verdict == Verdict::Send, "{} by {:?}", frame, steps);
            if is_sent {
                prop_assert_eq!(Frame::from_kernel(&buffer.frame).unwrap(), expected, "{} by {:?}", frame, steps);
            } else {
                deleted += 1;
            }
        }
        let place = filters.maps.iter().position(|map| matches!(map, Map::Deleted(_))).unwrap();
        prop_assert_eq!(maps.numbers(place), [deleted]);
    }
}

#[test]
fn an_own_counter_begins_where_its_map_says_and_goes_round() {
    let counter = CounterInByte { byte: 1, shift: 4, mask: 0xF0, min: 1, max: 14, is_own: true };
    let steps = Steps { len: 2, counter: Some(counter), checksums: Checksums::NONE };
    let jobs = [protecting(steps, Job { route: RouteIndex(7), ..plain(1, "123:7FF") })];
    let filters =
        compile(&jobs, BusIndex(0), FrameFormat::Classic.into(), Generation::Even, |_route| true, &[]).unwrap();
    let mut maps = Maps::new(&filters.maps);
    maps.set(filters.maps.iter().position(|map| *map == Map::Counter(RouteIndex(7))).unwrap(), 12);
    let mut sent = |frame: &str| {
        let frame = bytes(&frame.parse().unwrap());
        let mut buffer = Buffer { frame, control_block: [0; 20], mark: [0; 4], clocks: [0; 2] };
        let (answer, _) =
            machine::run(&filters.filters[0].program.with_maps(machine::descriptor), &mut buffer, &mut maps);
        (answer, buffer.frame[9])
    };
    assert_eq!(sent("123#AABB"), (1, 0xDB));
    assert_eq!(sent("123#AA"), (0, 0), "the length does not fit");
    assert_eq!(sent("123#R2"), (1, 0), "a remote frame has no payload");
    assert_eq!(sent("123#AABB"), (1, 0xEB));
    assert_eq!(sent("123#AABB"), (1, 0x1B));
}

#[test]
fn a_protection_of_more_steps_is_refused() {
    #[derive(Debug)]
    struct More;
    impl Compute for More {
        fn change(&self, _seen: SeenFrame, _payload: &mut [u8]) -> Verdict {
            Verdict::Send
        }
        fn equals(&self, other: &dyn Any) -> bool {
            other.is::<Self>()
        }
    }
    let jobs = [Job { protected: Some(Computed::new(More)), ..plain(1, "123") }];
    let compiled = compile(&jobs, BusIndex(0), FrameFormat::Classic.into(), Generation::Even, |_route| true, &[]);
    assert_eq!(compiled, Err(CompileError::Protection));
}
