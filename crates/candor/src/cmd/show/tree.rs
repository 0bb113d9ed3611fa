//! The gateway as a text tree: under each bus the routes that leave it, in words.

use candor_core::placement::{Because, KernelAbilities, Placement};
use candor_core::plan::{Bus, BusIndex, Engine, Plan, Route, RouteIndex};

use crate::cmd::show::words;

pub(super) fn plan(plan: &Plan) -> String {
    let engine = match plan.engine() {
        Engine::Auto => "automatic engine: the kernel forwards what can-gw can express, candor the rest",
        Engine::Kernel => "kernel engine: can-gw jobs forward the frames inside the kernel",
        Engine::ReadWrite => "read-write engine: candor reads each frame and writes it out again",
    };
    let mut text = format!("{engine}\n");
    // What a kernel lacks only `candor run` can know, and it says so.
    let placement = Placement::of(plan, KernelAbilities::EVERY).ok().filter(|_| plan.engine() == Engine::Auto);
    for (index, bus) in plan.buses().iter().enumerate() {
        text.push_str(&format!("\n{}\n", describe(bus, plan)));
        let routes = plan.routes().iter().enumerate();
        let leaving: Vec<_> = routes.filter(|(_, route)| route.from == BusIndex(index)).collect();
        for (position, (at, route)) in leaving.iter().enumerate() {
            let side = placement.as_ref().map(|placement| side(placement.because(RouteIndex(*at)), plan));
            branch(&mut text, plan, route, side, position + 1 == leaving.len());
        }
        if leaving.is_empty() {
            text.push_str("└── no route leaves this bus\n");
        }
    }
    text
}

fn describe(bus: &Bus, plan: &Plan) -> String {
    let mut text = format!("{} ({}", bus.name, bus.interface);
    if let Some(rate) = bus.bitrate {
        text.push_str(&format!(", {rate}"));
    }
    if let Some(rate) = bus.data_bitrate {
        text.push_str(&format!(", data phase {rate}"));
    }
    text.push(')');
    if let Some(peer) = bus.vxcan_peer {
        text.push_str(&format!(", one end of a vxcan pair with {}", plan.bus(peer).name));
    }
    text
}

fn side(because: Option<Because>, plan: &Plan) -> String {
    match because {
        None => "in the kernel".to_owned(),
        Some(because) => format!("in user space, because {}", because.in_words(plan)),
    }
}

fn branch(text: &mut String, plan: &Plan, route: &Route, side: Option<String>, is_last: bool) {
    let (fork, rail) = if is_last { ("└", " ") } else { ("├", "│") };
    let to = plan.bus(route.to);
    text.push_str(&format!("{fork}──▶ {} ({}): route {}\n", to.name, to.interface, route.name));
    for (word, meaning) in side.map(|side| ("runs", side)).into_iter().chain(words::route(route, to)) {
        text.push_str(&format!("{rail}       {word:<9} {meaning}\n"));
    }
}
