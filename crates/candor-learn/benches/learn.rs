//! Seconds of processor time to learn 10 000 frames: `cargo bench -p candor-learn` (Linux only)
#![forbid(unsafe_code)]
#![expect(clippy::print_stdout, clippy::unwrap_used, reason = "a benchmark")]

use candor_e2e::{Algorithm, Checksum, Counter, Place, Profile, Protection, Scheme, Settings, Unit};
use candor_learn::learn;

const FRAMES: u32 = 10_000;

fn main() {
    let counted = |scheme: Scheme| Scheme { counter: Some(Counter::new(Place::low_nibble(1))), ..scheme };
    let sum = Checksum::Sum { unit: Unit::Byte, init: 3, negated: false, xorout: 0 };
    let crc = Algorithm { width: 8, polynomial: 0x9B, init: 1, reflect_in: true, reflect_out: true, xorout: 2 };
    let ids: Vec<u32> = (10..26).collect();
    let cases = [
        ("sum", 8, Some(counted(Scheme::new(sum, Place::byte(7), 8)))),
        ("unknown CRC", 8, Some(counted(Scheme::new(Checksum::Crc(crc), Place::byte(7), 8)))),
        ("P02", 8, Some(Settings::new(Profile::P02, ids, 8).scheme().unwrap())),
        ("P05, 64 bytes", 64, Some(Settings::new(Profile::P05, [0x1234], 64).scheme().unwrap())),
        ("random bytes", 8, None),
        ("random bytes, 64 bytes", 64, None),
    ];
    for (name, len, scheme) in cases {
        let protection = scheme.map(|scheme| Protection::new(&scheme).unwrap());
        let mut rng = fastrand::Rng::with_seed(1);
        let mut payloads = Vec::new();
        for at in 0..FRAMES {
            let mut payload: Vec<u8> = (0..len).map(|_| rng.u8(..)).collect();
            if let Some(protection) = &protection {
                let values = if len == 64 { 256 } else { 16 };
                assert!(protection.protect_with(at % values, &mut payload));
            }
            payloads.push(payload);
        }
        let start = seconds();
        let learned = learn(payloads.iter().map(|payload| &payload[..]), None);
        println!("{name:24} {:6.3} s  {:?}", seconds() - start, learned.outcome);
    }
}

/// Time on a processor until now: other load of the machine does not count.
fn seconds() -> f64 {
    let text = std::fs::read_to_string("/proc/self/schedstat").unwrap();
    text.split_whitespace().next().unwrap().parse::<f64>().unwrap() * 1e-9
}
