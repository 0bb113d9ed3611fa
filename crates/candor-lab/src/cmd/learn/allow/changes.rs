//! What a later log has that the logs had not.

use std::fmt::Write as _;

use candor_cli::gateway_file::plural;
use candor_learn::allow::{Constant, Difference, Observed, differences, observe};
use candor_learn::{Recorded, name};

use super::{Entry, Logs, Verdicts, list};

#[derive(Debug)]
pub(super) struct Changes {
    pub(super) name: String,
    pub(super) found: Vec<(u32, Difference)>,
}

impl Changes {
    pub(super) fn of(entries: &[Entry], later: &[Vec<Recorded>], name: String) -> Self {
        let before: Vec<Observed> = entries.iter().map(|one| one.seen.clone()).collect();
        Self { name, found: differences(&before, &observe(later)) }
    }
}

pub(super) fn text(logs: &Logs, changes: &Changes, verdicts: &Verdicts) -> String {
    let found = match changes.found.len() {
        0 => "no difference".to_owned(),
        count => plural(count, "difference"),
    };
    let mut text = format!("{} against {}: {found}\n", changes.name, logs.names.join(", "));
    for (id, difference) in &changes.found {
        let mark = match difference {
            Difference::New(_) => '+',
            Difference::Gone(_) => '-',
            _ => '~',
        };
        let _ = writeln!(text, "{mark} {}: {}", name(*id), words(difference));
    }
    text + &list::replay(verdicts, &[("", "By the list of the earlier logs")])
}

pub(super) fn words(difference: &Difference) -> String {
    let ms = |ns: &u64| format!("{:.3} ms", *ns as f64 / 1e6);
    match difference {
        Difference::New(frames) => format!("new, {}", plural(*frames, "frame")),
        Difference::Gone(frames) => format!("gone; it had {}", plural(*frames, "frame")),
        Difference::Lengths(lengths) => {
            let each =
                |(len, frames): &(usize, usize)| format!("{} ({})", plural(*len, "byte"), plural(*frames, "frame"));
            format!("new length: {}", lengths.iter().map(each).collect::<Vec<_>>().join(", "))
        }
        Difference::Constant(bits) => {
            format!("{} that never changed did: {}", plural(bits.bits() as usize, "bit"), places(bits))
        }
        Difference::Period(before, later) => format!("period {}, it was {}", ms(later), ms(before)),
        Difference::Cyclic(true) => "it has a period now, and had none".into(),
        Difference::Cyclic(false) => "it has no period any more".into(),
    }
}

/// The bits by byte: `byte 3 mask 0F, was 02`.
fn places(bits: &Constant) -> String {
    let bytes = bits.mask.iter().zip(&bits.value).enumerate().filter(|(_, (mask, _))| **mask != 0);
    bytes
        .map(|(at, (mask, value))| format!("byte {at} mask {mask:02X}, was {value:02X}"))
        .collect::<Vec<_>>()
        .join("; ")
}
