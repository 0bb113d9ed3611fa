//! Everything that must hold, in the order in which mistakes are cheapest to find.

use std::path::Path;
use std::process::Command;

use crate::{arrows, pure, sizes, static_build, step};

/// What a guest has; a guest test that finds it missing fails instead of skipping.
const GUEST_FEATURES: &str = "vcan,cangw,modules,root,user-namespaces,can-utils,slcan,cgroup";

/// Programs that guest tests start: those of can-utils, and unshare for the test of root in a user namespace.
const PROGRAMS: [&str; 3] = ["cangw", "slcan_attach", "unshare"];

/// And those for the tests of boards, where they are not slow: SSH computes much.
const BOARD_PROGRAMS: [&str; 10] = ["ssh", "sshd", "ssh-keygen", "sh", "chmod", "head", "mktemp", "rm", "uname", "wc"];

/// The kernels on which the guest tests run. The first takes as long as the others together.
const USER_MODE: Guest = Guest { testbed: "uml", kernel: None, tests: &[], feature: "ssh", programs: &BOARD_PROGRAMS };
/// On a further kernel, those tests run that compare kernels with the oracles, and those with drivers of another version.
const COUNTING: [Guest; 2] = [
    Guest { testbed: "icount", kernel: None, tests: &[], feature: "vhci", programs: &[] },
    Guest { testbed: "icount", kernel: Some("backports-6.12"), tests: &FURTHER, feature: "vhci", programs: &[] },
];

/// Tests that compare kernels with an oracle or a law, or that use drivers.
const FURTHER: [&str; 12] = [
    "differential",
    "egress::claims",
    "egress::counted",
    "egress::lookup",
    "egress::made",
    "egress::ordered",
    "egress::paced",
    "egress::report",
    "egress::room",
    "egress::turns",
    "verified",
    "wire",
];

/// A guest that hangs ends after this. On machines where a process is slow to trace, user-mode Linux takes four times as long
/// as on others.
const GUEST_TIMEOUT: &str = "40min";

/// Variables that choose what the differential tests compare.
const CHOICES: [&str; 3] = ["CANDOR_DIFFERENTIAL_SEED", "CANDOR_DIFFERENTIAL_CASE", "CANDOR_DIFFERENTIAL_DELIVERIES"];

/// Where guest tests run.
#[derive(Clone, Copy, Debug)]
struct Guest {
    testbed: &'static str,
    /// The testbed's usual one if none is named.
    kernel: Option<&'static str>,
    /// The names of the tests; all if there are none.
    tests: &'static [&'static str],
    /// What it has besides [`GUEST_FEATURES`]: user-mode Linux knows no USB.
    feature: &'static str,
    /// What it is given besides [`PROGRAMS`].
    programs: &'static [&'static str],
}

#[derive(clap::Args)]
pub(crate) struct Args {
    /// Leave the guests out: only what needs no laboratory.
    #[arg(long)]
    host_only: bool,
}

pub(crate) fn run(args: &Args) -> anyhow::Result<()> {
    step::step("formatting", || step::run(step::cargo().args(["fmt", "--all", "--check"])))?;
    step::step("structure", || arrows::run().and_then(|()| sizes::run()).and_then(|()| pure::run()))?;
    step::step("lints", || {
        let arguments = ["clippy", "--workspace", "--all-targets", "--quiet", "--", "--deny", "warnings"];
        step::run(step::cargo().args(arguments))
    })?;
    step::step("documentation", || {
        let arguments = ["doc", "--workspace", "--no-deps", "--document-private-items", "--quiet"];
        step::run(step::cargo().args(arguments).env("RUSTDOCFLAGS", "--deny warnings"))
    })?;
    step::step("unit and property tests (T0)", || step::run(step::cargo().args(["test", "--workspace"])))?;
    if args.host_only {
        println!("xtask: guest tests left out (--host-only)");
        return Ok(());
    }
    let candor = static_build::lab()?;
    let gateway = static_build::guest_test("guest_gateway")?;
    // A guest has one processor, so there is room for two.
    let beside = step::Beside::start(&USER_MODE.title(), &mut USER_MODE.command(&candor, &gateway))?;
    let before = COUNTING
        .into_iter()
        .try_for_each(|guest| step::step(&guest.title(), || step::run(&mut guest.command(&candor, &gateway))));
    let before = before.and_then(|()| {
        step::step("laboratory tests (T3)", || {
            let arguments = ["test", "--package", "candor-lab", "--test", "laboratory"];
            step::run(
                step::cargo()
                    .args(arguments)
                    .env("CANDOR_STATIC", candor.with_file_name(""))
                    .env("CANDOR_REQUIRE", "laboratory"),
            )
        })
    });
    let before = before.and_then(|()| {
        step::step("the report in a browser", || {
            let arguments = ["test", "--package", "candor-lab", "--test", "browser"];
            step::run(step::cargo().args(arguments).env("CANDOR_REQUIRE", "browser"))
        })
    });
    // Two mistakes are told together.
    match (before, beside.finish()) {
        (Ok(()), end) | (end, Ok(())) => end,
        (Err(one), Err(other)) => Err(one.context(format!("{other:#}"))),
    }
}

impl Guest {
    fn title(self) -> String {
        let on = self.kernel.map(|kernel| format!(" on {kernel}")).unwrap_or_default();
        format!("gateway tests in the {} laboratory{on} (T1 to T3)", self.testbed)
    }

    /// Runs a test binary as root in the guest. Tests share the guest's interfaces and modules, so they run one at a time.
    fn command(self, candor: &Path, test: &Path) -> Command {
        let name = test.file_name().unwrap_or_default().to_string_lossy();
        let chosen = CHOICES.iter().filter_map(|name| Some(format!("{name}={}", std::env::var(name).ok()?)));
        let variables = [format!("CANDOR_REQUIRE={GUEST_FEATURES},{}", self.feature)].into_iter().chain(chosen);
        let mut command = Command::new(candor);
        command
            .current_dir(step::root())
            .args(["run", "--testbed", self.testbed, "--timeout", GUEST_TIMEOUT])
            .args(PROGRAMS.iter().chain(self.programs).flat_map(|program| ["--program", *program]))
            .args(self.kernel.into_iter().flat_map(|kernel| ["--kernel", kernel]))
            .arg("--copy")
            .arg(test)
            .args(variables.flat_map(|variable| ["--env".to_owned(), variable]))
            .arg("--")
            .arg(format!("./{name}"))
            .arg("--test-threads=1")
            .args(self.tests);
        command
    }
}
