//! The options of a cangw command, parsed like `getopt()` of the GNU C library.

use std::ops::Range;

use super::code;
use super::shell::Word;
use candor_core::diagnostic::{Diagnostic, Findings, Span};

/// Options that take a value.
const WITH_VALUE: &str = "sdulfcpxmM";

/// Dashes that word processors write in place of a hyphen.
const LONG_DASHES: [char; 5] = ['\u{2010}', '\u{2011}', '\u{2012}', '\u{2013}', '\u{2014}'];

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Action {
    Add,
    Delete,
    Flush,
    List,
}

/// The value of an option: a word, or the rest of one (`-scan0`).
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Value<'w> {
    word: &'w Word,
    start: usize,
}

impl Value<'_> {
    pub(super) fn text(&self) -> &str {
        &self.word.text()[self.start..]
    }

    pub(super) fn span(&self) -> Span {
        self.part(0..self.text().len())
    }

    pub(super) fn part(&self, range: Range<usize>) -> Span {
        self.word.part(self.start + range.start..self.start + range.end)
    }
}

/// An option and the place of its letter.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Given<'w> {
    pub(super) letter: char,
    pub(super) span: Span,
    pub(super) value: Option<Value<'w>>,
}

/// The options, in order. `None` if cangw would reject them or print its usage, which is reported.
pub(super) fn given<'w>(words: &'w [Word], findings: &mut Findings) -> Option<Vec<Given<'w>>> {
    let mut given = Vec::new();
    let errors = findings.errors();
    let mut refuse = |span: Span, message: String, help: &str| findings.error(code::USAGE, &span, message, help);
    let mut words = words.iter();
    let mut only_arguments = false;
    while let Some(word) = words.next() {
        let text = word.text();
        if only_arguments || !text.starts_with('-') || text == "-" {
            if text == "Unknown" && words.as_slice().first().is_some_and(|next| next.text() == "attribute") {
                let message = "The cangw that printed this is too old for the job".to_owned();
                refuse(word.span(), message, "use cangw of can-utils 2020.11 or later");
                return None;
            }
            if text.starts_with(|c| LONG_DASHES.contains(&c)) {
                let help =
                    "replace it with -, also in the rest of the text: a word processor or a web page has changed it";
                refuse(word.span(), format!("{text:?} begins with a dash that is not a hyphen"), help);
                return None;
            }
            let help = "cangw would only print its usage; remove it, or write its option in front of it";
            refuse(word.span(), format!("cangw accepts no argument {text:?} in addition to its options"), help);
            continue;
        }
        if text == "--" {
            only_arguments = true;
            continue;
        }
        for (at, letter) in text.char_indices().skip(1) {
            let after = at + letter.len_utf8();
            let span = word.part(at..after);
            if WITH_VALUE.contains(letter) {
                let value = if after < text.len() {
                    Some(Value { word, start: after })
                } else {
                    words.next().map(|word| Value { word, start: 0 })
                };
                match value {
                    Some(value) => given.push(Given { letter, span, value: Some(value) }),
                    None => refuse(span, format!("Option -{letter} has no value"), "write its value after it"),
                }
                break;
            }
            if "ADFLXtei".contains(letter) {
                given.push(Given { letter, span, value: None });
            } else {
                let help = "cangw would only print its usage; see `cangw -?` for its options";
                refuse(span, format!("cangw has no option {:?}", format!("-{letter}")), help);
                break;
            }
        }
    }
    (findings.errors() == errors).then_some(given)
}

/// The first of -A, -D, -F and -L.
pub(super) fn action(given: &[Given<'_>], findings: &mut Findings) -> Option<Action> {
    let mut actions = given.iter().filter_map(|option| {
        let action = match option.letter {
            'A' => Action::Add,
            'D' => Action::Delete,
            'F' => Action::Flush,
            'L' => Action::List,
            _ => return None,
        };
        Some((action, option))
    });
    let (action, first) = actions.next()?;
    for (other, option) in actions {
        if other != action {
            let message = format!("cangw ignores -{} after -{}", option.letter, first.letter);
            findings.report(
                Diagnostic::warning(code::IGNORED, option.span.clone(), message).help("write one command for each"),
            );
        }
    }
    Some(action)
}

/// Returns true if cangw would accept these words and change jobs.
pub(super) fn change_something(words: &[Word]) -> bool {
    let mut findings = Findings::default();
    let given = given(words, &mut findings);
    let action = given.and_then(|given| action(&given, &mut findings));
    action.is_some_and(|action| action != Action::List)
}
