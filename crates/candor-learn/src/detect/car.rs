//! Traffic of a car that does not exist: periods with jitter and delays, signals that drift, and frames on events.

use std::collections::BTreeMap;

use candor_e2e::{Profile, Protection, Settings};
use fastrand::Rng;

use crate::traffic::Recorded;

const MS: u64 = 1_000_000;

/// Identifier, period in ms, and true if it has a counter and a checksum (P01).
const CYCLIC: [(u32, u64, bool); 18] = [
    (0x0A0, 10, true),
    (0x0B4, 10, false),
    (0x0D2, 10, false),
    (0x120, 10, true),
    (0x136, 20, true),
    (0x150, 20, false),
    (0x17A, 20, false),
    (0x1C4, 20, true),
    (0x224, 50, false),
    (0x260, 50, true),
    (0x2F1, 100, false),
    (0x320, 100, true),
    (0x33C, 100, false),
    (0x3B7, 200, false),
    (0x45A, 500, false),
    (0x4C1, 1000, false),
    (0x5A0, 1000, false),
    (0x62C, 1000, false),
];
/// Identifiers of events: a button, a warning.
const EVENTS: [u32; 2] = [0x3D0, 0x591];

#[derive(Debug)]
struct Message {
    id: u32,
    period_ns: Option<u64>,
    protection: Option<Protection>,
    counter: u32,
    payload: [u8; 8],
    next_ns: u64,
}

/// A car with a state, which drives on.
#[derive(Debug)]
pub struct Car {
    rng: Rng,
    now_ns: u64,
    messages: Vec<Message>,
    /// Frames that were delayed beyond the last drive.
    sent: BTreeMap<(u64, u32), [u8; 8]>,
}

impl Car {
    /// The identifier that attacks are aimed at: 10 ms, with counter and checksum.
    pub const TARGET: u32 = 0x120;

    /// A car before its first frame.
    #[must_use]
    pub fn new(seed: u64) -> Self {
        let mut rng = Rng::with_seed(seed);
        let cyclic = CYCLIC.map(|(id, period, is_protected)| (id, Some(period * MS), is_protected));
        let events = EVENTS.map(|id| (id, None, false));
        let messages = cyclic.into_iter().chain(events).map(|(id, period_ns, is_protected)| Message {
            id,
            period_ns,
            protection: is_protected.then(|| protection(id)).flatten(),
            counter: 0,
            payload: start(id),
            next_ns: rng.u64(0..period_ns.unwrap_or(1000 * MS)),
        });
        Self { messages: messages.collect(), now_ns: 0, rng, sent: BTreeMap::new() }
    }

    /// The frames of the next seconds.
    pub fn drive(&mut self, seconds: u64) -> Vec<Recorded> {
        let end = self.now_ns + seconds * 1000 * MS;
        for message in &mut self.messages {
            while message.next_ns < end {
                let jitter = message.period_ns.map_or(0, |period| self.rng.u64(0..=period / 20));
                // Now and then a frame waits for others.
                let wait = if self.rng.u8(..) < 8 { self.rng.u64(0..2 * MS) } else { self.rng.u64(0..MS / 4) };
                change(&mut message.payload, message.id, &mut self.rng);
                let mut payload = message.payload;
                if let Some(protection) = &message.protection
                    && protection.protect_with(message.counter, &mut payload)
                {
                    message.counter = (message.counter + 1) % 15;
                }
                self.sent.insert((message.next_ns + jitter + wait, message.id), payload);
                message.next_ns += match message.period_ns {
                    Some(period) => period,
                    // Three frames for each event.
                    None if self.rng.u8(0..3) > 0 => 50 * MS,
                    None => self.rng.u64(500 * MS..8000 * MS),
                };
            }
        }
        self.now_ns = end;
        let later = self.sent.split_off(&(end, 0));
        let sent = std::mem::replace(&mut self.sent, later);
        let frame = |((at_ns, id), payload): ((u64, u32), [u8; 8])| Recorded {
            at_ns,
            id,
            is_remote: false,
            payload: payload.to_vec(),
        };
        sent.into_iter().map(frame).collect()
    }
}

/// That of an identifier.
pub(super) fn protection(id: u32) -> Option<Protection> {
    Settings::new(Profile::P01, [id], 8).scheme().ok().and_then(|scheme| Protection::new(&scheme).ok())
}

/// What a byte of a message is, the same in each car.
fn kind(id: u32, at: usize) -> u32 {
    // Attacks change the last byte of the target.
    if (id, at) == (Car::TARGET, 7) { 6 } else { (id.wrapping_mul(0x9E37_79B9) >> (3 * at)) & 7 }
}

fn start(id: u32) -> [u8; 8] {
    std::array::from_fn(|at| u8::try_from(id.wrapping_mul(0x85EB_CA6B) >> (2 * at) & 0xFF).unwrap_or_default())
}

fn change(payload: &mut [u8; 8], id: u32, rng: &mut Rng) {
    for (at, byte) in payload.iter_mut().enumerate() {
        match kind(id, at) {
            // Constant, and flags that rarely change.
            0..=2 => {}
            3 => *byte ^= u8::from(rng.u16(..) < 400) << rng.u8(0..3),
            // Signals that drift, and noise.
            4 | 5 => *byte = *byte & 0xF0 | byte.wrapping_add(rng.u8(0..5)).wrapping_sub(2) & 0x0F,
            6 => *byte = byte.wrapping_add(rng.u8(0..19)).wrapping_sub(9),
            _ => *byte = *byte & 0xF0 | rng.u8(0..16),
        }
    }
}
