//! Every habit of the workspace as a command: `cargo xtask --help`.
#![forbid(unsafe_code)]
#![expect(clippy::print_stdout, reason = "a tool for the terminal")]

mod arrows;
mod baselines;
mod bursts;
mod can_send;
mod demo;
mod lab;
mod pure;
mod rules_curve;
mod saturation;
mod sizes;
mod soak;
mod static_build;
mod step;
mod test;
mod wire_pictures;

use std::process::ExitCode;

use clap::{Parser, Subcommand};

/// The habits of the candor workspace.
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
    /// Everything that must hold: formatting, lints, documentation, structure, unit, property and guest tests.
    Test(test::Args),
    /// Check that crates use each other only along the arrows of docs/architecture.md, and unsafe only where allowed.
    Arrows,
    /// Check that no file has grown too long.
    Sizes,
    /// Check that candor-core builds for a target without an operating system.
    Pure,
    /// Measure from how many masked rules on user space is faster than can-gw, and draw the curve.
    RulesCurve(rules_curve::Args),
    /// Measure engines beside the same system calls without rules, and print the table of docs/engines.md.
    Baselines(baselines::Args),
    /// Measure what a frame costs when several come at once, on one bus and on 16, and print the tables of docs/engines.md.
    Bursts(bursts::Args),
    /// Measure what handing a frame to an interface costs, by what stands before the bus, and print the tables of docs/egress.md.
    CanSend(can_send::Args),
    /// Measure at which period gateways begin to lose frames, and draw Figure 4.4 of the 2014 report.
    Saturation(saturation::Args),
    /// Load a gateway for ten virtual minutes: no frame may be lost, and its memory may not grow.
    Soak(soak::Args),
    /// Draw the pictures of docs/wire.md: priority inversion, and bus-off with recovery.
    WirePictures(wire_pictures::Args),
    /// Build the static candor and candor-lab that guests use, and print their folder.
    Static,
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
        Command::Arrows => arrows::run(),
        Command::Sizes => sizes::run(),
        Command::Pure => pure::run(),
        Command::Baselines(args) => baselines::run(&args),
        Command::Bursts(args) => bursts::run(&args),
        Command::CanSend(args) => can_send::run(&args),
        Command::Saturation(args) => saturation::run(&args),
        Command::Soak(args) => soak::run(&args),
        Command::WirePictures(args) => wire_pictures::run(&args),
        Command::RulesCurve(args) => rules_curve::run(&args),
        Command::Static => {
            println!("{}", static_build::lab()?.with_file_name("").display());
            Ok(())
        }
    }
}
