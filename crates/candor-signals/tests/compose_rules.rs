//! The rules of composed frames, one test each, in virtual time.
//!
//! A course is a text: `5 a3,7` is a frame of source a with the bytes 3 and 7 at 5 ns; `40` is that time. Before it, the
//! composer is called whenever something is due; with `!` before the time it is not. What is sent is a text too: `5:0307` is a
//! frame at 5 ns, `5<3:0307` one that was due at 3 ns.
#![expect(clippy::unwrap_used, reason = "a test")]

use std::fmt::Write as _;
use std::time::Duration;

use candor_signals::compose::{
    Activity, Composer, Composition, CompositionError, Conversion, FastCycle, Filter, Input, Invalid, InvalidAction,
    Origin, Other, Outgoing, Rescale, SendRule, SignalInput, Time, Timeout, TimeoutAction, Trigger, Value,
};
use candor_signals::{ByteOrder, Codec, Field, SendMode, dbc};

/// All sources look like this.
const SOURCE: &str = "BO_ 1 S: 8 N
 SG_ V : 0|8@1+ (1,0) [0|0] \"\" N
 SG_ Half : 0|8@1+ (0.5,0) [0|0] \"\" N
 SG_ Warm : 0|8@1+ (1,-40) [0|0] \"\" N
 SG_ Neg : 0|8@1- (1,0) [0|0] \"\" N
 SG_ Float : 0|32@1- (1,0) [0|0] \"\" N
 SG_ Mode M : 8|8@1+ (1,0) [0|0] \"\" N
 SG_ Muxed m1 : 0|8@1+ (1,0) [0|0] \"\" N
 SG_ Fresh : 8|1@1+ (1,0) [0|0] \"\" N
SIG_VALTYPE_ 1 Float : 1;
";

fn codec(name: &str) -> Codec {
    let database = dbc::read(SOURCE.as_bytes());
    let (message, signal) = database.signal(&format!("S.{name}")).unwrap();
    Codec::new(message, signal).unwrap()
}

const fn ns(nanos: u64) -> Duration {
    Duration::from_nanos(nanos)
}

/// The byte of the composed frame with this number.
fn byte(at: u16) -> Field {
    Field::new(at * 8, 8, ByteOrder::Little).unwrap()
}

fn bit(at: u16) -> Field {
    Field::new(at, 1, ByteOrder::Little).unwrap()
}

/// Signal V of the source with this number, in the byte with this number, as a whole number.
fn input(source: u16) -> Input {
    with(source, |_| {})
}

fn with(source: u16, change: impl FnOnce(&mut SignalInput)) -> Input {
    let from = codec("V");
    let conversion = rescale("V", "V");
    let to = byte(source);
    let mut signal = SignalInput { from, start: None, updated: None, invalid: None, conversion, to, update: None };
    change(&mut signal);
    Input { value: Value::Signal(Box::new(signal)), ..payload(source, 0, &[]) }
}

fn payload(source: u16, max_len: usize, mask: &[u8]) -> Input {
    let value = Value::Payload { max_len, mask: mask.into() };
    let trigger = Trigger::OnChange;
    let (source, filter, timeout, group) = (source.into(), Filter::Always, None, None);
    Input { source, value, filter, trigger, repeats: true, required: false, timeout, group }
}

fn rescale(from: &str, to: &str) -> Conversion {
    Conversion::Rescale(Box::new(Rescale::new(codec(from).scale(), codec(to).scale()).unwrap()))
}

fn invalid(bits: u64, action: InvalidAction) -> Option<Invalid> {
    Some(Invalid { bits, action })
}

fn timeout(first: u64, later: u64, action: TimeoutAction) -> Option<Timeout> {
    Some(Timeout { first: Some(ns(first)), later: ns(later), action })
}

/// 0 for none.
fn send(mode: SendMode, cycle: u64) -> SendRule {
    SendRule {
        mode,
        cycle: Some(ns(cycle)).filter(|cycle| !cycle.is_zero()),
        fast: None,
        offset: ns(0),
        min_delay: ns(0),
        delays_all: false,
        repetitions: 0,
        repetition_period: ns(0),
    }
}

fn direct() -> SendRule {
    send(SendMode::Direct, 0)
}

fn repeated(repetitions: u32, period: u64) -> SendRule {
    SendRule { repetitions, repetition_period: ns(period), ..direct() }
}

fn delayed(min_delay: u64, rule: SendRule) -> SendRule {
    SendRule { min_delay: ns(min_delay), ..rule }
}

/// A frame with a byte for each input, all 0.
fn frame<const N: usize>(inputs: [Input; N], send: SendRule) -> Composition {
    Composition { initial: vec![0; N].into(), inputs: inputs.into(), send }
}

fn note(sent: &mut String, now: u64, outgoing: Option<Outgoing<'_>>) {
    let Some(outgoing) = outgoing else { return };
    let space = if sent.is_empty() { "" } else { " " };
    write!(sent, "{space}{now}").unwrap();
    if outgoing.due.nanos() != now {
        write!(sent, "<{}", outgoing.due.nanos()).unwrap();
    }
    sent.push(':');
    outgoing.payload.iter().for_each(|byte| write!(sent, "{byte:02x}").unwrap());
}

/// Runs a course.
fn follow(composer: &mut Composer, course: &str) -> String {
    let mut sent = String::new();
    for step in course.split(';').map(str::trim) {
        let (time, frame) = step.split_once(' ').unwrap_or((step, ""));
        let (is_late, time) = time.strip_prefix('!').map_or((false, time), |time| (true, time));
        let time: u64 = time.parse().unwrap();
        let in_time = |due: &Time| !is_late && (due.nanos() < time || frame.is_empty() && due.nanos() == time);
        while let Some(due) = composer.due().filter(in_time) {
            note(&mut sent, due.nanos(), composer.advance(due));
        }
        let now = Time::from_nanos(time);
        if let Some(source) = frame.chars().next() {
            let bytes: Vec<u8> = frame[1..].split(',').filter_map(|byte| byte.parse().ok()).collect();
            note(&mut sent, time, composer.received(now, usize::from(u8::try_from(source).unwrap() - b'a'), &bytes));
        } else {
            note(&mut sent, time, composer.advance(now));
        }
    }
    sent
}

