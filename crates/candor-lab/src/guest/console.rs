use std::fs::File;
use std::io::{Read as _, Seek as _, SeekFrom};
use std::path::Path;

const LINES: usize = 20;
const TAIL_BYTES: u64 = 16 * 1024;

/// The last lines of a console, without control characters.
pub(super) fn last_lines(path: &Path) -> Vec<String> {
    let Ok(mut file) = File::open(path) else { return Vec::new() };
    let length = file.metadata().map_or(0, |metadata| metadata.len());
    let mut bytes = Vec::new();
    if file.seek(SeekFrom::Start(length.saturating_sub(TAIL_BYTES))).is_ok() {
        let _ = file.read_to_end(&mut bytes);
    }
    readable(&String::from_utf8_lossy(&bytes))
}

fn readable(text: &str) -> Vec<String> {
    let clean = |line: &str| line.chars().filter(|character| !character.is_control()).collect::<String>();
    let mut lines: Vec<String> = text.lines().map(clean).filter(|line| !line.trim().is_empty()).collect();
    lines.drain(..lines.len().saturating_sub(LINES));
    lines
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_the_last_lines_and_no_control_characters() {
        let text: String = (0..100).map(|number| format!("line {number}\x1b[0m\r\n\r\n")).collect();
        let lines = readable(&text);
        assert_eq!(lines.len(), LINES);
        assert_eq!(lines.last().map(String::as_str), Some("line 99[0m"));
    }
}
