//! `candor-lab timeline`: a fixed plan on every kernel, its cost from kernel to kernel, and a gate for the last one.
//!
//! ```text
//!  plan.toml ─▶ Experiment (plan or method) ─▶ a guest of each kernel ─▶ DIR/KERNEL_VERSION/PROGRAMS ─▶ Line ─▶ table, SVG, gate
//! ```

mod lines;
mod output;

use std::collections::BTreeMap;
use std::fs;
use std::path::{Path, PathBuf};

use candor_cli::{Exit, Outcome, render};
use candor_core::causes;
use candor_lab::arch::Arch;
use candor_lab::cache::Cache;
use candor_lab::experiment::name_of;
use candor_lab::guest;
use candor_lab::image;
use candor_lab::kernel::{self, Kernel, Testbed, is_path};
use serde::Deserialize;

use super::papers::{Experiment, Extent, Measurement, Term};
use crate::cli::TimelineArgs;
use lines::{Line, NotCompared, Point, Slower};
pub(super) use output::View;

fn is_real_time(kernel: &str) -> bool {
    kernel.ends_with("-rt") && !is_path(kernel)
}

/// The fixed plan.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
struct Fixed {
    /// Paths into the JSON answers of the methods, by name of a [`Term`].
    answers: BTreeMap<String, String>,
    #[serde(rename = "experiment")]
    experiments: Vec<Experiment>,
    #[serde(rename = "row")]
    rows: Vec<Row>,
}

/// A measurement on every kernel.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
struct Row {
    name: String,
    experiment: String,
    of: Term,
}

/// The verdict of `--fail-above`.
#[derive(Debug)]
struct Gate<'a> {
    slower: Vec<Slower<'a>>,
    not_compared: Vec<NotCompared<'a>>,
}

