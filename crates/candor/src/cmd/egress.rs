//! `candor egress`: the trees of `[egress.BUS]` and the kernel's.

pub(super) mod applied;
mod apply;
mod clear;
mod draw;
mod drawing;
pub(super) mod facts;
pub(super) mod news;
mod part;
mod plan;
mod show;
mod verify;
mod watch;

use std::collections::BTreeMap;
use std::fmt;

use candor_core::egress::compile;
use candor_core::egress::handle::Handle;
use candor_core::egress::tree::Tree;
use candor_core::plan::{Plan, Wish};
use candor_netlink::tc::TcError;
use candor_tc::{Interface, Target};

use crate::cli::{EgressCommand, WantedArgs};
use crate::cmd::Outcome;
use crate::gateway_file::{Form, GatewayFile};
use crate::{netns, render};

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

/// A bus and what its interface shall have.
#[derive(Debug)]
pub(super) struct Wanted {
    pub(super) bus: String,
    pub(super) interface: String,
    pub(super) tree: Tree,
    /// Whether candor brings its controller back after bus-off.
    restarts: bool,
    /// The user's names of bands, by the classes in which they wait.
    names: BTreeMap<Handle, String>,
}

/// A valid file and all that it wants.
struct WantedFile {
    file: GatewayFile,
    wanted: Vec<Wanted>,
}

impl WantedFile {
    /// Enters the network namespace and reads the file; `None`, after saying why, if it is not valid.
    fn read(args: &WantedArgs, form: Form) -> Result<Option<Self>, Box<dyn std::error::Error>> {
        netns::enter(&args.netns)?;
        let file = GatewayFile::read(&args.file)?;
        let Some(loaded) = file.gateway_or_say(form)? else { return Ok(None) };
        render::err(&render::digest(&file.source, &loaded.warnings, render::wants_colour()));
        let wanted = wanted(&loaded.plan);
        if wanted.is_empty() {
            render::err(&format!("note: {} has no [egress.BUS], so there is nothing to do\n", file.source.name()));
        }
        Ok(Some(Self { file, wanted }))
    }

    fn name(&self) -> &str {
        self.file.source.name()
    }
}

/// What a plan wants of which interface: its own trees, and what marks frames on the buses they come from.
pub(super) fn wanted(plan: &Plan) -> Vec<Wanted> {
    let trees = compile::trees(plan.egress()).into_iter();
    let wanted = trees.map(|(index, tree)| {
        let bus = plan.bus(index);
        let egress = plan.egress().iter().find(|egress| egress.bus == index);
        let names = match egress.map(|egress| &egress.wish) {
            Some(Wish::Bands(policy)) => {
                compile::band_places(policy).map(|(place, name)| (place, name.to_owned())).collect()
            }
            Some(Wish::Tree(_)) | None => BTreeMap::new(),
        };
        let restarts = bus.restart_after.is_some();
        Wanted { bus: bus.name.clone(), interface: bus.interface.clone(), tree, restarts, names }
    });
    wanted.collect()
}

/// An interface that a file names and the machine has not.
#[derive(Debug)]
struct NoInterface {
    interface: String,
    bus: Option<String>,
}

impl fmt::Display for NoInterface {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { interface, bus } = self;
        let bus = bus.as_ref().map_or_else(String::new, |bus| format!(" (bus {bus})"));
        write!(f, "There is no interface {interface}{bus}; ip -br link shows those that there are")
    }
}

impl std::error::Error for NoInterface {}

/// What a kernel that cannot be looked at says.
#[derive(Debug, thiserror::Error)]
#[error("Cannot look at {interface}")]
struct LookError {
    interface: String,
    source: TcError,
}

/// An interface of this machine.
pub(super) fn open(interface: &str, bus: Option<&str>) -> Result<Interface, Box<dyn std::error::Error>> {
    let opened = Interface::open(interface).map_err(|source| LookError { interface: interface.to_owned(), source })?;
    let missing = || NoInterface { interface: interface.to_owned(), bus: bus.map(str::to_owned) };
    Ok(opened.ok_or_else(missing)?)
}

/// Each interface with what it shall have, opened.
pub(super) fn targets(wanted: &[Wanted]) -> Result<Vec<Target<Interface>>, Box<dyn std::error::Error>> {
    let target = |wanted: &Wanted| {
        let kernel = open(&wanted.interface, Some(&wanted.bus))?;
        Ok(Target { name: wanted.interface.clone(), kernel, wanted: wanted.tree.clone() })
    };
    wanted.iter().map(target).collect()
}