fn sent(composition: Composition, course: &str) -> String {
    follow(&mut Composer::new(composition, Time::from_nanos(0)).unwrap(), course)
}

mod start {
    use super::*;

    #[test]
    fn start_values_are_sent() {
        let composition =
            Composition { initial: [7, 9].into(), ..frame([input(0), input(1)], send(SendMode::Mixed, 10)) };
        assert_eq!(sent(composition, "12 a3; 20"), "0:0709 10:0709 12:0309 20:0309");
    }

    #[test]
    fn a_required_input_is_waited_for() {
        let required = Input { required: true, ..input(0) };
        let composition = frame([required, input(1)], send(SendMode::Mixed, 10));
        assert_eq!(sent(composition, "5 b1; 12 a3; 20"), "12:0301 20:0301");
    }

    #[test]
    fn the_first_cyclic_frame_is_at_start_and_offset() {
        let rule = SendRule { offset: ns(3), ..send(SendMode::Periodic, 10) };
        let mut composer = Composer::new(frame([input(0)], rule), Time::from_nanos(100)).unwrap();
        assert_eq!(follow(&mut composer, "125"), "103:00 113:00 123:00");
    }
}

mod taking {
    use super::*;

    #[test]
    fn the_update_bit_must_be_1() {
        let updated = || with(0, |signal| signal.updated = Some(codec("Fresh")));
        assert_eq!(sent(frame([updated()], direct()), "1 a3,0; 2 a4,1; 3 a5; 4 a6,254"), "2:04");
        let late = Input { timeout: timeout(9, 9, TimeoutAction::Substitute(255)), ..updated() };
        assert_eq!(sent(frame([late], direct()), "1 a3,1; 5 a4,0; 20"), "1:03 10:ff", "the time goes on");
    }

    #[test]
    fn its_switches_must_select_it() {
        let muxed = with(0, |signal| signal.from = codec("Muxed"));
        let muxed = Input { timeout: timeout(9, 9, TimeoutAction::Substitute(255)), ..muxed };
        assert_eq!(sent(frame([muxed], direct()), "1 a3,1; 5 a4,0; 20"), "1:03 10:ff");
    }

    #[test]
    fn an_ignored_value_restarts_the_timeout() {
        let ignored = [
            Input { filter: Filter::MaskedDiffers { mask: 255, value: 4 }, ..input(0) },
            with(0, |signal| signal.invalid = invalid(4, InvalidAction::Ignore)),
            with(0, |signal| signal.conversion = Conversion::Table { rows: [(3, 3)].into(), other: Other::Keep }),
        ];
        for one in ignored {
            let one = Input { timeout: timeout(9, 9, TimeoutAction::Substitute(255)), ..one };
            assert_eq!(sent(frame([one], direct()), "1 a3; 6 a4; 20"), "1:03 15:ff");
        }
    }

    #[test]
    fn an_invalid_value_is_ignored_or_replaced() {
        let of = |action| frame([with(0, |signal| signal.invalid = invalid(255, action))], direct());
        assert_eq!(sent(of(InvalidAction::Ignore), "1 a3; 2 a255; 3 a4"), "1:03 3:04");
        assert_eq!(sent(of(InvalidAction::Substitute(9)), "1 a3; 2 a255; 3 a4"), "1:03 2:09 3:04");
    }

    #[test]
    fn a_substitute_is_not_filtered_and_the_next_value_passes() {
        let filters = [Filter::MaskedDiffersOld { mask: 255 }, Filter::Deadband(5)];
        for filter in filters {
            let replaced = with(0, |signal| signal.invalid = invalid(255, InvalidAction::Substitute(9)));
            let replaced = Input { trigger: Trigger::Always, filter, ..replaced };
            assert_eq!(sent(frame([replaced], direct()), "1 a3; 2 a3; 3 a255; 4 a3; 5 a3"), "1:03 3:09 4:03");
            let late = Input { timeout: timeout(99, 4, TimeoutAction::Substitute(9)), filter, ..input(0) };
            let late = Input { trigger: Trigger::Always, ..late };
            assert_eq!(sent(frame([late], direct()), "1 a3; 2 a3; 7 a3; 8 a3"), "1:03 6:09 7:03");
        }
    }

    #[test]
    fn values_pass_the_filter() {
        let (mask, value) = (0x0F, 2);
        let cases = [
            (Filter::Always, "00 01 02 12 03"),
            (Filter::Never, ""),
            (Filter::MaskedEquals { mask, value }, "02 12"),
            (Filter::MaskedDiffers { mask, value }, "00 01 03"),
            (Filter::MaskedDiffersOld { mask }, "00 01 02 03"),
            (Filter::Within { min: 1, max: 2 }, "01 02"),
            (Filter::Outside { min: 1, max: 2 }, "00 12 03"),
            (Filter::Deadband(1), "00 02 12 03"),
            (Filter::OneEvery { period: 3, offset: 1 }, "01 03"),
        ];
        for (filter, passed) in cases {
            let one = Input { filter, trigger: Trigger::Always, ..input(0) };
            let sent = sent(frame([one], direct()), "1 a0; 2 a1; 3 a2; 4 a18; 5 a3");
            let sent: Vec<&str> = sent.split_whitespace().map(|one| &one[2..]).collect();
            assert_eq!(sent.join(" "), passed, "{filter:?}");
        }
    }

    #[test]
    fn limits_and_distances_are_signed_as_the_signal() {
        let cases = [
            (Filter::Within { min: -2, max: 1 }, "1:ff 2:01"),
            (Filter::Outside { min: -2, max: 1 }, "3:80"),
            (Filter::Deadband(2), "1:ff 3:80"),
        ];
        for (filter, expected) in cases {
            let negative = with(0, |signal| signal.from = codec("Neg"));
            let negative = Input { filter, trigger: Trigger::Always, ..negative };
            assert_eq!(sent(frame([negative], direct()), "1 a255; 2 a1; 3 a128"), expected, "{filter:?}");
        }
    }

