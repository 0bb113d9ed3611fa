//! The checks as a table and as JSON.

use serde::Serialize;

use super::check::{Check, Section, Verdict};
use candor_cli::gateway_file::plural;

pub(super) fn worst(sections: &[Section]) -> Verdict {
    all(sections).map(|check| check.verdict).max().unwrap_or(Verdict::Ok)
}

fn all(sections: &[Section]) -> impl Iterator<Item = &Check> {
    sections.iter().flat_map(|section| &section.checks)
}

/// A line for each check, and one for its remedy.
pub(super) fn table(sections: &[Section]) -> String {
    let width = all(sections).map(|check| check.topic.name.len()).max().unwrap_or_default();
    let mut text = String::new();
    for section in sections {
        text += &format!("{}\n", section.title);
        for Check { topic, verdict, found, remedy } in &section.checks {
            let verdict = if *verdict == Verdict::Missing { "MISSING" } else { verdict.name() };
            text += &format!("  {verdict:<7}  {:<width$}  {found}\n", topic.name);
            if let Some(remedy) = remedy {
                text += &format!("  {:<7}  {:<width$}  -> {remedy}\n", "", "");
            }
        }
    }
    text
}

/// The table and a summary line.
pub(super) fn text(file: Option<&str>, sections: &[Section]) -> String {
    let text = table(sections);
    let count = |verdict| all(sections).filter(|check| check.verdict == verdict).count();
    let (missing, weak, ok) = (count(Verdict::Missing), count(Verdict::Weak), count(Verdict::Ok));
    let name = file.unwrap_or("a gateway");
    let answer = match (missing, weak) {
        (0, 0) => format!("{name} can run: {} ok", plural(ok, "check")),
        (0, weak) => format!("{name} can run: {weak} of {} weak", plural(ok + weak, "check")),
        (missing, weak) => {
            format!(
                "{name} CANNOT run as configured: {missing} missing, {weak} weak of {}",
                plural(missing + weak + ok, "check")
            )
        }
    };
    text + &format!("\n{answer}\n")
}

#[derive(Debug, Serialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
pub(in crate::cmd) struct View<'a> {
    file: Option<&'a str>,
    /// The worst of all: `ok`, `weak` or `missing`.
    verdict: &'static str,
    checks: Vec<CheckView<'a>>,
}

#[derive(Debug, Serialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
struct CheckView<'a> {
    section: &'a str,
    check: &'static str,
    verdict: &'static str,
    found: &'a str,
    remedy: Option<&'a str>,
    source: &'static str,
}

pub(super) fn json<'a>(file: Option<&'a str>, sections: &'a [Section]) -> View<'a> {
    let of_section = |section: &'a Section| section.checks.iter().map(|check| (section.title.as_str(), check));
    let checks = sections.iter().flat_map(of_section).map(|(section, check)| CheckView {
        section,
        check: check.topic.name,
        verdict: check.verdict.name(),
        found: &check.found,
        remedy: check.remedy.as_deref(),
        source: check.topic.source,
    });
    View { file, verdict: worst(sections).name(), checks: checks.collect() }
}

#[cfg(test)]
mod tests {
    use super::super::check;
    use super::*;

    #[test]
    fn missing_is_in_capitals() {
        let sections = [
            Section {
                title: "kernel".into(),
                checks: vec![check::RELEASE.ok("6.1.0"), check::CANGW.weak("not loaded", "sudo modprobe can-gw")],
            },
            Section {
                title: "can0".into(),
                checks: vec![check::INTERFACE.missing("can, DOWN", "sudo ip link set can0 up")],
            },
        ];
        insta::assert_snapshot!(text(Some("candor.toml"), &sections), @r"
        kernel
          ok       release    6.1.0
          weak     can-gw     not loaded
                              -> sudo modprobe can-gw
        can0
          MISSING  interface  can, DOWN
                              -> sudo ip link set can0 up

        candor.toml CANNOT run as configured: 1 missing, 1 weak of 3 checks
        ");
        assert_eq!(worst(&sections), Verdict::Missing);
        assert_eq!(json(None, &sections).checks[2].verdict, "missing");
        assert!(text(None, &sections[..1]).ends_with("a gateway can run: 1 of 2 checks weak\n"));
        let fine = [Section { title: "kernel".into(), checks: vec![check::RELEASE.ok("6.1.0")] }];
        assert!(text(None, &fine).ends_with("a gateway can run: 1 check ok\n"));
    }
}
