//! The gateway between two models of controllers, and jobs as bytes.
#![expect(clippy::unwrap_used, reason = "helpers of tests")]

#[path = "../../candor-sja1000/tests/model/mod.rs"]
mod model;

use candor_bare::{Card, Counters, Gateway, Own, Parameters, Report, State, decode, encode};
use candor_core::arbitrary;
use candor_core::filter::Filter;
use candor_core::frame::{CANFD_MTU, Frame, FrameFormat};
use candor_core::job::{BusIndex, Job};
use candor_core::rule::{Modifications, Operand, Verdict};
use candor_sja1000::{BitTiming, Sja1000, Wiring};
use model::Controller;
use proptest::prelude::*;

const A: BusIndex = BusIndex(0);
const B: BusIndex = BusIndex(1);

fn gateway(jobs: &[Job]) -> ([Controller; 2], Gateway<Controller>) {
    let chips = [Controller::new(), Controller::new()];
    let cards = chips.each_ref().map(driver);
    (chips, Gateway::new(cards, jobs))
}

fn plain(filter: &str) -> Job {
    Job::plain(A, B, FrameFormat::Classic, Filter::parse(filter).unwrap())
}

fn driver(chip: &Controller) -> Sja1000<Controller> {
    let timing = BitTiming::of(500_000, 8_000_000).unwrap();
    Sja1000::start(chip.clone(), timing, Wiring::TRANSCEIVER).unwrap()
}

/// The frame as a driver puts it into registers.
fn in_registers(frame: &Frame) -> Vec<u8> {
    let chip = Controller::new();
    let mut bytes = [0; CANFD_MTU];
    frame.to_kernel(&mut bytes);
    driver(&chip).send(bytes.first_chunk().unwrap());
    chip.look(|chip| chip.sent.pop().unwrap())
}

/// The frame that a driver makes of registers.
fn received(registers: &[u8]) -> Frame {
    let chip = Controller::new();
    let mut driver = driver(&chip);
    chip.arrive(registers);
    Frame::from_kernel(&driver.receive().unwrap()).unwrap()
}

fn sent(chip: &Controller) -> Vec<Vec<u8>> {
    chip.look(|chip| std::mem::take(&mut chip.sent))
}

#[test]
fn frames_pass_by_the_rules() {
    let set = Operand { id: Some(0x456), ..Operand::NONE };
    let changed = Job { modifications: Modifications { set, ..Modifications::NONE }, ..plain("200:700") };
    let back = Job::plain(B, A, FrameFormat::Classic, Filter::parse("300").unwrap());
    let ([a, b], mut gateway) = gateway(&[plain("123"), changed, back]);
    let text = |text: &str| in_registers(&text.parse().unwrap());
    ["123#1122", "124#11", "2FF#33"].iter().for_each(|frame| a.arrive(&text(frame)));
    ["300#44", "123#55"].iter().for_each(|frame| b.arrive(&text(frame)));
    let mut at_once = 0;
    gateway.serve(|| at_once += 1);
    assert_eq!(sent(&b), [text("123#1122"), text("456#33")]);
    assert_eq!(sent(&a), [text("300#44")]);
    let counters = Counters { received: [3, 2], sent: [1, 2], ..Counters::default() };
    assert_eq!((*gateway.counters(), at_once), (counters, 3));
    assert!(!a.interrupts() && !b.interrupts());
}

#[test]
fn frames_wait_in_order_while_the_transmit_buffer_is_locked() {
    let ([a, b], mut gateway) = gateway(&[plain("000:000")]);
    b.look(|chip| chip.slow = true);
    let frame = |number: u8| vec![0x01, 0x24, 0x60, number];
    for number in 0..200 {
        a.arrive(&frame(number));
        gateway.serve(|| ());
    }
    assert!(sent(&b).is_empty());
    for number in 0..200 {
        b.complete();
        gateway.serve(|| ());
        assert_eq!(sent(&b), [frame(number)]);
    }
    assert_eq!(gateway.counters().dropped, 0);
}

#[test]
fn a_full_queue_drops_and_counts() {
    let ([a, b], mut gateway) = gateway(&[plain("000:000")]);
    b.look(|chip| chip.slow = true);
    for _ in 0..1005 {
        a.arrive(&[0x00, 0x24, 0x60]);
        gateway.serve(|| ());
    }
    let counters = Counters { received: [1005, 0], sent: [0, 1], dropped: 4, ..Counters::default() };
    assert_eq!(*gateway.counters(), counters);
}

