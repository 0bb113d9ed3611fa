//! `cargo xtask quick`: formatting, lints and unit tests of what has changed.

use std::collections::BTreeSet;
use std::process::Command;

use crate::{docs, step};

pub(crate) fn run() -> anyhow::Result<()> {
    let changed = changed()?;
    step::with_times(|| {
        step::step("formatting", || step::run(step::cargo().args(["fmt", "--all", "--check"])))?;
        if changed.iter().any(|path| path.ends_with(".md")) {
            step::step("links of the documentation", docs::check_links)?;
        }
        if changed.iter().any(|path| path.ends_with(".rs")) {
            step::step("sources of the API documentation", docs::check_sources)?;
        }
        let packages = packages(&changed)?;
        if packages.is_empty() {
            println!("xtask: no crate has changed");
            return Ok(());
        }
        let chosen = || packages.iter().flat_map(|package| ["--package", package]);
        step::step("lints", || {
            let arguments = ["clippy", "--quiet", "--all-targets"];
            step::run(step::cargo().args(arguments).args(chosen()).args(["--", "--deny", "warnings"]))
        })?;
        step::step("unit tests", || {
            step::run(step::cargo().args(["test", "--quiet", "--lib", "--bins"]).args(chosen()))
        })
    })
}

/// Files that differ from HEAD, are new, or are committed here but not in the upstream branch.
fn changed() -> anyhow::Result<BTreeSet<String>> {
    let git = |arguments: &[&str]| step::output(Command::new("git").args(arguments).current_dir(step::root()));
    let upstream = ["@{upstream}", "origin/HEAD", "origin/main"].into_iter().find(|name| {
        step::succeeds(Command::new("git").args(["rev-parse", "--verify", name]).current_dir(step::root()))
    });
    let base = match upstream {
        Some(name) => git(&["merge-base", "HEAD", name])?,
        None => "HEAD".to_owned(),
    };
    let differing = git(&["diff", "--name-only", base.trim()])?;
    let new = git(&["ls-files", "--others", "--exclude-standard"])?;
    Ok(differing.lines().chain(new.lines()).map(str::to_owned).collect())
}

/// The packages with these files; a package without library and programs has no unit tests and is not among ours.
fn packages(changed: &BTreeSet<String>) -> anyhow::Result<Vec<String>> {
    let root = step::root();
    let of_all = ["Cargo.toml", "Cargo.lock", "clippy.toml"].iter().any(|name| changed.contains(*name));
    let packages = step::metadata()?.packages.into_iter().filter(|package| {
        let folder = package.manifest_path.parent().and_then(|folder| folder.as_std_path().strip_prefix(&root).ok());
        of_all || folder.is_some_and(|folder| changed.iter().any(|path| std::path::Path::new(path).starts_with(folder)))
    });
    Ok(packages.map(|package| package.name.to_string()).collect())
}
