//! Sessions with cannelloni.

use std::time::Duration;

use candor_core::frame::Frame;

use super::protocol::{Context, Protocol};
use super::{Closed, Greeted, Options, Queue, Received};
use crate::cannelloni::{self, Arrival, Datagram, GREETING, Packet, Window, size};
use crate::stream::Decoder;
use crate::{Cannot, check};

/// cannelloni over TCP. It has no keep-alive.
#[derive(Debug)]
pub struct Tcp {
    decoder: Decoder<cannelloni::Tcp>,
}

/// cannelloni over UDP. Its keep-alive is a datagram without frames, which cannelloni ignores.
#[derive(Debug)]
pub struct Udp {
    window: Window,
    sequence: u8,
    keep_alive: Option<Duration>,
}

fn fits(frame: &Frame) -> Result<(), Cannot> {
    check::well_formed(frame)?;
    if frame.raw_dlc() == frame.len { Ok(()) } else { Err(Cannot::RawDlc) }
}

impl Protocol for Tcp {
    fn new(_options: &Options) -> Self {
        Self { decoder: Decoder::default() }
    }

    fn fits(frame: &Frame) -> Result<(), Cannot> {
        fits(frame)
    }

    fn connected(&mut self, context: &mut Context<'_>) {
        context.bytes().extend(GREETING);
    }

    fn disconnected(&mut self) {
        self.decoder = Decoder::default();
    }

    fn received(
        &mut self,
        mut bytes: &[u8],
        context: &mut Context<'_>,
        deliver: &mut dyn FnMut(Received),
    ) -> Result<Greeted, Closed> {
        while let Some(frame) = self.decoder.next(&mut bytes)? {
            context.deliver(frame, None, deliver);
        }
        Ok(if self.decoder.grammar().is_greeted() { Greeted::Yes } else { Greeted::No })
    }

    fn pack(&mut self, bytes: usize, context: &mut Context<'_>) {
        context.pack_each(bytes, |outgoing, bytes| cannelloni::write(&outgoing.frame, bytes));
    }
}

impl Protocol for Udp {
    const IS_UP_AT_ONCE: bool = true;

    fn new(options: &Options) -> Self {
        Self { window: Window::default(), sequence: 0, keep_alive: options.keep_alive }
    }

    fn fits(frame: &Frame) -> Result<(), Cannot> {
        fits(frame)
    }

    fn connected(&mut self, _context: &mut Context<'_>) {}

    fn disconnected(&mut self) {}

    fn received(
        &mut self,
        bytes: &[u8],
        context: &mut Context<'_>,
        deliver: &mut dyn FnMut(Received),
    ) -> Result<Greeted, Closed> {
        let Ok(datagram) = Datagram::parse(bytes) else {
            context.counts.wrong_datagrams += 1;
            return Ok(Greeted::Yes);
        };
        match self.window.arrived(context.now, datagram.sequence) {
            Arrival::New { missing } => context.counts.lost_datagrams += u64::from(missing),
            Arrival::Late => {
                context.counts.lost_datagrams -= 1;
                context.counts.late_datagrams += 1;
            }
            Arrival::Repeated => {
                context.counts.repeated_datagrams += 1;
                return Ok(Greeted::Yes);
            }
            Arrival::Restarted => context.counts.restarts += 1,
        }
        for frame in datagram.frames() {
            context.deliver(frame, None, deliver);
        }
        Ok(Greeted::Yes)
    }

    fn pack(&mut self, bytes: usize, context: &mut Context<'_>) {
        let most = bytes.clamp(5 + cannelloni::MAX_FRAME_BYTES, cannelloni::MAX_DATAGRAM_BYTES);
        let mut packet = Packet::new(self.next(), context.outbox.bytes(context.now));
        let mut frames = 0;
        let fits = |queue: &Queue, len| queue.front().is_some_and(|one| len + size(&one.frame) <= most);
        while fits(context.queue, packet.len()) {
            let Some((_, outgoing)) = context.queue.pop() else { break };
            match packet.push(&outgoing.frame) {
                Ok(()) => frames += 1,
                Err(cannot) => context.counts.cannot(cannot),
            }
        }
        (0..frames).for_each(|_| context.outbox.add_frame());
    }

    fn keep_alive(&self) -> Option<Duration> {
        self.keep_alive
    }

    fn write_keep_alive(&mut self, context: &mut Context<'_>) {
        let sequence = self.next();
        Packet::new(sequence, context.bytes());
    }
}

impl Udp {
    const fn next(&mut self) -> u8 {
        let sequence = self.sequence;
        self.sequence = sequence.wrapping_add(1);
        sequence
    }
}
