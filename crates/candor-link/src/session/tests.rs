mod pair;

use std::num::NonZeroU64;

use candor_core::frame::RawId;

use super::*;
use crate::socketcand::{Item, Message, Messages};
use crate::{Clock, candor as wire, invariants};

fn ms(ms: u64) -> Duration {
    Duration::from_millis(ms)
}

fn origin(number: u64) -> Origin {
    Origin(NonZeroU64::new(number).unwrap())
}

fn options(role: Role) -> Options {
    Options { origin: origin(1), ..Options::new(role, &["can0"]) }
}

fn numbered(number: u64) -> Outgoing {
    let frame = Frame::classic(RawId(0x123), &number.to_be_bytes()).unwrap();
    Outgoing::local(0, frame, None)
}

/// All bytes that the session has now, which the socket takes, and what it does then.
fn drain_until<P: Protocol>(session: &mut Session<P>, now: Duration) -> (Vec<u8>, Action) {
    let mut all = Vec::new();
    loop {
        let action = session.poll(now);
        if action != Action::Write {
            return (all, action);
        }
        let bytes = session.outgoing().to_vec();
        session.written(now, bytes.len());
        all.extend(bytes);
    }
}

fn drain<P: Protocol>(session: &mut Session<P>, now: Duration) -> Vec<u8> {
    let (bytes, action) = drain_until(session, now);
    assert!(matches!(action, Action::Wait(_)), "{action:?}");
    bytes
}

fn up<P: Protocol>(options: &Options, hello: &[u8]) -> Session<P> {
    let mut session = Session::new(options, Duration::ZERO, 1);
    session.connected(Duration::ZERO);
    drain(&mut session, Duration::ZERO);
    session.received(Duration::ZERO, hello, |received| panic!("{received:?}"));
    drain(&mut session, Duration::ZERO);
    assert!(session.is_up());
    session
}

fn hello_of(number: u64, epoch: u64, next: u64, buses: &[&str]) -> Vec<u8> {
    let mut bytes = Vec::new();
    let buses = (10..).zip(buses).map(|(number, name)| wire::Bus { number, name: (*name).to_owned() }).collect();
    wire::Hello { origin: origin(number), epoch, next, silence_ms: 6000, buses }.write(&mut bytes);
    bytes
}

fn batch(first: u64, records: &[(u64, u8, u8)]) -> Vec<u8> {
    let mut bytes = Vec::new();
    let mut batch = wire::Batch::new(first, &mut bytes);
    for (number, hops, bus) in records {
        let frame = Frame::classic(RawId(7), &[]).unwrap();
        batch.push(&wire::Record { origin: origin(*number), stamp: None, hops: *hops, bus: *bus, frame }).unwrap();
    }
    batch.finish();
    bytes
}

fn reason<P: Protocol>(session: &mut Session<P>, now: Duration) -> String {
    match drain_until(session, now) {
        (_, Action::Close(reason)) => reason.to_string(),
        other => panic!("{other:?}"),
    }
}

#[test]
fn pauses_between_attempts_double_up_to_a_limit() {
    let mut session = Session::<Tcp>::new(&options(Role::Connects), Duration::ZERO, 7);
    let mut now = Duration::ZERO;
    let mut pauses = Vec::new();
    for _ in 0..12 {
        assert_eq!(session.poll(now), Action::Connect);
        assert_eq!(session.disconnected(now), None);
        let Action::Wait(Some(at)) = session.poll(now) else { panic!() };
        pauses.push(at - now);
        now = at;
    }
    for (pause, whole) in pauses.iter().zip([100, 200, 400, 800, 1600, 3200, 6400, 10_000, 10_000, 10_000, 10_000]) {
        assert!((ms(whole) / 2..=ms(whole)).contains(pause), "{pause:?} of {whole}");
    }
    // Other seeds, other pauses.
    let first = |seed| {
        let mut session = Session::<Tcp>::new(&options(Role::Connects), Duration::ZERO, seed);
        session.poll(Duration::ZERO);
        session.disconnected(Duration::ZERO);
        session.deadline().unwrap()
    };
    assert_eq!(first(7), pauses[0]);
    assert_ne!(first(8), pauses[0]);
    // A connection that breaks at once is one more failure, one that lasts starts over.
    for (lasts, pause) in [(ms(9_999), 5_000..=10_000), (ms(10_000), 50..=100)] {
        assert_eq!(session.poll(now), Action::Connect);
        session.connected(now);
        session.received(now, b"CANNELLONIv1", |_| {});
        now += lasts;
        session.disconnected(now);
        let at = session.deadline().unwrap();
        assert!(pause.contains(&u64::try_from((at - now).as_millis()).unwrap()), "{:?}", at - now);
        now = at;
    }
}

