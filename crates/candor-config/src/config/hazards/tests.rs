//! Compares the findings of random files with the oracle.

use proptest::collection::vec;
use proptest::prelude::*;
use proptest::strategy::ValueTree;

use crate::config::{code, load};
use crate::plan::{BusIndex, Echo, Engine, Incoming, Plan};
use crate::safety::{self, tests::random_cases};
use crate::testing::{loaded, pair};
use crate::text;
use candor_core::arbitrary;
use candor_core::filter::Filter;
use candor_core::frame::{Frame, FrameFormat, RawId};
use candor_core::oracle::{self, End, Loopback, Outcome, World};

/// Buses; the last two are the ends of a vxcan pair if there is one.
const BUSES: usize = 4;
const INTERFACES: [&str; BUSES] = ["can0", "can1", "vxcan0", "vxcan1"];
const EXACT: u32 = 0xC000_07FF;

/// Files that the kernel engine can run, with few identifiers, so that routes meet.
fn file() -> impl Strategy<Value = String> {
    let filter = prop_oneof![
        1 => arbitrary::filter(),
        2 => Just(Filter::ALL),
        5 => (0x100..0x104_u32).prop_map(|id| Filter { id, mask: EXACT }),
        1 => Just(Filter { id: 0x100, mask: EXACT & !3 }),
    ];
    let id = prop::option::weighted(0.4, 0x100..0x104_u32);
    let job = (
        arbitrary::job(BUSES),
        filter,
        id,
        any::<bool>(),
        any::<bool>(),
        (prop::option::of(1..=3_u8), prop::bool::weighted(0.1)),
    );
    let job = job.prop_map(|(mut job, filter, id, changes, echo, (hop_limit, back))| {
        job.filter = filter;
        if !changes {
            (job.modifications, job.checksums) = Default::default();
        }
        job.modifications.set.id = id.or_else(|| job.modifications.set.id.filter(|_| changes));
        job.echo = if echo { Echo::On } else { Echo::Off };
        (job.hop_limit, job.incoming) = (hop_limit, if back { Incoming::Allowed } else { Incoming::Skipped });
        job
    });
    (vec(job, 1..6), any::<bool>()).prop_map(|(jobs, paired)| {
        let mut plan = crate::arbitrary::plan(&INTERFACES, &jobs, Engine::Kernel);
        if paired {
            pair(&mut plan, 2, 3);
        }
        text::write(&plan)
    })
}

/// The machine that a file needs, with its jobs as candor installs them.
fn machine(plan: &Plan) -> World {
    let max_hops = plan.routes().iter().filter_map(|route| route.hop_limit).max().unwrap_or(1);
    let mut world = World::new(oracle::Kernel { max_hops, ..oracle::Kernel::DEFAULT });
    for bus in plan.buses() {
        world.attach(oracle::Interface { peer: bus.vxcan_peer, ..oracle::Interface::vcan(&bus.interface) });
    }
    for job in crate::lower(plan).into_iter().rev() {
        world.add(&job).unwrap();
    }
    world
}

/// Sends a frame from a program, so that both ends of a pair receive it; the first output is the frame itself.
fn sent_by_a_program(world: &mut World, on: BusIndex, frame: &Frame) -> Outcome {
    world.send_locally(on, frame, Loopback::On).unwrap()
}

fn frames() -> impl Strategy<Value = Vec<Frame>> {
    let known = (0x100..0x105_u32, any::<[u8; 8]>(), 0..=8_usize)
        .prop_map(|(id, data, len)| Frame::classic(RawId(id), &data[..len]).unwrap());
    vec(prop_oneof![3 => known, 1 => arbitrary::wire_frame()], 1..8)
}

