//! Arguments of `candor-lab evidence`.

use std::path::PathBuf;
use std::time::Duration;

use candor_core::units::parse_duration;
use candor_lab::evidence::{Requirement, find};
use clap::Args;

/// Judge a gateway between an untrusted and a trusted network by the NMFTA's requirements, with a report for auditors.
///
/// Each requirement on gateways is decided from the checked file, or by runs in a guest: a flood of each permitted path,
/// identifiers of trusted nodes sent from outside, order and loss under load, priority inversion, jitter, and the order in which
/// the drivers of the laboratory send. What neither can decide is not judged, with the reason; some requirements are for people.
///
/// A verdict is "holds", "violated" or "not judged". It comes with figures, the places in the file, and the command that repeats it.
///
/// The identifiers that trusted nodes send are those of the databases of the trusted buses ([database]) whose senders are not
/// named with --outside, and those that routes take from the trusted buses.
///
/// Exit status: 0 no requirement is violated, 1 one is, or the file is not valid, 2 it could not run.
#[derive(Args, Debug)]
#[command(after_help = "\
Examples:
  candor-lab evidence car.toml --untrusted plug --static        from the file alone, at once
  candor-lab evidence car.toml --untrusted plug --out report    with runs in a guest; writes report/evidence.html and .json
  candor-lab evidence car.toml --untrusted plug --untrusted radio --verify-key border.pub
  candor-lab evidence car.toml --untrusted plug --static --only CGW-S-006     one requirement")]
pub(crate) struct EvidenceArgs {
    /// Gateway file.
    #[arg(value_name = "FILE")]
    pub(crate) gateway: PathBuf,
    /// Bus that anybody may reach, such as that of a diagnostic plug (repeatable). All other buses are trusted.
    #[arg(long, value_name = "BUS", required = true)]
    pub(crate) untrusted: Vec<String>,
    /// Node that databases of trusted buses name, and that is not on them, such as a tester or the gateway (repeatable).
    #[arg(long, value_name = "NODE")]
    pub(crate) outside: Vec<String>,
    /// Public key of minisign, or its file, with which the file and its databases must be signed (repeatable; default: the keys in
    /// /etc/candor/keys.d).
    #[arg(long, value_name = "KEY")]
    pub(crate) verify_key: Vec<String>,
    /// The buses speak J1939: address claims and source addresses are judged.
    #[arg(long)]
    pub(crate) j1939: bool,
    /// Largest change of the distance of two frames by the gateway, for CGW-S-005e. The published procedure tolerates 55 µs.
    #[arg(long, value_name = "TIME", default_value = "55us", value_parser = parse_duration)]
    pub(crate) max_jitter: Duration,
    /// Judge only this requirement, such as CGW-S-006 (repeatable).
    #[arg(long, value_name = "ID", value_parser = requirement)]
    pub(crate) only: Vec<&'static Requirement>,
    /// Leave out the runs in a guest.
    #[arg(long)]
    pub(crate) r#static: bool,
    /// Write the report to this directory: evidence.html and evidence.json.
    #[arg(long, value_name = "DIR")]
    pub(crate) out: Option<PathBuf>,
    /// Kernel of the guest, by its name in `candor-lab kernels` or its path (default: debian-6.1, or debian-7.3 if the file
    /// has a queue in the order of arbitration, which needs Linux 6.16).
    #[arg(long, value_name = "NAME|PATH", conflicts_with = "static")]
    pub(crate) kernel: Option<String>,
    /// Kill the guest after this time.
    #[arg(long, value_name = "TIME", default_value = "30min", value_parser = parse_duration, conflicts_with = "static")]
    pub(crate) timeout: Duration,
    /// Print JSON.
    #[arg(long)]
    pub(crate) json: bool,
}

fn requirement(id: &str) -> Result<&'static Requirement, String> {
    find(id).ok_or_else(|| {
        let all: Vec<_> = candor_lab::evidence::requirements().iter().map(|known| known.id).collect();
        format!("there is no such requirement; known: {}", all.join(", "))
    })
}
