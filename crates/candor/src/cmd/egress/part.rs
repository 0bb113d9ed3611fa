//! A part of a tree in words.

use candor_egress::canonical::Part;
use candor_egress::control_group::ControlGroup;
use candor_egress::filter::{Classifier, Filter};
use candor_egress::text;

const MOST_CHARACTERS: usize = 150;

/// A part as a line of `tc`, or as much of it as can be said.
pub(super) fn line(part: &Part) -> String {
    if let Some(program) = program(part) {
        return program;
    }
    text::line(part).unwrap_or_else(|why| format!("{} {} ({why})", part.place(), kind(part)))
}

pub(super) fn words(part: &Part) -> String {
    text::words(part).unwrap_or_else(|why| format!("{} ({why})", kind(part)))
}

/// A filter that is candor's own program, which `tc` has no words for, and which groups it looks for: after a restart of a
/// service only their numbers differ.
fn program(part: &Part) -> Option<String> {
    let Part::Filter(Filter { classifier: Classifier::ControlGroups(groups), class, .. }) = part else { return None };
    let words = text::words(part).ok()?;
    let class = class.map_or_else(String::new, |class| format!(" flowid {class}"));
    let number = |group: &ControlGroup| group.place.map_or_else(|| "none".to_owned(), |place| place.id.to_string());
    let numbers: Vec<_> = groups.iter().map(number).collect();
    Some(format!("{} {words}{class} (number {})", part.place(), numbers.join(", ")))
}

fn kind(part: &Part) -> &str {
    match part {
        Part::Class(class) => class.share.kind(),
        Part::Filter(filter) => filter.classifier.kind(),
        Part::Qdisc(qdisc) => qdisc.discipline.kind(),
    }
}

/// A line that fits: a match may have hundreds of identifiers. JSON has all of it.
pub(super) fn in_terminal(line: &str) -> String {
    short(line, MOST_CHARACTERS)
}

/// The beginning, where there is more than so many characters.
pub(super) fn short(text: &str, most: usize) -> String {
    match text.char_indices().nth(most) {
        None => text.to_owned(),
        Some(_) => text.chars().take(most.saturating_sub(1)).chain(['…']).collect(),
    }
}
