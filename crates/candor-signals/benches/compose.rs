//! A frame of 8 signals from 4 sources, composed; beside it, the same signals only decoded:
//! `cargo bench -p candor-signals --bench compose`
//!
//! The smallest time of all rounds counts: other load of the machine only adds.
#![forbid(unsafe_code)]
#![expect(clippy::print_stdout, reason = "a benchmark")]

use std::hint::black_box;
use std::time::{Duration, Instant};

use candor_signals::compose::{
    Composer, Composition, Conversion, Filter, Input, Rescale, SendRule, SignalInput, Time, Timeout, TimeoutAction,
    Trigger, Value,
};
use candor_signals::{Codec, Database, SendMode, dbc};

/// Signals of both byte orders, signed and not, with factors and offsets. All sources look like S.
const DATABASE: &str = "BO_ 1 S: 8 A
 SG_ A : 7|16@0+ (0.01,0) [0|0] \"\" B
 SG_ B : 20|12@1- (0.5,-40) [0|0] \"\" B
BO_ 2 T: 8 A
 SG_ A0 : 0|8@1+ (1,0) [0|0] \"\" B
 SG_ B0 : 8|8@1- (1,0) [0|0] \"\" B
 SG_ A1 : 16|8@1+ (1,0) [0|0] \"\" B
 SG_ B1 : 24|8@1- (1,0) [0|0] \"\" B
 SG_ A2 : 32|8@1+ (1,0) [0|0] \"\" B
 SG_ B2 : 40|8@1- (1,0) [0|0] \"\" B
 SG_ A3 : 48|8@1+ (1,0) [0|0] \"\" B
 SG_ B3 : 56|8@1- (1,0) [0|0] \"\" B
";
const SOURCES: usize = 4;
const PAYLOADS: usize = 256;
const ROUNDS: usize = 4_000;
/// Frames arrive at this distance.
const STEP: u64 = 1_000_000;

fn main() {
    // cargo passes --bench, and names of benchmarks that this program does not have.
    let database = dbc::read(DATABASE.as_bytes());
    let payloads: Vec<[u8; 8]> =
        (0..PAYLOADS).map(|at| (at as u64).wrapping_mul(0x9E37_79B9_7F4A_7C15).to_le_bytes()).collect();
    let codecs = ["S.A", "S.B"].map(|name| codec(&database, name));
    let decoded = time(|at, _| {
        black_box(codecs.each_ref().map(|codec| codec.get(black_box(&payloads[at]))));
    });
    let [taken, sent] = [SendMode::None, SendMode::Direct].map(|mode| {
        let mut composer = composer(&database, mode);
        time(|at, now| {
            black_box(composer.received(now, at % SOURCES, black_box(&payloads[at])));
            black_box(composer.due());
        })
    });
    let [idle, cyclic] = [SendMode::None, SendMode::Periodic].map(|mode| {
        let mut composer = composer(&database, mode);
        time(|_, now| {
            black_box(composer.advance(now));
            black_box(composer.due());
        })
    });
    println!("a frame of 8 signals from 4 sources, nanoseconds per call, the smallest of {ROUNDS} rounds:");
    println!("  decode 2 signals                         {decoded:8.1}");
    println!("  received and due, 2 signals taken        {taken:8.1}");
    println!("  received and due, a frame sent           {sent:8.1}");
    println!("  advance and due, nothing due             {idle:8.1}");
    println!("  advance and due, a frame sent            {cyclic:8.1}");
}

fn codec(database: &Database, name: &str) -> Codec {
    let (message, signal) = database.signal(name).expect("a signal of the database");
    Codec::new(message, signal).expect("a valid signal")
}

/// Each input has a timeout that is not over before the end.
fn composer(database: &Database, mode: SendMode) -> Composer {
    let inputs = (0..SOURCES).flat_map(|source| ["A", "B"].map(|name| (source, name)));
    let input = |(source, name): (usize, &str)| {
        let (from, to) = (codec(database, &format!("S.{name}")), codec(database, &format!("T.{name}{source}")));
        let rescale = Rescale::new(from.scale(), to.scale()).expect("factors are not 0");
        let (conversion, to) = (Conversion::Rescale(Box::new(rescale)), *to.field());
        let signal = SignalInput { from, start: None, updated: None, invalid: None, conversion, to, update: None };
        let week = Duration::from_secs(7 * 24 * 3600);
        Input {
            source,
            value: Value::Signal(Box::new(signal)),
            filter: Filter::Always,
            trigger: Trigger::Always,
            repeats: true,
            required: false,
            timeout: Some(Timeout { first: Some(week), later: week, action: TimeoutAction::Stop }),
            group: None,
        }
    };
    let send = SendRule {
        mode,
        cycle: Some(Duration::from_nanos(STEP)),
        fast: None,
        offset: Duration::ZERO,
        min_delay: Duration::ZERO,
        delays_all: false,
        repetitions: 0,
        repetition_period: Duration::ZERO,
    };
    let composition = Composition { initial: [0; 8].into(), inputs: inputs.map(input).collect(), send };
    Composer::new(composition, Time::from_nanos(0)).expect("a valid composition")
}

/// Calls the work with the number of a payload and a time.
#[expect(clippy::cast_precision_loss, reason = "a benchmark")]
fn time(mut work: impl FnMut(usize, Time)) -> f64 {
    let (mut best, mut now) = (f64::INFINITY, 0);
    for _ in 0..ROUNDS {
        let start = Instant::now();
        for at in 0..PAYLOADS {
            now += STEP;
            work(at, Time::from_nanos(now));
        }
        best = best.min(start.elapsed().as_nanos() as f64 / PAYLOADS as f64);
    }
    best
}
