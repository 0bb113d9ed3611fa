//! A composer does what the oracle does, for any composition and any course of frames and calls.
#![expect(clippy::unwrap_used, reason = "a test")]

use std::time::Duration;

use candor_signals::compose::{
    Activity, Composer, Composition, Conversion, FastCycle, Filter, Input, Invalid, InvalidAction, Other, Rescale,
    SendRule, SignalInput, Time, Timeout, TimeoutAction, Trigger, Value, oracle::Oracle,
};
use candor_signals::{ByteOrder, Codec, Database, Field, SendMode, Signal, dbc, oracle};
use proptest::collection::vec;
use proptest::option;
use proptest::prelude::*;
use proptest::sample::select;

/// All sources look like S; places and scales of the composed frame are those of T.
const DATABASE: &str = "BO_ 1 S: 4 N
 SG_ Mode M : 0|2@1+ (1,0) [0|0] \"\" N
 SG_ Fresh : 2|1@1+ (1,0) [0|0] \"\" N
 SG_ New m1 : 3|1@1+ (1,0) [0|0] \"\" N
 SG_ A : 4|4@1+ (1,0) [0|0] \"\" N
 SG_ B m0 : 8|5@1- (0.5,1) [0|0] \"\" N
 SG_ C m1 : 15|6@0+ (2,-3) [0|0] \"\" N
 SG_ D : 16|12@1- (-0.25,0) [0|0] \"\" N
BO_ 2 T: 5 N
 SG_ P : 0|4@1+ (1,0) [0|0] \"\" N
 SG_ Q : 4|6@1- (0.5,2) [0|0] \"\" N
 SG_ R : 23|9@0+ (1,-8) [0|0] \"\" N
 SG_ S : 24|3@1+ (3,0) [0|0] \"\" N
 SG_ T : 8|10@1- (-1,1) [0|0] \"\" N
";
/// Bytes of the composed frame for signals, and with that for update bits.
const SIGNALS: u16 = 4;
const LEN: usize = 5;
/// No time of a composition is longer.
const HORIZON: u64 = 40;

fn database() -> Database {
    dbc::read(DATABASE.as_bytes())
}

/// An input, and what the oracle needs to rescale it.
type Described = (Input, Option<(Signal, Signal)>);

fn time(most: u64) -> impl Strategy<Value = Duration> {
    (0..=most).prop_map(Duration::from_nanos)
}

fn conversion(from: &'static str, to: &'static str) -> impl Strategy<Value = (Conversion, Option<(Signal, Signal)>)> {
    let database = database();
    let [from, to] = [from, to].map(|name| database.signal(name).unwrap());
    let rescale = Rescale::new(Codec::new(from.0, from.1).unwrap().scale(), Codec::new(to.0, to.1).unwrap().scale());
    let rescale = (Conversion::Rescale(Box::new(rescale.unwrap())), Some((from.1.clone(), to.1.clone())));
    let table = (vec((0..16u64, 0..20u64), 0..6), option::of(0..9u64)).prop_map(|(mut rows, other)| {
        rows.sort_unstable();
        rows.dedup_by_key(|row| row.0);
        let other = other.map_or(Other::Keep, Other::Bits);
        (Conversion::Table { rows: rows.into(), other }, None)
    });
    prop_oneof![2 => Just(rescale), 1 => table]
}

fn filter() -> impl Strategy<Value = Filter> {
    let masked = || (select(vec![1, 3, 7, 0xFFFF]), 0..4u64);
    let range = || (-4..6i128, 0..8i128).prop_map(|(min, more)| (min, min + more));
    prop_oneof![
        8 => Just(Filter::Always),
        1 => Just(Filter::Never),
        1 => masked().prop_map(|(mask, value)| Filter::MaskedEquals { mask, value }),
        1 => masked().prop_map(|(mask, value)| Filter::MaskedDiffers { mask, value }),
        2 => masked().prop_map(|(mask, _)| Filter::MaskedDiffersOld { mask }),
        1 => range().prop_map(|(min, max)| Filter::Within { min, max }),
        1 => range().prop_map(|(min, max)| Filter::Outside { min, max }),
        2 => (0..4u64).prop_map(Filter::Deadband),
        2 => count(),
    ]
}

