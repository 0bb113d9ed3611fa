//! `candor-link run`: one link of a gateway file.

use std::path::Path;

use candor_cli::gateway_file::{Form, GatewayFile};
use candor_cli::{Exit, Outcome, key_file};
use clap::Parser;

use crate::bus::Bus;
use crate::cli::{LinkArgs, RunArgs};
use crate::link::{self, LinkError};

/// A link as in the commands of `candor run`.
#[derive(Debug, Parser)]
#[command(no_binary_name = true)]
pub(crate) struct Arguments {
    #[command(flatten)]
    pub(crate) link: LinkArgs,
}

pub(crate) fn run(args: &RunArgs) -> Outcome {
    let file = GatewayFile::read(&args.file)?;
    let Some(loaded) = file.gateway_and_warnings(Form::Text)? else { return Ok(Exit::No) };
    let plan = &loaded.plan;
    let found = plan.links().iter().find(|link| plan.bus(link.bus).name == args.link);
    let Some(found) = found else {
        let names: Vec<_> = plan.links().iter().map(|link| plan.bus(link.bus).name.as_str()).collect();
        return Err(format!("the file has no link {:?}; its links: {}", args.link, names.join(", ")).into());
    };
    let Arguments { link } = Arguments::try_parse_from(found.arguments(plan))?;
    let folder = args.file.parent().unwrap_or_else(|| Path::new(""));
    let pem = found.tls.as_ref().map(|tls| key_file::pem(folder, tls)).transpose()?;
    let bus = match &link.interface {
        Some(interface) if !args.stdio => Bus::can(interface).map_err(LinkError::from)?,
        _ => Bus::lines()?,
    };
    link::foreground(&link, pem.as_ref(), bus, &args.link, args.json)
}
