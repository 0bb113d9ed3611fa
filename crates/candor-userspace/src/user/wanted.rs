//! Receive filters of a bus: as CAN_RAW filters, and as classic BPF programs for packet sockets.

use candor_config::plan::BusIndex;
use candor_core::filter::{Filter, Normalised, ReceiveList};
use candor_core::frame::{CAN_ERR_FLAG, FrameFormat};
use candor_core::job::Job;
use candor_io::packet::{Instruction, RingFormats};

use super::filters;

/// Longer programs cost more than the rule set, which filters anyway.
const MAX_COMPARED: usize = 32;

#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Wanted {
    /// For CAN_RAW sockets; empty if the bus is not a source.
    pub(super) filters: Vec<Filter>,
    /// Frame formats, for rings.
    pub(super) formats: RingFormats,
    pub(super) programs: Programs,
}

/// Filter programs of a ring. The narrow one costs every received frame and saves the gateway the frames that match no
/// job, so a ring uses it from the first such frame on.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Programs {
    /// Rejects frames that this process has sent. Empty if there are none to be received.
    pub(super) wide: Vec<Instruction>,
    /// Also rejects as many frames without a matching job as possible. Empty if that is not possible.
    pub(super) narrow: Vec<Instruction>,
}

impl Wanted {
    /// `own` is the mark of frames that this process sends to the bus with echo.
    pub(super) fn of(jobs: &[Job], from: BusIndex, own: Option<u32>) -> Self {
        let filters = filters::wanted(jobs, from);
        let has = |format| jobs.iter().any(|job| job.from == from && job.format == format);
        let formats = match (has(FrameFormat::Classic), has(FrameFormat::Fd)) {
            (true, false) => RingFormats::Classic,
            (false, true) => RingFormats::Fd,
            _ => RingFormats::Both,
        };
        let programs = Programs { wide: program(&[Filter::ALL], own), narrow: program(&filters, own) };
        Self { filters, formats, programs }
    }
}

/// `BPF_LD | BPF_W | BPF_ABS`: a word of the frame, or beyond [`AD_OFF`] something the kernel knows of it.
const LOAD: u16 = 0x20;
/// `BPF_ALU | BPF_AND | BPF_K`.
const AND: u16 = 0x54;
/// `BPF_JMP | BPF_JEQ | BPF_K`.
const EQUAL: u16 = 0x15;
/// `BPF_JMP | BPF_JSET | BPF_K`.
const ANY_OF: u16 = 0x45;
/// `BPF_RET | BPF_K`.
const RETURN: u16 = 0x06;
/// `BPF_MISC | BPF_TAX`.
const KEEP: u16 = 0x07;
/// `BPF_MISC | BPF_TXA`.
const RECALL: u16 = 0x87;
/// `SKF_AD_OFF`.
const AD_OFF: u32 = 0xFFFF_F000;
/// `SKF_AD_MARK`.
const AD_MARK: u32 = 20;
/// Accepts the whole frame.
const TAKE: u32 = u32::MAX;
const PASS_OVER: u32 = 0;

/// Rejects frames with this mark, where the mask has bits, and accepts all others; for CAN_RAW sockets.
pub(super) fn not_marked(mark: u32, mask: u32) -> Vec<Instruction> {
    vec![load(AD_OFF + AD_MARK), step(AND, mask), when(EQUAL, mark, 0, 1), end(PASS_OVER), end(TAKE)]
}

/// Optimised for accepted frames, because those are the cost: one load of the identifier, and one comparison for each
/// filter before the one that matches. The receivers ignore anything that is not a CAN frame.
fn program(filters: &[Filter], own: Option<u32>) -> Vec<Instruction> {
    let mut program = Vec::new();
    if let Some(mark) = own {
        program.extend([load(AD_OFF + AD_MARK), when(EQUAL, mark, 0, 1), end(PASS_OVER)]);
    }
    let filters: Vec<Normalised> = filters.iter().map(|filter| filter.normalise()).collect();
    if filters.len() > MAX_COMPARED || filters.iter().any(|filter| filter.list == ReceiveList::All) {
        // No program at all is the fastest filter.
        if own.is_some() {
            program.push(end(TAKE));
        }
        return program;
    }
    program.extend([load(0), step(KEEP, 0)]);
    let is_one_of = |lists: &'static [ReceiveList]| filters.iter().filter(|filter| lists.contains(&filter.list));
    for Normalised { id, mask, .. } in is_one_of(&[ReceiveList::Masked, ReceiveList::Exact]) {
        // Error frames match only their own filters.
        let mask = mask | CAN_ERR_FLAG;
        program.extend([step(AND, loaded(mask)), when(EQUAL, loaded(*id), 0, 1), end(TAKE), step(RECALL, 0)]);
    }
    let classes = is_one_of(&[ReceiveList::Error]).fold(0, |classes, filter| classes | filter.mask);
    program.extend([when(ANY_OF, loaded(CAN_ERR_FLAG), 0, 3)]);
    program.extend([when(ANY_OF, loaded(classes), 0, 1), end(TAKE), end(PASS_OVER)]);
    for Normalised { id, mask, .. } in is_one_of(&[ReceiveList::Inverted]) {
        program.extend([step(AND, loaded(*mask)), when(EQUAL, loaded(*id), 1, 0), end(TAKE), step(RECALL, 0)]);
    }
    program.push(end(PASS_OVER));
    program
}

