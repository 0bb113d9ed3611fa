//! `[realtime]`.

use toml::de::DeValue;

use crate::config::spec::{CpusSpec, RealtimeSpec};
use candor_core::diagnostic::Findings;
use candor_core::document::Spanned;
use candor_core::document::entry::{Entry, entries, put};

const KEYS: &[&str] = &["sched", "cpus", "lock-memory", "cpu-dma-latency"];

pub(super) fn realtime(entry: &Entry<'_>, findings: &mut Findings) -> Option<RealtimeSpec> {
    let table = entry.table("a table: [realtime], and below it lines such as sched = \"fifo:80\"", findings)?;
    let mut realtime = RealtimeSpec::default();
    for entry in entries(table) {
        let is_sound = match entry.key {
            "sched" => put(&mut realtime.sched, text(&entry, "a policy, such as \"fifo:80\"", ["fifo:", ""], findings)),
            "cpus" => put(&mut realtime.cpus, cpus(&entry, findings)),
            "lock-memory" => put(&mut realtime.lock_memory, entry.boolean(findings)),
            "cpu-dma-latency" => {
                let wanted = "a time with its unit, such as \"0us\"";
                put(&mut realtime.cpu_dma_latency, text(&entry, wanted, ["", "us"], findings))
            }
            _ => {
                entry.unknown("`realtime`", KEYS, findings);
                false
            }
        };
        realtime.is_torn |= !is_sound;
    }
    Some(realtime)
}

/// A number alone deserves an answer that says what belongs around it.
fn text(entry: &Entry<'_>, wanted: &str, around: [&str; 2], findings: &mut Findings) -> Option<Spanned<String>> {
    match entry.value.get_ref() {
        DeValue::Integer(number) => {
            let [before, behind] = around;
            entry.wrong_type(wanted, Some(format!("write \"{before}{number}{behind}\"")), findings)
        }
        _ => entry.string(wanted, findings),
    }
}

fn cpus(entry: &Entry<'_>, findings: &mut Findings) -> Option<CpusSpec> {
    const WANTED: &str = "a list of numbers, such as [2, 3]";
    let DeValue::Array(array) = entry.value.get_ref() else {
        let number = match entry.value.get_ref() {
            DeValue::Integer(number) => number.to_string(),
            _ => "2".to_owned(),
        };
        return entry.wrong_type(WANTED, Some(format!("write [{number}]")), findings);
    };
    let numbers: Vec<_> = array.iter().map(|item| entry.with_value(item).integer(WANTED, findings)).collect();
    Some(CpusSpec { span: entry.value.span(), numbers: numbers.into_iter().collect::<Option<_>>()? })
}
