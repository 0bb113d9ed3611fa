use candor_bounds::{Assumptions, Basis, Bus, BusId, Controller, Latency, Message, Node, NodeId, Queue};
use candor_core::frame::{FrameFormat, RawId};

use super::*;

fn network() -> Network {
    let bus = |rate: &str| Bus { nominal: rate.parse().unwrap(), data: None };
    let ideal = |bus| Node { bus: BusId(bus), queue: Queue::Arbitration, controller: Controller::Abortable };
    let message = |node, id, origin| Message {
        node: NodeId(node),
        id: RawId(id),
        format: FrameFormat::Classic,
        bit_rate_switch: false,
        len: 8,
        origin,
        deadline: Ns::from_ms(2),
        band: 0,
        socket: 0,
    };
    let queued = |period| Origin::Queued { period: Ns::from_ms(period), jitter: Ns(0) };
    let latency = Latency { shortest: Ns(0), longest: Ns::from_us(300), basis: Basis::Budget };
    Network {
        buses: vec![bus("500kbit/s"), bus("250kbit/s")],
        nodes: vec![ideal(0), ideal(0), ideal(1)],
        messages: vec![
            message(0, 0x100, queued(10)),
            message(1, 0x200, queued(20)),
            message(2, 0x100, Origin::Forwarded { from: MessageId(0), latency }),
        ],
    }
}

#[test]
fn a_page_shows_loads_bounds_observations_and_stages() {
    let network = network();
    let analysis = network.analyse(Assumptions::default()).unwrap();
    let names = |names: &[&str]| names.iter().map(|name| (*name).to_owned()).collect::<Vec<_>>();
    let (buses, messages) = (names(&["powertrain", "body"]), names(&["Speed", "Gear", "Speed to body"]));
    let observed = [analysis.bound(MessageId(0)).response, None, None];
    let beside = ["queue fifo", "queue bands"].map(|name| Beside {
        name: name.to_owned(),
        bounds: vec![Some(Ns::from_us(1234)), None, None],
        observed: observed.to_vec(),
    });
    let page = BoundsPage {
        file: "gateway.toml",
        version: "0.1.0",
        analysis: &analysis,
        network: &network,
        buses: &buses,
        messages: &messages,
        observed: &observed,
        how: "the longest response that was observed",
        beside: &beside,
    };
    let html = bounds_html(&page);
    assert_eq!(html, bounds_html(&page));
    for text in [
        "All 3 deadlines hold.",
        "powertrain",
        "Speed to body",
        "1.000",
        "gateway, at most 0.300 ms",
        "class=\"observed\"",
        "Side by side",
        "queue bands",
        "1.234 / ",
    ] {
        assert!(html.contains(text), "{text}");
    }
    assert!(!html.contains("http://") && !html.contains("src="));
}

#[test]
fn missed_deadlines_and_missing_bounds_are_marked() {
    let mut network = network();
    network.messages[1].deadline = Ns(1000);
    network.messages[0].origin = Origin::Queued { period: Ns::from_us(100), jitter: Ns(0) };
    let analysis = network.analyse(Assumptions::default()).unwrap();
    let names: Vec<_> = ["a", "b", "c"].map(str::to_owned).to_vec();
    let (version, how) = ("0.1.0", "");
    let page = BoundsPage {
        file: "f",
        version,
        analysis: &analysis,
        network: &network,
        buses: &names[..2],
        messages: &names,
        observed: &[],
        how,
        beside: &[],
    };
    let html = bounds_html(&page);
    for text in ["deadlines can be missed.", "no bound", "load over", "missed"] {
        assert!(html.contains(text), "{text}");
    }
}
