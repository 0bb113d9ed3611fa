//! Every check, those that fail fastest first.

use crate::{arrows, circles, docs, guest, peers, pure, site, sizes, static_build, step};

#[derive(clap::Args)]
pub(crate) struct Args {
    /// Leave the guests out: only what needs no laboratory.
    #[arg(long)]
    host_only: bool,
}

pub(crate) fn run(args: &Args) -> anyhow::Result<()> {
    step::with_times(|| all(args))
}

fn all(args: &Args) -> anyhow::Result<()> {
    step::step("formatting", || step::run(step::cargo().args(["fmt", "--all", "--check"])))?;
    step::step("structure", || {
        arrows::run().and_then(|()| circles::run()).and_then(|()| sizes::run()).and_then(|()| pure::run())
    })?;
    step::step("links of the documentation", || docs::check_links().and_then(|()| docs::check_sources()))?;
    let site = step::step("site without the book", site::pages)?;
    step::step("lints", || {
        let arguments = ["clippy", "--workspace", "--all-targets", "--quiet", "--", "--deny", "warnings"];
        step::run(step::cargo().args(arguments))
    })?;
    step::step("API documentation", || {
        let arguments = ["doc", "--workspace", "--no-deps", "--document-private-items", "--quiet"];
        step::run(step::cargo().args(arguments).env("RUSTDOCFLAGS", "--deny warnings"))
    })?;
    let mut tests = step::cargo();
    tests.args(["test", "--workspace"]).env("CANDOR_REQUIRE", "candor,netlink");
    let peers = peers::variables()?;
    tests.envs(peers.clone());
    let tests = step::Logged { name: "unit and property tests".to_owned(), command: tests };
    if args.host_only {
        step::lanes(vec![vec![tests]])?;
        println!("xtask: guest tests left out (--host-only)");
        return Ok(());
    }
    // Link-time optimisation leaves a processor idle.
    step::lanes(vec![guest::builds()?, vec![tests]])?;
    let (lab, test) = guest::build(static_build::Arch::X86_64)?;
    // A guest has one processor, so there is room for two at a time.
    let [mut user_mode, mut counting] = guest::all(&lab, &test)?;
    // Both lanes take about as long as each other.
    let browser = step::Logged { name: "tests of the browser".to_owned(), command: site::browser_test(&site) };
    user_mode.extend([ignored("laboratory", "laboratory"), browser]);
    counting.push(ignored("book", "laboratory"));
    for step in user_mode.iter_mut().chain(&mut counting) {
        step.command.env("CANDOR_STATIC", lab.with_file_name(""));
        step.command.envs(peers.clone());
    }
    step::lanes(vec![user_mode, counting])
}

/// The tests of candor-lab that plain `cargo test` ignores. `--workspace` keeps the features of the dependencies as they
/// are built already.
fn ignored(test: &str, feature: &str) -> step::Logged {
    let mut command = step::cargo();
    command
        .args(["test", "--workspace", "--test", test, "--", "--include-ignored", "--skip", "night"])
        .env("CANDOR_REQUIRE", feature);
    step::Logged { name: format!("tests of the {test}"), command }
}
