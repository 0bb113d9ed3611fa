//! Sessions with socketcand, in both roles.

use std::time::Duration;

use candor_core::frame::{Frame, FrameFormat};

use super::protocol::{Context, Protocol};
use super::{Closed, Greeted, Options, Received};
use crate::socketcand::{
    Item, Message, Messages, write_echo, write_error, write_frame, write_hi, write_ok, write_open, write_rawmode,
    write_send,
};
use crate::stream::Decoder;
use crate::{Cannot, check};

/// A client of socketcand, which reads all frames of a bus.
///
/// socketcand closes the connection if a command arrives in two pieces: [`Flush::bytes`](super::Flush::bytes) should be
/// less than a segment of TCP, and the socket should have `TCP_NODELAY`.
#[derive(Debug)]
pub struct SocketcandClient {
    decoder: Decoder<Messages>,
    bus: String,
    awaits: Awaits,
    keep_alive: Option<Duration>,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Awaits {
    Hi,
    OkToOpen,
    OkToRawMode,
    Frames,
}

/// A server in place of socketcand, with one bus for one client. It has the raw mode only: other modes, and commands that
/// configure an interface, are answered with an error.
///
/// It has no keep-alive, so only TCP finds out that a client is gone. python-can reads the answer to a command as a whole,
/// and an answer together with a frame is an error for it: a delay of [`Flush`](super::Flush) separates them.
#[derive(Debug)]
pub struct SocketcandServer {
    decoder: Decoder<Messages>,
    bus: String,
    is_open: bool,
    is_raw: bool,
}

fn fits(frame: &Frame) -> Result<(), Cannot> {
    check::well_formed(frame)?;
    match frame.format {
        FrameFormat::Fd => Err(Cannot::Fd),
        FrameFormat::Classic if frame.id.is_rtr() => Err(Cannot::Remote),
        FrameFormat::Classic if frame.raw_dlc() != frame.len => Err(Cannot::RawDlc),
        FrameFormat::Classic => Ok(()),
    }
}

impl Protocol for SocketcandClient {
    fn new(options: &Options) -> Self {
        Self {
            decoder: Decoder::default(),
            bus: options.buses.first().cloned().unwrap_or_default(),
            awaits: Awaits::Hi,
            keep_alive: options.keep_alive,
        }
    }

    fn fits(frame: &Frame) -> Result<(), Cannot> {
        fits(frame)
    }

    fn connected(&mut self, _context: &mut Context<'_>) {}

    fn disconnected(&mut self) {
        (self.decoder, self.awaits) = (Decoder::default(), Awaits::Hi);
    }

    fn received(
        &mut self,
        mut bytes: &[u8],
        context: &mut Context<'_>,
        deliver: &mut dyn FnMut(Received),
    ) -> Result<Greeted, Closed> {
        while let Some(Item { message, .. }) = self.decoder.next(&mut bytes)? {
            match (message?, self.awaits) {
                (Message::Hi, Awaits::Hi) => {
                    write_open(&self.bus, context.bytes());
                    self.awaits = Awaits::OkToOpen;
                }
                (Message::Ok, Awaits::OkToOpen) => {
                    write_rawmode(context.bytes());
                    self.awaits = Awaits::OkToRawMode;
                }
                (Message::Ok, Awaits::OkToRawMode) => self.awaits = Awaits::Frames,
                (Message::Frame { frame, stamp }, Awaits::Frames) => context.deliver(frame, Some(stamp), deliver),
                (Message::ErrorMessage { .. }, Awaits::Frames) => context.counts.error_messages += 1,
                (Message::Echo, Awaits::Frames) => {}
                // A frame that the server did not send, for example.
                (Message::Error(_), Awaits::Frames) => context.counts.refused_commands += 1,
                (Message::Error(text), _) => return Err(Closed::Refused(text)),
                (other, _) => return Err(Closed::Unexpected(name(&other).to_owned())),
            }
        }
        Ok(if self.awaits == Awaits::Frames { Greeted::Yes } else { Greeted::No })
    }

    fn pack(&mut self, bytes: usize, context: &mut Context<'_>) {
        context.pack_each(bytes, |outgoing, bytes| write_send(&outgoing.frame, bytes));
    }

    fn keep_alive(&self) -> Option<Duration> {
        self.keep_alive
    }

    fn write_keep_alive(&mut self, context: &mut Context<'_>) {
        write_echo(context.bytes());
    }

    fn expects_answers(&self) -> bool {
        self.keep_alive.is_some()
    }
}

impl Protocol for SocketcandServer {
    fn new(options: &Options) -> Self {
        let bus = options.buses.first().cloned().unwrap_or_default();
        Self { decoder: Decoder::default(), bus, is_open: false, is_raw: false }
    }

    fn fits(frame: &Frame) -> Result<(), Cannot> {
        fits(frame)
    }

    fn connected(&mut self, context: &mut Context<'_>) {
        write_hi(context.bytes());
    }

    fn disconnected(&mut self) {
        (self.decoder, self.is_open, self.is_raw) = (Decoder::default(), false, false);
    }

    fn received(
        &mut self,
        mut bytes: &[u8],
        context: &mut Context<'_>,
        deliver: &mut dyn FnMut(Received),
    ) -> Result<Greeted, Closed> {
        while let Some(Item { message, .. }) = self.decoder.next(&mut bytes)? {
            let refuse = |why: &str, context: &mut Context<'_>| {
                context.counts.refused_commands += 1;
                write_error(why, context.bytes());
            };
            match message {
                Ok(Message::Echo) => write_echo(context.bytes()),
                Ok(Message::Open(bus)) if bus != self.bus => {
                    context.counts.refused_commands += 1;
                    return Err(Closed::Buses(bus));
                }
                Ok(Message::Open(_)) if !self.is_open => {
                    self.is_open = true;
                    write_ok(context.bytes());
                }
                Ok(Message::RawMode) if self.is_open => {
                    self.is_raw = true;
                    write_ok(context.bytes());
                }
                Ok(Message::Send(frame)) if self.is_open => context.deliver(frame, None, deliver),
                Ok(Message::RawMode | Message::Send(_)) => refuse("no bus is open", context),
                Ok(Message::Open(_)) => refuse("a bus is open already", context),
                Ok(other) => refuse(&format!("{} is not supported, only rawmode", name(&other)), context),
                Err(error) => refuse(&error.to_string(), context),
            }
        }
        Ok(if self.is_raw { Greeted::Yes } else { Greeted::No })
    }

    fn pack(&mut self, bytes: usize, context: &mut Context<'_>) {
        context.pack_each(bytes, |outgoing, bytes| write_frame(&outgoing.frame, outgoing.stamp, bytes));
    }

    fn write_reason(&mut self, reason: &Closed, context: &mut Context<'_>) {
        match reason {
            // The text of socketcand.
            Closed::Buses(_) => write_error("could not open bus", context.bytes()),
            other => write_error(&other.to_string(), context.bytes()),
        }
    }
}

fn name(message: &Message) -> &str {
    match message {
        Message::Echo => "echo",
        Message::Error(_) | Message::ErrorMessage { .. } => "error",
        Message::Frame { .. } => "frame",
        Message::Hi => "hi",
        Message::Ok => "ok",
        Message::Open(_) => "open",
        Message::Other(command) => command,
        Message::RawMode => "rawmode",
        Message::Send(_) => "send",
    }
}
