//! `candor egress`: manages the trees of `[egress.BUS]` in the kernel.

pub(super) mod apply;
mod clear;
mod draw;
pub(super) mod facts;
mod groups;
pub(super) mod json;
pub(super) mod news;
mod plan;
mod show;
mod verify;
mod watch;

use std::collections::BTreeMap;
use std::io;

use candor_config::plan::{Plan, Queueing};
use candor_egress::canonical::{Difference, differences};
use candor_egress::compile;
use candor_egress::handle::Handle;
use candor_egress::kernel::{Interface, Kernel as _, LookError, Target, open};
use candor_egress::steps;
use candor_egress::tree::Tree;
use candor_engine::InterfaceError;
use candor_io::can::Support;
use candor_netlink::client::{Client, NetlinkError};
use candor_netlink::link;

use crate::cli::{EgressCommand, WantedArgs};
use crate::netns;
use candor_cli::gateway_file::{Form, GatewayFile};
use candor_cli::signed::Keys;
use candor_cli::{Outcome, render};

pub(crate) fn run(command: &EgressCommand) -> Outcome {
    match command {
        EgressCommand::Plan(args) => plan::run(args),
        EgressCommand::Apply(args) => apply::run(args),
        EgressCommand::Show(args) => show::run(args),
        EgressCommand::Verify(args) => verify::run(args),
        EgressCommand::Watch(args) => watch::run(args),
        EgressCommand::Clear(args) => clear::run(args),
    }
}

/// The note of commands that process all CAN interfaces.
pub(super) fn no_interface(support: &io::Result<Support>) -> String {
    match support {
        Ok(Support::None) => format!("note: {}\n", InterfaceError::NoCan),
        _ => "note: this machine has no CAN interface; sudo ip link add dev vcan0 type vcan creates a virtual one\n"
            .into(),
    }
}

/// A bus and the tree of its interface.
#[derive(Debug)]
pub(super) struct Wanted {
    pub(super) bus: String,
    pub(super) interface: String,
    pub(super) tree: Tree,
    /// True if candor restarts its controller after bus-off.
    restarts: bool,
    /// Names of bands in the file, by their classes.
    names: BTreeMap<Handle, String>,
}

/// A valid file and its trees.
struct WantedFile {
    file: GatewayFile,
    wanted: Vec<Wanted>,
}

impl WantedFile {
    /// Enters the network namespace and reads the file; `None`, after saying why, if it is not valid.
    fn read(args: &WantedArgs, form: Form) -> Result<Option<Self>, Box<dyn std::error::Error>> {
        netns::enter(&args.kernel.netns)?;
        let file = super::read_file(&args.file, None, &Keys::NONE)?;
        let Some(loaded) = file.gateway_and_warnings(form)? else { return Ok(None) };
        let wanted = wanted(&loaded.plan);
        if wanted.is_empty() {
            render::err(&format!("note: {} has no [egress.BUS], so there is nothing to do\n", file.source.name()));
        }
        Ok(Some(Self { file, wanted }))
    }

    /// With control groups resolved; an error if one does not exist.
    fn located(mut self) -> Result<Self, groups::GroupsError> {
        groups::all(&mut self.wanted)?;
        Ok(self)
    }

    fn name(&self) -> &str {
        self.file.source.name()
    }
}

/// The trees of a plan by interface, including those that mark received frames.
pub(super) fn wanted(plan: &Plan) -> Vec<Wanted> {
    let trees = compile::trees(plan.egress()).into_iter();
    let wanted = trees.map(|(index, tree)| {
        let bus = plan.bus(index);
        let egress = plan.egress().iter().find(|egress| egress.bus == index);
        let names = match egress.map(|egress| &egress.queueing) {
            Some(Queueing::Bands(policy)) => {
                candor_core::order::map(compile::band_places(policy).map(|(place, name)| (place, name.to_owned())))
            }
            Some(Queueing::Arbitration { .. } | Queueing::Tree(_)) | None => BTreeMap::new(),
        };
        let restarts = bus.restart_after.is_some();
        Wanted { bus: bus.name.clone(), interface: bus.interface.clone(), tree, restarts, names }
    });
    wanted.collect()
}

pub(super) fn by_interface(wanted: Vec<Wanted>) -> Vec<(String, Tree)> {
    wanted.into_iter().map(|wanted| (wanted.interface, wanted.tree)).collect()
}

/// The interfaces of the command line, or else all CAN interfaces.
pub(super) fn named_or_all(names: &[String]) -> Result<Vec<String>, NetlinkError> {
    if !names.is_empty() {
        return Ok(names.to_vec());
    }
    let links = link::list(&mut Client::open()?)?;
    Ok(links.into_iter().filter(|link| link.can.is_some()).map(|link| link.name).collect())
}

/// Opens each interface with its tree.
pub(super) fn targets(wanted: &[Wanted]) -> Result<Vec<Target<Interface>>, LookError> {
    let target = |wanted: &Wanted| {
        let kernel = open(&wanted.interface, Some(&wanted.bus))?;
        Ok(Target { name: wanted.interface.clone(), kernel, wanted: wanted.tree.clone() })
    };
    wanted.iter().map(target).collect()
}

/// An interface compared with the kernel.
struct Compared<'a> {
    wanted: &'a Wanted,
    differences: Vec<Difference>,
    loses_frames: bool,
    requests: usize,
}

impl<'a> Compared<'a> {
    fn all(wanted: &'a [Wanted]) -> Result<Vec<Self>, Box<dyn std::error::Error>> {
        let one = |wanted: &'a Wanted| {
            let found = open(&wanted.interface, Some(&wanted.bus))?.found()?;
            Ok(Self::new(wanted, &found))
        };
        wanted.iter().map(one).collect()
    }

    fn new(wanted: &'a Wanted, found: &Tree) -> Self {
        let steps = steps::steps(&wanted.tree, found);
        Self {
            wanted,
            differences: differences(&wanted.tree, found),
            loses_frames: steps.loses_frames,
            requests: steps.requests.len(),
        }
    }

    fn is_equal(&self) -> bool {
        self.differences.is_empty()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn virtual_interface_is_proposed_if_the_kernel_has_can() {
        let (none, raw) = (no_interface(&Ok(Support::None)), no_interface(&Ok(Support::Raw)));
        assert!(none.contains("candor-lab shell") && !none.contains("ip link add"), "{none}");
        assert!(raw.contains("ip link add"), "{raw}");
    }
}
