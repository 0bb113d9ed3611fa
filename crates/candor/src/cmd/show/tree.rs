//! The gateway as a text tree: under each bus the routes that leave it, in words.

use candor_config::placement::{KernelAbilities, Placement};
use candor_config::plan::{Bus, BusIndex, Engine, Plan, RouteIndex};

use crate::cmd::show::words;

/// `realtime` is what is said below the engine.
pub(super) fn plan(plan: &Plan, realtime: &str) -> String {
    let engine = match plan.engine() {
        Engine::Auto => "automatic engine: the kernel forwards what can-gw can express, candor the rest".to_owned(),
        Engine::Kernel => "kernel engine: can-gw jobs forward the frames inside the kernel".to_owned(),
        Engine::User(engine) => format!("{engine} engine: candor takes each frame and sends it out again"),
    };
    let mut text = format!("{engine}\n{realtime}");
    // With the other engines there is nothing to choose.
    let placement = (plan.engine() == Engine::Auto).then(|| Placement::of(plan, KernelAbilities::EVERY).ok()).flatten();
    for (index, bus) in plan.buses().iter().enumerate() {
        text.push_str(&format!("\n{}\n", describe(plan, bus)));
        let routes = (0..plan.routes().len()).map(RouteIndex);
        let leaving: Vec<_> = routes.filter(|&route| plan.route(route).from == BusIndex(index)).collect();
        for (position, &route) in leaving.iter().enumerate() {
            branch(&mut text, plan, route, placement.as_ref(), position + 1 == leaving.len());
        }
        if leaving.is_empty() {
            text.push_str("└── no route leaves this bus\n");
        }
    }
    text
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
        text.push_str(&format!(", started again {wait:?} after bus-off"));
    }
    if let Some(peer) = bus.vxcan_peer {
        text.push_str(&format!(", a vxcan pair with {}", plan.bus(peer).interface));
    }
    text.push(')');
    text
}

fn branch(text: &mut String, plan: &Plan, index: RouteIndex, placement: Option<&Placement>, is_last: bool) {
    let (fork, rail) = if is_last { ("└", " ") } else { ("├", "│") };
    let route = plan.route(index);
    let to = plan.bus(route.to);
    text.push_str(&format!("{fork}──▶ {} ({}): route {}\n", to.name, to.interface, route.name));
    for (word, meaning) in words::route(plan, index, placement) {
        text.push_str(&format!("{rail}       {word:<9} {meaning}\n"));
    }
}
