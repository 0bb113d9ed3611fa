//! Interfaces of this machine by name.

use super::Interface;
use crate::netlink::{Observed, TcError};

/// Why it is not known what an interface has.
#[derive(Debug, thiserror::Error)]
pub enum LookError {
    /// The machine has none of this name.
    #[error("There is no interface {interface}{}; ip -br link shows those that there are", of_bus(bus.as_deref()))]
    Missing { interface: String, bus: Option<String> },
    /// The kernel does not say it.
    #[error("Cannot look at {interface}")]
    Untold { interface: String, source: TcError },
}

fn of_bus(bus: Option<&str>) -> String {
    bus.map_or_else(String::new, |bus| format!(" (bus {bus})"))
}

/// An interface of this machine.
pub fn open(interface: &str, bus: Option<&str>) -> Result<Interface, LookError> {
    let opened =
        Interface::open(interface).map_err(|source| LookError::Untold { interface: interface.to_owned(), source })?;
    opened.ok_or_else(|| LookError::Missing { interface: interface.to_owned(), bus: bus.map(str::to_owned) })
}

/// What an interface of this machine has, and what that has counted.
pub fn observe(interface: &str, bus: Option<&str>) -> Result<Observed, LookError> {
    let observed = open(interface, bus)?.observe();
    observed.map_err(|source| LookError::Untold { interface: interface.to_owned(), source })
}