#[test]
fn overruns_and_bus_off_are_counted_and_survived() {
    let ([a, b], mut gateway) = gateway(&[plain("000:000")]);
    (0..30).for_each(|_| a.arrive(&[0x00, 0x24, 0x60]));
    gateway.serve(|| ());
    assert_eq!((gateway.counters().overruns, gateway.counters().sent), ([1, 0], [0, 21]));
    b.look(|chip| chip.slow = true);
    (0..3).for_each(|_| a.arrive(&[0x00, 0x24, 0x60]));
    gateway.serve(|| ());
    b.leave();
    gateway.serve(|| ());
    assert_eq!(gateway.counters().recoveries, 1);
    b.complete();
    gateway.serve(|| ());
    b.complete();
    // Of the three, the one in the transmit buffer is lost.
    assert_eq!(sent(&b).len(), 23);
}

#[test]
fn jobs_to_a_bus_without_a_card_drop() {
    let ([a, b], mut gateway) = gateway(&[Job::plain(A, BusIndex(2), FrameFormat::Classic, Filter::ALL)]);
    a.arrive(&[0x00, 0x24, 0x60]);
    gateway.serve(|| ());
    assert_eq!((gateway.counters().dropped, sent(&b).len()), (1, 0));
}

#[test]
fn report_survives_memory() {
    let counters = Counters { received: [1, 2], sent: [3, 4], deleted: 5, dropped: 6, overruns: [7, 8], recoveries: 9 };
    let mut own = Own::NONE;
    [30, 10, 20].iter().for_each(|ticks| own.add(*ticks));
    let mut bytes: Vec<u8> =
        Report::words(State::Failed, &counters, &own).iter().flat_map(|word| word.to_le_bytes()).collect();
    assert_eq!(Report::of_bytes(&bytes), None);
    bytes.extend(b"no card");
    bytes.resize(Report::BYTES, 0);
    let report = Report::of_bytes(&bytes).unwrap();
    assert_eq!(report.own, Own { frames: 3, sum: 60, shortest: 10, longest: 30 });
    assert_eq!((report.state, report.counters, report.text.as_str()), (State::Failed, counters, "no card"));
}

/// What the bytes keep.
fn kept(job: &Job) -> Job {
    let mut kept = Job::plain(job.from, job.to, job.format, job.filter);
    (kept.modifications, kept.checksums) = (job.modifications, job.checksums);
    for operand in [
        &mut kept.modifications.and,
        &mut kept.modifications.or,
        &mut kept.modifications.xor,
        &mut kept.modifications.set,
    ] {
        operand.flags = None;
    }
    (kept.payload, kept.incoming) = (job.payload.clone(), job.incoming);
    kept
}

proptest! {
    #[test]
    fn jobs_and_parameters_survive_bytes(jobs in prop::collection::vec(arbitrary::user_space_job(2).boxed(), 0..5)) {
        let jobs: Vec<Job> = jobs.into_iter().filter(|job| job.format == FrameFormat::Classic && job.send_as.is_none()).collect();
        let expected: Vec<Job> = jobs.iter().map(kept).collect();
        prop_assert_eq!(decode(&encode(&jobs)), Ok(expected.clone()));
        let cards = [Card { bus: 0, devfn: 0x38, line: 11 }, Card { bus: 1, devfn: 0x41, line: 10 }];
        let parameters = Parameters { cards, bits_per_second: 1_000_000, jobs: expected };
        let bytes = parameters.to_bytes();
        prop_assert_eq!(Parameters::length(bytes.first_chunk().unwrap()), Some(bytes.len()));
        prop_assert_eq!(Parameters::of_bytes(&bytes), Ok(parameters));
        // Damaged bytes are an error or other jobs, not a panic.
        for end in 0..bytes.len() {
            prop_assert!(Parameters::of_bytes(&bytes[..end]).is_err());
        }
    }

    #[test]
    fn forwards_as_the_jobs_say(job in arbitrary::user_space_job(2).boxed(), frame in arbitrary::wire_frame()) {
        let frame = match frame.format {
            FrameFormat::Classic => frame,
            FrameFormat::Fd => Frame::classic(frame.id, &frame.payload()[..frame.payload().len().min(8)]).unwrap(),
        };
        // Jobs for classic frames do not change flags of CAN FD.
        let job = kept(&Job { from: A, to: B, format: FrameFormat::Classic, ..job });
        let ([a, b], mut gateway) = gateway(&decode(&encode(std::slice::from_ref(&job))).unwrap());
        let arrives = in_registers(&frame);
        a.arrive(&arrives);
        gateway.serve(|| ());
        // As received: nothing behind the length, and an identifier of 11 or 29 bits.
        let expected = received(&arrives);
        let wanted = (job.takes(&expected) && job.filter.normalise().matches(expected.id)).then(|| job.apply(&expected));
        let wanted: Vec<Vec<u8>> = match wanted {
            Some((frame, Verdict::Send)) => vec![in_registers(&frame)],
            _ => Vec::new(),
        };
        prop_assert_eq!(sent(&b), wanted);
    }
}
