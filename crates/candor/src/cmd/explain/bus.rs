//! The bus that is meant: by its name or by its interface.

use candor_config::plan::{BusIndex, Plan};

/// Names that are more alike than this are likely mistyped.
const SIMILAR: f64 = 0.7;

/// A bus that the file does not have.
#[derive(Debug)]
pub(super) struct UnknownBus(String);

impl std::fmt::Display for UnknownBus {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str(&self.0)
    }
}

impl std::error::Error for UnknownBus {}

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
    let hint = closest.map_or_else(|| "its".to_owned(), |(_, name)| format!("did you mean {name}? Its"));
    let there: Vec<_> = plan.buses().iter().map(|bus| format!("{} ({})", bus.name, bus.interface)).collect();
    UnknownBus(format!("The file has no bus and no interface {wanted:?}; {hint} buses are {}", there.join(", ")))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn plan() -> Plan {
        let file = include_bytes!("../../../../../examples/02-filter.toml");
        candor_config::config::load(file).unwrap().plan
    }

    #[test]
    fn a_bus_goes_by_its_name_or_its_interface() {
        for (text, index) in [("powertrain", 0), ("body", 1), ("vcan0", 0), ("vcan1", 1)] {
            assert_eq!(named(&plan(), text).unwrap(), BusIndex(index));
        }
    }

    #[test]
    fn an_unknown_bus_is_answered_with_what_there_is() {
        let said = |text| named(&plan(), text).unwrap_err().to_string();
        assert_eq!(
            said("Powertrian"),
            "The file has no bus and no interface \"Powertrian\"; did you mean powertrain? Its buses are powertrain \
             (vcan0), body (vcan1)"
        );
        assert!(said("vcan2").contains("; did you mean vcan"));
        assert!(said("xyz").contains("\"xyz\"; its buses are powertrain (vcan0), body (vcan1)"), "{}", said("xyz"));
    }
}