fn count() -> impl Strategy<Value = Filter> {
    (1..4u32).prop_flat_map(|period| (0..period).prop_map(move |offset| Filter::OneEvery { period, offset }))
}

fn trigger() -> impl Strategy<Value = Trigger> {
    prop_oneof![1 => Just(Trigger::Never), 3 => Just(Trigger::OnChange), 2 => Just(Trigger::Always)]
}

fn timeout(substitute: impl Strategy<Value = TimeoutAction>) -> impl Strategy<Value = Option<Timeout>> {
    let action = prop_oneof![1 => Just(TimeoutAction::Keep), 2 => Just(TimeoutAction::Stop), 4 => substitute];
    let timeout = (option::weighted(0.7, time(30)), time(25), action);
    option::weighted(0.6, timeout.prop_map(|(first, later, action)| Timeout { first, later, action }))
}

fn bit(at: u16) -> Field {
    Field::new(at, 1, ByteOrder::Little).unwrap()
}

/// An input of one signal. `at` is its number.
fn input(at: u16) -> impl Strategy<Value = Described> {
    let names = (select(vec!["S.A", "S.B", "S.C", "S.D", "S.Mode"]), select(vec!["T.P", "T.Q", "T.R", "T.S", "T.T"]));
    let converted = names.prop_flat_map(|(from, to)| (Just((from, to)), conversion(from, to))).prop_map(
        |(names, (one, signals))| {
            let database = database();
            let codec = |name: &str| {
                let (message, signal) = database.signal(name).unwrap();
                Codec::new(message, signal).unwrap()
            };
            (codec(names.0), *codec(names.1).field(), one, signals)
        },
    );
    let updated = option::weighted(0.2, select(vec!["S.Fresh", "S.New"])).prop_map(|name| {
        let database = database();
        name.map(|name| database.signal(name).unwrap()).map(|(message, signal)| Codec::new(message, signal).unwrap())
    });
    let substitute = prop_oneof![0..8u64, Just(u64::MAX)];
    let action = prop_oneof![Just(InvalidAction::Ignore), substitute.prop_map(InvalidAction::Substitute)];
    let invalid = option::weighted(0.3, (0..4u64, action).prop_map(|(bits, action)| Invalid { bits, action }));
    let signal = (converted, option::of(0..4u64), updated, invalid, prop::bool::weighted(0.4));
    let signal = signal.prop_map(move |((from, to, conversion, signals), start, updated, invalid, has_update)| {
        let update = has_update.then(|| bit(SIGNALS * 8 + at));
        (SignalInput { from, start, updated, invalid, conversion, to, update }, signals)
    });
    let timeout = timeout((0..8u64).prop_map(TimeoutAction::Substitute));
    let rest = (filter(), trigger(), any::<bool>(), prop::bool::weighted(0.25), timeout);
    (0..3usize, signal, rest).prop_map(|(source, (signal, signals), (filter, trigger, repeats, required, timeout))| {
        let value = Value::Signal(Box::new(signal));
        (Input { source, value, filter, trigger, repeats, required, timeout, group: None }, signals)
    })
}

