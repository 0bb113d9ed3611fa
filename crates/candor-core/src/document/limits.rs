//! Checks before parsing, so no input is slow or exhausts the stack.

use toml_parser::Source;
use toml_parser::lexer::TokenKind;

use crate::diagnostic::{Diagnostic, code};

/// Maximum size of a file. A route takes about 200 bytes, so 40 000 routes fit.
pub const MAX_FILE_BYTES: usize = 8 << 20;

/// Maximum length of a line. The longest sensible line is a CRC8 table of 512 digits.
pub const MAX_LINE_BYTES: usize = 4096;

/// Maximum parts of a dotted key. toml nests a table for each part, and drops them recursively.
const MAX_KEY_PARTS: usize = 16;

/// Maximum tokens of a file. toml copies each token several times, and may create an error for each. A route has 30 to
/// 120, so 24 000 long routes fit.
const MAX_TOKENS: usize = 3_000_000;

/// Checks size, encoding and lines of a file.
pub fn text(bytes: &[u8]) -> Result<&str, Box<Diagnostic>> {
    if bytes.len() > MAX_FILE_BYTES {
        let message = format!("The file is larger than {} MiB", MAX_FILE_BYTES >> 20);
        return Err(Box::new(
            Diagnostic::error(code::FILE_TOO_LARGE, 0..0, message)
                .help("a gateway file has about 200 bytes for each route; is this the right file?"),
        ));
    }
    let text = match std::str::from_utf8(bytes) {
        Ok(text) => text,
        Err(error) => {
            let start = error.valid_up_to();
            let end = error.error_len().map_or(bytes.len(), |len| start + len);
            let message = format!("The file is not UTF-8 text: byte {:#04x} at offset {start}", bytes[start]);
            return Err(Box::new(Diagnostic::error(code::NOT_UTF8, start..end, message).label("not UTF-8").help(
                if start == 0 {
                    "is this a text file? UTF-16 has to be saved as UTF-8"
                } else {
                    "save the file as UTF-8"
                },
            )));
        }
    };
    lines(text)?;
    Ok(text)
}

/// Checks the number of tokens and the depth of keys.
pub fn depth(text: &str) -> Result<(), Box<Diagnostic>> {
    // A fast check, because most files are far below both limits.
    let are_few = text.len() < MAX_TOKENS || tokens_at_most(text) <= MAX_TOKENS;
    if are_few && !may_be_deep(text) {
        return Ok(());
    }
    let mut start = 0;
    let mut dots = 0;
    for (count, token) in Source::new(text).lex().enumerate() {
        if count >= MAX_TOKENS {
            let message = format!("The file has more than {MAX_TOKENS} words and signs");
            return Err(Box::new(
                Diagnostic::error(code::FILE_TOO_LARGE, token.span().start()..token.span().end(), message)
                    .label("no further than here")
                    .help("a route has about 50 of them; is this the right file?"),
            ));
        }
        match token.kind() {
            TokenKind::Dot => dots += 1,
            TokenKind::Atom | TokenKind::BasicString | TokenKind::LiteralString | TokenKind::Whitespace => {}
            _ => {
                start = token.span().end();
                dots = 0;
            }
        }
        if dots >= MAX_KEY_PARTS {
            let message = format!("A key has more than {MAX_KEY_PARTS} parts");
            return Err(Box::new(
                Diagnostic::error(code::TOO_DEEP, start..token.span().end(), message)
                    .help("no key of a gateway file has more than three; look for dots that should be something else"),
            ));
        }
    }
    Ok(())
}

/// An upper bound: each token is a sign, or a word after one.
fn tokens_at_most(text: &str) -> usize {
    let is_sign = |byte: u8| !(byte.is_ascii_alphanumeric() | (byte == b'-') | (byte == b'_'));
    2 * count(text, is_sign) + 2
}

/// Counts bytes of a kind, in pieces whose count fits into a byte, so the compiler can vectorise the loop.
pub(crate) fn count(text: &str, is_it: impl Fn(u8) -> bool) -> usize {
    let pieces = text.as_bytes().chunks(usize::from(u8::MAX));
    pieces.map(|piece| usize::from(piece.iter().map(|&byte| u8::from(is_it(byte))).sum::<u8>())).sum()
}

/// Returns true if a line has the dots of a deep key, which cannot span lines.
fn may_be_deep(text: &str) -> bool {
    let has_dots = |part: &str| part.bytes().filter(|&byte| byte == b'.').count() >= MAX_KEY_PARTS;
    has_dots(text) && text.split('\n').any(has_dots)
}

fn lines(text: &str) -> Result<(), Box<Diagnostic>> {
    let (bytes, mut start) = (text.as_bytes(), 0);
    while bytes.len() - start > MAX_LINE_BYTES {
        // Lines before the last line end within reach are shorter than the limit.
        match bytes[start..=start + MAX_LINE_BYTES].iter().rposition(|&byte| byte == b'\n') {
            Some(end) => start += end + 1,
            None => {
                let line = bytes[..start].iter().filter(|&&byte| byte == b'\n').count() + 1;
                let message = format!("Line {line} is longer than {MAX_LINE_BYTES} bytes");
                return Err(Box::new(
                    Diagnostic::error(code::LINE_TOO_LONG, start..start, message)
                        .help("break the line; long hex strings may be written over several lines in \"\"\""),
                ));
            }
        }
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    proptest! {
        #[test]
        fn token_bound_is_an_upper_bound(text in "[a.\\-=\"'#\\[\\]{}, \t\r\nä_1]{0,60}") {
            let (mut counted, mut dots, mut most_dots) = (0, 0, 0);
            for token in Source::new(&text).lex() {
                counted += 1;
                dots = match token.kind() {
                    TokenKind::Dot => dots + 1,
                    TokenKind::Newline => 0,
                    _ => dots,
                };
                most_dots = most_dots.max(dots);
            }
            prop_assert!(counted <= tokens_at_most(&text), "{counted}");
            prop_assert!(most_dots < MAX_KEY_PARTS || may_be_deep(&text));
        }
    }

    #[test]
    fn lines_up_to_the_limit_are_accepted() {
        let line = "x".repeat(MAX_LINE_BYTES);
        for (text, long_from) in [
            (format!("{line}\n{line}"), None),
            (format!("{line}\n{line}\n\n"), None),
            (format!("a\n{line}x"), Some(2)),
            (format!("a\n{line}x\nb"), Some(2)),
            (format!("{line}\n{line}x\n"), Some(MAX_LINE_BYTES + 1)),
            (format!("{}{line}x", "a\n".repeat(5000)), Some(10_000)),
        ] {
            let found = lines(&text).err().map(|diagnostic| diagnostic.primary.span.start);
            assert_eq!(found, long_from, "{}", text.len());
        }
        let message = lines(&format!("a\n\n{line}x")).unwrap_err().message;
        assert_eq!(message, "Line 3 is longer than 4096 bytes");
    }
}
