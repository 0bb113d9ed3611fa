//! Assignment of interfaces to adapters.

use std::num::NonZeroU8;

use candor_bus::NodeId;
use candor_config::wire::WireModel;
use candor_wire::model::{GsUsb, Ucan, gs_usb};
use candor_wire::{BusNode, DeviceId, Model};

use crate::cli::{AdapterSpec, BusSpec};

/// Drivers before the stable releases of late 2025 refuse devices with more channels.
const GS_USB_CHANNELS: usize = 3;
const DEFAULT_UCAN_DEPTH: NonZeroU8 = NonZeroU8::new(3).expect("is not zero");

/// Model of all adapters of a bus, and the frames that a controller holds.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Kind {
    pub(crate) model: WireModel,
    pub(crate) depth: NonZeroU8,
}

impl Kind {
    /// Selects the model that supports the options.
    pub(crate) fn choose(model: Option<WireModel>, depth: Option<NonZeroU8>, bus: &BusSpec) -> Result<Self, String> {
        let gs_usb_depth = NonZeroU8::new(gs_usb::SLOTS).unwrap_or(NonZeroU8::MAX);
        let fits_gs_usb = depth.is_none_or(|depth| depth == gs_usb_depth);
        match model {
            Some(WireModel::Ucan) | None if bus.data_rate.is_some() && (model.is_some() || !fits_gs_usb) => {
                Err(format!(
                    "The bus {} has CAN FD, which ucan does not support, and only ucan has another depth than {gs_usb_depth}: \
                 omit {}",
                    bus.name,
                    if model.is_some() { "--model" } else { "--depth, or the data bit rate" }
                ))
            }
            Some(WireModel::GsUsb) if !fits_gs_usb => Err(format!(
                "gs_usb has {gs_usb_depth} slots compiled into its driver: omit --depth, or --model to use ucan"
            )),
            None if depth.is_some() && bus.data_rate.is_none() => Ok(Self::ucan(depth)),
            Some(WireModel::Ucan) => Ok(Self::ucan(depth)),
            Some(WireModel::GsUsb) | None => Ok(Self { model: WireModel::GsUsb, depth: gs_usb_depth }),
        }
    }

    fn ucan(depth: Option<NonZeroU8>) -> Self {
        Self { model: WireModel::Ucan, depth: depth.unwrap_or(DEFAULT_UCAN_DEPTH) }
    }

    /// Kernel module of the driver.
    pub(crate) const fn driver(self) -> &'static str {
        match self.model {
            WireModel::GsUsb => "gs_usb",
            WireModel::Ucan => "ucan",
        }
    }

    /// Maximum of interfaces per adapter.
    const fn channels(self) -> usize {
        match self.model {
            WireModel::GsUsb => GS_USB_CHANNELS,
            WireModel::Ucan => 1,
        }
    }
}

/// All adapters in the order of plugging: first those of `--adapter`, then those of the other interfaces of each bus.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Adapters(pub(crate) Vec<Planned>);

#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Planned {
    kind: Kind,
    /// At least one of its buses has CAN FD.
    fd: bool,
    /// The node and the interface of each channel.
    pub(super) nodes: Vec<BusNode>,
    pub(super) interfaces: Vec<String>,
}

impl Adapters {
    /// Assigns the interfaces of these buses, given the kind of each bus and the requested adapters.
    pub(crate) fn of(buses: &[BusSpec], kinds: &[Kind], requested: &[AdapterSpec]) -> Result<Self, String> {
        let mut adapters = Self(Vec::new());
        let everywhere: Vec<Node<'_>> = buses.iter().zip(kinds).enumerate().flat_map(Node::all_of).collect();
        for spec in requested {
            let mut channels: Vec<Node<'_>> = Vec::new();
            for name in &spec.interfaces {
                let node = everywhere.iter().find(|node| node.interface == name);
                let node =
                    node.ok_or_else(|| format!("The adapter {spec} has an interface {name} that is on no bus"))?;
                if adapters.contains(node.node) || channels.iter().any(|other| other.node == node.node) {
                    return Err(format!("The interface {name} is assigned to an adapter twice"));
                }
                channels.push(*node);
            }
            adapters
                .0
                .push(Planned::of(&channels).map_err(|why| format!("The adapter {spec} is not possible: {why}"))?);
        }
        for bus in 0..buses.len() {
            let is_left = |node: &&Node<'_>| node.node.bus == bus && !adapters.contains(node.node);
            let left: Vec<Node<'_>> = everywhere.iter().filter(is_left).copied().collect();
            let each = left.first().map_or(1, |node| node.kind.channels());
            let rest: Result<Vec<_>, _> = left.chunks(each).map(Planned::of).collect();
            adapters.0.extend(rest?);
        }
        Ok(adapters)
    }

    fn contains(&self, node: BusNode) -> bool {
        self.device_at(node).is_some()
    }

    pub(super) fn device_at(&self, node: BusNode) -> Option<DeviceId> {
        self.0.iter().position(|adapter| adapter.nodes.contains(&node)).map(DeviceId)
    }

    pub(super) fn interfaces_of(&self, DeviceId(device): DeviceId) -> &[String] {
        self.0.get(device).map_or(&[], |adapter| &adapter.interfaces)
    }
}

#[derive(Clone, Copy, Debug)]
struct Node<'a> {
    interface: &'a String,
    node: BusNode,
    kind: Kind,
    fd: bool,
}

