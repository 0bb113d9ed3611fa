//! The edges between crates, and where unsafe code may stand.

use std::path::Path;

use anyhow::{Context as _, bail};
use cargo_metadata::DependencyKind;

use crate::step;

/// A crate, the crates of the workspace that its code may use, and those that only its tests may use.
struct Crate {
    name: &'static str,
    uses: &'static [&'static str],
    tests_use: &'static [&'static str],
}

const fn uses(name: &'static str, uses: &'static [&'static str]) -> Crate {
    Crate { name, uses, tests_use: &[] }
}

/// Any other edge between crates of the workspace is an error. The table in docs/architecture.md must say the same.
const ARROWS: &[Crate] = &[
    uses("candor-core", &[]),
    uses("candor-bus", &["core"]),
    uses("candor-bounds", &["core", "bus"]),
    uses("candor-bpf", &["core"]),
    uses("candor-signals", &["core"]),
    uses("candor-e2e", &["core"]),
    uses("candor-guard", &["core"]),
    uses("candor-secoc", &["core"]),
    uses("candor-recording", &["core", "signals"]),
    Crate { tests_use: &["core", "config"], ..uses("candor-learn", &["e2e"]) },
    uses("candor-link", &["core"]),
    uses("candor-sja1000", &[]),
    uses("candor-bare", &["core", "sja1000"]),
    uses("candor-io", &["core"]),
    uses("candor-netlink", &["core", "io"]),
    uses("candor-egress", &["core", "bpf", "io", "netlink"]),
    uses("candor-config", &["core", "bounds", "bpf", "e2e", "egress", "guard", "secoc", "signals"]),
    uses("candor-cli", &["core", "config", "io"]),
    uses("candor-userspace", &["core", "bpf", "config", "egress", "io", "netlink"]),
    uses("candor-engine", &["core", "bpf", "config", "egress", "guard", "io", "netlink", "signals", "userspace"]),
    uses("candor-net", &["cli", "config", "core", "io", "link"]),
    uses("candor-bridge", &["cli", "config", "core", "guard", "io", "signals"]),
    uses("candor-wire", &["core", "io", "bus"]),
    uses("candor", &["core", "bounds", "cli", "config", "egress", "engine", "io", "netlink", "recording", "signals"]),
    uses(
        "candor-lab",
        &[
            "core",
            "bare",
            "bounds",
            "bus",
            "cli",
            "config",
            "e2e",
            "egress",
            "io",
            "learn",
            "netlink",
            "recording",
            "signals",
            "wire",
        ],
    ),
    uses("xtask", &[]),
];

/// Sources that may hold unsafe code, below crates/: the one crate of system calls, and the program that has no system to call.
const UNSAFE: [&str; 2] = ["candor-io/src/lib.rs", "candor-bare/src/main.rs"];

/// Crates that the gateway, which runs as root, must not link: the laboratory, the bridge and the libraries that only they need.
const NOT_IN_THE_GATEWAY: [&str; 17] = [
    "candor-lab",
    "candor-bridge",
    "candor-bare",
    "candor-bus",
    "candor-learn",
    "candor-sja1000",
    "candor-wire",
    "parquet",
    "maud",
    "cpio",
    "lzma-rs",
    "object",
    "indicatif",
    "plotters",
    "rumqttc",
    "tempfile",
    "zenoh",
];

pub(crate) fn run() -> anyhow::Result<()> {
    let metadata = step::metadata()?;
    let ours: Vec<&str> = metadata.packages.iter().map(|package| package.name.as_str()).collect();
    let mut wrong = Vec::new();
    let mut edges = 0;
    for package in &metadata.packages {
        let name = package.name.as_str();
        let Some(allowed) = ARROWS.iter().find(|one| one.name == name) else {
            wrong.push(format!("crate {name} has no line in xtask/src/arrows.rs"));
            continue;
        };
        // A crate may enable its own features for its tests.
        let is_other = |one: &&cargo_metadata::Dependency| one.name != name && ours.contains(&one.name.as_str());
        for dependency in package.dependencies.iter().filter(is_other) {
            edges += 1;
            let of_tests = dependency.kind == DependencyKind::Development;
            let mut targets = allowed.uses.iter().chain(if of_tests { allowed.tests_use } else { &[] });
            let used = short(&dependency.name);
            if !targets.any(|one| *one == used) {
                let kind = if of_tests { "the tests of " } else { "" };
                wrong.push(format!("{kind}{name} use {used}: not in ARROWS of xtask/src/arrows.rs"));
            }
        }
        for target in &package.targets {
            check_fence(target.src_path.as_std_path(), target.is_test() || target.is_bench(), &mut wrong)?;
        }
    }
    wrong.extend(table_differences(&std::fs::read_to_string(step::root().join("docs/architecture.md"))?));
    wrong.extend(linked_by_the_gateway()?);
    if !wrong.is_empty() {
        bail!("{}", wrong.join("\n"));
    }
    println!("arrows: {} crates, {edges} edges, unsafe code only in {}", ours.len(), UNSAFE.join(", "));
    Ok(())
}

fn short(name: &str) -> &str {
    name.strip_prefix("candor-").unwrap_or(name)
}

/// Every root of a crate or program must forbid unsafe code, except for [`UNSAFE`].
fn check_fence(source: &Path, is_test: bool, wrong: &mut Vec<String>) -> anyhow::Result<()> {
    let text = std::fs::read_to_string(source)?;
    if !UNSAFE.iter().any(|one| source.ends_with(one)) && !is_test && !text.contains("#![forbid(unsafe_code)]") {
        wrong.push(format!("{} lacks #![forbid(unsafe_code)]", source.display()));
    }
    Ok(())
}

/// Compares the rows ``| `CRATE` | USES | … |`` of the page with [`ARROWS`].
fn table_differences(page: &str) -> Vec<String> {
    let row =
        |name: &str| page.lines().find_map(|line| line.strip_prefix(&format!("| `{name}` | "))?.split(" |").next());
    let differs = |one: &Crate| {
        let wanted = if one.uses.is_empty() { "–".to_owned() } else { one.uses.join(", ") };
        let found = row(one.name);
        (found != Some(wanted.as_str()))
            .then(|| format!("docs/architecture.md: `{}` uses {wanted}; the table says {found:?}", one.name))
    };
    ARROWS.iter().filter_map(differs).collect()
}

fn linked_by_the_gateway() -> anyhow::Result<Vec<String>> {
    let arguments = ["tree", "--package", "candor", "--edges", "normal", "--prefix", "none", "--format", "{p}"];
    let output = step::cargo().args(arguments).output().context("cannot start cargo tree")?;
    if !output.status.success() {
        bail!("cargo tree: {}", String::from_utf8_lossy(&output.stderr));
    }
    let tree = String::from_utf8_lossy(&output.stdout);
    let linked = |name: &&str| tree.lines().any(|line| line.split(' ').next() == Some(name));
    let excess = NOT_IN_THE_GATEWAY.into_iter().filter(linked);
    Ok(excess.map(|name| format!("candor links {name}; see: cargo tree -p candor -e normal -i {name}")).collect())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_table_of_crates_agrees_with_the_arrows() {
        let page = std::fs::read_to_string(step::root().join("docs/architecture.md")).unwrap();
        assert_eq!(table_differences(&page), [""; 0]);
    }

    #[test]
    fn a_missing_row_and_a_wrong_row_are_reported() {
        let row = |one: &Crate| format!("| `{}` | {} | text |\n", one.name, one.uses.join(", "));
        let page: String = ARROWS.iter().skip(1).map(row).collect();
        assert_eq!(table_differences(&page).len(), 3, "candor-core is missing; candor-sja1000 and xtask have no dash");
    }
}
