//! Recognises cangw in shell commands.

use super::options;
use super::shell::Word;

#[derive(Debug)]
pub(super) enum Program<'w> {
    /// Its arguments begin with this word.
    Cangw(usize),
    /// cangw in another network namespace.
    Elsewhere(&'w Word),
    Other,
    /// A variable with arguments of cangw.
    Unknown(&'w Word),
}

/// Programs that print or search text.
const TALKERS: &[&str] =
    &["command", "echo", "egrep", "fgrep", "grep", "hash", "logger", "man", "pgrep", "printf", "type", "which"];

impl<'w> Program<'w> {
    pub(super) fn of(words: &'w [Word]) -> Self {
        let mut at = 0;
        while let Some(word) = words.get(at) {
            if is_cangw(word) {
                return Self::Cangw(at + 1);
            }
            let with_value: &[&str] = match word.text() {
                "sudo" => &["-u", "-g", "-h", "-p", "-C", "-D", "-R", "-T", "-r", "-t", "-U"],
                "doas" => &["-u", "-C"],
                "nice" => &["-n"],
                "command" if words.get(at + 1).is_some_and(|word| word.text().starts_with('-')) => return Self::Other,
                "command" | "env" | "exec" | "nohup" | "setsid" => &[],
                "ip" | "nsenter" => {
                    let is_elsewhere = word.text() == "nsenter" || words.iter().any(|word| word.text() == "exec");
                    let runs_cangw = is_elsewhere && words[at..].iter().any(is_cangw);
                    return if runs_cangw { Self::Elsewhere(word) } else { Self::Other };
                }
                text if at == 0 && text.starts_with('-') && words.iter().any(|word| word.text() == "-s") => {
                    return Self::Cangw(0);
                }
                text if is_assignment(text) => &[],
                _ if word.expansion().is_some() => {
                    let is_of_cangw = acts(&words[at + 1..]);
                    return if is_of_cangw { Self::Unknown(word) } else { Self::Other };
                }
                _ => return Self::Other,
            };
            at += 1;
            while let Some(option) = words.get(at).filter(|word| word.text().starts_with('-')) {
                at += if with_value.contains(&option.text()) { 2 } else { 1 };
            }
        }
        Self::Other
    }
}

/// Returns true if a command may mention cangw without running it.
pub(super) fn is_talk(words: &[Word]) -> bool {
    let program = words.iter().map(Word::text).find(|text| !is_assignment(text) && *text != "sudo");
    program.is_some_and(|text| TALKERS.contains(&text))
}

pub(super) fn is_assigning(words: &[Word]) -> bool {
    words.iter().all(|word| is_assignment(word.text()))
}

/// Returns true if a text mentions cangw followed by -A, -D or -F.
pub(super) fn speaks_of_changes(text: &str) -> bool {
    let Some(at) = text.to_ascii_lowercase().find("cangw") else { return false };
    let mut words = text[at..].split(|c: char| !c.is_ascii_alphanumeric() && c != '-');
    words.any(|word| {
        let letters = word.strip_prefix('-').unwrap_or_default();
        letters.starts_with(|c: char| c.is_ascii_alphabetic()) && letters.contains(['A', 'D', 'F'])
    })
}

/// Returns true if the words are arguments of cangw that change jobs, or contain cangw and such arguments.
fn acts(words: &[Word]) -> bool {
    if let Some(at) = words.iter().position(is_cangw) {
        return acts(&words[at + 1..]);
    }
    // More arguments may be in other variables.
    let known: Vec<_> = words.iter().filter(|word| word.expansion().is_none()).cloned().collect();
    [words, known.as_slice()].into_iter().any(options::change_something)
}

fn is_cangw(word: &Word) -> bool {
    !is_assignment(word.text()) && word.text().rsplit('/').next() == Some("cangw")
}

fn is_assignment(text: &str) -> bool {
    text.split_once('=').is_some_and(|(name, _)| {
        !name.is_empty()
            && !name.starts_with(|c: char| c.is_ascii_digit())
            && name.chars().all(|c| c.is_ascii_alphanumeric() || c == '_')
    })
}
