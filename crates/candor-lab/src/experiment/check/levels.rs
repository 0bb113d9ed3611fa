//! The meaning of levels.

use crate::arch::Arch;
use crate::experiment::cells::{Cell, Factor, Testbed, Topology};
use crate::experiment::code::{self, error, suggest};
use crate::experiment::load::LoadError;
use crate::experiment::parse::Levels;
use crate::experiment::traffic::TrafficError;
use crate::kernel::is_path;
use candor_config::engine::Engine;
use candor_core::diagnostic::{Diagnostic, Findings};
use candor_core::document::quote;
use candor_core::frame::FrameTextError;

/// QEMU's limit of `-icount shift=`.
const MOST_SHIFT: u8 = 10;

/// Names that a level may have.
pub(super) struct Terms<'a> {
    /// `None` if unknown.
    pub(super) kernels: Option<&'a [String]>,
    pub(super) gateways: Vec<&'a str>,
    pub(super) rules: Vec<&'a str>,
}

impl<'a> Terms<'a> {
    /// Sets the level of a factor. The error has the remedy, and words that may have been meant.
    pub(super) fn set(&self, cell: &mut Cell, factor: Factor, text: &str) -> Result<(), (String, Vec<&'a str>)> {
        let names = |names: Vec<&'static str>| (format!("write {}", names.join(", ")), names);
        match factor {
            Factor::Testbed => cell.conditions.testbed = Testbed::named(text).ok_or_else(|| names(Testbed::names()))?,
            Factor::Arch if text == "default" => cell.conditions.arch = None,
            Factor::Arch => {
                cell.conditions.arch = Some(Arch::named(text).ok_or_else(|| names(Arch::names()))?);
            }
            Factor::Topology => {
                cell.conditions.topology = Topology::named(text).ok_or_else(|| names(Topology::names()))?
            }
            Factor::Kernel => {
                let known: Vec<&str> = self.kernels.unwrap_or_default().iter().map(String::as_str).collect();
                let is_known = text == "default" || is_path(text) || known.contains(&text);
                if self.kernels.is_some() && !is_known {
                    return Err((
                        "candor-lab kernels lists them; the path of your own kernel contains a /".to_owned(),
                        known,
                    ));
                }
                cell.conditions.kernel = (text != "default").then(|| text.to_owned());
            }
            Factor::Module => cell.conditions.module = (text != "default").then(|| text.to_owned()),
            Factor::Shift => {
                let help = || format!("a shift is 0 to {MOST_SHIFT}: an instruction lasts 2 to the power of it, in ns");
                let shift = text.parse().ok().filter(|shift| *shift <= MOST_SHIFT);
                cell.conditions.shift = shift.ok_or_else(|| (help(), Vec::new()))?;
            }
            Factor::Gateway if self.gateways.contains(&text) => text.clone_into(&mut cell.gateway),
            Factor::Gateway => {
                let engines: Vec<&str> = Engine::all().map(Engine::name).chain(["none", "external"]).collect();
                let help = "write the name of an engine (candor engines lists them), \"none\" (to measure the tester), or \
                            describe it below [gateway.NAME]";
                return Err((help.to_owned(), [&self.gateways[..], &engines].concat()));
            }
            Factor::Rules if self.rules.contains(&text) => text.clone_into(&mut cell.rules),
            Factor::Rules => {
                return Err(("write \"all\", or describe them below [rules.NAME]".to_owned(), self.rules.clone()));
            }
            Factor::Traffic => {
                let wrong = |error: TrafficError| (error.to_string(), vec!["one at a time", "flood"]);
                cell.traffic = text.parse().map_err(wrong)?;
            }
            Factor::Load => {
                let words = vec!["none", "cpu", "ethernet", "memory", "timers"];
                cell.load = text.parse().map_err(|error: LoadError| (error.to_string(), words))?;
            }
            Factor::Frame => {
                cell.frame = text.parse().map_err(|error: FrameTextError| (error.to_string(), Vec::new()))?;
            }
        }
        Ok(())
    }

    /// Reports levels without a meaning, and factors without levels. `base` is any cell.
    pub(super) fn check(&self, written: &[Levels], base: &Cell, findings: &mut Findings) -> Option<()> {
        let mut is_sound = Some(());
        for Levels { factor, key, levels } in written {
            let factor = *factor;
            if levels.is_empty() {
                let message = format!("{} has no level", quote(factor.name()));
                is_sound = error(findings, code::NO_LEVEL, key, message, "write at least one, or remove the factor");
            }
            let mut known: Vec<Cell> = Vec::new();
            for level in levels {
                let mut cell = base.clone();
                if let Err((help, words)) = self.set(&mut cell, factor, &level.value) {
                    let is_name = matches!(factor, Factor::Gateway | Factor::Rules | Factor::Kernel);
                    let code = if is_name { code::UNDEFINED } else { code::LEVEL };
                    let message = format!("{} is not a {}", quote(&level.value), noun(factor));
                    let diagnostic = Diagnostic::error(code, level.span.clone(), message).help(help);
                    findings.report(suggest(diagnostic, &level.value, &words));
                    is_sound = None;
                } else if known.contains(&cell) {
                    let message = format!("{} is listed twice in {}", quote(&level.value), quote(factor.name()));
                    let help = "remove one of them; repeats = 2 measures each cell twice";
                    is_sound = error(findings, code::LEVEL_TWICE, &level.span, message, help);
                } else {
                    known.push(cell);
                }
            }
        }
        is_sound
    }
}

const fn noun(factor: Factor) -> &'static str {
    match factor {
        Factor::Arch => "processor of guests",
        Factor::Shift => "shift of the clock",
        Factor::Gateway => "gateway of this plan",
        Factor::Rules => "name of rules of this plan",
        Factor::Traffic => "traffic pattern",
        _ => factor.name(),
    }
}