proptest! {
    #![proptest_config(random_cases(400))]

    /// No false negatives: every hazard of the simulated machine has a finding.
    #[test]
    fn hazards_without_a_finding_do_not_happen(file in file(), frames in frames()) {
        let loaded = match load(file.as_bytes()) {
            Ok(loaded) => loaded,
            Err(findings) => {
                let only_rings = findings.iter().all(|finding| finding.code == code::CIRCULATES || !finding.code.starts_with('E'));
                prop_assert!(only_rings, "{file}\n{findings:#?}");
                return Ok(());
            }
        };
        let has = |codes: &[&str]| loaded.warnings.iter().any(|finding| codes.contains(&finding.code));
        prop_assume!(!has(&[code::NOT_COMPARED]));
        let most = safety::amplification(&loaded.plan);
        for on in (0..BUSES).map(BusIndex) {
            for frame in &frames {
                let mut world = machine(&loaded.plan);
                let outcome = sent_by_a_program(&mut world, on, frame);
                let goes_round = outcome.end != End::Settled;
                prop_assert!(!goes_round || has(&[code::MAY_CIRCULATE]), "{frame} on {on:?}\n{file}");
                if goes_round {
                    continue;
                }
                // The first is what the program sent.
                let sent = &outcome.sent[1..];
                if most.is_none_or(|most| most.is_exact) {
                    prop_assert!(sent.len() <= most.map_or(0, |most| most.frames), "{frame} on {on:?}\n{file}");
                }
                let is_again = |at: usize| {
                    let kind = |sent: &oracle::Sent| (sent.on, sent.frame.id, sent.frame.format);
                    let before = [(on, frame.id, frame.format)];
                    before.into_iter().chain(sent[..at].iter().map(kind)).any(|other| other == kind(&sent[at]))
                };
                let is_said = has(&[code::SENT_TWICE, code::SENT_IN_TWO_FORMS, code::SAME_ROUTE, code::ARRIVES_AGAIN, code::MAY_CIRCULATE]);
                let comes_again = !frame.id.is_err() && (0..sent.len()).any(is_again);
                prop_assert!(!comes_again || is_said, "{frame} on {on:?}\n{file}");
                let is_malformed = |frame: &Frame| {
                    let is_high = !frame.id.is_eff() && frame.id.0 & 0x1FFF_F800 != 0;
                    is_high || frame.id.is_err() || frame.format == FrameFormat::Fd && frame.id.is_rtr()
                };
                let is_wrong = !is_malformed(frame) && sent.iter().any(|sent| is_malformed(&sent.frame));
                prop_assert!(!is_wrong || has(&[code::MALFORMED_ID]), "{frame} on {on:?}\n{file}");
                let is_deleted = outcome.visits.iter().any(|visit| visit.did == oracle::Did::Deleted(oracle::Deleted::Length));
                prop_assert!(!is_deleted || has(&[code::LENGTH]), "{frame} on {on:?}\n{file}");
            }
        }
    }
}

/// No false positives among errors: the frame in the message loops.
#[test]
fn frames_of_reported_loops_do_loop() {
    let mut rings = 0;
    let mut runner = proptest::test_runner::TestRunner::deterministic();
    for _ in 0..400 {
        let file = file().new_tree(&mut runner).unwrap().current();
        let Err(findings) = load(file.as_bytes()) else { continue };
        let ring = findings.iter().find(|finding| finding.code == code::CIRCULATES).unwrap();
        let (_, named) = ring.message.split_once("such as ").unwrap();
        let (frame, _) = named.split_once(" loop forever").unwrap();
        // Without `vxcan-peer` the file is a gateway again.
        let open: String =
            file.lines().filter(|line| !line.starts_with("vxcan-peer")).map(|line| format!("{line}\n")).collect();
        let mut plan = loaded(&open);
        pair(&mut plan, 2, 3);
        let kinds = safety::hazards(&plan).into_iter().filter_map(|hazard| match hazard {
            safety::Hazard::Circulates { frame, is_certain: true, .. } => Some(frame),
            _ => None,
        });
        let goes_round = |kind: safety::Kind| {
            let frame = match kind.format {
                FrameFormat::Classic => Frame::classic(kind.id, &[]),
                FrameFormat::Fd => Frame::fd(kind.id, 0, &[]),
            };
            frame.is_ok_and(|frame| {
                (0..BUSES).any(|on| sent_by_a_program(&mut machine(&plan), BusIndex(on), &frame).end != End::Settled)
            })
        };
        let kinds: Vec<_> = kinds.collect();
        assert!(kinds.iter().any(|kind| kind.to_string() == frame), "{frame}: {kinds:?}");
        // Some loops are reached only by frames that are modified on the way, so all buses are tried.
        rings += usize::from(kinds.into_iter().any(goes_round));
    }
    assert!(rings > 20, "{rings}");
}