#[test]
fn connecting_and_greeting_have_a_time_out() {
    let mut session = Session::<Tcp>::new(&options(Role::Connects), Duration::ZERO, 1);
    assert_eq!(session.poll(Duration::ZERO), Action::Connect);
    assert_eq!(session.poll(Duration::ZERO), Action::Wait(Some(ms(5000))));
    assert_eq!(session.poll(ms(5000)), Action::Close(Closed::Connecting(ms(5000))));
    session.connected(ms(6000));
    assert_eq!(drain(&mut session, ms(6000)), b"CANNELLONIv1");
    assert_eq!(session.poll(ms(6000)), Action::Wait(Some(ms(11_000))));
    assert_eq!(session.poll(ms(11_000)), Action::Close(Closed::Greeting(ms(5000))));
    let mut listens = Session::<Tcp>::new(&options(Role::Listens), Duration::ZERO, 1);
    assert_eq!(listens.poll(ms(1)), Action::Wait(None));
    listens.connected(ms(1));
    listens.disconnected(ms(2));
    assert_eq!(listens.poll(ms(3)), Action::Wait(None));
}

#[test]
fn a_full_queue_drops_the_oldest_or_the_newest() {
    for (when_full, left) in [(WhenFull::DropOldest, [2, 3, 4]), (WhenFull::DropNewest, [0, 1, 2])] {
        let queue = QueueOptions { frames: 3, bands: 1, when_full, max_age: None };
        let mut session = Session::<Tcp>::new(&Options { queue, ..options(Role::Listens) }, Duration::ZERO, 1);
        (0..5).for_each(|number| session.send(Duration::ZERO, numbered(number)));
        assert_eq!((session.counts().dropped_full, session.waiting()), (2, 3));
        session.connected(ms(1));
        session.received(ms(1), b"CANNELLONIv1", |_| {});
        let bytes = drain(&mut session, ms(3));
        let (frames, None) = invariants::decode::<crate::cannelloni::Tcp>(&[&bytes]) else { panic!() };
        let numbers = frames.iter().map(|frame| u64::from_be_bytes(frame.data[..8].try_into().unwrap()));
        assert_eq!(numbers.collect::<Vec<_>>(), left);
        assert_eq!(session.counts().sent, 3);
    }
}

#[test]
fn frames_that_waited_too_long_are_dropped() {
    let queue = QueueOptions { frames: 10, bands: 1, when_full: WhenFull::DropOldest, max_age: Some(ms(20)) };
    let mut session = Session::<Tcp>::new(&Options { queue, ..options(Role::Listens) }, Duration::ZERO, 1);
    session.send(ms(0), numbered(0));
    session.send(ms(15), numbered(1));
    assert_eq!(session.poll(ms(20)), Action::Wait(Some(ms(20) + Duration::from_nanos(1))));
    assert_eq!(session.waiting(), 2);
    session.poll(ms(21));
    assert_eq!((session.counts().dropped_old, session.waiting()), (1, 1));
}

#[test]
fn a_batch_leaves_when_it_is_full_or_its_first_frame_has_waited() {
    let flush = Flush { delay: ms(10), frames: 3, bytes: 1400 };
    let mut session = up::<Tcp>(&Options { flush, ..options(Role::Listens) }, b"CANNELLONIv1");
    session.send(ms(1), numbered(0));
    session.send(ms(2), numbered(1));
    assert_eq!(session.poll(ms(2)), Action::Wait(Some(ms(11))));
    session.send(ms(3), numbered(2));
    assert_eq!(drain(&mut session, ms(3)).len(), 3 * 13);
    session.send(ms(4), numbered(3));
    assert_eq!(drain(&mut session, ms(13)), b"");
    assert_eq!(drain(&mut session, ms(14)).len(), 13);
}

