//! The lines of `cangw -L`. Names are not quoted for a shell, and the newest job comes first.

use super::shell::Word;
use candor_core::diagnostic::Span;

/// A line of `cangw -L`, without counters.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Line {
    /// Options and values, without the program name.
    pub(super) words: Vec<Word>,
    pub(super) span: Span,
}

#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) struct Count {
    /// Lines of a listing.
    pub(super) listed: usize,
    /// Other lines, except empty ones and comments.
    pub(super) other: usize,
    pub(super) is_script: bool,
}

pub(super) fn count(text: &str) -> Count {
    let text = without_bom(text);
    let mut count = Count { is_script: text.starts_with("#!"), ..Count::default() };
    for line in text.lines().map(str::trim).filter(|line| !line.is_empty() && !line.starts_with('#')) {
        if before_counters(line).is_some() {
            count.listed += 1;
        } else {
            count.other += 1;
        }
    }
    count
}

/// All lines except empty ones and comments.
pub(super) fn lines(text: &str) -> Vec<Line> {
    let mut start = 0;
    let mut lines = Vec::new();
    for line in text.split_inclusive('\n') {
        let at = start;
        start += line.len();
        let trimmed = line.trim();
        let trimmed = if at == 0 { without_bom(trimmed).trim_start() } else { trimmed };
        if !trimmed.is_empty() && !trimmed.starts_with('#') {
            let at = at + (line.trim_end().len() - trimmed.len());
            let options = before_counters(trimmed).unwrap_or(trimmed);
            lines.push(Line { words: words(options, at), span: at..at + options.len() });
        }
    }
    lines
}

/// Strips a byte order mark.
fn without_bom(text: &str) -> &str {
    text.strip_prefix('\u{FEFF}').unwrap_or(text)
}

fn words(line: &str, start: usize) -> Vec<Word> {
    let mut words = Vec::new();
    let mut at = 0;
    for part in line.split(|c: char| c.is_ascii_whitespace()) {
        if !part.is_empty() {
            words.push(Word::plain(part, start + at));
        }
        at += part.len() + 1;
    }
    // cangw writes its program name first.
    if words.first().is_some_and(|word| !word.text().starts_with('-')) {
        words.remove(0);
    }
    words
}

/// The text before `# 3 handled 0 dropped 0 deleted`. cangw prints the counters as signed numbers.
fn before_counters(line: &str) -> Option<&str> {
    let (options, counters) = line.rsplit_once('#')?;
    let words: Vec<_> = counters.split_ascii_whitespace().collect();
    let [handled, "handled", dropped, "dropped", deleted, "deleted"] = words.as_slice() else { return None };
    let are_numbers = [handled, dropped, deleted].iter().all(|number| number.parse::<i64>().is_ok());
    are_numbers.then(|| options.trim_end())
}
