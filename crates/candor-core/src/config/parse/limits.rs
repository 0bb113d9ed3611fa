//! What is refused before it is parsed, so that no input is slow and none exhausts the stack.

use toml_parser::Source;
use toml_parser::lexer::TokenKind;

use crate::config::diagnostic::Diagnostic;
use crate::config::{MAX_FILE_BYTES, MAX_LINE_BYTES, code};

/// Parts of one dotted key. toml builds one table in another for each, and drops them recursively.
const MAX_KEY_PARTS: usize = 16;

/// Words and signs of a file. toml keeps each of them several times over, and an error for each where it must. A route
/// has 30 to 120, so this is room for 24 000 long ones.
const MAX_TOKENS: usize = 3_000_000;

/// The text of a file that is short enough and is text.
pub(in crate::config) fn text(bytes: &[u8]) -> Result<&str, Box<Diagnostic>> {
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
pub(super) fn depth(text: &str) -> Result<(), Box<Diagnostic>> {
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

fn lines(text: &str) -> Result<(), Box<Diagnostic>> {
    let mut start = 0;
    for (index, line) in text.split('\n').enumerate() {
        if line.len() > MAX_LINE_BYTES {
            let message = format!("Line {} is longer than {MAX_LINE_BYTES} bytes", index + 1);
            return Err(Box::new(
                Diagnostic::error(code::LINE_TOO_LONG, start..start, message)
                    .help("break the line; long hex strings may be written over several lines in \"\"\""),
            ));
        }
        start += line.len() + 1;
    }
    Ok(())
}
