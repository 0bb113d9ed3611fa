//! Whether the levels of factors have a meaning.

use crate::experiment::cells::{Testbed, Topology};
use crate::experiment::load::Load;
use crate::experiment::parse::Levels;
use crate::experiment::traffic::Traffic;
use crate::experiment::{Available, Cell, code};
use candor_config::engine::Engine;
use candor_core::diagnostic::{Diagnostic, Findings};
use candor_core::document::Spanned;
use candor_core::document::{closest, quote};
use candor_core::frame::Frame;

/// QEMU's limit of `-icount shift=`.
const MOST_SHIFT: u8 = 10;

/// One of the conditions of a measurement.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(in crate::experiment) enum Factor {
    Testbed,
    Kernel,
    Topology,
    Shift,
    Gateway,
    Rules,
    Traffic,
    Load,
    Frame,
}

impl Factor {
    pub(in crate::experiment) const ALL: [Self; 9] = [
        Self::Testbed,
        Self::Kernel,
        Self::Topology,
        Self::Shift,
        Self::Gateway,
        Self::Rules,
        Self::Traffic,
        Self::Load,
        Self::Frame,
    ];

    pub(in crate::experiment) const fn name(self) -> &'static str {
        match self {
            Self::Testbed => "testbed",
            Self::Kernel => "kernel",
            Self::Topology => "topology",
            Self::Shift => "shift",
            Self::Gateway => "gateway",
            Self::Rules => "rules",
            Self::Traffic => "traffic",
            Self::Load => "load",
            Self::Frame => "frame",
        }
    }
}
/// What levels may mean.
pub(super) struct Terms<'a> {
    pub(super) available: Available<'a>,
    pub(super) gateways: Vec<&'a String>,
    pub(super) rules: Vec<&'a String>,
}

/// A level that is understood.
#[derive(Clone, Debug, PartialEq)]
pub(super) enum Level {
    Testbed(Testbed),
    Kernel(Option<String>),
    Topology(Topology),
    Shift(u8),
    Gateway(String),
    Rules(String),
    Traffic(Traffic),
    Load(Load),
    Frame(Frame),
}

impl Level {
    pub(super) fn apply(&self, cell: &mut Cell) {
        match self {
            Self::Testbed(testbed) => cell.place.testbed = *testbed,
            Self::Kernel(kernel) => cell.place.kernel.clone_from(kernel),
            Self::Topology(topology) => cell.place.topology = *topology,
            Self::Shift(shift) => cell.place.shift = *shift,
            Self::Gateway(name) => cell.gateway.clone_from(name),
            Self::Rules(name) => cell.rules.clone_from(name),
            Self::Traffic(traffic) => cell.traffic = traffic.clone(),
            Self::Load(load) => cell.load = *load,
            Self::Frame(frame) => cell.frame = *frame,
        }
    }

    pub(super) fn is_of(&self, cell: &Cell) -> bool {
        let mut same = cell.clone();
        self.apply(&mut same);
        same == *cell
    }
}
impl<'a> Terms<'a> {
    /// By factor.
    pub(super) fn understood(&self, written: &[Levels], findings: &mut Findings) -> Option<Vec<Vec<Level>>> {
        let mut all = Some(Vec::new());
        for Levels { factor, key, levels } in written {
            let mut understood: Vec<Level> = Vec::new();
            if levels.is_empty() {
                let message = format!("{} has no level", quote(factor.name()));
                findings.report(
                    Diagnostic::error(code::NO_LEVEL, key.clone(), message).help("write at least one, or leave it out"),
                );
                all = None;
            }
            for level in levels {
                match self.level(*factor, level, findings) {
                    None => all = None,
                    Some(meaning) if understood.contains(&meaning) => {
                        let message = format!("{} is a level of {} twice", quote(&level.value), quote(factor.name()));
                        let help = "one of them is enough; repeats = 2 measures each cell twice";
                        findings.report(Diagnostic::error(code::LEVEL_TWICE, level.span.clone(), message).help(help));
                        all = None;
                    }
                    Some(meaning) => understood.push(meaning),
                }
            }
            if let Some(all) = &mut all {
                all.push(understood);
            }
        }
        all
    }