impl<'a> Gate<'a> {
    fn of(names: &[&'a str], lines: &'a [Line], share: f64) -> Self {
        Self { slower: lines::slower(names, lines, share), not_compared: lines::not_compared(names, lines) }
    }
}

/// `is_whole`: all kernels are measured.
fn exit(is_whole: bool, gate: Option<&Gate<'_>>) -> Exit {
    match gate {
        Some(gate) if !gate.slower.is_empty() => Exit::No,
        Some(gate) if !gate.not_compared.is_empty() => Exit::CouldNotRun,
        _ if is_whole => Exit::Fine,
        _ => Exit::No,
    }
}

pub(crate) fn run(args: &TimelineArgs) -> Outcome {
    let fixed = fixed()?;
    let kernels = kernels(args)?;
    if args.show_plan {
        return render::answer(&fixed.plan(&kernels, args.arch), Exit::Fine);
    }
    if args.fail_above.is_some() && !lines::has_pair(kernels.iter().map(|kernel| kernel.name.as_str())) {
        return Err("--fail-above compares the last kernel with the one before it: name two with --kernel".into());
    }
    let programs = programs()?;
    let mut is_whole = true;
    let mut points = Vec::new();
    for kernel in &kernels {
        let folder = folder(args, kernel, &programs);
        let (point, is_measured) = fixed.measure(kernel, &folder, args)?;
        is_whole &= is_measured;
        points.push(point);
    }
    let names: Vec<&str> = fixed.rows.iter().map(|row| row.name.as_str()).collect();
    let lines = Line::all(points);
    let gate = args.fail_above.map(|share| Gate::of(&names, &lines, share));
    output::write(&args.out, &names, &lines)?;
    let exit = exit(is_whole, gate.as_ref());
    if args.json {
        return render::answer(&render::object(&View::of(&names, &lines, gate.as_ref())), exit);
    }
    render::answer(&output::text(&names, &lines, gate.as_ref(), args), exit)
}

fn fixed() -> Result<Fixed, String> {
    toml::from_str(include_str!("timeline/plan.toml")).map_err(|error| format!("timeline/plan.toml: {error}"))
}

/// Those named, with those of the user last, or all plain ones from the oldest to the newest; with `--rt` also the real-time ones.
fn kernels(args: &TimelineArgs) -> Result<Vec<Kernel>, String> {
    let cache = Cache::of_user().map_err(|error| error.to_string())?.of(args.arch);
    let known: Vec<Kernel> =
        kernel::list(&cache).into_iter().filter(|kernel| kernel.testbed == Testbed::Icount).collect();
    if args.kernel.is_empty() {
        return Ok(known.into_iter().filter(|kernel| args.rt || !is_real_time(&kernel.name)).collect());
    }
    let named = |name: &String| {
        let found = known.iter().find(|kernel| kernel.name == *name).cloned();
        found.ok_or_else(|| {
            format!(
                "no kernel {name} that counts instructions; candor-lab kernels lists all; the path of your own contains a / \
                 or ends in .deb"
            )
        })
    };
    let (own, names): (Vec<_>, Vec<_>) = args.kernel.iter().partition(|name| is_path(name));
    let own = own.into_iter().map(|path| own_kernel(&cache, path));
    names.into_iter().map(named).chain(own).collect()
}

/// A package or a build tree, whose version is the start of its checksum.
fn own_kernel(cache: &Cache, name: &str) -> Result<Kernel, String> {
    let path = Path::new(name);
    fs::metadata(path).map_err(|error| format!("cannot use {name}: {error}"))?;
    if !kernel::is_own(cache.arch(), path) {
        return Err(format!("{name} is neither a Debian package (.deb) nor the directory of a built kernel"));
    }
    let sha256 = kernel::checksum(cache, path, &image::loadable()).map_err(|error| causes::in_full(&error))?;
    Ok(Kernel {
        name: name.to_owned(),
        testbed: Testbed::Icount,
        release: None,
        version: sha256.chars().take(VERSION_DIGITS).collect(),
        suite: String::new(),
        pinned: false,
        cached: false,
    })
}

/// Of the checksum of a kernel of the user.
const VERSION_DIGITS: usize = 12;

/// Identifies the programs that guests run: what another build has measured is measured again.
fn programs() -> Result<String, Box<dyn std::error::Error>> {
    let lab = guest::guest_lab()?;
    let read = |path: &Path| fs::read(path).map_err(|error| format!("cannot read {}: {error}", path.display()));
    Ok(name_of(&[read(&lab)?, read(&lab.with_file_name("candor"))?].concat()))
}

/// Of what one build measures on one version of a kernel.
fn folder(args: &TimelineArgs, kernel: &Kernel, programs: &str) -> PathBuf {
    let arch = if args.arch.is_here() { String::new() } else { format!("{}-", args.arch.name()) };
    let name = kernel.name.trim_start_matches(['.', '/']).replace('/', "_");
    args.out.join("records").join(format!("{arch}{name}_{}", kernel.version)).join(programs)
}

impl Fixed {
    /// The plan with these kernels, and as comments what no plan can describe.
    fn plan(&self, kernels: &[Kernel], arch: Arch) -> String {
        let kernels: Vec<&str> = kernels.iter().map(|kernel| kernel.name.as_str()).collect();
        let extent = Extent { kernels: &kernels, arch, ..Extent::WHOLE };
        let mut text = String::new();
        for experiment in &self.experiments {
            let rows = self.rows.iter().filter(|row| row.experiment == *experiment.name.get_ref());
            text += &rows.map(|row| format!("# {}\n", row.name)).collect::<String>();
            text += &experiment.plan_text(extent).unwrap_or_default();
            let commands = experiment.commands(extent).unwrap_or_default();
            text += &commands.lines().map(|line| format!("#   {line}\n")).collect::<String>();
            text.push('\n');
        }
        text.trim_end().to_owned() + "\n"
    }

