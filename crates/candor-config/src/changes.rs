//! What a change of the gateway changes in what crosses, by name.

use std::collections::BTreeMap;

use crate::plan::{BusIndex, ComposedFrame, Egress, Plan, Route};

/// Names of routes, of composed frames, and of buses with queues (`egress.BUS`).
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Changes {
    pub added: Vec<String>,
    pub removed: Vec<String>,
    /// They have the same name, and do something else.
    pub changed: Vec<String>,
}

/// Something of a plan that has a name, without indexes of its buses.
#[derive(Debug, PartialEq)]
enum Item {
    Egress(Egress, String),
    Frame(ComposedFrame, Vec<String>),
    Route(Box<Route>, [String; 2]),
}

impl Changes {
    /// The difference between two plans; without one of them, everything of the other is added or removed.
    pub fn between(before: Option<&Plan>, after: Option<&Plan>) -> Self {
        let mut changes = Self::default();
        let mut earlier: BTreeMap<String, Item> = candor_core::order::map(before.into_iter().flat_map(items));
        for (name, item) in after.into_iter().flat_map(items) {
            match earlier.remove(&name) {
                None => changes.added.push(name),
                Some(before) if before != item => changes.changed.push(name),
                Some(_) => {}
            }
        }
        let before = before.into_iter().flat_map(items).map(|(name, _)| name);
        changes.removed = before.filter(|name| earlier.contains_key(name)).collect();
        changes
    }
}

const NO_BUS: BusIndex = BusIndex(0);

/// In the order of the file.
fn items(plan: &Plan) -> impl Iterator<Item = (String, Item)> {
    let interface = |bus| plan.bus(bus).interface.clone();
    let routes = plan.routes().iter().map(move |route| {
        // What only people read, and what the kernel said, is no change.
        let bare = Route { from: NO_BUS, to: NO_BUS, notes: Vec::new(), is_refused: false, ..route.clone() };
        (route.name.clone(), Item::Route(Box::new(bare), [route.from, route.to].map(interface)))
    });
    let frames = plan.frames().iter().map(move |frame| {
        let mut bare = ComposedFrame { to: NO_BUS, ..frame.clone() };
        let sources = bare.sources.iter_mut().map(|source| std::mem::replace(&mut source.bus, NO_BUS));
        let buses = std::iter::once(frame.to).chain(sources).map(interface).collect();
        (frame.name.clone(), Item::Frame(bare, buses))
    });
    let queues = plan.egress().iter().map(move |egress| {
        let bare = Egress { bus: NO_BUS, ..egress.clone() };
        (format!("egress.{}", plan.bus(egress.bus).name), Item::Egress(bare, interface(egress.bus)))
    });
    routes.chain(frames).chain(queues)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::config::load;

    fn plan(text: &str) -> Plan {
        load(text.as_bytes()).unwrap_or_else(|findings| panic!("{findings:#?}")).plan
    }

    const BUSES: &str = "[bus.a]\ninterface = \"can0\"\n[bus.b]\ninterface = \"can1\"\n";

    fn route(name: &str, filter: &str) -> String {
        format!("[[route]]\nname = \"{name}\"\nfrom = \"a\"\nto = \"b\"\nmatch = \"{filter}\"\n")
    }

    #[test]
    fn routes_are_compared_by_name() {
        let one = plan(&(BUSES.to_owned() + &route("x", "1") + &route("y", "2") + &route("z", "3")));
        let two = BUSES.to_owned() + &route("w", "4") + &route("z", "3") + "comment = \"other\"\n" + &route("y", "5");
        let two = plan(&two);
        let names = |names: &[&str]| names.iter().map(|name| (*name).to_owned()).collect::<Vec<_>>();
        let found = Changes::between(Some(&one), Some(&two));
        assert_eq!(found, Changes { added: names(&["w"]), removed: names(&["x"]), changed: names(&["y"]) });
        assert_eq!(Changes::between(None, Some(&one)).added, names(&["x", "y", "z"]));
        assert_eq!(Changes::between(Some(&one), None).removed, names(&["x", "y", "z"]));
        assert_eq!(Changes::between(Some(&one), Some(&one)), Changes::default());
    }

    #[test]
    fn the_order_of_buses_is_no_change_but_their_interfaces_are() {
        let one = plan(&(BUSES.to_owned() + &route("x", "1")));
        let turned = "[bus.b]\ninterface = \"can1\"\n[bus.a]\ninterface = \"can0\"\n".to_owned() + &route("x", "1");
        assert_eq!(Changes::between(Some(&one), Some(&plan(&turned))), Changes::default());
        let elsewhere = plan(&turned.replace("can1", "can2"));
        assert_eq!(Changes::between(Some(&one), Some(&elsewhere)).changed, ["x"]);
        let queues = BUSES.to_owned() + &route("x", "1") + "[egress.b]\nqueue = \"arbitration\"\nper-socket = 20\n";
        assert_eq!(Changes::between(Some(&one), Some(&plan(&queues))).added, ["egress.b"]);
    }
}
