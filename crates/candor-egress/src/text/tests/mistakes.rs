//! What is said of each mistake.

use super::*;

/// Findings as a person would read them.
fn said(findings: &[Diagnostic], text: &str) -> String {
    let one = |finding: &Diagnostic| {
        let part = &text[finding.primary.span.clone()];
        let help = finding.help.as_deref().unwrap_or_default();
        let severity = if finding.severity == Severity::Error { "" } else { " (note)" };
        format!("{}{severity} at [{part}]\n    {}\n    {help}\n", finding.code, finding.message)
    };
    findings.iter().map(one).collect()
}

#[test]
fn in_a_script() {
    let text = example!("mistakes");
    insta::assert_snapshot!(said(&parse_script(text).unwrap_err(), text));
}

#[test]
fn in_a_tree() {
    let text = example!("places");
    insta::assert_snapshot!(said(&parse(text).unwrap_err(), text));
}

#[test]
fn what_is_read_but_perhaps_not_meant() {
    let text = example!("precedence");
    insta::assert_snapshot!(said(&parse(text).unwrap().notes, text));
}

#[test]
fn a_script_as_it_is_printed() {
    let script = parse_script(example!("recipe-gateway")).unwrap();
    let written: Vec<_> =
        script.trees.iter().map(|(interface, tree)| super::script(tree, interface).unwrap()).collect();
    insta::assert_snapshot!(written.join("\n"));
}
