//! The papers' own methods: commands in a guest that answer in JSON.

use std::fs;
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicBool, Ordering};

use candor_config::engine::Engine;
use candor_core::frame::{Frame, RawId};
use candor_lab::arch::Arch;
use candor_lab::experiment::Rules;
use candor_lab::guest::{self, ClockShift, GuestSpec};
use candor_lab::job::{HOME, Topology};
use candor_lab::kernel::{ModuleParameter, Testbed, is_path};
use candor_lab::observer::Observer;
use serde::Deserialize;
use serde_json::Value;

use crate::cli::GuestLimits;
use crate::cmd::guests::{Failure, failures_text};
use crate::cmd::measure::guests::in_parallel;
use crate::cmd::tester::processors;
use candor_cli::render;

/// Debian's kernels, plain and real-time.
pub(super) const KERNELS: [&str; 6] =
    ["debian-6.1", "debian-6.1-rt", "debian-6.12", "debian-6.12-rt", "debian-7.3", "debian-7.3-rt"];

const QUICK_KERNELS: [&str; 2] = ["debian-6.1", "debian-6.1-rt"];

/// `debian-6.1-rt` → `6.1-rt`. A kernel of the user is named by its path.
pub(in crate::cmd) fn series(kernel: &str) -> &str {
    if is_path(kernel) {
        return kernel;
    }
    kernel.split_once('-').map_or(kernel, |(_origin, series)| series)
}

/// Kernels, frames and processor of a run.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(in crate::cmd) struct Extent<'k> {
    pub(in crate::cmd) kernels: &'k [&'k str],
    /// Of each cell; `None` for the paper's number.
    pub(in crate::cmd) frames: Option<u32>,
    pub(in crate::cmd) arch: Arch,
    pub(in crate::cmd) is_quick: bool,
}

impl Extent<'static> {
    pub(in crate::cmd) const WHOLE: Self =
        Self { kernels: &KERNELS, frames: None, arch: Arch::X86_64, is_quick: false };
    pub(super) const QUICK: Self = Self { kernels: &QUICK_KERNELS, frames: Some(500), is_quick: true, ..Self::WHOLE };
}

impl Extent<'_> {
    /// Distinguishes the files of different extents.
    pub(super) fn suffix(self) -> String {
        let quick = if self.is_quick { "-quick" } else { "" };
        let frames = self.frames.map_or_else(String::new, |frames| format!("-{frames}"));
        let arch = if self.arch.is_here() { String::new() } else { format!("-{}", self.arch.name()) };
        format!("{quick}{frames}{arch}")
    }
}

/// A command that runs in a guest of each kernel.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields, rename_all = "kebab-case")]
pub(in crate::cmd) struct Method {
    pub(super) topology: Topology,
    /// Without `candor-lab` and `--json`.
    pub(super) command: String,
    /// Additional options of a full run, and of a quick one.
    #[serde(default)]
    full: String,
    #[serde(default)]
    quick: String,
    /// Engines whose gateway files, with one route for all frames, are the last arguments.
    #[serde(default)]
    gateways: Vec<String>,
    /// Interfaces of the adapters in the topology wire.
    #[serde(default)]
    wire_adapters: Vec<String>,
    #[serde(default)]
    module_parameters: Vec<String>,
    /// An instruction lasts 2^shift ns.
    #[serde(default)]
    pub(super) shift: u8,
}

impl Method {
    /// Runs it on every kernel without an answer, with the paper's number of frames. Returns whether all succeeded.
    pub(super) fn run(
        &self,
        frames: Option<u32>,
        extent: Extent<'_>,
        folder: &Path,
        limits: GuestLimits,
    ) -> Result<bool, Box<dyn std::error::Error>> {
        fs::create_dir_all(folder).map_err(|error| format!("cannot create {}: {error}", folder.display()))?;
        let candor = guest::guest_lab()?;
        let todo: Vec<_> =
            extent.kernels.iter().filter(|kernel| !answer_file(folder, extent, kernel).is_file()).collect();
        let jobs = limits.jobs.map_or_else(processors, usize::from);
        let is_complete = AtomicBool::new(true);
        in_parallel(jobs, &todo, |kernel| {
            let path = answer_file(folder, extent, kernel);
            let outcome = self.ask(kernel, frames, extent, &candor, limits).and_then(|answer| {
                fs::write(&path, answer).map_err(|error| format!("cannot write {}: {error}", path.display()).into())
            });
            is_complete.fetch_and(outcome.is_ok(), Ordering::Relaxed);
            render::err(&match &outcome {
                Ok(()) => format!("candor-lab: {kernel}: ok\n"),
                Err(failure) => failures_text([(kernel.to_string(), failure)]),
            });
        });
        Ok(is_complete.into_inner())
    }

    /// The command in the guest, without gateway files.
    fn words(&self, frames: Option<u32>, extent: Extent<'_>) -> impl Iterator<Item = String> {
        let further = if extent.is_quick { &self.quick } else { &self.full };
        let frames = frames.map(|of_paper| ["--frames".to_owned(), extent.frames.unwrap_or(of_paper).to_string()]);
        let command = ["candor-lab", &self.command, further, "--json"];
        let words = command.into_iter().flat_map(|words| words.split_whitespace()).map(str::to_owned);
        words.chain(frames.into_iter().flatten())
    }

    /// The command on each kernel, one per line, for a method without gateway files and adapters.
    pub(super) fn text(&self, frames: Option<u32>, extent: Extent<'_>) -> String {
        let words = self.words(frames, extent).collect::<Vec<_>>().join(" ");
        let arch = if extent.arch.is_here() { String::new() } else { format!(" --arch {}", extent.arch.name()) };
        let guest = format!("--testbed icount{arch} --topology {}", self.topology.name());
        let on = |kernel: &&str| format!("candor-lab run {guest} --kernel {kernel} -- {words}\n");
        extent.kernels.iter().map(on).collect()
    }

