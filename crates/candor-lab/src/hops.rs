//! Chains of routes through virtual interfaces: the cost of each further pass through the CAN layer and can-gw.
//!
//! ```text
//!   first bus ─ from ─▶ can-gw ─▶ hop1 ─▶ can-gw ─▶ hop2 ─▶ … ─▶ can-gw ─▶ to ─ second bus
//! ```
//!
//! Interrupt, softirq and driver are passed once, whatever the length of the chain. The slope of the latencies is the cost
//! of a pass; the intercept is the rest of the system.
//!
//! # Source
//! [Timing Analysis of a Linux-Based CAN-to-CAN Gateway](https://lwn.net/images/conf/rtlws-2011/proc/Sojka.pdf)
//! (Sojka and others, 2011), section 3.8, figure 15.

use std::fmt::Write as _;

use candor_core::frame::FrameFormat;

use crate::stats::{LatencyNs, Line};

pub fn between(routes: u8) -> impl Iterator<Item = String> {
    (1..routes).map(|number| format!("hop{number}"))
}

/// Gateway file of a chain of can-gw routes for frames of one format. `echo` is that of the last route.
pub fn gateway_file(routes: u8, (from, to): (&str, &str), format: FrameFormat, echo: bool) -> String {
    let format = match format {
        FrameFormat::Classic => "classic",
        FrameFormat::Fd => "fd",
    };
    let mut text = "engine = \"kernel\"\n".to_owned();
    let interfaces: Vec<_> = [from.to_owned()].into_iter().chain(between(routes)).chain([to.to_owned()]).collect();
    for (number, interface) in interfaces.iter().enumerate() {
        writeln!(text, "[bus.b{number}]\ninterface = \"{interface}\"").expect("writing to a String cannot fail");
    }
    for number in 1..interfaces.len() {
        let before = number - 1;
        // can-gw counts from the first route of a frame. Without an echo, frames sent to a virtual interface are not
        // received.
        let limit = if number == 1 { format!("hop-limit = {routes}\n") } else { String::new() };
        let echo = echo || number < interfaces.len() - 1;
        writeln!(
            text,
            "[[route]]\nname = \"hop-{number}\"\nfrom = \"b{before}\"\nto = \"b{number}\"\nframes = \"{format}\"\necho = {echo}\n{limit}"
        )
        .expect("writing to a String cannot fail");
    }
    text
}

/// Line through (routes, median). Its slope is the cost of a pass.
#[expect(clippy::cast_precision_loss, reason = "no latency reaches 2^53 ns")]
pub fn line(medians: &[(u8, LatencyNs)]) -> Option<Line> {
    let points: Vec<_> = medians.iter().map(|(routes, median)| (f64::from(*routes), median.0 as f64)).collect();
    Line::through(&points)
}

#[cfg(test)]
mod tests {
    use candor_config::config;
    use candor_config::plan::Echo;

    use super::*;

    #[test]
    fn chains_are_valid_gateways() {
        for routes in 1..=candor_config::placement::MAX_MAX_HOPS {
            let text = gateway_file(routes, ("can2", "can3"), FrameFormat::Classic, false);
            let plan = config::load(text.as_bytes()).unwrap_or_else(|wrong| panic!("{text}: {wrong:?}")).plan;
            let ways: Vec<_> = plan
                .routes()
                .iter()
                .map(|route| (plan.bus(route.from).interface.as_str(), plan.bus(route.to).interface.as_str()))
                .collect();
            assert_eq!(ways.len(), usize::from(routes));
            assert_eq!((ways[0].0, ways[ways.len() - 1].1), ("can2", "can3"));
            assert!(ways.windows(2).all(|pair| pair[0].1 == pair[1].0), "{ways:?}");
            assert_eq!(plan.routes()[0].hop_limit, Some(routes));
            let echoes = plan.routes().iter().filter(|route| route.echo == Echo::On).count();
            assert_eq!(echoes, usize::from(routes) - 1);
        }
        assert_eq!(between(3).collect::<Vec<_>>(), ["hop1", "hop2"]);
        assert_eq!(between(1).count(), 0);
    }

    #[test]
    fn slope_is_the_cost_of_a_pass() {
        let line = line(&[(1, LatencyNs(7_000)), (2, LatencyNs(9_500)), (3, LatencyNs(12_000))]).unwrap();
        assert!((line.slope - 2_500.0).abs() < 1e-9 && (line.intercept - 4_500.0).abs() < 1e-9, "{line:?}");
    }
}
