//! A message of 8 signals, decoded and encoded by candor and by cantools in one run: `cargo bench -p candor-signals`
//!
//! `CANDOR_CANTOOLS` is what `cargo xtask cantools` prints, and `CANDOR_PEERS` the program that
//! `cargo build --release --manifest-path peers/Cargo.toml` makes. Without them, only candor is measured. The runs take
//! turns, and the smallest time of each counts: other load of the machine only adds.
#![forbid(unsafe_code)]
#![expect(clippy::print_stdout, reason = "a benchmark")]

use std::hint::black_box;
use std::path::Path;
use std::process::Command;
use std::time::Instant;

use candor_signals::{Database, Fit, MessageCodec, Physical, dbc};

/// Signals of both byte orders, signed and not, some of them not on byte limits, with factors and offsets.
const MESSAGE: &str = "BO_ 291 Bench: 8 A
 SG_ S0 : 7|16@0+ (0.01,0) [0|0] \"\" B
 SG_ S1 : 16|1@1+ (1,0) [0|0] \"\" B
 SG_ S2 : 17|7@1- (0.5,-40) [0|0] \"\" B
 SG_ S3 : 31|12@0- (0.05,0) [0|0] \"\" B
 SG_ S4 : 35|4@0+ (1,0) [0|0] \"\" B
 SG_ S5 : 40|10@1+ (0.1,0) [0|0] \"\" B
 SG_ S6 : 50|6@1+ (2,-10) [0|0] \"\" B
 SG_ S7 : 63|8@0+ (0.392,0) [0|0] \"\" B
";
const PAYLOADS: usize = 256;
const ROUNDS: usize = 200;
const TURNS: usize = 5;

fn main() {
    // cargo passes --bench, and names of benchmarks that this program does not have.
    let database = dbc::read(MESSAGE.as_bytes());
    assert!(database.oddities.is_empty(), "{:?}", database.oddities);
    let peers = [("cantools", cantools as fn() -> Option<[f64; 2]>), ("can_decode", can_decode)];
    let mut ours = [f64::INFINITY; 3];
    let mut theirs = [None; 2];
    for _ in 0..TURNS {
        ours = least(ours, candor(&database));
        for ((_, peer), before) in peers.iter().zip(&mut theirs) {
            *before = peer().map(|times| least(before.unwrap_or([f64::INFINITY; 2]), times));
        }
    }
    let [raw, physical, encode] = ours;
    println!("8 signals, nanoseconds per frame, the smallest of {TURNS} runs:");
    println!("  candor      raw     {raw:10.1}");
    println!("  candor      physical{physical:10.1}");
    println!("  candor      encode  {encode:10.1}");
    for ((name, _), times) in peers.iter().zip(theirs) {
        let Some([decoded, encoded]) = times else {
            println!("  {name:<12}left out: its variable is not set, see the first lines of this benchmark");
            continue;
        };
        println!("  {name:<12}decode  {decoded:10.1}   {:.0} times candor's physical", decoded / physical);
        if encoded.is_finite() {
            println!("  {name:<12}encode  {encoded:10.1}   {:.0} times candor's encode", encoded / encode);
        } else {
            println!("  {name:<12}cannot encode this message");
        }
    }
}

fn least<const N: usize>(one: [f64; N], other: [f64; N]) -> [f64; N] {
    std::array::from_fn(|at| one[at].min(other[at]))
}

/// Nanoseconds per frame: raw values, physical values, and raw bits from physical values.
fn candor(database: &Database) -> [f64; 3] {
    let codec = MessageCodec::new(&database.messages[0]);
    let payloads: Vec<[u8; 8]> =
        (0..PAYLOADS).map(|at| (at as u64).wrapping_mul(0x9E37_79B9_7F4A_7C15).to_le_bytes()).collect();
    let raw = time(
        |payload| {
            let mut sum = 0;
            codec.decode(payload, |_, _, bits| sum ^= bits);
            black_box(sum);
        },
        &payloads,
    );
    let physical = time(
        |payload| {
            let mut values = [0.0; 8];
            codec.decode(payload, |at, codec, bits| values[at] = codec.scale().physical_f64(bits));
            black_box(values);
        },
        &payloads,
    );
    let values: Vec<Physical> = codec.signals().iter().map(|(_, one)| one.scale().physical(1)).collect();
    let encode = time(
        |payload| {
            let mut written = *payload;
            for ((_, codec), value) in codec.signals().iter().zip(&values) {
                if let Ok(encoded) = codec.encode(black_box(*value)) {
                    assert!(encoded.fit == Fit::Exact && codec.set(&mut written, encoded.bits));
                }
            }
            black_box(written);
        },
        &payloads,
    );
    [raw, physical, encode]
}

#[expect(clippy::cast_precision_loss, reason = "a benchmark")]
fn time(mut work: impl FnMut(&[u8; 8]), payloads: &[[u8; 8]]) -> f64 {
    let mut best = f64::INFINITY;
    for _ in 0..ROUNDS {
        let start = Instant::now();
        payloads.iter().for_each(|payload| work(black_box(payload)));
        best = best.min(start.elapsed().as_nanos() as f64 / payloads.len() as f64);
    }
    best
}

/// The same message in cantools. `None` if it is not there.
fn cantools() -> Option<[f64; 2]> {
    const SCRIPT: &str = "
import sys, timeit, cantools
message = cantools.database.load_string(sys.argv[1], 'dbc').messages[0]
payload = bytes(range(1, 9))
values = message.decode(payload)
best = lambda work: min(timeit.repeat(work, number=500, repeat=10)) / 500 * 1e9
print(best(lambda: message.decode(payload)), best(lambda: message.encode(values, strict=False)))
";
    let python = Path::new(&std::env::var_os("CANDOR_CANTOOLS")?).join("venv/bin/python");
    run(Command::new(python).args(["-c", SCRIPT, MESSAGE]))
}

/// The same message in `can_decode`, on top of `can-dbc`. `None` if its program is not there.
fn can_decode() -> Option<[f64; 2]> {
    run(Command::new(std::env::var_os("CANDOR_PEERS")?).args([MESSAGE, "291"]))
}

/// The two numbers that a program prints.
fn run(command: &mut Command) -> Option<[f64; 2]> {
    let output = command.output().expect("cannot start the program");
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    let text = String::from_utf8(output.stdout).expect("numbers");
    let mut numbers = text.split_whitespace().map(|one| one.parse().expect("a number"));
    Some([numbers.next()?, numbers.next()?])
}
