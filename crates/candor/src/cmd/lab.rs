//! `candor lab …`: one file per subcommand.

mod bursts;
mod can_send;
mod cells;
mod distribution;
mod floor;
mod hops;
mod keep;
mod kernels;
mod load;
pub(crate) mod look;
mod measure;
mod precision;
pub(crate) mod progress;
mod run;
mod shell;
mod soak;
mod stream;
mod system_calls;
mod under_test;

use candor_lab::guest::{ClockShift, GuestExit, GuestSpec, LabError, static_candor};
use candor_lab::job::Topology;
use candor_lab::kernel::Testbed;

use crate::cli::{GuestArgs, LabCommand, TestbedArg, TopologyArg};
use crate::cmd::Outcome;
use crate::exit::Exit;
use crate::render;

pub(crate) fn run(command: &LabCommand) -> Outcome {
    match command {
        LabCommand::Run(args) => run::run(args),
        LabCommand::Shell(args) => shell::run(args),
        LabCommand::Kernels(args) => kernels::run(args),
        LabCommand::Measure(args) => measure::run(args),
        LabCommand::Floor(args) => floor::run(args),
        LabCommand::Bursts(args) => bursts::run(args),
        LabCommand::CanSend(args) => can_send::run(args),
        LabCommand::Precision(args) => precision::run(args),
        LabCommand::Hops(args) => hops::run(args),
        LabCommand::SystemCalls(args) => system_calls::run(args),
        LabCommand::Stream(args) => stream::run(args),
        LabCommand::Soak(args) => soak::run(args),
        LabCommand::Cells(args) => cells::run(args),
        LabCommand::Load(args) => cells::be_load(&args.load),
        LabCommand::Keep => keep::keep(),
        LabCommand::Hold(args) => keep::hold(args),
        LabCommand::Look(args) => look::run(args),
        LabCommand::Relay => {
            candor_lab::load::relay()?;
            Ok(Exit::Fine)
        }
    }
}

/// The guest that the options ask for.
fn specification(args: &GuestArgs, command: Vec<String>) -> Result<GuestSpec, Box<dyn std::error::Error>> {
    let testbed = match args.testbed {
        TestbedArg::Icount => Testbed::Icount,
        TestbedArg::Uml => Testbed::Uml,
    };
    let mut spec = GuestSpec::new(testbed, topology(args.topology), static_candor()?, command);
    if !args.wire_adapter.is_empty() && spec.topology != Topology::Wire {
        return Err("--wire-adapter is for buses of candor wire: add --topology wire".into());
    }
    spec.wire_adapters = args.wire_adapter.iter().map(ToString::to_string).collect();
    spec.kernel.clone_from(&args.kernel);
    spec.copies.clone_from(&args.copy);
    spec.programs.clone_from(&args.program);
    spec.module_parameters.clone_from(&args.module_parameter);
    spec.timeout = args.timeout;
    spec.clock = ClockShift::new(args.shift).unwrap_or_default();
    for file in &args.copy {
        std::fs::File::open(file).map_err(|error| format!("Cannot read {} for --copy: {error}", file.display()))?;
    }
    for written in &args.env {
        let (name, value) = variable(written)?;
        spec.environment.insert(name.to_owned(), value.to_owned());
    }
    Ok(spec)
}

/// A variable that the guest has not got yet.
fn variable(written: &str) -> Result<(&str, &str), String> {
    let (name, value) =
        written.split_once('=').ok_or_else(|| format!("--env takes NAME=VALUE, and {written} has no ="))?;
    if name.is_empty() {
        return Err(format!("--env takes NAME=VALUE, and {written} has no name"));
    }
    if GuestSpec::OWN_VARIABLES.contains(&name) {
        return Err(format!("--env cannot set {name}: the laboratory does"));
    }
    Ok((name, value))
}

/// Says what a guest ran on and how long that took, with a verb for what was done there. The time on the host's clock is news,
/// not a result: it goes where progress goes.
pub(crate) fn tell_platform(exit: &GuestExit, done: &str) {
    let platform = &exit.platform;
    render::err(&format!(
        "candor: {} ({}) with QEMU {}, booted and {done} in {:.0} s\n",
        platform.kernel,
        platform.release,
        platform.qemu.as_deref().unwrap_or("unknown"),
        exit.wall.as_secs_f64()
    ));
}

/// Shows what the guest's console said last, where that explains an error.
pub(crate) fn show_console(error: &LabError) {
    if !error.console().is_empty() {
        render::err("candor: the guest's console said last:\n");
        for line in error.console() {
            render::err(&format!("  | {line}\n"));
        }
    }
}

const fn topology(argument: TopologyArg) -> Topology {
    match argument {
        TopologyArg::Kvaser => Topology::Kvaser,
        TopologyArg::Vcan => Topology::Vcan,
        TopologyArg::Wire => Topology::Wire,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn variables_of_the_laboratory_are_refused() {
        assert_eq!(variable("A=b=c"), Ok(("A", "b=c")));
        assert_eq!(variable("CANDOR_REQUIRE="), Ok(("CANDOR_REQUIRE", "")));
        for written in ["PATH=/x", "HOME=", "CANDOR_OUT=/", "=x", "A"] {
            assert!(variable(written).is_err(), "{written}");
        }
    }
}