    #[test]
    fn a_start_value_is_the_first_old_value() {
        let filters = [(Filter::MaskedDiffersOld { mask: 255 }, "2:04"), (Filter::Deadband(0), "1:03 2:04")];
        for (filter, expected) in filters {
            let started = Input { filter, trigger: Trigger::Always, ..with(0, |signal| signal.start = Some(3)) };
            assert_eq!(sent(frame([started], direct()), "1 a3; 2 a4"), expected, "nothing was sent before");
        }
        let started = Input { filter: Filter::Deadband(1), ..with(0, |signal| signal.start = Some(3)) };
        let composition = Composition { initial: [3].into(), ..frame([started], send(SendMode::Mixed, 10)) };
        assert_eq!(sent(composition, "1 a4; 2 a5"), "0:03 2:05");
    }

    #[test]
    fn a_deadband_is_around_the_value_that_was_sent() {
        let one = Input { filter: Filter::Deadband(2), ..input(0) };
        assert_eq!(sent(frame([one], direct()), "1 a10; 2 a12; 3 a13; 4 a15; 5 a10"), "1:0a 3:0d 5:0a");
        let replaced = with(0, |signal| signal.invalid = invalid(255, InvalidAction::Substitute(10)));
        let replaced = Input { filter: Filter::Deadband(2), ..replaced };
        let course = "1 a10; 3 a255; 4 a11; 20";
        assert_eq!(sent(frame([replaced], send(SendMode::Periodic, 2)), course).split(' ').nth(2), Some("4:0b"));
        let waits = Input { filter: Filter::Deadband(2), ..input(0) };
        assert_eq!(sent(frame([waits], delayed(10, direct())), "1 a10; 2 a13; 3 a11; 20"), "1:0a 11:0d");
    }

    #[test]
    fn filters_count_valid_values() {
        let one = with(0, |signal| signal.invalid = invalid(255, InvalidAction::Ignore));
        let one = Input { filter: Filter::OneEvery { period: 2, offset: 1 }, ..one };
        assert_eq!(sent(frame([one], direct()), "1 a1; 2 a255; 3 a2; 4 a3; 5 a4"), "3:02 5:04");
    }

    #[test]
    fn values_are_converted() {
        let of = |conversion| frame([with(0, |signal| signal.conversion = conversion)], direct());
        assert_eq!(sent(of(rescale("Half", "V")), "1 a6; 2 a9; 3 a11"), "1:03 2:04 3:06", "halves to the even one");
        assert_eq!(sent(of(rescale("V", "Half")), "1 a3; 2 a200"), "1:06 2:ff", "saturated");
        assert_eq!(sent(of(rescale("Neg", "V")), "1 a3; 2 a255"), "1:03 2:00", "saturated");
        assert_eq!(sent(of(rescale("Warm", "V")), "1 a50; 2 a20"), "1:0a 2:00", "offset of the source");
        assert_eq!(sent(of(rescale("V", "Warm")), "1 a3; 2 a4"), "1:2b 2:2c", "offset of the target");
        let table = |other| Conversion::Table { rows: [(1, 17), (2, 34)].into(), other };
        assert_eq!(sent(of(table(Other::Bits(255))), "1 a2; 2 a3; 3 a1"), "1:22 2:ff 3:11");
        assert_eq!(sent(of(table(Other::Keep)), "1 a2; 2 a3; 3 a1"), "1:22 3:11");
    }

    #[test]
    fn exact_values_need_not_fit_into_128_bits() {
        let text =
            "BO_ 1 S: 8 N\n SG_ Fine : 0|64@1+ (1E-19,0) [0|0] \"\" N\n SG_ Coarse : 0|64@1+ (1E18,0) [0|0] \"\" N
 SG_ None : 0|8@1+ (0,0) [0|0] \"\" N\n";
        let database = dbc::read(text.as_bytes());
        let [fine, coarse, none] = ["S.Fine", "S.Coarse", "S.None"].map(|name| {
            let (message, signal) = database.signal(name).unwrap();
            Codec::new(message, signal).unwrap()
        });
        let rescale = Rescale::new(fine.scale(), coarse.scale()).unwrap();
        assert_eq!((rescale.bits(0), rescale.bits(u64::MAX)), (Some(0), Some(0)));
        let rescale = Rescale::new(coarse.scale(), fine.scale()).unwrap();
        assert_eq!([0, 1, u64::MAX].map(|bits| rescale.bits(bits)), [Some(0), Some(u64::MAX), Some(u64::MAX)]);
        assert_eq!(Rescale::new(fine.scale(), none.scale()), None, "a factor of 0");
    }

    #[test]
    fn not_a_number_is_ignored() {
        let float = with(0, |signal| (signal.from, signal.conversion) = (codec("Float"), rescale("Float", "V")));
        // 2.5, NaN, 3.5, infinity.
        let course = "1 a0,0,32,64; 2 a0,0,192,127; 3 a0,0,96,64; 4 a0,0,128,127";
        assert_eq!(sent(frame([float], direct()), course), "1:02 3:04 4:ff");
    }

    #[test]
    fn a_group_is_taken_all_or_none() {
        let second = |change: &dyn Fn(&mut SignalInput)| {
            let fields = with(0, |signal| {
                (signal.from, signal.to) = (codec("Mode"), byte(1));
                change(signal);
            });
            let [first, second] = [input(0), fields].map(|one| Input { group: Some(1), ..one });
            frame([first, second], direct())
        };
        let table = Conversion::Table { rows: [(8, 8)].into(), other: Other::Keep };
        let ignores = |signal: &mut SignalInput| signal.invalid = invalid(9, InvalidAction::Ignore);
        assert_eq!(sent(second(&|_| {}), "1 a1,8; 2 a2; 3 a3,9"), "1:0108 3:0309", "absent");
        assert_eq!(sent(second(&ignores), "1 a1,8; 2 a2,9; 3 a3,7"), "1:0108 3:0307", "invalid");
        assert_eq!(sent(second(&|one| one.conversion = table.clone()), "1 a1,8; 2 a2,9; 3 a3,8"), "1:0108 3:0308");
        let replaces = |signal: &mut SignalInput| signal.invalid = invalid(9, InvalidAction::Substitute(5));
        assert_eq!(sent(second(&replaces), "1 a1,8; 2 a2,9"), "1:0108 2:0205");
    }

