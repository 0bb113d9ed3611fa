//! Which adapters buses are made of.

use std::num::NonZeroU8;

use candor_bus::NodeId;
use candor_wire::model::{AnyModel, GsUsb, Ucan, gs_usb};
use candor_wire::{DeviceId, Place};

use super::spec::{AdapterSpec, BusSpec};
use crate::cli::WireModel;

/// Drivers before the stable releases of late 2025 refuse devices of more channels.
const GS_USB_CHANNELS: usize = 3;
const DEFAULT_UCAN_DEPTH: NonZeroU8 = NonZeroU8::new(3).expect("is not zero");

/// Of which kind all adapters of a bus are.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Kind {
    pub(crate) model: WireModel,
    /// Frames that a controller holds.
    pub(crate) depth: NonZeroU8,
}

impl Kind {
    /// The one that can do what is asked for.
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

    /// How many interfaces an adapter has at most.
    const fn channels(self) -> usize {
        match self.model {
            WireModel::GsUsb => GS_USB_CHANNELS,
            WireModel::Ucan => 1,
        }
    }
}

/// Every adapter of the buses: first those that were asked for, then for each bus those that have its other interfaces.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Fleet {
    adapters: Vec<Planned>,
}

/// An adapter that is to be.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Planned {
    kind: Kind,
    /// Whether one of its buses has CAN FD.
    fd: bool,
    /// Where each of its channels hangs.
    pub(super) places: Vec<Place>,
    /// The interface of each.
    pub(super) interfaces: Vec<String>,
}

impl Fleet {
    /// Of these buses, with the kind of each.
    ///
    /// # Errors
    /// A sentence about the first adapter that was asked for and cannot be.
    pub(crate) fn of(buses: &[BusSpec], kinds: &[Kind], asked: &[AdapterSpec]) -> Result<Self, String> {
        let mut fleet = Self { adapters: Vec::new() };
        let everywhere: Vec<Node<'_>> = buses.iter().zip(kinds).enumerate().flat_map(Node::all_of).collect();
        for spec in asked {
            let mut channels: Vec<Node<'_>> = Vec::new();
            for name in &spec.interfaces {
                let node = everywhere.iter().find(|node| node.interface == name);
                let node = node.ok_or_else(|| format!("The adapter {spec} has an interface {name} that no bus has"))?;
                if fleet.has(node.place) || channels.iter().any(|other| other.place == node.place) {
                    return Err(format!("The interface {name} is to be of two adapters, or twice of one"));
                }
                channels.push(*node);
            }
            fleet.adapters.push(Planned::of(&channels).map_err(|why| format!("The adapter {spec} cannot be: {why}"))?);
        }
        for bus in 0..buses.len() {
            let is_left = |node: &&Node<'_>| node.place.bus == bus && !fleet.has(node.place);
            let left: Vec<Node<'_>> = everywhere.iter().filter(is_left).copied().collect();
            let each = left.first().map_or(1, |node| node.kind.channels());
            let rest: Result<Vec<_>, _> = left.chunks(each).map(Planned::of).collect();
            fleet.adapters.extend(rest?);
        }
        Ok(fleet)
    }

    fn has(&self, place: Place) -> bool {
        self.adapters.iter().any(|adapter| adapter.places.contains(&place))
    }

    /// In the order in which they are plugged in.
    pub(crate) fn adapters(&self) -> &[Planned] {
        &self.adapters
    }

    /// The adapter that has a node.
    pub(super) fn device_at(&self, place: Place) -> Option<DeviceId> {
        self.adapters.iter().position(|adapter| adapter.places.contains(&place)).map(DeviceId)
    }

    /// The interfaces of an adapter.
    pub(super) fn interfaces_of(&self, DeviceId(device): DeviceId) -> &[String] {
        self.adapters.get(device).map_or(&[], |adapter| &adapter.interfaces)
    }
}

/// A node of a bus, with what decides its adapter.
#[derive(Clone, Copy, Debug)]
struct Node<'a> {
    interface: &'a String,
    place: Place,
    kind: Kind,
    fd: bool,
}

impl<'a> Node<'a> {
    fn all_of((number, (bus, kind)): (usize, (&'a BusSpec, &'a Kind))) -> impl Iterator<Item = Self> {
        bus.interfaces.iter().zip(0..).map(move |(interface, node)| Self {
            interface,
            place: Place { bus: number, node: NodeId(node) },
            kind: *kind,
            fd: bus.data_rate.is_some(),
        })
    }
}

