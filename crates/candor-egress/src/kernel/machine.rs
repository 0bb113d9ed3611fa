//! The interfaces and control groups of a machine, real or in a test.

use std::io;
use std::path::PathBuf;

use crate::control_group::{GroupName, Place};
use crate::handle::Handle;
use crate::netlink::{self, InterfaceNames, Mode, Observed, TcError};
use crate::steps::Step;
use crate::tree::Tree;
use candor_io::can::InterfaceIndex;
use candor_netlink::client::Client;

use super::control_groups::ControlGroups;

pub trait Machine {
    type Kernel: Kernel;

    /// The interface of this name and its number, by which one can see that it is another one than before.
    fn open(&mut self, name: &str) -> Result<Option<(u32, Self::Kernel)>, TcError>;

    /// Which control group this is; `None` if there is none now.
    fn place(&mut self, name: &GroupName) -> Result<Option<Place>, FindError>;
}

/// One interface, as far as it has to be known here.
pub trait Kernel {
    /// What it has.
    fn found(&mut self) -> Result<Tree, TcError>;

    /// Makes one change.
    ///
    /// # Errors
    /// Whatever the kernel refuses with; then nothing has changed.
    fn carry_out(&mut self, step: &Step) -> Result<(), TcError>;
}

#[derive(Debug, thiserror::Error)]
pub enum FindError {
    #[error("There are several units {unit}: write which one is meant as one of cgroup = {}", quoted(paths))]
    Ambiguous { unit: String, paths: Vec<String> },
    #[error("There are no control groups of version 2 here: mount them, sudo mount -t cgroup2 none /sys/fs/cgroup")]
    NotMounted,
    #[error("{} is not the root of all control groups: start candor outside of the container", mount.display())]
    NotRoot { mount: PathBuf },
    #[error("Cannot look for control groups in {}", path.display())]
    Unreadable { path: PathBuf, source: io::Error },
}

fn quoted(paths: &[String]) -> String {
    paths.iter().map(|path| format!("\"{path}\"")).collect::<Vec<_>>().join(", ")
}

/// The network namespace of the calling thread, and the control groups of the machine.
#[derive(Clone, Debug, Default)]
pub struct Here {
    groups: ControlGroups,
}

impl Machine for Here {
    type Kernel = Interface;

    fn open(&mut self, name: &str) -> Result<Option<(u32, Interface)>, TcError> {
        Ok(Interface::open(name)?.map(|interface| (interface.index.number(), interface)))
    }

    fn place(&mut self, name: &GroupName) -> Result<Option<Place>, FindError> {
        self.groups.place(name)
    }
}

/// An interface, and a connection to the kernel of its own.
#[derive(Debug)]
pub struct Interface {
    client: Client,
    index: InterfaceIndex,
    names: InterfaceNames,
}

impl Interface {
    /// The interface of this name; `None` if there is none.
    pub fn open(name: &str) -> Result<Option<Self>, TcError> {
        let mut client = Client::open()?;
        let names = InterfaceNames::read(&mut client)?;
        Ok(names.index(name).map(|index| Self { client, index, names }))
    }

    /// What it has and what that has counted.
    pub fn observe(&mut self) -> Result<Observed, TcError> {
        Ok(netlink::observe(&mut self.client, self.index, &self.names)?)
    }
}

impl Kernel for Interface {
    fn found(&mut self) -> Result<Tree, TcError> {
        Ok(self.observe()?.tree)
    }

    fn carry_out(&mut self, step: &Step) -> Result<(), TcError> {
        let Self { client, index, names } = self;
        match step {
            Step::ChangeClass(class) => netlink::send_class(client, *index, class, Mode::Change),
            Step::ChangeQdisc(qdisc) => netlink::replace_qdisc(client, *index, qdisc),
            Step::MakeClass(class) => netlink::send_class(client, *index, class, Mode::Make),
            Step::MakeFilter(filter) => netlink::make_filter(client, *index, filter, names),
            // Below a class the kernel has put its own default, which is in the way of one that is only made.
            Step::MakeQdisc(qdisc) => netlink::replace_qdisc(client, *index, qdisc),
            Step::RemoveFilters { parent, preference } => netlink::delete_filters(client, *index, *parent, *preference),
            Step::RemoveSide { parent } => Ok(netlink::delete_qdisc(client, *index, *parent, Handle::NONE)?),
        }
    }
}

#[derive(Debug, thiserror::Error)]
pub enum LookError {
    #[error("There is no interface {interface}{}; ip -br link shows those that there are", of_bus(bus.as_deref()))]
    Missing { interface: String, bus: Option<String> },
    #[error("Cannot look at {interface}")]
    Untold { interface: String, source: TcError },
}

fn of_bus(bus: Option<&str>) -> String {
    bus.map_or_else(String::new, |bus| format!(" (bus {bus})"))
}

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
