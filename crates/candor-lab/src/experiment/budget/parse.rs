//! Text → [`Budgets`].

use toml::de::{DeTable, DeValue};

use super::{Budget, Budgets, FIGURES, Limit, Ratio};
use crate::experiment::cells::Factor;
use crate::experiment::code::{self, error};
use crate::experiment::load::Load;
use crate::experiment::parse;
use crate::experiment::traffic::Traffic;
use candor_config::config;
use candor_core::diagnostic::{Diagnostic, Findings, Position};
use candor_core::document::entry::{Entry, entries, put};
use candor_core::document::keys::{Key, Keyed};
use candor_core::document::{self, Text, limits};
use candor_core::keys;
use candor_core::units::{WrittenFrameRate, parse_duration, parse_frame_rate};

keys! {
    /// `[[budget]]` without its levels and limits, whose keys are factors and figures.
    struct BudgetSpec {}
    "lost" => lost: Option<u64> | lost = Key::new("a number of frames, such as 0");
    "ratio" => ratio: Option<u64> | ratio = Key::new("a ratio with up to three decimals, such as \"1.020\"");
    "to" => to: Option<Text> = Key::new("the name of a gateway of the plan");
    "tolerance" => tolerance: Option<u64> | tolerance = Key::new("a share, such as \"0.5 %\"");
}

/// # Errors
/// All mistakes, in the order of the file.
pub fn load(bytes: &[u8]) -> Result<Budgets, Vec<Diagnostic>> {
    let mut findings = Findings::default();
    let text = limits::text(bytes).map_err(|diagnostic| vec![*diagnostic])?;
    let document = document::document(text, &mut findings);
    let budgets = document.map(|document| budgets(text, document.get_ref(), &mut findings));
    match budgets {
        Some(budgets) if !findings.has_errors() => Ok(Budgets(budgets)),
        _ => Err(findings.into_sorted()),
    }
}

fn budgets(text: &str, document: &DeTable<'_>, findings: &mut Findings) -> Vec<Budget> {
    let mut budgets = Vec::new();
    for entry in entries(document) {
        if entry.key != "budget" {
            entry.not_one_of("A file of budgets", &["budget"], None, findings);
            continue;
        }
        let DeValue::Array(array) = entry.value.get_ref() else {
            entry.wrong_type::<()>("a list of tables", Some("write [[budget]], with two brackets".into()), findings);
            continue;
        };
        for item in array {
            let entry = entry.with_value(item);
            if let Some(table) = entry.table("a table of levels and limits", findings) {
                let start = item.span().start;
                let line = Position::of(text, start).line;
                budgets.extend(budget(line, start..item.span().end, table, findings));
            }
        }
    }
    if budgets.is_empty() && !findings.has_errors() {
        let help = "write [[budget]], and below it levels and p50 = \"3000 instructions\"";
        error::<()>(findings, code::BUDGET, &(0..0), "The file has no budget", help);
    }
    budgets
}

fn budget(line: usize, span: std::ops::Range<usize>, table: &DeTable<'_>, findings: &mut Findings) -> Option<Budget> {
    let (mut levels, mut limits, mut spec) = (Vec::new(), Vec::new(), BudgetSpec::default());
    let mut is_sound = true;
    for entry in entries(table) {
        let figure = FIGURES.into_iter().find(|figure| *figure == entry.key);
        is_sound &= match (spec.put(entry.key, &entry, findings), figure, Factor::named(entry.key)) {
            (Some((_, is_sound)), ..) => is_sound,
            (None, Some(figure), _) => limit(&entry, findings).map(|limit| limits.push((figure, limit))).is_some(),
            (None, None, Some(factor)) => level(factor, &entry, findings).map(|level| levels.push(level)).is_some(),
            (None, None, None) => {
                let mut known = Factor::names();
                known.extend(FIGURES);
                known.extend(BudgetSpec::KEYS.keys().into_iter().map(|key| key.name));
                entry.not_one_of("A budget", &known, None, findings);
                false
            }
        };
    }
    let BudgetSpec { to, ratio, lost, tolerance } = spec;
    let incomplete = match (&to, &ratio) {
        (Some(_), None) => Some(("`to` goes with `ratio`", "add ratio = \"1.020\"")),
        (None, Some(_)) => Some(("`ratio` goes with `to`", "add to = \"kernel\", the gateway to compare with")),
        (None, None) if limits.is_empty() && lost.is_none() => {
            Some(("This budget limits nothing", "add p50 = \"3000 instructions\", lost = 0, or `ratio` and `to`"))
        }
        _ => None,
    };
    if let Some((message, help)) = incomplete.filter(|_| is_sound) {
        return error(findings, code::BUDGET, &span, message, help);
    }
    let ratio = to.zip(ratio).map(|(to, thousandths)| Ratio { to: to.value, thousandths });
    is_sound.then(|| Budget { line, levels, limits, lost, tolerance: tolerance.unwrap_or(0), ratio })
}

