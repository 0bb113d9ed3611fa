//! The interfaces and control groups of a machine, real or in a test.

use std::cell::RefCell;
use std::rc::Rc;

use crate::control_group::{GroupId, GroupName};
use crate::handle::Handle;
use crate::netlink::arbitration::{Installed, Statistics};
use crate::netlink::program::{self, Ingress};
use crate::netlink::{self, InterfaceNames, Mode, Observed, TcError};
use crate::steps::Step;
use crate::tree::Tree;
use candor_io::can::InterfaceIndex;
use candor_netlink::client::Client;

use super::control_groups::{ControlGroups, FindError};

pub trait Machine {
    type Kernel: Kernel;

    /// The interface of this name and its index, which shows whether it was replaced.
    fn open(&mut self, name: &str) -> Result<Option<(u32, Self::Kernel)>, TcError>;

    /// Looks up a control group; `None` if it does not exist now.
    fn group_id(&mut self, name: &GroupName) -> Result<Option<GroupId>, FindError>;
}

/// The disciplines and filters of one interface.
pub trait Kernel {
    fn found(&mut self) -> Result<Tree, TcError>;

    /// Makes one change.
    ///
    /// # Errors
    /// The error of the kernel; nothing has changed then.
    fn carry_out(&mut self, step: &Step) -> Result<(), TcError>;
}

/// The network namespace of the calling thread, and the control groups of the machine.
#[derive(Clone, Debug, Default)]
pub struct Here {
    groups: ControlGroups,
    /// By the name of their interface.
    queues: Vec<(String, Rc<RefCell<Option<Installed>>>)>,
}

impl Here {
    /// The statistics of the last queue in the order of arbitration that this process has made on this interface. Needs no
    /// privilege.
    #[must_use]
    pub fn queue(&self, interface: &str) -> Option<Statistics> {
        let (_, queue) = self.queues.iter().find(|(name, _)| name == interface)?;
        queue.borrow().as_ref()?.statistics().ok()
    }
}

impl Machine for Here {
    type Kernel = Interface;

    fn open(&mut self, name: &str) -> Result<Option<(u32, Interface)>, TcError> {
        let Some(interface) = Interface::open(name)? else { return Ok(None) };
        let known = self.queues.iter().find(|(known, _)| known == name).map(|(_, queue)| Rc::clone(queue));
        let queue = known.unwrap_or_else(|| {
            self.queues.push((name.to_owned(), Rc::clone(&interface.queue)));
            Rc::clone(&interface.queue)
        });
        Ok(Some((interface.index.number(), Interface { queue, ..interface })))
    }

    fn group_id(&mut self, name: &GroupName) -> Result<Option<GroupId>, FindError> {
        self.groups.group_id(name)
    }
}

/// An interface, and a connection to the kernel of its own.
#[derive(Debug)]
pub struct Interface {
    client: Client,
    index: InterfaceIndex,
    names: InterfaceNames,
    /// A queue in the order of arbitration that this process has made.
    queue: Rc<RefCell<Option<Installed>>>,
}

impl Interface {
    /// The interface of this name; `None` if there is none.
    pub fn open(name: &str) -> Result<Option<Self>, TcError> {
        let mut client = Client::open()?;
        let names = InterfaceNames::read(&mut client)?;
        Ok(names.index(name).map(|index| Self { client, index, names, queue: Rc::default() }))
    }

    /// The same, and the statistics of a queue in the order of arbitration, if this process may read them.
    pub fn observe_all(&mut self) -> Result<Observed, TcError> {
        let mut observed = self.observe()?;
        if observed.tree.is_in_order_of_arbitration() {
            observed.queue = netlink::arbitration::statistics(self.index).ok().flatten();
        }
        Ok(observed)
    }

    /// Its tree and counters.
    pub fn observe(&mut self) -> Result<Observed, TcError> {
        Ok(netlink::observe(&mut self.client, self.index, &self.names)?)
    }
}

