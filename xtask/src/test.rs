//! Everything that must hold, in the order in which mistakes are cheapest to find.

use std::path::Path;
use std::process::Command;

use crate::{arrows, pure, sizes, static_build, step};

/// What a guest has; a guest test that finds it missing fails instead of skipping.
const GUEST_FEATURES: &str = "vcan,cangw,modules,root,user-namespaces,can-utils";

/// Programs that guest tests start: cangw, and unshare for the test of root in a user namespace.
const PROGRAMS: [&str; 2] = ["cangw", "unshare"];

/// The kernels on which the guest tests run: testbed, kernel (the testbed's usual one if none is named), and the names
/// of the tests (all if there are none). On a further kernel, those run that compare kernels with the oracle.
const GUESTS: [(&str, Option<&str>, &[&str]); 3] =
    [("uml", None, &[]), ("icount", None, &[]), ("icount", Some("backports-6.12"), &["differential", "verified"])];

/// A guest that hangs ends after this. On machines where a process is slow to trace, user-mode Linux takes four times as long
/// as on others.
const GUEST_TIMEOUT: &str = "40min";

/// Variables that choose what the differential tests compare.
const CHOICES: [&str; 3] = ["CANDOR_DIFFERENTIAL_SEED", "CANDOR_DIFFERENTIAL_CASE", "CANDOR_DIFFERENTIAL_DELIVERIES"];

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
    let candor = static_build::candor()?;
    let gateway = static_build::guest_test("guest_gateway")?;
    for (testbed, kernel, tests) in GUESTS {
        let on = kernel.map(|kernel| format!(" on {kernel}")).unwrap_or_default();
        step::step(&format!("gateway tests in the {testbed} laboratory{on} (T1 to T3)"), || {
            in_guest(&candor, testbed, kernel, &gateway, tests)
        })?;
    }
    step::step("laboratory tests (T3)", || {
        let arguments = ["test", "--package", "candor", "--test", "laboratory"];
        step::run(step::cargo().args(arguments).env("CANDOR_STATIC", &candor).env("CANDOR_REQUIRE", "laboratory"))
    })
}

/// Runs a test binary as root in a guest. Tests share the guest's interfaces and modules, so they run one at a time.
fn in_guest(candor: &Path, testbed: &str, kernel: Option<&str>, test: &Path, tests: &[&str]) -> anyhow::Result<()> {
    let name = test.file_name().unwrap_or_default().to_string_lossy();
    let chosen = CHOICES.iter().filter_map(|name| Some(format!("{name}={}", std::env::var(name).ok()?)));
    let variables = [format!("CANDOR_REQUIRE={GUEST_FEATURES}")].into_iter().chain(chosen);
    step::run(
        Command::new(candor)
            .current_dir(step::root())
            .args(["lab", "run", "--testbed", testbed, "--timeout", GUEST_TIMEOUT])
            .args(PROGRAMS.iter().flat_map(|program| ["--program", *program]))
            .args(kernel.into_iter().flat_map(|kernel| ["--kernel", kernel]))
            .arg("--copy")
            .arg(test)
            .args(variables.flat_map(|variable| ["--env".to_owned(), variable]))
            .arg("--")
            .arg(format!("./{name}"))
            .arg("--test-threads=1")
            .args(tests),
    )
}
