//! A parser for the OpenMetrics text of a gateway.

use std::collections::BTreeMap;

/// A line with a value.
#[derive(Clone, Debug, PartialEq)]
pub(super) struct Point<'a> {
    pub(super) name: &'a str,
    pub(super) labels: BTreeMap<&'a str, String>,
    pub(super) value: f64,
}

impl Point<'_> {
    /// The value of a label; empty if it is missing.
    pub(super) fn label(&self, name: &str) -> &str {
        self.labels.get(name).map_or("", String::as_str)
    }

    pub(super) fn count(&self) -> u64 {
        #[expect(clippy::cast_possible_truncation, clippy::cast_sign_loss, reason = "the cast saturates")]
        let count = self.value as u64;
        count
    }
}

/// All lines with a value; other lines are skipped. `None` if the text is incomplete.
pub(super) fn points(text: &str) -> Option<Vec<Point<'_>>> {
    let body = text.strip_suffix("# EOF\n")?;
    Some(body.lines().filter(|line| !line.starts_with('#')).filter_map(point).collect())
}

fn point(line: &str) -> Option<Point<'_>> {
    let end = line.find(['{', ' '])?;
    let (name, rest) = line.split_at(end);
    let (labels, rest) = match rest.strip_prefix('{') {
        Some(rest) => labels(rest)?,
        None => (BTreeMap::new(), rest),
    };
    // A timestamp or an exemplar may follow.
    let value = rest.trim_start().split(' ').next()?.parse().ok()?;
    Some(Point { name, labels, value })
}

/// The labels between the braces, and the rest of the line.
fn labels(mut rest: &str) -> Option<(BTreeMap<&str, String>, &str)> {
    let mut labels = BTreeMap::new();
    loop {
        if let Some(rest) = rest.strip_prefix('}') {
            return Some((labels, rest));
        }
        let (name, after) = rest.split_once("=\"")?;
        let (value, after) = quoted(after)?;
        labels.insert(name, value);
        rest = after.strip_prefix(',').unwrap_or(after);
    }
}

/// The text up to the closing quote, and the rest of the line.
fn quoted(text: &str) -> Option<(String, &str)> {
    let mut value = String::new();
    let mut chars = text.char_indices();
    while let Some((at, c)) = chars.next() {
        match c {
            '"' => return Some((value, &text[at + 1..])),
            '\\' => match chars.next()?.1 {
                'n' => value.push('\n'),
                c => value.push(c),
            },
            c => value.push(c),
        }
    }
    None
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    #[test]
    fn parses_labels_and_values() {
        let text = "# TYPE a counter\na_total{x=\"y\",z=\"one \\\"2\\\" \\\\ \\n\"} 3\nb 1.5\nc_bucket{le=\"+Inf\"} 4 # {} 1\n\
                    nonsense\n# EOF\n";
        let points = points(text).unwrap();
        assert_eq!(points.len(), 3);
        assert_eq!((points[0].name, points[0].label("z"), points[0].count()), ("a_total", "one \"2\" \\ \n", 3));
        assert_eq!((points[1].name, points[1].value, points[1].label("z")), ("b", 1.5, ""));
        assert_eq!((points[2].label("le"), points[2].count()), ("+Inf", 4));
    }

    #[test]
    fn rejects_an_incomplete_text() {
        assert_eq!(points("a_total 3\n"), None);
    }

    proptest! {
        #[test]
        fn never_panics(line in "[a{}=\"\\\\, 1.\\-é\n]{0,40}") {
            let _ = points(&format!("{line}\n# EOF\n"));
        }
    }
}
