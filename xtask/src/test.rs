//! Everything that must hold, in the order in which mistakes are cheapest to find.

use std::path::Path;
use std::process::Command;

use crate::{arrows, pure, sizes, static_build, step};

/// What a guest has; a guest test that finds it missing fails instead of skipping.
const GUEST_FEATURES: &str = "vcan,cangw,root,can-utils";

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
    for testbed in ["uml", "icount"] {
        step::step(&format!("gateway tests in the {testbed} laboratory (T1 to T3)"), || {
            in_guest(&candor, testbed, &gateway)
        })?;
    }
    step::step("laboratory tests (T3)", || {
        let arguments = ["test", "--package", "candor", "--test", "laboratory"];
        step::run(step::cargo().args(arguments).env("CANDOR_STATIC", &candor).env("CANDOR_REQUIRE", "laboratory"))
    })
}

/// Runs a test binary as root in a guest. Tests share the guest's interfaces and modules, so they run one at a time.
fn in_guest(candor: &Path, testbed: &str, test: &Path) -> anyhow::Result<()> {
    let name = test.file_name().unwrap_or_default().to_string_lossy();
    step::run(
        Command::new(candor)
            .current_dir(step::root())
            .args(["lab", "run", "--testbed", testbed, "--program", "cangw", "--copy"])
            .arg(test)
            .args(["--env", &format!("CANDOR_REQUIRE={GUEST_FEATURES}"), "--"])
            .arg(format!("./{name}"))
            .arg("--test-threads=1"),
    )
}
