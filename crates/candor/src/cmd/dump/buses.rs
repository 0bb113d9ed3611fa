//! The buses of the arguments, with their databases and sockets.

use std::error::Error;
use std::path::PathBuf;
use std::sync::Arc;

use candor_cli::gateway_file::{self, Form, GatewayFile, MAX_DATABASE_BYTES};
use candor_cli::render;
use candor_config::plan::{BusIndex, Plan};
use candor_engine::Running;
use candor_io::can;
use candor_netlink::client::Client;
use candor_netlink::link::{self, Link};

use super::Bus;
use super::wanted::Wanted;
use crate::cli::{BusesArgs, Through};
use crate::cmd::listening::{Port, check_number};
use crate::cmd::{egress, init};

/// Stands for all CAN interfaces.
const ANY: &str = "any";

/// `None`, after printing the findings, if the gateway file is not valid.
pub(in crate::cmd) fn open(
    args: &BusesArgs,
    decode: bool,
    form: Form,
    through: Option<Through>,
) -> Result<Option<Vec<Port<Bus>>>, Box<dyn Error>> {
    let file = config(args, decode)?.map(|path| GatewayFile::read(&path)).transpose()?;
    let mut plan = None;
    if let Some(file) = &file {
        let Some(loaded) = file.gateway_or_say(form)? else { return Ok(None) };
        plan = Some(&loaded.plan);
    }
    let mut given = Vec::new();
    for path in &args.database {
        let (name, bytes) = gateway_file::read_bytes(path, MAX_DATABASE_BYTES)?;
        let database = candor_signals::read(&bytes);
        if bytes.len() > MAX_DATABASE_BYTES || database.messages.is_empty() {
            let why = database.refusal().map_or_else(String::new, |one| format!(": line {}: {}", one.line, one.kind));
            return Err(format!("{name} has no message{why}; candor reads DBC and KCD files of up to 32 MiB").into());
        }
        given.push(Arc::new(database));
    }
    let links = link::list(&mut Client::open()?)?;
    let mut buses_of_links: Vec<(Bus, &Link)> = Vec::new();
    for mut bus in buses(args, plan, &links) {
        let link = init::named(&links, &bus.interface)?;
        if buses_of_links.iter().all(|(other, _)| other.interface != bus.interface) {
            bus.databases.extend_from_slice(&given);
            buses_of_links.push((bus, link));
        }
    }
    if buses_of_links.is_empty() {
        let note = egress::no_interface(&can::support());
        return Err(note.trim_start_matches("note: ").trim_end().into());
    }
    // Rings take memory.
    check_number(buses_of_links.len())?;
    let ports = buses_of_links.into_iter().map(|(bus, link)| Port::open(bus, link, through));
    let mut ports: Vec<Port<Bus>> = ports.collect::<Result<_, _>>()?;
    if decode && ports.iter().all(|port| port.bus.databases.is_empty()) {
        return Err(
            "--decode needs a database: name one with --database, or with [database] in the gateway file".into()
        );
    }
    for text in &args.filter {
        select(text, &mut ports)?;
    }
    Ok(Some(ports))
}

/// Adds an entry of `--match` to each bus. It must be possible for one of them, because their databases differ.
fn select(text: &str, ports: &mut [Port<Bus>]) -> Result<(), String> {
    let (mut is_possible, mut reason) = (false, String::new());
    for Port { bus, .. } in ports {
        match Wanted::parse(text, &bus.databases) {
            Ok(one) => {
                is_possible = true;
                bus.wanted.push(one);
            }
            Err(why) => reason = why,
        }
    }
    if is_possible { Ok(()) } else { Err(format!("--match {text:?}: {reason}")) }
}

/// The gateway file: that of the only running gateway if signals are wanted and no file is named.
fn config(args: &BusesArgs, decode: bool) -> Result<Option<PathBuf>, String> {
    if args.config.is_some() || !decode || !args.database.is_empty() {
        return Ok(args.config.clone());
    }
    let running = Running::list().unwrap_or_default();
    match running.as_slice() {
        [Running { file: Some(file), pid, .. }] => {
            render::err(&format!("databases of {file}, process {pid}\n"));
            Ok(Some(file.into()))
        }
        _ => Err("--decode needs a database: --database FILE, or --config FILE of a gateway".to_owned()),
    }
}

/// The buses that the arguments name. Of a gateway file, a name is that of a bus or of its interface.
fn buses(args: &BusesArgs, plan: Option<&Plan>, links: &[Link]) -> Vec<Bus> {
    let of_file = plan.map_or(&[][..], Plan::buses);
    let mut names: Vec<&str> = args.bus.iter().map(String::as_str).collect();
    if names.is_empty() {
        names.extend(of_file.iter().map(|bus| bus.name.as_str()));
    }
    if names.is_empty() || names.contains(&ANY) {
        names = links.iter().filter(|link| link.can.is_some()).map(|link| link.name.as_str()).collect();
    }
    let find = |name: &str| {
        let by_name = of_file.iter().position(|bus| bus.name == name);
        by_name.or_else(|| of_file.iter().position(|bus| bus.interface == name))
    };
    let bus = |name: &str| {
        let mut bus = Bus { name: name.to_owned(), interface: name.to_owned(), ..Bus::default() };
        if let (Some(plan), Some(at)) = (plan, find(name)) {
            bus.name.clone_from(&of_file[at].name);
            bus.interface.clone_from(&of_file[at].interface);
            bus.databases.extend_from_slice(plan.databases(BusIndex(at)));
        }
        bus
    };
    names.into_iter().map(bus).collect()
}
