//! The buses of the arguments, with their databases.

use std::error::Error;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use candor_cli::gateway_file::{self, Form, GatewayFile, MAX_DATABASE_BYTES};
use candor_cli::render;
use candor_config::plan::{BusIndex, Plan};
use candor_engine::Running;
use candor_io::can::{self, InterfaceIndex};
use candor_io::poll::MAX_WATCHED;
use candor_netlink::client::Client;
use candor_netlink::link::{self, Link};
use candor_signals::{Database, dbc};

use super::decode::Bus;
use super::wanted::Wanted;
use crate::cli::DumpArgs;
use crate::cmd::{egress, init};

/// Stands for all CAN interfaces.
const ANY: &str = "any";

/// `None`, after printing the findings, if the gateway file is not valid.
pub(super) fn find(args: &DumpArgs) -> Result<Option<Vec<(Bus, InterfaceIndex)>>, Box<dyn Error>> {
    let file = config(args)?.map(|path| GatewayFile::read(&path)).transpose()?;
    let plan = match &file {
        None => None,
        Some(file) => match file.gateway_or_say(Form::running(args.json))? {
            None => return Ok(None),
            Some(loaded) => Some(&loaded.plan),
        },
    };
    let given = args.database.iter().map(|path| database(path)).collect::<Result<Vec<_>, _>>()?;
    let links = link::list(&mut Client::open()?)?;
    let mut names: Vec<&str> = Vec::new();
    for name in &args.bus {
        if name == ANY { names.extend(all(&links)) } else { names.push(name) }
    }
    if args.bus.is_empty() {
        match plan {
            Some(plan) => names.extend(plan.buses().iter().map(|bus| bus.name.as_str())),
            None => names.extend(all(&links)),
        }
    }
    if names.is_empty() {
        let note = egress::no_interface(&can::support());
        return Err(note.trim_start_matches("note: ").trim_end().into());
    }
    let mut found: Vec<(Bus, InterfaceIndex)> = Vec::new();
    for name in names {
        let mut bus = in_file(plan, name);
        bus.databases.extend(given.iter().cloned());
        let link = init::named(&links, &bus.interface)?;
        if found.iter().all(|(_, index)| *index != link.index) {
            found.push((bus, link.index));
        }
    }
    // One is for signals.
    if found.len() >= MAX_WATCHED {
        return Err(format!("at most {} interfaces are possible", MAX_WATCHED - 1).into());
    }
    if args.decode && found.iter().all(|(bus, _)| bus.databases.is_empty()) {
        return Err(
            "--decode needs a database: name one with --database, or with [database] in the gateway file".into()
        );
    }
    Ok(Some(found))
}

/// What each bus prints, by bus. An entry must be possible for one of them, because their databases differ.
pub(super) fn wanted(entries: &[String], buses: &[Bus]) -> Result<Vec<Vec<Wanted>>, String> {
    let mut wanted = vec![Vec::new(); buses.len()];
    for entry in entries {
        let (mut is_possible, mut reason) = (false, String::new());
        for (bus, wanted) in buses.iter().zip(&mut wanted) {
            match Wanted::parse(entry, &bus.databases) {
                Ok(one) => {
                    is_possible = true;
                    wanted.push(one);
                }
                Err(why) => reason = why,
            }
        }
        if !is_possible {
            return Err(format!("--match {entry:?}: {reason}"));
        }
    }
    Ok(wanted)
}

/// The gateway file: that of the only running gateway if signals are wanted and no file is named.
fn config(args: &DumpArgs) -> Result<Option<PathBuf>, String> {
    if args.config.is_some() || !args.decode || !args.database.is_empty() {
        return Ok(args.config.clone());
    }
    let running = Running::list().unwrap_or_default();
    match running.as_slice() {
        [Running { file: Some(file), pid, .. }] => {
            render::err(&format!("databases of {file}, process {pid}\n"));
            Ok(Some(file.into()))
        }
        _ => Err("--decode needs a database: candor dump --database FILE, or --config FILE of a gateway".to_owned()),
    }
}

fn database(path: &Path) -> Result<Arc<Database>, Box<dyn Error>> {
    let (name, bytes) = gateway_file::read_bytes(path, MAX_DATABASE_BYTES)?;
    if bytes.len() > MAX_DATABASE_BYTES {
        return Err(format!("{name} has more than {} MiB", MAX_DATABASE_BYTES >> 20).into());
    }
    let database = dbc::read(&bytes);
    if database.messages.is_empty() {
        return Err(format!("{name} has no message; candor reads DBC files").into());
    }
    Ok(Arc::new(database))
}

fn all(links: &[Link]) -> impl Iterator<Item = &str> {
    links.iter().filter(|link| link.can.is_some()).map(|link| link.name.as_str())
}

/// The bus with this name in the gateway file, otherwise the one with this interface, otherwise the interface alone.
fn in_file(plan: Option<&Plan>, name: &str) -> Bus {
    let found = plan.and_then(|plan| {
        let buses = plan.buses();
        let by_name = buses.iter().position(|bus| bus.name == name);
        let at = by_name.or_else(|| buses.iter().position(|bus| bus.interface == name))?;
        let bus = &buses[at];
        let databases = plan.databases(BusIndex(at)).to_vec();
        Some(Bus { name: bus.name.clone(), interface: bus.interface.clone(), databases })
    });
    found.unwrap_or_else(|| Bus { name: name.to_owned(), interface: name.to_owned(), databases: Vec::new() })
}