/// The caller is never stopped, and memory is what the queue and one batch need.
#[test]
fn a_peer_that_reads_nothing_costs_only_its_own_frames() {
    let mut session = up::<Candor>(&options(Role::Listens), &hello_of(2, 0, 0, &["can0"]));
    let mut now = Duration::ZERO;
    let allocated = allocation_counter::measure(|| {
        for number in 0..100_000 {
            now += Duration::from_micros(40);
            session.send(now, numbered(number));
            if number > 64 {
                assert_eq!(session.poll(now), Action::Write);
            }
            session.received(now, &[3, 1, 0, 8, 0, 0, 0, 0, 0, 0, 0, 0], |_| {});
        }
    });
    assert!(allocated.bytes_max < 8192, "{allocated:?}");
    let counts = session.counts();
    assert_eq!(counts.offered, counts.accounted() + session.waiting());
    assert!(session.waiting() < 1100 && counts.dropped_full > 98_000);
    // Nothing of the first batch was read for 5 s.
    assert_eq!(session.poll(ms(5003)), Action::Close(Closed::Stall(ms(5000))));
    let cut_off = session.counts().cut_off;
    assert!((1..64).contains(&cut_off), "{cut_off}");
}

/// Frames of one session, for another, once their buffers have their size.
#[test]
fn frames_need_no_allocation() {
    fn allocations<A: Protocol, B: Protocol>(greeting: &str) -> u64 {
        let mut now = Duration::ZERO;
        let mut a = Session::<A>::new(&options(Role::Listens), now, 1);
        let mut b = Session::<B>::new(&Options { origin: origin(2), ..options(Role::Listens) }, now, 1);
        a.connected(now);
        b.connected(now);
        let mut delivered = 0;
        let mut round = |now: Duration| {
            (0..64).for_each(|number| a.send(now, numbered(number)));
            for _ in 0..8 {
                while a.poll(now) == Action::Write {
                    // In two pieces, so that frames are split.
                    let bytes = a.outgoing();
                    let len = if A::IS_UP_AT_ONCE { bytes.len() } else { bytes.len().min(997) };
                    b.received(now, &bytes[..len], |_| delivered += 1);
                    a.written(now, len);
                }
                while b.poll(now) == Action::Write {
                    let len = b.outgoing().len();
                    a.received(now, b.outgoing(), |_| {});
                    b.written(now, len);
                }
            }
        };
        round(now);
        let allocated = allocation_counter::measure(|| {
            for _ in 0..50 {
                now += ms(5);
                round(now);
            }
        });
        assert!(delivered >= 50 * 64, "{greeting}: {delivered}");
        allocated.count_total
    }
    assert_eq!(allocations::<Tcp, Tcp>("cannelloni over TCP"), 0);
    assert_eq!(allocations::<Udp, Udp>("cannelloni over UDP"), 0);
    assert_eq!(allocations::<Candor, Candor>("candor"), 0);
    assert_eq!(allocations::<SocketcandServer, SocketcandClient>("to a client"), 0);
    assert_eq!(allocations::<SocketcandClient, SocketcandServer>("to a server"), 0);
}

#[test]
fn a_peer_that_reads_slowly_is_not_stalled() {
    let mut session = Session::<Tcp>::new(&options(Role::Listens), Duration::ZERO, 1);
    session.connected(ms(0));
    session.received(ms(0), b"CANNELLONIv1", |_| {});
    for second in 0..11 {
        assert_eq!(session.poll(ms(1000 * second)), Action::Write);
        session.written(ms(1000 * second), 1);
    }
    assert_eq!((session.outgoing(), session.deadline()), (&b"1"[..], Some(ms(15_000))));
    assert_eq!(session.poll(ms(14_999)), Action::Write);
    assert_eq!(session.poll(ms(15_000)), Action::Close(Closed::Stall(ms(5000))));
}

