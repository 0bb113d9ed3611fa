//! Lines of filters and their actions.

use crate::action::{Action, Mirred, Police, Verdict};
use crate::constants::Constant;
use crate::control_group;
use crate::filter::{Classifier, ETH_P_ALL, ETH_P_CAN, Filter, Flow, U32};
use crate::handle::Handle;
use crate::text::selector::MOST_KEYS;
use candor_core::interface_name;

use super::{ADD, NotSayable, ematch, major_minor, option, rate};

pub(super) fn line(filter: &Filter) -> Result<String, NotSayable> {
    let Filter { parent, preference, protocol, handle, classifier, class, actions } = filter;
    if *preference == 0 {
        return Err(NotSayable::Number);
    }
    let parent = match *parent {
        Handle::INGRESS => "ingress".to_owned(),
        Handle::EGRESS => "egress".to_owned(),
        parent => format!("parent {}", major_minor(parent)),
    };
    let protocol = match *protocol {
        ETH_P_ALL => "all".to_owned(),
        ETH_P_CAN => "can".to_owned(),
        other => format!("0x{other:04x}"),
    };
    let (number, options) = classified(classifier, *handle)?;
    let class = match (class, classifier) {
        (Some(_), Classifier::Flow(_)) => return Err(NotSayable::FilterClass),
        (Some(_), Classifier::U32(u32)) if u32.divisor.is_some() => return Err(NotSayable::FilterClass),
        (Some(class), _) if class.major() == 0 && class.minor() == 0 => return Err(NotSayable::Number),
        (Some(class), _) => format!(" flowid {:x}:{:x}", class.major(), class.minor()),
        // Tc takes no expression as the last word of a line.
        (None, Classifier::Basic(Some(_))) if actions.is_empty() => " flowid none".to_owned(),
        (None, _) => String::new(),
    };
    let number = number.map_or_else(String::new, |number| format!(" handle {number}"));
    let actions = action_words(actions)?;
    let kind = classifier.kind();
    Ok(format!("filter{ADD} {parent} protocol {protocol} prio {preference}{number} {kind}{options}{class}{actions}"))
}

/// Kind, options and actions; control groups of candor's own program as in a gateway file.
pub(super) fn words(filter: &Filter) -> Result<String, NotSayable> {
    if let Classifier::ControlGroups(groups) = &filter.classifier {
        return Ok(control_group::words(groups) + &action_words(&filter.actions)?);
    }
    let (number, options) = classified(&filter.classifier, filter.handle)?;
    let mark = number.filter(|_| matches!(filter.classifier, Classifier::Fw { .. }));
    let mark = mark.map_or_else(String::new, |mark| format!(" {mark}"));
    Ok(format!("{}{mark}{options}{}", filter.classifier.kind(), action_words(&filter.actions)?))
}

/// The handle as `tc` writes it, and the options.
fn classified(classifier: &Classifier, handle: u32) -> Result<(Option<String>, String), NotSayable> {
    let number = (handle != 0).then(|| format!("0x{handle:x}"));
    Ok(match classifier {
        Classifier::Basic(None) | Classifier::Matchall => (number, String::new()),
        Classifier::Basic(Some(expression)) => (number, format!(" match '{}'", ematch::text(expression)?)),
        Classifier::ControlGroups(_) => return Err(NotSayable::Program),
        Classifier::Flow(_) if handle == 0 => return Err(NotSayable::Number),
        Classifier::Flow(flow) => (number, self::flow(flow)?),
        Classifier::Fw { mask: None } => (number, String::new()),
        Classifier::Fw { mask: Some(mask) } => (Some(format!("0x{handle:x}/0x{mask:x}")), String::new()),
        Classifier::Other { .. } => return Err(NotSayable::Other),
        Classifier::U32(node) => ((handle != 0).then(|| self::node(handle)), u32(node)?),
    })
}

fn node(handle: u32) -> String {
    let (table, slot, node) = (handle >> 20, handle >> 12 & 0xFF, handle & 0xFFF);
    match (slot, node) {
        (0, 0) => format!("{table:x}:"),
        (_, 0) => format!("{table:x}:{slot:x}:"),
        _ => format!("{table:x}:{slot:x}:{node:x}"),
    }
}

fn flow(flow: &Flow) -> Result<String, NotSayable> {
    let Flow { keys, hashed, base, divisor, perturb_s } = flow;
    let is_sorted = keys.windows(2).all(|pair| pair[0] < pair[1]);
    let is_wrong = keys.is_empty() || !is_sorted || (!hashed && (keys.len() > 1 || *perturb_s > 0));
    if is_wrong || *divisor == Some(0) || base.is_some_and(|base| base.minor() == 0) {
        return Err(NotSayable::Number);
    }
    let names: Vec<_> = keys.iter().filter_map(|key| key.word()).collect();
    let (mode, keys) = if *hashed { ("hash keys", names.join(",")) } else { ("map key", names.join(",")) };
    let perturb = (*perturb_s > 0).then_some(*perturb_s);
    let base = base.map(major_minor);
    Ok(format!(
        " {mode} {keys}{}{}{}",
        option("divisor", *divisor),
        option("perturb", perturb),
        option("baseclass", base)
    ))
}

