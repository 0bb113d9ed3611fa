//! Nanoseconds and bytes per frame, by protocol: `cargo bench -p candor-link`
//!
//! One session takes frames of 8 bytes, and another one gets its bytes, without a network. The smallest time of many runs
//! counts: other load of the machine only adds.
#![forbid(unsafe_code)]
#![expect(clippy::print_stdout, clippy::unwrap_used, reason = "a benchmark")]

use std::num::NonZeroU64;
use std::time::{Duration, Instant};

use candor_core::frame::{Frame, RawId};
use candor_link::session::{
    Action, Candor, Flush, Options, Outgoing, Protocol, Role, Session, SocketcandClient, SocketcandServer, Tcp, Udp,
};
use candor_link::{Clock, Origin, Stamp};

const FRAMES: u64 = 1000;
const ROUNDS: usize = 300;

fn main() {
    println!("| protocol | bytes per frame | send: ns | receive: ns |\n|---|--:|--:|--:|");
    run::<Udp, Udp>("cannelloni-udp");
    run::<Tcp, Tcp>("cannelloni-tcp");
    run::<SocketcandServer, SocketcandClient>("socketcand, from a server");
    run::<SocketcandClient, SocketcandServer>("socketcand, from a client");
    run::<Candor, Candor>("candor");
}

fn run<A: Protocol, B: Protocol>(name: &str) {
    let options = |origin| Options {
        flush: Flush { delay: Duration::ZERO, frames: 1, bytes: 1400 },
        origin: Origin(NonZeroU64::new(origin).unwrap()),
        ..Options::new(Role::Listens, &["can0"])
    };
    let mut now = Duration::ZERO;
    let (mut a, mut b) = (Session::<A>::new(&options(1), now, 1), Session::<B>::new(&options(2), now, 1));
    a.connected(now);
    b.connected(now);
    for _ in 0..8 {
        let (mut of_a, mut of_b) = (Vec::new(), Vec::new());
        drain(&mut a, now, &mut of_a);
        drain(&mut b, now, &mut of_b);
        of_a.iter().for_each(|bytes| b.received(now, bytes, |_| {}));
        of_b.iter().for_each(|bytes| a.received(now, bytes, |_| {}));
    }
    assert!(a.is_up() && b.is_up(), "{name}");
    let frame = Frame::classic(RawId(0x123), &[0x11, 0x22, 0x33, 0x44, 0x55, 0x66, 0x77, 0x88]).unwrap();
    let stamp = Some(Stamp { ns: 1_700_000_000_123_456_789, clock: Clock::Realtime });
    let (mut sending, mut receiving, mut bytes) = (Duration::MAX, Duration::MAX, 0);
    for _ in 0..ROUNDS {
        now += Duration::from_millis(1);
        let mut pieces = Vec::with_capacity(200);
        let start = Instant::now();
        for _ in 0..FRAMES {
            a.send(now, Outgoing::local(0, frame, stamp));
        }
        drain(&mut a, now, &mut pieces);
        sending = sending.min(start.elapsed());
        bytes = pieces.iter().map(Vec::len).sum();
        let mut delivered = 0;
        let start = Instant::now();
        pieces.iter().for_each(|piece| b.received(now, piece, |_| delivered += 1));
        receiving = receiving.min(start.elapsed());
        assert_eq!(delivered, FRAMES, "{name}");
    }
    let per_frame = |time: Duration| time.as_nanos() as f64 / FRAMES as f64;
    let bytes = bytes as f64 / FRAMES as f64;
    println!("| {name} | {bytes:.1} | {:.0} | {:.0} |", per_frame(sending), per_frame(receiving));
}

/// Takes all bytes, with a copy of each piece as a socket makes it.
fn drain<P: Protocol>(session: &mut Session<P>, now: Duration, pieces: &mut Vec<Vec<u8>>) {
    while session.poll(now) == Action::Write {
        let len = session.outgoing().len();
        pieces.push(session.outgoing().to_vec());
        session.written(now, len);
    }
}