fn send() -> impl Strategy<Value = SendRule> {
    let mode = select(vec![SendMode::Direct, SendMode::Mixed, SendMode::Mixed, SendMode::Periodic, SendMode::None]);
    let cycle = || (1..20u64).prop_map(Duration::from_nanos);
    let field = (0..u32::from(SIGNALS) * 8 - 3, 1..4u16)
        .prop_map(|(start, bits)| Field::new(u16::try_from(start).unwrap(), bits, ByteOrder::Little).unwrap());
    let active = prop_oneof![(0..3u64).prop_map(Activity::Equals), (0..3u64).prop_map(Activity::Differs)];
    let fast = (cycle(), field, active).prop_map(|(cycle, field, active)| FastCycle { cycle, field, active });
    let cycles = (option::weighted(0.8, cycle()), option::weighted(0.6, fast));
    let delays = (prop_oneof![Just(Duration::ZERO), time(12)], any::<bool>());
    (mode, cycles, time(12), delays, 0..4u32, cycle()).prop_map(
        |(mode, (cycle, fast), offset, (min_delay, delays_all), repetitions, repetition_period)| {
            let cycle = if fast.is_none() { cycle.or(Some(Duration::from_nanos(7))) } else { cycle };
            SendRule { mode, cycle, fast, offset, min_delay, delays_all, repetitions, repetition_period }
        },
    )
}

fn of_signals() -> impl Strategy<Value = (Composition, Vec<Option<(Signal, Signal)>>)> {
    let inputs =
        (1..6u16).prop_flat_map(|count| ((0..count).map(input).collect::<Vec<_>>(), vec(0..5u16, usize::from(count))));
    (inputs, send(), any::<[u8; SIGNALS as usize]>()).prop_map(|((described, groups), send, initial)| {
        let (mut inputs, signals): (Vec<Input>, Vec<_>) = described.into_iter().unzip();
        // Neighbours with the same number are a group.
        for at in 1..inputs.len() {
            if groups[at] == groups[at - 1] {
                let number = u16::try_from(at).unwrap();
                let group = inputs[at - 1].group.or(Some(number));
                inputs[at].source = inputs[at - 1].source;
                for one in [at - 1, at] {
                    (inputs[one].group, inputs[one].filter) = (group, Filter::Always);
                }
            }
        }
        if send.sends_events() && send.repetitions > 0 {
            for input in &mut inputs {
                if let Value::Signal(signal) = &mut input.value {
                    signal.update = None;
                }
            }
        }
        let mut payload = initial.to_vec();
        payload.resize(LEN, 0);
        (Composition { initial: payload.into(), inputs: inputs.into(), send }, signals)
    })
}

fn of_payload() -> impl Strategy<Value = (Composition, Vec<Option<(Signal, Signal)>>)> {
    let bytes = |most| vec(select(vec![0, 1, 2, 0xFF]), 0..=most).prop_map(Vec::into_boxed_slice);
    let filter = prop_oneof![4 => Just(Filter::Always), 1 => Just(Filter::Never), 2 => count()];
    let timeout = timeout(bytes(4).prop_map(TimeoutAction::SubstitutePayload));
    let input = (bytes(3), filter, trigger(), any::<bool>(), any::<bool>(), timeout);
    let input = input.prop_map(|(mask, filter, trigger, repeats, required, timeout)| {
        let value = Value::Payload { max_len: 4, mask };
        Input { source: 0, value, filter, trigger, repeats, required, timeout, group: None }
    });
    (bytes(4), input, send())
        .prop_map(|(initial, input, send)| (Composition { initial, inputs: [input].into(), send }, vec![None]))
}

/// A call.
#[derive(Clone, Debug)]
enum Call {
    /// After this time.
    Advance(u64),
    /// When something is due, or later.
    AdvanceDue(u64),
    /// After this time, from this source.
    Received(u64, usize, Vec<u8>),
    /// A time before the last one.
    Back(u64),
}

fn calls() -> impl Strategy<Value = Vec<Call>> {
    let delay = || prop_oneof![3 => Just(0), 6 => 1..8u64, 2 => 8..40u64];
    let byte = || select(vec![0, 1, 2, 3, 4, 5, 8, 0x0D, 0x15, 0x1C, 0x1D, 0x24, 0x7F, 0x80, 0xFF]);
    let call = prop_oneof![
        2 => delay().prop_map(Call::Advance),
        6 => prop_oneof![4 => Just(0), 1 => 1..20u64].prop_map(Call::AdvanceDue),
        8 => (delay(), 0..4usize, vec(byte(), 3..=5)).prop_map(|(delay, source, payload)| {
            let source = if source == 3 { 0 } else { source };
            Call::Received(delay, source, payload)
        }),
        1 => (0..9u64).prop_map(Call::Back),
    ];
    vec(call, 1..40)
}

