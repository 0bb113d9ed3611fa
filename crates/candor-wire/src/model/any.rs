//! A model that is chosen at run time, without a dynamic call.

use candor_bus::BusNs;

use super::{Aborts, Action, GsUsb, Health, Malformed, Message, Model, Outgoing, Packing, Recovery, Ucan};
use crate::usb::{Description, Setup, Stall};

/// One of the models.
#[derive(Clone, Debug)]
pub enum AnyModel {
    /// Many channels, CAN FD, timestamps of the wire.
    GsUsb(GsUsb),
    /// One channel of chosen depth, real bus-off.
    Ucan(Ucan),
}

/// The same call, whichever it is.
macro_rules! either {
    ($any:expr, $model:ident => $call:expr) => {
        match $any {
            AnyModel::GsUsb($model) => $call,
            AnyModel::Ucan($model) => $call,
        }
    };
}

impl Model for AnyModel {
    fn description(&self) -> Description {
        either!(self, model => model.description())
    }

    fn channels(&self) -> u8 {
        either!(self, model => model.channels())
    }

    fn slots(&self) -> usize {
        either!(self, model => model.slots())
    }

    fn aborts(&self) -> Aborts {
        either!(self, model => model.aborts())
    }

    fn recovery(&self) -> Recovery {
        either!(self, model => model.recovery())
    }

    fn packing(&self) -> Packing {
        either!(self, model => model.packing())
    }

    fn control_in(&self, setup: &Setup, health: &[Health], now: BusNs, into: &mut Vec<u8>) -> Result<(), Stall> {
        either!(self, model => model.control_in(setup, health, now, into))
    }

    fn control_out(&mut self, setup: &Setup, data: &[u8]) -> Result<Action, Stall> {
        either!(self, model => model.control_out(setup, data))
    }

    fn decode(&mut self, bytes: &[u8]) -> Result<Outgoing, Malformed> {
        either!(self, model => model.decode(bytes))
    }

    fn size(&self, message: &Message) -> usize {
        either!(self, model => model.size(message))
    }

    fn encode(&self, message: &Message, into: &mut Vec<u8>) {
        either!(self, model => model.encode(message, into));
    }
}
