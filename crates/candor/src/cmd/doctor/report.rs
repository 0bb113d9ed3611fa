//! The findings for people and for programs.

use serde_json::{Value, json};

use super::check::{Check, Section, Verdict};
use candor_cli::gateway_file::plural;

/// The worst of all.
pub(super) fn worst(sections: &[Section]) -> Verdict {
    all(sections).map(|check| check.verdict).max().unwrap_or(Verdict::Ok)
}

fn all(sections: &[Section]) -> impl Iterator<Item = &Check> {
    sections.iter().flat_map(|section| &section.checks)
}

/// A line for each check, and one below it where there is something to do.
pub(super) fn table(sections: &[Section]) -> String {
    let width = all(sections).map(|check| check.topic.name.len()).max().unwrap_or_default();
    let mut text = String::new();
    for section in sections {
        text += &format!("{}\n", section.title);
        for Check { topic, verdict, found, remedy } in &section.checks {
            // What is missing is to be found by tired eyes.
            let verdict = if *verdict == Verdict::Missing { "MISSING" } else { verdict.name() };
            text += &format!("  {verdict:<7}  {:<width$}  {found}\n", topic.name);
            if let Some(remedy) = remedy {
                text += &format!("  {:<7}  {:<width$}  -> {remedy}\n", "", "");
            }
        }
    }
    text
}

/// A table, and below it the answer in one line.
pub(super) fn text(file: Option<&str>, sections: &[Section]) -> String {
    let text = table(sections);
    let count = |verdict| all(sections).filter(|check| check.verdict == verdict).count();
    let (missing, weak, ok) = (count(Verdict::Missing), count(Verdict::Weak), count(Verdict::Ok));
    let what = file.map_or_else(|| "a gateway".to_owned(), |file| file.to_owned());
    let answer = match (missing, weak) {
        (0, 0) => format!("{what} finds everything that it wants: {}", plural(ok, "check")),
        (0, weak) => format!("{what} can run; {weak} of {} are weak", plural(ok + weak, "check")),
        (missing, weak) => {
            format!(
                "{what} CANNOT run as it should: {missing} missing, {weak} weak of {}",
                plural(missing + weak + ok, "check")
            )
        }
    };
    text + &format!("\n{answer}\n")
}

pub(super) fn json(file: Option<&str>, sections: &[Section]) -> Value {
    let checks: Vec<_> = sections
        .iter()
        .flat_map(|section| section.checks.iter().map(|check| (section.title.as_str(), check)))
        .map(|(section, Check { topic, verdict, found, remedy })| {
            json!({
                "section": section,
                "check": topic.name,
                "verdict": verdict.name(),
                "found": found,
                "remedy": remedy,
                "source": topic.source,
            })
        })
        .collect();
    json!({ "file": file, "verdict": worst(sections).name(), "checks": checks })
}

#[cfg(test)]
mod tests {
    use super::super::check;
    use super::*;

    #[test]
    fn what_is_missing_stands_out() {
        let sections = [
            Section {
                title: "kernel".into(),
                checks: vec![
                    Check::ok(check::RELEASE, "6.1.0"),
                    Check::weak(check::CANGW, "not loaded", "sudo modprobe can-gw"),
                ],
            },
            Section {
                title: "can0".into(),
                checks: vec![Check::missing(check::INTERFACE, "can, DOWN", "sudo ip link set can0 up")],
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

        candor.toml CANNOT run as it should: 1 missing, 1 weak of 3 checks
        ");
        assert_eq!(worst(&sections), Verdict::Missing);
        assert_eq!(json(None, &sections)["checks"][2]["verdict"], "missing");
        assert!(text(None, &sections[..1]).ends_with("a gateway can run; 1 of 2 checks are weak\n"));
        let fine = [Section { title: "kernel".into(), checks: vec![Check::ok(check::RELEASE, "6.1.0")] }];
        assert!(text(None, &fine).ends_with("a gateway finds everything that it wants: 1 check\n"));
    }
}