fn u32(u32: &U32) -> Result<String, NotSayable> {
    let U32 { table, keys, divisor, link } = u32;
    if let Some(divisor) = divisor {
        let is_alone = *table == 0 && keys.is_empty() && link.is_none();
        let is_right = divisor.is_power_of_two() && *divisor <= 256;
        return if is_alone && is_right { Ok(format!(" divisor {divisor}")) } else { Err(NotSayable::Number) };
    }
    let has_twins = keys.iter().enumerate().any(|(at, key)| keys[..at].iter().any(|other| other.offset == key.offset));
    let is_odd = |offset: i32| offset % 4 != 0;
    if keys.is_empty()
        || keys.len() > MOST_KEYS
        || has_twins
        || keys.iter().any(|key| is_odd(key.offset))
        || table & 0xFFF != 0
    {
        return Err(NotSayable::Number);
    }
    let mut text = if *table == 0 { String::new() } else { format!(" ht {}", node(*table)) };
    for key in keys {
        if key.value & !key.mask != 0 {
            return Err(NotSayable::Number);
        }
        text.push_str(&format!(" match u32 0x{:08x} 0x{:08x} at {}", key.value, key.mask, key.offset));
    }
    if let Some(link) = link {
        let is_wrong = link.table & 0xF_FFFF != 0 || link.table == 0 || link.offset % 4 != 0 || link.offset > 32_767;
        if is_wrong {
            return Err(NotSayable::Number);
        }
        text.push_str(&format!(" link {}", node(link.table)));
        match (link.mask, link.offset) {
            (0, 0) => {}
            (mask, offset) => text.push_str(&format!(" hashkey mask 0x{mask:08x} at {offset}")),
        }
    }
    Ok(text)
}

pub(super) fn action_words(actions: &[Action]) -> Result<String, NotSayable> {
    let actions: Result<Vec<_>, _> = actions.iter().map(one).collect();
    Ok(actions?.iter().map(|action| format!(" action {action}")).collect())
}

fn verdict_word(verdict: Verdict) -> Result<&'static str, NotSayable> {
    verdict.word().ok_or(NotSayable::Action)
}

fn one(action: &Action) -> Result<String, NotSayable> {
    match action {
        Action::Gact { verdict } => Ok(format!("gact {}", verdict_word(*verdict)?)),
        Action::Mirred { interface, how, verdict } => mirred(interface, *how, *verdict),
        Action::Other { .. } => Err(NotSayable::Other),
        Action::Police(police) => self::police(*police),
        Action::Skbedit { priority: None, mark: None, .. } => Err(NotSayable::Action),
        Action::Skbedit { priority, mark, mask, verdict } => {
            let priority = priority.map(|priority| format!("{:x}:{:x}", priority.major(), priority.minor()));
            let bits = mask.map_or_else(String::new, |bits| format!("/0x{bits:x}"));
            let mark = mark.map(|mark| format!("0x{mark:x}{bits}"));
            Ok(format!("skbedit{}{} {}", option("priority", priority), option("mark", mark), verdict_word(*verdict)?))
        }
    }
}

fn mirred(name: &str, how: Mirred, verdict: Verdict) -> Result<String, NotSayable> {
    // Names that need no quotes in a shell.
    let is_plain = name.bytes().all(|byte| byte.is_ascii_alphanumeric() || b"-_.".contains(&byte));
    if interface_name::check(name).is_err() || !is_plain {
        return Err(NotSayable::Interface);
    }
    let verdict = match (how, verdict) {
        (Mirred::EgressRedirect | Mirred::IngressRedirect, Verdict::Stolen) => String::new(),
        (Mirred::EgressRedirect | Mirred::IngressRedirect, _) => return Err(NotSayable::Action),
        (_, verdict) => format!(" {}", verdict_word(verdict)?),
    };
    Ok(format!("mirred {} dev {name}{verdict}", how.word().ok_or(NotSayable::Action)?))
}

fn police(Police { bytes, frames, exceed, conform }: Police) -> Result<String, NotSayable> {
    let limit = match (bytes, frames) {
        (Some(bytes), None) if bytes.burst_bytes > 0 && bytes.mtu_bytes > 0 => {
            format!("rate {} burst {} mtu {}", rate(bytes.rate)?, bytes.burst_bytes, bytes.mtu_bytes)
        }
        (None, Some(frames)) if frames.per_second > 0 && frames.burst_frames > 0 => {
            format!("pkts_rate {} pkts_burst {}", frames.per_second, frames.burst_frames)
        }
        _ => return Err(NotSayable::Number),
    };
    Ok(format!("police {limit} conform-exceed {}/{}", verdict_word(exceed)?, verdict_word(conform)?))
}
