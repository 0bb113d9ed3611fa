//! Times `can_decode`, a codec on top of `can-dbc`, with a message that `candor-signals` is measured with:
//! `cargo bench -p candor-signals --bench decode` starts this program and says how to build it.
#![forbid(unsafe_code)]

use std::collections::HashMap;
use std::hint::black_box;
use std::time::Instant;

use can_decode::Parser;

const ROUNDS: usize = 200;
const FRAMES: usize = 256;

/// The arguments are a DBC file and the identifier of its message. Prints nanoseconds for decoding and encoding a frame, `inf` if it cannot.
fn main() {
    let text = std::env::args().nth(1).expect("the text of a DBC file");
    let mut parser = Parser::new();
    parser.add_from_str(&text).expect("can_decode reads the file");
    let id = std::env::args().nth(2).and_then(|id| id.parse().ok()).expect("the identifier of its message");
    let payload = [1, 2, 3, 4, 5, 6, 7, 8];
    let decoded = parser.decode_msg(id, &payload).expect("the message is known");
    assert_eq!(decoded.signals.len(), 8);
    let values: HashMap<String, f64> = decoded.signals.iter().map(|(name, signal)| (name.clone(), signal.value.physical)).collect();
    println!("{}", best(|| drop(black_box(parser.decode_msg(id, black_box(&payload))))));
    // It refuses a big-endian signal at the end of the payload.
    match parser.encode_msg(id, &values) {
        Some(_) => println!("{}", best(|| drop(black_box(parser.encode_msg(id, black_box(&values)))))),
        None => println!("inf"),
    }
}

/// Nanoseconds of the fastest round.
fn best(mut work: impl FnMut()) -> f64 {
    let round = |_| {
        let start = Instant::now();
        (0..FRAMES).for_each(|_| work());
        start.elapsed().as_nanos() as f64 / FRAMES as f64
    };
    (0..ROUNDS).map(round).fold(f64::INFINITY, f64::min)
}
