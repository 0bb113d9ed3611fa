//! Buses and adapters on the command line.

use std::fmt;
use std::str::FromStr;

use candor_bus::NodeSet;
use candor_config::wire::is_bus_name;
use candor_core::interface_name::{self, MAX_INTERFACE_NAME_BYTES};
use candor_core::units::{BitRate, QuantityError};

/// `NAME:RATE[/DATARATE]:IF,IF,…`: a bus with one interface for each node.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct BusSpec {
    pub(crate) name: String,
    pub(crate) rate: BitRate,
    pub(crate) data_rate: Option<BitRate>,
    pub(crate) interfaces: Vec<String>,
}

/// `IF,IF,…`: an adapter with one interface for each channel, on any bus.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct AdapterSpec {
    pub(crate) interfaces: Vec<String>,
}

#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub(crate) enum BusSpecError {
    #[error("a bus has the form NAME:RATE:IF,IF,… such as b0:500k:can0,can1")]
    Form,
    #[error("the name before the first colon is empty")]
    NoName,
    #[error("invalid bus name `{0}`: use letters, digits, - and _")]
    BusName(String),
    #[error("invalid bit rate `{text}`: {source}")]
    Rate { text: String, source: QuantityError },
    #[error("invalid interface name `{0}`: use up to {MAX_INTERFACE_NAME_BYTES} characters without spaces, / or :")]
    Interface(String),
    #[error("the data bit rate {data} is below the bit rate {nominal}")]
    SlowData { data: BitRate, nominal: BitRate },
}

impl FromStr for BusSpec {
    type Err = BusSpecError;

    fn from_str(text: &str) -> Result<Self, BusSpecError> {
        let [name, rates, interfaces] = text.split(':').collect::<Vec<_>>()[..] else { return Err(BusSpecError::Form) };
        if name.is_empty() {
            return Err(BusSpecError::NoName);
        }
        if !is_bus_name(name) {
            return Err(BusSpecError::BusName(name.to_owned()));
        }
        let rate =
            |text: &str| text.parse::<BitRate>().map_err(|source| BusSpecError::Rate { text: text.to_owned(), source });
        let (nominal, data) = match rates.split_once('/') {
            // The slash of `500kbit/s` does not separate two rates.
            Some((_, "s")) | None => (rate(rates)?, None),
            Some((nominal, data)) => (rate(nominal)?, Some(rate(data)?)),
        };
        if let Some(data) = data.filter(|&data| data < nominal) {
            return Err(BusSpecError::SlowData { data, nominal });
        }
        Ok(Self { name: name.to_owned(), rate: nominal, data_rate: data, interfaces: interface_names(interfaces)? })
    }
}

impl FromStr for AdapterSpec {
    type Err = BusSpecError;

    fn from_str(text: &str) -> Result<Self, BusSpecError> {
        Ok(Self { interfaces: interface_names(text)? })
    }
}

impl fmt::Display for AdapterSpec {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.write_str(&self.interfaces.join(","))
    }
}

fn interface_names(text: &str) -> Result<Vec<String>, BusSpecError> {
    let names: Vec<String> = text.split(',').map(str::to_owned).collect();
    match names.iter().find(|name| !is_interface_name(name)) {
        Some(wrong) => Err(BusSpecError::Interface(wrong.clone())),
        None => Ok(names),
    }
}

/// Printable characters, without `%`, which the kernel replaces by a number.
fn is_interface_name(name: &str) -> bool {
    interface_name::check(name).is_ok() && name.chars().all(|letter| letter.is_ascii_graphic() && letter != '%')
}

/// Checks that names are unique and buses are not too large.
pub(crate) fn check_buses(buses: &[BusSpec]) -> Result<(), String> {
    for (at, bus) in buses.iter().enumerate() {
        if buses.iter().take(at).any(|other| other.name == bus.name) {
            return Err(format!("Two buses are called {}", bus.name));
        }
        let nodes = bus.interfaces.len();
        if nodes > NodeSet::MAX_NODES {
            return Err(format!("A bus has at most {} nodes; {} has {nodes}", NodeSet::MAX_NODES, bus.name));
        }
        for (position, name) in bus.interfaces.iter().enumerate() {
            let before = bus.interfaces.iter().take(position);
            if before.chain(buses.iter().take(at).flat_map(|other| &other.interfaces)).any(|other| other == name) {
                return Err(format!("The interface {name} is used twice; each node needs its own"));
            }
        }
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn rate(bits_per_second: u32) -> BitRate {
        BitRate::from_bits_per_second(bits_per_second).unwrap()
    }

    #[test]
    fn buses_are_parsed() {
        let bus: BusSpec = "b0:500k/2M:can0,can1".parse().unwrap();
        assert_eq!((bus.rate, bus.data_rate), (rate(500_000), Some(rate(2_000_000))));
        assert_eq!((bus.name.as_str(), bus.interfaces.len()), ("b0", 2));
        let bus: BusSpec = "b0:83.333kbit/s:can0".parse().unwrap();
        assert_eq!((bus.rate, bus.data_rate), (rate(83_333), None));
    }

    #[test]
    fn invalid_buses_are_refused() {
        let error = |text: &str| text.parse::<BusSpec>().unwrap_err().to_string();
        insta::assert_snapshot!(
            ["b0:500k", ":500k:can0", "b 0:500k:can0", "b0:500:can0", "b0:500k:", "b0:500k:can0,", "b0:1M/500k:can0",
             "b0:500k:a-name-beyond-15"].map(error).join("\n"),
            @r"
        a bus has the form NAME:RATE:IF,IF,… such as b0:500k:can0,can1
        the name before the first colon is empty
        invalid bus name `b 0`: use letters, digits, - and _
        invalid bit rate `500`: The number has no unit; write bit/s, kbit/s or Mbit/s after it
        invalid interface name ``: use up to 15 characters without spaces, / or :
        invalid interface name ``: use up to 15 characters without spaces, / or :
        the data bit rate 500kbit/s is below the bit rate 1Mbit/s
        invalid interface name `a-name-beyond-15`: use up to 15 characters without spaces, / or :
        ");
    }

    #[test]
    fn names_are_unique() {
        let buses = |texts: &[&str]| texts.iter().map(|text| text.parse().unwrap()).collect::<Vec<_>>();
        assert!(check_buses(&buses(&["b0:500k:can0,can1", "b1:500k:can2"])).is_ok());
        assert!(check_buses(&buses(&["b0:500k:can0", "b0:500k:can1"])).unwrap_err().contains("called b0"));
        assert!(check_buses(&buses(&["b0:500k:can0", "b1:500k:can0"])).unwrap_err().contains("can0"));
        assert!(check_buses(&buses(&["b0:500k:can0,can0"])).unwrap_err().contains("can0"));
        let many: Vec<String> = (0..65).map(|node| format!("can{node}")).collect();
        assert!(
            check_buses(&buses(&[&format!("b0:500k:{}", many.join(","))])).unwrap_err().contains("at most 64 nodes")
        );
    }
}