impl Planned {
    /// With these channels.
    fn of(channels: &[Node<'_>]) -> Result<Self, String> {
        let kind = channels.first().map(|node| node.kind).ok_or("it has no interface")?;
        if channels.iter().any(|node| node.kind != kind) {
            return Err(
                "its buses have different adapters; leave out --depth and --model to have gs_usb everywhere".into()
            );
        }
        if channels.len() > kind.channels() {
            let remedy = match kind.model {
                WireModel::GsUsb => "",
                WireModel::Ucan => "; leave out --depth and --model to have gs_usb",
            };
            let (most, name) = (kind.channels(), kind.model.name());
            return Err(format!("interfaces of a {name} adapter: {most} at most{remedy}"));
        }
        Ok(Self {
            kind,
            fd: channels.iter().any(|node| node.fd),
            places: channels.iter().map(|node| node.place).collect(),
            interfaces: channels.iter().map(|node| node.interface.clone()).collect(),
        })
    }

    pub(super) fn is_on_several_buses(&self) -> bool {
        self.places.windows(2).any(|pair| pair[0].bus != pair[1].bus)
    }

    /// As it is plugged in.
    pub(super) fn model(&self) -> AnyModel {
        let serial = format!("candor-{}", self.interfaces.join("-"));
        match self.kind.model {
            WireModel::GsUsb => {
                let channels =
                    u8::try_from(self.interfaces.len()).ok().and_then(NonZeroU8::new).unwrap_or(NonZeroU8::MIN);
                AnyModel::GsUsb(GsUsb::new(gs_usb::Options { channels, depth: gs_usb::SLOTS, fd: self.fd, serial }))
            }
            WireModel::Ucan => AnyModel::Ucan(Ucan::new(self.kind.depth, serial)),
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
            let kind = Kind::choose(model, NonZeroU8::new(depth), &bus.parse().unwrap());
            kind.map(|kind| (kind.model, kind.depth.get()))
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
    }

    fn fleet(model: Option<WireModel>, buses: &[&str], asked: &[&str]) -> Result<Fleet, String> {
        let buses: Vec<BusSpec> = buses.iter().map(|bus| bus.parse().unwrap()).collect();
        let kinds: Vec<Kind> = buses.iter().map(|bus| Kind::choose(model, None, bus).unwrap()).collect();
        let asked: Vec<AdapterSpec> = asked.iter().map(|text| text.parse().unwrap()).collect();
        Fleet::of(&buses, &kinds, &asked)
    }

    fn interfaces(fleet: &Fleet) -> Vec<String> {
        fleet.adapters().iter().map(|adapter| adapter.interfaces.join(",")).collect()
    }

    #[test]
    fn adapters_share_no_bus_unless_they_are_asked_to() {
        let buses = ["b0:500k:can0,can1,can2,can3", "b1:500k/2M:can4"];
        let plain = fleet(None, &buses, &[]).unwrap();
        assert_eq!(interfaces(&plain), ["can0,can1,can2", "can3", "can4"]);
        let place = |bus, node| Place { bus, node: NodeId(node) };
        assert_eq!(plain.device_at(place(0, 3)), Some(DeviceId(1)));
        assert_eq!((plain.device_at(place(0, 4)), plain.device_at(place(2, 0))), (None, None));
        assert_eq!(plain.interfaces_of(DeviceId(1)), ["can3"]);
        assert_eq!(
            interfaces(&fleet(Some(WireModel::Ucan), &buses[..1], &[]).unwrap()),
            ["can0", "can1", "can2", "can3"]
        );

        let asked = fleet(None, &buses, &["can4,can1", "can2"]).unwrap();
        assert_eq!(interfaces(&asked), ["can4,can1", "can2", "can0,can3"]);
        assert_eq!(asked.adapters()[0].places, [place(1, 0), place(0, 1)]);
        assert!(asked.adapters()[0].fd && !asked.adapters()[1].fd);
        assert!(asked.adapters()[0].is_on_several_buses() && !asked.adapters()[2].is_on_several_buses());
    }

    #[test]
    fn adapters_that_cannot_be_are_told() {
        let buses = ["b0:500k:can0,can1,can2,can3", "b1:500k:can4"];
        let told = [
            (None, &["can0,can9"][..]),
            (None, &["can0,can4", "can4"]),
            (None, &["can0,can0"]),
            (None, &["can0,can1,can2,can4"]),
            (Some(WireModel::Ucan), &["can0,can4"]),
        ]
        .map(|(model, asked)| fleet(model, &buses, asked).unwrap_err());
        insta::assert_snapshot!(told.join("\n"), @r"
        The adapter can0,can9 has an interface can9 that no bus has
        The interface can4 is to be of two adapters, or twice of one
        The interface can0 is to be of two adapters, or twice of one
        The adapter can0,can1,can2,can4 cannot be: interfaces of a gs_usb adapter: 3 at most
        The adapter can0,can4 cannot be: interfaces of a ucan adapter: 1 at most; leave out --depth and --model to have gs_usb
        ");
        let depth = NonZeroU8::new(gs_usb::SLOTS);
        let buses: [BusSpec; 2] = ["b0:500k:can0", "b1:500k/2M:can1"].map(|bus| bus.parse().unwrap());
        let kinds = buses.each_ref().map(|bus| Kind::choose(None, depth, bus).unwrap());
        let error = Fleet::of(&buses, &kinds, &["can0,can1".parse().unwrap()]).unwrap_err();
        assert!(error.contains("different adapters"), "{error}");
    }
}
