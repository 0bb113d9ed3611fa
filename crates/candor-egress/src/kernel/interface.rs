//! An interface of this machine.

use crate::control_group::{GroupName, Place};
use crate::handle::Handle;
use crate::netlink::{self, InterfaceNames, Observed, TcError};
use crate::steps::Step;
use crate::tree::Tree;
use candor_io::can::InterfaceIndex;
use candor_netlink::client::Client;

use crate::kernel::{ControlGroups, FindError, Kernel, Machine};

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
    ///
    /// # Errors
    /// If the kernel cannot be asked.
    pub fn open(name: &str) -> Result<Option<Self>, TcError> {
        let mut client = Client::open()?;
        let names = InterfaceNames::read(&mut client)?;
        Ok(names.index(name).map(|index| Self { client, index, names }))
    }

    /// What it has and what that has counted.
    ///
    /// # Errors
    /// Whatever the kernel refuses with.
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
            Step::ChangeClass(class) => netlink::change_class(client, *index, class),
            Step::ChangeQdisc(qdisc) => netlink::replace_qdisc(client, *index, qdisc),
            Step::MakeClass(class) => netlink::make_class(client, *index, class),
            Step::MakeFilter(filter) => netlink::make_filter(client, *index, filter, names),
            // Below a class the kernel has put its own default, which is in the way of one that is only made.
            Step::MakeQdisc(qdisc) => netlink::replace_qdisc(client, *index, qdisc),
            Step::RemoveFilters { parent, preference } => netlink::delete_filters(client, *index, *parent, *preference),
            Step::RemoveSide { parent } => Ok(netlink::delete_qdisc(client, *index, *parent, Handle::NONE)?),
        }
    }
}
