//! `[route]` where `[[route]]` is meant. For TOML it takes the place of the routes before it, and makes those after it
//! errors; here it costs one finding, and all routes are still checked.

use std::borrow::Cow;

use toml_parser::Source;
use toml_parser::lexer::{Token, TokenKind};

use TokenKind::{Atom, Comment, Eof, LeftSquareBracket, Newline, RightSquareBracket, Whitespace};

/// Key of the routes whose header has single brackets. `[[rte]]` is as long as `[route]`, so every span stays right.
pub(super) const STRAY_ROUTE: &str = "rte";

/// The text with `[[rte]]` for every `[route]`; unchanged if the text contains that key.
pub(super) fn with_stray_routes_apart(text: &str) -> Cow<'_, str> {
    const STRAY: &str = "[route]";
    // Most files have none, so no lexer is needed: the `[route]` of `[[route]]` follows a bracket. Searching for
    // brackets is faster than searching for words.
    let may_be_stray = |(at, _): (usize, &str)| text[at..].starts_with(STRAY) && !text[..at].ends_with('[');
    if !text.match_indices('[').any(may_be_stray) || text.contains(STRAY_ROUTE) {
        return Cow::Borrowed(text);
    }
    // A lexer is needed to know a header from the same text inside a string.
    let tokens: Vec<_> = Source::new(text).lex().collect();
    let mut mended = text.to_owned();
    for (index, window) in tokens.windows(4).enumerate() {
        let [open, name, close, after] = window else { continue };
        let is_header = open.kind() == LeftSquareBracket
            && name.kind() == Atom
            && close.kind() == RightSquareBracket
            && matches!(after.kind(), Whitespace | Comment | Newline | Eof)
            && starts_line(&tokens[..index]);
        let place = open.span().start()..close.span().end();
        if is_header && &text[place.clone()] == STRAY {
            mended.replace_range(place, &format!("[[{STRAY_ROUTE}]]"));
        }
    }
    Cow::Owned(mended)
}

fn starts_line(before: &[Token]) -> bool {
    before.iter().rev().find(|token| token.kind() != Whitespace).is_none_or(|token| token.kind() == Newline)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn renames_headers_only() {
        let mended = |text| with_stray_routes_apart(text).into_owned();
        assert_eq!(mended("[route]\n[[route]]\n  [route] # x\n[route]"), "[[rte]]\n[[route]]\n  [[rte]] # x\n[[rte]]");
        for text in
            ["a = \"\"\"\n[route]\n\"\"\"", "# [route]", "a = [route]", "[[route]]", "[route.x]", "[route]\nrte = 1"]
        {
            assert_eq!(mended(text), text);
        }
    }
}
