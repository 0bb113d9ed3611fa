//! Parts of all pages.

use maud::{DOCTYPE, Markup, PreEscaped, html as markup};

use crate::plot::sheet;
use crate::record::Header;
use crate::stats::{Interval, LatencyNs};

const STYLE: &str = include_str!("page.css");

/// A page without external references: the parts of `main`, and scripts.
pub(super) fn page(title: &str, style: &str, class: &str, main: &Markup, scripts: &Markup) -> String {
    let page = markup! {
        (DOCTYPE)
        html lang="en" {
            head {
                meta charset="utf-8";
                meta name="viewport" content="width=device-width, initial-scale=1";
                title { (title) }
                style { (PreEscaped(sheet())) (PreEscaped(STYLE)) (PreEscaped(style)) }
            }
            body { main class=[(!class.is_empty()).then_some(class)] { (main) } (scripts) }
        }
    };
    page.into_string()
}

/// Head of a table: columns of text, and then of numbers.
pub(super) fn columns(texts: usize, names: &[&str]) -> Markup {
    markup! { thead { tr { @for (at, name) in names.iter().enumerate() { th.n[at >= texts] scope="col" { (name) } } } } }
}

/// Unit of latencies, given the ns per instruction of each record.
pub(super) fn time_unit(instructions_ns: impl Iterator<Item = Option<u32>>) -> &'static str {
    match instructions_ns.collect::<Vec<_>>()[..] {
        [] => "µs",
        ref all if all.iter().all(|&one| one == Some(1)) => "virtual µs (1000 instructions each)",
        ref all if all.iter().all(Option::is_some) => "virtual µs",
        _ => "µs",
    }
}

/// The ends of an interval, or a note that there are too few frames.
pub(super) fn range(interval: Interval, show: &dyn Fn(LatencyNs) -> String) -> String {
    match (interval.lower, interval.upper) {
        (None, None) => "n too small".to_owned(),
        (None, Some(upper)) => format!("to {}, n too small", show(upper)),
        (Some(lower), None) => format!("from {}, n too small", show(lower)),
        (Some(lower), Some(upper)) => format!("{} – {}", show(lower), show(upper)),
    }
}

pub type Show = Box<dyn Fn(LatencyNs) -> String>;

/// Units of the figures: also instructions, where the clock counts them. `group` formats whole numbers.
pub fn units(header: &Header, group: fn(&str) -> String) -> Vec<(&'static str, Show)> {
    let microseconds: Show = Box::new(|latency| format!("{:.3}", latency.microseconds()));
    let Some(ns) = header.instruction_ns else { return vec![("µs", microseconds)] };
    let instructions: Show = Box::new(move |latency| group(&(latency.0 / i64::from(ns.max(1))).to_string()));
    vec![("instructions", instructions), ("virtual µs", microseconds)]
}
