//! Sessions with another candor.

use std::time::Duration;

use candor_core::frame::Frame;

use super::protocol::{Context, Protocol};
use super::{Closed, Greeted, Options, Received};
use crate::candor::{self, Batch, Bus, Hello, Item, Record, write_close, write_keep_alive};
use crate::stream::{Decoder, fault};
use crate::{Cannot, Fault, Origin, check};

/// Shortest time between two keep-alives, whatever a peer asks for.
const LEAST_PAUSE: Duration = Duration::from_millis(10);

/// candor's own protocol.
#[derive(Debug)]
pub struct Candor {
    decoder: Decoder<candor::Protocol>,
    own: Own,
    /// From the hello of this connection.
    peer: Option<Peer>,
    /// What the peer will send next, over all connections.
    expected: Option<Expected>,
}

/// For the hello of this side, and to check that of the peer.
#[derive(Debug)]
struct Own {
    origin: Origin,
    epoch: u64,
    hop_limit: u8,
    buses: Vec<String>,
    keep_alive: Option<Duration>,
    silence: Duration,
}

#[derive(Debug)]
struct Peer {
    buses: Vec<Bus>,
    keep_alive: Option<Duration>,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct Expected {
    origin: Origin,
    epoch: u64,
    sequence: u64,
}

impl Protocol for Candor {
    fn new(options: &Options) -> Self {
        let Options { origin, epoch, hop_limit, ref buses, keep_alive, time_out, .. } = *options;
        let own = Own { origin, epoch, hop_limit, buses: buses.clone(), keep_alive, silence: time_out };
        Self { decoder: Decoder::default(), own, peer: None, expected: None }
    }

    fn fits(frame: &Frame) -> Result<(), Cannot> {
        check::well_formed(frame)
    }

    fn connected(&mut self, context: &mut Context<'_>) {
        let Own { origin, epoch, ref buses, silence, .. } = self.own;
        let named = |(number, name): (u8, &String)| Bus { number, name: name.clone() };
        let hello = Hello {
            origin,
            epoch,
            next: context.queue.next(),
            silence_ms: u32::try_from(silence.as_millis()).unwrap_or(u32::MAX),
            buses: (0..).zip(buses).map(named).collect(),
        };
        hello.write(context.bytes());
    }

    fn disconnected(&mut self) {
        (self.decoder, self.peer) = (Decoder::default(), None);
    }

    fn received(
        &mut self,
        mut bytes: &[u8],
        context: &mut Context<'_>,
        deliver: &mut dyn FnMut(Received),
    ) -> Result<Greeted, Closed> {
        while let Some(item) = self.decoder.next(&mut bytes)? {
            match item {
                Item::Hello(hello) => self.hello(hello, context)?,
                Item::KeepAlive { next } => self.advance(next, 0, context)?,
                Item::Frame { sequence, record } => {
                    self.advance(sequence, 1, context)?;
                    self.frame(&record, context, deliver);
                }
                Item::Close(reason) => return Err(Closed::ByPeer(reason)),
            }
        }
        Ok(if self.peer.is_some() { Greeted::Yes } else { Greeted::No })
    }

    fn pack(&mut self, bytes: usize, context: &mut Context<'_>) {
        let Some(peer) = &self.peer else { return };
        while context.outbox.rest().len() < bytes && context.queue.len() > 0 {
            let mut frames = 0;
            let mut batch = Batch::new(context.queue.next(), context.outbox.bytes(context.now));
            while batch.has_room() && (frames == 0 || batch.len() < bytes) {
                let Some((_, outgoing)) = context.queue.pop() else { break };
                let name = self.own.buses.get(outgoing.bus);
                if !peer.buses.iter().any(|bus| Some(&bus.name) == name) {
                    // Its number is a gap, and a batch has none.
                    context.counts.unknown_bus_sent += 1;
                    break;
                }
                let record = Record {
                    origin: outgoing.origin.unwrap_or(self.own.origin),
                    stamp: outgoing.stamp,
                    hops: outgoing.hops,
                    bus: u8::try_from(outgoing.bus).unwrap_or(u8::MAX),
                    frame: outgoing.frame,
                };
                match batch.push(&record) {
                    Ok(()) => frames += 1,
                    Err(cannot) => {
                        context.counts.cannot(cannot);
                        break;
                    }
                }
            }
            batch.finish();
            (0..frames).for_each(|_| context.outbox.add_frame());
        }
    }

    fn keep_alive(&self) -> Option<Duration> {
        self.peer.as_ref().and_then(|peer| peer.keep_alive)
    }

    fn write_keep_alive(&mut self, context: &mut Context<'_>) {
        let next = context.queue.next();
        write_keep_alive(next, context.bytes());
    }

    fn expects_answers(&self) -> bool {
        self.peer.is_some()
    }

    fn write_reason(&mut self, reason: &Closed, context: &mut Context<'_>) {
        if !matches!(reason, Closed::ByPeer(_)) {
            write_close(&reason.to_string(), context.bytes());
        }
    }
}

impl Candor {
    fn hello(&mut self, hello: Hello, context: &mut Context<'_>) -> Result<(), Closed> {
        let Hello { origin, epoch, next, silence_ms, buses } = hello;
        if origin == self.own.origin {
            return Err(Closed::OwnOrigin(origin));
        }
        if !buses.iter().any(|bus| self.own.buses.contains(&bus.name)) {
            let names: Vec<&str> = buses.iter().map(|bus| bus.name.as_str()).collect();
            return Err(Closed::Buses(names.join(", ")));
        }
        match self.expected {
            Some(known) if known.origin == origin && known.epoch == epoch && next >= known.sequence => {
                context.counts.lost = context.counts.lost.saturating_add(next - known.sequence);
            }
            Some(_) => context.counts.restarts += 1,
            None => {}
        }
        self.expected = Some(Expected { origin, epoch, sequence: next });
        // Three within the time-out of the peer.
        let of_peer = (silence_ms > 0).then(|| Duration::from_millis(silence_ms.into()) / 3);
        let keep_alive = [self.own.keep_alive, of_peer].into_iter().flatten().min().map(|pause| pause.max(LEAST_PAUSE));
        self.peer = Some(Peer { buses, keep_alive });
        Ok(())
    }

    /// Counts the frames before this number, and expects one that is so many after it.
    fn advance(&mut self, sequence: u64, frames: u64, context: &mut Context<'_>) -> Result<(), Closed> {
        // The decoder lets nothing pass before a hello.
        let Some(expected) = &mut self.expected else { return Ok(()) };
        let Some(lost) = sequence.checked_sub(expected.sequence) else {
            return Ok(fault(self.decoder.last(), 0, Fault::Sequence { found: sequence, least: expected.sequence })?);
        };
        context.counts.lost = context.counts.lost.saturating_add(lost);
        expected.sequence = sequence + frames;
        Ok(())
    }

    fn frame(&self, record: &Record, context: &mut Context<'_>, deliver: &mut dyn FnMut(Received)) {
        let Record { origin, stamp, hops, bus, frame } = *record;
        let name = self.peer.iter().flat_map(|peer| &peer.buses).find(|one| one.number == bus).map(|one| &one.name);
        let bus = self.own.buses.iter().position(|own| Some(own) == name);
        if origin == self.own.origin {
            context.counts.looped += 1;
        } else if hops >= self.own.hop_limit {
            context.counts.too_many_hops += 1;
        } else if let Some(bus) = bus {
            context.deliver_from(Received { bus, frame, stamp, origin: Some(origin), hops: hops + 1 }, deliver);
        } else {
            context.counts.unknown_bus += 1;
        }
    }
}
