//! Lines of disciplines.

use super::parts::{ADD, NotSayable, major_minor, rate, stab};
use crate::discipline::{Discipline, Tbf};
use crate::handle::Handle;
use crate::kinds::{self, Kind, Opt, Unit};
use crate::text::units::written;
use crate::tree::Qdisc;

pub(super) fn line(qdisc: &Qdisc) -> Result<String, NotSayable> {
    let Qdisc { handle, parent, stab: table, discipline } = qdisc;
    if let Discipline::Clsact = discipline {
        return Ok(format!("qdisc{ADD} clsact"));
    }
    let place = if *parent == Handle::ROOT { "root".to_owned() } else { format!("parent {}", major_minor(*parent)) };
    let handle = if *handle == Handle::NONE { String::new() } else { format!(" handle {}", major_minor(*handle)) };
    let table = table.as_ref().map_or_else(|| Ok(String::new()), stab)?;
    Ok(format!("qdisc{ADD} {place}{handle}{table} {}{}", discipline.kind(), options(discipline)?))
}

/// Kind and options, with the size table behind them.
pub(super) fn words(qdisc: &Qdisc) -> Result<String, NotSayable> {
    let table = qdisc.stab.as_ref().map_or_else(|| Ok(String::new()), stab)?;
    Ok(format!("{}{}{table}", qdisc.discipline.kind(), options(&qdisc.discipline)?))
}

fn options(discipline: &Discipline) -> Result<String, NotSayable> {
    match discipline {
        Discipline::Clsact => Ok(String::new()),
        Discipline::Noqueue => Err(NotSayable::ThereByItself),
        Discipline::Tbf(tbf) => self::tbf(*tbf),
        _ => described(kinds::kind(discipline.kind()).ok_or(NotSayable::Other)?, discipline),
    }
}

/// The options in the order of the table, without those that are as usual.
fn described(kind: &Kind, discipline: &Discipline) -> Result<String, NotSayable> {
    let mut checked = discipline.clone();
    if (kind.rule)(&mut checked).is_err() || checked != *discipline {
        return Err(NotSayable::Number);
    }
    let usual = (kind.usual)();
    let is_usual = |option: &Opt| (option.field.get)(discipline) == (option.field.get)(&usual);
    let mut text = String::new();
    for (at, option) in kind.options.iter().enumerate() {
        let numbers = (option.field.get)(discipline);
        if numbers.iter().any(|number| !option.accepts(*number)) {
            return Err(NotSayable::Number);
        }
        let leads = kind.options.get(at + 1).is_some_and(|next| next.words.is_empty() && !is_usual(next));
        if numbers.is_empty() || (is_usual(option) && !option.always && !leads) {
            continue;
        }
        option.words.first().into_iter().for_each(|word| text.extend([" ", word]));
        for number in numbers.into_iter().filter(|_| option.unit != Unit::Switch) {
            text.extend([" ", &written(option.unit, number).ok_or(NotSayable::Number)?]);
        }
    }
    Ok(text)
}

fn tbf(Tbf { rate: bytes, burst_bytes, limit_bytes, peak }: Tbf) -> Result<String, NotSayable> {
    if burst_bytes == 0 || peak.is_some_and(|peak| peak.burst_bytes == 0) {
        return Err(NotSayable::Number);
    }
    let mut text = format!(" rate {} burst {burst_bytes} limit {limit_bytes}", rate(bytes)?);
    if let Some(peak) = peak {
        text.push_str(&format!(" peakrate {} mtu {}", rate(peak.rate)?, peak.burst_bytes));
    }
    Ok(text)
}
