//! A profile as a table, as JSON and as a flame graph.

use std::collections::BTreeMap;
use std::fmt::Write as _;

use candor_lab::guest::Platform;
use candor_lab::job::Topology;
use candor_lab::profile::Profile;
use inferno::{differential, flamegraph};
use serde::{Deserialize, Serialize};

use super::Failed;
use crate::cmd::method;

/// The profile of a gateway, and of another one that it is compared with.
#[derive(Clone, Debug, Serialize, Deserialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
pub(crate) struct View {
    #[serde(flatten)]
    pub(super) profile: Measured,
    #[serde(default)]
    against: Option<Measured>,
}

#[derive(Clone, Debug, Serialize, Deserialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
pub(super) struct Measured {
    gateway: String,
    topology: String,
    kernel: String,
    kernel_version: String,
    /// Median latency of all measured frames.
    p50_ns: u64,
    /// Latency of the profiled frame.
    latency_ns: u64,
    /// Counted from stamp to stamp.
    instructions: u64,
    /// Traced frames. The profiled one is that with the latency next to the median.
    frames: usize,
    functions: Vec<FunctionView>,
    stacks: Vec<StackView>,
}

#[derive(Clone, Debug, Serialize, Deserialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
struct FunctionView {
    /// `kernel`, the module in brackets, or the program.
    place: String,
    function: String,
    instructions: u64,
}

#[derive(Clone, Debug, Serialize, Deserialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
struct StackView {
    /// Functions separated by `;`, the outermost first.
    stack: String,
    instructions: u64,
}

impl Measured {
    pub(super) fn of(gateway: String, platform: &Platform, topology: Topology, profile: &Profile) -> Self {
        let functions = profile.functions().into_iter().map(|(function, instructions)| FunctionView {
            place: function.place,
            function: function.name,
            instructions,
        });
        let stacks = profile.folded().into_iter().filter_map(|line| {
            let (stack, instructions) = line.rsplit_once(' ')?;
            Some(StackView { stack: stack.to_owned(), instructions: instructions.parse().ok()? })
        });
        Self {
            gateway,
            topology: topology.name().to_owned(),
            kernel: platform.kernel.clone(),
            kernel_version: platform.kernel_version.clone(),
            p50_ns: profile.p50_ns,
            latency_ns: profile.latency_ns,
            instructions: profile.instructions,
            frames: profile.frames,
            functions: functions.collect(),
            stacks: stacks.collect(),
        }
    }

    fn title(&self) -> String {
        format!("{} on {} ({}), {}", self.gateway, self.kernel, self.kernel_version, self.topology)
    }

    fn places(&self) -> BTreeMap<&str, u64> {
        let mut places = BTreeMap::new();
        for row in &self.functions {
            *places.entry(row.place.as_str()).or_default() += row.instructions;
        }
        places
    }

    fn folded(&self) -> Vec<String> {
        self.stacks.iter().map(|row| format!("{} {}", row.stack, row.instructions)).collect()
    }
}

impl View {
    pub(super) fn of(profile: Measured, against: Option<Measured>) -> Self {
        Self { profile, against }
    }

    pub(super) fn folded(&self) -> Vec<String> {
        self.profile.folded()
    }

    pub(super) fn flame_graph(&self) -> Result<Vec<u8>, Failed> {
        let mut options = flamegraph::Options::default();
        "instructions".clone_into(&mut options.count_name);
        options.title = self.profile.title();
        let mut svg = Vec::new();
        match &self.against {
            None => flamegraph::from_lines(&mut options, self.folded().iter().map(String::as_str), &mut svg)?,
            Some(other) => {
                options.subtitle = Some(format!("red: more than {}, blue: less", other.title()));
                let (before, after) = (other.folded().join("\n"), self.folded().join("\n"));
                let mut lines = Vec::new();
                differential::from_readers(
                    differential::Options::default(),
                    before.as_bytes(),
                    after.as_bytes(),
                    &mut lines,
                )?;
                flamegraph::from_reader(&mut options, &lines[..], &mut svg)?;
            }
        }
        Ok(svg)
    }

    pub(super) fn text(&self, top: usize) -> String {
        match &self.against {
            None => self.profile.text(top),
            Some(other) => self.profile.difference(other, top),
        }
    }
}

impl Measured {
    fn summary(&self) -> String {
        format!(
            "{}\n{} instructions from stamp to stamp of a frame of {} ns (median: {} ns; {} frames traced)\n",
            self.title(),
            self.instructions,
            self.latency_ns,
            self.p50_ns,
            self.frames
        )
    }

