//! The command line. `candor run` writes the same arguments into its commands.

use std::net::SocketAddr;
use std::path::PathBuf;
use std::time::Duration;

use candor_cli::generate::GenerateCommand;
use candor_core::filter::Filter;
use candor_core::units::{parse_duration, parse_duration_or_zero};
use candor_link::session::{Flush, Options, QueueOptions, Role, WhenFull};
use clap::{ArgGroup, Args, Parser, Subcommand, ValueEnum};

/// Carries a CAN bus over a network: cannelloni, socketcand, or candor's own protocol with TLS.
#[derive(Debug, Parser)]
#[command(name = "candor-link", version, propagate_version = true, arg_required_else_help = true)]
pub(crate) struct Cli {
    #[command(subcommand)]
    pub(crate) command: Command,
}

#[derive(Debug, Subcommand)]
#[expect(clippy::large_enum_variant, reason = "there is one")]
pub(crate) enum Command {
    Open(OpenArgs),
    Run(RunArgs),
    #[command(subcommand)]
    Generate(GenerateCommand),
    /// Runs the links that `candor run` asks for on standard input.
    #[command(hide = true)]
    Serve,
    /// As `serve`, without starting again after a crash.
    #[command(hide = true)]
    Work,
}

/// Open a link until it is interrupted.
#[derive(Clone, Debug, Args)]
pub(crate) struct OpenArgs {
    /// Print frames of the peer and send those of standard input, one a line such as 123#1122, instead of a CAN interface.
    #[arg(long)]
    pub(crate) stdio: bool,
    /// Print the state once a second as a JSON object in a line to standard error.
    #[arg(long)]
    pub(crate) json: bool,
    #[command(flatten)]
    pub(crate) link: LinkArgs,
}

/// Open one link of a gateway file until it is interrupted.
#[derive(Debug, Args)]
pub(crate) struct RunArgs {
    /// Gateway file.
    pub(crate) file: PathBuf,
    /// Name of the link.
    pub(crate) link: String,
    /// As of `candor-link open`.
    #[arg(long)]
    pub(crate) stdio: bool,
    /// As of `candor-link open`.
    #[arg(long)]
    pub(crate) json: bool,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub(crate) enum ProtocolName {
    Candor,
    CannelloniTcp,
    CannelloniUdp,
    Socketcand,
}

#[derive(Clone, Copy, Debug, ValueEnum)]
pub(crate) enum WhenFullName {
    DropNewest,
    DropOldest,
}

/// A link: what `[link.NAME]` says, in arguments.
#[derive(Clone, Debug, Args)]
#[command(group = ArgGroup::new("side").args(["connect", "listen"]).multiple(true).required(true))]
pub(crate) struct LinkArgs {
    /// Protocol of the peer.
    #[arg(long, value_enum)]
    pub(crate) protocol: ProtocolName,
    /// Connect to this address; again whenever the connection is lost.
    #[arg(long, value_name = "HOST:PORT")]
    pub(crate) connect: Option<String>,
    /// Accept one peer at this address; with cannelloni-udp, receive there.
    #[arg(long, value_name = "ADDRESS:PORT")]
    pub(crate) listen: Option<SocketAddr>,
    /// CAN interface.
    #[arg(long)]
    pub(crate) interface: Option<String>,
    /// Name of the bus for the peer.
    #[arg(long, default_value = "can0")]
    pub(crate) bus: String,
    /// Frames that wait for the network at most.
    #[arg(long, default_value_t = 1000, value_name = "FRAMES")]
    pub(crate) queue: usize,
    /// Which frame is dropped if the queue is full.
    #[arg(long, value_enum, default_value_t = WhenFullName::DropOldest)]
    pub(crate) when_full: WhenFullName,
    /// Drop frames that have waited longer.
    #[arg(long, value_name = "TIME", value_parser = parse_duration)]
    pub(crate) max_age: Option<Duration>,
    /// Collect frames for this long.
    #[arg(long, value_name = "TIME", value_parser = parse_duration_or_zero, default_value = "2ms")]
    pub(crate) flush: Duration,
    /// Send something at least this often.
    #[arg(long, value_name = "TIME", value_parser = parse_duration, default_value = "1s")]
    pub(crate) keep_alive: Duration,
    /// Give a connection up after this time of silence.
    #[arg(long, value_name = "TIME", value_parser = parse_duration, default_value = "5s")]
    pub(crate) time_out: Duration,
    /// Filters of frames that go first; once for each band, highest priority first. A last band has the rest.
    #[arg(long, value_name = "FILTER,…", value_parser = filters)]
    pub(crate) band: Vec<Filters>,
    /// TLS: certificates of the authorities of the peer, in PEM.
    #[arg(long, value_name = "FILE", requires_all = ["cert", "key"])]
    pub(crate) ca: Option<PathBuf>,
    /// TLS: own certificate, in PEM.
    #[arg(long, value_name = "FILE", requires = "ca")]
    pub(crate) cert: Option<PathBuf>,
    /// TLS: own private key, in PEM.
    #[arg(long, value_name = "FILE", requires = "ca")]
    pub(crate) key: Option<PathBuf>,
    /// TLS: name in the peer's certificate; without it, the host of --connect.
    #[arg(long, value_name = "NAME")]
    pub(crate) peer_name: Option<String>,
    /// Remember where received frames come from, for links with --from and the name of this one.
    #[arg(long, hide = true)]
    pub(crate) onward: bool,
    /// Links of this gateway from which a route leads to this one.
    #[arg(long, value_name = "LINK", hide = true)]
    pub(crate) from: Vec<String>,
    /// Announce the socketcand server by UDP broadcasts.
    #[arg(long)]
    pub(crate) beacon: bool,
}

/// Filters of one band.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Filters(pub(crate) Vec<Filter>);

fn filters(text: &str) -> Result<Filters, String> {
    let all = text.split(',').map(|one| Filter::parse(one).map_err(|why| format!("{one}: {why}")));
    all.collect::<Result<_, _>>().map(Filters)
}

impl LinkArgs {
    /// Options of the session; the numbers of this gateway are still to be chosen.
    pub(crate) fn options(&self) -> Options {
        // With UDP there is always an address to send to.
        let role = if self.connect.is_some() { Role::Connects } else { Role::Listens };
        let when_full = match self.when_full {
            WhenFullName::DropNewest => WhenFull::DropNewest,
            WhenFullName::DropOldest => WhenFull::DropOldest,
        };
        let common = Options::new(role, &[&self.bus]);
        let bands = u8::try_from(self.band.len() + 1).unwrap_or(u8::MAX);
        Options {
            queue: QueueOptions { frames: self.queue, bands, when_full, max_age: self.max_age },
            flush: Flush { delay: self.flush, ..common.flush },
            keep_alive: Some(self.keep_alive),
            time_out: self.time_out,
            ..common
        }
    }
}

#[cfg(test)]
mod tests {
    use clap::CommandFactory as _;

    use super::*;

    #[test]
    fn the_command_line_is_consistent() {
        Cli::command().debug_assert();
    }
}
