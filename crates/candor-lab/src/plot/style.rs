//! Colours for light and dark backgrounds, and the rules that use them.

use std::fmt::Write as _;

/// Rules of all plots, one per line. Colours are `var(--NAME)`.
const RULES: &str = include_str!("plot.css");

/// Custom properties: a line for light backgrounds, one for dark ones. Print is always light.
const PALETTE: &str = include_str!("palette.css");

const COLOURS: usize = 8;

/// Class of a series. After `COLOURS` series the colours repeat with dashed lines.
pub fn class(series: usize) -> String {
    let dashed = if series < COLOURS { "" } else { " dashed" };
    format!("s{}{dashed}", series % COLOURS)
}

/// For pages: the palette as custom properties, then the rules.
pub fn sheet() -> String {
    format!("{PALETTE}{RULES}")
}

/// Names and values for a light (0) or a dark (1) background.
fn palette(scheme: usize) -> impl Iterator<Item = (&'static str, &'static str)> {
    let properties = PALETTE.lines().nth(scheme).unwrap_or_default().split(['{', ';']);
    properties.filter_map(|one| one.trim().strip_prefix("--")?.split_once(": "))
}

/// For files: without custom properties, which many SVG viewers ignore.
pub(super) fn resolved() -> String {
    let with = |rules: &str, scheme: usize| {
        palette(scheme).fold(rules.to_owned(), |rules, (name, value)| rules.replace(&format!("var(--{name})"), value))
    };
    let coloured: String = RULES.lines().filter(|line| line.contains("var(")).fold(String::new(), |mut all, line| {
        let _always_fits = writeln!(all, "{line}");
        all
    });
    format!("{}@media screen and (prefers-color-scheme: dark) {{\n{}}}\n", with(RULES, 0), with(&coloured, 1))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn series_beyond_the_last_colour_are_dashed() {
        assert_eq!((class(1), class(9)), ("s1".to_owned(), "s1 dashed".to_owned()));
    }

    #[test]
    fn a_file_has_every_colour_of_both_schemes_and_no_property() {
        let sheet = resolved();
        assert!(!sheet.contains("var("), "{sheet}");
        assert_eq!(sheet.matches('{').count(), sheet.matches('}').count());
        let all: Vec<_> = palette(0).chain(palette(1)).collect();
        assert_eq!(all.len(), 2 * 14);
        for (name, value) in all.into_iter().filter(|(name, _)| *name != "paper") {
            assert!(sheet.contains(value), "{name}: {sheet}");
        }
    }
}
