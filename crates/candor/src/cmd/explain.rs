//! `candor explain`: traces a frame through the rules, step by step, with the reasons of those that do not match.
//!
//! Without `--live` the answer depends only on the file and the frame.

mod composed;
pub(super) mod json;
mod labels;
mod live;
pub(super) mod signals;
mod text;
mod view;

use candor_cli::gateway_file::Form;
use candor_cli::signed::Keys;
use candor_cli::{Exit, Outcome, render};
use candor_config::explain::{Interface, Machine};
use candor_config::placement::{Because, KernelAbilities, Placement, Unplaceable};
use candor_config::plan::{BusIndex, Engine, Plan};
use candor_core::document::closest;

use crate::cli::ExplainArgs;
use crate::cmd::{in_mode, plan_for, read_file};
#[cfg(test)]
pub(super) use json::Explained;
use view::View;

pub(crate) fn run(args: &ExplainArgs) -> Outcome {
    // As in `candor run`: findings for the engine of the file do not apply to that of --engine.
    let engine = args.engine.map(|_other| Engine::Auto);
    let file = read_file(&args.file, engine, &Keys::NONE)?;
    let Some(loaded) = file.gateway_or_say(Form::once(args.json))? else { return Ok(Exit::No) };
    let mode = args.mode.as_deref();
    let plan = in_mode(plan_for(&loaded.plan, args.engine), mode)?;
    let lists = file.lists(engine, mode);
    let on = bus_named(&plan, &args.on)?;
    let mut notes = Vec::new();
    let kernel = match plan.engine() {
        _ if args.live => live::can_gw(&plan, &mut notes)?,
        Engine::Bpf => KernelAbilities::NEWEST,
        _ => KernelAbilities::EVERY,
    };
    let interfaces = if args.live { live::interfaces(&plan, on, &mut notes)? } else { unknown_interfaces(&plan) };
    if args.live {
        live::qdiscs(&plan, &mut notes)?;
    }
    let machine = Machine { max_hops: if args.live { kernel.max_hops } else { needed_hops(&plan) }, interfaces };
    let placement = placement(&plan, kernel, &mut notes).map_err(|unplaceable| no_side(&plan, unplaceable))?;
    let mut jobs = candor_config::lower(&plan);
    let sides: Vec<_> = jobs.iter().map(|job| placement.side(job.route)).collect();
    let exclusive: Vec<_> = jobs.iter().map(|job| plan.route(job.route).is_exclusive).collect();
    if plan.engine() == Engine::Auto {
        // User space allows one hop; the result must not depend on the placement.
        for job in &mut jobs {
            job.hop_limit.get_or_insert(1);
        }
    }
    let view = View {
        plan: &plan,
        lists: &lists,
        jobs: &jobs,
        sides: (&sides, &exclusive),
        placement: &placement,
        machine: &machine,
        on,
    };
    let text = if args.json {
        render::object(&json::frames(&view, file.source.name(), &args.frame, &notes))
    } else {
        text::frames(&view, &args.frame, args.all, args.live, &notes)
    };
    render::out(&text)?;
    Ok(Exit::Fine)
}

/// The bus with this name, otherwise the one with this interface.
fn bus_named(plan: &Plan, wanted: &str) -> Result<BusIndex, String> {
    let buses = plan.buses();
    let by_name = buses.iter().position(|bus| bus.name == wanted);
    let found = by_name.or_else(|| buses.iter().position(|bus| bus.interface == wanted));
    found.map(BusIndex).ok_or_else(|| {
        let names: Vec<_> = buses.iter().flat_map(|bus| [bus.name.as_str(), &bus.interface]).collect();
        let hint = closest(wanted, &names).map_or_else(String::new, |name| format!(" (did you mean {name}?)"));
        let known: Vec<_> = buses.iter().map(|bus| format!("{} ({})", bus.name, bus.interface)).collect();
        format!("no bus or interface {wanted:?} in the file{hint}; buses: {}", known.join(", "))
    })
}

/// Describes a route that no side can run.
fn no_side(plan: &Plan, unplaceable: Unplaceable) -> String {
    let name = &plan.route(unplaceable.route).name;
    let kernel = unplaceable.kernel.in_words(plan);
    match (unplaceable.kernel, unplaceable.user) {
        (Because::Bpf(_), None) => format!("the engine bpf cannot run route {name:?}: {kernel}"),
        (_, None) => format!("the kernel engine cannot run route {name:?}: {kernel}"),
        (Because::Chosen, Some(only)) => {
            format!("user-space engines cannot run route {name:?}: they cannot {}", only.in_words(plan))
        }
        (_, Some(only)) => {
            format!("no engine can run route {name:?}: {kernel}, and user space cannot {}", only.in_words(plan))
        }
    }
}

/// The placement of the routes. With the kernel engine, a CRC8 with positions from the end assumes a kernel with the fix.
fn placement(plan: &Plan, kernel: KernelAbilities, notes: &mut Vec<String>) -> Result<Placement, Unplaceable> {
    let placed = Placement::of(plan, kernel);
    let Err(Unplaceable { route, kernel: Because::RelativeCrc8, user: None }) = placed else { return placed };
    notes.push(format!(
        "the CRC8 of route {:?} is shown as kernels with the fix of March 2026 (6.1.168) compute it",
        plan.route(route).name
    ));
    Placement::of(plan, KernelAbilities { relative_crc8: true, ..kernel })
}

fn unknown_interfaces(plan: &Plan) -> Vec<Interface> {
    plan.buses().iter().map(|bus| Interface { peer: bus.vxcan_peer, ..Interface::default() }).collect()
}

/// can-gw allows one hop by default; routes with a higher `hop-limit` need a larger `max_hops`.
fn needed_hops(plan: &Plan) -> u8 {
    plan.routes().iter().filter_map(|route| route.hop_limit).max().unwrap_or(1).max(1)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn plan() -> Plan {
        let file = include_bytes!("../../../../examples/02-filter.toml");
        candor_config::config::load(file).unwrap().plan
    }

    #[test]
    fn a_bus_is_found_by_name_or_interface() {
        for (text, index) in [("powertrain", 0), ("body", 1), ("vcan0", 0), ("vcan1", 1)] {
            assert_eq!(bus_named(&plan(), text).unwrap(), BusIndex(index));
        }
    }

    #[test]
    fn an_unknown_bus_lists_the_known_ones() {
        let said = |text| bus_named(&plan(), text).unwrap_err();
        assert_eq!(
            said("Powertrian"),
            "no bus or interface \"Powertrian\" in the file (did you mean powertrain?); buses: powertrain (vcan0), body \
             (vcan1)"
        );
        assert!(said("vcan2").contains("(did you mean vcan"));
        assert!(
            said("xyz").contains("\"xyz\" in the file; buses: powertrain (vcan0), body (vcan1)"),
            "{}",
            said("xyz")
        );
    }
}
