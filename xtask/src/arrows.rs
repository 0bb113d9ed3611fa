//! The arrows between crates, and where unsafe code may stand.

use std::path::Path;

use anyhow::bail;

use crate::step;

/// Who may use whom. Any other edge between crates of the workspace is a mistake; docs/architecture.md says why.
const ARROWS: &[(&str, &[&str])] = &[
    ("candor-core", &[]),
    ("candor-bus", &["candor-core"]),
    ("candor-io", &["candor-core"]),
    ("candor-netlink", &["candor-core", "candor-io"]),
    ("candor-egress", &["candor-core", "candor-io", "candor-netlink"]),
    ("candor-config", &["candor-core", "candor-egress"]),
    ("candor-cli", &["candor-core", "candor-config"]),
    ("candor-engine", &["candor-core", "candor-config", "candor-egress", "candor-io", "candor-netlink"]),
    ("candor-wire", &["candor-core", "candor-io", "candor-bus"]),
    (
        "candor",
        &[
            "candor-cli",
            "candor-config",
            "candor-core",
            "candor-egress",
            "candor-engine",
            "candor-io",
            "candor-netlink",
        ],
    ),
    (
        "candor-lab",
        &[
            "candor-bus",
            "candor-cli",
            "candor-config",
            "candor-core",
            "candor-egress",
            "candor-io",
            "candor-netlink",
            "candor-wire",
        ],
    ),
    ("xtask", &[]),
];

/// The one crate that may hold unsafe code.
const UNSAFE: &str = "candor-io";

pub(crate) fn run() -> anyhow::Result<()> {
    let metadata = step::metadata()?;
    let ours: Vec<&str> = metadata.packages.iter().map(|package| package.name.as_str()).collect();
    let mut wrong = Vec::new();
    let mut edges = 0;
    for package in &metadata.packages {
        let name = package.name.as_str();
        let Some((_, allowed)) = ARROWS.iter().find(|(from, _)| *from == name) else {
            wrong.push(format!("crate {name} has no line in xtask/src/arrows.rs"));
            continue;
        };
        for used in package.dependencies.iter().map(|dependency| dependency.name.as_str()) {
            if ours.contains(&used) {
                edges += 1;
                if !allowed.contains(&used) {
                    wrong.push(format!("{name} uses {used}: no such arrow"));
                }
            }
        }
        for target in &package.targets {
            check_fence(name, target.src_path.as_std_path(), target.is_test() || target.is_bench(), &mut wrong)?;
        }
    }
    if !wrong.is_empty() {
        bail!("{}", wrong.join("\n"));
    }
    println!("arrows: {} crates, {edges} edges, unsafe code only in {UNSAFE}", ours.len());
    Ok(())
}

/// Every crate root but candor-io's must forbid unsafe code.
fn check_fence(package: &str, source: &Path, is_test: bool, wrong: &mut Vec<String>) -> anyhow::Result<()> {
    let text = std::fs::read_to_string(source)?;
    if package != UNSAFE && !is_test && !text.contains("#![forbid(unsafe_code)]") {
        wrong.push(format!("{} lacks #![forbid(unsafe_code)]", source.display()));
    }
    Ok(())
}
