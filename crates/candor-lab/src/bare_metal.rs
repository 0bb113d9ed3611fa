//! A gateway without an operating system, on the second processor of a guest whose first runs Linux and the tester.
//!
//! ```text
//!  processor 0: Linux ─ tester ─ can0 ══ first bus ══ can1 (monitor)      can4 ══ second bus ══╗
//!               candor-lab bare-metal                  ║                                       ║
//!                 │ program, parameters, INIT and SIPI  ╚═ card of can2                card of can3
//!                 ▼                                              ║                      ║
//!  processor 1: candor-bare ── interrupt ─▶ registers ─▶ RuleSet ─▶ registers ══════════╝
//! ```
//!
//! Both processors share the clock that counts instructions, and only one of them runs at a time, so what both execute adds up, as
//! on one processor. The program halts between frames: polling would count, too.

mod cards;
mod processor;

use std::fs;
use std::io;
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

use candor_bare::{Parameters, Report, State, memory};
use candor_config::plan::{Bus, Plan};
use candor_core::frame::FrameFormat;
use candor_core::job::Job;
use candor_netlink::client::NetlinkError;

use crate::job::KVASER_RATE;
use cards::Cards;
use processor::Processor;

/// The program next to candor-lab.
pub const PROGRAM: &str = "candor-bare.elf";
/// The program of a package, from the directory of candor-lab.
const PACKAGED: &str = "../lib/candor-lab/candor-bare.elf";
/// The program in a guest.
const PATH: &str = "/bin/candor-bare.elf";

/// Limit to begin, and to stop.
const PATIENCE: Duration = Duration::from_secs(5);
const LOOK: Duration = Duration::from_millis(1);

/// The program is missing or damaged.
#[derive(Debug, thiserror::Error)]
#[error(
    "Cannot use {path}, the gateway without an operating system; the package candor-lab has it, and cargo xtask static builds it"
)]
pub struct ProgramError {
    path: PathBuf,
    source: io::Error,
}

/// Path in the guest, and contents, of the program next to candor-lab or in its package.
pub fn read(lab: &Path) -> Result<(&'static str, Vec<u8>), ProgramError> {
    let [next, packaged] = [PROGRAM, PACKAGED].map(|name| lab.with_file_name(name));
    let path = if packaged.is_file() && !next.exists() { packaged } else { next };
    let bytes = fs::read(&path).map_err(|source| ProgramError { path, source })?;
    Ok((PATH, bytes))
}

/// Kernel parameters of a guest: one processor, and memory that Linux does not use but lets processes of root write.
pub fn kernel_arguments() -> String {
    let area = |bytes: u64, start: u64| format!(" memmap={bytes:#x}${start:#x}");
    let areas = [area(memory::TRAMPOLINE_BYTES, memory::TRAMPOLINE), area(memory::BYTES, memory::PROGRAM)];
    format!(" nr_cpus=1 iomem=relaxed{}", areas.concat())
}

