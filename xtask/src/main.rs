//! Checks, tests and measurements of the workspace as commands: `cargo xtask --help`.
#![forbid(unsafe_code)]
#![expect(clippy::print_stdout, reason = "a tool for the terminal")]

mod arrows;
mod bursts;
mod can_send;
mod circles;
mod demo;
mod docs;
mod guest;
mod lab;
mod modules;
mod nightly;
mod package_test;
mod peers;
mod pins;
mod processors;
mod pure;
mod quick;
mod release;
mod saturation;
mod site;
mod sizes;
mod soak;
mod static_build;
mod step;
mod test;
mod tools;
mod wire_pictures;

use std::process::ExitCode;

use clap::{Parser, Subcommand};

/// Check, test and measure the candor workspace.
#[derive(Parser)]
#[command(name = "cargo xtask", bin_name = "cargo xtask")]
struct Cli {
    #[command(subcommand)]
    command: Command,
}

#[derive(Subcommand)]
enum Command {
    /// Route the same frames through the kernel gateway and the user-space gateway in the icount laboratory, and
    /// write report.html.
    Demo(demo::Args),
    /// Run every check that must pass: formatting, structure, links, lints, documentation, unit, property and guest tests.
    Test(test::Args),
    /// Check formatting, lints and unit tests of the crates that differ from HEAD or the upstream branch.
    Quick,
    /// Run guest tests by name.
    Guest(guest::Args),
    /// Run gateways at half load for hours of virtual time, with reloads, bus-offs, unplugged adapters and a full disk.
    Soak(soak::Args),
    /// Run the checks that take long or need other tools: msrv, deny, site, processors, miri, fuzz-smoke.
    Nightly,
    /// Build packages, archives, container images and lists of components of this version, and write its notes.
    Release(release::Args),
    /// Install, upgrade and remove the packages in a new Debian, from a signed repository, and run lintian.
    PackageTest,
    /// Build the site, target/site: front page, book, results and the inversion demo; and check its links.
    #[command(visible_alias = "docs")]
    Site(site::Args),
    /// Check licences, duplicates and sources of dependencies, and advisories if their database can be fetched.
    Deny,
    /// Build the workspace with the minimum Rust version.
    Msrv,
    /// Install cantools, which the tests of candor-signals compare with, and print its directory for CANDOR_CANTOOLS.
    Cantools,
    /// Install autosar-e2e, which the tests of candor-e2e compare with, and print its directory for CANDOR_AUTOSAR_E2E.
    #[command(name = "autosar-e2e")]
    AutosarE2e,
    /// Install pyRTA, which the tests of candor-bounds compare with, and print its directory for CANDOR_PYRTA.
    Pyrta,
    /// Install scapy and cryptography, which the tests of candor-secoc compare with, and print their directory for CANDOR_SCAPY.
    Scapy,
    /// Install can-cannelloni and python-can, which the tests of candor-link connect with, and print their directory for
    /// CANDOR_CAN_CANNELLONI.
    CanCannelloni,
    /// Install python-can and asammdf, which the tests of candor-recording compare with, and print their directory for CANDOR_PYTHON_CAN.
    #[command(name = "python-can")]
    PythonCan,
    /// Install kubernetes-validate, which a test of candor-lab checks a script with, and print its directory for
    /// CANDOR_KUBERNETES_VALIDATE.
    #[command(name = "kubernetes-validate")]
    KubernetesValidate,
    /// Unpack Debian's Slurm, which a test of candor-lab starts, and print its directory for CANDOR_SLURM.
    Slurm,
    /// Unpack Debian's GNU parallel, which a test of candor-lab starts, and print its directory for CANDOR_PARALLEL.
    Parallel,
    /// Unpack the test shell of LAVA, which a test of candor-lab starts, and print its directory for CANDOR_LAVA.
    Lava,
    /// Unpack Debian's tshark, which tests of candor-recording start, and print its directory for CANDOR_TSHARK.
    Tshark,
    /// Unpack Debian's mosquitto, which a test of candor-bridge starts, and print its directory for CANDOR_MOSQUITTO.
    Mosquitto,
    /// Compile cannelloni and socketcand, which a test of links starts in guests, and print their directory.
    LinkPeers,
    /// Run the tests of candor-bridge in a guest.
    Bridge,
    /// Run the tests of candor-io that Miri can execute.
    Miri,
    /// Run every fuzz target for a few seconds.
    FuzzSmoke(tools::FuzzArgs),
    /// Check the edges between crates against docs/architecture.md, import circles, and where unsafe code stands.
    Arrows,
    /// Check that no file has grown too long.
    Sizes,
    /// Check that candor-core builds for a target without an operating system.
    Pure,
    // Plans cannot express the following: `bursts` subtracts the cost of sending, measured without a gateway, and
    // measures 16 buses; `can-send` has queueing disciplines and no gateway; `saturation` counts frames in flight with
    // the tester's own cards down, which a plan needs; the pictures are of bus logs.
    /// Measure what a frame costs when several come at once, on one bus and on 16, and print the tables of docs/engines.md.
    Bursts(bursts::Args),
    /// Measure what handing a frame to an interface costs, by what stands before the bus, and print the tables of docs/egress.md.
    CanSend(can_send::Args),
    /// Measure at which period gateways begin to lose frames, and draw Figure 4.4 of the 2014 report.
    Saturation(saturation::Args),
    /// Draw the pictures of docs/wire.md: priority inversion, and bus-off with recovery.
    WirePictures(wire_pictures::Args),
    /// Move the pins of guest kernels to the newest versions that Debian has, in every suite.
    Pins(pins::Args),
    /// Build kernel modules with busy polling of CAN (SO_BUSY_POLL) from Debian's source package, for candor-lab --module.
    Modules(modules::Args),
    /// Run the unit and property tests of the pure crates on arm64, 32-bit ARM and the big-endian s390x, which QEMU emulates.
    Processors,
    /// Build the static candor and candor-lab that guests use, and print their folder.
    Static {
        /// Processor of the guests.
        #[arg(long, value_enum, default_value = "x86-64")]
        arch: static_build::Arch,
    },
}