    #[test]
    fn an_update_bit_is_sent_once() {
        let updating = |source: u16| with(source, |signal| signal.update = Some(bit(16 + source)));
        let late = Input { timeout: timeout(13, 30, TimeoutAction::Substitute(9)), ..updating(1) };
        let composition = frame([updating(0), late, input(2)], send(SendMode::Periodic, 10));
        assert_eq!(sent(composition, "1 a3; 31"), "0:000000 10:030001 20:030902 30:030900");
    }
}

mod sending {
    use super::*;

    #[test]
    fn events_are_what_the_trigger_says() {
        let cases = [(Trigger::Never, ""), (Trigger::OnChange, "1:03 3:04"), (Trigger::Always, "1:03 2:03 3:04")];
        for (trigger, expected) in cases {
            assert_eq!(sent(frame([Input { trigger, ..input(0) }], direct()), "1 a3; 2 a3; 3 a4"), expected);
        }
        let rounded = with(0, |signal| signal.conversion = rescale("Half", "V"));
        assert_eq!(sent(frame([rounded], direct()), "1 a4; 2 a5; 3 a6"), "1:02 3:03", "bits of the composed frame");
        let table = Conversion::Table { rows: [(1, 0x101)].into(), other: Other::Keep };
        let wide = with(0, |signal| signal.conversion = table);
        assert_eq!(sent(frame([wide], direct()), "1 a1; 2 a1"), "1:01", "only those that the place has");
    }

    #[test]
    fn modes_choose_between_events_and_time() {
        let cases = [
            (SendMode::Direct, "3:03"),
            (SendMode::Periodic, "0:00 10:03"),
            (SendMode::Mixed, "0:00 3:03 10:03"),
            (SendMode::None, ""),
        ];
        for (mode, expected) in cases {
            assert_eq!(sent(frame([input(0)], send(mode, 10)), "3 a3; 15"), expected);
        }
    }

    #[test]
    fn an_event_waits_for_the_minimum_delay_once_with_the_newest_values() {
        let composition = frame([input(0), input(1)], delayed(10, direct()));
        assert_eq!(sent(composition, "1 a1; 3 a2; 5 b3; 7 a4; 30 a5"), "1:0100 11:0403 30:0503");
        let late = frame([input(0)], delayed(10, direct()));
        assert_eq!(sent(late, "1 a1; 3 a2; !15; 16 a3; 40"), "1:01 15<11:02 25:03", "after the late frame");
    }

    #[test]
    fn repetitions_follow_the_frame_of_the_event() {
        assert_eq!(sent(frame([input(0)], repeated(2, 10)), "1 a1; 50"), "1:01 11:01 21:01");
        let waits = frame([input(0)], delayed(5, repeated(1, 10)));
        assert_eq!(sent(waits, "1 a1; 3 a2; 50"), "1:01 6:02 16:02", "not the event");
        assert_eq!(sent(frame([input(0)], repeated(2, 10)), "1 a1; !14; 50"), "1:01 14<11:01 24:01", "a late call");
    }

    #[test]
    fn a_new_event_cancels_repetitions() {
        assert_eq!(sent(frame([input(0)], repeated(2, 10)), "1 a1; 15 a2; 50"), "1:01 11:01 15:02 25:02 35:02");
        let held = frame([input(0)], delayed(12, repeated(2, 10)));
        assert_eq!(sent(held, "1 a1; 5 a2; 50"), "1:01 13:02 23:02 33:02", "even if it is held back");
    }

    #[test]
    fn an_event_without_repetition_leaves_those_of_another() {
        let once = Input { repeats: false, ..input(1) };
        let composition = || frame([input(0), once.clone()], repeated(2, 10));
        assert_eq!(sent(composition(), "1 b1; 50"), "1:0001");
        assert_eq!(sent(composition(), "1 a1; 5 b2; 50"), "1:0100 5:0102 11:0102 21:0102");
        let held = frame([input(0), once.clone()], delayed(4, repeated(1, 10)));
        assert_eq!(sent(held, "1 b1; 2 a2; 3 b3; 50"), "1:0001 5:0203 15:0203", "one of the waiting events repeats");
    }

    #[test]
    fn events_do_not_move_cyclic_times() {
        assert_eq!(sent(frame([input(0)], send(SendMode::Mixed, 10)), "3 a1; 25"), "0:00 3:01 10:01 20:01");
    }

    #[test]
    fn a_late_call_sends_one_frame_and_keeps_the_cycle() {
        assert_eq!(sent(frame([input(0)], send(SendMode::Periodic, 10)), "0; !37; 55"), "0:00 37<10:00 40:00 50:00");
    }

    fn fast(cycle: u64, fast: u64) -> SendRule {
        let active = Activity::Differs(0);
        SendRule {
            fast: Some(FastCycle { cycle: ns(fast), field: byte(0), active }),
            ..send(SendMode::Periodic, cycle)
        }
    }

    #[test]
    fn the_fast_cycle_has_the_same_origin() {
        let rule = SendRule { offset: ns(5), ..fast(100, 10) };
        assert_eq!(sent(frame([input(0)], rule), "21 a1; 45 a0; 110"), "5:00 25:01 35:01 45:00 105:00");
        let equal = FastCycle { cycle: ns(10), field: byte(0), active: Activity::Equals(2) };
        let rule = SendRule { fast: Some(equal), ..send(SendMode::Periodic, 0) };
        assert_eq!(sent(frame([input(0)], rule), "10 a2; 31 a3; 60"), "20:02 30:02", "no other cycle");
    }

    #[test]
    fn a_cyclic_time_that_has_come_stays_when_the_cycle_changes() {
        let composition = || frame([input(0)], fast(40, 10));
        assert_eq!(sent(composition(), "0; !53 a1; 70"), "0:00 53<40:01 60:01 70:01");
        assert_eq!(sent(composition(), "40 a1; 50"), "0:00 40:01 50:01");
    }