#[derive(Debug, thiserror::Error)]
pub enum BareMetalError {
    #[error("A gateway without an operating system has two buses, and this one has {0}")]
    Buses(usize),
    #[error("{interface} is not a Kvaser card; the guest needs --testbed icount --topology kvaser --bare-metal")]
    Card { interface: String, source: io::Error },
    #[error("Cannot give the card of {interface} {to}")]
    Driver { interface: String, to: &'static str, source: io::Error },
    #[error("The cards have no CAN FD, which a route converts to")]
    Fd,
    #[error("The gateway without an operating system failed: {0}")]
    Failed(String),
    #[error("Cannot set up {interface} again")]
    Link { interface: String, source: NetlinkError },
    #[error("Cannot use {what}; the guest needs --bare-metal")]
    Memory { what: &'static str, source: io::Error },
    #[error("{PATH} is not a program for a machine without an operating system: {0}")]
    NoProgram(String),
    #[error("No route is for classic frames, and the cards have no CAN FD")]
    NoRoute,
    #[error("The interface {0} did not come back")]
    NotBack(String),
    #[error("{others} shares the interrupt line {line} with a card of the gateway; the guest needs --bare-metal")]
    Shared { line: u8, others: String },
    #[error("The gateway without an operating system did not {0} within 5 s")]
    Silent(&'static str),
}

/// A running gateway.
#[derive(Debug)]
pub struct BareMetal {
    processor: Processor,
    cards: Cards,
}

impl BareMetal {
    /// Takes the cards of a gateway from Linux and starts the program. On failure, the cards are Linux's again.
    pub fn start(plan: &Plan) -> Result<Self, BareMetalError> {
        check(plan)?;
        let jobs = jobs(plan)?;
        let [first, second] = buses(plan)?;
        let cards = Cards::find([&first.interface, &second.interface])?;
        let processor = Processor::open()?;
        let program = fs::read(PATH).map_err(|source| BareMetalError::Memory { what: PATH, source })?;
        cards.take()?;
        let parameters = Parameters { cards: cards.places(), bits_per_second: KVASER_RATE.bits_per_second(), jobs };
        let mut this = Self { processor, cards };
        match this.begin(&program, &parameters) {
            Ok(()) => Ok(this),
            Err(error) => {
                this.processor.reset();
                this.cards.give_back()?;
                Err(error)
            }
        }
    }

    /// Stops the program, gives the cards back to Linux, and returns what it has counted.
    pub fn stop(mut self) -> Result<Report, BareMetalError> {
        self.processor.ask_to_stop()?;
        let report = self.wait_for(State::Stopped, "stop");
        self.processor.reset();
        self.cards.give_back()?;
        report
    }

    fn begin(&mut self, program: &[u8], parameters: &Parameters) -> Result<(), BareMetalError> {
        self.cards.check_lines()?;
        self.processor.load(program, parameters)?;
        self.processor.start();
        self.wait_for(State::Running, "begin").map(drop)
    }

    fn wait_for(&self, state: State, what: &'static str) -> Result<Report, BareMetalError> {
        let begin = Instant::now();
        while begin.elapsed() < PATIENCE {
            let report = self.processor.report()?;
            match report.state {
                State::Failed => return Err(BareMetalError::Failed(report.text)),
                reached if reached == state => return Ok(report),
                _ => std::thread::sleep(LOOK),
            }
        }
        Err(BareMetalError::Silent(what))
    }
}

/// Fails if this gateway cannot run without an operating system, on any cards.
pub fn check(plan: &Plan) -> Result<(), BareMetalError> {
    buses(plan)?;
    if jobs(plan)?.is_empty() {
        return Err(BareMetalError::NoRoute);
    }
    Ok(())
}

fn buses(plan: &Plan) -> Result<[&Bus; 2], BareMetalError> {
    match plan.buses() {
        [first, second] => Ok([first, second]),
        others => Err(BareMetalError::Buses(others.len())),
    }
}

/// The jobs for classic frames; there are no others on these buses.
fn jobs(plan: &Plan) -> Result<Vec<Job>, BareMetalError> {
    let mut jobs = candor_config::lower(plan);
    jobs.retain(|job| job.format == FrameFormat::Classic);
    if jobs.iter().any(|job| job.leaves_as() != FrameFormat::Classic) {
        return Err(BareMetalError::Fd);
    }
    Ok(jobs)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn plan(route: &str) -> Plan {
        let text = format!(
            "engine = \"read-write\"\n[bus.a]\ninterface = \"can2\"\n[bus.b]\ninterface = \"can3\"\n[[route]]\nname = \"r\"\nfrom = \"a\"\nto = \"b\"\n{route}"
        );
        candor_config::config::load(text.as_bytes()).unwrap().plan
    }

    #[test]
    fn only_jobs_for_classic_frames_remain() {
        let formats = |plan| jobs(&plan).unwrap().iter().map(|job| job.format).collect::<Vec<_>>();
        assert_eq!(formats(plan("")), [FrameFormat::Classic]);
        assert_eq!(formats(plan("frames = \"fd\"\n")), []);
    }

    #[test]
    fn gateways_for_can_fd_are_refused() {
        let refused = |route| check(&plan(route)).err().map(|error| error.to_string());
        assert_eq!(refused(""), None);
        assert!(refused("frames = \"fd\"\n").unwrap().starts_with("No route is for classic frames"));
        assert!(refused("frames = \"classic\"\nsend-as = \"fd\"\n").unwrap().starts_with("The cards have no CAN FD"));
    }

    #[test]
    fn kernel_is_kept_away_from_the_program() {
        let arguments = kernel_arguments();
        assert!(arguments.contains(" memmap=0x1000$0x8000 memmap=0x1000000$0x10000000"), "{arguments}");
    }

    #[test]
    fn a_missing_program_has_a_remedy() {
        let error = read(Path::new("/nowhere/candor-lab")).unwrap_err();
        assert!(error.to_string().contains("cargo xtask static"), "{error}");
    }

    #[test]
    fn program_of_a_package_is_found() {
        let folder = tempfile::tempdir().unwrap();
        let lab = folder.path().join("bin/candor-lab");
        for (path, text) in [("lib/candor-lab/candor-bare.elf", "packaged"), ("bin/candor-bare.elf", "next")] {
            let path = folder.path().join(path);
            fs::create_dir_all(path.parent().unwrap()).unwrap();
            fs::create_dir_all(lab.parent().unwrap()).unwrap();
            fs::write(path, text).unwrap();
            assert_eq!(read(&lab).unwrap().1, text.as_bytes());
        }
    }
}
