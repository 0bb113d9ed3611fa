//! What is refused before it is parsed, so that no input is slow and none exhausts the stack.

use toml_parser::Source;
use toml_parser::lexer::TokenKind;

use crate::diagnostic::Diagnostic;
use crate::diagnostic::code;

/// Files beyond this many bytes are refused. A route takes about 200 bytes, so this is room for 40 000 of them.
pub const MAX_FILE_BYTES: usize = 8 << 20;

/// Lines beyond this many bytes are refused. The longest sensible line is a CRC8 table of 512 digits.
pub const MAX_LINE_BYTES: usize = 4096;

/// Parts of one dotted key. toml builds one table in another for each, and drops them recursively.
const MAX_KEY_PARTS: usize = 16;

/// Words and signs of a file. toml keeps each of them several times over, and an error for each where it must. A route
/// has 30 to 120, so this is room for 24 000 long ones.
const MAX_TOKENS: usize = 3_000_000;

/// The text of a file that is short enough and is text.
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

/// Refuses keys of very many parts, and very many parts at all.
pub fn depth(text: &str) -> Result<(), Box<Diagnostic>> {
    // Most files are far from either, which costs less to see than what toml will do once more anyway.
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

/// No fewer than there are: each is a sign, or a word behind one.
fn tokens_at_most(text: &str) -> usize {
    let is_sign = |byte: u8| !(byte.is_ascii_alphanumeric() | (byte == b'-') | (byte == b'_'));
    2 * count(text, is_sign) + 2
}

/// How many bytes are of a kind. In pieces whose count fits into a byte, so that processors count many bytes at once.
pub(crate) fn count(text: &str, is_it: impl Fn(u8) -> bool) -> usize {
    let pieces = text.as_bytes().chunks(usize::from(u8::MAX));
    pieces.map(|piece| usize::from(piece.iter().map(|&byte| u8::from(is_it(byte))).sum::<u8>())).sum()
}

/// Whether some line has the dots of a deep key, which goes over one line only.
fn may_be_deep(text: &str) -> bool {
    let has_dots = |part: &str| part.bytes().filter(|&byte| byte == b'.').count() >= MAX_KEY_PARTS;
    has_dots(text) && text.split('\n').any(has_dots)
}

fn lines(text: &str) -> Result<(), Box<Diagnostic>> {
    let (bytes, mut start) = (text.as_bytes(), 0);
    while bytes.len() - start > MAX_LINE_BYTES {
        // The last line end within reach is enough to see: no line before it is longer than the reach.
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
        fn no_text_has_more_tokens_than_were_expected(text in "[a.\\-=\"'#\\[\\]{}, \t\r\nä_1]{0,60}") {
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
    fn lines_may_be_as_long_as_they_say() {
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