    #[test]
    fn the_minimum_delay_is_between_events_or_between_all() {
        let rule = |delays_all| SendRule { delays_all, ..delayed(6, send(SendMode::Mixed, 10)) };
        let course = "8 a1; 9 a2; 25";
        assert_eq!(sent(frame([input(0)], rule(false)), course), "0:00 8:01 10:02 14:02 20:02");
        assert_eq!(sent(frame([input(0)], rule(true)), course), "0:00 8:01 14:02 20:02");
        let repeats = |delays_all| SendRule { delays_all, ..delayed(6, repeated(2, 4)) };
        assert_eq!(sent(frame([input(0)], repeats(false)), "1 a1; 30"), "1:01 5:01 9:01");
        assert_eq!(sent(frame([input(0)], repeats(true)), "1 a1; 30"), "1:01 7:01 13:01");
    }

    #[test]
    fn a_cyclic_frame_in_the_minimum_delay_of_all_comes_once() {
        let rule = SendRule { delays_all: true, ..delayed(25, send(SendMode::Periodic, 10)) };
        assert_eq!(sent(frame([input(0)], rule), "80"), "0:00 25:00 50:00 75:00");
    }

    #[test]
    fn several_reasons_are_one_frame() {
        let rule = SendRule { mode: SendMode::Mixed, cycle: Some(ns(10)), ..repeated(1, 5) };
        let composition = || frame([input(0)], rule.clone());
        assert_eq!(sent(composition(), "10 a1; 25"), "0:00 10:01 15:01 20:01", "event and cycle");
        assert_eq!(sent(composition(), "5 a1; 25"), "0:00 5:01 10:01 20:01", "repetition and cycle");
        assert_eq!(sent(composition(), "3 a1; !12 a2; 25"), "0:00 3:01 12<10:02 17:02 20:02", "all, late");
    }
}

mod timeouts {
    use super::*;

    #[test]
    fn the_action_is_done_once_and_the_next_frame_ends_it() {
        let late = Input { timeout: timeout(5, 10, TimeoutAction::Substitute(9)), ..input(0) };
        let late = Input { trigger: Trigger::Always, ..late };
        assert_eq!(sent(frame([late], direct()), "40; 41 a1; 60; 70 a2; 75 a3; 84"), "5:09 41:01 51:09 70:02 75:03");
    }

    #[test]
    fn the_status_says_what_happened() {
        let late = Input { timeout: timeout(5, 10, TimeoutAction::Substitute(9)), ..input(0) };
        let mut composer = Composer::new(frame([late], direct()), Time::from_nanos(0)).unwrap();
        let mut after = |course: &str| {
            follow(&mut composer, course);
            let status = composer.statuses().next().unwrap();
            (status.origin, status.is_late, status.received.map(Time::nanos), status.bits)
        };
        assert_eq!(after("4"), (Origin::Start, false, None, Some(0)));
        assert_eq!(after("5"), (Origin::Timeout, true, None, Some(9)));
        assert_eq!(after("7 a1"), (Origin::Received, false, Some(7), Some(1)));
        assert_eq!(after("16"), (Origin::Received, false, Some(7), Some(1)));
        assert_eq!(after("17"), (Origin::Timeout, true, Some(7), Some(9)));
        let replaced = with(0, |signal| signal.invalid = invalid(255, InvalidAction::Substitute(8)));
        let mut composer = Composer::new(frame([replaced], direct()), Time::from_nanos(0)).unwrap();
        follow(&mut composer, "1 a255");
        assert_eq!(composer.statuses().next().unwrap().origin, Origin::Invalid);
    }

    #[test]
    fn a_timeout_comes_before_the_frame_of_its_time() {
        let late = Input { timeout: timeout(99, 10, TimeoutAction::Substitute(0)), ..input(0) };
        assert_eq!(sent(frame([late], direct()), "1 a3; 11 a3; 15"), "1:03 11:03", "a change back is one");
    }

    #[test]
    fn the_last_value_is_kept() {
        let late = Input { timeout: timeout(5, 10, TimeoutAction::Keep), ..input(0) };
        let mut composer = Composer::new(frame([late], send(SendMode::Periodic, 10)), Time::from_nanos(0)).unwrap();
        assert_eq!(follow(&mut composer, "1 a3; 25"), "0:00 10:03 20:03");
        assert!(composer.statuses().next().unwrap().is_late);
    }

    #[test]
    fn without_a_first_time_the_first_frame_is_not_late() {
        let later = Timeout { first: None, later: ns(10), action: TimeoutAction::Substitute(9) };
        let late = Input { timeout: Some(later), ..input(0) };
        assert_eq!(sent(frame([late], direct()), "100 a1; 120"), "100:01 110:09");
    }

    #[test]
    fn substitutes_are_events_as_received_values_are() {
        let cases = [(Trigger::Never, ""), (Trigger::OnChange, "5:0900"), (Trigger::Always, "5:0900 7:0900")];
        for (trigger, expected) in cases {
            let late = |source: u16, after, bits| {
                let timeout = timeout(after, 10, TimeoutAction::Substitute(bits));
                Input { timeout, trigger, ..input(source) }
            };
            assert_eq!(sent(frame([late(0, 5, 9), late(1, 7, 0)], direct()), "50"), expected);
        }
    }

    #[test]
    fn a_late_call_does_them_at_their_times() {
        // A substitute of 5 ns ends the wait for a required input: cyclic times after it are not lost.
        let required = Input { required: true, trigger: Trigger::Never, ..input(0) };
        let required = Input { timeout: timeout(5, 99, TimeoutAction::Substitute(9)), ..required };
        assert_eq!(sent(frame([required], send(SendMode::Mixed, 4)), "!14; 17"), "14<8:09 16:09");
        // One begins the fast cycle.
        let active = FastCycle { cycle: ns(10), field: byte(0), active: Activity::Equals(9) };
        let rule = SendRule { fast: Some(active), ..send(SendMode::Periodic, 100) };
        let late = Input { timeout: timeout(25, 99, TimeoutAction::Substitute(9)), ..input(0) };
        assert_eq!(sent(frame([late], rule), "0; !36; 41"), "0:00 36<30:09 40:09");
        // The later one is written last.
        let both = |bits, first| Input { timeout: timeout(first, 99, TimeoutAction::Substitute(bits)), ..input(0) };
        let composition = Composition { initial: [0].into(), ..frame([both(1, 8), both(2, 6)], direct()) };
        assert_eq!(sent(composition, "!9"), "9<6:01");
    }
}