#[test]
fn a_silent_link_is_kept_alive_and_a_silent_peer_is_left() {
    let mut session = up::<Candor>(&options(Role::Listens), &hello_of(2, 0, 0, &["can0"]));
    // Own keep-alive 1 s; the time-out of the peer is 6 s.
    assert_eq!(session.poll(ms(999)), Action::Wait(Some(ms(1000))));
    assert_eq!(drain(&mut session, ms(1000)), [3, 1, 0, 8, 0, 0, 0, 0, 0, 0, 0, 0]);
    assert_eq!(session.poll(ms(1000)), Action::Wait(Some(ms(2000))));
    for second in 2..5 {
        drain(&mut session, ms(1000 * second));
    }
    let close = [&[4, 1, 0, 23][..], b"nothing received for 5s"].concat();
    assert_eq!(drain_until(&mut session, ms(5000)), (close, Action::Close(Closed::Silence(ms(5000)))));

    // Without an own interval, a third of the peer's time-out.
    let quiet = Options { keep_alive: None, ..options(Role::Listens) };
    let mut session = up::<Candor>(&quiet, &hello_of(2, 0, 0, &["can0"]));
    assert_eq!(session.poll(ms(1999)), Action::Wait(Some(ms(2000))));
    assert!(!drain(&mut session, ms(2000)).is_empty());
    // cannelloni over UDP: datagrams without frames.
    let mut session = Session::<Udp>::new(&options(Role::Listens), Duration::ZERO, 1);
    session.connected(Duration::ZERO);
    assert_eq!(drain(&mut session, ms(1000)), [2, 0, 0, 0, 0]);
    assert_eq!(drain(&mut session, ms(2000)), [2, 0, 1, 0, 0]);
}

#[test]
fn frames_that_come_back_or_crossed_too_many_links_are_refused() {
    let mut session = up::<Candor>(&options(Role::Listens), &hello_of(2, 0, 0, &["can0", "can1"]));
    let mut delivered = Vec::new();
    // Bus 10 is can0 of the peer, 11 is can1, which this side does not have, 12 is none.
    let records = [(2, 0, 10), (1, 1, 10), (3, 3, 10), (3, 4, 10), (2, 0, 11), (2, 0, 12)];
    session.received(ms(1), &batch(0, &records), |received| delivered.push(received));
    let of = |received: &Received| (received.origin.unwrap().0.get(), received.hops, received.bus);
    assert_eq!(delivered.iter().map(of).collect::<Vec<_>>(), [(2, 1, 0), (3, 4, 0)]);
    let Counts { looped, too_many_hops, unknown_bus, received, lost, .. } = *session.counts();
    assert_eq!((looped, too_many_hops, unknown_bus, received, lost), (1, 1, 2, 2, 0));
}

#[test]
fn a_link_to_itself_and_a_peer_without_a_common_bus_are_closed() {
    let refused = |hello: &[u8]| {
        let mut session = Session::<Candor>::new(&options(Role::Listens), Duration::ZERO, 1);
        session.connected(Duration::ZERO);
        session.received(Duration::ZERO, hello, |_| {});
        reason(&mut session, Duration::ZERO)
    };
    assert_eq!(refused(&hello_of(1, 0, 0, &["can0"])), "the link leads back to this gateway, origin 0x1");
    let buses = "the peer has none of this link's buses; its buses are: can1, can2";
    assert_eq!(refused(&hello_of(2, 0, 0, &["can1", "can2"])), buses);
    assert_eq!(refused(b"GET / HTTP"), "the peer sent something wrong: byte 0: a message of kind 71; 1 to 4 are known");
    assert_eq!(refused(&[4, 1, 0, 2, b'n', b'o']), "the peer closed the connection: no");
    // The connection may end before the session is polled.
    let mut session = up::<Candor>(&options(Role::Listens), &hello_of(2, 0, 0, &["can0"]));
    session.received(ms(0), &[4, 1, 0, 2, b'n', b'o'], |_| {});
    assert_eq!(session.disconnected(ms(0)), Some(Closed::ByPeer("no".to_owned())));
}