/// Spelled as in [`crate::experiment::Cell::levels`].
fn level(factor: Factor, entry: &Entry<'_>, findings: &mut Findings) -> Option<(String, String)> {
    let written = parse::level(entry, findings)?;
    let level = match factor {
        Factor::Traffic => {
            written.value.parse::<Traffic>().map(|traffic| traffic.to_string()).map_err(|wrong| wrong.to_string())
        }
        Factor::Load => written.value.parse::<Load>().map(|load| load.to_string()).map_err(|wrong| wrong.to_string()),
        _ => Ok(written.value),
    };
    match level {
        Ok(level) => Some((factor.name().to_owned(), level)),
        Err(wrong) => {
            findings.report(Diagnostic::error(code::LEVEL, written.span, wrong));
            None
        }
    }
}

fn limit(entry: &Entry<'_>, findings: &mut Findings) -> Option<Limit> {
    const WANTED: &str = "a number of instructions or a time, such as \"3000 instructions\" or \"15us\"";
    let written = entry.string(WANTED, findings)?;
    let text = written.value.trim();
    if let Some(number) = text.strip_suffix("instructions") {
        let digits: String = number.chars().filter(|digit| !digit.is_whitespace() && *digit != '_').collect();
        if let Ok(count) = digits.parse() {
            return Some(Limit::Instructions(count));
        }
    }
    match parse_duration(text) {
        Ok(time) => Some(Limit::Time(time)),
        Err(wrong) => {
            error(findings, config::code::DURATION, &written.span, wrong.to_string(), format!("write {WANTED}"))
        }
    }
}

/// Reads a tolerance in thousandths.
fn tolerance(into: &mut Option<u64>, entry: &Entry<'_>, key: &Key, findings: &mut Findings) -> bool {
    let Some(written) = entry.string(key.wanted, findings) else { return false };
    let share = match parse_frame_rate(&written.value) {
        Ok(WrittenFrameRate::PerMille(share)) => Some(share.into()),
        _ => {
            let message = "A tolerance is a share of the limit, of 0.1 % or more";
            error(findings, code::BUDGET, &written.span, message, format!("write {}", key.wanted))
        }
    };
    put(into, share)
}

fn lost(into: &mut Option<u64>, entry: &Entry<'_>, key: &Key, findings: &mut Findings) -> bool {
    let Some(written) = entry.integer(key.wanted, findings) else { return false };
    let lost = u64::try_from(written.value).ok();
    let message = "The number of lost frames must be 0 or more";
    put(into, lost.or_else(|| error(findings, code::RANGE, &written.span, message, "write 0 or more")))
}

/// Reads a ratio in thousandths.
fn ratio(into: &mut Option<u64>, entry: &Entry<'_>, key: &Key, findings: &mut Findings) -> bool {
    let Some(written) = entry.string(key.wanted, findings) else { return false };
    let (whole, fraction) = written.value.trim().split_once('.').unwrap_or_else(|| (written.value.trim(), "0"));
    let thousandths = match (whole.parse::<u32>(), format!("{fraction:0<3}").parse::<u32>()) {
        (Ok(whole), Ok(fraction)) if fraction < 1000 => Some(u64::from(whole) * 1000 + u64::from(fraction)),
        _ => error(findings, code::BUDGET, &written.span, "This is not a ratio", format!("write {}", key.wanted)),
    };
    put(into, thousandths)
}
