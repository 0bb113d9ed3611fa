//! `candor doctor`: checks that this machine can run a gateway, and on time.
//!
//! Each check is a pure function of the kernel's files ([`Machine`]), the interfaces (netlink), the probed abilities and the
//! needs of the file, so tests can simulate any machine.

mod check;
mod deadlines;
mod egress;
mod interface;
mod kernel;
mod needs;
mod privileges;
mod processors;
mod report;
#[cfg(test)]
mod test_machines;

use std::fs::OpenOptions;

use candor_cli::gateway_file::{Form, GatewayFile};
use candor_cli::{Exit, Outcome, render};
use candor_config::engine::UserEngine;
use candor_config::plan::Plan;
use candor_egress::netlink::{self, ListedQdisc, QueueError};
use candor_engine::UserAbilities;
use candor_io::can::{self, InterfaceIndex};
use candor_io::dma_latency::CPU_DMA_LATENCY;
use candor_io::machine::Machine;
use candor_netlink::cangw::{self, CangwError};
use candor_netlink::client::Client;
use candor_netlink::link;

use crate::cli::{DoctorArgs, DoctorCommand};
use crate::netns;
use check::{Section, Verdict};
use interface::Network;
use kernel::{Cangw, Probed};
use needs::{Needs, Wanted};
use privileges::Awake;
#[cfg(test)]
pub(super) use report::View;

pub(crate) fn run(args: &DoctorArgs) -> Outcome {
    if let Some(DoctorCommand::Egress(args)) = &args.about {
        return egress::run(args);
    }
    netns::enter(&args.kernel.netns)?;
    let file = args.file.as_deref().map(GatewayFile::read).transpose()?;
    let needs = match &file {
        None => Needs::unknown(),
        Some(file) => match file.gateway_or_say(Form::once(args.kernel.json))? {
            Some(loaded) => Needs::of(&loaded.plan),
            None => return Ok(Exit::No),
        },
    };
    let sections = examine(&Machine::here(), &Found::here(&needs)?, &needs);
    let name = file.as_ref().map(|file| file.source.name());
    let text =
        if args.kernel.json { render::object(&report::json(name, &sections)) } else { report::text(name, &sections) };
    let exit = if report::worst(&sections) == Verdict::Missing { Exit::No } else { Exit::Fine };
    render::answer(&text, exit)
}

/// Missing prerequisites of the gateway on this machine, with the commands that fix them. Empty if there are none.
pub(super) fn remedies(plan: &Plan) -> Result<String, Box<dyn std::error::Error>> {
    let needs = Needs::of(plan);
    let mut sections = examine(&Machine::here(), &Found::here(&needs)?, &needs);
    for section in &mut sections {
        section.checks.retain(|check| check.verdict == Verdict::Missing);
    }
    sections.retain(|section| !section.checks.is_empty());
    Ok(report::table(&sections))
}

/// Findings that are not in the kernel's files.
struct Found {
    probed: Probed,
    network: Network,
    awake: Awake,
}

impl Found {
    fn here(needs: &Needs) -> Result<Self, Box<dyn std::error::Error>> {
        let mut client = Client::open()?;
        Ok(Self { probed: probe(&mut client)?, network: network(&mut client)?, awake: try_awake(needs) })
    }
}

fn examine(machine: &Machine, found: &Found, needs: &Needs) -> Vec<Section> {
    let section = |title: &str, checks| Section { title: title.to_owned(), checks };
    let mut sections = vec![
        section("kernel", kernel::checks(machine, &found.probed, needs)),
        section("this process", privileges::checks(machine, found.awake, needs)),
        section("CPUs", processors::checks(machine, needs)),
    ];
    let threads = interface::interrupt_threads(machine);
    let network = &found.network;
    match &needs.interfaces {
        Some(interfaces) => sections.extend(interfaces.iter().map(|wanted: &Wanted| {
            let title = format!("{} (bus {})", wanted.bus.interface, wanted.bus.name);
            section(&title, interface::of_file(machine, network, &threads, needs, wanted))
        })),
        None => {
            let links = network.links.iter().filter(|link| link.can.is_some());
            sections
                .extend(links.map(|link| {
                    section(&link.name, interface::of_link(machine, network, &threads, needs, link, None))
                }));
        }
    }
    sections
}

fn probe(client: &mut Client) -> Result<Probed, Box<dyn std::error::Error>> {
    let abilities = UserAbilities::find()?;
    let engines = UserEngine::all().map(|engine| (engine, abilities.lack(engine))).collect();
    // The kernel checks for can-gw and for privileges before it looks for the interface.
    let any = InterfaceIndex::new(1).ok_or("interface indexes start at 1")?;
    let cangw = match cangw::probe(client, any) {
        Ok(()) => Cangw::Ready,
        Err(CangwError::ModuleMissing) => Cangw::Missing,
        Err(CangwError::NotPermitted) => Cangw::NotPermitted,
        Err(other) => return Err(other.into()),
    };
    let no_queues = match netlink::arbitration::layout() {
        Err(QueueError::Unsupported(why)) => Some(why),
        _ => None,
    };
    Ok(Probed { can: can::support()?, cangw, no_programs: candor_engine::no_programs()?, no_queues, engines })
}

fn network(client: &mut Client) -> Result<Network, Box<dyn std::error::Error>> {
    let roots = netlink::qdiscs(client)?.into_iter().filter(ListedQdisc::is_root);
    let roots = roots.map(|root| (root.interface.number(), root.qdisc.discipline.kind().to_owned())).collect();
    Ok(Network { links: link::list(client)?, roots })
}

/// Opens the file without requesting a latency.
fn try_awake(needs: &Needs) -> Awake {
    match needs.realtime.cpu_dma_latency {
        Some(_) => OpenOptions::new().write(true).open(CPU_DMA_LATENCY).map(drop).map_err(|error| error.kind()),
        None => Ok(()),
    }
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;

    use super::*;

    #[test]
    fn docs_list_every_check_and_its_source() {
        const DOCS: &str = include_str!("../../../../docs/realtime.md");
        let rows: BTreeSet<_> = DOCS
            .lines()
            .filter_map(|line| line.strip_prefix("| `")?.split_once("` |"))
            .map(|(name, rest)| (name, rest.rsplit(" | ").next().unwrap_or_default().trim_end_matches(" |").trim()))
            .collect();
        for topic in check::ALL {
            assert!(
                rows.contains(&(topic.name, topic.source)),
                "docs/realtime.md has no row | `{}` | … | {} |",
                topic.name,
                topic.source
            );
        }
    }
}
