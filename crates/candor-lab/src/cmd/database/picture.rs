//! The bits of a frame, as a picture of letters.

use candor_signals::Message;

/// Marks the most significant bit of a signal.
const FIRST: char = '>';

/// The letter of a signal, by its place in the message: `A` to `Z`, then `AA`.
pub(super) fn letter(at: usize) -> String {
    let one = |at: usize| char::from(b'A' + u8::try_from(at % 26).unwrap_or_default());
    match at.checked_sub(26) {
        None => one(at).to_string(),
        Some(more) => format!("{}{}", letter(more / 26), one(more)),
    }
}

/// A line for each byte and a column for each bit, the most significant one first. `.` is a bit of no signal, `+` one of
/// several. Bits outside the frame are left out.
pub(super) fn picture(message: &Message, signals: &[usize]) -> String {
    let mut cells = vec![[const { String::new() }; 8]; usize::from(message.len)];
    for at in signals {
        for (place, position) in message.signals[*at].positions().enumerate() {
            let byte = usize::try_from(position / 8).unwrap_or(usize::MAX);
            let Some(cell) = cells.get_mut(byte).map(|byte| &mut byte[usize::from(7 - position.to_le_bytes()[0] % 8)])
            else {
                continue;
            };
            *cell = match (cell.is_empty(), place) {
                (false, _) => "+".to_owned(),
                (true, 0) => format!("{FIRST}{}", letter(*at)),
                (true, _) => letter(*at),
            };
        }
    }
    let width = cells.iter().flatten().map(String::len).max().unwrap_or_default().max(2) + 1;
    let head: String = (0..8).rev().map(|bit| format!("{bit:>width$}")).collect();
    let line = |(byte, cells): (usize, &[String; 8])| {
        let cells = cells.each_ref().map(|cell| if cell.is_empty() { "." } else { cell });
        format!("{byte:>4}  {}\n", cells.map(|cell| format!("{cell:>width$}")).concat())
    };
    format!("byte  {head}\n{}", cells.iter().enumerate().map(line).collect::<String>())
}

#[cfg(test)]
mod tests {
    use super::letter;

    #[test]
    fn letters_go_on_after_z() {
        assert_eq!([0, 25, 26, 51, 52, 727].map(letter), ["A", "Z", "AA", "AZ", "BA", "AAZ"]);
    }
}
