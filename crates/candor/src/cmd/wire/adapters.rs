//! Which adapters a bus is made of.

use std::num::NonZeroU8;

use candor_wire::DeviceId;
use candor_wire::model::{AnyModel, GsUsb, Ucan, gs_usb};

use super::spec::BusSpec;
use crate::cli::WireModel;

/// Drivers before the stable releases of late 2025 refuse devices of more channels.
const GS_USB_CHANNELS: usize = 3;
const DEFAULT_UCAN_DEPTH: NonZeroU8 = NonZeroU8::new(3).expect("is not zero");

/// The adapters of a bus: all of one kind.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Adapters {
    pub(crate) model: WireModel,
    /// Frames that a controller holds.
    pub(crate) depth: NonZeroU8,
}

impl Adapters {
    /// The adapters that can do what is asked for.
    pub(crate) fn choose(model: Option<WireModel>, depth: Option<NonZeroU8>, bus: &BusSpec) -> Result<Self, String> {
        let gs_usb_depth = NonZeroU8::new(gs_usb::SLOTS).unwrap_or(NonZeroU8::MAX);
        let fits_gs_usb = depth.is_none_or(|depth| depth == gs_usb_depth);
        match model {
            Some(WireModel::Ucan) | None if bus.data_rate.is_some() && (model.is_some() || !fits_gs_usb) => {
                Err(format!(
                    "The bus {} has CAN FD, which ucan does not know, and only ucan has another depth than {gs_usb_depth}: \
                 leave out {}",
                    bus.name,
                    if model.is_some() { "--model" } else { "--depth, or the data bit rate" }
                ))
            }
            Some(WireModel::GsUsb) if !fits_gs_usb => Err(format!(
                "gs_usb has {gs_usb_depth} slots compiled into its driver: leave out --depth, or --model to have ucan"
            )),
            None if depth.is_some() && bus.data_rate.is_none() => Ok(Self::ucan(depth)),
            Some(WireModel::Ucan) => Ok(Self::ucan(depth)),
            Some(WireModel::GsUsb) | None => Ok(Self { model: WireModel::GsUsb, depth: gs_usb_depth }),
        }
    }

    fn ucan(depth: Option<NonZeroU8>) -> Self {
        Self { model: WireModel::Ucan, depth: depth.unwrap_or(DEFAULT_UCAN_DEPTH) }
    }

    /// The devices of a bus, each with its interfaces.
    pub(crate) fn devices(self, bus: &BusSpec) -> Vec<(AnyModel, &[String])> {
        bus.interfaces.chunks(self.each()).map(|interfaces| (self.device(bus, interfaces), interfaces)).collect()
    }

    /// The device that has the interface with this number on its bus.
    pub(crate) fn device_of(self, interface: usize) -> DeviceId {
        DeviceId(interface / self.each())
    }

    /// The interfaces of a device.
    pub(crate) fn interfaces_of(self, bus: &BusSpec, DeviceId(device): DeviceId) -> &[String] {
        bus.interfaces.chunks(self.each()).nth(device).unwrap_or_default()
    }

    /// How many interfaces a device has.
    const fn each(self) -> usize {
        match self.model {
            WireModel::GsUsb => GS_USB_CHANNELS,
            WireModel::Ucan => 1,
        }
    }

    fn device(self, bus: &BusSpec, interfaces: &[String]) -> AnyModel {
        let serial = format!("candor-{}-{}", bus.name, interfaces.join("-"));
        match self.model {
            WireModel::GsUsb => {
                let channels = u8::try_from(interfaces.len()).ok().and_then(NonZeroU8::new).unwrap_or(NonZeroU8::MIN);
                let fd = bus.data_rate.is_some();
                AnyModel::GsUsb(GsUsb::new(gs_usb::Options { channels, depth: gs_usb::SLOTS, fd, serial }))
            }
            WireModel::Ucan => AnyModel::Ucan(Ucan::new(self.depth, serial)),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_adapter_is_the_one_that_can() {
        let (classic, fd) = ("b0:500k:can0,can1,can2,can3", "b0:500k/2M:can0");
        let chosen = |model, depth, bus: &str| {
            let adapters = Adapters::choose(model, NonZeroU8::new(depth), &bus.parse().unwrap());
            adapters.map(|adapters| (adapters.model, adapters.depth.get()))
        };
        let (gs_usb, ucan) = (Some(WireModel::GsUsb), Some(WireModel::Ucan));
        for (model, depth, bus, expected) in [
            (None, 0, classic, Some((WireModel::GsUsb, 10))),
            (None, 2, classic, Some((WireModel::Ucan, 2))),
            (ucan, 0, classic, Some((WireModel::Ucan, 3))),
            (gs_usb, 10, classic, Some((WireModel::GsUsb, 10))),
            (gs_usb, 2, classic, None),
            (None, 0, fd, Some((WireModel::GsUsb, 10))),
            (None, 10, fd, Some((WireModel::GsUsb, 10))),
            (None, 2, fd, None),
            (ucan, 0, fd, None),
        ] {
            assert_eq!(chosen(model, depth, bus).ok(), expected, "{model:?} {depth} {bus}");
        }
        let bus = classic.parse().unwrap();
        let devices = |model| Adapters::choose(model, None, &bus).unwrap().devices(&bus);
        let counts =
            |devices: Vec<(AnyModel, &[String])>| devices.into_iter().map(|(_, of)| of.len()).collect::<Vec<_>>();
        assert_eq!(counts(devices(gs_usb)), [3, 1]);
        let adapters = Adapters::choose(gs_usb, None, &bus).unwrap();
        assert_eq!([2, 3].map(|interface| adapters.device_of(interface)), [DeviceId(0), DeviceId(1)]);
        assert_eq!(adapters.interfaces_of(&bus, DeviceId(1)), ["can3"]);
        assert_eq!(counts(devices(ucan)), [1, 1, 1, 1]);
    }
}
