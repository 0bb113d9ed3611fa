//! Nanoseconds and bytes per frame, by protocol: `cargo bench -p candor-link`
//!
//! One session takes frames of 8 bytes, and another one gets its bytes, without a network. The smallest time of many runs
//! counts: other load of the machine only adds. The second table is over TCP of this machine, with a thread at each end:
//! frames per second without a loss, and the time from one session to the other of 1000 frames per second.
#![forbid(unsafe_code)]
#![expect(clippy::print_stdout, clippy::unwrap_used, reason = "a benchmark")]

use std::io::{Read as _, Write as _};
use std::net::{Ipv4Addr, TcpListener, TcpStream};
use std::num::NonZeroU64;
use std::thread;
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
    println!("\n| protocol | frames/s | latency at 1000 frames/s: p50 µs | p99 µs |\n|---|--:|--:|--:|");
    over_tcp::<Tcp, Tcp>("cannelloni-tcp");
    over_tcp::<SocketcandServer, SocketcandClient>("socketcand, from a server");
    over_tcp::<Candor, Candor>("candor");
}

fn options(origin: u64) -> Options {
    Options {
        flush: Flush { delay: Duration::ZERO, frames: 1, bytes: 1400 },
        origin: Origin(NonZeroU64::new(origin).unwrap()),
        ..Options::new(Role::Listens, &["can0"])
    }
}

fn run<A: Protocol, B: Protocol>(name: &str) {
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

fn over_tcp<A: Protocol, B: Protocol + 'static>(name: &str) {
    const FAST: usize = 300_000;
    const SLOW: usize = 2_000;
    let listener = TcpListener::bind((Ipv4Addr::LOCALHOST, 0)).unwrap();
    let mut to = TcpStream::connect(listener.local_addr().unwrap()).unwrap();
    let (mut from, _) = listener.accept().unwrap();
    for socket in [&to, &from] {
        socket.set_nodelay(true).unwrap();
        socket.set_read_timeout(Some(Duration::from_millis(1))).unwrap();
    }
    let start = Instant::now();
    let (mut a, mut b) =
        (Session::<A>::new(&options(1), Duration::ZERO, 1), Session::<B>::new(&options(2), Duration::ZERO, 1));
    a.connected(Duration::ZERO);
    b.connected(Duration::ZERO);
    let receiver = thread::spawn(move || {
        let (mut latencies, mut fast_at) = (Vec::with_capacity(FAST + SLOW), Duration::ZERO);
        while latencies.len() < FAST + SLOW {
            work(&mut b, &mut from, start, &mut latencies);
            if latencies.len() >= FAST && fast_at.is_zero() {
                fast_at = start.elapsed();
            }
        }
        (latencies, fast_at)
    });
    while !a.is_up() {
        work(&mut a, &mut to, start, &mut Vec::new());
    }
    let fast_from = start.elapsed();
    let send = |session: &mut Session<A>| {
        let now = start.elapsed();
        let sent = u64::try_from(now.as_nanos()).unwrap();
        session.send(now, Outgoing::local(0, Frame::classic(RawId(0x123), &sent.to_be_bytes()).unwrap(), None));
    };
    for _ in 0..FAST {
        send(&mut a);
        if a.waiting() >= 64 {
            write(&mut a, &mut to, start);
        }
    }
    write(&mut a, &mut to, start);
    thread::sleep(Duration::from_millis(100));
    for _ in 0..SLOW {
        thread::sleep(Duration::from_millis(1));
        send(&mut a);
        write(&mut a, &mut to, start);
    }
    let (latencies, fast_to) = receiver.join().unwrap();
    let mut slow = latencies[FAST..].to_vec();
    slow.sort_unstable();
    let us = |share: usize| slow[SLOW * share / 100].as_nanos() as f64 / 1000.0;
    let rate = FAST as f64 / (fast_to - fast_from).as_secs_f64();
    println!("| {name} | {rate:.0} | {:.0} | {:.0} |", us(50), us(99));
}

fn write<P: Protocol>(session: &mut Session<P>, socket: &mut TcpStream, start: Instant) {
    while session.poll(start.elapsed()) == Action::Write {
        let len = socket.write(session.outgoing()).unwrap();
        session.written(start.elapsed(), len);
    }
}

/// Writes, reads once, and notes how old the frames are that arrive.
fn work<P: Protocol>(session: &mut Session<P>, socket: &mut TcpStream, start: Instant, latencies: &mut Vec<Duration>) {
    let mut buffer = [0; 64 * 1024];
    write(session, socket, start);
    if let Ok(len) = socket.read(&mut buffer) {
        let now = start.elapsed();
        session.received(now, &buffer[..len], |received| {
            let sent = u64::from_be_bytes(received.frame.data[..8].try_into().unwrap());
            latencies.push(now.saturating_sub(Duration::from_nanos(sent)));
        });
    }
}