impl Kernel for Interface {
    fn found(&mut self) -> Result<Tree, TcError> {
        Ok(self.observe()?.tree)
    }

    fn carry_out(&mut self, step: &Step) -> Result<(), TcError> {
        let Self { client, index, names, queue } = self;
        match step {
            Step::ChangeClass(class) => netlink::send_class(client, *index, class, Mode::Change),
            Step::MakeClass(class) => netlink::send_class(client, *index, class, Mode::Make),
            Step::MakeFilter(filter) if filter.parent == Handle::EGRESS && has_plain_ingress(client, *index)? => {
                Err(TcError::OnlyReceived)
            }
            Step::MakeFilter(filter) => netlink::make_filter(client, *index, filter, names),
            // Programs that forward frames are in one, which the kernel would not exchange without removing them.
            Step::MakeQdisc(qdisc) if qdisc.parent == Handle::CLSACT && has_plain_ingress(client, *index)? => Ok(()),
            // Below a class the kernel has put its own default, which is in the way of one that is only made.
            Step::ChangeQdisc(qdisc) | Step::MakeQdisc(qdisc) => {
                let made = netlink::make_qdisc(client, *index, qdisc)?;
                if qdisc.parent == Handle::ROOT {
                    *queue.borrow_mut() = made;
                }
                Ok(())
            }
            Step::RemoveFilters { parent, preference } => netlink::delete_filters(client, *index, *parent, *preference),
            // With programs that forward frames, only what is beside them goes.
            Step::RemoveSide { parent } if *parent == Handle::CLSACT && program::has_ours(client, *index)? => {
                let filters =
                    self.found()?.filters.into_iter().filter(|filter| filter.parent.qdisc() == Handle::CLSACT_QDISC);
                let mut places: Vec<_> = filters.map(|filter| (filter.parent, filter.preference)).collect();
                places.dedup();
                let remove =
                    |(parent, preference)| netlink::delete_filters(&mut self.client, self.index, parent, preference);
                places.into_iter().try_for_each(remove)
            }
            Step::RemoveSide { parent } => Ok(netlink::delete_qdisc(client, *index, *parent, Handle::NONE)?),
        }
    }
}

/// True for the `ingress` of programs that forward frames.
fn has_plain_ingress(client: &mut Client, interface: InterfaceIndex) -> Result<bool, TcError> {
    Ok(program::ingress(client, interface)? == Some(Ingress::Plain) && program::has_ours(client, interface)?)
}

#[derive(Debug, thiserror::Error)]
pub enum LookError {
    #[error("Interface {interface}{} not found; ip -br link lists the interfaces", of_bus(bus.as_deref()))]
    Missing { interface: String, bus: Option<String> },
    #[error("Cannot read the qdiscs of {interface}")]
    Unreadable { interface: String, source: TcError },
}

fn of_bus(bus: Option<&str>) -> String {
    bus.map_or_else(String::new, |bus| format!(" (bus {bus})"))
}

pub fn open(interface: &str, bus: Option<&str>) -> Result<Interface, LookError> {
    let opened = Interface::open(interface)
        .map_err(|source| LookError::Unreadable { interface: interface.to_owned(), source })?;
    opened.ok_or_else(|| LookError::Missing { interface: interface.to_owned(), bus: bus.map(str::to_owned) })
}

pub fn observe(interface: &str, bus: Option<&str>) -> Result<Observed, LookError> {
    let observed = open(interface, bus)?.observe_all();
    observed.map_err(|source| LookError::Unreadable { interface: interface.to_owned(), source })
}

/// Looks up the control groups of a tree; returns the names of those that do not exist now.
///
/// # Errors
/// [`FindError`]; then the tree knows only part of them.
pub fn locate<M: Machine>(machine: &mut M, tree: &mut Tree) -> Result<Vec<GroupName>, FindError> {
    let mut failed = None;
    let missing = tree.locate(|name| {
        machine.group_id(name).unwrap_or_else(|error| {
            failed.get_or_insert(error);
            None
        })
    });
    failed.map_or(Ok(missing), Err)
}