impl<'a> Node<'a> {
    fn all_of((number, (bus, kind)): (usize, (&'a BusSpec, &'a Kind))) -> impl Iterator<Item = Self> {
        bus.interfaces.iter().zip(0..).map(move |(interface, node)| Self {
            interface,
            node: BusNode { bus: number, node: NodeId(node) },
            kind: *kind,
            fd: bus.data_rate.is_some(),
        })
    }
}

impl Planned {
    fn of(channels: &[Node<'_>]) -> Result<Self, String> {
        let kind = channels.first().map(|node| node.kind).ok_or("it has no interface")?;
        if channels.iter().any(|node| node.kind != kind) {
            return Err(
                "its buses have different adapter models; omit --depth and --model to use gs_usb everywhere".into()
            );
        }
        if channels.len() > kind.channels() {
            let remedy = match kind.model {
                WireModel::GsUsb => "",
                WireModel::Ucan => "; omit --depth and --model to use gs_usb",
            };
            let (most, name) = (kind.channels(), kind.driver());
            return Err(format!("the maximum of interfaces of a {name} adapter is {most}{remedy}"));
        }
        Ok(Self {
            kind,
            fd: channels.iter().any(|node| node.fd),
            nodes: channels.iter().map(|node| node.node).collect(),
            interfaces: channels.iter().map(|node| node.interface.clone()).collect(),
        })
    }

    pub(super) fn is_on_several_buses(&self) -> bool {
        self.nodes.windows(2).any(|pair| pair[0].bus != pair[1].bus)
    }

    pub(super) fn model(&self) -> Box<dyn Model> {
        let serial = format!("candor-{}", self.interfaces.join("-"));
        match self.kind.model {
            WireModel::GsUsb => {
                let channels =
                    u8::try_from(self.interfaces.len()).ok().and_then(NonZeroU8::new).unwrap_or(NonZeroU8::MIN);
                Box::new(GsUsb::new(gs_usb::Options { channels, depth: gs_usb::SLOTS, fd: self.fd, serial }))
            }
            WireModel::Ucan => Box::new(Ucan::new(self.kind.depth, serial)),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn model_supports_the_options() {
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

    fn adapters(model: Option<WireModel>, buses: &[&str], requested: &[&str]) -> Result<Adapters, String> {
        let buses: Vec<BusSpec> = buses.iter().map(|bus| bus.parse().unwrap()).collect();
        let kinds: Vec<Kind> = buses.iter().map(|bus| Kind::choose(model, None, bus).unwrap()).collect();
        let requested: Vec<AdapterSpec> = requested.iter().map(|text| text.parse().unwrap()).collect();
        Adapters::of(&buses, &kinds, &requested)
    }

    fn interfaces(adapters: &Adapters) -> Vec<String> {
        adapters.0.iter().map(|adapter| adapter.interfaces.join(",")).collect()
    }

    #[test]
    fn adapter_spans_buses_only_on_request() {
        let buses = ["b0:500k:can0,can1,can2,can3", "b1:500k/2M:can4"];
        let plain = adapters(None, &buses, &[]).unwrap();
        assert_eq!(interfaces(&plain), ["can0,can1,can2", "can3", "can4"]);
        let node = |bus, node| BusNode { bus, node: NodeId(node) };
        assert_eq!(plain.device_at(node(0, 3)), Some(DeviceId(1)));
        assert_eq!((plain.device_at(node(0, 4)), plain.device_at(node(2, 0))), (None, None));
        assert_eq!(plain.interfaces_of(DeviceId(1)), ["can3"]);
        assert_eq!(
            interfaces(&adapters(Some(WireModel::Ucan), &buses[..1], &[]).unwrap()),
            ["can0", "can1", "can2", "can3"]
        );

        let requested = adapters(None, &buses, &["can4,can1", "can2"]).unwrap();
        assert_eq!(interfaces(&requested), ["can4,can1", "can2", "can0,can3"]);
        assert_eq!(requested.0[0].nodes, [node(1, 0), node(0, 1)]);
        assert!(requested.0[0].fd && !requested.0[1].fd);
        assert!(requested.0[0].is_on_several_buses() && !requested.0[2].is_on_several_buses());
    }

    #[test]
    fn impossible_adapters_are_refused() {
        let buses = ["b0:500k:can0,can1,can2,can3", "b1:500k:can4"];
        let errors = [
            (None, &["can0,can9"][..]),
            (None, &["can0,can4", "can4"]),
            (None, &["can0,can0"]),
            (None, &["can0,can1,can2,can4"]),
            (Some(WireModel::Ucan), &["can0,can4"]),
        ]
        .map(|(model, requested)| adapters(model, &buses, requested).unwrap_err());
        insta::assert_snapshot!(errors.join("\n"), @r"
        The adapter can0,can9 has an interface can9 that is on no bus
        The interface can4 is assigned to an adapter twice
        The interface can0 is assigned to an adapter twice
        The adapter can0,can1,can2,can4 is not possible: the maximum of interfaces of a gs_usb adapter is 3
        The adapter can0,can4 is not possible: the maximum of interfaces of a ucan adapter is 1; omit --depth and --model to use gs_usb
        ");
        let depth = NonZeroU8::new(gs_usb::SLOTS);
        let buses: [BusSpec; 2] = ["b0:500k:can0", "b1:500k/2M:can1"].map(|bus| bus.parse().unwrap());
        let kinds = buses.each_ref().map(|bus| Kind::choose(None, depth, bus).unwrap());
        let error = Adapters::of(&buses, &kinds, &["can0,can1".parse().unwrap()]).unwrap_err();
        assert!(error.contains("different adapter models"), "{error}");
    }
}
