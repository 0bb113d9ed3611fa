//! What the commands that boot guests share.

use candor_lab::guest::{ClockShift, GuestExit, GuestSpec, LabError, static_lab};
use candor_lab::job::Topology;
use candor_lab::kernel::Testbed;

use crate::cli::{GuestArgs, TestbedArg, TopologyArg};
use candor_cli::render;

/// The guest that the options ask for.
pub(crate) fn specification(args: &GuestArgs, command: Vec<String>) -> Result<GuestSpec, Box<dyn std::error::Error>> {
    let testbed = match args.testbed {
        TestbedArg::Icount => Testbed::Icount,
        TestbedArg::Uml => Testbed::Uml,
    };
    let mut spec = GuestSpec::new(testbed, topology(args.topology), static_lab()?, command);
    if !args.wire_adapter.is_empty() && spec.topology != Topology::Wire {
        return Err("--wire-adapter is for buses of candor-lab wire: add --topology wire".into());
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
        "candor-lab: {} ({}) with QEMU {}, booted and {done} in {:.0} s\n",
        platform.kernel,
        platform.release,
        platform.qemu.as_deref().unwrap_or("unknown"),
        exit.wall.as_secs_f64()
    ));
}

/// Shows what the guest's console said last, where that explains an error.
pub(crate) fn show_console(error: &LabError) {
    if !error.console().is_empty() {
        render::err("candor-lab: the guest's console said last:\n");
        for line in error.console() {
            render::err(&format!("  | {line}\n"));
        }
    }
}

pub(crate) const fn topology(argument: TopologyArg) -> Topology {
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
