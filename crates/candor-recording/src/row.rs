//! A frame as a row of a table: CSV, Parquet, and the messages of MCAP.

use candor_core::frame::{
    CAN_EFF_MASK, CAN_ERR_FLAG, CANFD_BRS, CANFD_ESI, CANFD_MAX_DLEN, Frame, FrameFormat, RawId, fd_dlc,
};

use crate::text::{classic, fd, fd_length, identifier};
use crate::{Buses, Clock, Direction, Record};

/// The values of a row that is read.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Row<'a> {
    pub(crate) at_ns: i64,
    pub(crate) clock: Clock,
    pub(crate) bus: &'a str,
    /// Empty if it is not known.
    pub(crate) direction: &'a str,
    pub(crate) kind: &'a str,
    /// Without flags.
    pub(crate) id: u32,
    pub(crate) is_extended: bool,
    pub(crate) dlc: u8,
    pub(crate) length: u8,
    pub(crate) brs: bool,
    pub(crate) esi: bool,
    pub(crate) data: &'a [u8],
}

impl Row<'_> {
    /// # Errors
    /// What is wrong.
    pub(crate) fn record(&self, buses: &mut Buses) -> Result<Record, String> {
        let direction = match self.direction {
            "Rx" => Some(Direction::Received),
            "Tx" => Some(Direction::Sent),
            "" => None,
            other => return Err(format!("the direction {other:?} is neither Rx nor Tx")),
        };
        let frame = self.frame()?;
        if self.length != frame.len {
            return Err(format!("the length {} is not that of DLC {}, {}", self.length, self.dlc, frame.len));
        }
        let bus = buses.index(self.bus.as_bytes());
        let bus = bus.ok_or("the name of the bus is none, or there are too many buses")?;
        Ok(Record { at_ns: self.at_ns, clock: self.clock, bus, direction, frame })
    }

    fn frame(&self) -> Result<Frame, String> {
        let Self { kind, id, dlc, data, .. } = *self;
        if data.len() > CANFD_MAX_DLEN {
            return Err(format!("{} data bytes", data.len()));
        }
        let plain = || identifier(id, self.is_extended);
        match kind {
            "data" => classic(plain()?, dlc, false, data),
            "remote" => classic(plain()?, dlc, true, data),
            "error" if id <= CAN_EFF_MASK => classic(RawId(id | CAN_ERR_FLAG), dlc, false, data),
            "fd" => {
                let flags = if self.brs { CANFD_BRS } else { 0 } | if self.esi { CANFD_ESI } else { 0 };
                fd(plain()?, fd_length(dlc)?, flags, data)
            }
            other => Err(format!("the kind {other:?} with identifier {id:X}")),
        }
    }
}

/// `unix` or `start`.
pub(crate) fn clock_of(text: &str) -> Result<Clock, String> {
    match text {
        "unix" => Ok(Clock::Unix),
        "start" => Ok(Clock::Start),
        other => Err(format!("the clock {other:?} is neither unix nor start")),
    }
}

/// `data`, `remote`, `fd` or `error`.
pub(crate) fn kind(frame: &Frame) -> &'static str {
    match (frame.id.is_err(), frame.format) {
        (true, _) => "error",
        (false, FrameFormat::Fd) => "fd",
        (false, FrameFormat::Classic) if frame.id.is_rtr() => "remote",
        (false, FrameFormat::Classic) => "data",
    }
}

/// Data length code, 0 to 15.
pub(crate) fn dlc(frame: &Frame) -> u8 {
    if frame.format == FrameFormat::Fd { fd_dlc(frame.len) } else { frame.raw_dlc() }
}

/// The identifier without flags, or the class of an error frame.
pub(crate) fn id(frame: &Frame) -> u32 {
    if frame.id.is_err() { frame.id.0 & CAN_EFF_MASK } else { frame.id.bits() }
}
