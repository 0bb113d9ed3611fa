//! Two sessions over a network that splits, holds up and cuts.

use std::collections::VecDeque;

use proptest::collection::vec;
use proptest::prelude::*;

use super::*;

/// Bytes that the network holds in each direction.
const BUFFER: usize = 700;

struct End<P> {
    session: Session<P>,
    /// Numbers of the delivered frames.
    delivered: Vec<u64>,
    /// Bytes on their way to this end.
    inbox: VecDeque<u8>,
    offered: u64,
}

struct Pair<A, B> {
    now: Duration,
    a: End<A>,
    b: End<B>,
}

#[derive(Clone, Debug)]
enum Step {
    Cut,
    /// Up to this many bytes arrive at one end, in pieces.
    Pass {
        to_a: bool,
        bytes: usize,
        piece: usize,
    },
    Send {
        from_a: bool,
        frames: u8,
        band: u8,
    },
    Wait {
        ms: u64,
    },
}

fn steps() -> impl Strategy<Value = Vec<Step>> {
    let step = prop_oneof![
        1 => Just(Step::Cut),
        12 => (any::<bool>(), 0..900_usize, 1..200_usize)
            .prop_map(|(to_a, bytes, piece)| Step::Pass { to_a, bytes, piece }),
        8 => (any::<bool>(), 0..40_u8, 0..3_u8).prop_map(|(from_a, frames, band)| Step::Send { from_a, frames, band }),
        6 => prop_oneof![4 => 0..20_u64, 1 => 0..3000_u64].prop_map(|ms| Step::Wait { ms }),
    ];
    vec(step, 1..120)
}

fn end<P: Protocol>(role: Role, number: u64) -> End<P> {
    let queue = QueueOptions { frames: 50, bands: 3, when_full: WhenFull::DropOldest, max_age: Some(ms(400)) };
    let options = Options { origin: origin(number), queue, ..options(role) };
    let session = Session::new(&options, Duration::ZERO, number);
    End { session, delivered: Vec::new(), inbox: VecDeque::new(), offered: 0 }
}

impl<P: Protocol> End<P> {
    fn send(&mut self, now: Duration, frames: u8, band: u8) {
        for _ in 0..frames {
            self.session.send(now, Outgoing { band, ..numbered(self.offered << 8 | u64::from(band)) });
            self.offered += 1;
        }
    }

    fn receive(&mut self, now: Duration, bytes: usize, piece: usize) {
        let bytes: Vec<u8> = self.inbox.drain(..bytes.min(self.inbox.len())).collect();
        for piece in bytes.chunks(piece) {
            self.session.received(now, piece, |received| {
                self.delivered.push(u64::from_be_bytes(received.frame.data[..8].try_into().unwrap()));
            });
        }
    }

    /// What the session does now, and whether the connection must be closed or made.
    fn work(&mut self, now: Duration, to: &mut VecDeque<u8>) -> Action {
        loop {
            let action = self.session.poll(now);
            let bytes = self.session.outgoing();
            let taken = bytes.len().min(BUFFER.saturating_sub(to.len()));
            if action != Action::Write || taken == 0 {
                return action;
            }
            to.extend(&bytes[..taken]);
            self.session.written(now, taken);
        }
    }

    fn check(&self) {
        let counts = self.session.counts();
        assert_eq!(counts.offered, counts.accounted() + self.session.waiting());
        assert_eq!(counts.received, self.delivered.len() as u64);
        for band in 0..3 {
            let of_band = self.delivered.iter().filter(|number| **number & 0xFF == band);
            assert!(of_band.is_sorted_by(|one, next| one < next), "{:?}", self.delivered);
        }
    }
}

impl<A: Protocol, B: Protocol> Pair<A, B> {
    /// Two ends that have greeted each other.
    fn new() -> Self {
        let mut pair = Self { now: Duration::ZERO, a: end(Role::Connects, 1), b: end(Role::Listens, 2) };
        pair.settle();
        assert!(pair.a.session.is_up() && pair.b.session.is_up());
        pair
    }

    fn cut(&mut self) {
        self.a.inbox.clear();
        self.b.inbox.clear();
        self.a.session.disconnected(self.now);
        self.b.session.disconnected(self.now);
    }

    fn work(&mut self) {
        let of_b = self.b.work(self.now, &mut self.a.inbox);
        match self.a.work(self.now, &mut self.b.inbox) {
            Action::Connect => {
                // A server that still has the old connection takes the new one.
                self.b.session.disconnected(self.now);
                self.a.session.connected(self.now);
                self.b.session.connected(self.now);
                self.work();
            }
            Action::Close(_) => self.cut(),
            _ if matches!(of_b, Action::Close(_)) => self.cut(),
            _ => {}
        }
    }

    fn step(&mut self, step: &Step) {
        match *step {
            Step::Cut => self.cut(),
            Step::Pass { to_a: true, bytes, piece } => self.a.receive(self.now, bytes, piece),
            Step::Pass { to_a: false, bytes, piece } => self.b.receive(self.now, bytes, piece),
            Step::Send { from_a: true, frames, band } => self.a.send(self.now, frames, band),
            Step::Send { from_a: false, frames, band } => self.b.send(self.now, frames, band),
            Step::Wait { ms: time } => self.now += ms(time),
        }
        self.work();
        self.a.check();
        self.b.check();
    }

    /// A network that works, until everything has arrived and been confirmed.
    fn settle(&mut self) {
        for _ in 0..300 {
            self.now += ms(50);
            self.work();
            self.a.receive(self.now, usize::MAX, 64);
            self.b.receive(self.now, usize::MAX, 64);
            self.work();
        }
    }

    fn play(steps: &[Step]) -> Self {
        let mut pair = Self::new();
        steps.iter().for_each(|step| pair.step(step));
        pair.settle();
        pair.a.check();
        pair.b.check();
        assert_eq!((pair.a.session.waiting(), pair.b.session.waiting()), (0, 0));
        pair
    }
}

/// Frames that were sent and did not arrive were in the network when it was cut.
fn nothing_is_lost_without_a_cut<A: Protocol, B: Protocol>(steps: &[Step]) {
    let pair = Pair::<A, B>::play(steps);
    let Counts { connections, .. } = *pair.a.session.counts();
    if connections == 1 {
        assert_eq!(pair.a.session.counts().sent, pair.b.session.counts().received);
        assert_eq!(pair.b.session.counts().sent, pair.a.session.counts().received);
    }
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 128, ..ProptestConfig::default() })]

    /// Each frame is delivered or counted as lost, once, over queues, stalls and connections.
    #[test]
    fn candor_counts_every_lost_frame(steps in steps()) {
        let pair = Pair::<Candor, Candor>::play(&steps);
        let exact = |from: &Counts, to: &Counts| (from.offered, to.restarts) == (to.received + to.lost, 0);
        let (a, b) = (pair.a.session.counts(), pair.b.session.counts());
        prop_assert!(exact(a, b), "{a:?} {b:?}");
        prop_assert!(exact(b, a), "{b:?} {a:?}");
    }

    #[test]
    fn cannelloni_keeps_order_and_loses_only_with_connections(steps in steps()) {
        nothing_is_lost_without_a_cut::<Tcp, Tcp>(&steps);
    }

    #[test]
    fn socketcand_keeps_order_and_loses_only_with_connections(steps in steps()) {
        nothing_is_lost_without_a_cut::<SocketcandClient, SocketcandServer>(&steps);
    }
}
