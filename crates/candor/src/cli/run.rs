//! Arguments of the commands that start, reload and watch a gateway.

use std::fmt;
use std::net::SocketAddr;
use std::path::PathBuf;
use std::str::FromStr;
use std::time::Duration;

use candor_config::engine::Engine;
use candor_core::units::parse_duration;
use clap::{Args, ValueEnum};
use nix::errno::Errno;
use nix::unistd::{Gid, Group, Uid, User};

use super::{KernelArgs, NetnsArgs, VerboseArgs, VerifyArgs, engines};

/// Run the gateway of a file until SIGINT or SIGTERM.
///
/// Prints each job or rule it installs, and the counters of every route at the end. Removes everything it installed.
///
/// SIGHUP, or candor reload, reads the file again and switches to the new routes between two frames; a file that is not
/// valid changes nothing. The gateway also ends if its terminal is closed.
///
/// Exit status: 0 it ran until the signal, 1 the file is not valid, 2 it could not run.
#[derive(Args, Debug)]
#[command(after_help = "\
Examples:
  sudo candor run car.toml
  sudo candor run car.toml --stats 1s                  counters every second
  sudo candor run car.toml --latency --metrics 127.0.0.1:9316
  sudo candor run car.toml --user candor --seccomp     least privileges
  candor run car.toml --engine read-write              CAN_RAW sockets only")]
pub(crate) struct RunArgs {
    /// Gateway file; - reads standard input.
    pub(crate) file: PathBuf,
    /// Print the counters at this interval, for example 1s or 500ms.
    #[arg(long, value_name = "INTERVAL", value_parser = parse_duration)]
    pub(crate) stats: Option<Duration>,
    /// Serve metrics in OpenMetrics text over HTTP: unix:/PATH, or a loopback address such as 127.0.0.1:9316.
    #[arg(long, value_name = "ADDRESS")]
    pub(crate) metrics: Option<Address>,
    /// Measure the latency of each frame, for --metrics and candor top. Routes in user space and in eBPF programs; costs one or
    /// two clock readings per frame.
    #[arg(long)]
    pub(crate) latency: bool,
    /// Use this engine instead of the one in the file; candor engines lists them.
    #[arg(long, value_parser = engines(), hide_possible_values = true)]
    pub(crate) engine: Option<Engine>,
    /// Switch to this user and group, by name or number, and keep only the capabilities that the file needs. Requires root.
    #[arg(long, value_name = "USER[:GROUP]")]
    pub(crate) user: Option<Identity>,
    /// Block system calls that a gateway does not need: starting programs, namespaces, tracing, modules.
    #[arg(long)]
    pub(crate) seccomp: bool,
    #[command(flatten)]
    pub(crate) verify: VerifyArgs,
    #[command(flatten)]
    pub(crate) verbose: VerboseArgs,
    #[command(flatten)]
    pub(crate) netns: NetnsArgs,
    /// Write structured logs instead of interactive output.
    #[arg(long, value_name = "FORM", conflicts_with = "json")]
    pub(crate) log: Option<LogForm>,
    /// Print one JSON object per line instead of text.
    #[arg(long)]
    pub(crate) json: bool,
}

/// Make a running gateway read its file again, and report the result.
///
/// The gateway switches to the new routes between two frames. In user space no frame is lost or duplicated, or processed by a
/// mix of both files, and routes that keep their names keep their counters. In the kernel, unchanged jobs are not touched;
/// changed ones are deleted and added again, so a frame that arrives in between is not forwarded. A file that is not valid, or
/// that changes a fixed setting such as the engine, changes nothing.
///
/// Exit status: 0 the gateway runs the new file, 1 the file was rejected and the old one keeps running, 2 no gateway was
/// reached.
#[derive(Args, Debug)]
#[command(after_help = "\
Examples:
  candor check car.toml && sudo candor reload    the running gateway
  sudo candor reload car.toml                    the gateway of this file, if several are running")]