mod silence {
    use super::*;

    fn stop(source: u16) -> Input {
        let later = Timeout { first: None, later: ns(10), action: TimeoutAction::Stop };
        Input { timeout: Some(later), ..input(source) }
    }

    #[test]
    fn nothing_is_sent_while_an_input_stops() {
        let composition = frame([stop(0), input(1)], send(SendMode::Mixed, 4));
        assert_eq!(sent(composition, "1 a1; 12 b1; 15 a1; 17"), "0:0000 1:0100 4:0100 8:0100 15:0101 16:0101");
    }

    #[test]
    fn events_and_repetitions_in_it_are_lost() {
        let composition = || frame([stop(0), Input { trigger: Trigger::Never, ..input(1) }, input(2)], repeated(3, 4));
        let quiet = Input { trigger: Trigger::Never, ..stop(0) };
        let quiet = || Composition { inputs: [quiet.clone(), input(1), input(2)].into(), ..composition() };
        assert_eq!(sent(quiet(), "1 a1; 5 b1; 15 a1; 18"), "5:010100 9:010100");
        assert_eq!(sent(quiet(), "1 a1; 5 b1; 13 c1; 15 a1; 40 a1; 41 c2; 42"), "5:010100 9:010100 41:010102");
        assert_eq!(sent(composition(), "1 a1; 16 a1; 18"), "1:010000 5:010000 9:010000 16:010000");
    }

    #[test]
    fn what_waits_when_it_begins_is_lost() {
        let quiet = Input { trigger: Trigger::Never, ..stop(0) };
        let composition = |rule| frame([quiet.clone(), input(1)], rule);
        let held = delayed(20, direct());
        assert_eq!(sent(composition(held.clone()), "0 b1; 1 a1; 5 b2; 15 a1; 40"), "0:0001");
        assert_eq!(sent(composition(held), "0 b1; 1 a1; 5 b2; !15 a1; 40"), "0:0001", "a late call");
        let cyclic = || composition(send(SendMode::Periodic, 8));
        assert_eq!(sent(cyclic(), "1 a1; !14; !14 a1; 17"), "0:0000 16:0100", "a late call");
        assert_eq!(sent(cyclic(), "1 a1; 16; !16 a1; 24"), "0:0000 8:0100 24:0100", "a call at its time");
        assert_eq!(sent(cyclic(), "1 a1; 15; 16 a1; 17"), "0:0000 8:0100 16:0100", "it ends at a cyclic time");
        assert_eq!(sent(cyclic(), "1 a1; !14 a1; 17"), "0:0000 16:0100", "a late call");
    }

    #[test]
    fn a_frame_at_its_first_time_prevents_it() {
        let composition = frame([Input { trigger: Trigger::Never, ..stop(0) }], send(SendMode::Periodic, 8));
        assert_eq!(sent(composition, "0 a1; !10 a2; 17"), "0:01 10<8:02 16:02");
    }

    #[test]
    fn the_value_that_ends_it_counts_as_a_change() {
        let required = Input { required: true, ..input(0) };
        assert_eq!(sent(frame([required.clone(), input(1)], direct()), "1 b1; 2 a0; 3 a0"), "2:0001");
        assert_eq!(sent(frame([stop(0)], direct()), "1 a1; 2 a1; 15 a1; 16 a1"), "1:01 15:01");
        let substituted = Input { timeout: timeout(5, 99, TimeoutAction::Substitute(0)), ..required.clone() };
        assert_eq!(sent(frame([substituted], direct()), "10"), "5:00", "substituted");
        let filtered = Input { filter: Filter::MaskedDiffers { mask: 255, value: 4 }, ..stop(0) };
        assert_eq!(sent(frame([filtered], direct()), "1 a1; 15 a4; 16 a1; 17 a2"), "1:01 17:02", "not an ignored one");
    }

    #[test]
    fn it_lasts_until_all_inputs_have_ended_it() {
        let required = |source| Input { required: true, ..input(source) };
        let composition = frame([required(0), required(1)], send(SendMode::Mixed, 10));
        let mut composer = Composer::new(composition, Time::from_nanos(0)).unwrap();
        assert_eq!((composer.is_silent(), composer.due()), (true, None));
        assert_eq!(follow(&mut composer, "1 b1"), "");
        assert_eq!((composer.is_silent(), composer.due()), (true, None));
        assert_eq!(follow(&mut composer, "2 a1"), "2:0101");
        assert_eq!((composer.is_silent(), composer.due()), (false, Some(Time::from_nanos(10))));
    }
}

mod payloads {
    use super::*;

    fn whole(input: Input, send: SendRule) -> Composition {
        Composition { initial: [1, 2].into(), inputs: [input].into(), send }
    }

    #[test]
    fn only_bits_of_the_mask_are_changes() {
        let composition = || whole(payload(0, 4, &[0xF0, 0]), direct());
        assert_eq!(sent(composition(), "1 a15,3; 2 a17,4; 3 a16,5"), "2:1104");
        assert_eq!(
            sent(composition(), "1 a1,2,3; 2 a1,2,3; 3 a1,2,4; 4 a1"),
            "1:010203 3:010204 4:01",
            "length and rest"
        );
        assert_eq!(sent(composition(), "1 a1,2,3,4,5; 2 a1,2,3,4; 3 a"), "2:01020304 3:", "too long");
    }

    #[test]
    fn a_payload_is_filtered_by_count() {
        let of = |filter| whole(Input { filter, ..payload(0, 4, &[]) }, direct());
        assert_eq!(sent(of(Filter::OneEvery { period: 2, offset: 0 }), "1 a1; 2 a2; 3 a3,4,5,6,7; 4 a3"), "1:01 4:03");
        assert_eq!(sent(of(Filter::Never), "1 a1"), "");
    }

