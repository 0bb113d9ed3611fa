//! `candor-link`: carries a bus over a network. `candor run` starts it for the `[link.NAME]` of its file, without privileges.
//!
//! ```text
//!  candor run ──commands──▶ serve ──▶ work, again after a crash ──▶ one thread for each link:
//!      ▲                                                             bus ◀─▶ Session (candor-link) ◀─▶ socket, TLS
//!      └──────────────────────────────reports──────────────────────────┘
//! ```
//!
//! The thread of a link never waits for the peer while frames of the bus wait: the session has a bounded queue.
#![forbid(unsafe_code)]

mod bands;
mod beacon;
mod bus;
mod cli;
mod file;
mod link;
mod network;
mod onward;
mod progress;
mod reports;
mod serve;
mod tls;

use std::process::ExitCode;

use clap::{CommandFactory as _, Parser as _};

use cli::{Cli, Command};

fn main() -> ExitCode {
    let result = match Cli::parse().command {
        Command::Open(args) => link::open(&args),
        Command::Run(args) => file::run(&args),
        Command::Generate(command) => candor_cli::generate::run(&command, "candor-link", &Cli::command()),
        Command::Serve => serve::serve(),
        Command::Work => serve::work(),
    };
    candor_cli::finish("candor-link", result)
}
