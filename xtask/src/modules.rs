//! Kernel modules for `candor-lab --module`: Debian's CAN drivers with busy polling.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

use anyhow::{Context as _, bail};
use cargo_metadata::camino::Utf8PathBuf;

use crate::{lab, static_build, step};

/// For the kernel's sources, and under their licence.
const PATCH: &str = "xtask/busy-poll/busy-poll.patch";
/// Of the modules: sources that the patch changes, and those that are only built again.
const SOURCES: [&str; 4] = [
    "drivers/net/can/sja1000/kvaser_pci.c",
    "drivers/net/can/sja1000/sja1000.c",
    "drivers/net/can/sja1000/sja1000.h",
    "net/can/raw.c",
];
/// Directories of the built modules, and what `BUSY_POLL_NOIRQ` is.
const VARIANTS: [(&str, u8); 2] = [("busy-poll", 0), ("busy-poll-noirq", 1)];

/// The gateway's interfaces. The tester's keep their interrupts, when it takes the timestamps.
const POLLED: &str = "can2,can3";

#[derive(clap::Args)]
pub(crate) struct Args {
    /// Kernel to build the modules for, as `candor-lab kernels` lists them
    #[arg(long, default_value = "debian-6.1")]
    kernel: String,
    /// Also measure engines with and without the modules (median, 90 % and more in the .results directory)
    #[arg(long)]
    measure: bool,
}

/// Builds the modules, and prints their directory or what they gain.
pub(crate) fn run(args: &Args) -> anyhow::Result<()> {
    let folder = build(&args.kernel)?;
    if !args.measure {
        println!("{folder}");
        return Ok(());
    }
    let plan = folder.join("plan.toml");
    let text = include_str!("../busy-poll/plan.toml").replace("{kernel}", &args.kernel);
    fs::write(&plan, text).with_context(|| format!("cannot write {plan}"))?;
    let lab = static_build::lab()?;
    step::run(Command::new(&lab).arg("measure").arg(&plan))?;
    let table = ["--table", "gateway", "module"];
    step::run(Command::new(&lab).arg("report").arg(plan.with_extension("results")).args(table))
}

/// Builds the modules, and tests that a guest loads them.
pub(crate) fn test() -> anyhow::Result<()> {
    let modules = build("debian-6.1")?;
    let programs = static_build::lab()?.with_file_name("");
    let arguments = ["test", "--package", "candor-lab", "--test", "laboratory", "--", "--ignored", "own_kernels"];
    let mut test = step::cargo();
    test.args(arguments).env("CANDOR_REQUIRE", "laboratory,modules").env("CANDOR_STATIC", programs);
    step::run(test.env("CANDOR_MODULES", modules))
}

/// Builds the modules for a kernel. Returns the directory with those of [`VARIANTS`].
pub(crate) fn build(kernel: &str) -> anyhow::Result<Utf8PathBuf> {
    let get = ["run", "--quiet", "--package", "candor-lab", "--", "kernels", "--build-files", kernel];
    let files = PathBuf::from(step::output(step::cargo().args(get))?.trim_end());
    let tree = Tree::find(&files)?;
    tree.check(kernel)?;
    let folder = lab::folder(&format!("modules/{kernel}"))?;
    let sources = folder.join("sources");
    remove(sources.as_std_path())?;
    fs::create_dir_all(&sources).with_context(|| format!("cannot create {sources}"))?;
    let mut unpack = Command::new("tar");
    unpack.arg("-xf").arg(&tree.sources).arg("-C").arg(&sources).args(["--strip-components=1", "--wildcards"]);
    step::run(unpack.args(SOURCES.map(|source| format!("*/{source}"))))?;
    let patch = step::root().join(PATCH);
    step::run(Command::new("patch").args(["--quiet", "-p1", "-d"]).arg(&sources).arg("-i").arg(patch))
        .with_context(|| format!("{PATCH} does not fit the sources of {kernel}"))?;
    for (variant, noirq) in VARIANTS {
        let variant = folder.join(variant);
        remove(variant.as_std_path())?;
        let work = folder.join("work");
        remove(work.as_std_path())?;
        for folder in [&variant, &work] {
            fs::create_dir_all(folder).with_context(|| format!("cannot create {folder}"))?;
        }
        for source in SOURCES.map(Path::new) {
            let name = source.file_name().context("a source has a name")?.to_string_lossy().into_owned();
            fs::copy(sources.join(source.to_string_lossy().as_ref()), work.join(&name))
                .with_context(|| format!("cannot copy {name}"))?;
        }
        let kbuild = format!(
            "obj-m := sja1000.o kvaser_pci.o can-raw.o\ncan-raw-y := raw.o\n\
             ccflags-y := -DBUSY_POLL_NOIRQ={noirq} -DBUSY_POLL_INTERFACES='\"{POLLED}\"'\n"
        );
        fs::write(work.join("Kbuild"), kbuild).with_context(|| format!("cannot write {work}/Kbuild"))?;
        tree.make(&work)?;
        for module in ["sja1000.ko", "kvaser_pci.ko", "can-raw.ko"] {
            let from = work.join(module);
            fs::copy(&from, variant.join(module)).with_context(|| format!("make has not built {from}"))?;
        }
        remove(work.as_std_path())?;
    }
    Ok(folder)
}

