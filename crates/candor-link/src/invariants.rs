//! What must hold for any bytes of a peer, for fuzzing and property tests.

use std::fmt::Debug;
use std::time::Duration;

use candor_core::frame::Frame;

use crate::cannelloni::{self, Datagram, Packet};
use crate::session::{
    Action, Candor, Options, Outgoing, Protocol, Role, Session, SocketcandClient, SocketcandServer, Tcp, Udp,
};
use crate::socketcand::{Item, Message, Messages, write_frame, write_send};
use crate::stream::{Decoder, Grammar};
use crate::{DecodeError, candor};

/// Most bytes that a decoder may hold.
const MOST_HELD: usize = 512;

/// Most bytes that a session may keep for a peer.
const MOST_OUTGOING: usize = 256 * 1024;

/// All items of a stream that arrives in these pieces, and the error at its end.
///
/// # Panics
/// If the decoder holds too much, leaves bytes over, or gives an item after an error.
pub fn decode<G: Grammar + Default>(pieces: &[&[u8]]) -> (Vec<G::Item>, Option<DecodeError>)
where
    G::Item: Debug + PartialEq,
{
    let mut decoder = Decoder::<G>::default();
    let mut items = Vec::new();
    for piece in pieces {
        let mut rest = *piece;
        loop {
            match decoder.next(&mut rest) {
                Ok(Some(item)) => items.push(item),
                Ok(None) => break,
                Err(error) => {
                    assert_eq!(decoder.next(&mut b"< hi >".as_slice()), Err(error), "an error is final");
                    return (items, Some(error));
                }
            }
            assert!(decoder.held() <= MOST_HELD, "{} bytes held", decoder.held());
        }
        assert!(rest.is_empty(), "bytes left over");
    }
    (items, None)
}

/// Decodes bytes of each protocol that is a stream, at once and in pieces, and as a datagram.
///
/// # Panics
/// If something does not hold.
pub fn check_cannelloni(bytes: &[u8]) {
    let greeted = [cannelloni::GREETING.as_slice(), bytes].concat();
    for stream in [bytes, &greeted] {
        for frame in same_in_pieces::<cannelloni::Tcp>(stream) {
            let mut again = cannelloni::GREETING.to_vec();
            if cannelloni::write(&frame, &mut again).is_ok() {
                assert_eq!(decode::<cannelloni::Tcp>(&[&again]), (vec![frame], None));
            }
        }
        survives::<Tcp>(stream, Role::Listens);
    }
    if let Ok(datagram) = Datagram::parse(bytes) {
        let frames: Vec<Frame> = datagram.frames().collect();
        assert_eq!(frames.len(), usize::from(datagram.count));
        let mut again = Vec::new();
        let mut packet = Packet::new(datagram.sequence, &mut again);
        if frames.iter().all(|frame| packet.push(frame).is_ok()) {
            let again = Datagram::parse(&again).expect("what was written can be read");
            assert_eq!((again.sequence, again.frames().collect::<Vec<_>>()), (datagram.sequence, frames));
        }
    }
    survives::<Udp>(bytes, Role::Listens);
}

/// The same for messages of socketcand, to a client and to a server.
///
/// # Panics
/// If something does not hold.
pub fn check_socketcand(bytes: &[u8]) {
    for Item { message, .. } in same_in_pieces::<Messages>(bytes) {
        let mut again = Vec::new();
        let written = match &message {
            Ok(Message::Send(frame)) => write_send(frame, &mut again),
            Ok(Message::Frame { frame, stamp }) if stamp.ns % 1000 == 0 => write_frame(frame, Some(*stamp), &mut again),
            _ => continue,
        };
        assert_eq!(written, Ok(()), "{message:?}");
        assert_eq!(decode::<Messages>(&[&again]), (vec![Item { message, at: 0 }], None));
    }
    survives::<SocketcandClient>(bytes, Role::Connects);
    survives::<SocketcandServer>(bytes, Role::Listens);
    let open = [b"< open can0 >< rawmode >".as_slice(), bytes].concat();
    survives::<SocketcandServer>(&open, Role::Listens);
    let hi = [b"< hi >< ok >< ok >".as_slice(), bytes].concat();
    survives::<SocketcandClient>(&hi, Role::Connects);
}

/// The same for candor's own protocol.
///
/// # Panics
/// If something does not hold.
pub fn check_candor(bytes: &[u8]) {
    let mut greeted = Vec::new();
    let bus = candor::Bus { number: 0, name: "can0".to_owned() };
    let origin = crate::Origin::new(7).expect("not 0");
    candor::Hello { origin, epoch: 1, next: 0, silence_ms: 0, buses: vec![bus] }.write(&mut greeted);
    greeted.extend(bytes);
    for stream in [bytes, &greeted] {
        for item in same_in_pieces::<candor::Protocol>(stream) {
            if let candor::Item::Frame { record, .. } = item {
                let mut again = Vec::new();
                if candor::packet(&record.frame, &mut again).is_ok() {
                    assert_eq!(candor::read_packet(0, &again), Ok(record.frame));
                }
            }
        }
        survives::<Candor>(stream, Role::Listens);
    }
}

/// Decodes a stream at once, byte by byte, and in pieces whose lengths are its own bytes.
fn same_in_pieces<G: Grammar + Default>(stream: &[u8]) -> Vec<G::Item>
where
    G::Item: Debug + PartialEq,
{
    let whole = decode::<G>(&[stream]);
    assert_eq!(decode::<G>(&stream.chunks(1).collect::<Vec<_>>()), whole, "byte by byte");
    assert_eq!(decode::<G>(&pieces(stream)), whole, "in pieces");
    whole.0
}

fn pieces(mut rest: &[u8]) -> Vec<&[u8]> {
    let mut pieces = Vec::new();
    while let Some(first) = rest.first() {
        let (piece, more) = rest.split_at(rest.len().min(usize::from(first % 48) + 1));
        pieces.push(piece);
        rest = more;
    }
    pieces
}

/// Gives pieces of a stream to a session, with frames of its own and with time between them. A peer that reads little.
fn survives<P: Protocol>(stream: &[u8], role: Role) {
    let options = Options::new(role, &["can0", "can1"]);
    let mut now = Duration::ZERO;
    let mut session = Session::<P>::new(&options, now, 1);
    let mut delivered = 0;
    session.connected(now);
    for piece in pieces(stream) {
        session.received(now, piece, |received| {
            assert!(!received.frame.id.is_err() && received.bus < options.buses.len());
            delivered += 1;
        });
        let frame = Frame::classic(candor_core::frame::RawId(0x123), piece.get(..8).unwrap_or(piece));
        session.send(now, Outgoing::local(piece.len() % 3, frame.unwrap_or(Frame::EMPTY), None));
        now += Duration::from_millis(u64::from(piece[0]));
        for _ in 0..4 {
            match session.poll(now) {
                Action::Write => {
                    let len = session.outgoing().len();
                    assert!(len > 0 && len < MOST_OUTGOING, "{len} bytes to write");
                    session.written(now, if piece.len() % 2 == 0 { len } else { len.min(1) });
                }
                Action::Wait(until) => assert!(until.is_none_or(|until| until > now), "{until:?} at {now:?}"),
                Action::Close(_) => session.connected(now),
                Action::Connect => {}
            }
        }
        let counts = session.counts();
        assert_eq!(counts.offered, counts.accounted() + session.waiting());
        assert_eq!(counts.received, delivered);
    }
}