    fn level(&self, factor: Factor, written: &Spanned<String>, findings: &mut Findings) -> Option<Level> {
        let text = written.value.as_str();
        let names = |names: &[&str]| format!("write {}", names.join(", "));
        let (meaning, help, known): (Option<Level>, String, Vec<&'a str>) = match factor {
            Factor::Testbed => {
                let known: Vec<_> = Testbed::ALL.iter().map(|testbed| testbed.name()).collect();
                (text.parse().ok().map(Level::Testbed), names(&known), known)
            }
            Factor::Topology => {
                let known: Vec<_> = Topology::ALL.iter().map(|topology| topology.name()).collect();
                (text.parse().ok().map(Level::Topology), names(&known), known)
            }
            Factor::Kernel => {
                let known: Vec<&str> = self.available.kernels.unwrap_or_default().iter().map(String::as_str).collect();
                let is_known = self.available.kernels.is_none() || known.contains(&text);
                let level = if text == "default" { Some(None) } else { is_known.then(|| Some(text.to_owned())) };
                (level.map(Level::Kernel), "candor-lab kernels lists them".to_owned(), known)
            }
            Factor::Shift => {
                let shift = text.parse::<u8>().ok().filter(|shift| *shift <= MOST_SHIFT);
                let help = format!("a shift is 0 to {MOST_SHIFT}: an instruction lasts 2 to the power of it, in ns");
                (shift.map(Level::Shift), help, Vec::new())
            }
            Factor::Gateway => {
                let level = self.gateways.iter().any(|name| *name == text).then(|| Level::Gateway(text.to_owned()));
                let engines = Engine::all().map(|engine| -> &'a str { engine.name() });
                let known = self.gateways.iter().map(|name| -> &'a str { name }).chain(engines);
                let known = known.chain(["none", "external"]).collect();
                let help = "write the name of an engine (candor engines lists them), \"none\" (to measure the tester), or \
                            describe it below [gateway.NAME]";
                (level, help.to_owned(), known)
            }
            Factor::Rules => {
                let known: Vec<&str> = self.rules.iter().map(|name| name.as_str()).collect();
                let level = known.contains(&text).then(|| Level::Rules(text.to_owned()));
                (level, "write \"all\", or describe them below [rules.NAME]".to_owned(), known)
            }
            Factor::Traffic => match text.parse::<Traffic>() {
                Ok(traffic) => (Some(Level::Traffic(traffic)), String::new(), Vec::new()),
                Err(error) => (None, error.to_string(), vec!["one at a time", "flood"]),
            },
            Factor::Load => match text.parse::<Load>() {
                Ok(load) => (Some(Level::Load(load)), String::new(), Vec::new()),
                Err(error) => (None, error.to_string(), vec!["none", "cpu", "ethernet", "memory", "timers"]),
            },
            Factor::Frame => match text.parse::<Frame>() {
                Ok(frame) => (Some(Level::Frame(frame)), String::new(), Vec::new()),
                Err(error) => (None, error.to_string(), Vec::new()),
            },
        };
        if meaning.is_none() {
            let is_name = matches!(factor, Factor::Gateway | Factor::Rules | Factor::Kernel);
            let code = if is_name { code::UNDEFINED } else { code::LEVEL };
            let message = format!("{} is no {}", quote(text), what(factor));
            let diagnostic = Diagnostic::error(code, written.span.clone(), message).help(help);
            findings.report(suggest(diagnostic, text, &known));
        }
        meaning
    }
}

const fn what(factor: Factor) -> &'static str {
    match factor {
        Factor::Testbed => "testbed",
        Factor::Kernel => "kernel",
        Factor::Topology => "topology",
        Factor::Shift => "shift of the clock",
        Factor::Gateway => "gateway of this plan",
        Factor::Rules => "name of rules of this plan",
        Factor::Traffic => "traffic pattern",
        Factor::Load => "load",
        Factor::Frame => "frame",
    }
}

pub(super) fn suggest(diagnostic: Diagnostic, word: &str, known: &[&str]) -> Diagnostic {
    match closest(word, known) {
        Some(name) if name != word => diagnostic.label(format!("did you mean \"{name}\"?")),
        _ => diagnostic,
    }
}
