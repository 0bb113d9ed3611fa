//! `[realtime]` as written.

use toml::de::DeValue;

use candor_core::diagnostic::{Findings, Span};
use candor_core::document::entry::{Entry, put};
use candor_core::document::keys::{Key, Shape, Value, one_or_list};
use candor_core::document::{Flag, Number, Text};
use candor_core::keys;

keys! {
    /// `[realtime]`.
    pub struct RealtimeSpec {}
    "sched" => sched: Option<Text> | policy = Key::new("a policy, such as \"fifo:80\"")
        .shape(Shape::Text)
        .aliases(&["policy", "priority", "scheduler"])
        .about("`\"fifo:N\"`, `\"rr:N\"` (N is 1 to 99) or `\"other\"`: scheduling policy of the forwarding threads")
        .default("inherited")
        .kernel("`sched_setscheduler()`");
    "cpus" => cpus: Option<CpusSpec> = Key::new("a list of numbers, such as [2, 3]")
        .aliases(&["affinity", "cpu"])
        .about("list of the CPUs on which they run, such as `[2, 3]`")
        .default("inherited")
        .kernel("`sched_setaffinity()`");
    "lock-memory" => lock_memory: Option<Flag> = Key::new("")
        .aliases(&["mlock", "mlockall"])
        .about("pre-fault all memory of the process and lock it")
        .default("`false`")
        .kernel("`mlockall(MCL_CURRENT \\| MCL_FUTURE)`");
    "cpu-dma-latency" => cpu_dma_latency: Option<Text> | latency =
        Key::new("a time with its unit, such as \"0us\"")
        .shape(Shape::Text)
        .aliases(&["dma-latency"])
        .about("longest time a CPU may take to wake up while candor runs, such as `\"0us\"`")
        .default("no limit")
        .kernel("`/dev/cpu_dma_latency`, kept open");
}

/// `cpus` of `[realtime]`.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct CpusSpec {
    /// From the start to the end of the value.
    pub span: Span,
    pub numbers: Vec<Number>,
}

fn policy(into: &mut Option<Text>, entry: &Entry<'_>, key: &Key, findings: &mut Findings) -> bool {
    put(into, text(entry, key, ["fifo:", ""], findings))
}

fn latency(into: &mut Option<Text>, entry: &Entry<'_>, key: &Key, findings: &mut Findings) -> bool {
    put(into, text(entry, key, ["", "us"], findings))
}

/// A time, in milliseconds if a number is written.
pub(super) fn time(into: &mut Option<Text>, entry: &Entry<'_>, key: &Key, findings: &mut Findings) -> bool {
    put(into, text(entry, key, ["", "ms"], findings))
}

/// Text. The finding about a number alone says what belongs around it.
fn text(entry: &Entry<'_>, key: &Key, [before, after]: [&str; 2], findings: &mut Findings) -> Option<Text> {
    match entry.value.get_ref() {
        DeValue::Integer(number) => {
            entry.wrong_type(key.wanted, Some(format!("write \"{before}{number}{after}\"")), findings)
        }
        _ => entry.string(key.wanted, findings),
    }
}

impl Value for CpusSpec {
    const SHAPE: Shape = Shape::List(&Shape::Integer(0, i64::MAX));

    fn read(entry: &Entry<'_>, key: &Key, findings: &mut Findings) -> Option<Self> {
        let number = match entry.value.get_ref() {
            DeValue::Array(_) => {
                let mut numbers = None;
                one_or_list(&mut numbers, entry, key, findings);
                return numbers.map(|numbers| Self { span: entry.span(), numbers });
            }
            DeValue::Integer(number) => number.to_string(),
            _ => "2".to_owned(),
        };
        entry.wrong_type(key.wanted, Some(format!("write [{number}]")), findings)
    }
}