#[test]
fn gaps_are_counted_over_connections_of_one_epoch() {
    let mut session = up::<Candor>(&options(Role::Listens), &hello_of(2, 5, 100, &["can0"]));
    let lost = |session: &Session<Candor>| (session.counts().lost, session.counts().restarts);
    assert_eq!(lost(&session), (0, 0));
    session.received(ms(1), &batch(103, &[(2, 0, 10), (2, 0, 10)]), |_| {});
    assert_eq!(lost(&session), (3, 0));
    let mut keep_alive = Vec::new();
    wire::write_keep_alive(110, &mut keep_alive);
    session.received(ms(2), &keep_alive, |_| {});
    assert_eq!(lost(&session), (8, 0));
    let again = |session: &mut Session<Candor>, hello: &[u8]| {
        session.disconnected(ms(3));
        session.connected(ms(4));
        session.received(ms(4), hello, |_| {});
        drain(session, ms(4));
        lost(session)
    };
    assert_eq!(again(&mut session, &hello_of(2, 5, 112, &["can0"])), (10, 0));
    // Another epoch, another gateway, and a number that goes back.
    assert_eq!(again(&mut session, &hello_of(2, 6, 200, &["can0"])), (10, 1));
    assert_eq!(again(&mut session, &hello_of(3, 6, 300, &["can0"])), (10, 2));
    assert_eq!(again(&mut session, &hello_of(3, 6, 8, &["can0"])), (10, 3));
    session.received(ms(5), &batch(7, &[(2, 0, 10)]), |_| panic!());
    let at = hello_of(3, 6, 8, &["can0"]).len() + 14;
    let wrong = format!("the peer sent something wrong: byte {at}: sequence number 7; at least 8 must follow");
    assert_eq!(reason(&mut session, ms(5)), wrong);
}

#[test]
fn numbers_at_their_limits_are_survived() {
    let forever = Options { time_out: Duration::MAX, connect_time_out: Duration::MAX, ..options(Role::Listens) };
    let mut session = up::<Candor>(&forever, &hello_of(2, 0, 0, &["can0"]));
    for epoch in 0..3 {
        session.received(ms(1), &batch(u64::MAX - 1, &[(2, 0, 10)]), |_| {});
        session.disconnected(ms(1));
        session.connected(ms(1));
        session.received(ms(1), &hello_of(2, epoch + 1, 0, &["can0"]), |_| {});
    }
    assert_eq!((session.counts().lost, session.counts().restarts), (u64::MAX, 3));
    // A peer with a time-out of 1 ms.
    let mut hello = Vec::new();
    let bus = wire::Bus { number: 0, name: "can0".to_owned() };
    wire::Hello { origin: origin(2), epoch: 0, next: 0, silence_ms: 1, buses: vec![bus] }.write(&mut hello);
    let mut session = up::<Candor>(&forever, &hello);
    assert_eq!(session.poll(ms(0)), Action::Wait(Some(ms(10))));
}

#[test]
fn dropped_frames_leave_gaps_between_batches() {
    let queue = QueueOptions { frames: 2, bands: 1, when_full: WhenFull::DropNewest, max_age: None };
    let mut session = up::<Candor>(&Options { queue, ..options(Role::Listens) }, &hello_of(2, 0, 0, &["can0"]));
    for number in 0..4 {
        session.send(ms(0), numbered(number));
    }
    let mut bytes = drain(&mut session, ms(2));
    session.send(ms(3), numbered(4));
    bytes.extend(drain(&mut session, ms(5)));
    session.send(ms(6), Outgoing { bus: 1, ..numbered(5) });
    session.send(ms(6), Outgoing { frame: Frame { id: RawId(0x2000_0001), ..Frame::EMPTY }, ..numbered(5) });
    assert_eq!(drain(&mut session, ms(9)), b"");
    let (items, None) = invariants::decode::<wire::Protocol>(&[&hello_of(2, 0, 0, &["can0"]), &bytes]) else {
        panic!()
    };
    let sequences = items.iter().filter_map(|item| match item {
        wire::Item::Frame { sequence, .. } => Some(*sequence),
        _ => None,
    });
    assert_eq!(sequences.collect::<Vec<_>>(), [2, 3, 4]);
    let Counts { sent, dropped_full, unknown_bus_sent, cannot, .. } = *session.counts();
    assert_eq!((sent, dropped_full, unknown_bus_sent, cannot), (3, 2, 1, [1, 0, 0, 0, 0]));
}

