//! What a change of the gateway changes in what crosses, by name.

use crate::plan::{BusIndex, ComposedFrame, Plan, Route};

/// Names of routes and of composed frames, which differ from each other.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Changes {
    pub added: Vec<String>,
    pub removed: Vec<String>,
    /// They have the same name, and do something else.
    pub changed: Vec<String>,
}

#[derive(Clone, Copy)]
enum Item<'a> {
    Frame(&'a ComposedFrame),
    Route(&'a Route),
}

impl Changes {
    /// The difference between two plans; without one of them, everything of the other is added or removed.
    pub fn between(before: Option<&Plan>, after: Option<&Plan>) -> Self {
        let (earlier, later) = (items(before), items(after));
        let mut by_name: Vec<usize> = (0..earlier.len()).collect();
        candor_core::order::sort_by(&mut by_name, |one, other| earlier[*one].name().cmp(earlier[*other].name()));
        let mut stays = vec![false; earlier.len()];
        let mut changes = Self::default();
        for item in later {
            let Ok(at) = by_name.binary_search_by(|at| earlier[*at].name().cmp(item.name())) else {
                changes.added.push(item.name().to_owned());
                continue;
            };
            stays[by_name[at]] = true;
            if let (Some(before), Some(after)) = (before, after)
                && !is_same((before, earlier[by_name[at]]), (after, item))
            {
                changes.changed.push(item.name().to_owned());
            }
        }
        let removed = earlier.iter().zip(stays).filter(|(_, stays)| !stays);
        changes.removed = removed.map(|(item, _)| item.name().to_owned()).collect();
        changes
    }
}

impl<'a> Item<'a> {
    fn name(self) -> &'a str {
        match self {
            Self::Frame(frame) => &frame.name,
            Self::Route(route) => &route.name,
        }
    }
}

/// In the order of the file.
fn items(plan: Option<&Plan>) -> Vec<Item<'_>> {
    let mut items = Vec::new();
    if let Some(plan) = plan {
        items.extend(plan.routes().iter().map(Item::Route));
        items.extend(plan.frames().iter().map(Item::Frame));
    }
    items
}

/// Compares buses by their interfaces. What only people read, and what the kernel said, is no change.
fn is_same((before, one): (&Plan, Item<'_>), (after, other): (&Plan, Item<'_>)) -> bool {
    let is_same_bus = |one: BusIndex, other: BusIndex| before.bus(one).interface == after.bus(other).interface;
    match (one, other) {
        (Item::Route(one), Item::Route(other)) => {
            is_same_bus(one.from, other.from)
                && is_same_bus(one.to, other.to)
                && one.selections == other.selections
                && one.formats == other.formats
                && one.payload == other.payload
                && one.send_as == other.send_as
                && one.checks == other.checks
                && one.guard == other.guard
                && one.computed == other.computed
                && one.modifications == other.modifications
                && one.checksums == other.checksums
                && one.protected == other.protected
                && one.echo == other.echo
                && one.hop_limit == other.hop_limit
                && one.timestamp == other.timestamp
                && one.incoming == other.incoming
                && one.is_exclusive == other.is_exclusive
                && one.max_age == other.max_age
                && one.when_full == other.when_full
                && one.timing == other.timing
                && one.uid == other.uid
        }
        (Item::Frame(one), Item::Frame(other)) => {
            let mut sources = one.sources.iter().zip(&other.sources);
            is_same_bus(one.to, other.to)
                && one.id == other.id
                && one.format == other.format
                && one.bit_rate_switch == other.bit_rate_switch
                && one.sources.len() == other.sources.len()
                && sources.all(|(one, other)| is_same_bus(one.bus, other.bus) && one.id == other.id)
                && one.checks == other.checks
                && one.protect == other.protect
                && one.composition == other.composition
        }
        _ => false,
    }
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
    }
    #[test]
    fn guards_checks_and_protections_are_compared() {
        let with = |line: &str| plan(&format!("engine = \"auto\"\n{BUSES}{}{line}\n", route("x", "1")));
        let plans = [
            with(""),
            with("guard = { len = 8 }"),
            with("guard = { len = 8, on-violation = \"drop\" }"),
            with("guard = { len = 8, silent = \"1s\" }"),
            with("check = { e2e = \"P01\", data-id = 1 }"),
            with("protect = { e2e = \"P01\", data-id = 1 }"),
            with("protect = { e2e = \"P01\", data-id = 2 }"),
        ];
        for (at, one) in plans.iter().enumerate() {
            for (other_at, other) in plans.iter().enumerate() {
                let changed = Changes::between(Some(one), Some(other)).changed;
                assert_eq!(changed.is_empty(), at == other_at, "{at} {other_at}");
            }
        }
    }
}