    /// Measures what is missing. Returns all values, and whether every guest succeeded.
    fn measure(
        &self,
        kernel: &Kernel,
        folder: &Path,
        args: &TimelineArgs,
    ) -> Result<(Point, bool), Box<dyn std::error::Error>> {
        let kernels = [kernel.name.as_str()];
        let extent = Extent { kernels: &kernels, arch: args.arch, ..Extent::WHOLE };
        let mut is_whole = true;
        let mut measured: BTreeMap<&str, Measurement> = BTreeMap::new();
        for experiment in &self.experiments {
            let name = experiment.name.get_ref().as_str();
            render::err(&format!("candor-lab: {} {}: {name}\n", kernel.name, kernel.version));
            is_whole &= experiment.measure(extent, folder, args.limits)?;
            measured.insert(name, experiment.read(&self.answers, extent, folder)?);
        }
        let value = |row: &Row| measured.get(row.experiment.as_str())?.value(&row.of, Some(&kernel.name), true);
        // An instruction lasts 1 ns; latencies of cells are in µs.
        let instructions = |row: &Row| {
            let unit = if self.is_plan(&row.experiment) { 1000.0 } else { 1.0 };
            #[expect(clippy::cast_possible_truncation, clippy::cast_sign_loss, reason = "a number of instructions")]
            value(row).map(|value| (value * unit).round() as u64)
        };
        let instructions: Vec<Option<u64>> = self.rows.iter().map(instructions).collect();
        let is_whole = is_whole && instructions.iter().all(Option::is_some);
        Ok((Point { kernel: kernel.name.clone(), version: kernel.version.clone(), instructions }, is_whole))
    }

    fn is_plan(&self, name: &str) -> bool {
        self.experiments.iter().any(|experiment| experiment.name.get_ref() == name && experiment.method.is_none())
    }
}

#[cfg(test)]
mod tests {
    use candor_lab::experiment::{self, Available};

    use super::*;

    fn kernel(name: &str) -> Kernel {
        let (version, suite) = ("1".to_owned(), String::new());
        let (release, testbed) = (None, Testbed::Icount);
        Kernel { name: name.to_owned(), testbed, release, version, suite, pinned: true, cached: true }
    }

    #[test]
    fn shown_plan_has_the_chosen_kernels_and_all_rows() {
        let fixed = fixed().unwrap();
        let text = fixed.plan(&["debian-7.0", "../linux"].map(kernel), Arch::X86_64);
        assert!(experiment::load(text.as_bytes(), Available::default()).is_ok(), "{text}");
        for row in &fixed.rows {
            assert!(text.contains(&format!("# {}\n", row.name)), "{text}");
        }
        assert!(text.contains("kernel = [\"debian-7.0\", \"../linux\"]\n"), "{text}");
        assert!(
            text.ends_with(
                "#   candor-lab run --testbed icount --topology vcan --kernel ../linux -- candor-lab can-send --interface vcan0 \
                 --set-ups em-canid --trace --gap 1ms --json --frames 1000\n"
            ),
            "{text}"
        );
    }

    #[test]
    fn gate_without_a_comparison_could_not_run() {
        let names = ["x", "y"];
        let exit_of = |last: [u64; 2]| {
            let points = [lines::tests::point("a", [100, 100]), lines::tests::point("b", last)];
            let lines = Line::all(points.to_vec());
            exit(last.iter().all(|count| *count > 0), Some(&Gate::of(&names, &lines, 0.02)))
        };
        assert_eq!(
            [[100, 100], [100, 0], [0, 0], [110, 0]].map(exit_of),
            [Exit::Fine, Exit::CouldNotRun, Exit::CouldNotRun, Exit::No]
        );
        assert_eq!([true, false].map(|is_whole| exit(is_whole, None)), [Exit::Fine, Exit::No]);
    }

    #[test]
    fn own_kernels_are_named_by_their_checksum() {
        let folder = tempfile::tempdir().unwrap();
        let cache = Cache::at(folder.path().to_owned()).of(Arch::X86_64);
        let at = |name: &str| folder.path().join(name).display().to_string();
        fs::create_dir(at("linux")).unwrap();
        let refused = own_kernel(&cache, &at("linux")).unwrap_err();
        assert!(refused.ends_with("nor the directory of a built kernel"), "{refused}");
        fs::write(at("linux/vmlinux"), "x").unwrap();
        assert_eq!(own_kernel(&cache, &at("linux")).unwrap().version, "2d711642b726");
        assert!(own_kernel(&cache, &at("k.deb")).unwrap_err().contains("No such file"));
    }
}