#[test]
fn stamps_and_clocks_arrive_as_they_were() {
    let mut a = up::<Candor>(&options(Role::Listens), &hello_of(2, 0, 0, &["can0"]));
    let mut b = up::<Candor>(&Options { origin: origin(2), ..options(Role::Listens) }, &hello_of(1, 0, 0, &["can0"]));
    let stamps =
        [None, Some(Stamp { ns: 5, clock: Clock::Adapter }), Some(Stamp { ns: u64::MAX, clock: Clock::Realtime })];
    for stamp in stamps {
        a.send(ms(0), Outgoing { stamp, origin: Some(origin(9)), hops: 2, ..numbered(0) });
    }
    let bytes = renumbered(&drain(&mut a, ms(2)));
    let mut found = Vec::new();
    b.received(ms(2), &bytes, |received| found.push((received.stamp, received.origin, received.hops)));
    assert_eq!(found, stamps.map(|stamp| (stamp, Some(origin(9)), 3)));
}

/// Bus 0 as bus 10, as [`hello_of`] numbers it.
fn renumbered(bytes: &[u8]) -> Vec<u8> {
    let hello = hello_of(2, 0, 0, &["can0"]);
    let (items, None) = invariants::decode::<wire::Protocol>(&[&hello, bytes]) else { panic!() };
    let mut written = Vec::new();
    for item in items {
        if let wire::Item::Frame { sequence, record } = item {
            let mut batch = wire::Batch::new(sequence, &mut written);
            batch.push(&wire::Record { bus: 10, ..record }).unwrap();
            batch.finish();
        }
    }
    written
}

#[test]
fn a_server_in_place_of_socketcand_answers_its_client() {
    let mut session = Session::<SocketcandServer>::new(&options(Role::Listens), Duration::ZERO, 1);
    session.connected(ms(0));
    let answers = |session: &mut Session<SocketcandServer>, command: &str| {
        let mut delivered = Vec::new();
        session.received(ms(0), command.as_bytes(), |received| delivered.push(received.frame.to_string()));
        (String::from_utf8(drain(session, ms(2))).unwrap(), delivered)
    };
    let mut says = |command, answer: &str, frames: &[&str]| {
        let (found, delivered) = answers(&mut session, command);
        assert_eq!(
            (&*found, &delivered[..]),
            (answer, &frames.iter().map(ToString::to_string).collect::<Vec<_>>()[..])
        );
    };
    says("", "< hi >", &[]);
    says("< send 123 0 >", "< error no bus is open >", &[]);
    says("< can0 B 500000 0 0 0 0 0 0 0 >", "< error can0 is not supported, only rawmode >", &[]);
    says("< open can0 >", "< ok >", &[]);
    says("< echo >< ra", "< echo >", &[]);
    says("wmode >", "< ok >", &[]);
    says("< bcmmode >", "< error bcmmode is not supported, only rawmode >", &[]);
    says("< subscribe 0 0 123 >", "< error subscribe is not supported, only rawmode >", &[]);
    says("< open can0 >", "< error a bus is open already >", &[]);
    says("< send 123 2 11 22 >< send 00000001 0 >", "", &["123#1122", "00000001#"]);
    // As python-can sends a remote frame.
    says("< send 123 4  >", "< error byte 172: 0 data bytes; the length is 4 >", &[]);
    assert_eq!(session.counts().refused_commands, 6);
    let stamp = Some(Stamp { ns: 23_424_242_999, clock: Clock::Realtime });
    session.send(ms(3), Outgoing::local(0, "123#1122".parse().unwrap(), stamp));
    session.send(ms(3), Outgoing::local(0, "123##11122".parse().unwrap(), stamp));
    session.send(ms(3), Outgoing::local(0, "123#R1".parse().unwrap(), stamp));
    assert_eq!(drain(&mut session, ms(5)), b"< frame 123 23.424242 1122 >");
    assert_eq!(session.counts().cannot, [0, 1, 0, 0, 1]);
    // Another bus ends the connection, as in socketcand.
    session.disconnected(ms(6));
    session.connected(ms(7));
    session.received(ms(7), b"< open can1 >", |_| {});
    let (bytes, action) = drain_until(&mut session, ms(7));
    assert_eq!(bytes, b"< hi >< error could not open bus >");
    assert_eq!(action, Action::Close(Closed::Buses("can1".to_owned())));
}

#[test]
fn a_client_that_asks_and_never_reads_is_closed() {
    let mut session = Session::<SocketcandServer>::new(&options(Role::Listens), Duration::ZERO, 1);
    session.connected(ms(0));
    let echoes = "< echo >".repeat(1000);
    let closed = (0..100).find(|_| {
        session.received(ms(0), echoes.as_bytes(), |_| {});
        matches!(session.poll(ms(0)), Action::Close(Closed::Flood(bytes)) if bytes < 80_000)
    });
    assert_eq!(closed, Some(8));
}