    fn text(&self, top: usize) -> String {
        let row = |place: &str, function: &str, instructions: u64| {
            vec![
                place.to_owned(),
                function.to_owned(),
                instructions.to_string(),
                share(instructions, self.instructions),
            ]
        };
        let mut places: Vec<_> = self.places().into_iter().collect();
        places.sort_by_key(|&(_, instructions)| std::cmp::Reverse(instructions));
        let mut text = self.summary() + "\n";
        text +=
            &table(["place", "", "instructions", "share"], places.iter().map(|&(place, count)| row(place, "", count)));
        let shown = self.functions.iter().take(top);
        let rows = shown.map(|found| row(&found.place, &found.function, found.instructions));
        let rest: u64 = self.functions.iter().skip(top).map(|found| found.instructions).sum();
        let others = self.functions.len().saturating_sub(top);
        let rest = (others > 0).then(|| row("", &format!("{others} others"), rest));
        text + "\n" + &table(["place", "function", "instructions", "share"], rows.chain(rest))
    }

    /// The functions by the size of their difference.
    fn difference(&self, other: &Self, top: usize) -> String {
        let mut rows: BTreeMap<(&str, &str), [u64; 2]> = BTreeMap::new();
        for (side, measured) in [other, self].into_iter().enumerate() {
            for found in &measured.functions {
                rows.entry((&found.place, &found.function)).or_default()[side] += found.instructions;
            }
        }
        let signed = |[before, after]: [u64; 2]| after.cast_signed() - before.cast_signed();
        let line = |place: &str, function: &str, counts: [u64; 2]| {
            let [before, after] = counts.map(|count| count.to_string());
            vec![place.to_owned(), function.to_owned(), before, after, format!("{:+}", signed(counts))]
        };
        let mut places: BTreeMap<&str, [u64; 2]> = BTreeMap::new();
        for (&(place, _), counts) in &rows {
            let sum = places.entry(place).or_default();
            *sum = [sum[0] + counts[0], sum[1] + counts[1]];
        }
        let mut places: Vec<_> = places.into_iter().collect();
        places.sort_by_key(|&(_, counts)| std::cmp::Reverse(signed(counts).abs()));
        let mut sorted: Vec<_> = rows.into_iter().filter(|(_, [before, after])| before != after).collect();
        sorted.sort_by_key(|&(_, counts)| std::cmp::Reverse(signed(counts).abs()));
        let rest = sorted.split_off(top.min(sorted.len()));
        let others = (!rest.is_empty()).then(|| {
            let sum = rest.iter().fold([0, 0], |sum, (_, counts)| [sum[0] + counts[0], sum[1] + counts[1]]);
            line("", &format!("{} others that differ", rest.len()), sum)
        });
        let total = line("", "all", [other.instructions, self.instructions]);
        let mut text = String::new();
        let _ = writeln!(text, "A: {}B: {}", other.summary(), self.summary());
        let places = places.iter().map(|&(place, counts)| line(place, "", counts)).chain([total]);
        text += &table(["place", "", "A", "B", "B - A"], places);
        if sorted.is_empty() {
            return text + "\nNothing differs.\n";
        }
        let rows = sorted.iter().map(|&((place, function), counts)| line(place, function, counts)).chain(others);
        text + "\n" + &table(["place", "function", "A", "B", "B - A"], rows)
    }
}

/// The first two columns are text.
fn table<const N: usize>(header: [&str; N], rows: impl Iterator<Item = Vec<String>>) -> String {
    method::table(header, rows)
}

fn share(part: u64, whole: u64) -> String {
    #[expect(clippy::cast_precision_loss, reason = "a share with one decimal place")]
    let share = part as f64 * 100.0 / whole.max(1) as f64;
    format!("{share:.1} %")
}

#[cfg(test)]
mod tests {
    use super::*;

    fn measured(instructions: u64) -> Measured {
        let [gateway, topology, kernel, kernel_version] =
            ["kernel", "kvaser", "debian-6.1", "6.1.9-1"].map(str::to_owned);
        let functions = vec![FunctionView { place: "kernel".into(), function: "memset".into(), instructions }];
        let (p50_ns, latency_ns) = (instructions, instructions);
        Measured {
            gateway,
            topology,
            kernel,
            kernel_version,
            p50_ns,
            latency_ns,
            instructions,
            frames: 12,
            functions,
            stacks: Vec::new(),
        }
    }

    #[test]
    fn equal_profiles_have_no_table_of_functions() {
        let text = |other| View::of(measured(7), Some(measured(other))).text(25);
        assert!(text(7).ends_with("\nNothing differs.\n"), "{}", text(7));
        assert!(text(9).contains("memset") && !text(9).contains("Nothing differs"), "{}", text(9));
    }
}
