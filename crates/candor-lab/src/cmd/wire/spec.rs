//! `NAME:RATE[/DATARATE]:IF,IF,…`.

use std::fmt;
use std::str::FromStr;

use candor_bus::NodeSet;
use candor_config::wire::is_bus_name;
use candor_core::interface_name::{self, MAX_INTERFACE_NAME_BYTES};
use candor_core::units::{BitRate, QuantityError};

/// A bus that is asked for.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct BusSpec {
    pub(crate) name: String,
    pub(crate) rate: BitRate,
    pub(crate) data_rate: Option<BitRate>,
    /// One for each node.
    pub(crate) interfaces: Vec<String>,
}

/// An adapter that is asked for: `IF,IF,…`.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct AdapterSpec {
    /// One for each channel, whichever bus it is on.
    pub(crate) interfaces: Vec<String>,
}

/// Text that is no bus.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub(crate) enum BusSpecError {
    #[error("a bus is written NAME:RATE:IF,IF,… as in b0:500k:can0,can1")]
    Form,
    #[error("the bus has no name in front of the first colon")]
    NoName,
    #[error("`{0}` is no name of a bus: letters, digits, - and _")]
    BusName(String),
    #[error("`{text}` is no bit rate: {source}")]
    Rate { text: String, source: QuantityError },
    #[error("`{0}` is no name of an interface: up to {MAX_INTERFACE_NAME_BYTES} characters, no spaces, / or :")]
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
            // The slash of `500kbit/s` is none between two rates.
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

/// What an interface may be renamed to, of plain characters: `%` would have the kernel put a number there.
fn is_interface_name(name: &str) -> bool {
    interface_name::check(name).is_ok() && name.chars().all(|letter| letter.is_ascii_graphic() && letter != '%')
}

/// Whether the buses go together.
pub(crate) fn check(buses: &[BusSpec]) -> Result<(), String> {
    for (at, bus) in buses.iter().enumerate() {
        if buses.iter().take(at).any(|other| other.name == bus.name) {
            return Err(format!("Two buses are called {}", bus.name));
        }
        let nodes = bus.interfaces.len();
        if nodes > NodeSet::MAX_NODES {
            return Err(format!("A bus has {} nodes at most; {} has {nodes}", NodeSet::MAX_NODES, bus.name));
        }
        for (position, name) in bus.interfaces.iter().enumerate() {
            let before = bus.interfaces.iter().take(position);
            if before.chain(buses.iter().take(at).flat_map(|other| &other.interfaces)).any(|other| other == name) {
                return Err(format!("The interface {name} is asked for twice; each node needs one of its own"));
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
    fn buses_are_read() {
        let bus: BusSpec = "b0:500k/2M:can0,can1".parse().unwrap();
        assert_eq!((bus.rate, bus.data_rate), (rate(500_000), Some(rate(2_000_000))));
        assert_eq!((bus.name.as_str(), bus.interfaces.len()), ("b0", 2));
        let bus: BusSpec = "b0:83.333kbit/s:can0".parse().unwrap();
        assert_eq!((bus.rate, bus.data_rate), (rate(83_333), None));
    }

    #[test]
    fn what_is_no_bus_is_told() {
        let error = |text: &str| text.parse::<BusSpec>().unwrap_err().to_string();
        insta::assert_snapshot!(
            ["b0:500k", ":500k:can0", "b 0:500k:can0", "b0:500:can0", "b0:500k:", "b0:500k:can0,", "b0:1M/500k:can0",
             "b0:500k:a-name-beyond-15"].map(error).join("\n"),
            @r"
        a bus is written NAME:RATE:IF,IF,… as in b0:500k:can0,can1
        the bus has no name in front of the first colon
        `b 0` is no name of a bus: letters, digits, - and _
        `500` is no bit rate: The number has no unit; write bit/s, kbit/s or Mbit/s after it
        `` is no name of an interface: up to 15 characters, no spaces, / or :
        `` is no name of an interface: up to 15 characters, no spaces, / or :
        the data bit rate 500kbit/s is below the bit rate 1Mbit/s
        `a-name-beyond-15` is no name of an interface: up to 15 characters, no spaces, / or :
        ");
    }

    #[test]
    fn names_are_used_once() {
        let buses = |texts: &[&str]| texts.iter().map(|text| text.parse().unwrap()).collect::<Vec<_>>();
        assert!(check(&buses(&["b0:500k:can0,can1", "b1:500k:can2"])).is_ok());
        assert!(check(&buses(&["b0:500k:can0", "b0:500k:can1"])).unwrap_err().contains("called b0"));
        assert!(check(&buses(&["b0:500k:can0", "b1:500k:can0"])).unwrap_err().contains("can0"));
        assert!(check(&buses(&["b0:500k:can0,can0"])).unwrap_err().contains("can0"));
        let many: Vec<String> = (0..65).map(|node| format!("can{node}")).collect();
        assert!(check(&buses(&[&format!("b0:500k:{}", many.join(","))])).unwrap_err().contains("64 nodes at most"));
    }
}