    #[test]
    fn a_payload_is_substituted() {
        let late = timeout(5, 10, TimeoutAction::SubstitutePayload([9, 9, 9].into()));
        let composition = whole(Input { timeout: late, ..payload(0, 4, &[]) }, send(SendMode::Mixed, 20));
        let mut composer = Composer::new(composition, Time::from_nanos(0)).unwrap();
        assert_eq!(follow(&mut composer, "6 a1; 21"), "0:0102 5:090909 6:01 16:090909 20:090909");
        let status = composer.statuses().next().unwrap();
        assert_eq!((status.origin, status.bits, composer.payload()), (Origin::Timeout, None, &[9, 9, 9][..]));
    }
}

mod times {
    use super::*;

    #[test]
    fn an_earlier_time_counts_as_that_of_the_last_call() {
        let mut composer = Composer::new(frame([input(0)], direct()), Time::from_nanos(10)).unwrap();
        assert_eq!(composer.received(Time::from_nanos(5), 0, &[1]).map(|one| one.due.nanos()), Some(10));
        assert_eq!(composer.statuses().next().unwrap().received, Some(Time::from_nanos(10)));
    }

    #[test]
    fn frames_of_other_sources_are_only_a_call() {
        let apart = Composition { initial: [0; 3].into(), ..frame([input(0), input(2)], direct()) };
        assert_eq!(sent(apart, "1 a1; 2 b7; 3 c2; 4 d9"), "1:010000 3:010002");
        let unsorted = Composition { initial: [0; 3].into(), ..frame([input(2), input(0), input(1)], direct()) };
        assert_eq!(sent(unsorted, "1 a1; 2 b2; 3 c3"), "1:010000 2:010200 3:010203");
    }

    #[test]
    fn what_is_beyond_the_last_time_never_comes() {
        let end = Time::from_nanos(u64::MAX);
        assert_eq!(end.nanos(), u64::MAX - 1);
        let late = Input { timeout: timeout(5, u64::MAX, TimeoutAction::Substitute(9)), ..input(0) };
        let rule = SendRule { mode: SendMode::Mixed, cycle: Some(ns(u64::MAX / 2)), ..repeated(1, 10) };
        let start = Time::from_nanos(u64::MAX - 4);
        let mut composer = Composer::new(frame([late], rule), start).unwrap();
        assert_eq!(composer.due(), Some(start));
        let course = format!("!{} a1", end.nanos());
        assert_eq!(follow(&mut composer, &course), format!("{}<{}:01", end.nanos(), start.nanos()));
        assert_eq!(composer.due(), None);
        let long = SendRule { cycle: Some(Duration::MAX), ..delayed(0, send(SendMode::Periodic, 0)) };
        let long = SendRule { min_delay: Duration::MAX, ..long };
        let mut composer = Composer::new(frame([input(0)], long), Time::from_nanos(0)).unwrap();
        assert_eq!(follow(&mut composer, "0; !18446744073709551614"), "0:00");
        assert_eq!(composer.due(), None);
    }

    #[test]
    fn nothing_allocates_after_the_start() {
        let late = |source, action| Input { timeout: timeout(50, 20, action), ..input(source) };
        let stops = Input { required: true, ..late(0, TimeoutAction::Stop) };
        let table =
            with(1, |signal| signal.conversion = Conversion::Table { rows: [(3, 4)].into(), other: Other::Bits(1) });
        let grouped = Input { group: Some(1), ..table };
        let rule =
            SendRule { mode: SendMode::Mixed, cycle: Some(ns(10)), delays_all: true, ..delayed(2, repeated(2, 3)) };
        let signals = frame([stops, grouped, late(2, TimeoutAction::Substitute(7))], rule.clone());
        let substitute = timeout(9, 9, TimeoutAction::SubstitutePayload([9; 64].into()));
        let whole = Input { timeout: substitute, ..payload(0, 64, &[1, 2]) };
        let whole = Composition { initial: [0; 8].into(), inputs: [whole].into(), send: rule };
        for composition in [signals, whole] {
            let mut composer = Composer::new(composition, Time::from_nanos(0)).unwrap();
            let mut frames = 0;
            let info = allocation_counter::measure(|| {
                for now in 0..1_000_u64 {
                    let [value, ..] = now.to_le_bytes();
                    let source = usize::from(value % 5);
                    // Sometimes nothing comes for longer than the timeouts.
                    let sent = if now % 200 < 100 {
                        composer.received(Time::from_nanos(now), source, &[value / 7; 16])
                    } else {
                        composer.advance(Time::from_nanos(now))
                    };
                    frames += u32::from(sent.is_some());
                    frames += u32::from(composer.due().is_none() || composer.statuses().count() == 0);
                }
            });
            assert!(frames > 50, "{frames}");
            assert_eq!(info.count_total, 0);
        }
    }
}

mod refusals {
    use super::*;

    fn refusal(composition: Composition) -> CompositionError {
        Composer::new(composition, Time::from_nanos(0)).unwrap_err()
    }

    #[test]
    fn cyclic_modes_need_cycles_above_0() {
        let fast = |cycle| Some(FastCycle { cycle: ns(cycle), field: byte(0), active: Activity::Equals(1) });
        for mode in [SendMode::Periodic, SendMode::Mixed] {
            let without = send(mode, 0);
            let zero = SendRule { cycle: Some(ns(0)), ..send(mode, 0) };
            let fast_zero = SendRule { fast: fast(0), ..send(mode, 10) };
            for rule in [without, zero, fast_zero] {
                assert_eq!(refusal(frame([input(0)], rule)), CompositionError::Cycle);
            }
        }
        let ignored = SendRule { cycle: Some(ns(0)), fast: fast(0), ..direct() };
        assert_eq!(sent(frame([input(0)], ignored), "1 a1; 20"), "1:01");
    }

    #[test]
    fn repetitions_need_a_period() {
        assert_eq!(refusal(frame([input(0)], repeated(1, 0))), CompositionError::Period);
        let ignored = SendRule { mode: SendMode::Periodic, cycle: Some(ns(10)), ..repeated(1, 0) };
        assert_eq!(sent(frame([input(0)], ignored), "1 a1; 10"), "0:00 10:01");
    }

