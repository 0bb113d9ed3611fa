//! Colours for light and dark backgrounds, and the rules that use them.

use std::fmt::Write as _;

/// Rules of all plots, one per line. Colours are `var(--NAME)`.
const RULES: &str = include_str!("plot.css");

/// Name, and values for a light and a dark background.
const PALETTE: [(&str, [&str; 2]); 14] = [
    ("paper", ["#fbfaf7", "#14181c"]),
    ("ink", ["#1d2329", "#e7e5df"]),
    ("soft", ["#5c6670", "#9aa4ad"]),
    ("rule", ["#dcd8cf", "#343b42"]),
    ("grid", ["#e9e5dc", "#262c32"]),
    ("card", ["#ffffff", "#1b2025"]),
    ("s0", ["#0b63a5", "#62b3f0"]),
    ("s1", ["#b5450f", "#f59b62"]),
    ("s2", ["#0f8265", "#4fcfa8"]),
    ("s3", ["#94458f", "#d495d0"]),
    ("s4", ["#8a6d00", "#dcc05a"]),
    ("s5", ["#44515c", "#aeb9c2"]),
    ("s6", ["#5b6fd6", "#a3aefc"]),
    ("s7", ["#c24b7c", "#f58fb4"]),
];

const COLOURS: usize = 8;

/// Class of a series. After `COLOURS` series the colours repeat with dashed lines.
pub fn class(series: usize) -> String {
    let dashed = if series < COLOURS { "" } else { " dashed" };
    format!("s{}{dashed}", series % COLOURS)
}

/// For pages: the palette as custom properties, then the rules. Print is always light.
pub fn sheet() -> String {
    let properties = |scheme: usize| -> String {
        PALETTE.iter().map(|(name, values)| format!("--{name}: {}; ", values[scheme])).collect()
    };
    let [light, dark] = [0, 1].map(properties);
    format!(":root {{ {light}}}\n@media screen and (prefers-color-scheme: dark) {{ :root {{ {dark}}} }}\n{RULES}")
}

/// For files: without custom properties, which many SVG viewers ignore.
pub(super) fn resolved() -> String {
    let with = |rules: &str, scheme: usize| {
        PALETTE
            .iter()
            .fold(rules.to_owned(), |rules, (name, values)| rules.replace(&format!("var(--{name})"), values[scheme]))
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
        for (name, values) in PALETTE.iter().filter(|(name, _)| *name != "paper") {
            assert!(values.iter().all(|value| sheet.contains(value)), "{name}: {sheet}");
        }
    }
}