/// Unpacked packages with what building a module needs.
#[derive(Debug)]
struct Tree {
    /// The headers of the kernel, with its options.
    headers: PathBuf,
    /// The headers of all kernels of its version.
    common: PathBuf,
    sources: PathBuf,
    /// `gcc-12`
    compiler: String,
}

impl Tree {
    fn find(files: &Path) -> anyhow::Result<Self> {
        let folder = files.join("usr/src");
        let entries = fs::read_dir(&folder).with_context(|| format!("cannot read {}", folder.display()))?;
        let names: Vec<String> =
            entries.filter_map(|entry| Some(entry.ok()?.file_name().to_string_lossy().into_owned())).collect();
        let find = |fits: &dyn Fn(&str) -> bool, what: &str| {
            let name = names.iter().find(|name| fits(name));
            name.map(|name| folder.join(name)).with_context(|| format!("no {what} in {}", folder.display()))
        };
        let is_headers = |name: &str| name.starts_with("linux-headers-");
        let headers = find(&|name| is_headers(name) && !name.ends_with("-common"), "headers")?;
        let variables = headers.join(".kernelvariables");
        let text = fs::read_to_string(&variables).with_context(|| format!("cannot read {}", variables.display()))?;
        let compiler =
            text.split_whitespace().filter_map(|word| word.rsplit(')').next()).find(|word| word.starts_with("gcc-"));
        Ok(Self {
            common: find(&|name| is_headers(name) && name.ends_with("-common"), "common headers")?,
            sources: find(&|name| name.starts_with("linux-source-") && name.ends_with(".tar.xz"), "sources")?,
            compiler: compiler.context("no compiler in the headers")?.to_owned(),
            headers,
        })
    }

    /// Fails with what this machine lacks.
    fn check(&self, kernel: &str) -> anyhow::Result<()> {
        let Self { compiler, common, .. } = self;
        for program in [compiler, "make", "patch", "tar"] {
            if !step::succeeds(Command::new(program).arg("--version")) {
                bail!("modules for {kernel} need {program}: apt-get install {program}");
            }
        }
        // Prints its usage, if the C library is new enough.
        let tool = common.join("scripts/basic/fixdep");
        let output = Command::new(&tool).output().with_context(|| format!("cannot start {}", tool.display()))?;
        let message = String::from_utf8_lossy(&output.stderr).into_owned();
        if message.contains("GLIBC_") {
            let needs = message.split('`').nth(1).and_then(|rest| rest.split('\'').next()).unwrap_or_default();
            bail!("modules for {kernel} cannot be built on this machine: the tools of its package need {needs}");
        }
        Ok(())
    }

    fn make(&self, folder: &Utf8PathBuf) -> anyhow::Result<()> {
        let Self { common, headers, compiler, .. } = self;
        let mut make = Command::new("make");
        make.arg("-C").arg(common).arg(format!("O={}", headers.display())).arg(format!("M={folder}"));
        make.args([&format!("CC={compiler}"), "modules"]);
        let output = make.output().context("cannot start make")?;
        if !output.status.success() {
            bail!("make: {}\n{}", output.status, String::from_utf8_lossy(&output.stderr));
        }
        Ok(())
    }
}

/// A directory that does not exist is not an error.
fn remove(folder: &Path) -> anyhow::Result<()> {
    match fs::remove_dir_all(folder) {
        Err(error) if error.kind() != std::io::ErrorKind::NotFound => {
            Err(error).with_context(|| format!("cannot remove {}", folder.display()))
        }
        _ => Ok(()),
    }
}
