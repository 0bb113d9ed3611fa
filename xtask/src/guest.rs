//! The guest tests of the gateway: in which guests they run, and with what.

use std::path::{Path, PathBuf};
use std::process::Command;

use clap::ValueEnum;

use anyhow::bail;

use crate::static_build::{self, Arch};
use crate::{peers, step};

/// Features of every guest: a test that misses one fails instead of skipping.
const FEATURES: &str = "vcan,cangw,modules,root,user-namespaces,can-utils,slcan,cgroup,guest,tc";

/// Programs for the tests of boards, which guests lack. SSH computes much, so they run only where that is not slow.
const BOARD_PROGRAMS: [&str; 3] = ["ssh", "sshd", "ssh-keygen"];

/// Tests that run on the host; in guests they would only repeat that.
const HOST_TESTS: [&str; 3] = [
    "differential::composition::random_cases_cover_every_feature",
    "explained::list_has_every_example",
    "require::every_feature_is_documented",
];

/// The test of links that needs programs of other projects.
const OF_LINK_PEERS: &str = "programs_of_other_projects";

/// The test of `cargo xtask soak`, which runs only by its name.
pub(crate) const LONG_RUN: &str = "long_run";

/// The kernel on which `cargo xtask test` runs all tests but [`OF_GATEWAYS`].
const NEWEST: &str = "debian-7.3";

/// Tests of what candor itself does, which take long. They run in user-mode Linux, and on other kernels every night.
const OF_GATEWAYS: [&str; 7] =
    ["conformant::", "lateness::", "leftovers::", "many_buses::", "measured::", "replug::", "split::"];

/// Tests that compare a kernel with an oracle, or that use drivers.
const OF_KERNELS: [&str; 10] = [
    "differential",
    "egress::claims",
    "egress::counted",
    "egress::lookup",
    "egress::made",
    "egress::ordered",
    "egress::paced",
    "egress::report",
    "verified",
    "wire",
];

/// Timeout of a guest. User-mode Linux takes four times as long where tracing a process is slow.
const TIMEOUT: &str = "40min";

/// Variables that select cases of guest tests.
const CHOICES: [&str; 4] =
    ["CANDOR_DIFFERENTIAL_SEED", "CANDOR_DIFFERENTIAL_CASE", "CANDOR_DIFFERENTIAL_DELIVERIES", "CANDOR_VECTOR"];

#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub(crate) enum Testbed {
    /// User-mode Linux: boots in a second; times mean nothing.
    Uml,
    /// QEMU counting instructions: USB adapters, `ets`, other kernels, exact times.
    Icount,
}

#[derive(clap::Args)]
pub(crate) struct Args {
    /// Run the tests whose name contains this, with their output; all if left out.
    name: Option<String>,
    /// Testbed to run on [default: uml; icount for another processor]
    #[arg(long, value_enum)]
    testbed: Option<Testbed>,
    /// Processor of the guest.
    #[arg(long, value_enum, default_value = "x86-64")]
    arch: Arch,
    /// Kernel to boot, as `candor-lab kernels` lists them [default: that of the testbed]
    #[arg(long)]
    kernel: Option<String>,
}

/// `cargo xtask guest`.
pub(crate) fn run(args: &Args) -> anyhow::Result<()> {
    let usual = if args.arch == Arch::X86_64 { Testbed::Uml } else { Testbed::Icount };
    let testbed = args.testbed.unwrap_or(usual);
    if testbed == Testbed::Uml && args.arch != Arch::X86_64 {
        bail!("user-mode Linux runs on the processor of this machine only: leave out --testbed uml");
    }
    let tests = args.name.as_deref();
    let (lab, test) = build(args.arch)?;
    let mut command = command(&lab, &test, testbed, args.arch, args.kernel.as_deref(), tests.as_slice())?;
    // Some print figures.
    step::run(command.args(tests.map(|_one| "--nocapture")))
}

/// All guest tests on arm64.
pub(crate) fn on_arm64() -> anyhow::Result<()> {
    run(&Args { name: None, testbed: None, arch: Arch::Arm64, kernel: None })
}

/// The test of the gateway that guests run.
const TEST: &str = "guest_gateway";

/// The parts of [`build`] that take long.
pub(crate) fn builds() -> anyhow::Result<Vec<step::Logged>> {
    let logged = |name: &str, command: Command| step::Logged { name: name.to_owned(), command };
    let gateway = static_build::build_of_gateway()?;
    let tests = static_build::build_for_tests(TEST, Arch::X86_64)?;
    Ok(vec![logged("build of the static gateway", gateway), logged("build of static programs and guest tests", tests)])
}

/// Builds the static programs and the guest tests. candor-lab finds its programs for guests with another processor.
pub(crate) fn build(arch: Arch) -> anyhow::Result<(PathBuf, PathBuf)> {
    let (lab, test) = step::step("static programs and guest tests", || {
        let (lab, test) = static_build::for_tests(TEST)?;
        static_build::check_size(&lab).map(|()| (lab, test))
    })?;
    if arch == Arch::X86_64 {
        return Ok((lab, test));
    }
    step::step("static programs for guests", || static_build::lab_for(arch))?;
    Ok((lab, step::step("static guest tests", || static_build::guest_test(TEST, arch))?))
}

