//! `cargo xtask nightly`: checks that take long, or need another toolchain or a database.

use std::path::Path;

use anyhow::bail;

use crate::{guest, modules, package_test, processors, site, soak, static_build, step, tools};

/// All of them run; failures are collected.
pub(crate) fn run() -> anyhow::Result<()> {
    type Check = fn() -> anyhow::Result<()>;
    let steps: [(&str, Check); 14] = [
        ("minimum Rust version", tools::msrv),
        ("dependencies", tools::deny),
        ("site", || site::run(&site::Args { browser: true })),
        ("other processors", processors::run),
        ("guest tests on arm64", guest::on_arm64),
        ("guest tests on other kernels", guest::on_other_kernels),
        ("the bridge in a guest", guest::of_bridge),
        ("long commands of the book, and demo on an older kernel", long),
        ("rebuilt modules", modules::test),
        ("packages", package_test::run),
        ("systemd-networkd", networkd),
        ("long run", soak::short),
        ("Miri", tools::miri),
        ("fuzzing", || tools::fuzz_smoke(&tools::FuzzArgs { seconds: 30 })),
    ];
    let failures: Vec<_> = steps.into_iter().filter_map(|(name, work)| step::step(name, work).err()).collect();
    if failures.is_empty() {
        return Ok(());
    }
    bail!("{}", failures.iter().map(|error| format!("{error:#}")).collect::<Vec<_>>().join("\n"))
}

/// Commands of the book that take a minute or more, and tests of the laboratory that boot more kernels. Guests on arm64 have
/// been built.
fn long() -> anyhow::Result<()> {
    let lab = step::step("static programs", static_build::lab)?;
    let arguments = ["test", "--workspace", "--test", "book", "--test", "laboratory", "--", "--ignored", "night"];
    let programs = lab.with_file_name("");
    step::run(step::cargo().args(arguments).env("CANDOR_REQUIRE", "laboratory").env("CANDOR_STATIC", programs))
}

/// The test of `candor generate networkd`, which needs root and systemd-networkd.
fn networkd() -> anyhow::Result<()> {
    if !Path::new("/lib/systemd/systemd-networkd").exists() {
        return tools::left_out("networkd", "there is no systemd-networkd: apt-get install systemd");
    }
    let arguments = ["test", "--package", "candor", "--test", "networkd", "--", "--include-ignored"];
    step::run(step::cargo().args(arguments))
}
