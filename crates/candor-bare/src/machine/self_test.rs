//! What the program does if it boots alone: a gateway between the second and the third card, tested with the first and the
//! last.

use alloc::format;
use alloc::string::String;

use candor_bare::{Counters, Gateway};
use candor_core::filter::Filter;
use candor_core::frame::FrameFormat;
use candor_core::job::{BusIndex, Job};
use candor_core::random::SplitMix64;
use candor_core::rule::{Modifications, Operand};
use candor_sja1000::FRAME_BYTES;

use super::kvaser::Place;
use super::output::{self, Exit};
use super::{interrupts, start};

const FRAMES: u64 = 1000;
const BITS_PER_SECOND: u32 = 1_000_000;

pub(super) fn run() -> ! {
    interrupts::mask_old_controllers();
    let exit = match test() {
        Ok(counters) => {
            let Counters { received, sent, .. } = counters;
            output::line(&format!(
                "candor-bare: {} frames received, {} forwarded, all as they should be",
                received[0], sent[1]
            ));
            Exit::Success
        }
        Err(error) => {
            output::line(&format!("candor-bare: {error}"));
            Exit::Failure
        }
    };
    output::exit(exit)
}

/// Sends random frames, half of which the rules forward, with another identifier.
fn test() -> Result<Counters, String> {
    let places = Place::all();
    let &[near, from, to, far] = &places[..] else {
        return Err(format!("needs four Kvaser cards, two on each bus, and finds {}", places.len()));
    };
    let (mut near, mut far) = (start(near, BITS_PER_SECOND)?, start(far, BITS_PER_SECOND)?);
    let xor = Operand { id: Some(0x0F0), ..Operand::NONE };
    // 11 bits, the lowest 0.
    let filter = Filter { id: 0, mask: 0x8000_0001 };
    let plain = Job::plain(BusIndex(0), BusIndex(1), FrameFormat::Classic, filter);
    let job = Job { modifications: Modifications { xor, ..Modifications::NONE }, ..plain };
    let lines = [from, to].map(Place::interrupt_line);
    let mut gateway = Gateway::new([start(from, BITS_PER_SECOND)?, start(to, BITS_PER_SECOND)?], &[job]);
    lines.iter().for_each(|line| interrupts::route(*line));
    let mut random = SplitMix64::new(1);
    for number in 0..FRAMES {
        let frame = random_frame(&mut random);
        near.send(&frame);
        while gateway.counters().received[0] <= number {
            interrupts::wait();
            // The tester's cards may share a line with the gateway's.
            near.interrupts();
            gateway.serve(|| ());
            interrupts::done();
        }
        let id = u32::from_ne_bytes([frame[0], frame[1], frame[2], frame[3]]);
        let expected = (id & filter.mask == 0).then(|| {
            let mut changed = frame;
            changed[..4].copy_from_slice(&(id ^ 0x0F0).to_ne_bytes());
            changed
        });
        let received = far.receive();
        if received != expected {
            return Err(format!("frame {number}: {frame:02X?} became {received:02X?} instead of {expected:02X?}"));
        }
    }
    Ok(*gateway.counters())
}

/// A data frame with an identifier of 11 or 29 bits.
fn random_frame(random: &mut SplitMix64) -> [u8; FRAME_BYTES] {
    let (bits, data) = (random.next_u64(), random.next_u64().to_ne_bytes());
    let [a, b, c, d, len, ..] = bits.to_ne_bytes();
    let id = u32::from_ne_bytes([a, b, c, d]);
    let id = if id & 0x8000_0000 == 0 { id & 0x7FF } else { id & 0x9FFF_FFFF };
    let len = len % 9;
    let mut frame = [0; FRAME_BYTES];
    frame[..4].copy_from_slice(&id.to_ne_bytes());
    frame[4] = len;
    let len = usize::from(len);
    frame[8..8 + len].copy_from_slice(&data[..len]);
    frame
}