/// The test of candor-bridge in a guest. Zenoh takes minutes to compile for it, so it runs every night.
pub(crate) fn of_bridge() -> anyhow::Result<()> {
    let (lab, _) = build(Arch::X86_64)?;
    let [program, test] = static_build::bridge()?;
    let mut command = Command::new(lab);
    command.args(["run", "--testbed", "uml", "--timeout", TIMEOUT, "--program"]).arg(program);
    command.arg("--copy").arg(&test).args(["--env", "CANDOR_REQUIRE=guest", "--"]);
    command.arg(Path::new(".").join(test.file_name().unwrap_or_default()));
    step::run(command.args(["--test-threads=1", "--include-ignored"]))
}

/// The guests of `cargo xtask test` with user-mode Linux, and those that count instructions.
pub(crate) fn all(lab: &Path, test: &Path) -> anyhow::Result<[Vec<step::Logged>; 2]> {
    let guest = |testbed: Testbed, kernel: Option<&str>, (tests, others): (&[&str], &[&str])| {
        let on = kernel.map(|kernel| format!(" on {kernel}")).unwrap_or_default();
        let name = format!("gateway tests in {}{on}", testbed.name());
        let mut command = command(lab, test, testbed, Arch::X86_64, kernel, tests)?;
        command.args(others.iter().flat_map(|name| ["--skip", *name]));
        anyhow::Ok(step::Logged { name, command })
    };
    Ok([
        vec![guest(Testbed::Uml, None, (&[], &[]))?],
        vec![
            guest(Testbed::Icount, Some(NEWEST), (&[], &OF_GATEWAYS))?,
            guest(Testbed::Icount, Some("debian-6.1"), (&OF_KERNELS, &[]))?,
        ],
    ])
}

/// All guest tests on the kernels that [`all`] leaves out, or on which it runs only some.
pub(crate) fn on_other_kernels() -> anyhow::Result<()> {
    let (lab, test) = build(Arch::X86_64)?;
    ["debian-6.1", "debian-6.12", NEWEST, "debian-7.3-rt"].into_iter().try_for_each(|kernel| {
        step::step(&format!("gateway tests on {kernel}"), || {
            step::run(&mut command(&lab, &test, Testbed::Icount, Arch::X86_64, Some(kernel), &[])?)
        })
    })
}

impl Testbed {
    const fn name(self) -> &'static str {
        match self {
            Self::Uml => "uml",
            Self::Icount => "icount",
        }
    }

    /// User-mode Linux has neither USB nor the module `sch_ets`; in the other guest, SSH is too slow.
    const fn features(self) -> (&'static str, &'static [&'static str]) {
        match self {
            Self::Uml => ("ssh", &BOARD_PROGRAMS),
            Self::Icount => ("vhci,clock,ets", &[]),
        }
    }
}

/// True for kernels of Linux 7.0 and later, where eBPF programs forward frames.
fn redirects_frames(kernel: &str) -> bool {
    kernel.strip_prefix("debian-").is_some_and(|version| version.starts_with(|digit| digit >= '7'))
}

/// Runs the test binary as root in a guest. Tests share its interfaces and modules, so one runs at a time.
fn command(
    lab: &Path,
    test: &Path,
    testbed: Testbed,
    arch: Arch,
    kernel: Option<&str>,
    tests: &[&str],
) -> anyhow::Result<Command> {
    let name = test.file_name().unwrap_or_default().to_string_lossy();
    let (features, programs) = testbed.features();
    let queues = if arch == Arch::X86_64 && kernel.is_some_and(redirects_frames) { ",bpf-queues" } else { "" };
    let chosen = CHOICES.iter().filter_map(|name| Some(format!("{name}={}", std::env::var(name).ok()?)));
    let programs_of_routes = if kernel.is_some_and(redirects_frames) { ",programs" } else { "" };
    let peers = if testbed == Testbed::Uml { peers::sources::link_peers()? } else { None };
    let link_peers = peers.iter().flat_map(|folder| peers::sources::PROGRAMS.map(|name| folder.join(name)));
    let (with_peers, without_peers) = if peers.is_some() { (",link-peers", None) } else { ("", Some(OF_LINK_PEERS)) };
    let variables = [format!("CANDOR_REQUIRE={FEATURES},{features}{programs_of_routes}{queues}{with_peers}")]
        .into_iter()
        .chain(chosen);
    let long_run = (!tests.contains(&LONG_RUN)).then_some(LONG_RUN);
    let mut command = Command::new(lab);
    command
        .current_dir(step::root())
        .args(["run", "--testbed", testbed.name(), "--timeout", TIMEOUT])
        .args(programs.iter().flat_map(|program| ["--program", *program]))
        .arg("--program")
        .arg(lab.with_file_name("candor-link"))
        .args(link_peers.flat_map(|program| ["--program".into(), program]))
        .args((arch == Arch::Arm64).then_some(["--arch", "arm64"]).into_iter().flatten())
        .args(kernel.into_iter().flat_map(|kernel| ["--kernel", kernel]))
        .arg("--copy")
        .arg(test)
        .args(variables.flat_map(|variable| ["--env".to_owned(), variable]))
        .arg("--")
        .arg(format!("./{name}"))
        .args(["--test-threads=1", "--include-ignored"])
        .args(HOST_TESTS.iter().chain(&long_run).chain(&without_peers).flat_map(|name| ["--skip", *name]))
        .args(tests);
    Ok(command)
}