pub(crate) struct ReloadArgs {
    /// File of the gateway; required only if several are running.
    pub(crate) file: Option<PathBuf>,
    #[command(flatten)]
    pub(crate) kernel: KernelArgs,
}

/// Enter or leave a mode of a running gateway, or show which one lasts.
///
/// In a mode, the gateway also has the routes with `mode = "NAME"`. The mode is announced by frames, and left after the time in
/// the file. Entering the current mode begins its time again; entering another one leaves the current one. A reload keeps the
/// mode and its time. Without NAME, shows the mode and the time that is left, and changes nothing.
///
/// Exit status: 0 the mode was entered, left or shown, 1 it was refused and nothing has changed, 2 no gateway was reached.
#[derive(Args, Debug)]
#[command(after_help = "\
Examples:
  sudo candor mode car.toml service    enter the mode
  sudo candor mode car.toml --leave    leave it before its time is over
  sudo candor mode car.toml            show it")]
pub(crate) struct ModeArgs {
    /// File of the gateway.
    pub(crate) file: PathBuf,
    /// Name of the mode to enter.
    pub(crate) name: Option<String>,
    /// Leave the current mode.
    #[arg(long, conflicts_with = "name")]
    pub(crate) leave: bool,
    #[command(flatten)]
    pub(crate) kernel: KernelArgs,
}

/// Watch a running gateway: bus load, rates, drops, latencies and signals.
///
/// Finds the running gateway, in the kernel or in user space; a name is required only if several are running. Sampling does
/// not slow down forwarding. When the gateway ends, waits for it to restart. Latencies require candor run --latency. The last
/// line of the screen lists the keys.
///
/// Exit status: 0 the user quit or the table was printed, 2 no gateway (with --once) or no terminal.
#[derive(Args, Debug)]
#[command(after_help = "\
Examples:
  sudo candor top                          the running gateway
  sudo candor top car                      the gateway of car.toml
  candor top --metrics 127.0.0.1:9316      a gateway started with --metrics
  sudo candor top --once --interval 5s     one table, with rates over 5 s
  sudo candor top --signals                values of the signals of composed frames
  sudo candor top --json | jq '.buses[] | {bus, load_most}'
  sudo candor top --json | jq '.signals[] | {signal, value, unit}'")]
pub(crate) struct TopArgs {
    /// Gateway: its file, the name of the file without .toml, or its PID.
    #[arg(conflicts_with = "metrics")]
    pub(crate) name: Option<String>,
    /// Read the metrics served at this address: unix:/PATH, or a loopback address such as 127.0.0.1:9316.
    #[arg(long, value_name = "ADDRESS")]
    pub(crate) metrics: Option<Address>,
    /// Sampling interval, at least 100ms.
    #[arg(long, value_name = "INTERVAL", value_parser = interval, default_value = "1s")]
    pub(crate) interval: Duration,
    /// Print one table, from two samples an interval apart.
    #[arg(long)]
    pub(crate) once: bool,
    /// Show the composed frames and their signals in place of buses and routes; the key v does this, too.
    #[arg(long)]
    pub(crate) signals: bool,
    #[command(flatten)]
    pub(crate) kernel: KernelArgs,
}

/// A shorter interval makes rates of slow routes jump between 0 and large values.
const SHORTEST: Duration = Duration::from_millis(100);

fn interval(text: &str) -> Result<Duration, String> {
    let interval = parse_duration(text).map_err(|error| error.to_string())?;
    if interval < SHORTEST { Err("at least 100ms".into()) } else { Ok(interval) }
}

/// Output format of the log.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub(crate) enum LogForm {
    /// A line of text on standard error, with time and level.
    Human,
    /// One JSON object per line on standard error.
    Json,
    /// The systemd journal, with fields (CANDOR_EVENT, CANDOR_ROUTE …).
    Journald,
}

/// A Unix socket or a loopback address.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Address {
    Unix(PathBuf),
    Tcp(SocketAddr),
}