/// Runs both, with the same calls.
fn compare(composition: &Composition, signals: Vec<Option<(Signal, Signal)>>, start: u64, calls: &[Call]) {
    let mut composer = Composer::new(composition.clone(), Time::from_nanos(start)).unwrap();
    let mut oracle = Oracle::new(composition.clone(), signals, Time::from_nanos(start));
    let mut now = start;
    for (number, call) in calls.iter().enumerate() {
        let near = composer.due().filter(|due| due.nanos() <= now + HORIZON);
        assert_eq!(near, oracle.due(HORIZON), "due before call {number}");
        now = match call {
            Call::Advance(delay) | Call::Received(delay, ..) => now + delay,
            Call::AdvanceDue(late) => near.map_or(now, |due| due.nanos() + late),
            Call::Back(_) => now,
        };
        let time = Time::from_nanos(if let Call::Back(back) = call { now.saturating_sub(*back) } else { now });
        let (sent, expected) = match call {
            Call::Received(_, source, payload) => {
                (composer.received(time, *source, payload), oracle.received(time, *source, payload))
            }
            _ => (composer.advance(time), oracle.advance(time)),
        };
        let sent = sent.map(|sent| (sent.due, sent.payload.to_vec()));
        assert_eq!(sent, expected, "call {number} at {now}: {call:?}");
        assert_eq!(composer.statuses().collect::<Vec<_>>(), oracle.statuses(), "after call {number} at {now}");
        assert_eq!(composer.payload(), oracle.payload(), "after call {number} at {now}");
        assert_eq!(composer.is_silent(), oracle.is_silent(), "after call {number} at {now}");
    }
}

/// A signal of up to 64 bits with a scale.
fn scaled() -> impl Strategy<Value = String> {
    let factor = select(vec!["1", "0.1", "-0.25", "1E-7", "3", "0.39215686274509803", "-7", "1000"]);
    let offset = select(vec!["0", "-40", "0.333", "1e3", "-0.5"]);
    (1..=64u16, any::<bool>(), factor, offset).prop_map(|(bits, signed, factor, offset)| {
        format!("0|{bits}@1{} ({factor},{offset})", if signed { '-' } else { '+' })
    })
}

proptest! {
    #[test]
    fn rescaled_values_are_those_of_exact_fractions(from in scaled(), to in scaled(), value: u64, small in 0..64u32) {
        let text = format!("BO_ 1 M: 8 N\n SG_ From : {from} [0|0] \"\" N\n SG_ To : {to} [0|0] \"\" N\n");
        let database = dbc::read(text.as_bytes());
        let [from, to] = ["M.From", "M.To"].map(|name| database.signal(name).unwrap());
        let [codec, target] = [from, to].map(|(message, signal)| Codec::new(message, signal).unwrap());
        let bits = (value >> small) & codec.field().mask();
        let exact = oracle::physical(from.1, oracle::raw(from.1, bits)).and_then(|one| oracle::encode(to.1, one));
        let found = Rescale::new(codec.scale(), target.scale()).unwrap().bits(bits);
        if let Some(exact) = exact {
            prop_assert_eq!(found.map(|bits| target.scale().raw(bits)), Some(exact));
        }
    }
}

proptest! {
    #![proptest_config(ProptestConfig { cases: ProptestConfig::default().cases.max(600), failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn signals_are_composed_as_by_the_oracle((composition, signals) in of_signals(), start in 0..20u64, calls in calls()) {
        compare(&composition, signals, start, &calls);
    }

    #[test]
    fn payloads_are_composed_as_by_the_oracle((composition, signals) in of_payload(), start in 0..20u64, calls in calls()) {
        compare(&composition, signals, start, &calls);
    }
}