    #[test]
    fn places_must_be_in_the_payload() {
        let outside = |change: fn(&mut SignalInput)| refusal(frame([input(0), with(1, change)], direct()));
        assert_eq!(outside(|one| one.to = byte(2)), CompositionError::TooLong { input: 1 });
        assert_eq!(outside(|one| one.update = Some(bit(16))), CompositionError::TooLong { input: 1 });
        let fast = FastCycle { cycle: ns(5), field: byte(1), active: Activity::Equals(1) };
        let rule = SendRule { fast: Some(fast), ..send(SendMode::Periodic, 10) };
        assert_eq!(refusal(frame([input(0)], rule.clone())), CompositionError::FastTooLong);
        // A payload may be too short to have it.
        let whole = Composition { initial: [1].into(), inputs: [payload(0, 8, &[])].into(), send: rule };
        assert_eq!(sent(whole, "1 a0,1; 15 a0; 20"), "0:01 5:0001 10:0001 15:00 20:00");
    }

    #[test]
    fn a_payload_is_alone_and_fits() {
        let whole =
            |input, initial: &[u8]| Composition { initial: initial.into(), inputs: [input].into(), send: direct() };
        let both = frame([input(0), payload(1, 8, &[])], direct());
        assert_eq!(refusal(both), CompositionError::NotAlone { input: 1 });
        assert_eq!(refusal(whole(payload(0, 2, &[]), &[0; 3])), CompositionError::Initial { input: 0 });
        for action in [TimeoutAction::Substitute(1), TimeoutAction::SubstitutePayload([0; 3].into())] {
            let late = Input { timeout: timeout(1, 1, action), ..payload(0, 2, &[]) };
            assert_eq!(refusal(whole(late, &[])), CompositionError::Substitute { input: 0 });
        }
        let late = timeout(1, 1, TimeoutAction::SubstitutePayload([0; 2].into()));
        assert_eq!(sent(whole(Input { timeout: late, ..payload(0, 2, &[]) }, &[7, 7]), "1"), "1:0000");
    }

    #[test]
    fn groups_are_neighbours_of_one_source_without_filter() {
        let grouped = |source, group| Input { group, ..with(source, |one| one.to = byte(0)) };
        let group =
            |inputs: [(u16, Option<u16>); 3]| frame(inputs.map(|(source, group)| grouped(source, group)), direct());
        let apart = CompositionError::GroupApart { group: 7 };
        assert_eq!(refusal(group([(0, Some(7)), (0, None), (0, Some(7))])), apart);
        assert_eq!(refusal(group([(0, Some(7)), (1, Some(7)), (2, None)])), apart);
        assert_eq!(refusal(group([(0, Some(7)), (0, Some(8)), (0, Some(7))])), apart);
        assert_eq!(sent(group([(0, Some(7)), (0, Some(7)), (1, Some(8))]), "1 a1; 2 b2"), "1:010000 2:020000");
        let filtered = Input { filter: Filter::Never, ..grouped(0, Some(7)) };
        assert_eq!(refusal(frame([filtered], direct())), CompositionError::GroupFilter { input: 0 });
    }

    #[test]
    fn filters_fit_their_value() {
        let error = CompositionError::Filter { input: 0 };
        let float = || with(0, |one| (one.from, one.conversion) = (codec("Float"), rescale("Float", "V")));
        let range = [Filter::Within { min: 0, max: 1 }, Filter::Outside { min: 0, max: 1 }, Filter::Deadband(1)];
        let counts = [(0, 0), (2, 2), (2, 3)].map(|(period, offset)| Filter::OneEvery { period, offset });
        let whole = |filter| Composition {
            initial: [].into(),
            inputs: [payload(0, 2, &[])].map(|one| Input { filter, ..one }).into(),
            send: direct(),
        };
        for filter in range {
            assert_eq!(refusal(frame([Input { filter, ..float() }], direct())), error, "{filter:?}");
        }
        for filter in counts {
            assert_eq!(refusal(frame([Input { filter, ..input(0) }], direct())), error, "{filter:?}");
        }
        let masked = Filter::MaskedEquals { mask: 1, value: 1 };
        for filter in range.into_iter().chain(counts).chain([masked, Filter::MaskedDiffersOld { mask: 1 }]) {
            assert_eq!(refusal(whole(filter)), error, "{filter:?}");
        }
        assert!(Composer::new(frame([Input { filter: masked, ..float() }], direct()), Time::from_nanos(0)).is_ok());
    }

    #[test]
    fn a_signal_has_no_substitute_payload() {
        let late = timeout(1, 1, TimeoutAction::SubstitutePayload([0].into()));
        let composition = frame([Input { timeout: late, ..input(0) }], direct());
        assert_eq!(refusal(composition), CompositionError::Substitute { input: 0 });
    }

    #[test]
    fn update_bits_have_1_bit_and_no_repetitions() {
        let one = |change: fn(&mut SignalInput), rule| refusal(frame([with(0, change)], rule));
        let error = CompositionError::UpdateBit { input: 0 };
        assert_eq!(one(|one| one.updated = Some(codec("Mode")), direct()), error);
        assert_eq!(one(|one| one.update = Some(byte(0)), direct()), error);
        let error = CompositionError::UpdateBitRepeated { input: 0 };
        assert_eq!(one(|one| one.update = Some(bit(0)), repeated(1, 5)), error);
        let rule = SendRule { mode: SendMode::Periodic, cycle: Some(ns(10)), ..repeated(1, 5) };
        let updating =
            Composition { initial: [0; 2].into(), ..frame([with(0, |one| one.update = Some(bit(8)))], rule) };
        assert_eq!(sent(updating, "1 a3; 20"), "0:0000 10:0301 20:0300", "without events, none are repeated");
    }

    #[test]
    fn tables_are_sorted_without_doubles() {
        let rows = [[(2, 0), (1, 0)], [(1, 0), (1, 1)]];
        for rows in rows {
            let table = Conversion::Table { rows: rows.into(), other: Other::Keep };
            let composition = frame([with(0, |one| one.conversion = table)], direct());
            assert_eq!(refusal(composition), CompositionError::Table { input: 0 });
        }
    }

    #[test]
    fn errors_name_the_input() {
        let text = CompositionError::UpdateBitRepeated { input: 3 }.to_string();
        assert_eq!(text, "Input 3 has an update bit, but the frame has repetitions, which would clear it");
    }
}
