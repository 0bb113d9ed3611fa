//! `tree`: findings in it, at their place in the file.

use crate::config::code;
use crate::config::spec::TreeSpec;
use crate::plan::Bus;
use candor_core::diagnostic::{Diagnostic, Findings, Severity, Span};
use candor_egress::handle::Handle;
use candor_egress::lint::{Facts, Finding, LintSubject, lint};
use candor_egress::text;
use candor_egress::tree::Tree;

pub(super) fn tree(written: &TreeSpec, bus: Option<&Bus>, findings: &mut Findings) -> Option<Tree> {
    let (tree, found) = match text::parse(&written.text.value) {
        Ok(parsed) => (Some(parsed.tree), parsed.notes),
        Err(found) => (None, found),
    };
    for diagnostic in found {
        findings.report(moved(diagnostic, written));
    }
    let tree = tree?;
    if tree == Tree::default() {
        let help = "write at least one line, such as qdisc root pfifo limit 100, or remove the section";
        findings.error(code::EGRESS, &written.text.span, "The tree is empty", help);
        return None;
    }
    for finding in lint(&tree, &facts(bus)) {
        findings.report(shown(&finding, &tree, written));
    }
    Some(tree)
}

/// Describes the bus to the tree checks. A bus with `bitrate` and without `data-bitrate` is classic.
fn facts(bus: Option<&Bus>) -> Facts {
    let bitrate = bus.and_then(|bus| bus.bitrate);
    let has_fd = bus.and_then(|bus| match (bus.bitrate, bus.data_bitrate) {
        (_, Some(_)) => Some(true),
        (Some(_), None) => Some(false),
        (None, None) => None,
    });
    Facts { bitrate, has_fd, ..Facts::default() }
}

fn moved(mut diagnostic: Diagnostic, written: &TreeSpec) -> Diagnostic {
    diagnostic.primary.span = place(diagnostic.primary.span, written);
    for label in &mut diagnostic.secondary {
        label.span = place(std::mem::take(&mut label.span), written);
    }
    diagnostic
}

fn place(span: Span, written: &TreeSpec) -> Span {
    match written.at {
        Some(at) => at + span.start..at + span.end,
        None => written.text.span.clone(),
    }
}

fn shown(finding: &Finding, tree: &Tree, written: &TreeSpec) -> Diagnostic {
    let line = line(finding.subject, tree, &written.text.value);
    let span = line.map_or_else(|| written.text.span.clone(), |line| place(line, written));
    let message = finding.trap.to_string();
    let diagnostic = match finding.severity() {
        Severity::Note => Diagnostic::note(finding.code(), span, message),
        Severity::Error | Severity::Warning => Diagnostic::warning(finding.code(), span, message),
    };
    diagnostic.help(finding.trap.help())
}

/// The line that defines `subject`, if there is only one candidate: a tree does not keep its text.
fn line(subject: LintSubject, tree: &Tree, text: &str) -> Option<Span> {
    let starts = text.split_inclusive('\n').scan(0, |next, line| {
        let start = *next;
        *next += line.len();
        Some((start, line))
    });
    let mut meant = starts.filter(|(_, line)| is_meant(subject, tree, &line.split_whitespace().collect::<Vec<_>>()));
    let (start, line) = meant.next()?;
    let indent = line.len() - line.trim_start().len();
    meant.next().is_none().then_some(start + indent..start + line.trim_end().len())
}

fn is_meant(subject: LintSubject, tree: &Tree, words: &[&str]) -> bool {
    let says = |word: &str, value: &str| words.windows(2).any(|pair| pair == [word, value]);
    let is_root =
        |handle: Handle| tree.qdiscs.iter().any(|qdisc| qdisc.handle == handle && qdisc.parent == Handle::ROOT);
    match subject {
        LintSubject::Class(handle) => words.contains(&"class") && says("classid", &handle.to_string()),
        LintSubject::Filter(at) => tree.filters.get(at).is_some_and(|filter| {
            let preference = filter.preference.to_string();
            words.contains(&"filter") && (says("prio", &preference) || says("pref", &preference))
        }),
        LintSubject::Qdisc(handle) if is_root(handle) => words.contains(&"qdisc") && words.contains(&"root"),
        LintSubject::Qdisc(handle) => words.contains(&"qdisc") && says("handle", &handle.to_string()),
        LintSubject::Tree => false,
    }
}