impl FromStr for Address {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        if let Some(path) = text.strip_prefix("unix:") {
            let path = PathBuf::from(path);
            // The working directory of a service is not known to clients.
            return if path.is_absolute() { Ok(Self::Unix(path)) } else { Err("the path must begin with /".into()) };
        }
        let wanted = "write unix:/PATH, or a loopback address with a port, such as 127.0.0.1:9316 or [::1]:9316";
        let address: SocketAddr = text.parse().map_err(|_not_an_address| wanted.to_owned())?;
        if !address.ip().is_loopback() {
            return Err(format!(
                "not a loopback address: candor serves metrics without encryption or authentication; {wanted}, and use a reverse \
                 proxy for remote access"
            ));
        }
        Ok(Self::Tcp(address))
    }
}

impl fmt::Display for Address {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Unix(path) => write!(f, "unix:{}", path.display()),
            Self::Tcp(address) => address.fmt(f),
        }
    }
}

/// User and group ids.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Identity {
    pub(crate) user: Uid,
    pub(crate) group: Gid,
}

impl FromStr for Identity {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        let (user, group) = text.split_once(':').map_or((text, None), |(user, group)| (user, Some(group)));
        let (user, group_of_user) = match user.parse() {
            Ok(number) => {
                let uid = Uid::from_raw(number);
                (uid, look_up(User::from_uid(uid))?.map(|user| user.gid))
            }
            Err(_not_a_number) => {
                let known = look_up(User::from_name(user))?.ok_or_else(|| format!("user {user:?} not found"))?;
                (known.uid, Some(known.gid))
            }
        };
        let group = match (group.map(|group| (group, group.parse())), group_of_user) {
            (Some((_, Ok(number))), _) => Gid::from_raw(number),
            (Some((name, Err(_not_a_number))), _) => {
                look_up(Group::from_name(name))?.ok_or_else(|| format!("group {name:?} not found"))?.gid
            }
            (None, Some(group)) => group,
            (None, None) => {
                return Err(format!("user {user} has no name, so give the group as well, as in {user}:{user}"));
            }
        };
        Ok(Self { user, group })
    }
}

fn look_up<T>(found: Result<Option<T>, Errno>) -> Result<Option<T>, String> {
    match found {
        // No /etc/passwd.
        Err(Errno::ENOENT) => Ok(None),
        found => found.map_err(|errno| format!("cannot look up users: {}", errno.desc())),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_loopback_addresses_are_accepted() {
        for text in ["unix:/run/candor-metrics/car.sock", "127.0.0.1:9316", "[::1]:9316"] {
            assert_eq!(text.parse::<Address>().unwrap().to_string(), text);
        }
        for (text, says) in [
            ("0.0.0.0:9316", "not a loopback address"),
            ("192.168.1.1:9316", "not a loopback address"),
            ("[::]:9316", "not a loopback address"),
            ("9316", "unix:/PATH"),
            ("localhost:9316", "unix:/PATH"),
            ("unix:metrics", "must begin with /"),
        ] {
            let refused = text.parse::<Address>().unwrap_err();
            assert!(refused.contains(says), "{text}: {refused}");
        }
    }

    #[test]
    fn users_are_names_or_numbers() {
        let root = Identity { user: Uid::from_raw(0), group: Gid::from_raw(0) };
        assert_eq!("root".parse(), Ok(root));
        assert_eq!("0:root".parse(), Ok(root));
        let other = Identity { user: Uid::from_raw(54_321), group: Gid::from_raw(12_345) };
        assert_eq!("54321:12345".parse(), Ok(other));
        for (text, words) in [
            ("nobody here", "user \"nobody here\" not found"),
            ("", "user \"\" not found"),
            ("root:no such", "group \"no such\" not found"),
            ("54321", "54321:54321"),
        ] {
            let error = text.parse::<Identity>().unwrap_err();
            assert!(error.contains(words), "{text}: {error}");
        }
    }
}
