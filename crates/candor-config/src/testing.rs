//! Fixtures of the tests in this crate.

use candor_core::diagnostic::Diagnostic;
use candor_core::filter::Filter;
use candor_core::frame::{FrameFormat, RawId};
use candor_core::payload::PayloadPattern;
use candor_core::realtime::Realtime;

use crate::config::load;
use crate::plan::{Bus, BusIndex, Engine, Modes, Plan, Route, Selection};
use crate::safety::{Hazard, Kind, hazards};

pub(crate) const BUSES: &str = "[bus.a]\ninterface = \"can0\"\n[bus.b]\ninterface = \"can1\"\n";

/// A file with two buses and one route with these further lines.
pub(crate) fn with_route(lines: &str) -> String {
    format!("{BUSES}[[route]]\nname = \"r\"\nfrom = \"a\"\nto = \"b\"\n{lines}\n")
}

/// The plan of a valid file.
pub(crate) fn loaded(text: &str) -> Plan {
    load(text.as_bytes()).unwrap_or_else(|findings| panic!("{text}\n{findings:#?}")).plan
}

/// The findings of a file, valid or not.
pub(crate) fn findings(text: &str) -> Vec<Diagnostic> {
    match load(text.as_bytes()) {
        Ok(loaded) => loaded.warnings,
        Err(findings) => findings,
    }
}

/// Code and underlined text of every finding.
pub(crate) fn underlined<'t>(text: &'t str, findings: &[Diagnostic]) -> Vec<(&'static str, &'t str)> {
    findings.iter().map(|finding| (finding.code, &text[finding.primary.span.clone()])).collect()
}

/// Checks the findings of each case in a data file. Cases are separated by blank lines; their lines `! CODE TEXT` list
/// the findings with the underlined text.
pub(crate) fn check_cases(data: &str, file: impl Fn(&str) -> String, findings: impl Fn(&str) -> Vec<Diagnostic>) {
    for case in data.trim_end().split("\n\n") {
        let (expected, lines): (Vec<_>, Vec<_>) = case.lines().partition(|line| line.starts_with("! "));
        let text = file(&lines.join("\n"));
        let found = underlined(&text, &findings(&text));
        let found = found.into_iter().map(|(code, text)| format!("! {code} {}", text.replace('\n', "\\n")));
        let found: Vec<_> = found.map(|line| line.trim_end().to_owned()).collect();
        assert_eq!(found, expected, "{text}");
    }
}

/// Pieces of text from a data file, one per line, with symbols for white space and control characters.
pub(crate) fn pieces(data: &str) -> Vec<String> {
    let symbols = [("␍", "\r"), ("⏎", "\n"), ("␀", "\0"), ("·", " "), ("BOM", "\u{FEFF}")];
    let piece = |line: &str| symbols.iter().fold(line.to_owned(), |text, (symbol, meant)| text.replace(symbol, meant));
    data.lines().map(piece).collect()
}

/// A route that forwards what the filter matches, unchanged.
pub(crate) fn route(name: &str, from: usize, to: usize, filter: Filter) -> Route {
    let selections = vec![Selection { filter, id: None }];
    Route { selections, ..Route::new(name.into(), BusIndex(from), BusIndex(to)) }
}

/// A kernel gateway with these routes between the buses a, b, c ….
pub(crate) fn plan(buses: usize, routes: Vec<Route>) -> Plan {
    let buses = ["a", "b", "c", "d"][..buses].iter().map(|name| Bus::on(name)).collect();
    Plan {
        engine: Engine::Kernel,
        realtime: Realtime::default(),
        buses,
        databases: Vec::new(),
        routes,
        frames: Vec::new(),
        watched: Vec::new(),
        egress: Vec::new(),
        modes: Modes::default(),
        traffic: Vec::new(),
        links: Vec::new(),
    }
}

/// Makes two buses the ends of a vxcan pair.
pub(crate) fn pair(plan: &mut Plan, one: usize, other: usize) {
    plan.buses[one].vxcan_peer = Some(BusIndex(other));
    plan.buses[other].vxcan_peer = Some(BusIndex(one));
}

/// The hazards of routes between the buses a and b, and the vxcan pair c and d.
pub(crate) fn paired(routes: Vec<Route>) -> Vec<Hazard> {
    let mut plan = plan(4, routes);
    pair(&mut plan, 2, 3);
    hazards(&plan)
}

pub(crate) fn exact(id: u32) -> Filter {
    Filter::exact(RawId(id))
}

/// The route with another identifier for all its frames.
pub(crate) fn with_id(mut route: Route, id: u32) -> Route {
    route.modifications.set.id = Some(id);
    route
}

pub(crate) fn kind(id: u32) -> Kind {
    Kind { id: RawId(id), format: FrameFormat::Classic, is_xl: false }
}

/// A pattern that compares one byte.
pub(crate) fn pattern(at: usize, mask: u8, value: u8) -> PayloadPattern {
    let mut pattern = PayloadPattern::ANY;
    (pattern.mask[at], pattern.value[at]) = (mask, value);
    pattern
}
