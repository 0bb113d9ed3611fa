//! The gateway as a text tree: each bus with the routes from it.

use candor_config::placement::{KernelAbilities, Placement};
use candor_config::plan::{Bus, BusIndex, Engine, Plan, RouteIndex};

use crate::cmd::show::{frames, labels};

/// `realtime` is the text below the engine.
pub(super) fn plan(plan: &Plan, realtime: &str) -> String {
    let engine = match plan.engine() {
        Engine::Auto => {
            "auto engine: each route runs where it costs least: in can-gw, in an eBPF program, or in user space"
                .to_owned()
        }
        Engine::Bpf => "bpf engine: eBPF programs at the interfaces forward the frames".to_owned(),
        Engine::Kernel => "kernel engine: can-gw jobs forward the frames in the kernel".to_owned(),
        Engine::User(engine) => format!("{engine} engine: candor receives each frame and sends it again"),
    };
    let engine = if plan.only_composes() { "no route".to_owned() } else { engine };
    let mut text = format!("{engine}\n{realtime}");
    // Other engines have no placement.
    let placement = (plan.engine() == Engine::Auto).then(|| Placement::of(plan, KernelAbilities::EVERY).ok()).flatten();
    for (index, bus) in plan.buses().iter().enumerate() {
        text.push_str(&format!("\n{}\n", describe(plan, bus)));
        let routes = (0..plan.routes().len()).map(RouteIndex);
        let from_here: Vec<_> = routes.filter(|&route| plan.route(route).from == BusIndex(index)).collect();
        for (position, &route) in from_here.iter().enumerate() {
            branch(&mut text, plan, route, placement.as_ref(), position + 1 == from_here.len());
        }
        if from_here.is_empty() && !plan.only_composes() {
            text.push_str("└── no route from this bus\n");
        }
    }
    text + &frames::tree(plan)
}

fn describe(plan: &Plan, bus: &Bus) -> String {
    let mut text = format!("{} ({}", bus.name, bus.interface);
    if let Some(rate) = bus.bitrate {
        text.push_str(&format!(", {rate}"));
    }
    if let Some(rate) = bus.data_bitrate {
        text.push_str(&format!(", data phase {rate}"));
    }
    if let Some(wait) = bus.restart_after {
        text.push_str(&format!(", restarted {wait:?} after bus-off"));
    }
    if let Some(peer) = bus.vxcan_peer {
        text.push_str(&format!(", vxcan pair with {}", plan.bus(peer).interface));
    }
    text.push(')');
    text
}

fn branch(text: &mut String, plan: &Plan, index: RouteIndex, placement: Option<&Placement>, is_last: bool) {
    let (fork, rail) = if is_last { ("└", " ") } else { ("├", "│") };
    let route = plan.route(index);
    let to = plan.bus(route.to);
    text.push_str(&format!("{fork}──▶ {} ({}): route {}\n", to.name, to.interface, route.name));
    for (label, meaning) in labels::route(plan, index, placement) {
        text.push_str(&format!("{rail}       {label:<9} {meaning}\n"));
    }
}