/// A word of a frame as BPF loads it: big-endian.
const fn loaded(word: u32) -> u32 {
    u32::from_be_bytes(word.to_ne_bytes())
}

const fn step(code: u16, operand: u32) -> Instruction {
    Instruction { code, if_true: 0, if_false: 0, operand }
}

const fn load(place: u32) -> Instruction {
    step(LOAD, place)
}

const fn when(code: u16, operand: u32, if_true: u8, if_false: u8) -> Instruction {
    Instruction { code, if_true, if_false, operand }
}

const fn end(value: u32) -> Instruction {
    step(RETURN, value)
}

#[cfg(test)]
mod tests {
    use candor_core::frame::{CAN_EFF_FLAG, CAN_RTR_FLAG, RawId};
    use proptest::prelude::*;

    use super::*;

    struct Seen {
        id: u32,
        mark: u32,
    }

    /// The subset of the kernel's BPF interpreter that these programs use.
    fn takes(program: &[Instruction], seen: &Seen) -> bool {
        let (mut a, mut x, mut at) = (0, 0, 0);
        if program.is_empty() {
            return true;
        }
        loop {
            let Instruction { code, if_true, if_false, operand } = program[at];
            at += 1;
            let holds = match code {
                LOAD if operand == 0 => return_to(&mut a, loaded(seen.id)),
                LOAD if operand == AD_OFF + AD_MARK => return_to(&mut a, seen.mark),
                AND => {
                    let both = a & operand;
                    return_to(&mut a, both)
                }
                KEEP => return_to(&mut x, a),
                RECALL => return_to(&mut a, x),
                EQUAL => Some(a == operand),
                ANY_OF => Some(a & operand != 0),
                RETURN => return operand != 0,
                other => panic!("no program has the instruction {other:#x}"),
            };
            at += match holds {
                Some(true) => usize::from(if_true),
                Some(false) => usize::from(if_false),
                None => 0,
            };
        }
    }

    fn return_to(register: &mut u32, value: u32) -> Option<bool> {
        *register = value;
        None
    }

    fn incoming(id: u32) -> Seen {
        Seen { id, mark: 0 }
    }

    #[test]
    fn what_is_own_is_passed_over() {
        let all = program(&[Filter::ALL], Some(7));
        let one = program(&[Filter::exact(RawId(0x123))], Some(7));
        for program in [&all, &one, &not_marked(7, u32::MAX)] {
            assert!(takes(program, &Seen { mark: 8, ..incoming(0x123) }));
            assert!(!takes(program, &Seen { mark: 7, ..incoming(0x123) }));
        }
        assert_eq!(program(&[Filter::ALL], None), []);
        let of_process = not_marked(0x1400, 0xFFFF_FC00);
        let taken = [0x13FF, 0x1400, 0x17FF, 0x1800].map(|mark| takes(&of_process, &Seen { mark, ..incoming(0x123) }));
        assert_eq!(taken, [true, false, false, true]);
    }

    #[test]
    fn many_filters_become_none() {
        let filters: Vec<_> = (0..100).map(|id| Filter::exact(RawId(id))).collect();
        assert!(takes(&program(&filters, None), &incoming(0x7FF)));
        assert!(!takes(&program(&filters[..30], None), &incoming(0x7FF)));
    }

    proptest! {
        #[test]
        fn programs_take_what_filters_take(
            filters in prop::collection::vec((any::<u32>(), any::<u32>()), 0..6),
            bits in any::<u32>(),
            near in any::<prop::sample::Index>(),
        ) {
            let filters: Vec<_> = filters.into_iter().map(|(id, mask)| Filter { id, mask: mask & bits }).collect();
            // An identifier that is close to a filter, so that both answers occur.
            let id = if filters.is_empty() { bits } else { near.get(&filters).id ^ (bits & CAN_RTR_FLAG & CAN_EFF_FLAG) };
            for id in [id, id & !CAN_ERR_FLAG, bits] {
                let expected = filters.iter().any(|filter| filter.normalise().matches(RawId(id)));
                let all = filters.iter().any(|filter| filter.normalise().list == ReceiveList::All);
                // With a filter for everything there is no look at error frames, which the rules sort out.
                prop_assert_eq!(takes(&program(&filters, None), &incoming(id)), expected || all);
            }
        }
    }
}
