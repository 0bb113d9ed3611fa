//! Identifiers that trusted nodes send.

use candor_config::plan::{BusIndex, Plan};
use candor_core::filter::ReceiveList;
use candor_core::frame::{CAN_MAX_DLEN, Frame, RawId};
use candor_signals::Message;

use super::KnownFrom;

/// An identifier, and a frame as its sender would send it, without contents.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Trusted {
    pub frame: Frame,
    pub known_from: KnownFrom,
}

/// The identifiers that nodes of a trusted bus send, as far as the file says it, each once.
///
/// A message that a database of the untrusted bus also has with a sender is one that crosses the border by right.
pub fn trusted(plan: &Plan, trusted: BusIndex, untrusted: BusIndex) -> Vec<Trusted> {
    let id = |message: &Message| message.id.map(|id| id.raw());
    let others: Vec<_> = sent(plan, untrusted).filter_map(id).collect();
    let mut all: Vec<Trusted> = Vec::new();
    for message in sent(plan, trusted) {
        let Some(id) = id(message).filter(|id| !others.contains(id)) else { continue };
        let Some(frame) = empty(id, message.len.into()) else { continue };
        let (name, senders) = (message.name.clone(), message.senders.clone());
        all.push(Trusted { frame, known_from: KnownFrom::Message { name, senders } });
    }
    for route in plan.routes().iter().filter(|route| (route.from, route.to) == (trusted, untrusted)) {
        let exact = route.selections.iter().map(|selection| selection.filter.normalise());
        let exact = exact.filter(|filter| filter.list == ReceiveList::Exact).map(|filter| RawId(filter.id));
        let frames = exact.filter(|id| id.carries_data()).filter_map(|id| empty(id, CAN_MAX_DLEN));
        all.extend(frames.map(|frame| Trusted { frame, known_from: KnownFrom::Route { name: route.name.clone() } }));
    }
    let mut seen = std::collections::BTreeSet::new();
    all.retain(|one| seen.insert(one.frame.id.0));
    all
}

/// Messages with senders, of the databases of a bus.
pub(crate) fn sent(plan: &Plan, bus: BusIndex) -> impl Iterator<Item = &Message> {
    let messages = plan.databases(bus).iter().flat_map(|database| &database.messages);
    messages.filter(|message| !message.senders.is_empty())
}

fn empty(id: RawId, len: usize) -> Option<Frame> {
    let payload = vec![0; len];
    Frame::classic(id, &payload).or_else(|_long| Frame::fd(id, 0, &payload)).ok()
}

#[cfg(test)]
mod tests {
    use candor_config::config;

    use super::*;

    #[test]
    fn senders_and_routes_tell_what_trusted_nodes_send() {
        let text = r#"
            [bus.out]
            interface = "can0"
            [bus.in]
            interface = "can1"
            [database]
            out = "out.dbc"
            in = "in.dbc"
            [[route]]
            name = "up"
            from = "in"
            to = "out"
            match = ["100", "321"]
            [[route]]
            name = "range"
            from = "in"
            to = "out"
            match = "400:700"
        "#;
        let mut read = |path: &str| {
            let messages = "BO_ 256 Brake: 8 ABS\n\nBO_ 512 Wish: 4 Tester\n\nBO_ 768 Open: 8 Vector__XXX\n";
            let own = "BO_ 512 Wish: 4 Tester\n";
            Ok(format!("BU_: ABS Tester\n\n{}", if path == "in.dbc" { messages } else { own }).into_bytes())
        };
        let loaded = config::load_with(text.as_bytes(), None, &mut read, &mut |_| unreachable!());
        let plan = loaded.unwrap_or_else(|findings| panic!("{findings:?}")).plan;
        let found = trusted(&plan, BusIndex(1), BusIndex(0));
        let found: Vec<_> = found.iter().map(|one| (one.frame.to_string(), &one.known_from)).collect();
        let brake = KnownFrom::Message { name: "Brake".into(), senders: vec!["ABS".into()] };
        let route = KnownFrom::Route { name: "up".into() };
        assert_eq!(found, [("100#0000000000000000".into(), &brake), ("321#0000000000000000".into(), &route)]);
    }
}