#[test]
fn a_client_of_socketcand_opens_its_bus() {
    let mut session = Session::<SocketcandClient>::new(&options(Role::Connects), Duration::ZERO, 1);
    let dialog = |session: &mut Session<SocketcandClient>, message: &str| {
        session.received(ms(0), message.as_bytes(), |received| assert_eq!(received.frame, "123#1122".parse().unwrap()));
        String::from_utf8(drain(session, ms(0))).unwrap()
    };
    session.connected(ms(0));
    assert_eq!(dialog(&mut session, ""), "");
    assert_eq!(dialog(&mut session, "< hi >"), "< open can0 >");
    assert_eq!(dialog(&mut session, "< ok >"), "< rawmode >");
    assert!(!session.is_up());
    assert_eq!(dialog(&mut session, "< ok >< frame 123 1.5 1122 >< error 4 1.5 >"), "");
    assert!(session.is_up());
    assert_eq!((session.counts().received, session.counts().error_messages), (1, 1));
    session.send(ms(0), Outgoing::local(0, "00000123#0AFF".parse().unwrap(), None));
    assert_eq!(drain(&mut session, ms(2)), b"< send 00000123 2 a ff >");
    assert_eq!(drain(&mut session, ms(1002)), b"< echo >");
    let (items, None) = invariants::decode::<Messages>(&[b"< echo >"]) else { panic!() };
    assert_eq!(items, [Item { message: Ok(Message::Echo), at: 0 }]);
    assert_eq!(session.poll(ms(5000)), Action::Close(Closed::Silence(ms(5000))));
    let mut refused = |text: &str| {
        session.connected(ms(6000));
        session.received(ms(6000), text.as_bytes(), |_| panic!());
        reason(&mut session, ms(6000))
    };
    assert_eq!(refused("< hi >< error could not open bus >"), "the server refused: could not open bus");
    assert_eq!(refused("< hi >< hi >"), "the peer sent `hi`, which is not expected now");
    let wrong = "the peer sent something wrong: byte 0: 0x53 between messages, which start with <";
    assert_eq!(refused("SSH-2.0"), wrong);
}

#[test]
fn wrong_and_repeated_datagrams_deliver_nothing() {
    let mut session = Session::<Udp>::new(&options(Role::Listens), Duration::ZERO, 1);
    session.connected(ms(0));
    let datagram = |sequence| [2, 0, sequence, 0, 1, 0, 0, 1, 0x23, 0];
    for sequence in [7, 8, 8, 12, 10, 13] {
        session.received(ms(1), &datagram(sequence), |_| {});
    }
    session.received(ms(1), &[2, 0, 14, 0, 2, 0, 0, 1, 0x23, 0], |_| panic!());
    session.received(ms(1), b"", |_| panic!());
    let Counts { received, lost_datagrams, late_datagrams, repeated_datagrams, wrong_datagrams, .. } =
        *session.counts();
    assert_eq!((received, lost_datagrams, late_datagrams), (5, 2, 1));
    assert_eq!((repeated_datagrams, wrong_datagrams), (1, 2));
    assert!(session.is_up());
    session.send(ms(1), numbered(0));
    assert_eq!(session.poll(ms(3)), Action::Write);
    session.refused();
    assert_eq!((session.counts().cut_off, session.waiting()), (1, 0));
    // Nobody receives the second one. The answer is told once.
    session.send(ms(1), numbered(0));
    assert_eq!(session.poll(ms(3)), Action::Write);
    session.written(ms(3), session.outgoing().len());
    session.bounced();
    session.bounced();
    assert_eq!((session.counts().sent, session.counts().bounced, session.counts().cut_off), (1, 1, 1));
    // Datagrams of up to 1400 bytes.
    for number in 0..200 {
        session.send(ms(1), numbered(number));
    }
    let mut sizes = Vec::new();
    while session.poll(ms(3)) == Action::Write {
        sizes.push(session.outgoing().len());
        session.written(ms(3), session.outgoing().len());
    }
    assert_eq!(sizes, [5 + 107 * 13, 5 + 93 * 13]);
}
