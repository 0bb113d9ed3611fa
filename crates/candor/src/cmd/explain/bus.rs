//! Finding a bus by its name or its interface.

use candor_config::plan::{BusIndex, Plan};

/// Jaro-Winkler similarity above which a name is suggested.
const SIMILAR: f64 = 0.7;

#[derive(Debug, thiserror::Error)]
#[error("{0}")]
pub(super) struct UnknownBus(String);

/// The bus with this name, otherwise the one with this interface.
pub(super) fn named(plan: &Plan, wanted: &str) -> Result<BusIndex, UnknownBus> {
    let buses = plan.buses();
    let found = buses
        .iter()
        .position(|bus| bus.name == wanted)
        .or_else(|| buses.iter().position(|bus| bus.interface == wanted));
    found.map(BusIndex).ok_or_else(|| unknown(plan, wanted))
}

fn unknown(plan: &Plan, wanted: &str) -> UnknownBus {
    let names = plan.buses().iter().flat_map(|bus| [&bus.name, &bus.interface]);
    let likeness = |name: &str| strsim::jaro_winkler(&name.to_lowercase(), &wanted.to_lowercase());
    let closest = names
        .map(|name| (likeness(name), name))
        .filter(|(score, _)| *score > SIMILAR)
        .max_by(|one, other| one.0.total_cmp(&other.0));
    let hint = closest.map_or_else(String::new, |(_, name)| format!(" (did you mean {name}?)"));
    let there: Vec<_> = plan.buses().iter().map(|bus| format!("{} ({})", bus.name, bus.interface)).collect();
    UnknownBus(format!("no bus or interface {wanted:?} in the file{hint}; buses: {}", there.join(", ")))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn plan() -> Plan {
        let file = include_bytes!("../../../../../examples/02-filter.toml");
        candor_config::config::load(file).unwrap().plan
    }

    #[test]
    fn a_bus_is_found_by_name_or_interface() {
        for (text, index) in [("powertrain", 0), ("body", 1), ("vcan0", 0), ("vcan1", 1)] {
            assert_eq!(named(&plan(), text).unwrap(), BusIndex(index));
        }
    }

    #[test]
    fn an_unknown_bus_lists_the_known_ones() {
        let said = |text| named(&plan(), text).unwrap_err().to_string();
        assert_eq!(
            said("Powertrian"),
            "no bus or interface \"Powertrian\" in the file (did you mean powertrain?); buses: powertrain (vcan0), body \
             (vcan1)"
        );
        assert!(said("vcan2").contains("(did you mean vcan"));
        assert!(
            said("xyz").contains("\"xyz\" in the file; buses: powertrain (vcan0), body (vcan1)"),
            "{}",
            said("xyz")
        );
    }
}
