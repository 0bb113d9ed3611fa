//! Actions behind a filter.

use super::parts::{NotSayable, option, rate};
use crate::action::{Action, Mirred, Police, Verdict};
use crate::constants::Constant;
use candor_core::interface_name;

pub(super) fn all(actions: &[Action]) -> Result<String, NotSayable> {
    let actions: Result<Vec<_>, _> = actions.iter().map(one).collect();
    Ok(actions?.iter().map(|action| format!(" action {action}")).collect())
}

fn word(verdict: Verdict) -> Result<&'static str, NotSayable> {
    verdict.word().ok_or(NotSayable::Action)
}

fn one(action: &Action) -> Result<String, NotSayable> {
    match action {
        Action::Gact { verdict } => Ok(format!("gact {}", word(*verdict)?)),
        Action::Mirred { interface, how, verdict } => mirred(interface, *how, *verdict),
        Action::Other { .. } => Err(NotSayable::Other),
        Action::Police(police) => self::police(*police),
        Action::Skbedit { priority: None, mark: None, .. } => Err(NotSayable::Action),
        Action::Skbedit { priority, mark, verdict } => {
            let priority = priority.map(|priority| format!("{:x}:{:x}", priority.major(), priority.minor()));
            let mark = mark.map(|mark| format!("0x{mark:x}"));
            Ok(format!("skbedit{}{} {}", option("priority", priority), option("mark", mark), word(*verdict)?))
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
        (_, verdict) => format!(" {}", word(verdict)?),
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
    Ok(format!("police {limit} conform-exceed {}/{}", word(exceed)?, word(conform)?))
}