fn main() -> ExitCode {
    match run(Cli::parse().command) {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => {
            eprintln!("xtask: {error:#}");
            ExitCode::FAILURE
        }
    }
}

fn run(command: Command) -> anyhow::Result<()> {
    match command {
        Command::Demo(args) => demo::run(&args),
        Command::Test(args) => test::run(&args),
        Command::Quick => quick::run(),
        Command::Guest(args) => guest::run(&args),
        Command::Soak(args) => soak::run(&args),
        Command::Nightly => step::with_times(nightly::run),
        Command::Release(args) => step::with_times(|| release::run(&args)),
        Command::PackageTest => step::with_times(package_test::run),
        Command::Site(args) => site::run(&args),
        Command::Deny => tools::deny(),
        Command::Msrv => tools::msrv(),
        Command::Cantools => peers::CANTOOLS.run(),
        Command::AutosarE2e => peers::AUTOSAR_E2E.run(),
        Command::Pyrta => peers::PYRTA.run(),
        Command::Scapy => peers::SCAPY.run(),
        Command::CanCannelloni => peers::CAN_CANNELLONI.run(),
        Command::PythonCan => peers::PYTHON_CAN.run(),
        Command::KubernetesValidate => peers::KUBERNETES_VALIDATE.run(),
        Command::Slurm => peers::debian::SLURM.run(),
        Command::Parallel => peers::debian::PARALLEL.run(),
        Command::Lava => peers::debian::LAVA.run(),
        Command::Tshark => peers::debian::TSHARK.run(),
        Command::Mosquitto => peers::debian::MOSQUITTO.run(),
        Command::LinkPeers => peers::sources::run(),
        Command::Bridge => guest::of_bridge(),
        Command::Miri => tools::miri(),
        Command::FuzzSmoke(args) => tools::fuzz_smoke(&args),
        Command::Arrows => arrows::run().and_then(|()| circles::run()),
        Command::Sizes => sizes::run(),
        Command::Pure => pure::run(),
        Command::Bursts(args) => bursts::run(&args),
        Command::CanSend(args) => can_send::run(&args),
        Command::Saturation(args) => saturation::run(&args),
        Command::WirePictures(args) => wire_pictures::run(&args),
        Command::Pins(args) => pins::run(&args),
        Command::Modules(args) => modules::run(&args),
        Command::Processors => processors::run(),
        Command::Static { arch } => {
            println!("{}", static_build::lab_for(arch)?.with_file_name("").display());
            Ok(())
        }
    }
}