    fn ask(
        &self,
        kernel: &str,
        frames: Option<u32>,
        extent: Extent<'_>,
        candor: &Path,
        limits: GuestLimits,
    ) -> Result<Vec<u8>, Failure> {
        let files: Vec<_> = self.gateways.iter().filter_map(|engine| gateway(engine)).collect();
        let words = self.words(frames, extent).chain(files.iter().map(|(name, _)| name.clone())).collect();
        let mut spec = GuestSpec::new(Testbed::Icount, self.topology, candor.to_owned(), words);
        spec.clock = ClockShift::new(self.shift).unwrap_or_default();
        spec.arch = extent.arch;
        spec.kernel = Some(kernel.to_owned());
        spec.timeout = limits.timeout;
        spec.wire_adapters = self.wire_adapters.clone();
        let parameters = self.module_parameters.iter().map(|text| text.parse::<ModuleParameter>());
        spec.module_parameters = parameters.collect::<Result<_, _>>().map_err(|error| error.to_string())?;
        spec.files.extend(files.into_iter().map(|(name, text)| (format!("{HOME}/{name}"), text.into_bytes())));
        let mut output = Output::default();
        let exit = guest::run(&spec, &mut output)?;
        if exit.status != 0 {
            return Err(format!(
                "{} failed with exit status {}: {}",
                self.command,
                exit.status,
                String::from_utf8_lossy(&output.complaints).trim_end()
            )
            .into());
        }
        serde_json::from_slice::<Value>(&output.answer).map_err(|error| format!("the answer is not JSON: {error}"))?;
        Ok(output.answer)
    }
}

/// Name and text of a gateway file that forwards all frames between the cards of a guest.
pub(super) fn gateway(engine: &str) -> Option<(String, String)> {
    let engine = Engine::named(engine)?;
    // Any frame: the rules do not look at it.
    let frame = Frame::classic(RawId(0), &[]).ok()?;
    // Controllers echo frames sent from a ring despite the socket option.
    let echo = matches!(engine, Engine::User(engine) if engine.sender().has_ring());
    let text = Rules::all().gateway_file(engine, ("can2", "can3"), echo, &frame);
    Some((format!("{}.toml", engine.name()), text))
}

pub(super) fn answer(folder: &Path, extent: Extent<'_>, kernel: &str) -> Option<Value> {
    serde_json::from_slice(&fs::read(answer_file(folder, extent, kernel)).ok()?).ok()
}

pub(super) fn answer_file(folder: &Path, extent: Extent<'_>, kernel: &str) -> PathBuf {
    folder.join(format!("{}{}.json", kernel.replace('/', "_"), extent.suffix()))
}

#[derive(Default)]
struct Output {
    answer: Vec<u8>,
    complaints: Vec<u8>,
}

impl Observer for Output {
    fn notice(&mut self, text: &str) {
        render::err(&format!("candor-lab: {text}\n"));
    }

    fn fetched(&mut self, what: &str, bytes: u64, total: u64) {
        if bytes == total {
            render::err(&format!("candor-lab: fetched {what}\n"));
        }
    }

    fn stdout(&mut self, bytes: &[u8]) {
        self.answer.extend_from_slice(bytes);
    }

    fn stderr(&mut self, bytes: &[u8]) {
        self.complaints.extend_from_slice(bytes);
    }
}

/// The value at a path of steps, separated by slashes: `key` of an object, `key=value` for the first element of a list
/// that has it, and `key=value#2` for the second.
pub(super) fn at<'a>(value: &'a Value, path: &str) -> Option<&'a Value> {
    path.split('/').try_fold(value, |value, step| {
        let Some((key, wanted)) = step.split_once('=') else { return value.get(step) };
        let (wanted, number) = wanted.split_once('#').unwrap_or((wanted, "1"));
        let has = |one: &&Value| match &one[key] {
            Value::String(text) => text == wanted,
            Value::Number(number) => number.to_string() == wanted,
            _ => false,
        };
        value.as_array()?.iter().filter(has).nth(number.parse::<usize>().ok()?.checked_sub(1)?)
    })
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn paths_find_elements_by_their_values() {
        let value = json!({ "measured": [{ "before": "prio1", "gap_ns": 0, "p50_ns": 1 }, { "before": "htb", "gap_ns": 5, "p50_ns": 2 }] });
        assert_eq!(at(&value, "measured/before=htb/p50_ns"), Some(&json!(2)));
        assert_eq!(at(&value, "measured/gap_ns=0/p50_ns"), Some(&json!(1)));
        assert_eq!(at(&value, "measured/before=sfq/p50_ns"), None);
        assert_eq!(at(&value, "measured/before=htb#1/p50_ns"), Some(&json!(2)));
        assert_eq!(at(&value, "measured/before=htb#2/p50_ns"), None);
        assert_eq!(at(&value, "before=htb"), None);
    }

    #[test]
    fn gateway_files_of_methods_load() {
        let papers = super::super::data::load().unwrap();
        let methods =
            papers.iter().flat_map(|paper| &paper.experiments).filter_map(|experiment| experiment.method.as_ref());
        for engine in methods.flat_map(|method| &method.gateways) {
            let (_, text) = gateway(engine).unwrap_or_else(|| panic!("{engine}"));
            assert!(candor_config::config::load(text.as_bytes()).is_ok(), "{text}");
        }
    }
}
